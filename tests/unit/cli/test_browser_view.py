"""What each key does to the view of a run; no terminal, no store. What terminals send, as keys."""

from __future__ import annotations

import pytest

from howsure.cli.browser_view import (
    FIXED_LINES,
    BrowserAction,
    BrowserEntry,
    BrowserMode,
    BrowserView,
    Key,
    NamedKey,
    OpenResult,
    OpenRunPage,
    QuitBrowser,
    SearchResults,
    TypedKey,
    VerdictFilter,
    WholeRunPage,
    decode_keys,
    first_view,
    open_page,
    press_key,
    report_missing,
    resize,
    set_page_length,
    show_matches,
)
from howsure.model.verdict import DECIDED, Verdict

PASSED, FAILED, ERRORED, SKIPPED = DECIDED


def entries(*verdicts: Verdict) -> list[BrowserEntry]:
    return [BrowserEntry(place, f"q{place}", "", 1, verdict) for place, verdict in enumerate(verdicts)]


MIXED = entries(PASSED, FAILED, ERRORED, PASSED, FAILED, SKIPPED)


def a_view(*verdicts: Verdict, height: int = 24) -> BrowserView:
    return first_view(entries(*verdicts) if verdicts else MIXED, height)


def after(view: BrowserView, *pressed: Key | str) -> tuple[BrowserView, BrowserAction | None]:
    act: BrowserAction | None = None
    for key in pressed:
        view, act = press_key(view, TypedKey(key) if isinstance(key, str) else key)
    return view, act


def listed(view: BrowserView) -> list[str]:
    return [entry.case_id for entry in view.listed]


def test_a_run_opens_on_what_failed_and_errored() -> None:
    view = a_view()
    assert listed(view) == ["q1", "q2", "q4"]
    assert (view.cursor, view.mode, view.shown) == (0, BrowserMode.LIST, VerdictFilter.NOT_PASSED)


@pytest.mark.parametrize(
    ("pressed", "cursor"),
    [
        ((NamedKey.DOWN,), 1),
        (("j", "j"), 2),
        (("j", "j", "j", "j"), 2),
        ((NamedKey.UP,), 0),
        (("G",), 2),
        ((NamedKey.END, "k"), 1),
        (("G", "g"), 0),
        (("n", "n", "p"), 1),
        ((NamedKey.PAGE_DOWN,), 2),
        (("G", NamedKey.PAGE_UP), 0),
        ((" ",), 2),
    ],
)
def test_keys_move_the_cursor_within_the_list(pressed: tuple[Key | str, ...], cursor: int) -> None:
    view, act = after(a_view(), *pressed)
    assert (view.cursor, act) == (cursor, None)


@pytest.mark.parametrize("key", [NamedKey.ENTER, NamedKey.RIGHT, TypedKey("l")])
def test_enter_opens_the_result_under_the_cursor(key: Key) -> None:
    assert after(a_view(), "j", key)[1] == OpenResult(2)


def test_f_goes_through_the_verdicts_and_round() -> None:
    view = a_view()
    seen = []
    for _ in range(6):
        view, _ = after(view, "f")
        seen.append((view.shown.value, listed(view)))
    assert seen == [
        ("failed", ["q1", "q4"]),
        ("errored", ["q2"]),
        ("skipped", ["q5"]),
        ("passed", ["q0", "q3"]),
        ("all", ["q0", "q1", "q2", "q3", "q4", "q5"]),
        ("failed and errored", ["q1", "q2", "q4"]),
    ]


def test_the_cursor_stays_on_its_result_when_the_filter_changes() -> None:
    view, _ = after(a_view(), "G", "f")
    assert view.chosen is not None
    assert view.chosen.case_id == "q4"


def test_a_list_longer_than_the_screen_keeps_the_cursor_in_sight() -> None:
    view = a_view(*[FAILED] * 10, height=FIXED_LINES + 4)
    view, _ = after(view, *"jjjjj")
    assert (view.cursor, view.top, [entry.case_id for entry in view.window]) == (5, 2, ["q2", "q3", "q4", "q5"])
    view, _ = after(view, "g")
    assert view.top == 0
    view, _ = after(view, "G")
    assert [entry.case_id for entry in view.window] == ["q6", "q7", "q8", "q9"]


def test_a_smaller_screen_keeps_the_cursor_in_sight_too() -> None:
    view, _ = after(a_view(*[FAILED] * 10, height=24), "G")
    assert resize(view, FIXED_LINES + 2).top == 8
    assert resize(view, 24) is view


def test_a_page_scrolls_and_stops_at_its_ends() -> None:
    view = open_page(a_view(height=FIXED_LINES + 10), 25)
    assert view.mode is BrowserMode.PAGE
    for pressed, scroll in ((("j",), 1), ((NamedKey.PAGE_DOWN,), 10), (("G",), 15), (("G", "k"), 14), (("k",), 0)):
        assert after(view, *pressed)[0].scroll == scroll, pressed
    short = open_page(a_view(), 3)
    assert after(short, "G")[0].scroll == 0


def test_a_page_that_got_shorter_is_not_scrolled_beyond_its_end() -> None:
    view, _ = after(open_page(a_view(height=FIXED_LINES + 10), 50), "G")
    assert set_page_length(view, 20).scroll == 10


def test_n_and_p_go_from_one_open_result_to_the_next() -> None:
    view = open_page(a_view(), 5)
    view, act = after(view, "n")
    assert (view.cursor, act) == (1, OpenResult(2))
    view, act = after(view, "p")
    assert act == OpenResult(1)
    view, act = after(view, "p")
    assert (act, view.message) == (None, "that was the first one")
    view, act = after(open_page(view, 5), "n", "n", "n")
    assert (act, view.message, view.cursor) == (None, "that was the last one", 2)


@pytest.mark.parametrize("key", [NamedKey.ESCAPE, NamedKey.LEFT, NamedKey.BACKSPACE, TypedKey("h")])
def test_a_page_is_left_for_the_list(key: Key) -> None:
    view, act = after(open_page(a_view(), 5), key)
    assert (view.mode, act) == (BrowserMode.LIST, None)


@pytest.mark.parametrize("view", [a_view(), open_page(a_view(), 5)], ids=["list", "page"])
def test_q_leaves_from_anywhere(view: BrowserView) -> None:
    assert after(view, "q")[1] == QuitBrowser()


def test_pages_about_the_run_are_turned_to_and_n_goes_on_to_the_chosen_result() -> None:
    view, act = after(a_view(), "s")
    assert act == OpenRunPage(WholeRunPage.SUMMARY)
    assert after(view, "t")[1] == OpenRunPage(WholeRunPage.TRIAGE)
    about = open_page(view, 40, of_run=True)
    assert after(about, "n")[1] == OpenResult(1)


def test_a_search_is_typed_mended_and_asked_for() -> None:
    view, act = after(a_view(), "/", "r", "x", NamedKey.BACKSPACE, "e", " ", "q")
    assert (view.mode, view.typed, act) == (BrowserMode.TYPING, "re q", None)
    assert press_key(view, NamedKey.ENTER)[1] == SearchResults("re q")


def test_a_search_leaves_what_holds_the_text_and_escape_clears_it() -> None:
    view, _ = after(a_view(), "/", "x")
    view = show_matches(view, "x", frozenset((2, 4)))
    assert (listed(view), view.mode, view.query) == (["q2", "q4"], BrowserMode.LIST, "x")
    assert view.message == "2 of those listed hold “x”"
    view, _ = after(view, NamedKey.ESCAPE)
    assert (listed(view), view.query) == (["q1", "q2", "q4"], "")


def test_a_search_that_finds_nothing_leaves_the_list_as_it_is() -> None:
    view = show_matches(a_view(), "x", frozenset())
    assert (listed(view), view.message) == (["q1", "q2", "q4"], "nothing listed holds “x”")


@pytest.mark.parametrize("pressed", [("/", "x", NamedKey.ESCAPE), ("/", NamedKey.ENTER), ("/", " ", NamedKey.ENTER)])
def test_a_search_that_is_given_up_changes_nothing(pressed: tuple[Key | str, ...]) -> None:
    view, act = after(a_view(), *pressed)
    assert (view.mode, listed(view), act) == (BrowserMode.LIST, ["q1", "q2", "q4"], None)


def test_an_empty_list_has_nothing_to_open() -> None:
    view = a_view(PASSED)
    assert view.chosen is None
    for pressed in (NamedKey.ENTER, "j", "k", "G", "n"):
        assert after(view, pressed)[1] is None


def test_a_result_that_is_gone_leads_back_to_the_list() -> None:
    view = report_missing(open_page(a_view(), 5))
    assert (view.mode, view.message) == (BrowserMode.LIST, "this result is no longer stored")


def test_a_message_lasts_until_the_next_key() -> None:
    view, _ = after(a_view(), "f")
    assert view.message == "listed: failed"
    assert after(view, "x")[0].message == ""


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b"j", [TypedKey("j")]),
        (b"\x1b[A", [NamedKey.UP]),
        (b"\x1bOB", [NamedKey.DOWN]),
        (b"\x1b[C\x1b[D", [NamedKey.RIGHT, NamedKey.LEFT]),
        (b"\x1b[1;5A", [NamedKey.UP]),
        (b"\x1b[5~\x1b[6~", [NamedKey.PAGE_UP, NamedKey.PAGE_DOWN]),
        (b"\x1b[H\x1b[F\x1b[1~\x1b[4~", [NamedKey.HOME, NamedKey.END, NamedKey.HOME, NamedKey.END]),
        (b"\r", [NamedKey.ENTER]),
        (b"\n", [NamedKey.ENTER]),
        (b"\x7f\x08", [NamedKey.BACKSPACE, NamedKey.BACKSPACE]),
        (b"\x1b", [NamedKey.ESCAPE]),
        (b"\x1bq", [NamedKey.ESCAPE, TypedKey("q")]),
        (b"/no\r", [TypedKey("/"), TypedKey("n"), TypedKey("o"), NamedKey.ENTER]),
        ("é日".encode(), [TypedKey("é"), TypedKey("日")]),
        (b"\x1b[200~", []),
        (b"\x1b[3~", []),
        (b"\x00\x01", []),
        (b"\xff", [TypedKey("\ufffd")]),
        (b"", []),
    ],
)
def test_bytes_are_keys_and_what_means_nothing_is_not_typed(sent: bytes, expected: list[Key]) -> None:
    assert list(decode_keys(sent)) == expected
