"""ADK files as ADK writes them, to be changed in one place: histories, sessions, events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def said(text: str, role: str = "model") -> Json:
    return {"role": role, "parts": [{"text": text}]}


def event(author: str, *parts: Json, **more: Any) -> Json:
    role = "user" if author == "user" else "model"
    return {"author": author, "content": {"role": role, "parts": list(parts)}, "timestamp": 1_700_000_000.25, **more}


def refund_events() -> list[Json]:
    """A user asks for a refund; the front desk hands over to billing, which calls a tool and answers."""
    used = {"usage_metadata": {"prompt_token_count": 11, "candidates_token_count": 7, "total_token_count": 18}}
    model = {"model_version": "gemini-2.5-flash", **used}
    transfer = {"id": "c1", "name": "transfer_to_agent", "args": {"agent_name": "billing"}}
    refund = {"id": "c2", "name": "issue_refund", "args": {"order_id": "A1", "amount": 50}}
    answer = {"id": "c2", "name": "issue_refund", "response": {"ok": True}}
    return [
        event("user", {"text": "I want a refund"}),
        event("root", {"function_call": transfer}, **model),
        event("root", {"function_response": {"id": "c1", "name": "transfer_to_agent", "response": {"result": None}}}),
        event("billing", {"function_call": refund}, **model),
        event("billing", {"function_response": answer}, actions={"state_delta": {"__llm_request_key__": "x"}}),
        event("billing", {"text": "Done."}, **model),
    ]


def result(eval_id: str = "refund1", **changes: Any) -> Json:
    """One `eval_case_results` element of ADK 2."""
    expected = {"tool_uses": [{"name": "issue_refund", "args": {"order_id": "A1"}}], "intermediate_responses": []}
    declared = [{"function_declarations": [{"name": "issue_refund", "description": "Issue a refund."}]}]
    turn = {
        "actual_invocation": {
            "user_content": said("I want a refund", "user"),
            "final_response": said("Done."),
            "intermediate_data": {"invocation_events": refund_events()[1:-1]},
            "app_details": {"agent_details": {"billing": {"name": "billing", "tool_declarations": declared}}},
        },
        "expected_invocation": {
            "user_content": said("I want a refund", "user"),
            "final_response": said("Refunded."),
            "intermediate_data": expected,
        },
    }
    session = {
        "id": "s1",
        "app_name": "shop",
        "user_id": "u",
        "state": {"__llm_request_key__": "secret", "refund_amount": 50},
        "events": refund_events(),
    }
    base = {
        "eval_set_id": "basic",
        "eval_id": eval_id,
        "final_eval_status": 1,
        "overall_eval_metric_results": [{"metric_name": "response_match_score", "score": 1.0}, {"score": None}],
        "eval_metric_result_per_invocation": [turn],
        "session_id": "s1",
        "session_details": session,
        "user_id": "u",
    }
    return {**base, **changes}


def history(*results: Json, at: float = 1_700_000_100.5, run: str = "") -> Json:
    name = run or f"shop_basic_{at}"
    return {
        "eval_set_result_id": name,
        "eval_set_id": "basic",
        "eval_case_results": list(results),
        "creation_timestamp": at,
    }


def write_history(folder: Path, document: Json, *, twice: bool = False) -> Path:
    """Where `adk eval` puts it in an agent's folder."""
    place = folder / ".adk" / "eval_history"
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"{document['eval_set_result_id']}.evalset_result.json"
    text = json.dumps(document)
    path.write_text(json.dumps(text) if twice else text, encoding="utf-8")
    return path
