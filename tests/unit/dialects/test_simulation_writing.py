"""Simulation files that were written read the same, as CSV and as JSONL."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from howsure.dialects.datasets import read_cases, validate
from howsure.dialects.simulation import SimulationDialect
from howsure.model.case import Case, Scenario, Script, SingleTurn, World
from howsure.model.expectation import (
    AgentsInvolved,
    ArgumentMode,
    Criteria,
    Criterion,
    ExpectedCall,
    FinalState,
    Matching,
    MatchMode,
    ToolCalls,
    Trajectory,
)
from howsure.model.transcript import (
    AgentStep,
    BrokenRecording,
    Message,
    Role,
    Span,
    Tool,
    ToolCall,
    ToolResult,
    ToolStep,
    Transcript,
    Usage,
)
from json_strategies import case_ids, filled, literals, objects, plain_keys, texts, values
from simulation_files import HEADERS, INTERACTION, PROCESSED, REAL_TRACE, row, write_file

DIALECT = SimulationDialect()
FORMATS = ["csv", "jsonl"]
CONVERSATION = Transcript(answer="Bye", messages=(Message(role=Role.USER, content="Hi"),))


def cases_of(path: Path) -> list[Case]:
    report = validate(path, DIALECT)
    assert report.problems == ()
    return list(read_cases(path, DIALECT, report))


def written(cases: list[Case], path: Path) -> str:
    """The text of the file that the cases were written to; reading it gave them back."""
    DIALECT.write(cases, path)
    assert cases_of(path) == cases
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("source", FORMATS)
@pytest.mark.parametrize("target", FORMATS)
@pytest.mark.parametrize("name", HEADERS)
def test_every_column_set_survives_in_columns_alone(tmp_path: Path, name: str, source: str, target: str) -> None:
    failed = row(HEADERS[name], status="failed")
    numbered = [row(HEADERS[name], status="success"), failed, row(HEADERS[name], status="success")]
    cases = cases_of(write_file(tmp_path / f"a.{source}", *numbered))
    assert "howsure_case" not in written(cases, tmp_path / f"b.{target}")


@pytest.mark.parametrize("target", FORMATS)
@pytest.mark.parametrize(
    "changes",
    [
        {"session_trace": REAL_TRACE},
        {"base_url": "simulation"},
        {"final_session_state": ..., "custom_extract": [{"role": "user", "content_text": "Hi", "model": "m"}]},
        {"final_session_state": ..., "session_state": {"state": {"a": 1}, "id": "s"}},
        {"final_session_state": ..., "session_state": {"bare": 1}},
        {"final_session_state": {"state": {"a": 2}}, "extracted_data": {"state_variables": {"a": 1}}},
        {
            "final_session_state": ...,
            "extracted_data": ...,
            "session_trace": ...,
            "trace_summary": ["agent:A", "tool:b"],
        },
        {"final_response": ..., "response": ...},
        {"final_response": ""},
        {"status": {"boolean": "failed", "error_message": "x", "tries": 3}},
        {"missing_information": {"boolean": True, "details": "Trace missing"}},
        {"missing_information": {"boolean": False, "checked": True}},
        {"extracted_data": {"tool_declarations": [{"name": "t", "description": "does"}]}},
        {"question_id": ..., "eval_id": "e"},
        {"question_id": ...},
        {"run_id": "1", "session_id": 7, "note": True, "list": [1, "a"], "text": '"quoted"', "number": "5"},
        {"agents_evaluated": [], "reference_data": {}},
    ],
    ids=", ".join,
)
def test_every_way_to_tell_a_thing_survives_in_columns_alone(
    tmp_path: Path, changes: dict[str, Any], target: str
) -> None:
    cases = cases_of(write_file(tmp_path / "a.jsonl", row(PROCESSED, **changes)))
    assert "howsure_case" not in written(cases, tmp_path / f"b.{target}")


def case(**fields: Any) -> Case:
    return Case(**{"id": "q", "input": Script(turns=("Hi",)), "world": World.GOLDEN, **fields})


@pytest.mark.parametrize("target", FORMATS)
@pytest.mark.parametrize(
    "odd",
    [
        case(),
        case(name="n", tags=("t",), profile="p", labels={"x": "y"}),
        case(input=Scenario(persona="p", initial_message="Hi")),
        case(input=SingleTurn(message="Hi", context="c")),
        case(expectations=(Criteria(criteria=(Criterion(id="1", text="t", weight=-1.5),)),)),
        case(expectations=(ToolCalls(expected=(), match=Matching(args_for={"a": ArgumentMode.IGNORE, "b": ("x",)})),)),
        case(recorded=Transcript(answer="")),
        case(recorded=Transcript(answer="x", steps=(AgentStep(name="A"),), duration_ms=2.5, metadata={"a": 1})),
        case(recorded=Transcript(answer="x", usage=Usage(prompt_tokens=1, cost_usd=0.5))),
        case(recorded=Transcript(answer="x", messages=(Message(role=Role.ASSISTANT),))),
        case(recorded=Transcript(answer="x", spans=(Span(name="s"),), invented_times=True)),
        case(recorded=Transcript(answer="x", state={"__hidden": 1})),
        case(recorded=BrokenRecording(reason="")),
        case(tools=(), recorded=CONVERSATION),
        case(id="q#2", labels={"repeat": "2"}, recorded=CONVERSATION),
        case(world=World.EXPLAIN),
    ],
)
def test_what_the_columns_cannot_say_is_kept_in_one_of_its_own(tmp_path: Path, odd: Case, target: str) -> None:
    assert "howsure_case" in written([odd], tmp_path / f"a.{target}")


@pytest.mark.parametrize("target", FORMATS)
def test_a_plain_recording_needs_no_column_of_our_own(tmp_path: Path, target: str) -> None:
    call = ToolCall(name="t", arguments={"a": 1}, id="c", result=ToolResult(content="no", failed=True))
    plain = case(
        labels={"repeat": "1", "agent": "shop", "topic": "x"},
        metadata={"app_name": "shop", "question_metadata": {"topic": "x"}, "reference_data": {"expected": 1}},
        expectations=(
            ToolCalls(expected=(ExpectedCall(name="t", arguments={"a": {"$any": True}}, message=1),)),
            Trajectory(steps=("A", "t"), match=Matching(mode=MatchMode.EXACT, ignore=("z",))),
            FinalState(variables={"a": 1}),
            AgentsInvolved(names=("A",)),
        ),
        tools=(Tool(name="t", description="does", parameters={"type": "object"}), Tool(name="u")),
        recorded=Transcript(
            answer="Bye",
            messages=(
                Message(role=Role.USER, content="Hi"),
                Message(role=Role.ASSISTANT, content="Let me see", agent="A", tool_calls=(call,)),
                Message(role=Role.ASSISTANT, content="Bye", agent="A"),
            ),
            steps=(AgentStep(name="A"), ToolStep(name="t")),
            spans=(
                Span(name="invoke_agent A", start_ns=1, end_ns=9),
                Span(name="execute_tool t", start_ns=2, end_ns=3),
            ),
            state={"a": 1, "b": None},
        ),
    )
    assert "howsure_case" not in written([plain], tmp_path / f"a.{target}")


def test_a_written_table_has_the_columns_that_other_tools_read(tmp_path: Path) -> None:
    cases = cases_of(write_file(tmp_path / "a.jsonl", row(PROCESSED, run_id="r"), row(INTERACTION, question_id="q2")))
    DIALECT.write(cases, tmp_path / "b.csv")
    with (tmp_path / "b.csv").open(encoding="utf-8", newline="") as file:
        first, second = csv.DictReader(file)
    assert first["question_id"] == "q1"
    assert json.loads(first["user_inputs"]) == ["Where is my order?", "It is 42"]
    assert json.loads(first["status"]) == {"boolean": "success"}
    assert first["final_response"] == "It arrives on Friday."
    assert json.loads(first["extracted_data"])["state_variables"] == {"order_id": "42", "verified": True}
    assert json.loads(first["reference_data"])["expected_response"] == "Friday"
    assert (first["run_id"], first["adk_score.safety_v1"]) == ("r", "1.0")
    assert (second["final_response"], second["final_session_state"]) == ("", "")


def test_values_that_a_cell_would_change_are_kept_apart(tmp_path: Path) -> None:
    odd = {"run_id": 1, "flag": True, "empty": [], "quoted": '"x"', "number": "5", "score.x": "5"}
    cases = cases_of(write_file(tmp_path / "a.jsonl", row(PROCESSED, **odd)))
    text = written(cases, tmp_path / "b.csv")
    assert "other_columns" in text.splitlines()[0]
    assert {key: cases[0].metadata[key] for key in odd} == odd


def test_nothing_is_left_behind_where_writing_fails(tmp_path: Path) -> None:
    endless = case(metadata={"x": float("nan")})
    with pytest.raises(ValueError, match="JSON"):
        DIALECT.write([endless], tmp_path / "a.jsonl")
    assert list(tmp_path.iterdir()) == []


names = st.sampled_from(["alpha", "beta", "gamma"])
calls = st.builds(
    ToolCall,
    name=names,
    arguments=objects,
    id=st.sampled_from(["", "1", "2", "3"]),
    result=st.none() | st.builds(ToolResult, content=values, failed=st.booleans()),
)
messages = st.builds(
    Message,
    role=st.sampled_from(Role),
    content=texts,
    agent=st.sampled_from(["", "A", "model", "user"]),
    tool_calls=st.lists(calls, max_size=2).map(tuple),
)
spans = st.builds(
    Span,
    name=st.sampled_from(["call_llm", "execute_tool alpha", "invoke_agent A", "invocation", "other"]),
    span_id=texts,
    trace_id=st.sampled_from(["", "t", "u"]),
    parent_id=texts,
    start_ns=st.none() | st.integers(0, 10),
    end_ns=st.none() | st.integers(0, 10),
    attributes=objects,
)
transcripts = st.builds(
    Transcript,
    answer=texts,
    messages=st.lists(messages, max_size=3).map(tuple),
    steps=st.lists(st.builds(AgentStep, name=names) | st.builds(ToolStep, name=names), max_size=2).map(tuple),
    state=st.none() | objects,
    spans=st.none() | st.lists(spans, max_size=3).map(tuple),
    usage=st.none() | st.builds(Usage, prompt_tokens=st.none() | st.integers(0, 9), cost_usd=st.none()),
    invented_times=st.booleans(),
)
expected = st.builds(ExpectedCall, name=filled, arguments=st.dictionaries(plain_keys, literals, max_size=2))
expectations = st.tuples(
    st.lists(expected, max_size=2).map(lambda given: ToolCalls(expected=tuple(given))),
    st.lists(filled, max_size=2).map(lambda given: Trajectory(steps=tuple(given))),
    st.lists(filled, min_size=1, max_size=2).map(lambda given: AgentsInvolved(names=tuple(given))),
)
any_cases = st.builds(
    Case,
    id=case_ids,
    input=st.lists(filled, min_size=1, max_size=3).map(lambda turns: Script(turns=tuple(turns))),
    expectations=st.just(()) | expectations,
    world=st.just(World.GOLDEN),
    labels=st.just({"repeat": "1"}) | st.dictionaries(texts, texts, max_size=1),
    metadata=st.dictionaries(st.sampled_from(["run_id", "adk_score.x", "note", "base_url"]), values, max_size=2),
    tools=st.none() | st.lists(st.builds(Tool, name=filled, description=texts), min_size=1, max_size=2).map(tuple),
    recorded=st.none() | st.builds(BrokenRecording, reason=texts) | transcripts,
)


@pytest.mark.parametrize("target", FORMATS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(any_cases, min_size=1, max_size=3, unique_by=lambda one: one.id))
def test_reading_what_was_written_gives_equal_cases(tmp_path: Path, target: str, cases: list[Case]) -> None:
    written(cases, tmp_path / f"a.{target}")


parts = st.one_of(
    st.fixed_dictionaries({"text": texts}, optional={"thought": st.booleans()}),
    st.fixed_dictionaries(
        {"functionCall": st.fixed_dictionaries({"name": names}, optional={"args": objects, "id": names})}
    ),
    st.fixed_dictionaries(
        {"functionResponse": st.fixed_dictionaries({"name": names}, optional={"response": values, "id": names})}
    ),
)
events = st.fixed_dictionaries(
    {
        "author": st.sampled_from(["user", "A", "model"]),
        "content": st.fixed_dictionaries({"parts": st.lists(parts, max_size=3)}),
    },
    optional={"timestamp": st.floats(0, 9), "usageMetadata": st.just({"promptTokenCount": 3}), "actions": objects},
)
raw_spans = st.fixed_dictionaries(
    {"name": st.sampled_from(["call_llm", "execute_tool alpha", "invoke_agent A"])},
    optional={"start_time": st.integers(0, 9), "attributes": objects, "kind": values},
)
rows = st.fixed_dictionaries(
    {"user_inputs": st.lists(filled, min_size=1, max_size=2)},
    optional={
        "question_id": filled,
        "base_url": st.sampled_from(["simulation", "http://x"]),
        "app_name": names,
        "run_id": values.filter(lambda value: value is not None),
        "status": st.sampled_from([{"boolean": "success"}, {"boolean": "failed", "error_message": "x"}]),
        "agents_evaluated": st.lists(names, max_size=2),
        "question_metadata": objects,
        "reference_data": st.fixed_dictionaries({}, optional={"reference_trajectory": st.lists(filled), "own": values}),
        "final_session_state": st.fixed_dictionaries(
            {}, optional={"state": objects, "events": st.lists(events, max_size=4)}
        ),
        "session_state": st.fixed_dictionaries(
            {}, optional={"state": objects, "events": st.lists(events, max_size=2), "id": texts}
        ),
        "custom_extract": st.just(
            [{"role": "A", "content_text": "Yes", "model": "m", "token_usage": {"prompt_token_count": 3}}]
        ),
        "extracted_data": st.fixed_dictionaries({}, optional={"state_variables": objects, "own": values}),
        "session_trace": st.lists(raw_spans, max_size=3),
        "trace_summary": st.lists(names, max_size=2),
        "final_response": texts,
        "adk_score.x": st.floats(0, 1),
        "note": texts.filter(bool),
    },
)


@pytest.mark.parametrize("target", FORMATS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(st.lists(rows, min_size=1, max_size=2))
def test_any_row_that_was_read_survives(tmp_path: Path, target: str, given_rows: list[dict[str, Any]]) -> None:
    path = write_file(tmp_path / "source.jsonl", *given_rows)
    report = validate(path, DIALECT)
    if report.valid:
        written(list(read_cases(path, DIALECT, report)), tmp_path / f"a.{target}")
