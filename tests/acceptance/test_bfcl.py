"""The tool-call grader on BFCL: expected calls with several acceptable values pass against themselves, and a call that
lacks a required argument does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from howsure.graders.tool_calls import ToolCallGrader
from howsure.matching.values import check_matcher
from howsure.model.expectation import ExpectedCall, Matching, MatchMode, ToolCalls
from howsure.model.score import Score
from howsure.testing import a_case, a_transcript

pytestmark = pytest.mark.shared

Json = dict[str, Any]
Call = tuple[str, Json]
NOT_GIVEN = ""
"""How BFCL writes, among the acceptable values of an argument, that it may be left out."""


@pytest.fixture
def questions(shared_data: Callable[..., Path]) -> list[Json]:
    lines = shared_data("bfcl", "questions.jsonl").read_bytes().splitlines()
    return [msgspec.json.decode(line) for line in lines]


def as_matcher(acceptable: list[Any]) -> Json:
    values = [inside(value) for value in acceptable if value != NOT_GIVEN]
    one_of: Json = {"$one_of": values or [NOT_GIVEN]}
    return {"$optional": one_of} if NOT_GIVEN in acceptable else one_of


def inside(value: Any) -> Any:
    """Objects inside an argument list acceptable values for each of their keys in turn."""
    if isinstance(value, dict):
        return {key: as_matcher(acceptable) for key, acceptable in value.items()}
    return [inside(member) for member in value] if isinstance(value, list) else value


def first_acceptable(arguments: Json) -> Json:
    given = {key: [value for value in values if value != NOT_GIVEN] for key, values in arguments.items()}
    return {key: plain(values[0]) for key, values in given.items() if values}


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return first_acceptable(value)
    return [plain(member) for member in value] if isinstance(value, list) else value


def expectation(question: Json) -> ToolCalls:
    calls = question["expected_calls"] or []
    expected = (
        ExpectedCall(
            name=call["name"], arguments={key: as_matcher(values) for key, values in call["arguments"].items()}
        )
        for call in calls
    )
    return ToolCalls(expected=tuple(expected), match=Matching(mode=MatchMode.ANY_ORDER))


def gold(question: Json) -> list[Call]:
    return [(call["name"], first_acceptable(call["arguments"])) for call in question["expected_calls"] or []]


def without_a_required_one(question: Json) -> Iterator[list[Call]]:
    """The gold calls, once for each argument that may not be left out, without it."""
    calls = gold(question)
    for place, call in enumerate(question["expected_calls"]):
        name, arguments = calls[place]
        for key, values in call["arguments"].items():
            if NOT_GIVEN not in values:
                left = {other: value for other, value in arguments.items() if other != key}
                yield [*calls[:place], (name, left), *calls[place + 1 :]]


async def passed(question: Json, calls: list[Call]) -> bool:
    (grade,) = await ToolCallGrader().grade(a_case(expectation(question)), a_transcript(calls=calls))
    assert isinstance(grade, Score)
    return bool(grade.passed)


async def test_expected_calls_pass_against_themselves(questions: list[Json]) -> None:
    assert len(questions) == 1_239
    assert [question["id"] for question in questions if not await passed(question, gold(question))] == []


async def test_their_order_does_not_matter(questions: list[Json]) -> None:
    assert [question["id"] for question in questions if not await passed(question, gold(question)[::-1])] == []


async def test_a_missing_required_argument_fails_on_every_question_with_calls(questions: list[Json]) -> None:
    with_calls = [question for question in questions if question["expected_calls"]]
    assert len(with_calls) == 999
    broken = [(question, calls) for question in with_calls for calls in without_a_required_one(question)]
    assert len({question["id"] for question, _ in broken}) == 999
    assert [question["id"] for question, calls in broken if await passed(question, calls)] == []


async def test_a_call_where_none_is_expected_fails(questions: list[Json]) -> None:
    without = [question for question in questions if not question["expected_calls"]]
    assert len(without) == 240
    calls: list[Call] = [("anything", {})]
    assert [question["id"] for question in without if await passed(question, calls)] == []


def test_every_matcher_is_well_formed(questions: list[Json]) -> None:
    expected = (call for question in questions for call in expectation(question).expected)
    assert [problem for call in expected for problem in check_matcher(call.arguments)] == []
