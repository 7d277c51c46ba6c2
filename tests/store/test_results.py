"""Results in the store: read as written, written twice without a trace, paged by position."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from msgspec.structs import replace

from howsure.errors import Conflict, InputError, NotFound
from howsure.model.case import Fact, PlanStep, Scenario, Script
from howsure.model.expectation import Choice, CorrectChoice, Criteria, Criterion, ExpectedCall, ToolCalls
from howsure.model.result import Failure, Result, result_id
from howsure.model.rubric import Severity
from howsure.model.score import OPEN, Direction, Part, Score, Unscored, UnscoredReason
from howsure.model.simulation import Ending, Fault, MistakeKind, Party, Simulation, UserMistake
from howsure.model.transcript import AgentStep, BrokenRecording, Span, Transcript, Usage
from howsure.model.verdict import Verdict
from howsure.store.result_batches import result_key
from howsure.store.results import CostTotals, PartGrade
from howsure.store.store import Store
from howsure.testing import a_case, a_transcript
from store.making import NOON, OTHER, RUN, a_result, a_run, asked

PART = Part(id="r1", text="Says hello", weight=-2.0, severity=Severity.HIGH, scope="prompt")
SLIP = UserMistake(kind=MistakeKind.INVENTED_FACT, turn=2, reason="nobody said so", evidence="B-7")
RICH = [
    a_result(0, case="plain"),
    a_result(1, case="ünïcode — 案例 🎉", candidate="gpt ✓", repeat=3),
    a_result(
        2, Verdict.ERRORED, transcript=None, grades=(), failures=(Failure(kind="TargetFailed", message="refused"),)
    ),
    a_result(
        3,
        case="x",
        grades=(
            Score(name="latency", value=812.5, scale=OPEN, direction=Direction.LOWER, details={"p": [1, {"q": None}]}),
            Score(name="rubric", value=1, pass_mark=1, part=PART, evidence=("hello",), judge="j", cost_usd=0.01),
            Unscored(name="rubric", why=UnscoredReason.NO_JUDGE, reason="none", part=Part(id="r2", text="Says bye")),
        ),
        created_at=None,
        duration_ms=0.0,
    ),
    Result(
        case=a_case(
            CorrectChoice(choices=(Choice(id="A", text="yes"),), correct=("A",)),
            Criteria(criteria=(Criterion(id="c", text="polite"),)),
            ToolCalls(expected=(ExpectedCall(name="refund", arguments={"order": {"$any": True}}),)),
            id="kinds",
            input=Script(turns=("one", "two")),
            labels={"topic": "law"},
            metadata={"big": 2**60, "float": 0.1, "nested": {"list": [1, "a", None]}},
        ),
        verdict=Verdict.FAILED,
        position=4,
        transcript=a_transcript(
            "done",
            calls=[("refund", {"order": "1"})],
            steps=(AgentStep(name="router"),),
            spans=(Span(name="call", start_ns=1, end_ns=2),),
            usage=Usage(prompt_tokens=10),
            state={"x": 1},
        ),
    ),
    Result(
        case=a_case(
            id="sim", input=Scenario(persona="angry", initial_message="hi"), recorded=BrokenRecording(reason="timeout")
        ),
        verdict=Verdict.SKIPPED,
        position=5,
    ),
    Result(
        case=a_case(
            id="live",
            input=Scenario(
                persona="calm",
                initial_message="hi",
                goal="a refund",
                facts=(Fact(name="order", value="7", asked_by=("number",)),),
                plan=(PlanStep(say="thanks", when="it is done"),),
            ),
        ),
        verdict=Verdict.FAILED,
        transcript=a_transcript(
            "no",
            simulation=Simulation(
                user="offline",
                ending=Ending.GAVE_UP,
                reason="refused",
                slips=(SLIP,),
                discarded=((SLIP, SLIP), ()),
            ),
        ),
        fault=Fault(party=Party.SIMULATOR, reason="made it up", evidence="B-7"),
        position=6,
    ),
]


async def test_results_are_read_as_they_were_written(store: Store) -> None:
    await store.create_run(a_run(total=7))
    await store.save(RUN, RICH)
    assert await store.results(RUN) == RICH
    assert [result async for result in store.iterate(RUN, batch=2)] == RICH


async def test_saving_nothing_does_nothing(store: Store) -> None:
    await store.save(RUN, [])
    assert await store.runs(limit=5) == []


async def test_a_recorded_transcript_is_stored_once(store: Store) -> None:
    words = "only once " * 50
    recorded = Transcript(answer=words)
    await store.create_run(a_run())
    replayed = a_result(0, case="r", transcript=recorded)
    same = Result(case=a_case(id="s", recorded=recorded), verdict=Verdict.PASSED, transcript=recorded, position=1)
    unlike = Result(case=a_case(id="u", recorded=recorded), verdict=Verdict.PASSED, position=2)
    await store.save(RUN, [replayed, same, unlike])
    assert await store.results(RUN) == [replayed, same, unlike]
    assert (await asked(store, "SELECT length(body) FROM results WHERE case_id = 's'"))[0][0] < 100


async def test_a_named_candidates_transcript_is_its_own(store: Store) -> None:
    """Two candidates may bring a recording each for one case, of which the store keeps the first."""
    await store.create_run(a_run(candidates=("a", "b")))
    for position, name in enumerate("ab"):
        recorded = Transcript(answer=f"the answer of {name}")
        case = a_case(id="q", recorded=recorded)
        result = Result(case=case, verdict=Verdict.PASSED, transcript=recorded, candidate=name, position=position)
        await store.save(RUN, [result])
    answers = [result.transcript.answer for result in await store.results(RUN) if result.transcript]
    assert answers == ["the answer of a", "the answer of b"]


async def test_saving_twice_changes_nothing(store: Store) -> None:
    await store.create_run(a_run(total=7))
    await store.save(RUN, RICH)
    before = await _everything(store)
    await store.save(RUN, RICH)
    await store.save(RUN, list(reversed(RICH)))
    assert await _everything(store) == before


async def _everything(store: Store) -> dict[str, list[tuple[object, ...]]]:
    tables = {"cases": "case_id", "results": "position", "scores": "position, ordinal"}
    return {table: await asked(store, f"SELECT * FROM {table} ORDER BY {order}") for table, order in tables.items()}


async def test_a_second_attempt_replaces_the_first_and_its_scores(store: Store) -> None:
    await store.create_run(a_run())
    grades = tuple(Score(name=name, value=0, pass_mark=1) for name in ("a", "b", "c"))
    await store.save(RUN, [a_result(0, Verdict.ERRORED, grades=grades), a_result(1)])
    again = a_result(0, grades=(Score(name="a", value=1, pass_mark=1),))
    await store.save(RUN, [again])
    assert (await store.results(RUN))[0] == again
    summary = await store.summary(RUN)
    assert [(grader.name, grader.passed, grader.failed) for grader in summary.graders] == [
        ("a", 1, 0),
        ("choice", 1, 0),
    ]
    assert (summary.run.counts.passed, summary.run.counts.errored) == (2, 0)


async def test_a_case_is_stored_once_for_all_its_candidates_and_repeats(store: Store) -> None:
    await store.create_run(a_run(candidates=("a", "b")))
    attempts = [
        a_result(position, case="same", candidate=candidate, repeat=repeat)
        for position, (candidate, repeat) in enumerate([("a", 1), ("a", 2), ("b", 1), ("b", 2)])
    ]
    attempts = [structs.replace(each, case=attempts[0].case) for each in attempts]
    await store.save(RUN, attempts[2:])
    await store.save(RUN, [*attempts[:2], a_result(9, case="other")])
    assert [case.id async for case in store.cases(RUN, batch=1)] == ["same", "other"]
    assert await store.results(RUN, case_id="same") == attempts
    assert await store.results(RUN, candidate="b") == attempts[2:]


async def test_one_run_does_not_see_the_other(store: Store) -> None:
    await store.create_run(a_run())
    await store.create_run(a_run(OTHER))
    await store.save(RUN, [a_result(0)])
    await store.save(OTHER, [a_result(0, Verdict.FAILED), a_result(1)])
    assert [result.verdict for result in await store.results(RUN)] == [Verdict.PASSED]
    assert await store.finished_positions(OTHER) == {0, 1}


async def test_pages_go_on_where_they_stopped_while_others_write(store: Store) -> None:
    await store.create_run(a_run(total=40))
    await store.save(RUN, [a_result(position) for position in range(0, 20, 2)])
    seen: list[int] = []
    after: int | None = None
    while page := await store.results(RUN, after=after, limit=3):
        seen += [result.position for result in page]
        after = seen[-1]
        # One lands behind us, one before us, one again: none is seen twice, none that is ahead is missed.
        if after < 20:
            await store.save(RUN, [a_result(after - 1 if after else 39), a_result(after + 3), a_result(after)])
    assert len(seen) == len(set(seen))
    assert seen == sorted(seen)
    assert set(range(0, 20, 2)) <= set(seen)


async def test_results_are_filtered_by_verdict(store: Store) -> None:
    await store.create_run(a_run(total=9))
    every = [Verdict.PASSED, Verdict.FAILED, Verdict.ERRORED]
    await store.save(RUN, [a_result(position, every[position % 3]) for position in range(9)])
    failed = await store.results(RUN, verdict=Verdict.FAILED, after=1, limit=1)
    assert [result.position for result in failed] == [4]
    assert await store.positions(RUN, Verdict.ERRORED) == [2, 5, 8]
    assert [result.position async for result in store.iterate(RUN, verdict=Verdict.ERRORED, batch=2)] == [2, 5, 8]


async def test_one_result_is_found_by_its_id_or_its_case(store: Store) -> None:
    await store.create_run(a_run())
    first = a_result(0, case="q", candidate="a")
    both = [first, structs.replace(first, candidate="b", position=1)]
    await store.save(RUN, [*both, a_result(2, case="single")])
    assert (await store.result(RUN, "single")).position == 2
    assert await store.result(RUN, str(result_id(UUID(RUN), "q", "b", 1))) == both[1]
    assert await store.result(RUN, "q", candidate="a") == both[0]
    with pytest.raises(Conflict, match="candidate 'a' repeat 1, candidate 'b' repeat 1; say which"):
        await store.result(RUN, "q")
    with pytest.raises(NotFound, match="has no result or case 'nobody'"):
        await store.result(RUN, "nobody")
    with pytest.raises(NotFound):
        await store.result(RUN, "q", candidate="a", repeat=2)


async def test_two_cases_cannot_have_one_position(store: Store) -> None:
    await store.create_run(a_run())
    await store.save(RUN, [a_result(0, case="a")])
    with pytest.raises(Conflict, match="position"):
        await store.save(RUN, [a_result(1, case="b"), a_result(0, case="c")])
    assert [result.case.id for result in await store.results(RUN)] == ["a"]


async def test_details_that_json_cannot_say_are_kept_as_text(store: Store) -> None:
    await store.create_run(a_run())
    details = {"when": date(2026, 1, 2), "odd": complex(1, 2), "number": float("inf"), "nan": float("nan")}
    await store.save(RUN, [a_result(grades=(Score(name="x", value=1, details=details),))])
    (grade,) = (await store.results(RUN))[0].grades
    assert grade.details == {"when": "2026-01-02", "odd": "(1+2j)", "number": None, "nan": None}


async def test_a_duration_that_is_no_number_is_not_stored(store: Store) -> None:
    await store.create_run(a_run())
    await store.save(RUN, [a_result(duration_ms=float("nan"))])
    assert (await store.results(RUN))[0].duration_ms == 0.0


ENDLESS: dict[str, Any] = {}
ENDLESS["self"] = ENDLESS


@pytest.mark.parametrize(
    ("details", "kind"),
    [(ENDLESS, RecursionError), ({"text": "\ud800"}, UnicodeEncodeError)],
    ids=["endless", "lone surrogate"],
)
async def test_what_cannot_be_stored_names_its_case_and_stores_nothing(
    store: Store, details: dict[str, Any], kind: type[Exception]
) -> None:
    await store.create_run(a_run())
    odd = a_result(1, case="odd", grades=(Score(name="x", value=1, details=details),))
    with pytest.raises(kind) as caught:
        await store.save(RUN, [a_result(0), odd])
    assert caught.value.__notes__ == ["while storing case 'odd' (position 1)"]
    assert await store.finished_positions(RUN) == set()


@pytest.mark.parametrize(("table", "what"), [("results", "result"), ("cases", "case"), ("runs", "run")])
async def test_a_body_of_a_newer_format_is_refused(store: Store, table: str, what: str) -> None:
    await store.create_run(a_run())
    await store.save(RUN, [a_result()])
    await asked(store, f"UPDATE {table} SET format = 99")
    with pytest.raises(
        InputError, match=rf"this {what} was stored by a newer Howsure \(format 99; this one reads up to"
    ):
        await store.results(RUN)
        await store.run(RUN)


@given(
    case=st.text(st.characters(codec="utf-8")), candidate=st.text(st.characters(codec="utf-8")), repeat=st.integers(1)
)
def test_ids_are_those_of_the_model(case: str, candidate: str, repeat: int) -> None:
    assert result_key(UUID(RUN).bytes, case, candidate, repeat) == str(result_id(UUID(RUN), case, candidate, repeat))


async def test_times_of_results_keep_their_microseconds(store: Store) -> None:
    moment = datetime(2026, 3, 1, 12, 0, 0, 7, tzinfo=UTC)
    await store.create_run(a_run())
    await store.save(RUN, [a_result(0, created_at=moment), a_result(1, created_at=NOON)])
    assert [result.created_at for result in await store.results(RUN)] == [moment, NOON]


def tokens_used(**details: Any) -> Score:
    return Score(name="token_usage", value=0.1, scale=OPEN, details=details)


USED = Usage(prompt_tokens=100, completion_tokens=20, thinking_tokens=5, cost_usd=0.01)


@pytest.mark.parametrize(
    ("transcript", "grades", "toll"),
    [
        (a_transcript("hi"), (), CostTotals(position=0)),
        (a_transcript("hi", duration_ms=1500.0), (), CostTotals(position=0, seconds=1.5)),
        (a_transcript("hi", duration_ms=1500.0, invented_times=True), (), CostTotals(position=0)),
        (a_transcript("hi", duration_ms=0.0), (), CostTotals(position=0, seconds=0.0)),
        (a_transcript("hi", usage=USED), (), CostTotals(position=0, usd=0.01, tokens=125)),
        (a_transcript("hi", usage=Usage(cost_usd=0.2)), (), CostTotals(position=0, usd=0.2)),
        (a_transcript("hi"), (tokens_used(total_tokens=70),), CostTotals(position=0, tokens=70)),
        (a_transcript("hi"), (tokens_used(),), CostTotals(position=0)),
        (a_transcript("hi", usage=USED), (tokens_used(total_tokens=70),), CostTotals(position=0, usd=0.01, tokens=125)),
        (a_transcript("hi"), (Score(name="mine", value=1, details={"total_tokens": "a lot"}),), CostTotals(position=0)),
    ],
    ids=["nothing known", "timed", "invented times", "no time at all", "counted", "only money", "counted by spans",
         "spans without counts", "what was reported comes first", "another grader's details"],
)  # fmt: skip
async def test_what_an_answer_took(
    store: Store, transcript: Transcript, grades: tuple[Score, ...], toll: CostTotals
) -> None:
    await store.create_run(a_run())
    await store.save(RUN, [a_result(0, transcript=transcript, grades=grades)])
    assert await store.costs(RUN) == [toll]


async def test_a_recorded_answer_is_read_from_its_case(store: Store) -> None:
    said = a_transcript("hi", duration_ms=250.0, usage=USED)
    case = a_case(id="case-0", recorded=said)
    await store.create_run(a_run())
    await store.save(RUN, [replace(a_result(0), case=case, transcript=said)])
    assert await store.costs(RUN) == [CostTotals(position=0, seconds=0.25, usd=0.01, tokens=125)]


async def test_what_broke_before_anything_was_said_took_nothing(store: Store) -> None:
    broken = a_case(id="case-0", recorded=BrokenRecording(reason="lost"))
    await store.create_run(a_run())
    await store.save(RUN, [replace(a_result(0, transcript=None), case=broken), a_result(1, transcript=None)])
    assert await store.costs(RUN) == []


async def test_a_rule_is_found_in_every_result(store: Store) -> None:
    def part(id: str) -> Part:
        return Part(id=id, text=id, scope="general")

    await store.create_run(a_run())
    grades = (
        Score(name="rubric", value=1.0, pass_mark=1.0, part=part("r1")),
        Score(name="rubric", value=0.0, pass_mark=1.0, part=part("r2")),
        Unscored(name="criteria", why=UnscoredReason.ERROR, reason="x", part=part("c1")),
    )
    await store.save(RUN, [a_result(0, grades=grades), a_result(1, grades=grades[:1], candidate="juno")])
    assert await store.part_ids(RUN) == ["c1", "r1", "r2"]
    assert await store.part_grades(RUN, ["r1", "c1"]) == [
        PartGrade(0, "", "rubric", "r1", "passed"),
        PartGrade(0, "", "criteria", "c1", "error"),
        PartGrade(1, "juno", "rubric", "r1", "passed"),
    ]
    assert await store.part_grades(RUN, []) == []


@pytest.mark.parametrize(
    "odd",
    [
        a_result(0, case="a\0b"),
        a_result(0, case="x", candidate="a\0b"),
        a_result(0, case="x", grades=(Score(name="a\0b", value=1.0),)),
        a_result(0, case="x", grades=(Score(name="n", value=1.0, part=Part(id="a\0b", text="t")),)),
    ],
    ids=["case", "candidate", "grade", "part"],
)
async def test_nul_in_what_a_result_is_found_by_is_refused_and_names_its_case(store: Store, odd: Result) -> None:
    await store.create_run(a_run())
    with pytest.raises(InputError, match=r"case '(x|a\\x00b)': the character U\+0000 \(NUL\) stands in its id"):
        await store.save(RUN, [a_result(1), odd])
    assert await store.finished_positions(RUN) == set()
    with pytest.raises(InputError, match=r"name: the character U\+0000 \(NUL\) stands in 'a\\x00b'"):
        await store.create_run(a_run(OTHER, name="a\0b"))


async def test_nul_in_what_was_said_is_stored_as_it_is(store: Store) -> None:
    await store.create_run(a_run())
    said = a_result(0, transcript=a_transcript("a\0b"), reasons=("a\0b",))
    await store.save(RUN, [said])
    assert [each async for each in store.iterate(RUN)] == [said]
