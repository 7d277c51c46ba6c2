"""The list of runs, and what can be done with a run."""

from __future__ import annotations

import pytest

from howsure.model.run import RunState
from howsure.store.browse import RunPreview
from howsure.web.pages.run_actions import available_actions
from howsure.web.pages.runs import RunFilter, answer, choices, match_runs, read_run_filter, runs_after, runs_page

DONE, GOING, BROKEN = RunState.COMPLETED, RunState.RUNNING, RunState.INTERRUPTED


def a_face(
    id: str, state: RunState = DONE, agent: str = "moss", test: str = "refunds.jsonl", name: str = ""
) -> RunPreview:
    tests = ((f"data/{test}", ""),)
    return RunPreview(id=id, name=name or f"run {id}", agent_id=agent, state=state, created_at="", tests=tests)


FACES = [
    a_face("d", name="Nightly"),
    a_face("c", BROKEN, agent="fern"),
    a_face("b", GOING, test="leave.jsonl"),
    a_face("a"),
]


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        (RunFilter(), "b d c a"),
        (RunFilter(status="completed"), "d a"),
        (RunFilter(agent_id="fern"), "c"),
        (RunFilter(test="leave.jsonl"), "b"),
        (RunFilter(q="NIGHT"), "d"),
        (RunFilter(q="fern"), "c"),
        (RunFilter(agent_id="fern", status="completed"), ""),
    ],
    ids=["going on first", "state", "agent", "test set", "name", "agent by search", "nothing"],
)
def test_filters_leave_what_they_say(wanted: RunFilter, ids: str) -> None:
    assert [face.id for face in match_runs(FACES, wanted).filtered] == ids.split()


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (RunFilter(), "4 runs, 1 going on, 1 that did not reach the end."),
        (RunFilter(status="completed"), "2 of 4 runs, none going on."),
        (RunFilter(agent_id="nobody"), "No run matches: agent nobody."),
    ],
)
def test_the_answer_says_what_is_going_on_and_what_broke(wanted: RunFilter, said: str) -> None:
    assert answer(FACES, match_runs(FACES, wanted).filtered, wanted, {}) == said


def test_with_nothing_there_is_nothing_to_filter() -> None:
    page = runs_page(match_runs([], RunFilter()), [], RunFilter())
    assert (page.answer, page.total, page.states) == ("No runs yet.", 0, ())


def test_a_filter_counts_what_the_others_leave() -> None:
    page = runs_page(match_runs(FACES, RunFilter(agent_id="moss")), [], RunFilter(agent_id="moss"))
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
    assert [face.id for face in runs_after(FACES, after)] == ids.split()


def test_each_filter_can_be_taken_away_alone() -> None:
    page = runs_page(
        match_runs(FACES, RunFilter(agent_id="moss", q="x & y")), [], RunFilter(agent_id="moss", q="x & y")
    )
    assert page.cleared == (("agent", "moss", "/?q=x+%26+y"), ("search", "x & y", "/?agent_id=moss"))


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ({}, RunFilter()),
        ({"status": "nonsense", "q": "x"}, RunFilter(q="x")),
        ({"status": "failed", "agent_id": "a", "test": "t"}, RunFilter(status="failed", agent_id="a", test="t")),
        ({"q": "x" * 500}, RunFilter(q="x" * 200)),
    ],
)
def test_an_address_is_read_with_care(query: dict[str, str], wanted: RunFilter) -> None:
    assert read_run_filter(query) == wanted


@pytest.mark.parametrize(
    ("state", "errored", "own", "others"),
    [
        (RunState.PENDING, 0, "pause cancel", ""),
        (RunState.RUNNING, 3, "pause cancel", ""),
        (RunState.COMPLETED, 0, "regrade delete", "regrade delete"),
        (RunState.COMPLETED, 2, "retry regrade delete", "regrade delete"),
        (RunState.INTERRUPTED, 0, "resume regrade delete", "regrade delete"),
        (RunState.OUT_OF_BUDGET, 1, "resume retry regrade delete", "regrade delete"),
    ],
)
def test_only_own_runs_are_stopped_and_gone_on_with(state: RunState, errored: int, own: str, others: str) -> None:
    assert " ".join(available_actions(state, errored)) == own
    assert " ".join(available_actions(state, errored, is_own=False)) == others
