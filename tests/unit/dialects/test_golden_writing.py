"""Golden files written one question after the other: the bytes of the whole document, and nothing unreadable."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from howsure.dialects.datasets import read_cases
from howsure.dialects.golden import GoldenDialect
from howsure.errors import DatasetInvalid
from howsure.model.case import Case, Script, World
from howsure.model.expectation import (
    AgentsInvolved,
    Expectation,
    ExpectedCall,
    FinalState,
    Matching,
    MatchMode,
    ToolCalls,
    Trajectory,
)

DIALECT = GoldenDialect()


def question(id: str = "q", *expectations: Expectation, turns: tuple[str, ...] = ("Hi",), **fields: Any) -> Case:
    return Case(id=id, input=Script(turns=turns), expectations=expectations, world=World.GOLDEN, **fields)


def call(name: str = "t", **arguments: Any) -> ExpectedCall:
    return ExpectedCall(name=name, arguments=arguments)


@pytest.mark.parametrize(
    "cases",
    [
        [],
        [question()],
        [question("a"), question("b", ToolCalls(expected=(call(x=[]), call(x={}))))],
        [question("a", metadata={"file_fields": {"version": 2, "owners": []}})],
        [question("a\nb", Trajectory(steps=("x", "y")), turns=('{"a": [\n]}', "ö"))],
    ],
    ids=["none", "one", "nested", "beside", "breaks"],
)
def test_the_bytes_are_those_of_the_whole_document(cases: list[Case], tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    DIALECT.write(cases, path)
    text = path.read_bytes()
    assert text == msgspec.json.format(msgspec.json.encode(json.loads(text)), indent=2) + b"\n"
    assert list(json.loads(text))[-1] == "golden_questions"
    assert len(json.loads(text)["golden_questions"]) == len(cases)
    if cases:
        assert list(read_cases(path, DIALECT)) == cases


@pytest.mark.parametrize(
    ("cases", "code"),
    [
        ([question("a"), question("a")], "duplicate-id"),
        ([question(" ")], "empty"),
        ([question(turns=("Hi", " "))], "empty"),
        ([question("a", ToolCalls(expected=(call(" "),)))], "empty"),
        ([question("a", ToolCalls(expected=(call(x={"$nonsense": 1}),)))], "bad-matcher"),
        ([question("a", ToolCalls(expected=(ExpectedCall(name="t", arguments={"$any": True}),)))], "bad-matcher"),
        ([question("a", Trajectory(steps=("",)))], "empty"),
        ([question("a", AgentsInvolved(names=(" ",)))], "empty"),
        ([question("a", metadata={"file_fields": {"questions": []}})], "both-lists"),
    ],
)
def test_what_could_not_be_read_is_not_written(cases: list[Case], code: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetInvalid) as raised:
        DIALECT.write(cases, tmp_path / "x.json")
    assert [problem.code for problem in raised.value.problems] == [code]
    assert {problem.file for problem in raised.value.problems} == {str(tmp_path / "x.json")}
    assert list(tmp_path.iterdir()) == []


def test_cases_of_two_files_are_not_written_into_one(tmp_path: Path) -> None:
    cases = [question("a", metadata={"file_fields": {"v": 1}}), question("b"), question("c")]
    with pytest.raises(DatasetInvalid) as raised:
        DIALECT.write(cases, tmp_path / "x.json")
    (problem,) = raised.value.problems
    assert problem.message.startswith("case 'b' comes from another file than the first one")
    assert list(tmp_path.iterdir()) == []


def test_odd_ways_of_matching_are_looked_at_more_closely_and_written(tmp_path: Path) -> None:
    matched = ToolCalls(expected=(call(x={"$any": True}),), match=Matching(mode=MatchMode.EXACT))
    cases = [question("a", matched, FinalState(variables={"k": None}))]
    DIALECT.write(cases, tmp_path / "x.json")
    assert list(read_cases(tmp_path / "x.json", DIALECT)) == cases


def test_a_large_file_is_never_held_whole(tmp_path: Path) -> None:
    def many() -> Iterator[Case]:
        for number in range(2000):
            yield question(f"q{number}", turns=("x" * 10_000,))

    tracemalloc.start()
    DIALECT.write(many(), tmp_path / "x.json")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (tmp_path / "x.json").stat().st_size > 20_000_000
    assert peak < 3_000_000
