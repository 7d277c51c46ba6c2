"""What pages list: results that are like this or that, worst first; what fails most; runs and agents; on both
databases the same."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from howsure.model.access_scope import AccessScope
from howsure.model.result import Result
from howsure.model.rubric import Severity
from howsure.model.run import RunState
from howsure.model.score import Grade, Part, Score, Unscored, UnscoredReason
from howsure.model.simulation import Fault, Party
from howsure.model.verdict import Verdict
from howsure.store.browse import RepeatVerdict, TagCount
from howsure.store.result_lists import ResultFilter, ResultOrder
from howsure.store.store import Store
from howsure.store.summaries import FailureCount
from howsure.testing import a_case, a_transcript
from store.making import NOON, OTHER, RUN, a_result, a_run, shown_page

PASSED, FAILED, ERRORED, SKIPPED = Verdict.PASSED, Verdict.FAILED, Verdict.ERRORED, Verdict.SKIPPED


def rule(passed: bool, id: str = "r1", scope: str = "prompt") -> Grade:
    part = Part(id=id, text=f"Rule {id}", severity=Severity.HIGH, scope=scope)
    return Score(name="rubric", value=float(passed), pass_mark=1.0, part=part)


def a_case_result(position: int, verdict: Verdict, *grades: Grade, **fields: Any) -> Result:
    own = {name.removeprefix("case_"): fields.pop(name) for name in [*fields] if name.startswith("case_")}
    case = a_case(**{"id": f"case-{position}", "message": f"Question {position}?", **own})
    return Result(
        case=case,
        verdict=verdict,
        grades=grades,
        position=position,
        created_at=NOON,
        **{"transcript": a_transcript(f"Answer {position}"), "duration_ms": 1.0, **fields},
    )


RESULTS = (
    a_case_result(0, PASSED, rule(True), case_tags=("easy",), duration_ms=9.0),
    a_case_result(1, FAILED, rule(False), case_tags=("hard",), case_labels={"area": "money"}, duration_ms=3.0),
    a_case_result(2, SKIPPED, Unscored(name="choice", why=UnscoredReason.NO_JUDGE, reason="none")),
    a_case_result(
        3,
        ERRORED,
        Unscored(name="choice", why=UnscoredReason.ERROR, reason="unreadable"),
        case_message="WHERE is 'it'?",
    ),
    a_case_result(
        4, FAILED, rule(False, "r2", ""), rule(False), candidate="b", transcript=a_transcript('Überweisung "now"')
    ),
    a_case_result(5, FAILED, fault=Fault(party=Party.AGENT, reason="it erred"), duration_ms=7.0),
)


@pytest.fixture
async def kept(store: Store) -> Store:
    await store.create_run(a_run(total=len(RESULTS), candidates=("", "b")))
    await store.save(RUN, RESULTS)
    return store


@pytest.mark.parametrize(
    ("chosen", "positions"),
    [
        (ResultFilter(), [1, 4, 5, 3, 2, 0]),
        (ResultFilter(order=ResultOrder.FILE), [0, 1, 2, 3, 4, 5]),
        (ResultFilter(order=ResultOrder.SLOWEST), [0, 5, 1, 2, 3, 4]),
        (ResultFilter(verdicts=("failed", "errored")), [1, 4, 5, 3]),
        (ResultFilter(candidate="b"), [4]),
        (ResultFilter(candidate=""), [1, 5, 3, 2, 0]),
        (ResultFilter(grader="rubric"), [1, 4]),
        (ResultFilter(grader="rubric", part="r2"), [4]),
        (ResultFilter(grader="choice"), [3]),
        (ResultFilter(component="prompt"), [1, 4]),
        (ResultFilter(component=""), [4]),
        (ResultFilter(fault="agent"), [5]),
        (ResultFilter(tag="hard"), [1]),
        (ResultFilter(tag="area: money"), [1]),
        (ResultFilter(tag="nothing"), []),
        (ResultFilter(text="question 1"), [1]),
        (ResultFilter(text="where IS 'it'"), [3]),
        (ResultFilter(text='"now"'), [4]),
        (ResultFilter(text="ÜberWEISUNG"), [4]),
        (ResultFilter(text="CASE-5"), [5]),
        (ResultFilter(text="100%_"), []),
        (ResultFilter(flaky=True), []),
    ],
    ids=str,
)
async def test_results_are_chosen_and_ordered(kept: Store, chosen: ResultFilter, positions: list[int]) -> None:
    assert await kept.browse.positions(RUN, chosen) == positions


async def test_results_come_in_the_order_that_was_asked_for(kept: Store) -> None:
    found = await kept.browse.results_at(RUN, [4, 0, 99])
    assert [result.case.id for result in found] == ["case-4", "case-0"]


async def test_tags_are_counted_the_commonest_first(kept: Store) -> None:
    assert sorted((await shown_page(kept)).tags, key=str) == [
        TagCount("area: money", 1),
        TagCount("easy", 1),
        TagCount("hard", 1),
    ]


async def test_what_fails_most_is_counted_when_the_run_ends(kept: Store) -> None:
    expected = [
        FailureCount(name="rubric", part_id="r1", outcome="failed", number=2, first=1, last=4),
        FailureCount(name="choice", outcome="error", number=1, first=3, last=3),
        FailureCount(name="rubric", part_id="r2", outcome="failed", number=1, first=4, last=4),
    ]
    assert (await shown_page(kept)).failing == expected
    await kept.set_state(RUN, RunState.COMPLETED)
    assert (await kept.stored_counts([RUN]))[RUN].failing == expected


async def test_a_case_that_ends_in_two_ways_is_flaky(store: Store) -> None:
    await store.create_run(a_run(total=4, repeat=2))
    tried = [("a", PASSED, 1), ("a", FAILED, 2), ("b", PASSED, 1), ("b", PASSED, 2)]
    await store.save(
        RUN, [a_result(place, verdict, case=case, repeat=repeat) for place, (case, verdict, repeat) in enumerate(tried)]
    )
    page = await shown_page(store)
    assert page.flaky == 1
    assert await store.browse.positions(RUN, ResultFilter(flaky=True)) == [1, 0]
    assert page.tries["a", ""] == [RepeatVerdict(1, "passed", 0), RepeatVerdict(2, "failed", 1)]


async def test_runs_show_what_they_can_be_chosen_by(store: Store) -> None:
    await store.create_run(a_run(agent="moss"))
    await store.create_run(a_run(OTHER, agent="fern", organization_id="them", created_at=NOON + timedelta(hours=1)))
    faces = await store.browse.run_previews()
    assert [(face.id, face.agent_id, face.tests) for face in faces] == [
        (OTHER, "fern", (("legal.jsonl", ""),)),
        (RUN, "moss", (("legal.jsonl", ""),)),
    ]
    assert [face.id for face in await store.browse.run_previews(AccessScope(organization_id="them"))] == [OTHER]
    assert [face.id for face in await store.browse.run_previews(AccessScope(agent_ids=("moss",)))] == [RUN]


async def test_a_run_that_nobody_works_on_is_interrupted(store: Store) -> None:
    await store.create_run(a_run(state=RunState.RUNNING))
    assert [face.state for face in await store.browse.run_previews()] == [RunState.INTERRUPTED]


async def test_agents_are_those_of_the_runs(store: Store) -> None:
    await store.create_run(a_run(agent="moss"))
    await store.create_run(a_run(OTHER, agent="moss", created_at=NOON + timedelta(hours=1)))
    (face,) = await store.browse.agent_previews()
    assert (face.id, face.runs, face.latest) == ("moss", 2, NOON + timedelta(hours=1))
    assert await store.browse.newest_runs(["moss", "nobody"]) == [OTHER]
    assert await store.browse.agent_previews(AccessScope(organization_id="them")) == []


async def test_the_same_case_is_found_in_other_runs_of_the_agent(store: Store) -> None:
    first, second = a_run(agent="moss"), a_run(OTHER, agent="moss", name="second")
    for run in (first, second):
        await store.create_run(run)
        await store.save(run.id, [a_result(0, FAILED)])
    (found,) = await store.browse.other_results(first, "case-0")
    assert (found.run_id, found.run_name, found.verdict, found.position) == (OTHER, "second", "failed", 0)
    assert await store.browse.other_results(first, "case-9") == []
    assert await store.browse.other_results(first, "case-0", AccessScope(organization_id="us")) == []


async def test_runs_come_in_the_order_that_was_asked_for(store: Store) -> None:
    await store.create_run(a_run())
    await store.create_run(a_run(OTHER))
    runs, _ = await store.browse.runs_with_counts([OTHER, RUN, "none"])
    assert [run.id for run in runs] == [OTHER, RUN]


async def test_runs_come_with_what_was_counted_of_those_that_ended(store: Store) -> None:
    for run_id in (RUN, OTHER):
        await store.create_run(a_run(run_id))
        await store.save(run_id, [a_result(0)])
    await store.set_state(OTHER, RunState.COMPLETED)
    runs, counted = await store.browse.runs_with_counts([OTHER, "none", RUN])
    assert runs == [await store.run(OTHER), await store.run(RUN)]
    assert {run_id: replace(own, by_label=None, answers=None) for run_id, own in counted.items()} == {
        OTHER: await store.count(OTHER)
    }
