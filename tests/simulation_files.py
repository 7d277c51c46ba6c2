"""One conversation, in every column in which the tools of the golden world have written such a thing."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from howsure.dialects.simulation_traces import camel

Json = dict[str, Any]
START = 1_700_000_000.0
TURNS = ["Where is my order?", "It is 42"]
ANSWER = "It arrives on Friday."
STATE = {"order_id": "42", "verified": True}
HIDDEN = {**STATE, "__llm_request_key__": "<huge>"}


def event(author: str, *parts: Json, **fields: Any) -> Json:
    return {
        "author": author,
        "content": {"role": "user" if author == "user" else "model", "parts": list(parts)},
        **fields,
    }


EVENTS = [
    event("user", {"text": TURNS[0]}, timestamp=START),
    event("concierge", {"text": "Which number?"}, timestamp=START + 2, usage_metadata={"prompt_token_count": 10}),
    event("user", {"text": TURNS[1]}, timestamp=START + 4),
    event(
        "orders_agent",
        {"text": "I should look it up", "thought": True},
        {"function_call": {"id": "c1", "name": "look_up_order", "args": {"order_id": "42"}}},
        timestamp=START + 5,
        usage_metadata={"prompt_token_count": 20, "candidates_token_count": 4, "cached_content_token_count": 8},
    ),
    event(
        "orders_agent",
        {"function_response": {"id": "c1", "name": "look_up_order", "response": {"arrival_day": "Friday"}}},
        timestamp=START + 7,
    ),
    event("orders_agent", {"text": ANSWER}, timestamp=START + 8, usage_metadata={"prompt_token_count": 30}),
]
CUSTOM_EXTRACT = [
    {
        "turn_index": 0,
        "role": "user",
        "content_text": TURNS[0],
        "tool_calls": [],
        "tool_responses": [],
        "thought": None,
    },
    {"turn_index": 1, "role": "concierge", "content_text": "Which number?", "tool_calls": [], "tool_responses": []},
    {"turn_index": 2, "role": "user", "content_text": TURNS[1], "tool_calls": [], "tool_responses": []},
    {
        "turn_index": 3,
        "role": "orders_agent",
        "model": "gemini-2.5-flash",
        "token_usage": {"prompt_token_count": 20, "candidates_token_count": 4},
        "content_text": None,
        "tool_calls": [{"name": "look_up_order", "args": {"order_id": "42"}}],
        "tool_responses": [],
        "thought": True,
    },
    {
        "turn_index": 4,
        "role": "orders_agent",
        "content_text": None,
        "tool_calls": [],
        "tool_responses": [{"name": "look_up_order", "response": {"arrival_day": "Friday"}}],
    },
    {"turn_index": 5, "role": "orders_agent", "content_text": ANSWER, "tool_calls": [], "tool_responses": []},
]


def span(name: str, start: float, seconds: float, number: int, parent: int | None = None, **attributes: Any) -> Json:
    return {
        "name": name,
        "span_id": str(number),
        "trace_id": f"trace-{number}",
        "parent_span_id": None if parent is None else str(parent),
        "start_time": int((START + start) * 1e9),
        "end_time": int((START + start + seconds) * 1e9),
        "attributes": attributes,
    }


INVENTED_TRACE = [
    span("call_llm", 2, 1.0, 3, 2),
    span("invoke_agent shop", 0, 4, 2, 1),
    span("invocation", 0, 4, 1),
    span("execute_tool look_up_order", 5, 1.0, 6, 5, **{"gcp.vertex.agent.tool_call_args": '{"order_id": "42"}'}),
    span("execute_tool look_up_order", 7, 1.0, 7, 5, **{"gcp.vertex.agent.tool_response": '{"arrival_day": "Friday"}'}),
    span("call_llm", 8, 1.0, 8, 5),
    span("invoke_agent shop", 4, 5, 5, 4),
    span("invocation", 4, 5, 4),
]
REAL_TRACE = [
    {**one, "trace_id": "t"}
    for one in (
        span("execute_tool look_up_order", 5.5, 0.2, 5, 3, **{"gen_ai.tool.name": "look_up_order"}),
        span("execute_tool (merged)", 5.5, 0.2, 6, 3),
        span("invocation", 0, 9, 1),
        span("invoke_agent concierge", 0.1, 8.9, 2, 1),
        span("call_llm", 0.2, 0.7, 4, 2),
        span("agent_run [orders_agent]", 4.5, 4, 3, 2),
        span("call_llm", 6.5, 0.4, 7, 3),
    )
]
SESSION = {
    "id": "s1",
    "appName": "shop",
    "userId": "u",
    "state": HIDDEN,
    "events": camel(EVENTS),
    "lastUpdateTime": 8.0,
}
REFERENCE = {
    "reference_tool_interactions": [{"tool_name": "look_up_order", "input_arguments": {"order_id": "42"}}],
    "expected_response": "Friday",
}
EXTRACTED = {
    "state_variables": HIDDEN,
    **HIDDEN,
    "tool_interactions": [
        {
            "tool_name": "look_up_order",
            "input_arguments": {"orderId": "42"},
            "output_result": {"arrivalDay": "Friday"},
            "call_id": "c1",
        }
    ],
    "sub_agent_trace": [
        {"agent_name": "concierge", "text_response": "Which number?", "timestamp": START + 2},
        {"agent_name": "orders_agent", "text_response": ANSWER, "timestamp": START + 8},
    ],
    "tool_declarations": [{"function_declarations": [{"name": "look_up_order", "description": "Tool: look_up_order"}]}],
    "thinking_trace": ["I should look it up"],
}
COLUMNS: Json = {
    "eval_id": "e1",
    "session_id": "s1",
    "agent_name": "shop",
    "timestamp": "2023-11-14T22:13:28",
    "score.hallucinations_v1": 1.0,
    "score.safety_v1": 0.5,
    "metric.duration_sec": 8.0,
    "metric.total_tokens": 64,
    "metric.turn_count": 2,
    "metric.tool_calls": 1,
    "metric.tool_errors": 0,
    "metric.unique_tools": ["look_up_order"],
    "eval_set_result_id": "r1",
    "user_id": "u",
    "final_response": ANSWER,
    "system_instructions": "You are a shop.",
    "custom_extract": CUSTOM_EXTRACT,
    "session_state": SESSION,
    "session_trace": INVENTED_TRACE,
    "agents_evaluated": ["shop"],
    "sub_agent_trace": [{"name": "concierge", "text": "Which number?"}, {"name": "orders_agent", "text": ANSWER}],
    "trace_summary": "user: Where is my order?\nconcierge: Which number?",
    "user_inputs": TURNS,
    "extracted_data": EXTRACTED,
    "question_id": "q1",
    "status": {"boolean": "success"},
    "run_id": 1,
    "question_metadata": {"topic": "delivery", "hard": True, "list": [1]},
    "interaction_datetime": "2023-11-14T22:13:28",
    "base_url": "http://localhost:8501",
    "app_name": "shop",
    "ADK_USER_ID": "eval_user",
    "USER": "me",
    "reference_data": REFERENCE,
    "missing_information": {"boolean": False},
    "final_session_state": SESSION,
    "latency_data": [{"name": "invocation", "type": "OTHER", "duration_seconds": 9.0}],
    "request": {"contents": [{"role": "user", "parts": [{"text": TURNS[0]}]}]},
    "response": {"candidates": [{"content": {"role": "model", "parts": [{"text": ANSWER}]}}]},
    "adk_score.safety_v1": 1.0,
    "adk_score.hallucinations_v1": 0.8,
    "eval_results": {"token_usage": {"score": 0.1}},
}
SMALLEST = [
    *("eval_id", "session_id", "agent_name", "timestamp", "score.hallucinations_v1", "score.safety_v1"),
    *("metric.duration_sec", "metric.total_tokens", "metric.turn_count", "metric.tool_calls", "metric.tool_errors"),
    *("metric.unique_tools", "eval_set_result_id", "user_id", "final_response", "system_instructions"),
    *("custom_extract", "session_state", "session_trace"),
]
INTERACTION = [
    *("status", "run_id", "question_id", "agents_evaluated", "user_inputs", "question_metadata"),
    *("interaction_datetime", "session_id", "base_url", "ADK_USER_ID", "USER", "reference_data"),
]
PROCESSED = [
    *(*INTERACTION, "app_name", "missing_information", "final_session_state", "latency_data", "trace_summary"),
    *("session_trace", "extracted_data", "final_response", "request", "response", "adk_score.safety_v1"),
]
HEADERS = {
    "seed era, 19": SMALLEST,
    "seed era, 20": [*SMALLEST, "agents_evaluated"],
    "seed era, 23": [*SMALLEST, "agents_evaluated", "sub_agent_trace", "trace_summary", "user_inputs"],
    "seed era, 24": [
        *(*SMALLEST, "agents_evaluated", "sub_agent_trace", "trace_summary", "user_inputs", "extracted_data"),
    ],
    "seed era, 25": [
        *(*SMALLEST, "agents_evaluated", "sub_agent_trace", "trace_summary", "user_inputs"),
        *("extracted_data", "question_id"),
    ],
    "processed, 23": PROCESSED,
    "processed, 24": [*PROCESSED, "adk_score.hallucinations_v1"],
    "processed, 25": [*PROCESSED, "adk_score.hallucinations_v1", "eval_results"],
    "interaction, 12": INTERACTION,
    "interaction, 13": [*INTERACTION, "app_name"],
}


def row(header: Sequence[str], **changes: Any) -> Json:
    """The conversation under these columns; `...` leaves a column out."""
    whole = {**{column: COLUMNS[column] for column in header}, **changes}
    return {column: value for column, value in whole.items() if value is not ...}


def cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def write_csv(path: Path, *rows: Mapping[str, Any]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows({column: cell(value) for column, value in one.items()} for one in rows)
    return path


def write_jsonl(path: Path, *rows: Mapping[str, Any]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    return path


def write_file(path: Path, *rows: Mapping[str, Any]) -> Path:
    return write_csv(path, *rows) if path.suffix == ".csv" else write_jsonl(path, *rows)
