"""A view as lines of the screen: always as many as it has, never wider, and inert."""

from __future__ import annotations

import pytest
from rich.cells import cell_len
from rich.text import Text

from hostile import HOSTILE
from howsure.cli.browser import draw_frame
from howsure.cli.browser_view import (
    BrowserEntry,
    BrowserView,
    NamedKey,
    TypedKey,
    first_view,
    open_page,
    press_key,
    show_matches,
)
from howsure.model.verdict import Verdict
from howsure.reports.document import Screen
from howsure.reports.safe_text import CONTROLS

WIDE, ASCII = Screen(width=79, ascii_only=False), Screen(width=79, ascii_only=True)


def shown(
    view: BrowserView, screen: Screen = WIDE, notes: dict[int, str] | None = None, page: list[Text] | None = None
) -> list[str]:
    lines = draw_frame(view, screen, "a run: 1 of 3 passed", notes or {}, page or [])
    assert len(lines) == view.height
    assert all(line.cell_len <= screen.width for line in lines)
    return [line.plain.rstrip() for line in lines]


def two(height: int = 8) -> BrowserView:
    return first_view(
        [BrowserEntry(0, "order-late", "", 1, Verdict.FAILED), BrowserEntry(1, "refund", "m1", 2, Verdict.ERRORED)],
        height,
    )


def test_the_list_shows_verdict_case_and_why() -> None:
    assert shown(two(), notes={0: "criterion not met", 1: "HTTP 503"}) == [
        "a run: 1 of 3 passed",
        ">■ order-late     criterion not met",
        " ▲ [m1] #2 refund HTTP 503",
        "",
        "",
        "",
        "result 1 of 2  listed: failed and errored",
        "↑↓ move  ⏎ open  f filter  / search  s summary  t triage  q quit",
    ]


def test_a_terminal_without_unicode_gets_ascii() -> None:
    lines = shown(two(), ASCII, notes={0: "“é”"})
    assert lines[1] == '>x order-late     "\\xe9"'
    assert lines[-1].startswith("up/down move  enter open")
    assert all(line.isascii() for line in lines)


def test_a_page_shows_its_lines_and_where_it_is() -> None:
    view, _ = press_key(open_page(two(), 9), TypedKey("j"))
    lines = shown(view, page=[Text(f"line {n}") for n in range(9)])
    assert lines[1:6] == ["line 1", "line 2", "line 3", "line 4", "line 5"]
    assert lines[6] == "lines 2–6 of 9  result 1 of 2"
    assert "n next" in lines[7]


def test_a_search_shows_what_is_typed_and_then_what_is_held() -> None:
    view, _ = press_key(two(), TypedKey("/"))
    view, _ = press_key(view, TypedKey("x"))
    assert shown(view)[-2] == "/x_"
    view, _ = press_key(show_matches(view, "x", frozenset((1,))), NamedKey.UP)
    assert shown(view)[-2] == "result 1 of 1  listed: failed and errored, holding “x” (esc clears)"


def test_an_empty_list_says_so() -> None:
    assert shown(first_view([], 8))[2] == "  no results"
    passed = first_view([BrowserEntry(0, "a", "", 1, Verdict.PASSED)], 8)
    assert shown(passed)[2] == "  no results are failed and errored"


def test_long_names_leave_room_for_the_reason() -> None:
    view = first_view([BrowserEntry(0, "x" * 200, "", 1, Verdict.FAILED)], 8)
    line = shown(view, notes={0: "why"})[1]
    assert line == f">■ {'x' * 34}… why"


def test_an_id_that_nobody_reads_is_shortened() -> None:
    view = first_view([BrowserEntry(0, "e17989d4-46cf-531c-9dbd-4f19be74c73e", "", 1, Verdict.FAILED)], 8)
    assert shown(view, notes={0: "Neighbour's address"})[1] == ">■ e17989d4… Neighbour's address"


@pytest.mark.parametrize("text", HOSTILE)
def test_foreign_text_is_inert_wherever_it_stands(text: str) -> None:
    view = first_view([BrowserEntry(0, text, text, 1, Verdict.FAILED)], 8)
    for each in (view, show_matches(view, text, frozenset((0,))), show_matches(view, text, frozenset())):
        for line in draw_frame(each, WIDE, text, {0: text}, []):
            assert CONTROLS.search(line.plain) is None
            assert "\n" not in line.plain


@pytest.mark.parametrize("size", [(20, 5), (79, 24), (200, 60)])
def test_every_size_is_filled_exactly(size: tuple[int, int]) -> None:
    width, height = size
    view = first_view([BrowserEntry(n, f"日本語の問い {n}", "m", 3, Verdict.FAILED) for n in range(100)], height)
    lines = shown(view, Screen(width=width, ascii_only=False), dict.fromkeys(range(100), "長い理由 " * 40))
    assert len(lines) == height
    assert max(cell_len(line) for line in lines) in (width - 1, width)
