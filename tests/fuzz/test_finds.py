"""What fuzzing found, made small: each input is answered now. A new find becomes a row here."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchmark_files import otlp, otlp_span
from fuzz import seeds
from fuzz.target import attempt
from fuzz.targets import BY_NAME

LONG = "1" * 5_000
HALF = '"\\ud800"'


def row(target: str, what: str, data: bytes | str | Any) -> Any:
    written = data if isinstance(data, bytes) else (data if isinstance(data, str) else json.dumps(data)).encode()
    return pytest.param(target, written, id=f"{target}: {what}")


def changed(target: str, old: str, new: str) -> str:
    """A valid input of the target in which `old` became `new`."""
    texts = [seed.decode() for seed in BY_NAME[target].seeds]
    return next(text.replace(old, new) for text in texts if old in text)


FINDS = [
    row("budgets", "a number before 50,000 spaces", "1" + " " * 50_000 + "x"),
    row("gate expressions", "a count larger than a float", f"errors < {LONG}"),
    row("gate expressions", "tries of 5,000 digits", f"pass^{LONG} >= 0.9"),
    row(
        "metric definitions",
        "the end of a scale larger than a float",
        {"metrics": {"a": {"metric_type": "llm", "score_range": {"min": 10**400, "max": 5}, "template": "{response}"}}},
    ),
    row(
        "importer apexv1 .csv",
        "half a character that Python reads",
        'Task ID,Domain,Prompt,Rubric JSON\n1,Legal,Advise.,"{""\\ud83d"": {""description"": ""States it""}}"\n',
    ),
    row(
        "requests to the api",
        "half a character as the id of a choice",
        "POST /api/v1/datasets/upload?name=a.jsonl&dialect=legal\nContent-Type: application/x-ndjson\n\n"
        '{"schema_version": "legal_eval_v1", "id": "a", "dataset": "d", "task_type": "mcq", "prompt": "Which?", '
        '"choices": [{"id": "\\ud800", "text": "x"}], "correct_choice_ids": ["B"]}',
    ),
    row(
        "requests to the api",
        "an upload that is no text",
        b'POST /api/v1/datasets/upload?name=a\nContent-Type: application/x-ndjson\n\n{"a\xf9b": 1}\n',
    ),
    row(
        "importer otlp .jsonl",
        "a time that no float holds",
        otlp(otlp_span("b", "chat m", {"gen_ai.operation.name": "chat"}, endTimeUnixNano=LONG[:400])),
    ),
    row(
        "importer otlp .jsonl",
        "a time before all times",
        otlp(otlp_span("b", "chat m", {"gen_ai.operation.name": "chat"}, startTimeUnixNano=-1e308)),
    ),
    row("labels", "a label larger than a float", f'{{"case_id": "a", "grader": "criteria", "label": {LONG[:400]}}}'),
    row("target names", "replay of replay of …", "replay:" * 2_000),
    row("what functions return", "half a character as arguments", '{"toolCalls": [{"name": "a", "args": "\\udc00"}]}'),
    row("dialect golden .json", "an integer of 5,000 digits", f'{{"golden_questions": [{LONG}]}}'),
    row("dialect test-set .json", "an integer of 5,000 digits", f'{{"test_set_id": {LONG}, "items": []}}'),
    row("rubric files", "an integer of 5,000 digits", f'{{"rubric_id": {LONG}, "rules": []}}'),
    row("agent files", "two lists of tools", '{"bot_name": "a", "tools": [{"tool_name": "x"}], "tools": []}'),
    row("agent files", "an integer of 5,000 digits", f'{{"bot_name": {LONG}}}'),
    row("judge recordings", "an integer of 5,000 digits", f'{{"grader": {LONG}, "case_id": "a", "reply": 1}}'),
    row("dialect legal .jsonl", "half a character as the schema's version", f'{{"schema_version": {HALF}, "id": "a"}}'),
    row(
        "dialect legal .jsonl",
        "an unknown field that is no UTF-8",
        seeds.demo("legal/compliance.jsonl", 1).rstrip().removesuffix(b"}") + b', "x": "\xe7"}',
    ),
    row("importer mmlu .csv", "more cells than letters", "What?,a,b,A\n" + "What?," * 60 + "x\n"),
    row(
        "importer prbench .jsonl",
        "a weight larger than a float",
        '{"task": "t", "prompt_0": "Hi", "rubric": [{"id": "c", "title": "T", "annotations":'
        f' {{"weight_class": "important", "important_weight": {"1" * 400}}}}}]}}',
    ),
    row("metric definitions", "half a character", f'{{"metrics": {{"a": {{"template": {HALF}}}}}}}'),
    row(
        "custom evals", "a scale larger than a float", f"evals:\n- {{name: a, scale: {{min: 0, max: {LONG[:400]}}}}}\n"
    ),
    row("custom evals", "a control character", b"evals\x1a\n  - name: a\n"),
    row("custom evals", "an alias of itself", "evals: &a [*a]\n"),
    row(
        "custom evals",
        "aliases of aliases",
        "a: &a [x,x,x,x,x,x,x,x,x]\n"
        + "".join(
            f"{chr(98 + place)}: &{chr(98 + place)} [{','.join(['*' + chr(97 + place)] * 9)}]\n" for place in range(9)
        ),
    ),
    row("settings", "aliases of aliases", "targets: {a: &a {k: [x,x,x]}, b: &b {k: [*a,*a]}, c: {k: [*b,*b,*b]}}\n"),
    row("target settings", "half a character", f'{{"headers": {HALF}}}'),
    row(
        "dialect plain .json",
        "a speaker that is a list",
        [{"id": "a", "question": [{"role": [], "content": "Hi"}], "answer": "Hello"}],
    ),
    row(
        "dialect plain .json",
        "a weight larger than a float",
        f'[{{"question": "Hi", "rubric": [{{"text": "Greets", "weight": {LONG[:400]}}}], "order": {LONG[:400]}}}]',
    ),
    row(
        "responses .jsonl",
        "a count of tokens with a fraction of zero",
        {"case_id": "a", "response_text": "Hi", "usage": {"prompt_tokens": -0.0, "completion_tokens": 5.0}},
    ),
    row(
        "responses .jsonl",
        "a price that is a text",
        {"case_id": "a", "response_text": "Hi", "usage": {"cost_usd": "1"}},
    ),
    row("matchers", "$approx without `within`", {"expected": {"x": {"$approx": 3.5, "vithin": 0.1}}, "actual": {}}),
    row("patterns", "a pattern that backtracks", b"(a|aa)+$\x00" + b"a" * 50 + b"!"),
    row(
        "importer adk-history .json",
        "a verdict that is a list",
        changed("importer adk-history .json", '"final_eval_status": 1', '"final_eval_status": [1]'),
    ),
    row(
        "importer adk-history .json",
        "declarations that are a number",
        changed("importer adk-history .json", '"function_declarations": [', '"function_declarations": 5, "was": ['),
    ),
    row(
        "detect .jsonl",
        "choices, and nothing that says which is right",
        {"question": "Which?", "option_a": "x", "option_b": "y", "option_c": "z"},
    ),
    row("results promptfoo yaml", "60,000 levels", "results:\n  results: []\n  stats: " + "[" * 60_000),
    row(
        "results braintrust table",
        "half a character that Python reads",
        "id,input,output,expected,scores,is_root\n1,2+2,4,4,\"{'\\ud800': True}\",True\n",
    ),
    row("changed datasets .csv", "a first column called []", "[],question\n1,Hi?\n"),
    row("templates", "a number beyond all floats", "{{ '{}'.format(1e3081) }}"),
    row("adk events", "a call that is a list", [{"author": "a", "content": {"parts": [{"function_call": ["x"]}]}}]),
    row("adk traces", "logs that are no list", [{"name": "call_llm", "logs": True}]),
    row("what functions return", "half a character", HALF),
    row(
        "what functions return",
        "more tokens than a float counts",
        f'{{"answer": "a", "usage": {{"prompt_tokens": {LONG[:400]}}}}}',
    ),
    row("answers of the service", "bytes that are no UTF-8", b'[{"\xff\xfeid": "r"}]'),
    row("answers of the service", "5,000 levels", "[" * 5_000 + "]" * 5_000),
    row("requests to the pages", "bytes that are no UTF-8 in the address", b"GET /?\xe1=1\nCookie: @cookie"),
    row(
        "requests to the api",
        "an upload without a name that is no UTF-8",
        b'POST /api/v1/datasets/upload\nContent-Type: application/octet-stream\n\n{"a": "\xed\xa0\x80"}',
    ),
]


@pytest.mark.parametrize(("target", "data"), FINDS)
def test_what_was_found_is_answered(target: str, data: bytes) -> None:
    found = attempt(BY_NAME[target], data)
    assert found is None, found.trace
