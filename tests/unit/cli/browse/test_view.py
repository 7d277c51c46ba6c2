"""What each key does to the view of a run; no terminal, no store."""

from __future__ import annotations

import pytest

from howsure.cli.browse.keys import Key, Named, Typed
from howsure.cli.browse.pressing import press
from howsure.cli.browse.view import (
    FURNITURE,
    Act,
    Entry,
    Mode,
    Open,
    Page,
    Quit,
    Search,
    Shown,
    Turn,
    View,
    gone,
    opened,
    paged,
    remeasured,
    resized,
    searched,
)
from howsure.model.verdict import Verdict

PASSED, FAILED, ERRORED, SKIPPED = Verdict


def entries(*verdicts: Verdict) -> list[Entry]:
    return [Entry(place, f"q{place}", "", 1, verdict) for place, verdict in enumerate(verdicts)]


MIXED = entries(PASSED, FAILED, ERRORED, PASSED, FAILED, SKIPPED)


def a_view(*verdicts: Verdict, height: int = 24) -> View:
    return opened(entries(*verdicts) if verdicts else MIXED, height)


def after(view: View, *pressed: Key | str) -> tuple[View, Act | None]:
    act: Act | None = None
    for key in pressed:
        view, act = press(view, Typed(key) if isinstance(key, str) else key)
    return view, act


def listed(view: View) -> list[str]:
    return [entry.case_id for entry in view.listed]


def test_a_run_opens_on_what_failed_and_errored() -> None:
    view = a_view()
    assert listed(view) == ["q1", "q2", "q4"]
    assert (view.cursor, view.mode, view.shown) == (0, Mode.LIST, Shown.NOT_PASSED)


@pytest.mark.parametrize(
    ("pressed", "cursor"),
    [
        ((Named.DOWN,), 1),
        (("j", "j"), 2),
        (("j", "j", "j", "j"), 2),
        ((Named.UP,), 0),
        (("G",), 2),
        ((Named.END, "k"), 1),
        (("G", "g"), 0),
        (("n", "n", "p"), 1),
        ((Named.PAGE_DOWN,), 2),
        (("G", Named.PAGE_UP), 0),
        ((" ",), 2),
    ],
)
def test_keys_move_the_cursor_within_the_list(pressed: tuple[Key | str, ...], cursor: int) -> None:
    view, act = after(a_view(), *pressed)
    assert (view.cursor, act) == (cursor, None)


@pytest.mark.parametrize("key", [Named.ENTER, Named.RIGHT, Typed("l")])
def test_enter_opens_the_result_under_the_cursor(key: Key) -> None:
    assert after(a_view(), "j", key)[1] == Open(2)


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
    view = a_view(*[FAILED] * 10, height=FURNITURE + 4)
    view, _ = after(view, *"jjjjj")
    assert (view.cursor, view.top, [entry.case_id for entry in view.window]) == (5, 2, ["q2", "q3", "q4", "q5"])
    view, _ = after(view, "g")
    assert view.top == 0
    view, _ = after(view, "G")
    assert [entry.case_id for entry in view.window] == ["q6", "q7", "q8", "q9"]


def test_a_smaller_screen_keeps_the_cursor_in_sight_too() -> None:
    view, _ = after(a_view(*[FAILED] * 10, height=24), "G")
    assert resized(view, FURNITURE + 2).top == 8
    assert resized(view, 24) is view


def test_a_page_scrolls_and_stops_at_its_ends() -> None:
    view = paged(a_view(height=FURNITURE + 10), 25)
    assert view.mode is Mode.PAGE
    for pressed, scroll in ((("j",), 1), ((Named.PAGE_DOWN,), 10), (("G",), 15), (("G", "k"), 14), (("k",), 0)):
        assert after(view, *pressed)[0].scroll == scroll, pressed
    short = paged(a_view(), 3)
    assert after(short, "G")[0].scroll == 0


def test_a_page_that_got_shorter_is_not_scrolled_beyond_its_end() -> None:
    view, _ = after(paged(a_view(height=FURNITURE + 10), 50), "G")
    assert remeasured(view, 20).scroll == 10


def test_n_and_p_go_from_one_open_result_to_the_next() -> None:
    view = paged(a_view(), 5)
    view, act = after(view, "n")
    assert (view.cursor, act) == (1, Open(2))
    view, act = after(view, "p")
    assert act == Open(1)
    view, act = after(view, "p")
    assert (act, view.message) == (None, "that was the first one")
    view, act = after(paged(view, 5), "n", "n", "n")
    assert (act, view.message, view.cursor) == (None, "that was the last one", 2)


@pytest.mark.parametrize("key", [Named.ESCAPE, Named.LEFT, Named.BACKSPACE, Typed("h")])
def test_a_page_is_left_for_the_list(key: Key) -> None:
    view, act = after(paged(a_view(), 5), key)
    assert (view.mode, act) == (Mode.LIST, None)


@pytest.mark.parametrize("view", [a_view(), paged(a_view(), 5)], ids=["list", "page"])
def test_q_leaves_from_anywhere(view: View) -> None:
    assert after(view, "q")[1] == Quit()


def test_pages_about_the_run_are_turned_to_and_n_goes_on_to_the_chosen_result() -> None:
    view, act = after(a_view(), "s")
    assert act == Turn(Page.SUMMARY)
    assert after(view, "t")[1] == Turn(Page.TRIAGE)
    about = paged(view, 40, of_run=True)
    assert after(about, "n")[1] == Open(1)


def test_a_search_is_typed_mended_and_asked_for() -> None:
    view, act = after(a_view(), "/", "r", "x", Named.BACKSPACE, "e", " ", "q")
    assert (view.mode, view.typed, act) == (Mode.TYPING, "re q", None)
    assert press(view, Named.ENTER)[1] == Search("re q")


def test_a_search_leaves_what_holds_the_text_and_escape_clears_it() -> None:
    view, _ = after(a_view(), "/", "x")
    view = searched(view, "x", frozenset((2, 4)))
    assert (listed(view), view.mode, view.query) == (["q2", "q4"], Mode.LIST, "x")
    assert view.message == "2 of those listed hold “x”"
    view, _ = after(view, Named.ESCAPE)
    assert (listed(view), view.query) == (["q1", "q2", "q4"], "")


def test_a_search_that_finds_nothing_leaves_the_list_as_it_is() -> None:
    view = searched(a_view(), "x", frozenset())
    assert (listed(view), view.message) == (["q1", "q2", "q4"], "nothing listed holds “x”")


@pytest.mark.parametrize("pressed", [("/", "x", Named.ESCAPE), ("/", Named.ENTER), ("/", " ", Named.ENTER)])
def test_a_search_that_is_given_up_changes_nothing(pressed: tuple[Key | str, ...]) -> None:
    view, act = after(a_view(), *pressed)
    assert (view.mode, listed(view), act) == (Mode.LIST, ["q1", "q2", "q4"], None)


def test_an_empty_list_has_nothing_to_open() -> None:
    view = a_view(PASSED)
    assert view.chosen is None
    for pressed in (Named.ENTER, "j", "k", "G", "n"):
        assert after(view, pressed)[1] is None


def test_a_result_that_is_gone_leads_back_to_the_list() -> None:
    view = gone(paged(a_view(), 5))
    assert (view.mode, view.message) == (Mode.LIST, "this result is no longer stored")


def test_a_message_lasts_until_the_next_key() -> None:
    view, _ = after(a_view(), "f")
    assert view.message == "listed: failed"
    assert after(view, "x")[0].message == ""
