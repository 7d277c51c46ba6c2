"""The fast path of raw logs: it gives what the slow one gives, and leaves to it whatever may be wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from howsure.dialects.importers.base import ImportOptions
from howsure.dialects.importers.raw_logs import RawLogImporter, sound_turns
from howsure.errors import Problem
from json_strategies import filled, objects, values

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
    assert [(row.query, row.talk) for row in rows] == [("Hi", ""), ("Hi", "7")]


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
