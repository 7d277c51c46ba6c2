"""Raw logs: a list of objects with `query`, or JSON lines; anything else is a problem with its place."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from howsure.dialects.datasets import FileReport, read_cases, validate
from howsure.dialects.importers.base import ImportOptions
from howsure.dialects.importers.raw_logs import RawLogImporter, sound_turns
from howsure.errors import Problem
from howsure.model.case import Case, Script
from howsure.model.expectation import AgentsInvolved, ExpectedCall, ToolCalls, Trajectory
from json_strategies import filled, objects, values

HELLO = {"query": "Hi"}
ORDER = {
    "query": "Where is A1?",
    "expected_tool_use": [{"tool_name": "lookup", "tool_input": {"order": "A1"}}],
    "reference": "On its way.",
}


def logs(folder: Path, *turns: Any, lines: bool = False) -> Path:
    path = folder / ("logs.jsonl" if lines else "raw_logs.json")
    path.write_text("".join(json.dumps(turn) + "\n" for turn in turns) if lines else json.dumps(turns, indent=1))
    return path


def read(path: Path, **options: Any) -> list[Case]:
    return list(read_cases(path, RawLogImporter(ImportOptions(**options))))


def refused(path: Path) -> FileReport:
    report = validate(path, RawLogImporter())
    assert report.problems
    return report


@pytest.mark.parametrize("lines", [False, True], ids=["a list", "lines"])
def test_a_file_is_one_conversation(lines: bool, tmp_path: Path) -> None:
    (case,) = read(
        logs(tmp_path, HELLO, ORDER, lines=lines), agent="shop", prefix="billing", metadata={"topic": "orders"}
    )
    assert re.fullmatch("billing_[0-9a-f]{12}", case.id)
    assert case.input == Script(turns=("Hi", "Where is A1?"))
    assert case.expectations == (
        ToolCalls(expected=(ExpectedCall(name="lookup", arguments={"order": "A1"}, turn=2),)),
        Trajectory(steps=("shop",)),
        AgentsInvolved(names=("shop",)),
    )
    assert case.labels["topic"] == "orders"
    assert case.labels["agent"] == "shop"
    assert case.metadata["reference_data"] == {
        "expected_response": "On its way.",
        "expected_responses": ["", "On its way."],
    }


NOTHING = {"query": "Thanks", "expected_tool_use": []}


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ((HELLO, NOTHING), None),
        ((NOTHING, NOTHING), ()),
        ((HELLO, HELLO), None),
        ((HELLO, NOTHING, ORDER), (ExpectedCall(name="lookup", arguments={"order": "A1"}, turn=3),)),
        ((NOTHING, ORDER), (ExpectedCall(name="lookup", arguments={"order": "A1"}, turn=2),)),
    ],
    ids=["unknown and none", "none", "unknown", "unknown, none and one", "none and one"],
)
@pytest.mark.parametrize("lines", [False, True], ids=["a list", "lines"])
def test_unknown_calls_of_a_turn_are_not_no_calls(
    turns: tuple[Any, ...], expected: tuple[ExpectedCall, ...] | None, lines: bool, tmp_path: Path
) -> None:
    (case,) = read(logs(tmp_path, *turns, lines=lines))
    assert case.expectations == (() if expected is None else (ToolCalls(expected=expected),))


def test_each_turn_may_be_a_question(tmp_path: Path) -> None:
    first, second = read(logs(tmp_path, HELLO, ORDER), per_turn=True)
    assert (first.input, second.input) == (Script(turns=("Hi",)), Script(turns=("Where is A1?",)))
    assert first.expectations == ()


def test_turns_that_name_their_conversation_are_told_apart(tmp_path: Path) -> None:
    turns = [{**HELLO, "session_id": 1}, {**HELLO, "session_id": 2}, {**ORDER, "session_id": 1}]
    assert [case.input for case in read(logs(tmp_path, *turns))] == [
        Script(turns=("Hi", "Where is A1?")),
        Script(turns=("Hi",)),
    ]


def test_an_empty_list_of_calls_means_that_none_may_be_made_and_no_list_that_nobody_knows(tmp_path: Path) -> None:
    none, unknown = read(logs(tmp_path, {"query": "a", "expected_tool_use": []}, {"query": "b"}), per_turn=True)
    assert none.expectations == (ToolCalls(expected=()),)
    assert unknown.expectations == ()


def test_ids_come_from_what_the_user_says_and_an_insertion_changes_no_other(tmp_path: Path) -> None:
    before = {case.input: case.id for case in read(logs(tmp_path, HELLO, ORDER), per_turn=True)}
    after = {case.input: case.id for case in read(logs(tmp_path, {"query": "New"}, HELLO, ORDER), per_turn=True)}
    assert before.items() <= after.items()
    twice = [case.id for case in read(logs(tmp_path, HELLO, HELLO), per_turn=True)]
    assert twice[1] == f"{twice[0]}-2"


def test_fields_that_nobody_knows_are_kept_and_warned_about(tmp_path: Path) -> None:
    path = logs(tmp_path, {**HELLO, "channel": "web"})
    (case,) = read(path)
    assert case.metadata["metadata"]["channel"] == "web"
    assert [warning.code for warning in validate(path, RawLogImporter()).warnings] == ["unknown-field"]


ODD = {
    "query": "Where is A1?",
    "expected_tool_use": [{"tool_name": "look", "mock/output": "x"}, {"tool_name": "ask", "tool_input": {"id": 1}}],
}


@pytest.mark.parametrize("lines", [False, True])
def test_fields_of_calls_that_nobody_knows_are_kept_where_golden_questions_have_them(
    lines: bool, tmp_path: Path
) -> None:
    path = logs(tmp_path, HELLO, ODD, {**ODD, "query": "And A2?"}, lines=lines)
    (case,) = read(path)
    calls = "/reference_data/reference_tool_interactions"
    assert case.metadata["unknown_fields"] == {
        f"{calls}/0/mock~1output": "x",
        f"{calls}/2/mock~1output": "x",
    }
    warned = [warning.field for warning in validate(path, RawLogImporter()).warnings]
    place = "" if lines else "[1]."
    assert warned[0] == f'{place}expected_tool_use[0]["mock/output"]'
    assert len(warned) == 2
    turns = read(path, per_turn=True)
    assert [each.metadata.get("unknown_fields") for each in turns] == [
        None,
        {f"{calls}/0/mock~1output": "x"},
        {f"{calls}/0/mock~1output": "x"},
    ]


@pytest.mark.parametrize(
    ("content", "code", "line", "field"),
    [
        ('[{"query": "a"},\n {"question": "b"}]', "missing-field", 2, "[1].query"),
        ('[{"query": "a"},\n 3]', "wrong-type", 2, "[1]"),
        ('[{"query": "  "}]', "blank", 1, "[0].query"),
        ('[{"query": "a", "expected_tool_use": [{"name": "x"}]}]', "missing-field", 1, None),
        ('[{"query": "a"', "json-syntax", 1, None),
        ('{"query": "a"}\n{"query": ', "json-syntax", 2, None),
        ("42", "wrong-type", 1, None),
    ],
    ids=[
        "another field",
        "a number inside",
        "blank",
        "a call without its name",
        "cut off",
        "a line cut off",
        "a number",
    ],
)
def test_anything_else_is_a_problem_with_its_place(
    content: str, code: str, line: int, field: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "logs.json"
    path.write_text(content)
    problem = refused(path).problems[0]
    assert problem.line == line
    assert problem.code == code or code == "blank"
    assert field is None or problem.field == field


def test_files_with_answers_are_of_another_kind() -> None:
    knows = RawLogImporter().detect
    assert knows(Path("x.json"), b'[{"query": "a"}]')
    assert knows(Path("x.jsonl"), b'{"query": "a"}\n')
    assert not knows(Path("x.jsonl"), b'{"query": "a", "response": "b"}\n')
    assert not knows(Path("x.json"), b'{"golden_questions": []}')
    assert not knows(Path("x.jsonl"), b'{"query": "a", "inputs.context": "c"}\n')
    assert not knows(Path("x.jsonl"), b'{"outputs.score": 5, "query": "a"}\n')


CALLS = st.lists(
    st.fixed_dictionaries({"tool_name": filled}, optional={"tool_input": objects | st.none() | st.just('{"a": 1}')}),
    max_size=2,
)
TURNS = st.lists(
    st.fixed_dictionaries(
        {"query": filled},
        optional={
            "expected_tool_use": CALLS | st.none(),
            "reference": st.text() | st.none(),
            "expected_intermediate_agent_responses": st.lists(values, max_size=2) | st.none(),
            "conversation_id": st.sampled_from(["c1", "c2", 3, None, ""]),
            "session_id": st.sampled_from(["s1", 0, None]),
        },
    ),
    min_size=1,
    max_size=4,
)


def line(**fields: Any) -> bytes:
    return json.dumps({"query": "Hi", **fields}).encode() + b"\n"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TURNS, st.booleans())
def test_lines_give_the_cases_that_a_list_gives(tmp_path: Path, turns: list[dict[str, Any]], per_turn: bool) -> None:
    """A list is read one element after the other."""
    (tmp_path / "logs").write_text("".join(json.dumps(turn, ensure_ascii=False) + "\n" for turn in turns), "utf-8")
    (tmp_path / "list").mkdir(exist_ok=True)
    (tmp_path / "list" / "logs").write_text(json.dumps(turns, ensure_ascii=False), "utf-8")
    reader = RawLogImporter(ImportOptions(per_turn=per_turn, agent="shop", metadata={"k": "v"}))
    assert list(reader.read(tmp_path / "logs")) == list(reader.read(tmp_path / "list" / "logs"))


def test_sound_lines_have_a_row_each() -> None:
    rows = sound_turns([line(), line(reference="r", conversation_id=7)])
    assert [(row.query, row.conversation_id or "") for row in rows] == [("Hi", ""), ("Hi", 7)]


@pytest.mark.parametrize(
    "text",
    [
        b'{"query": "Hi", "query": "Ho"}\n',
        b'{"query": "Hi", "expected_tool_use": [{"tool_name": "t", "tool_input": {"a": 1, "a": 2}}]}\n',
        b'{"query": "a\\u003a", "reference": "r", "reference": ""}\n',
        b'{"query": " "}\n',
        b'{"query": 1}\n',
        b'{"query": "Hi", "expected_tool_use": [{"tool_name": ""}]}\n',
        b'{"query": "Hi", "conversation_id": 1.5}\n',
        b'{"query": "Hi", "more": 1}\n',
        b'{"query": "Hi"} {"query": "Ho"}\n',
        b'["query"]\n',
        b'{"query": "Hi"\n',
        b'{"query": "\xff"}\n',
        b"\n",
        line(expected_tool_use=[{"tool_name": "t", "tool_input": json.loads('{"a":' * 250 + "1" + "}" * 250)}]),
    ],
    ids=["twice", "twice inside", "escaped", "blank", "number", "no tool", "fraction", "unknown", "two", "list", "cut",
         "bytes", "nothing", "deep"],
)  # fmt: skip
def test_a_line_that_may_be_wrong_is_left_to_the_slow_path(text: bytes) -> None:
    assert sound_turns([line(), text]) == []


def test_a_problem_among_many_good_lines_has_its_own_line_number(tmp_path: Path) -> None:
    path = tmp_path / "logs.jsonl"
    path.write_bytes(line() * 9000 + b'{"query": ""}\n' + line() * 9000)
    (problem,) = [one for one in RawLogImporter(ImportOptions(per_turn=True)).read(path) if isinstance(one, Problem)]
    assert (problem.line, problem.field) == (9001, "query")
