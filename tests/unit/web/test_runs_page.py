"""The list of runs: what is going on first, filters that leave what they say, counts that add up."""

from __future__ import annotations

import pytest

from howsure.model.run import RunState
from howsure.store.browsing import RunFace
from howsure.web.pages.runs import Wanted, answer, choices, following, found_in, runs_page, wanted_in

DONE, GOING, BROKEN = RunState.COMPLETED, RunState.RUNNING, RunState.INTERRUPTED


def a_face(
    id: str, state: RunState = DONE, agent: str = "moss", test: str = "refunds.jsonl", name: str = ""
) -> RunFace:
    tests = ((f"data/{test}", ""),)
    return RunFace(id=id, name=name or f"run {id}", agent_id=agent, state=state, created_at="", tests=tests)


FACES = [
    a_face("d", name="Nightly"),
    a_face("c", BROKEN, agent="fern"),
    a_face("b", GOING, test="leave.jsonl"),
    a_face("a"),
]


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        (Wanted(), "b d c a"),
        (Wanted(status="completed"), "d a"),
        (Wanted(agent_id="fern"), "c"),
        (Wanted(test="leave.jsonl"), "b"),
        (Wanted(q="NIGHT"), "d"),
        (Wanted(q="fern"), "c"),
        (Wanted(agent_id="fern", status="completed"), ""),
    ],
    ids=["going on first", "state", "agent", "test set", "name", "agent by search", "nothing"],
)
def test_filters_leave_what_they_say(wanted: Wanted, ids: str) -> None:
    assert [face.id for face in found_in(FACES, wanted).like] == ids.split()


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (Wanted(), "4 runs, 1 going on, 1 that did not reach the end."),
        (Wanted(status="completed"), "2 of 4 runs, none going on."),
        (Wanted(agent_id="nobody"), "No run is like that: agent nobody."),
    ],
)
def test_the_answer_says_what_is_going_on_and_what_broke(wanted: Wanted, said: str) -> None:
    assert answer(FACES, found_in(FACES, wanted).like, wanted) == said


def test_with_nothing_there_is_nothing_to_filter() -> None:
    page = runs_page(found_in([], Wanted()), [], Wanted())
    assert (page.answer, page.total, page.states) == ("No runs yet.", 0, ())


def test_a_filter_counts_what_the_others_leave() -> None:
    page = runs_page(found_in(FACES, Wanted(agent_id="moss")), [], Wanted(agent_id="moss"))
    assert [(choice.value, choice.number) for choice in page.states] == [("completed", 2), ("running", 1)]
    assert [(choice.value, choice.number, choice.chosen) for choice in page.agents] == [
        ("moss", 3, True),
        ("fern", 1, False),
    ]
    assert (page.matching, page.total) == (3, 4)


def test_what_was_chosen_is_offered_though_no_run_has_it() -> None:
    (only,) = choices([], "nobody")
    assert (only.value, only.number, only.chosen) == ("nobody", 0, True)


@pytest.mark.parametrize(("after", "ids"), [(None, "d c b a"), ("c", "b a"), ("a", ""), ("gone", "d c b a")])
def test_a_page_begins_behind_the_last_one(after: str | None, ids: str) -> None:
    assert [face.id for face in following(FACES, after)] == ids.split()


def test_each_filter_can_be_taken_away_alone() -> None:
    page = runs_page(found_in(FACES, Wanted(agent_id="moss", q="x & y")), [], Wanted(agent_id="moss", q="x & y"))
    assert page.cleared == (("agent", "moss", "/?q=x+%26+y"), ("search", "x & y", "/?agent_id=moss"))


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ({}, Wanted()),
        ({"status": "nonsense", "q": "x"}, Wanted(q="x")),
        ({"status": "failed", "agent_id": "a", "test": "t"}, Wanted(status="failed", agent_id="a", test="t")),
        ({"q": "x" * 500}, Wanted(q="x" * 200)),
    ],
)
def test_an_address_is_read_with_care(query: dict[str, str], wanted: Wanted) -> None:
    assert wanted_in(query) == wanted
