"""The `simulation` dialect: all column sets, both formats, every fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from howsure.dialects.base import Dialect
from howsure.dialects.datasets import detect, read_cases, validate
from howsure.dialects.golden import GoldenDialect
from howsure.dialects.simulation import SimulationDialect, question_of
from howsure.dialects.simulation_columns import JSON_COLUMNS
from howsure.dialects.test_set import TestSetDialect
from howsure.errors import Level, Problem
from howsure.model.case import Case, Script, World
from howsure.model.expectation import AgentsInvolved, ExpectedCall, ToolCalls
from howsure.model.transcript import (
    AgentStep,
    BrokenRecording,
    Message,
    Role,
    Tool,
    ToolCall,
    ToolResult,
    ToolStep,
    Transcript,
    Usage,
)
from json_strategies import texts
from simulation_files import (
    ANSWER,
    COLUMNS,
    EXTRACTED,
    HEADERS,
    HIDDEN,
    INTERACTION,
    INVENTED_TRACE,
    PROCESSED,
    REAL_TRACE,
    SESSION,
    SMALLEST,
    STATE,
    TURNS,
    row,
    write_csv,
    write_file,
    write_jsonl,
)

DIALECT = SimulationDialect()
FORMATS = ["csv", "jsonl"]


def read(path: Path) -> tuple[list[Case], list[Problem]]:
    found = list(DIALECT.read(path))
    return [one for one in found if isinstance(one, Case)], [one for one in found if isinstance(one, Problem)]


def the_case(folder: Path, given: dict[str, Any], ending: str = "jsonl") -> Case:
    (case,), problems = read(write_file(folder / f"a.{ending}", given))
    assert [problem for problem in problems if problem.level is Level.ERROR] == []
    return case


def the_transcript(folder: Path, given: dict[str, Any], ending: str = "jsonl") -> Transcript:
    recorded = the_case(folder, given, ending).recorded
    assert isinstance(recorded, Transcript)
    return recorded


def call(**fields: Any) -> ToolCall:
    result = ToolResult(content={"arrival_day": "Friday"})
    return ToolCall(
        **{"name": "look_up_order", "arguments": {"order_id": "42"}, "id": "c1", "result": result, **fields}
    )


def said(role: Role, content: str, agent: str = "", *calls: ToolCall) -> Message:
    return Message(role=role, content=content, agent=agent, tool_calls=calls)


MESSAGES = (
    said(Role.USER, TURNS[0]),
    said(Role.ASSISTANT, "Which number?", "concierge"),
    said(Role.USER, TURNS[1]),
    said(Role.ASSISTANT, "", "orders_agent", call()),
    said(Role.ASSISTANT, ANSWER, "orders_agent"),
)


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("name", [name for name in HEADERS if not name.startswith("interaction")])
def test_every_column_set_gives_the_whole_conversation(tmp_path: Path, name: str, ending: str) -> None:
    given = row(HEADERS[name])
    path = write_file(tmp_path / f"a.{ending}", given)
    report = validate(path, DIALECT)
    (case,) = read_cases(path, DIALECT, report)
    assert (report.problems, report.warnings) == ((), ())
    assert case.id == ("q1" if "question_id" in given else "e1")
    assert case.world == World.GOLDEN
    assert case.input == Script(turns=tuple(TURNS))
    assert isinstance(case.recorded, Transcript)
    assert case.recorded.answer == ANSWER
    assert case.recorded.messages == MESSAGES
    assert case.recorded.state == STATE
    assert case.recorded.invented_times
    assert case.recorded.trajectory == (
        AgentStep(name="concierge"),
        AgentStep(name="orders_agent"),
        ToolStep(name="look_up_order"),
    )
    assert case.recorded.spans is not None
    assert len(case.recorded.spans) == len(INVENTED_TRACE)
    assert case.recorded.usage == Usage(prompt_tokens=60, completion_tokens=4, cached_tokens=8)
    assert case.tools is None


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("name", ["interaction, 12", "interaction, 13"])
def test_an_interaction_row_is_a_question_with_no_answer_yet(tmp_path: Path, name: str, ending: str) -> None:
    case = the_case(tmp_path, row(HEADERS[name]), ending)
    assert case.id == "q1"
    assert case.recorded is None
    assert case.expectations == (
        ToolCalls(expected=(ExpectedCall(name="look_up_order", arguments={"order_id": "42"}),)),
        AgentsInvolved(names=("shop",)),
    )


@pytest.mark.parametrize("ending", FORMATS)
def test_columns_that_are_not_read_are_kept_as_they_were(tmp_path: Path, ending: str) -> None:
    seed_era = the_case(tmp_path, row(SMALLEST), ending)
    for column in SMALLEST:
        if column.startswith(("score.", "metric.")) or column in ("session_id", "timestamp", "eval_set_result_id"):
            assert seed_era.metadata[column] == COLUMNS[column], column
    processed = the_case(tmp_path, row(PROCESSED), ending)
    assert processed.metadata["latency_data"] == COLUMNS["latency_data"]
    assert processed.metadata["question_metadata"] == COLUMNS["question_metadata"]
    assert processed.metadata["reference_data"] == {"expected_response": "Friday"}
    assert processed.metadata["adk_score.safety_v1"] == 1.0
    assert processed.metadata["extracted_data"]["thinking_trace"] == ["I should look it up"]
    assert processed.labels == {"agent": "shop", "repeat": "1", "topic": "delivery", "hard": "true"}


def test_what_events_say_beyond_the_messages_is_kept(tmp_path: Path) -> None:
    kept = the_case(tmp_path, row(PROCESSED)).metadata["final_session_state"]
    assert {key: kept[key] for key in ("id", "appName", "userId")} == {"id": "s1", "appName": "shop", "userId": "u"}
    thought = next(one for one in kept["event_details"] if one["event"] == 3)
    assert thought["parts"] == [{"text": "I should look it up", "thought": True}]
    assert thought["usageMetadata"]["promptTokenCount"] == 20


def test_the_columns_of_the_seed_alone_are_enough(tmp_path: Path) -> None:
    seed = ["user_inputs", "final_response", "sub_agent_trace", "trace_summary", "extracted_data", "session_trace"]
    extracted = {"state_variables": STATE, "tool_interactions": EXTRACTED["tool_interactions"]}
    case = the_case(tmp_path, row(seed, extracted_data=extracted), "csv")
    assert case.id == "sim-84bf7146b65b"
    assert isinstance(case.recorded, Transcript)
    assert [message.content for message in case.recorded.messages] == [TURNS[0], "Which number?", TURNS[1], "", ANSWER]
    assert [one.name for one in case.recorded.tool_calls] == ["look_up_order"]
    assert case.recorded.agents == ("concierge", "orders_agent")
    assert case.metadata["trace_summary"] == COLUMNS["trace_summary"]


def test_a_row_without_an_id_has_a_hash_of_what_the_user_said_and_nothing_else(tmp_path: Path) -> None:
    first = the_case(tmp_path, row(PROCESSED, question_id=...))
    other_answer = the_case(tmp_path, row(PROCESSED, question_id=..., final_response="No.", session_id="s2"))
    other_turns = the_case(tmp_path, row(PROCESSED, question_id=..., user_inputs=["Hello"]))
    assert first.id == other_answer.id
    assert first.id != other_turns.id
    assert first.id.startswith("sim-")
    assert len(first.id) == len("sim-") + 12


def test_several_conversations_about_one_question_are_numbered(tmp_path: Path) -> None:
    rows = [row(PROCESSED, run_id=1), row(PROCESSED, question_id="q2"), row(PROCESSED, run_id=2), row(PROCESSED)]
    cases, problems = read(write_jsonl(tmp_path / "a.jsonl", *rows))
    assert problems == []
    assert [case.id for case in cases] == ["q1", "q2", "q1#2", "q1#3"]
    assert [case.labels["repeat"] for case in cases] == ["1", "1", "2", "3"]
    assert [question_of(case) for case in cases] == [("q1", 1), ("q2", 1), ("q1", 2), ("q1", 3)]


def test_an_id_that_a_numbered_one_took_is_a_problem(tmp_path: Path) -> None:
    rows = [row(PROCESSED), row(PROCESSED), row(PROCESSED, question_id="q1#2")]
    cases, problems = read(write_jsonl(tmp_path / "a.jsonl", *rows))
    assert [case.id for case in cases] == ["q1", "q1#2"]
    assert [(problem.code, problem.line) for problem in problems] == [("duplicate-id", 3)]


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"status": {"boolean": "failed", "error_message": "refused"}}, "refused"),
        ({"status": {"boolean": "failed"}}, "the row is marked as failed"),
        ({"status": "failed"}, "the row is marked as failed"),
        ({"status": "Error"}, "the row is marked as failed"),
        ({"missing_information": {"boolean": True, "details": "Trace missing"}}, "Trace missing"),
        ({"missing_information": {"boolean": "true"}}, "the row is marked as missing information"),
        ({"missing_information": True}, "the row is marked as missing information"),
        (
            {"status": {"boolean": "failed"}, "missing_information": {"boolean": True, "details": "No session ID"}},
            "No session ID",
        ),
    ],
    ids=["message", "no message", "a word", "another word", "details", "text", "bare", "both"],
)
def test_a_row_that_is_marked_as_failed_is_a_mishap_and_not_lost(
    tmp_path: Path, changes: dict[str, Any], reason: str, ending: str
) -> None:
    case = the_case(tmp_path, row(PROCESSED, **changes), ending)
    assert isinstance(case.recorded, BrokenRecording)
    assert case.recorded.reason == reason
    assert case.metadata["final_session_state"] == SESSION
    assert case.metadata["final_response"] == ANSWER


@pytest.mark.parametrize("ending", FORMATS)
def test_a_row_that_failed_before_it_had_anything_is_a_mishap_too(tmp_path: Path, ending: str) -> None:
    empty = dict.fromkeys(["final_session_state", "session_trace", "extracted_data", "final_response", "session_id"])
    status = {"boolean": "failed", "error_message": "timeout"}
    assert the_case(tmp_path, row(PROCESSED, status=status, **empty), ending).recorded == BrokenRecording(
        reason="timeout"
    )


@pytest.mark.parametrize(
    "status", [{"boolean": "success"}, "success", True, "", None], ids=["object", "word", "boolean", "empty", "null"]
)
def test_a_row_that_went_well_is_a_conversation(tmp_path: Path, status: Any) -> None:
    assert isinstance(the_case(tmp_path, row(PROCESSED, status=status)).recorded, Transcript)


def test_a_status_that_says_more_is_kept(tmp_path: Path) -> None:
    status = {"boolean": "success", "tries": 2}
    assert the_case(tmp_path, row(PROCESSED, status=status)).metadata["status"] == status


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        (row(PROCESSED, final_response="Other."), "Other."),
        (row(PROCESSED, final_response=""), ""),
        (row(PROCESSED, final_response=..., response=...), ANSWER),
        (row(PROCESSED, final_response=None, response=...), ANSWER),
        (row(PROCESSED, final_response=..., final_session_state=..., extracted_data=..., request=...), ANSWER),
    ],
    ids=["its column", "empty column", "last said", "null", "response"],
)
def test_the_answer_is_the_final_response_or_the_last_thing_said(
    tmp_path: Path, given: dict[str, Any], answer: str
) -> None:
    assert the_transcript(tmp_path, given).answer == answer


@pytest.mark.parametrize(
    ("status", "reason"),
    [({"boolean": "success"}, "no answer was recorded"), ({"boolean": "failed", "error_message": "503"}, "503")],
    ids=["silent", "failed"],
)
def test_a_mishap_keeps_its_trace_which_can_be_measured(tmp_path: Path, status: dict[str, Any], reason: str) -> None:
    case = the_case(tmp_path, row([*INTERACTION, "session_trace"], status=status))
    assert isinstance(case.recorded, BrokenRecording)
    assert reason in case.recorded.reason
    assert case.recorded.transcript is not None
    assert [span.name for span in case.recorded.transcript.spans or ()] == [one["name"] for one in INVENTED_TRACE]
    assert "session_trace" not in case.metadata
    SimulationDialect().write([case], tmp_path / "again.jsonl")
    assert read(tmp_path / "again.jsonl") == ([case], [])


def test_a_mishap_whose_trace_cannot_be_read_is_still_one(tmp_path: Path) -> None:
    failed = {"boolean": "failed", "error_message": "503"}
    case = the_case(tmp_path, row([*INTERACTION, "session_trace"], status=failed, session_trace=[{"x": 1}]))
    assert case.recorded == BrokenRecording(reason="503")
    assert case.metadata["session_trace"] == [{"x": 1}]


def test_a_conversation_in_which_the_agent_never_spoke_has_an_empty_answer(tmp_path: Path) -> None:
    session = {"state": {}, "events": SESSION["events"][:1]}
    given = row(PROCESSED, final_response=..., response=..., request=..., final_session_state=session)
    assert the_transcript(tmp_path, given).answer == ""


@pytest.mark.parametrize(
    ("given", "turns"),
    [
        (row(SMALLEST), TURNS),
        (row(SMALLEST, custom_extract=...), TURNS),
        (row(SMALLEST, custom_extract=..., session_state=STATE, session_trace=[
            {"name": "call_llm", "attributes": {"gcp.vertex.agent.llm_request": json.dumps({"contents": [
                {"role": "user", "parts": [{"text": "Hello"}]},
                {"role": "model", "parts": [{"text": "Yes?"}]},
                {"role": "user", "parts": [{"text": "For context:"}, {"text": "[x] said: y"}]},
                {"role": "user", "parts": [{"functionResponse": {"name": "t"}}]},
                {"role": "user", "parts": [{"text": "Bye"}]},
            ]})}},
            {"name": "call_llm", "attributes": '{"gcp.vertex.agent.llm_request": {"contents": []}}'},
        ]), ["Hello", "Bye"]),
        (row(PROCESSED, user_inputs=[]), TURNS),
        (row(PROCESSED, user_inputs=["", "Hi"]), ["", "Hi"]),
    ],
    ids=["custom_extract", "session events", "session_trace", "an empty list", "a turn that is empty"],
)  # fmt: skip
def test_what_the_user_said_is_found_where_its_column_is_missing(
    tmp_path: Path, given: dict[str, Any], turns: list[str]
) -> None:
    assert the_case(tmp_path, given).input == Script(turns=tuple(turns))


@pytest.mark.parametrize("ending", FORMATS)
def test_a_row_that_does_not_tell_what_the_user_said_is_a_problem(tmp_path: Path, ending: str) -> None:
    silent = row(SMALLEST, custom_extract=[], session_state={"state": STATE}, session_trace=[])
    cases, (problem,) = read(write_file(tmp_path / f"a.{ending}", silent))
    assert cases == []
    assert (problem.code, problem.field) == ("no-user-inputs", "user_inputs")
    assert problem.line == (2 if ending == "csv" else 1)


def test_keys_that_a_converter_rewrote_are_restored_from_what_else_the_row_holds(tmp_path: Path) -> None:
    by_extract = the_transcript(tmp_path, row(SMALLEST))
    args = {"gcp.vertex.agent.tool_call_args": '{"order_id": "42"}'}
    response = {"gcp.vertex.agent.tool_response": {"arrival_day": "Friday"}}
    trace = [{"name": "execute_tool look_up_order", "attributes": args | response}]
    by_spans = the_transcript(tmp_path, row(PROCESSED, session_trace=trace))
    by_nothing = the_transcript(tmp_path, row(PROCESSED, session_trace=[]))
    assert by_extract.tool_calls == by_spans.tool_calls == (call(),)
    (kept,) = by_nothing.tool_calls
    assert kept == call(arguments={"orderId": "42"}, result=ToolResult(content={"arrivalDay": "Friday"}))


def test_private_keys_are_no_part_of_the_state(tmp_path: Path) -> None:
    case = the_case(tmp_path, row(PROCESSED))
    assert isinstance(case.recorded, Transcript)
    assert case.recorded.state == STATE
    assert "__llm_request_key__" not in json.dumps(case.metadata)


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"extracted_data": {"state_variables": {"a": 1}}, "final_session_state": {"state": {"a": 1}}}, {"a": 1}),
        ({"extracted_data": {}, "final_session_state": {"state": {"a": 2}, "events": []}}, {"a": 2}),
        ({"extracted_data": {"state_variables": {}}, "final_session_state": {"state": {"a": 2}}}, {"a": 2}),
        ({"extracted_data": {"state_variables": {}}, "final_session_state": {}}, {}),
        ({"extracted_data": ..., "final_session_state": ..., "session_state": {"a": 3}}, {"a": 3}),
        ({"extracted_data": ..., "final_session_state": ..., "session_state": {"state": HIDDEN}}, STATE),
        ({"extracted_data": ..., "final_session_state": ...}, None),
    ],
    ids=["extracted", "session", "extracted empty", "both empty", "bare", "old session", "nobody says"],
)
def test_the_state_is_read_from_the_column_that_has_it(
    tmp_path: Path, changes: dict[str, Any], state: dict[str, Any] | None
) -> None:
    assert the_transcript(tmp_path, row(PROCESSED, **changes)).state == state


def test_two_states_that_differ_are_both_kept(tmp_path: Path) -> None:
    changes = {"extracted_data": {"state_variables": {"a": 1}}, "final_session_state": {"state": {"a": 2}}}
    case = the_case(tmp_path, row(PROCESSED, **changes))
    assert isinstance(case.recorded, Transcript)
    assert case.recorded.state == {"a": 1}
    assert case.metadata["final_session_state"] == {"state": {"a": 2}}


DECLARED = [{"function_declarations": [{"name": "t", "description": "does", "parameters": {"type": "object"}}]}]


@pytest.mark.parametrize(
    ("changes", "tools"),
    [
        (
            {"extracted_data": {"tool_declarations": DECLARED}},
            (Tool(name="t", description="does", parameters={"type": "object"}),),
        ),
        ({"extracted_data": {"tool_declarations": [{"name": "t"}]}}, (Tool(name="t"),)),
        ({"extracted_data": {"tool_declarations": DECLARED}, "base_url": "simulation"}, None),
        ({"extracted_data": {"tool_declarations": EXTRACTED["tool_declarations"]}}, None),
        ({"extracted_data": {"tool_declarations": []}}, None),
        ({"extracted_data": {}}, None),
    ],
    ids=["declared", "flat", "simulated", "gathered from use", "empty", "absent"],
)
def test_tools_are_those_declared_and_never_those_gathered_from_use(
    tmp_path: Path, changes: dict[str, Any], tools: tuple[Tool, ...] | None
) -> None:
    assert the_case(tmp_path, row(PROCESSED, **changes)).tools == tools


@pytest.mark.parametrize(
    ("changes", "invented"),
    [
        ({"session_trace": REAL_TRACE}, False),
        ({"session_trace": REAL_TRACE, "base_url": "simulation"}, True),
        ({"session_trace": INVENTED_TRACE}, True),
        ({"session_trace": []}, False),
        ({"session_trace": ...}, False),
    ],
    ids=["real", "simulated", "made up", "empty", "absent"],
)
def test_times_that_a_converter_made_up_are_flagged(tmp_path: Path, changes: dict[str, Any], invented: bool) -> None:
    assert the_transcript(tmp_path, row(PROCESSED, **changes)).invented_times is invented


def test_real_spans_tell_the_steps_better_than_messages(tmp_path: Path) -> None:
    transcript = the_transcript(tmp_path, row(PROCESSED, session_trace=REAL_TRACE))
    assert transcript.steps == (
        AgentStep(name="concierge"),
        AgentStep(name="orders_agent"),
        ToolStep(name="look_up_order"),
    )


def test_a_summary_tells_the_steps_where_nothing_else_does(tmp_path: Path) -> None:
    bare = {"final_session_state": ..., "extracted_data": ..., "session_trace": ..., "request": ..., "response": ...}
    summary = ["agent:shop", "sub-agent:OrdersAgent", "tool:look_up_order", "Helper"]
    transcript = the_transcript(tmp_path, row(PROCESSED, trace_summary=summary, **bare))
    assert transcript.steps == (
        AgentStep(name="shop"),
        AgentStep(name="OrdersAgent"),
        ToolStep(name="look_up_order"),
        AgentStep(name="Helper"),
    )
    assert [message.content for message in transcript.messages] == [*TURNS, ANSWER]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        ({"reference_data": ...}, False),
        ({"base_url": "simulation"}, False),
        ({"base_url": "simulation", "agents_evaluated": ["concierge", "orders_agent"]}, True),
        ({"agents_evaluated": []}, False),
    ],
    ids=["a golden question's", "no reference", "a converter's", "joined by hand", "none"],
)
def test_agents_are_expected_only_where_a_golden_question_named_them(
    tmp_path: Path, changes: dict[str, Any], expected: bool
) -> None:
    case = the_case(tmp_path, row(PROCESSED, **changes))
    assert any(isinstance(one, AgentsInvolved) for one in case.expectations) is expected


def bad_reference(**reference: Any) -> dict[str, Any]:
    return {"reference_data": reference}


FAULTS: list[tuple[str, dict[str, Any], str, str]] = [
    ("broken JSON", {"extracted_data": '{"a": '}, "json-syntax", "extracted_data"),
    ("a key twice", {"final_session_state": '{"a": 1, "a": 2}'}, "json-duplicate-key", "final_session_state"),
    ("NaN", {"session_trace": '[{"name": "x", "start_time": NaN}]'}, "json-not-finite", "session_trace"),
    ("inputs no JSON", {"user_inputs": "Hello"}, "json-syntax", "user_inputs"),
    ("inputs a text", {"user_inputs": '"Hello"'}, "wrong-type", "user_inputs"),
    ("inputs of numbers", {"user_inputs": "[1]"}, "wrong-type", "user_inputs[0]"),
    ("agents an object", {"agents_evaluated": "{}"}, "wrong-type", "agents_evaluated"),
    ("metadata a list", {"question_metadata": "[]"}, "wrong-type", "question_metadata"),
    ("trace an object", {"session_trace": "{}"}, "wrong-type", "session_trace"),
    ("a span without a name", {"session_trace": "[{}]"}, "bad-span", "session_trace[0]"),
    ("a span that is a text", {"session_trace": '["x"]'}, "bad-span", "session_trace[0]"),
    ("a time that is none", {"session_trace": '[{"name": "x", "start_time": "noon"}]'}, "bad-span", "session_trace[0]"),
    ("attributes a list", {"session_trace": '[{"name": "x", "attributes": []}]'}, "bad-span", "session_trace[0]"),
    ("summary a broken list", {"trace_summary": '["agent:x"'}, "json-syntax", "trace_summary"),
    ("status unknown", {"status": '{"boolean": "maybe"}'}, "unknown-value", "status"),
    ("missing unknown", {"missing_information": "perhaps"}, "unknown-value", "missing_information"),
    ("reference a list", {"reference_data": "[]"}, "wrong-type", "reference_data"),
    ("reference broken", bad_reference(reference_tool_interactions=[{}]), "missing-field",
     "reference_data.reference_tool_interactions[0].tool_name"),
    ("reference with a bad matcher", bad_reference(reference_tool_interactions=[
        {"tool_name": "t", "input_arguments": {"a": {"$regex": "("}}}]), "bad-matcher",
     "reference_data.reference_tool_interactions[0].input_arguments.a.$regex"),
    ("reference with a bad mode", bad_reference(tool_match={"mode": "x"}, reference_tool_interactions=[]),
     "unknown-value", "reference_data.tool_match.mode"),
    ("a case that is none", {"howsure_case": '{"id": 1}'}, "bad-case", "howsure_case"),
]  # fmt: skip


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize(("changes", "code", "field"), [one[1:] for one in FAULTS], ids=[one[0] for one in FAULTS])
def test_each_fault_is_one_problem_at_its_row_and_column(
    tmp_path: Path, changes: dict[str, Any], code: str, field: str, ending: str
) -> None:
    good = {**row(PROCESSED, question_id="good"), **dict.fromkeys(changes.keys() - COLUMNS.keys())}
    cases, found = read(write_file(tmp_path / f"a.{ending}", good, row(PROCESSED, **changes)))
    problems = [problem for problem in found if problem.level is Level.ERROR]
    assert [case.id for case in cases] == ["good"]
    assert [(problem.code, problem.field) for problem in problems] == [(code, field)]
    assert problems[0].line == (4 if ending == "csv" else 2)


def test_a_problem_in_a_table_stands_on_the_line_where_its_record_starts(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'question_id,user_inputs,final_response\r\nq1,"[""Hi""]","two\r\nlines"\r\nq2,[,x\r\n')
    (case,), (problem,) = read(path)
    assert isinstance(case.recorded, Transcript)
    assert case.recorded.answer == "two\r\nlines"
    assert (problem.line, problem.field, problem.code) == (4, "user_inputs", "json-syntax")


def test_all_problems_of_a_row_are_told_at_once(tmp_path: Path) -> None:
    changes = {"user_inputs": "[", "extracted_data": "[]", "status": "maybe", "session_trace": "x"}
    _, problems = read(write_csv(tmp_path / "a.csv", row(PROCESSED, **changes)))
    assert sorted(problem.field for problem in problems) == ["extracted_data", "session_trace", "status", "user_inputs"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"question_id,user_inputs,question_id\n", "duplicate-column"),
        (b'question_id,user_inputs,final_response\nq,"[""Hi""]"\n', "wrong-columns"),
        (b'question_id,user_inputs,final_response\nq,"[""Hi""]",a,b\n', "wrong-columns"),
        (b'question_id,user_inputs,final_response\nq,"[""Hi""]","open\n', "csv-syntax"),
        (b'question_id,user_inputs,final_response\nq,"[""Hi""]",\xe9\n', "encoding"),
    ],
    ids=["a column twice", "too few cells", "too many cells", "an open quote", "not UTF-8"],
)
def test_faults_of_a_table(tmp_path: Path, text: bytes, code: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(text)
    assert code in [problem.code for problem in read(path)[1]]


@pytest.mark.parametrize(
    ("text", "code"), [("[1]", "wrong-type"), ('{"user_inputs": ["Hi"]', "json-syntax"), ("{'a': 1}", "json-syntax")]
)
def test_faults_of_a_line(tmp_path: Path, text: str, code: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f"{json.dumps(row(PROCESSED))}\n\n{text}\n")
    cases, (problem,) = read(path)
    assert len(cases) == 1
    assert (problem.code, problem.line) == (code, 3)


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path: Path) -> None:
    for ending in FORMATS:
        path = write_file(tmp_path / f"a.{ending}", row(PROCESSED, trace_summary=[]))
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
        (case,), problems = read(path)
        assert (case.id, problems) == ("q1", [])


def test_a_cell_of_many_megabytes_is_read(tmp_path: Path) -> None:
    long = "x" * 5_000_000
    path = write_csv(tmp_path / "a.csv", row(PROCESSED, final_response=long))
    assert the_transcript(tmp_path, row(PROCESSED, final_response=long), "csv").answer == long
    assert path.stat().st_size > 5_000_000


def test_what_python_printed_into_a_cell_is_read_with_a_warning(tmp_path: Path) -> None:
    given = row(PROCESSED, status="{'boolean': 'failed', 'error_message': None}", question_metadata="{'a': True}")
    (case,), problems = read(write_csv(tmp_path / "a.csv", given))
    assert isinstance(case.recorded, BrokenRecording)
    assert case.recorded.reason == "the row is marked as failed"
    assert case.metadata["question_metadata"] == {"a": True}
    assert [(problem.code, problem.level) for problem in problems] == [("python-literal", Level.WARNING)] * 2


def test_an_unknown_column_is_kept_and_warned_about_once(tmp_path: Path) -> None:
    rows = [row(PROCESSED, mood="sunny"), row(PROCESSED, mood="grey")]
    cases, problems = read(write_csv(tmp_path / "a.csv", *rows))
    assert [case.metadata["mood"] for case in cases] == ["sunny", "grey"]
    assert [(problem.code, problem.field, problem.level) for problem in problems] == [
        ("unknown-field", "mood", Level.WARNING)
    ]


@pytest.mark.parametrize("name", HEADERS)
@pytest.mark.parametrize("ending", FORMATS)
def test_every_column_set_is_recognised_and_by_nobody_else(tmp_path: Path, name: str, ending: str) -> None:
    path = write_file(tmp_path / f"a.{ending}", row(HEADERS[name]))
    dialects: list[Dialect] = [GoldenDialect(), DIALECT, TestSetDialect()]
    assert detect(path, dialects) is DIALECT


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("a.csv", b"query,response\nHi,Hello\n"),
        ("a.csv", b""),
        ("a.jsonl", b'{"case_id": "a-1", "explain_inputs": {}, "required_evals": [], "context": "", "response": ""}\n'),
        ("a.jsonl", b'{"schema_version": "legal_eval_v1", "id": "1", "task_type": "mcq"}\n'),
        ("a.jsonl", b'{"case_id": "a", "response_text": "x"}\n'),
        ("a.json", b'{"user_inputs": [], "final_response": ""}'),
        ("a.jsonl", b"user_inputs,final_response\n"),
    ],
)
def test_other_files_are_left_to_others(name: str, head: bytes) -> None:
    assert not DIALECT.detect(Path(name), head)


def test_a_row_longer_than_the_head_of_the_file_is_recognised() -> None:
    text = json.dumps({"question_id": "q", "user_inputs": ["Hi"], "reference_data": {}, "session_trace": "x" * 100_000})
    assert DIALECT.detect(Path("a.jsonl"), text.encode()[:65536])


@pytest.mark.parametrize("name", HEADERS)
def test_the_schema_that_is_printed_accepts_every_column_set(name: str) -> None:
    schema = DIALECT.schema()
    Draft202012Validator.check_schema(schema)
    assert Draft202012Validator(schema).is_valid(row(HEADERS[name]))


words = st.sampled_from(
    [
        *("events", "state", "content", "parts", "text", "author", "role", "functionCall", "functionResponse", "name"),
        *("args", "response", "id", "event_details", "contents", "candidates", "tool_calls", "tool_responses"),
        *("state_variables", "tool_interactions", "sub_agent_trace", "tool_declarations", "function_declarations"),
        *("per_turn_tokens", "conversation_history", "usageMetadata", "promptTokenCount", "attributes", "boolean"),
        *("reference_tool_interactions", "tool_name", "input_arguments", "tool_match", "mode", "event", "thought"),
    ]
)
anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words | texts, inner, max_size=4),
    max_leaves=12,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(st.dictionaries(st.sampled_from([*JSON_COLUMNS, "final_response", "base_url", "question_id"]), anything))
def test_whatever_stands_in_the_columns_reading_gives_cases_or_problems(
    tmp_path: Path, columns: dict[str, Any]
) -> None:
    found = list(DIALECT.read(write_jsonl(tmp_path / "a.jsonl", {"user_inputs": ["Hi"], **columns})))
    assert found
    assert all(isinstance(one, Case | Problem) for one in found)
