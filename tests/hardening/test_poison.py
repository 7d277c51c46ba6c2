"""Break 3, and the store's part of break 14: whatever a bot, a grader or a file holds is stored in a printable form
from which it can be read back, or errors its own case; never the run. NUL is refused by name on both databases."""

from __future__ import annotations

import base64
import csv
import json
import math
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from databases import database as database
from dialect_rows import mcq, reference_qa, rubric_qa, write_rows
from howsure.dialects.datasets import validate
from howsure.dialects.legal import LegalDialect
from howsure.dialects.lines import RowDialect
from howsure.engine.attempt import attempt
from howsure.engine.candidates import CandidateRepeat, Rules
from howsure.errors import InputError, TargetFailed, boundary, message_of, printable
from howsure.model.case import Case, SingleTurn
from howsure.model.plain_values import TAG, plain_copy
from howsure.model.result import Result
from howsure.model.score import Part, Score
from howsure.model.transcript import Transcript
from howsure.model.verdict import Verdict
from howsure.policies.verdicts import decide
from howsure.store.store import Store
from howsure.targets.base import FinishedSession, Reply, Stateless

BOT = """
class Unprintable:
    def __repr__(self): raise ValueError("no repr")

class Speechless(Exception):
    def __str__(self): raise ValueError("no str")

def deep(levels):
    value = {}
    for _ in range(levels):
        value = {"a": value}
    return value

ROUND = {}
ROUND["a"] = ROUND
STATES = {
    "circular": ROUND, "deep": deep(5000), "rather deep": deep(900), "huge number": {"n": 10**6000},
    "odd values": {"nan": float("nan"), "bytes": b"\\xff", "set": {1}}, "unprintable": {"it": Unprintable()},
    "two keys": {1: "a", "1": "b"},
}
ERRORS = {
    "half a character in an error": RuntimeError("a\\ud800b\\0c"), "long error": RuntimeError("x" * 100_000_000),
    "speechless error": Speechless(), "own failure": None,
}

def answer(text):
    if text == "half a character":
        return "a\\ud800b"
    if text == "NUL":
        return "a\\0b"
    if text == "an object":
        return Unprintable()
    if text in ERRORS:
        raise ERRORS[text] or SystemError("x")
    return {"answer": "ok", "state": STATES[text]} if text in STATES else "ok"
"""
ERRORED = {
    "circular", "deep", "rather deep", "two keys", "an object", "half a character in an error", "long error",
    "speechless error", "own failure",
}  # fmt: skip
STORED = {"half a character", "NUL", "huge number", "odd values", "unprintable", "fine"}


def howsure(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "howsure", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False)


def test_break_3_one_poison_case_errors_itself_and_never_the_run(tmp_path: Path, database: str) -> None:
    (tmp_path / "bot.py").write_text(BOT, "utf-8")
    rows = [reference_qa(each, prompt=each, reference_answers=["ok"]) for each in sorted(ERRORED | STORED)]
    write_rows(tmp_path / "cases.jsonl", rows)
    words = ("--target", "function:bot.py:answer", "--trust", "--database", database, "--max-concurrency", "8")
    done = howsure(tmp_path, "run", "cases.jsonl", *words)
    assert done.returncode == 3, done.stderr
    printed = howsure(tmp_path, "results", "latest", "--ndjson", "--database", database).stdout
    found = {row["test_case_id"]: row for row in map(json.loads, printed.splitlines())}
    assert {id for id, row in found.items() if row["verdict"] == "errored"} == ERRORED
    assert found.keys() == ERRORED | STORED
    assert found["fine"]["verdict"] == "passed"
    assert found["half a character"]["output"]["answer"] == r"a\ud800b"
    assert found["half a character"]["flags"][0]["kind"] == "escaped"
    assert found["NUL"]["output"]["answer"] == "a\0b"
    assert found["huge number"]["output"]["state"] == {"n": {"python": "int", "value": hex(10**6000)}}
    assert found["odd values"]["output"]["state"] == {
        "nan": {"python": "float", "value": "nan"}, "bytes": {"python": "bytes", "value": "/w=="},
        "set": {"python": "set", "value": [1]},
    }  # fmt: skip
    assert r"a\ud800b\u0000c" in found["half a character in an error"]["error"]
    assert len(found["long error"]["error"]) < 30_000
    assert "nested more than 200 deep, or holds itself" in found["circular"]["error"]


def test_break_3_a_half_character_in_the_arguments_of_a_table(tmp_path: Path) -> None:
    demo = Path(__file__).parents[2] / "src" / "howsure" / "demo" / "simulation" / "support-simulation.csv"
    with open(demo, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))[:3]
    calls = json.loads(rows[0]["final_session_state"])
    parts = [part for event in calls["events"] for part in event["content"]["parts"]]
    call = next(part["functionCall"] for part in parts if "functionCall" in part)
    call["args"] = r'{"a":"\ud800"}'
    rows[0]["final_session_state"] = json.dumps(calls)
    with open(tmp_path / "cases.csv", "w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    checked, done = howsure(tmp_path, "validate", "cases.csv"), howsure(tmp_path, "run", "cases.csv", "--json")
    assert checked.returncode == 0, checked.stderr
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["total"] == 3


fragments = st.lists(
    st.sampled_from(["\\", "\\\\", "u", "ud800", "u0000", "\ud800", "\udfff", "\0", "d800", "a", "\\ud83d"]), max_size=8
).map("".join)
ESCAPED = re.compile(r"(\\+)u(d[89a-f][0-9a-f]{2}|0000)")


def unescaped(text: str) -> str:
    """What docs/security.md says: before `uXXXX`, an odd number of backslashes is an escape; half of them are meant."""

    def read(found: re.Match[str]) -> str:
        count = len(found[1])
        return "\\" * (count // 2) + (chr(int(found[2], 16)) if count % 2 else f"u{found[2]}")

    return ESCAPED.sub(read, text)


@given(fragments)
def test_a_printable_text_can_be_read_back(text: str) -> None:
    written = printable(text)
    assert unescaped(written) == text
    written.encode()
    assert "\0" not in written


keys = fragments | st.sampled_from([TAG, "value"])
leaves = (
    fragments
    | st.binary(max_size=3)
    | st.integers(-(10**700), 10**700)
    | st.floats(allow_nan=False)
    | st.none()
    | st.booleans()
)
exact = st.decimals(allow_nan=False) | st.uuids()
times = st.dates() | st.datetimes() | st.times() | st.timedeltas()
sets = st.frozensets(fragments | exact | times, max_size=3) | st.sets(st.integers() | st.binary(max_size=3), max_size=3)
odd_values: st.SearchStrategy[Any] = st.recursive(
    leaves | exact | times | sets,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)


def _days(text: str) -> timedelta:
    days, _, clock = text.rpartition(" day")
    hours, minutes, seconds = clock.removeprefix("s").removeprefix(", ").split(":")
    return timedelta(int(days or 0), hours=int(hours), minutes=int(minutes)) + timedelta(
        microseconds=round(float(seconds) * 1_000_000)
    )


READERS: dict[str, Callable[[Any], Any]] = {
    "float": float,
    "int": lambda it: int(it, 16),
    "bytes": base64.b64decode,
    "Decimal": Decimal,
    "UUID": UUID,
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
    "time": time.fromisoformat,
    "timedelta": _days,
    "set": lambda it: set(map(read_back, it)),
    "frozenset": lambda it: frozenset(map(read_back, it)),
}


def read_back(value: Any) -> Any:
    """The value that was written out, from the form in which it is stored."""
    match value:
        case str():
            return unescaped(value)
        case list():
            return [read_back(each) for each in value]
        case {"python": "dict", "value": inner}:
            return {unescaped(key): read_back(each) for key, each in inner.items()}
        case {"python": kind, "value": text}:
            return READERS[kind](text)
        case dict():
            return {unescaped(key): read_back(each) for key, each in value.items()}
        case _:
            return value


@given(odd_values)
def test_no_two_values_are_stored_as_one(value: Any) -> None:
    stored, escaped = plain_copy(value, Any)
    json.dumps(stored, allow_nan=False, ensure_ascii=False).encode()
    assert (read_back(stored) if escaped else stored) == value


@dataclass
class Order:
    id: str
    paid: set[int]


class OrderModel(BaseModel):
    id: str


class Colour(Enum):
    RED = "red"


def test_objects_with_a_plain_form_stay_plain_objects_and_others_are_named() -> None:
    value: Any = {
        "model": OrderModel(id="A1"),
        "struct": Part(id="p", text="x"),
        Colour.RED: Colour.RED,
        "pair": (1, 2),
    }
    stored, escaped = plain_copy(value, Any)
    assert (stored["model"], stored["struct"]["id"]) == ({"id": "A1"}, "p")
    assert (stored["red"], stored["pair"], escaped) == ("red", [1, 2], False)
    value = [Order("A1", {2, 1}), range(3)]
    order = {"id": "A1", "paid": {"python": "set", "value": [1, 2]}}
    assert plain_copy(value, Any) == ([order, {"python": "range", "value": "range(0, 3)"}], True)


def test_a_message_is_printable_and_cut_whatever_the_error_is() -> None:
    class Speechless(Exception):
        def __str__(self) -> str:
            raise KeyError("x")

    assert message_of(ValueError("a\ud800\0")) == r"a\ud800\u0000"
    assert message_of(ValueError(r"'\ud800'")) == r"'\ud800'"
    assert message_of(Speechless()) == "(its message cannot be read)"
    assert message_of(ValueError("x" * 1_000_000)).endswith("… (1,000,000 characters)")
    with (
        pytest.raises(TargetFailed, match=r"target 'x': Speechless: \(its message"),
        boundary(TargetFailed, "target 'x'"),
    ):
        raise Speechless


class PoisonGrader:
    """Gives the scores that it was made with."""

    name = "poison"

    def __init__(self, **fields: Any) -> None:
        self._fields = {"name": "poison", "value": 1.0, "pass_mark": 1.0, **fields}

    def wants(self, case: Case) -> bool:
        return True

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Score]:
        return [Score(**self._fields)]


class Answering:
    """A target that gives one reply, or a finished conversation."""

    name = "answering"

    def __init__(self, given: Reply | FinishedSession) -> None:
        self._given = given

    async def open(self, case: Case) -> Stateless | FinishedSession:
        given = self._given
        return given if isinstance(given, FinishedSession) else Stateless(lambda _: given)


RULES = Rules(policies={}, fallback=lambda case, grades, profile: decide(grades, profile), profiles={})
CASE = Case(id="c", input=SingleTurn(message="hello"))


async def attempted(given: Reply | FinishedSession = Reply.saying("ok"), **score: Any) -> Result:  # noqa: B008
    return await attempt(CASE, CandidateRepeat(target=Answering(given), graders=[PoisonGrader(**score)]), RULES)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"reason": 5}, "Expected `str`, got `int`"),
        ({"name": "a\0b"}, r"the character U\+0000 \(NUL\) stands in the name of a score"),
        ({"part": Part(id="a\0b", text="x")}, r"the character U\+0000 \(NUL\) stands in the name of a score"),
        ({"details": {1: "a", "1": "b"}}, "two keys of an object are the same text"),
    ],
    ids=["a reason that is no text", "NUL in the name", "NUL in the part", "keys that are one"],
)
async def test_a_score_that_cannot_be_stored_errors_its_own_case(fields: dict[str, Any], message: str) -> None:
    result = await attempted(**fields)
    assert result.verdict is Verdict.ERRORED
    assert result.failures[0].kind == "GraderFailed"
    assert re.search(message, result.failures[0].message)


async def test_what_a_grader_says_is_written_out_and_flagged() -> None:
    result = await attempted(reason="a\ud800", details={"n": math.inf})
    assert result.verdict is Verdict.PASSED
    assert result.grades[0].reason == r"a\ud800"
    assert result.grades[0].details == {"n": {"python": "float", "value": "inf"}}
    assert [flag.kind for flag in result.flags] == ["escaped"]


async def test_a_reply_of_wrong_types_errors_its_own_case() -> None:
    result = await attempted(Reply.saying(5))  # type: ignore[arg-type]
    assert result.verdict is Verdict.ERRORED
    assert "Expected `str`, got `int` - at `$.messages[0].content`" in result.failures[0].message


async def test_a_finished_conversation_is_written_out_too() -> None:
    result = await attempted(FinishedSession(Transcript(answer="\ud800")))
    assert result.transcript is not None
    assert result.transcript.answer == r"\ud800"
    assert [flag.text.partition(":")[0] for flag in result.flags] == ["the conversation"]


@pytest.mark.parametrize("row", [mcq("a\0b"), rubric_qa("a\0b")], ids=["mcq", "rubric"])
def test_break_14_an_id_with_nul_is_a_problem_with_line_and_field(tmp_path: Path, row: dict[str, Any]) -> None:
    path = write_rows(tmp_path / "cases.jsonl", [mcq("r0"), row])
    (problem,) = validate(path, LegalDialect()).problems
    assert (problem.code, problem.line, problem.field) == ("nul", 2, "id")
    assert problem.message == "the character U+0000 (NUL) stands in this id"


class Notes(RowDialect):
    """A dialect of a plug-in, which builds what it is told."""

    name = "notes"
    columns = ("id", "kind")

    def case(self, row: dict[str, Any]) -> Case:
        odd = {"half": "\ud800", "nan": math.nan, "number": 10**6000, "fine": "x"}[row["kind"]]
        return Case(id=row["id"], input=SingleTurn(message="m"), metadata={"odd": odd})


def test_a_case_of_a_plug_in_that_cannot_be_stored_is_a_problem(tmp_path: Path) -> None:
    rows = [{"id": f"{place}", "kind": kind} for place, kind in enumerate(["fine", "half", "nan", "number"], 1)]
    report = validate(write_rows(tmp_path / "cases.jsonl", rows), Notes())
    assert [(each.code, each.line) for each in report.problems] == [("unstorable-case", line) for line in (2, 3, 4)]


async def test_break_14_nul_is_refused_by_name_on_both_databases(database: str) -> None:
    async with await Store.open(database) as store:
        for text in ("a\0b", "a\ud800b"):
            with pytest.raises(InputError, match=r"^agent_id: .* stands in 'a\\(x00|ud800)b': take it out of ids"):
                await store.runs(agent_id=text)


def test_break_14_a_candidate_with_nul_is_refused_before_the_run(tmp_path: Path) -> None:
    write_rows(tmp_path / "cases.jsonl", [mcq("r1")])
    write_rows(tmp_path / "answers.jsonl", [{"case_id": "r1", "candidate_name": "a\0b", "response_text": "A"}])
    done = howsure(tmp_path, "run", "cases.jsonl", "--responses", "answers.jsonl")
    assert done.returncode == 2
    assert "the character U+0000 (NUL) stands in the name of the candidate 'a\\x00b'" in done.stderr
