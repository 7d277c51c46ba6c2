"""ADK histories: both encodings, selection by run and time, spans whose times are marked as made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adk_files import event, history, refund_events, result, said, write_history
from howsure.dialects.datasets import read_cases, validate
from howsure.dialects.importers.adk_history import AdkHistoryImporter, AdkSessionImporter, declared_tools_of
from howsure.dialects.importers.base import ImportOptions
from howsure.dialects.simulation import SimulationDialect
from howsure.graders.measures import Measure, measures
from howsure.model.case import Case, Script
from howsure.model.expectation import ExpectedCall, ToolCalls
from howsure.model.score import Score
from howsure.model.transcript import AgentStep, BrokenRecording, Tool, ToolStep, Transcript, Usage


def read(path: Path, **options: Any) -> list[Case]:
    return list(read_cases(path, AdkHistoryImporter(ImportOptions(**options))))


def measure_named(name: str) -> Measure:
    return next(one for one in measures() if one.name == name)


def recorded(case: Case) -> Transcript:
    assert isinstance(case.recorded, Transcript)
    assert not isinstance(case.recorded, BrokenRecording)
    return case.recorded


@pytest.mark.parametrize("twice", [False, True], ids=["JSON", "JSON in a JSON text"])
def test_a_result_becomes_a_recorded_conversation(twice: bool, tmp_path: Path) -> None:
    (case,) = read(write_history(tmp_path / "shop", history(result()), twice=twice))
    talk = recorded(case)
    assert (case.id, case.input) == ("refund1", Script(turns=("I want a refund",)))
    assert talk.answer == "Done."
    assert [call.name for call in talk.tool_calls] == ["transfer_to_agent", "issue_refund"]
    assert talk.trajectory == (
        AgentStep(name="root"),
        ToolStep(name="transfer_to_agent"),
        AgentStep(name="billing"),
        ToolStep(name="issue_refund"),
    )
    assert talk.usage == Usage(prompt_tokens=33, completion_tokens=21)
    assert case.expectations == (
        ToolCalls(expected=(ExpectedCall(name="issue_refund", arguments={"order_id": "A1"}),)),
    )
    assert case.metadata["reference_data"] == {"expected_response": "Refunded."}
    assert case.metadata["adk_score.response_match_score"] == 1.0
    assert case.labels["agent"] == "shop"


def test_what_frameworks_hide_in_a_session_is_nowhere_in_the_case(tmp_path: Path) -> None:
    (case,) = read(write_history(tmp_path, history(result())))
    assert recorded(case).state == {"refund_amount": 50}
    assert "__llm_request_key__" not in repr(case)


def test_spans_show_what_was_done_and_say_that_nobody_measured_them(tmp_path: Path) -> None:
    (case,) = read(write_history(tmp_path, history(result())))
    talk = recorded(case)
    assert talk.invented_times
    assert [span.name for span in talk.spans or ()] == [
        "invocation",
        "invoke_agent root",
        "call_llm",
        "execute_tool transfer_to_agent",
        "invoke_agent billing",
        "call_llm",
        "execute_tool issue_refund",
        "call_llm",
    ]
    tool = (talk.spans or ())[6]
    assert json.loads(tool.attributes["gcp.vertex.agent.tool_call_args"]) == {"order_id": "A1", "amount": 50}
    assert json.loads(tool.attributes["gcp.vertex.agent.tool_response"]) == {"ok": True}
    assert (tool.end_ns or 0) - (tool.start_ns or 0) == 1_000_000_000


@pytest.mark.parametrize("name", ["out.jsonl", "out.csv"])
def test_it_comes_back_from_a_simulation_file_with_its_columns_alone(name: str, tmp_path: Path) -> None:
    cases = read(write_history(tmp_path, history(result(), result("refund2"))))
    SimulationDialect().write(cases, tmp_path / name)
    assert list(read_cases(tmp_path / name, SimulationDialect())) == cases
    assert "howsure_case" not in (tmp_path / name).read_text()


async def test_the_durations_that_adk_measured_are_the_latency_and_stay_with_the_row(tmp_path: Path) -> None:
    turn = result()["eval_metric_result_per_invocation"][0]
    turn["actual_invocation"] |= {"duration": 2.5, "model_duration": 1.5, "tool_duration": 0.25}
    (case,) = read(write_history(tmp_path, history(result(eval_metric_result_per_invocation=[turn]))))
    (grade,) = await measure_named("latency_metrics").grade(case, recorded(case))
    assert isinstance(grade, Score)
    assert (grade.value, grade.reason) == (2.5, "2.500 s over 1 turn, as `adk eval` measured it")
    assert (grade.details["llm_latency_seconds"], grade.details["tool_latency_seconds"]) == (1.5, 0.25)
    SimulationDialect().write([case], tmp_path / "out.csv")
    assert list(read_cases(tmp_path / "out.csv", SimulationDialect())) == [case]


def test_a_written_row_has_every_column_that_readers_of_the_format_look_for(tmp_path: Path) -> None:
    cases = read(write_history(tmp_path, history(result())))
    SimulationDialect().write(cases, tmp_path / "out.jsonl")
    row = json.loads((tmp_path / "out.jsonl").read_text())
    assert row["trace_summary"].splitlines() == ["user: I want a refund", "billing: Done."]
    assert row["sub_agent_trace"] == [{"name": "billing", "text": "Done."}]
    tools = [(one["tool_name"], one["input_arguments"]) for one in row["extracted_data"]["tool_interactions"]]
    assert tools == [
        ("transfer_to_agent", {"agent_name": "billing"}),
        ("issue_refund", {"order_id": "A1", "amount": 50}),
    ]


def test_the_tools_are_those_that_the_agent_declared(tmp_path: Path) -> None:
    (case,) = read(write_history(tmp_path, history(result())))
    assert case.tools == (Tool(name="issue_refund", description="Issue a refund."),)


def test_without_declarations_the_agents_source_tells_the_tools(tmp_path: Path) -> None:
    turn = result()["eval_metric_result_per_invocation"][0]
    del turn["actual_invocation"]["app_details"]
    head = "def issue_refund(order_id: str, amount: float = 1.0):\n    '''Refund.'''\n\n"
    source = f"{head}agent = Agent(tools=[issue_refund])\n"
    path = write_history(tmp_path / "shop", history(result(eval_metric_result_per_invocation=[turn])))
    (case,) = read(path)
    assert case.tools is None
    (tmp_path / "shop" / "agent.py").write_text(source)
    (case,) = read(path)
    parameters = {
        "type": "object",
        "properties": {"order_id": {"type": "string"}, "amount": {"type": "number"}},
        "required": ["order_id"],
    }
    assert case.tools == (Tool(name="issue_refund", description="Refund.", parameters=parameters),)


def test_a_history_without_a_session_is_told_by_its_invocations(tmp_path: Path) -> None:
    (case,) = read(write_history(tmp_path, history(result(session_details=None))))
    talk = recorded(case)
    assert (talk.answer, talk.state) == ("Done.", None)
    assert [call.name for call in talk.tool_calls] == ["transfer_to_agent", "issue_refund"]
    assert case.labels["agent"] == "shop"


def test_a_result_without_a_conversation_is_left_out_and_said_so(tmp_path: Path) -> None:
    empty = result("lost", session_details=None, eval_metric_result_per_invocation=[])
    path = write_history(tmp_path, history(result(), empty))
    assert [case.id for case in read(path)] == ["refund1"]
    (warning,) = validate(path, AdkHistoryImporter()).warnings
    assert warning.code == "skipped-case"
    assert warning.field == "eval_case_results[1]"


def test_repeats_of_one_case_are_numbered(tmp_path: Path) -> None:
    cases = read(write_history(tmp_path, history(result(), result())))
    assert [case.id for case in cases] == ["refund1", "refund1#2"]


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({"runs": ("shop_basic",)}, 1),
        ({"runs": ("other",)}, 0),
        ({"since": 1_700_000_100.0}, 1),
        ({"since": 1_700_000_101.0}, 0),
    ],
    ids=["this run", "another run", "since then", "later"],
)
def test_stale_runs_are_left_out_by_name_and_by_time(options: dict[str, Any], kept: int, tmp_path: Path) -> None:
    path = write_history(tmp_path, history(result()))
    report = validate(path, AdkHistoryImporter(ImportOptions(**options)))
    assert report.cases == kept
    assert [warning.code for warning in report.warnings] == ["skipped-case"] * (1 - kept)


def test_an_agents_folder_stands_for_its_histories_oldest_first(tmp_path: Path) -> None:
    old = write_history(tmp_path, history(result(), at=1_600_000_000.0))
    new = write_history(tmp_path, history(result(), at=1_700_000_000.0))
    assert AdkHistoryImporter().files(tmp_path) == [old, new]
    assert AdkHistoryImporter(ImportOptions(runs=("latest",))).files(tmp_path) == [new]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b'{"eval_set_result_id": "x", "eval_case_results": [{"eval_id": ', "json-syntax"),
        (json.dumps('{"eval_case_results": [').encode(), "json-syntax"),
        (b'{"eval_set_result_id": "x"}', "wrong-kind"),
        (b'{"eval_case_results": {}}', "wrong-kind"),
        ('{"eval_case_results": []}'.encode("utf-16"), "encoding"),
        (b'{"eval_case_results": []}', "empty-file"),
    ],
    ids=["half-written", "half-written twice", "no results", "no list", "UTF-16", "none"],
)
def test_a_history_that_cannot_be_read_is_a_problem(content: bytes, code: str, tmp_path: Path) -> None:
    path = tmp_path / "x.evalset_result.json"
    path.write_bytes(content)
    assert [problem.code for problem in validate(path, AdkHistoryImporter()).problems] == [code]


def test_older_pairs_of_metric_and_result_are_read(tmp_path: Path) -> None:
    pair = [[{"metric_name": "safety_v1", "threshold": 1}, {"score": 0.5, "eval_status": 2}]]
    older = result(overall_eval_metric_results=None, eval_metric_results=pair)
    (case,) = read(write_history(tmp_path, history(older)))
    assert case.metadata["adk_score.safety_v1"] == 0.5


def test_the_events_of_the_fixture_are_what_adk_writes() -> None:
    assert [one["author"] for one in refund_events()] == ["user", "root", "root", "billing", "billing", "billing"]


def session(folder: Path, **changes: Any) -> Path:
    base = {"id": "s1", "app_name": "shop", "user_id": "u", "state": {"a": 1}, "events": refund_events()}
    path = folder / "x.session.json"
    path.write_text(json.dumps({**base, **changes}))
    return path


def test_a_session_has_an_id_from_what_the_user_said_and_keeps_its_own(tmp_path: Path) -> None:
    (case,) = read_cases(session(tmp_path), AdkSessionImporter())
    (again,) = read_cases(session(tmp_path, id="s2"), AdkSessionImporter())
    assert case.id == again.id
    assert case.id.startswith("sim-")
    assert (case.metadata["session_id"], again.metadata["session_id"]) == ("s1", "s2")
    assert isinstance(case.recorded, Transcript)
    assert case.recorded.invented_times
    assert case.recorded.state == {"a": 1}


def test_old_sessions_keep_their_state_in_context_and_log_the_models_requests(tmp_path: Path) -> None:
    config = {
        "system_instruction": "Help.",
        "tools": [{"function_declarations": [{"name": "look", "description": "Look it up."}]}],
    }
    logs = [{"model_request": {"config": config}}]
    (case,) = read_cases(session(tmp_path, state=None, context={"b": 2}, event_logs=logs), AdkSessionImporter())
    assert isinstance(case.recorded, Transcript)
    assert case.recorded.state == {"b": 2}
    assert case.tools == (Tool(name="look", description="Look it up."),)
    assert case.metadata["extracted_data"] == {"system_instruction": "Help."}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"events": []}, "no-user-inputs"),
        ({"events": [event("root", {"text": "Welcome"})]}, "no-user-inputs"),
        ({"events": {}}, "wrong-kind"),
        ({"events": None}, "wrong-kind"),
    ],
    ids=["none", "the agent alone", "no list", "null"],
)
def test_a_session_in_which_nobody_speaks_is_no_conversation(
    changes: dict[str, Any], code: str, tmp_path: Path
) -> None:
    assert [problem.code for problem in validate(session(tmp_path, **changes), AdkSessionImporter()).problems] == [code]


def test_sessions_before_a_time_are_left_out(tmp_path: Path) -> None:
    path = session(tmp_path, last_update_time=100.0)
    assert validate(path, AdkSessionImporter(ImportOptions(since=50.0))).cases == 1
    assert [one.code for one in validate(path, AdkSessionImporter(ImportOptions(since=200.0))).warnings] == [
        "skipped-case"
    ]


SOURCE = '''
from google.adk.agents import Agent
from google.adk.tools import FunctionTool


def lookup(order_id: str, limit: int = 3, *, tags: list[str] | None = None, tool_context=None) -> dict:
    """Look an order up."""


async def refund(order_id: str, amount: float):
    """Give money back."""


billing = Agent(name="billing", tools=[FunctionTool(func=refund)])
root_agent = Agent(name="root", tools=[lookup], sub_agents=[billing])
'''


def test_tools_are_read_from_the_source_without_running_it(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(SOURCE + "\nraise SystemExit('must not run')\n")
    declared, problems = declared_tools_of(tmp_path)
    assert problems == []
    functions = {one["name"]: one for one in declared[0]["function_declarations"]}
    assert list(functions) == ["refund", "lookup", "transfer_to_agent"]
    assert functions["lookup"] == {
        "name": "lookup",
        "description": "Look an order up.",
        "parameters": {
            "type": "object",
            "properties": {"order_id": {"type": "string"}, "limit": {"type": "integer"}, "tags": {}},
            "required": ["order_id"],
        },
    }


@pytest.mark.parametrize(
    "tools", ["[McpToolset(server='x')]", "make_tools()", "[lookup, *more]", "[undefined]"], ids=str
)
def test_a_list_that_only_running_would_tell_is_not_used(tools: str, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(f"def lookup():\n    pass\n\nagent = Agent(tools={tools})\n")
    declared, problems = declared_tools_of(tmp_path)
    assert declared == []
    assert [(one.code, one.line) for one in problems] == [("unreadable-tool", 4)]


def test_a_folder_without_agents_or_with_broken_source_declares_nothing(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def (:\n")
    assert declared_tools_of(tmp_path) == ([], [])


def test_without_a_session_the_event_of_the_answer_and_the_answer_are_one_call_of_the_model(tmp_path: Path) -> None:
    """ADK 2 writes the answer of a turn apart from its event, which keeps the tokens."""
    used = {"model_version": "gemini-2.5-flash", "usage_metadata": {"prompt_token_count": 11}}
    turn = {
        "actual_invocation": {
            "user_content": said("Hi", "user"),
            "final_response": said("Hello."),
            "intermediate_data": {"invocation_events": [{"author": "shop", "content": None, **used}]},
        }
    }
    document = history(result(eval_metric_result_per_invocation=[turn], session_details=None))
    (case,) = read_cases(write_history(tmp_path, document), AdkHistoryImporter())
    assert isinstance(case.recorded, Transcript)
    assert [message.content for message in case.recorded.messages] == ["Hi", "Hello."]
    assert [span.name for span in case.recorded.spans or () if span.name == "call_llm"] == ["call_llm"]


def test_the_criteria_that_adk_measured_by_its_rubrics_and_its_verdict_are_kept(tmp_path: Path) -> None:
    metrics = [
        {
            "metric_name": "tool_trajectory_avg_score",
            "score": 0.5,
            "threshold": 1.0,
            "criterion": {"threshold": 1.0, "match_type": 2, "ignore_args": False},
        },
        {"metric_name": "response_match_score", "score": 0.25, "threshold": 0.8},
        {"metric_name": "tool_call_count_v1", "score": 2.0},
    ]
    changed = result(overall_eval_metric_results=metrics, final_eval_status=2)
    rubric = {"rubric_id": "r", "rubric_content": {"text_property": "Is polite."}, "type": "FINAL_RESPONSE_QUALITY"}
    changed["eval_metric_result_per_invocation"][0]["actual_invocation"]["rubrics"] = [rubric]
    (case,) = read_cases(write_history(tmp_path, history(changed)), AdkHistoryImporter())
    reference = case.metadata["reference_data"]
    assert reference["adk_criteria"] == {
        "tool_trajectory_avg_score": {"threshold": 1.0, "match_type": "ANY_ORDER"},
        "response_match_score": 0.8,
    }
    assert reference["adk_rubrics"] == [{"rubric_id": "r", "text": "Is polite.", "type": "FINAL_RESPONSE_QUALITY"}]
    given = {key: value for key, value in case.metadata.items() if key.startswith("adk_score.")}
    assert given == {
        "adk_score.final_eval_status": 0.0,
        "adk_score.tool_trajectory_avg_score": 0.5,
        "adk_score.response_match_score": 0.25,
        "adk_score.tool_call_count_v1": 2.0,
    }
