"""One example of each body and each answer, as OpenAPI shows them. A test checks each against its shape and sends the
bodies."""

from __future__ import annotations

import json
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
LINE = json.dumps(LEGAL_CASE) + "\n"

NAMED: Json = {"name": "Refund desk rubric", "agent_id": AGENT}
BODIES: dict[str, Json] = {
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
    **BODIES["BotGiven"],
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


CRITERION: Json = {
    "criterion": "The answer names the yearly allowance",
    "passed": True,
    "score": 1.0,
    "reasoning": "It says 25 days.",
    "status": "scored",
    "criterion_id": "8f14e45fceea",
}
RUN_SHOWN: Json = {
    "run_id": RUN,
    "dataset_id": DATASET,
    "agent_id": AGENT,
    "status": "completed",
    "total": 13,
    "completed": 13,
    "passed": 8,
    "failed": 4,
    "concurrency": 3,
    "started_at": CREATED,
    "completed_at": LATER,
    "error": None,
    "rubric_id": RUBRIC,
    "rubric_version": 2,
    "test_set_id": TEST_SET,
    "test_set_version": 1,
    "component_scope_filter": None,
    "component_ids_filter": [],
    "component_scores": {"prompt": {"score": 0.85, "total": 20, "passed": 17, "failed": 3, "errored": 0, "skipped": 0}},
    "criteria_passed": 35,
    "criteria_total": 40,
    "rubric_rules_passed": 17,
    "rubric_rules_total": 20,
    "bot_llm_provider": "openai",
    "bot_llm_model": "gpt-4.1",
    "created_at": CREATED,
    "name": "nightly",
    "state": "completed",
    "sentence": "8 of 12 passed (66.7 %, 95 % interval 39 to 86 %); 1 errored.",
    "errored": 1,
    "skipped": 0,
    "pending": 0,
    "pass_rate": 0.667,
    "pass_rate_interval": [0.39, 0.86],
    "candidates": {"": TOTALS},
    "graders": [{"name": "criteria", "candidate": "", "scored": 12, "passed": 8, "failed": 4, "mean": 0.87}],
    "criteria": {"total": 40, "passed": 35, "failed": 5, "errored": 0, "skipped": 0},
    "rubric_rules": {"total": 20, "passed": 17, "failed": 3, "errored": 0, "skipped": 0},
    "target": "support",
    "criteria_from": None,
    "simulator": "offline",
    "faults": {},
    "judge": "openai:gpt-5-mini",
    "gates": [],
    "spent": {"usd": 0.42, "tokens": 81_240, "calls": 60, "cached": 0, "unpriced": 0},
    "profile": None,
    "repeat": 1,
    "limit": None,
    "datasets": [PIN],
    "howsure_version": "0.1.0",
    "test_set_name": "Refund desk test set",
    "rubric_name": "Refund desk rubric (deleted)",
}
RESULT_SHOWN: Json = {
    "result_id": RESULT,
    "run_id": RUN,
    "test_case_id": "pto-policy",
    "langsmith_run_id": None,
    "input": {"message": "What is our PTO policy?"},
    "output": {
        "messages": MESSAGES,
        "tool_calls": [{"name": "search_kb", "arguments": {"query": "PTO"}, "id": None, "result": None}],
        "state": None,
        "answer": "You have 25 days a year.",
    },
    "scores": {"criteria": {"score": 1.0, "comment": '{"passed": true, "status": "scored"}'}},
    "item_name": "PTO policy",
    "item_type": "single_turn",
    "criteria_scores": [CRITERION],
    "criteria_passed": True,
    "rubric_scores": [
        {
            "rule_id": "BRIEF_RESPONSES",
            "rule_name": "Brief, focused responses",
            "severity": "medium",
            "passed": True,
            "score": 1.0,
            "reasoning": "One sentence.",
            "status": "scored",
        }
    ],
    "rubric_passed": True,
    "passed": True,
    "duration_ms": 1840,
    "created_at": LATER,
    "candidate": "",
    "repeat": 1,
    "verdict": "passed",
    "error": None,
    "reasons": ["every criterion holds"],
    "failures": [],
    "input_kind": "single_turn",
    "simulation": None,
    "fault": None,
    "tags": ["hr"],
    "labels": {},
}
STANDING: Json = {
    "agent_id": AGENT,
    "agent_name": "Refund desk",
    "runs": 12,
    "criteria_score": 0.875,
    "rubric_score": 0.85,
    "run": RUN_SHOWN,
}
ANSWERS: dict[str, Json] = {
    "StandingShape": STANDING,
    "RunShape": RUN_SHOWN,
    "ResultShape": RESULT_SHOWN,
    "RubricShape": {
        "rubric_id": RUBRIC,
        **NAMED,
        "description": "",
        "severity_definitions": {"high": "Critical", "medium": "Moderate", "low": "Minor"},
        "rules": [RULE],
        **KEPT,
    },
    "TestSetShape": {"test_set_id": TEST_SET, "description": "", **BODIES["TestSetGiven"], "items": [ENTRY], **KEPT},
    "QuestionSetShape": {
        "question_set_id": "b6b1c6f2-1f1e-4a7b-8f5e-3a2d9c7e5f18",
        "description": "",
        **BODIES["QuestionSetGiven"],
        "questions": [QUESTION],
        **KEPT,
    },
    "ConfigShape": {"config_id": "5a1d0c3e-93a4-4b1c-a1de-0d7f8c9b2e61", **BODIES["ConfigGiven"], **KEPT},
    "DatasetShape": {
        "dataset_id": DATASET,
        "agent_id": AGENT,
        "name": "house.jsonl",
        "dialect": "legal",
        "cases": 1,
        "bytes": 186,
        "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        **KEPT,
    },
    "CaseShape": {
        "id": "4d0f7a52-6b3e-5e3a-9c19-8b8f0f7d2a90",
        "test_case_id": "notice-1",
        "dataset_id": DATASET,
        "item_name": None,
        "input_kind": "single_turn",
        "input": {"message": LEGAL_CASE["prompt"]},
        "expected": [{"kind": "reference_answer", "answers": LEGAL_CASE["reference_answers"]}],
        "tags": [],
        "labels": {},
    },
    "BotShape": BOT,
    "BotEditionShape": {
        **BOT,
        **{name: value for name, value in VERSIONED.items() if name != "created_at"},
        "changelog": HISTORY,
    },
    "EvaluationShape": {
        "run_id": RUN,
        "dataset_id": DATASET,
        "config_id": None,
        "status": "pending",
        "total": 13,
        "items_count": 13,
        "rules_count": 5,
        "component_scope_filter": "prompt",
        "component_ids_filter": [],
        "warnings": [],
    },
    "LabelShape": LABEL,
    "ConcordShape": {
        "run_id": RUN,
        "judge": "openai:gpt-5-mini",
        "labels": 42,
        "compared": 42,
        "people": {"ana": 30, "bo": 12},
        "opinions": {"pass": 27, "fail": 15},
        "overall": AGREED,
        "graders": {"rubric": AGREED},
        "together": {"people": ["ana", "bo"], "grades": 10, "agreed": 9, "alpha": 0.74},
    },
    "KeyShape": KEY,
    "NewKeyShape": {**KEY, "secret": "howsure_this-is-shown-once"},
    "DeedShape": {
        "id": "f1a5cb1e-77d0-4d3c-9a36-0b7c1d2e3f40",
        "organization_id": "",
        "at": LATER,
        "actor": "dashboard",
        "action": "PUT /api/v1/rubrics/{id}",
        "subject": f"/api/v1/rubrics/{RUBRIC}",
        "status": 200,
        "request_id": "0c5f1f0e2f9b4a0d8b7f6a5e4d3c2b1a",
    },
    "HealthShape": {"status": "ok", "version": "0.1.0"},
    "TypeShape": {"type": "criteria", "description": "Every success criterion, one by one."},
    "DifferenceShape": {
        "path": "rules[BRIEF_RESPONSES].severity",
        "kind": "changed",
        "before": "medium",
        "after": "high",
    },
    "ImportedShape": {"line": 1, "kind": "rubric", "id": RUBRIC, "status": "created", "detail": "", "problems": []},
}
