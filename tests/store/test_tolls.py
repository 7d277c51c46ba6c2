"""What answers took, read from bodies without decoding the rest; and the parts of grades by id."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from howsure.model.score import OPEN, Part, Score, Unscored, UnscoredReason
from howsure.model.transcript import BrokenRecording, Transcript, Usage
from howsure.store.results import CostTotals, PartGrade
from howsure.store.store import Store
from howsure.testing import a_case, a_transcript
from store.making import RUN, a_result, a_run


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
    assert await store.tolls(RUN) == [toll]


async def test_a_recorded_answer_is_read_from_its_case(store: Store) -> None:
    said = a_transcript("hi", duration_ms=250.0, usage=USED)
    case = a_case(id="case-0", recorded=said)
    await store.create_run(a_run())
    await store.save(RUN, [replace(a_result(0), case=case, transcript=said)])
    assert await store.tolls(RUN) == [CostTotals(position=0, seconds=0.25, usd=0.01, tokens=125)]


async def test_what_broke_before_anything_was_said_took_nothing(store: Store) -> None:
    broken = a_case(id="case-0", recorded=BrokenRecording(reason="lost"))
    await store.create_run(a_run())
    await store.save(RUN, [replace(a_result(0, transcript=None), case=broken), a_result(1, transcript=None)])
    assert await store.tolls(RUN) == []


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
        PartGrade(0, "", "r1", "passed"),
        PartGrade(0, "", "c1", "error"),
        PartGrade(1, "juno", "r1", "passed"),
    ]
    assert await store.part_grades(RUN, []) == []
