"""Bodies that the service takes and answers that it gives, one of each shape, as OpenAPI shows them. A test holds each
against its shape, and sends those that can be sent."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
AGENT = "64f0c2a1e4b0a1b2c3d4e5f6"
RUN = "0b5c3f1e-8a1d-4c55-9d5a-6d1f3f2b7a10"
RESULT = "6ba7b810-9dad-51d1-80b4-00c04fd430c8"
RUBRIC = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
TEST_SET = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
DATASET = "9a3c1e52-7c0b-4f6a-8f3e-2f1d5b7c9e04"
CREATED, LATER = "2026-11-15T09:30:00Z", "2026-11-15T09:34:12Z"

RULE: Json = {
    "id": "BRIEF_RESPONSES",
    "name": "Brief, focused responses",
    "severity": "medium",
    "category": "response_quality",
    "description": "The agent answers simple questions in a few sentences.",
    "evaluation_criteria": {
        "pass_conditions": ["The answer to a simple question has at most three sentences"],
        "fail_conditions": ["The answer repeats the question before it begins"],
    },
    "component_scope": "prompt",
}
ENTRY: Json = {
    "item_id": "pto-policy",
    "type": "single_turn",
    "name": "PTO policy",
    "inputs": {"message": "What is our PTO policy?"},
    "expected": {
        "success_criteria": ["The answer names the yearly allowance"],
        "should_use_tools": ["search_kb"],
        "should_not_use_tools": ["live_handoff"],
    },
    "tags": ["hr"],
    "priority": "high",
}
QUESTION: Json = {"question_id": "q1", "question": "Who approves leave?", "expected_answer": "The team lead"}
MESSAGES: list[Json] = [
    {"role": "user", "content": "What is our PTO policy?"},
    {"role": "assistant", "content": "You have 25 days a year."},
]
LEGAL_CASE: Json = {
    "schema_version": "legal_eval_v1",
    "id": "notice-1",
    "dataset": "house",
    "task_type": "reference_qa",
    "prompt": "How long is the notice period?",
    "reference_answers": ["Four weeks"],
}
LINE = '{"schema_version": "legal_eval_v1", "id": "notice-1", "dataset": "house", "task_type": "reference_qa", '
LINE += '"prompt": "How long is the notice period?", "reference_answers": ["Four weeks"]}\n'

NAMED: Json = {"name": "Refund desk rubric", "agent_id": AGENT}
GIVEN: dict[str, Json] = {
    "RubricGiven": {**NAMED, "rules": [RULE], "note": "The tone was too strict"},
    "TestSetGiven": {"name": "Refund desk test set", "agent_id": AGENT, "items": [ENTRY]},
    "QuestionSetGiven": {"name": "Leave", "agent_id": AGENT, "questions": [QUESTION]},
    "ConfigGiven": {"name": "Criteria alone", "agent_id": AGENT, "evaluators": [{"type": "criteria"}]},
    "DatasetGiven": {"name": "house.jsonl", "agent_id": AGENT, "content": LINE},
    "CaseGiven": {"case": LEGAL_CASE},
    "BotGiven": {
        "bot_name": "Refund desk",
        "system_prompt": "You answer questions on refunds.",
        "llm_config": {"provider": "openai", "model": "gpt-4.1", "parameters": {"temperature": 0.3}},
        "tools": [{"id": "t1", "name": "Search", "tool_name": "search_kb", "type": "faqs-retriever"}],
        "knowledge_bases": [{"id": "kb1", "name": "Handbook", "type": "file", "document_count": 3}],
    },
    "RunGiven": {"dataset_id": DATASET, "concurrency": 4, "repeat": 2, "budget": "2USD", "gates": ["pass_rate >= 0.9"]},
    "EvaluationGiven": {
        "bot_id": AGENT,
        "test_set_id": TEST_SET,
        "rubric_id": RUBRIC,
        "concurrency": 3,
        "component_scope": "prompt",
        "initial_payload": {"customer_id": "c-17"},
    },
    "RegradeGiven": {"rubric_id": RUBRIC, "rubric_version": 2, "name": "by the calmer rubric"},
    "TranscriptGiven": {
        "messages": MESSAGES,
        "tool_calls": [{"name": "search_kb", "arguments": {"query": "PTO"}, "result": "25 days"}],
        "success_criteria": ["The answer names the yearly allowance"],
    },
    "KeyGiven": {"name": "dashboard", "scopes": ["read"], "agent_ids": [AGENT], "days": 90},
}

VERSIONED: Json = {
    "version": 2,
    "created_at": CREATED,
    "updated_at": LATER,
    "author": "ana",
    "note": "The tone was too strict",
    "latest_version": 2,
}
HISTORY: list[Json] = [
    {"version": 2, "created_at": LATER, "author": "ana", "note": "The tone was too strict"},
    {"version": 1, "created_at": CREATED, "author": "ana", "note": ""},
]
KEPT: Json = {**VERSIONED, "deleted": False, "changelog": HISTORY}
AGREED: Json = {
    "n": 40,
    "agreed": 36,
    "agreement": 0.9,
    "agreement_interval": [0.769, 0.96],
    "kappa": 0.78,
    "kappa_interval": [0.56, 0.95],
    "confusion": {
        "both_pass": 24,
        "people_pass_judge_fail": 1,
        "people_fail_judge_pass": 3,
        "both_fail": 12,
        "people_pass_judge_silent": 2,
        "people_fail_judge_silent": 0,
    },
}
KEY: Json = {
    "id": "1b4e28ba-2fa1-41d2-883f-0016d3cca427",
    "name": "dashboard",
    "scopes": ["read"],
    "organization_id": None,
    "agent_ids": [AGENT],
    "created_at": CREATED,
    "expires_at": "2027-02-13T09:30:00Z",
    "revoked_at": None,
    "used_at": None,
}
BOT: Json = {
    "bot_id": AGENT,
    "organization_id": None,
    "organization_name": None,
    "harness_context": None,
    **GIVEN["BotGiven"],
}
TOTALS: Json = {
    "total": 13,
    "passed": 8,
    "failed": 4,
    "errored": 1,
    "skipped": 0,
    "completed": 13,
    "pending": 0,
    "pass_rate": 0.667,
    "pass_rate_interval": [0.39, 0.86],
}
PIN: Json = {
    "path": f"document:test_set/{TEST_SET}@1",
    "name": "Refund desk test set",
    "dialect": "test-set",
    "cases": 13,
    "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "id": TEST_SET,
    "version": 1,
}
LABEL: Json = {
    "label_id": "2f4d3b7a-5f0e-5c5b-9a51-0d8c4b6f1e33",
    "run_id": RUN,
    "result_id": RESULT,
    "test_case_id": "pto-policy",
    "candidate": "",
    "repeat": 1,
    "grader": "rubric",
    "criterion_id": "BRIEF_RESPONSES",
    "labeler": "ana",
    "opinion": "fail",
    "passed": False,
    "why": "It repeats the question before it answers.",
    "blind": True,
    "agent_id": AGENT,
    "created_at": LATER,
}
