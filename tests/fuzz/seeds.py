"""Valid inputs of every parser: the demo's files, cut to a few cases, and small ones of our own."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from adk_files import history, refund_events, result
from benchmark_files import SOURCES, langfuse, otlp
from howsure.services.demo import demo_folder
from tool_files import MAKERS
from tool_logs import inspect_archive, inspect_header, inspect_sample, promptfoo_output, promptfoo_row

DEMO = demo_folder()
LINES = 3


def text(value: Any) -> bytes:
    return json.dumps(value).encode()


def demo(name: str, lines: int = LINES) -> bytes:
    """The first lines of a demo file; a whole document as it is."""
    content = (DEMO / name).read_bytes()
    return content if name.endswith(".json") else b"".join(content.splitlines(keepends=True)[:lines])


def _table(name: str, records: int = 2) -> bytes:
    """The first records of a table, whose cells hold line breaks."""
    content, quoted, seen = (DEMO / name).read_bytes(), False, 0
    for place, byte in enumerate(content):
        quoted ^= byte == ord('"')
        seen += byte == ord("\n") and not quoted
        if seen > records:
            return content[: place + 1]
    return content


_SAID = {"role": "user", "parts": [{"text": "Refund A1"}]}
_CALLED = {"name": "refund", "args": {"order": "A1"}}
_EVAL_SET = {
    "eval_set_id": "s",
    "eval_cases": [
        {
            "eval_id": "r1",
            "conversation": [
                {
                    "user_content": _SAID,
                    "final_response": {"role": "model", "parts": [{"text": "Done"}]},
                    "intermediate_data": {"tool_uses": [_CALLED], "intermediate_responses": []},
                }
            ],
            "session_input": {"app_name": "shop", "user_id": "u", "state": {"tier": "gold"}},
            "final_session_state": {"refunded": True},
        }
    ],
}
_OLD_EVAL_SET = [{"name": "r1", "data": [{"query": "Hi", "expected_tool_use": [], "reference": "Hello"}]}]
_SESSION = {"id": "s1", "app_name": "shop", "user_id": "u", "events": refund_events(), "state": {"a": 1}}
_AGENT_SESSION = {
    "storeState": {
        "messages": [
            {"role": "user", "contents": [{"$type": "text", "text": "A path for AZ-900"}]},
            {
                "role": "assistant",
                "contents": [{"$type": "functionCall", "callId": "1", "name": "search", "arguments": '{"q": "AZ"}'}],
            },
            {"role": "tool", "contents": [{"$type": "functionResult", "callId": "1", "result": "six modules"}]},
            {"role": "assistant", "contents": [{"$type": "text", "text": '{"modules": [{"id": "m1"}]}'}]},
        ]
    }
}
_LOGS = [{"query": "Hi", "expected_tool_use": [{"tool_name": "look", "tool_input": {"a": 1}}], "reference": "Yes"}]

IMPORTS: dict[str, tuple[tuple[str, bytes], ...]] = {
    **{name: ((file, content.encode()),) for name, (file, content) in SOURCES.items()},
    "raw-logs": (("raw_logs.json", text(_LOGS)), ("logs.jsonl", text(_LOGS[0]) + b"\n")),
    "adk-evalset": (("a.evalset.json", text(_EVAL_SET)), ("old.test.json", text(_OLD_EVAL_SET))),
    "adk-history": (("h.evalset_result.json", text(history(result()))),),
    "adk-session": (("a.session.json", text(_SESSION)),),
    "agent-session": (("session_1.json", text(_AGENT_SESSION)),),
    "tau2-golden": (("tasks.json", SOURCES["tau2"][1].encode()),),
}
"""Files of every importer: the name of each and what it holds."""

DATA = Path(__file__).parents[1] / "data"
PLAIN = DATA / "plain" / "questions.jsonl"
TOOLS = {
    "promptfoo": "promptfooconfig.yaml", "inspect": "inspect.jsonl", "deepeval": "deepeval.jsonl",
    "openai-evals": "openai_samples.jsonl", "langsmith": "langsmith.jsonl", "ragas": "ragas.jsonl",
    "braintrust": "braintrust.jsonl", "deepeval-conversations": "deepeval_conversations.csv",
    "openai-evals-items": "openai_items.jsonl", "ragas-annotations": "ragas_annotations.json",
    "azure-evaluation": "azure_evaluation.json", "openai-evals-registry": "openai_registry.yaml",
    "pydantic-evals": "pydantic_evals.yaml", "lm-eval": "lm_eval_task.yaml",
}  # fmt: skip
"""Files of other tools' dialects."""
DIALECTS: dict[str, tuple[tuple[str, bytes], ...]] = {
    "explain": (("explain.jsonl", demo("explain/support-onboarding.explain.jsonl", 2)),),
    "golden": (("golden.json", demo("golden/moss_support_golden.json")),),
    "legal": (("legal.jsonl", demo("legal/compliance.jsonl", 6)),),
    "simulation": (
        ("simulation.csv", _table("simulation/support-simulation.csv")),
        ("replay.csv", _table("replay/delivery-after-fix.csv", 1)),
    ),
    "test-set": (("test-set.json", demo("test-set/test-set.json")),),
    "plain": (
        ("plain.jsonl", PLAIN.read_bytes()),
        ("plain.json", b"[" + b",".join(PLAIN.read_bytes().splitlines()) + b"]"),
        ("plain.csv", b"sep=;\nid;Question;Answer;tools;metadata\n1;Why?;So;['look'];\"{'a': 1}\"\n2;How?;;look;\n"),
    ),
    **{name: ((file, (DATA / "tools" / file).read_bytes()),) for name, file in TOOLS.items()},
}
"""Files of every dialect."""


def _made_results() -> dict[str, tuple[str, bytes]]:
    """A results file of every tool; of runs that are several files, the one that leads to the others."""
    files: dict[str, tuple[str, bytes]] = {}
    for name, make in MAKERS.items():
        with TemporaryDirectory() as folder:
            made = make(Path(folder))
            path = made if made.is_file() else made / "scenario_state.json"
            files[name] = (path.name, path.read_bytes())
    sample = inspect_sample(1)
    return {
        **files,
        "inspect": ("log.json", text({**inspect_header([sample]), "samples": [sample]})),
        "promptfoo": ("output.json", text(promptfoo_output([promptfoo_row(0, 0, passed=True)]))),
        "junit": (
            "report.xml",
            b'<testsuite tests="1"><testcase classname="a" name="b"><failure>no</failure></testcase></testsuite>',
        ),
    }


RESULTS = _made_results()
"""Files of every reader of results: the name and what it holds."""


def _as_csv(rows: list[Any]) -> bytes:
    """Rows as a table, with objects in its cells as pandas writes them."""
    out = io.StringIO(newline="")
    table = csv.DictWriter(out, list(rows[0]), extrasaction="ignore")
    table.writeheader()
    table.writerows(rows)
    return out.getvalue().encode()


def _more_results() -> dict[str, tuple[str, bytes]]:
    """Other kinds of files that readers of results take, by `READER KIND`."""
    row, sample = promptfoo_row(0, 0, passed=True), inspect_sample(1)
    with TemporaryDirectory() as folder:
        whole = Path(folder)
        archives = {
            f"inspect {kind}": inspect_archive(whole / f"{kind}.eval", [sample], zstd=kind == "zstd").read_bytes()
            for kind in ("deflate", "zstd")
        }
        with closing(sqlite3.connect(whole / "promptfoo.db")) as database:
            database.execute("CREATE TABLE evals (id, description, config, prompts, created_at)")
            database.execute("INSERT INTO evals VALUES ('e', '', '{}', '[]', 1)")
            cells = {"eval_id": "e", "test_idx": 0, "prompt_idx": 0, "success": 1, "score": 1.0}
            names = {name: name for name in ("vars", "prompt", "provider", "response")}
            names |= {"testCase": "test_case", "namedScores": "named_scores", "gradingResult": "grading_result"}
            cells |= {column: json.dumps(row[name]) for name, column in names.items()}
            database.execute(f"CREATE TABLE eval_results ({', '.join(cells)})")
            database.execute(f"INSERT INTO eval_results VALUES ({', '.join('?' * len(cells))})", tuple(cells.values()))
            database.commit()
        stored = (whole / "promptfoo.db").read_bytes()
    found = {name: ("log.eval", content) for name, content in archives.items()}
    found["promptfoo database"] = ("promptfoo.db", stored)
    found["promptfoo yaml"] = ("output.yaml", yaml.safe_dump(promptfoo_output([row])).encode())
    found["promptfoo lines"] = ("output.jsonl", text(row) + b"\n")
    langsmith, braintrust = RESULTS["langsmith"][1], RESULTS["braintrust"][1]
    found["langsmith table"] = ("runs.csv", _as_csv([json.loads(line) for line in langsmith.splitlines()]))
    found["braintrust table"] = ("experiment.csv", _as_csv(json.loads(braintrust)["events"]))
    return found


MORE_RESULTS = _more_results()

RESPONSES = (demo("golden/responses.jsonl", 1), demo("legal/responses.jsonl"), demo("test-set/responses.jsonl"))
RECORDINGS = tuple(demo(f"{name}/judge.jsonl") for name in ("explain", "golden", "legal", "test-set"))
LABELS = b"".join(
    text(row) + b"\n"
    for row in (
        {"case_id": "a", "grader": "criteria", "criterion_id": "c1", "label": "pass", "annotator": "ann"},
        {"case_id": "a", "grader": "RelevanceExplain", "label": 4, "annotator": "bob", "candidate": "x", "repeat": 1},
    )
)

VERDICTS = (
    b'{"score": 4, "reason": "names the policy", "evidence": ["quoted"]}',
    b'```json\n{"rating": "4/5", "passed": true, "explanation": "so",}\n```',
    b"<think>hm</think>Score: 0.5, because of that.",
    b'{"verdict": "yes", "reason": "it does"}\n\nAnswer: no',
    b'{"verdicts": [{"criterion_id": "c1", "passed": true}, {"criterion_id": "c2", "verdict": "n/a"}]}',
    b'[{"criterion": "a", "verdict": "met", "weight": 1}, {"criterion": "b", "verdict": false}]',
    b'{"preference": "first", "reason": "shorter"}',
    b'{"message": "Where is it?", "ending": null, "reason": ""}',
    b'{"summary": "s", "claims": [{"title": "t", "party": "agent", "explanation": "e", "fix": "f", "cases": ["a"]}]}',
)

_CALL = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": '{"order": "A1"}'}}
BOT_ANSWERS = (
    text({"answer": "Hi", "state": {"a": 1}, "usage": {"prompt_tokens": 3, "completion_tokens": 4}, "agent": "x"}),
    text(
        {
            "messages": [
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": [{"type": "text", "text": "x"}], "tool_calls": [_CALL]},
                {"role": "tool", "tool_call_id": "c1", "content": '{"status": "sent"}'},
                {"role": "assistant", "content": "Sent.", "agent": "shop"},
            ],
            "toolCalls": [{"name": "look_up", "args": {"order": "A1"}, "result": {"a": 1}, "error": None}],
            "usageMetadata": {"promptTokenCount": 3, "totalTokenCount": 9, "thoughtsTokenCount": 2},
            "agents": ["router", {"name": "shop"}],
        }
    ),
    text({"choices": [{"message": {"role": "assistant", "content": "Hi", "tool_calls": [_CALL]}}], "error": None}),
    text("Hi"),
)
STREAMS = (
    b'data: {"delta": "He"}\n\ndata: {"delta": "llo", "usage": {"prompt_tokens": 1}}\n\nevent: end\ndata: [DONE]\n\n',
    b'{"delta": "He"}\n{"delta": "llo"}\n{"tool_calls": [{"name": "a", "args": {}}], "state": {}}\n',
    b'event: error\ndata: {"message": "broken"}\n\n',
)

PROVIDERS: dict[str, tuple[bytes, ...]] = {
    "openai": (
        text(
            {
                "id": "x",
                "model": "gpt",
                "choices": [
                    {
                        "index": 0,
                        "message": {"role": "assistant", "content": "Hi", "tool_calls": [_CALL], "refusal": None},
                        "finish_reason": "stop",
                        "logprobs": {"content": [{"token": "Hi", "logprob": -0.1, "top_logprobs": []}]},
                    }
                ],
                "usage": {
                    "prompt_tokens": 3,
                    "completion_tokens": 4,
                    "prompt_tokens_details": {"cached_tokens": 1},
                    "completion_tokens_details": {"reasoning_tokens": 2},
                },
            }
        ),
    ),
    "anthropic": (
        text(
            {
                "model": "claude",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "text", "text": "Hi"},
                    {"type": "tool_use", "id": "t1", "name": "look_up", "input": {"order": "A1"}},
                ],
                "stop_reason": "end_turn",
                "usage": {"input_tokens": 3, "output_tokens": 4, "cache_read_input_tokens": 1},
            }
        ),
    ),
    "google": (
        text(
            {
                "candidates": [
                    {
                        "content": {
                            "role": "model",
                            "parts": [{"text": "Hi"}, {"functionCall": {"name": "look_up", "args": {"order": "A1"}}}],
                        },
                        "finishReason": "STOP",
                        "logprobsResult": {"chosenCandidates": [{"token": "Hi", "logProbability": -0.1}]},
                    }
                ],
                "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4, "totalTokenCount": 7},
                "modelVersion": "gemini",
            }
        ),
    ),
    "ollama": (
        text(
            {
                "model": "m",
                "message": {
                    "role": "assistant",
                    "content": "Hi",
                    "thinking": "hm",
                    "tool_calls": [{"function": {"name": "look_up", "arguments": {"order": "A1"}}}],
                },
                "done": True,
                "done_reason": "stop",
                "prompt_eval_count": 3,
                "eval_count": 4,
            }
        ),
    ),
}
REFUSALS = (
    text({"error": {"message": "too many", "type": "rate_limit", "code": 429}}),
    text({"error": {"details": [{"@type": "RetryInfo", "retryDelay": "3.5s"}], "status": "RESOURCE_EXHAUSTED"}}),
    text([{"error": "x"}]),
)

ADK_EVENTS = (text(refund_events()), b'data: {"author": "root", "content": {"parts": [{"text": "Hi"}]}}\n\n')
ADK_TRACES = (
    text(
        [
            {
                "name": "call_llm",
                "span_id": 17,
                "trace_id": 1,
                "parent_span_id": 3,
                "start_time": 1,
                "end_time": 9,
                "attributes": {
                    "gen_ai.request.model": "gemini",
                    "gcp.vertex.agent.llm_response": '{"usage_metadata": {"prompt_token_count": 3}}',
                },
                "logs": [{"attributes": {"a": 1}}],
            },
            {"name": "execute_tool refund", "span_id": 18, "parent_span_id": 17, "start_time": 2, "end_time": 3},
        ]
    ),
)
SPANS = (
    text(
        [
            {
                "name": "invoke_agent shop",
                "span_id": "a",
                "trace_id": "t",
                "start_ns": 1,
                "end_ns": 90,
                "attributes": {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "shop"},
            },
            {
                "name": "chat gpt",
                "span_id": "b",
                "parent_id": "a",
                "start_ns": 2,
                "end_ns": 40,
                "attributes": {
                    "gen_ai.operation.name": "chat",
                    "gen_ai.request.model": "gpt",
                    "gen_ai.usage.input_tokens": 3,
                    "llm.token_count.prompt": "3",
                    "langfuse.observation.usage_details": '{"input": 3, "output": 4}',
                    "output.value": '{"usage": {"prompt_tokens": 3}}',
                },
            },
            {
                "name": "execute_tool refund",
                "span_id": "c",
                "parent_id": "b",
                "start_ns": 3,
                "end_ns": 9,
                "attributes": {"gen_ai.tool.name": "refund", "gen_ai.tool.call.arguments": '{"order": "A1"}'},
            },
        ]
    ),
)
TEMPLATES = (
    b"{{ x|upper }} {{ x.replace('o', '0') }} {% if nothing is defined %}{{ nothing }}{% else %}-{% endif %}",
    b"{% for a in xs if a > 1 %}{{ loop.index }}:{{ a * 3 }}{% if not loop.last %}, {% endif %}{% endfor %}",
    b"{{ ', '.join(choices) }} {{ '%.2f'|format(3.14) }} {{ '{} and {}'.format(x, 1) }} {{ doc|indent(4)|length }}",
    b"{% set y = [x, xs] %}{{ y ~ y }} {% macro m(a) %}<{{ a }}>{% endmacro %}{{ m(y|tojson) }} {{ xs|batch(2)|list }}",
)
PROVIDED = text(
    {
        "metadata": {"token_endpoint_auth_methods_supported": ["client_secret_basic"]},
        "tokens": {"id_token": "@token", "access_token": "a"},
        "keys": {"keys": ["@key", {"kty": "oct", "k": "YQ"}]},
        "user": {"sub": "ana", "groups": ["readers", 7]},
        "claims": {"name": "Ana", "groups": ["readers"], "sub": "ana"},
    }
)
"""The answers of a provider of identities; `@token` is signed over the claims with `@key`."""
ATTEMPTS = (
    b'{"secret": "0123456789012345678901234567890123456789012345", "begun": 4000000000, "after": "/", "choice": ""}',
)
TRACE_FILES = (text(langfuse()), text(otlp()))

SETTINGS = (
    (DEMO.parent / "starter" / "howsure.yaml").read_bytes(),
    b"judge: offline\ncandidates: {a: {model: 'openai:gpt', temperature: 0.5}}\npanel: {members: [offline], votes: 1}\n"
    b"profiles:\n  mine: {extends: prep_default, marks: {criteria: 0.7}, weights: {a: 1}}\n"
    b"targets:\n  bot: &b {kind: http, url: 'http://host/chat', headers: {X: '${KEY}'}}\n  other: *b\n"
    b"rates: {'openai:*': {requests_per_minute: 3}}\nservice: {runs: 2, hosts: ['*.x.org', '10.0.0.0/8']}\n"
    b"cluster: {shard: 5, resources: {gpu: 1}}\ngates: ['pass_rate >= 0.9']\n",
)
TARGET_BLOCKS = (
    b"model: openai:gpt\nsystem_prompt: Hi\ntool_results:\n  look_up: [1, {a: 2}]\n  find:\n"
    b"    - {when: {order: {$regex: 'A.*'}}, result: yes}\n    - {result: {error: none}}\n",
    text(
        {
            "url": "http://host:80/chat/{session_id}",
            "method": "POST",
            "headers": {"X-Key": "${KEY}"},
            "body": {"text": "{message}", "n": 1},
            "answer": "choices[0].message.content",
            "tool_calls": "choices[*].message.tool_calls",
            "tool_call": {"name": "function.name"},
            "stream": "none",
            "session": {"open": {"url": "http://host/s", "id": "id"}, "close": {"url": "http://host/s/{session_id}"}},
        }
    ),
)
GATES = (
    b"pass_rate[candidate:juno, tag:billing] >= 80%",
    b"mean[response_correctness] >= 4",
    b"no_regression[criteria] vs latest by 2%",
    b"errors <= 1%",
    b"p95_latency <= 300ms",
    b"cost[agent] <= 0.01 USD",
    b"cost_per_case <= 0.01 USD",
    b"tokens <= 500k",
    b'criterion:"its text" all',
    b"pass^3 >= 0.8",
)
BUDGETS = (b"2USD", b"500ktok", b"10m, 3 USD", b"$1.50")
MODELS = (b"openai:gpt-5", b"ollama:llama3.2:3b", b"openai-compatible:judge@http://127.0.0.1:8080/v1", b"offline")
TARGETS = (b"http://127.0.0.1:8080/chat?x=1", b"adk:http://[::1]:99/app", b"bot", b"replay:bot", b"chat:openai:gpt-5")
HOSTS = (b"[::ffff:10.0.0.1]:80\x0010.0.0.0/8", b"x.org\x00*.x.org:8000", b"64:ff9b::7f00:1\x00127.0.0.1")
MATCHES = tuple(
    text({"expected": expected, "actual": actual})
    for expected, actual in (
        ({"order": {"$regex": "^A\\d+$"}, "n": {"$between": [1, 3]}}, {"order": "A1", "n": 2}),
        ({"a": {"$any": True}, "b": {"$one_of": [1, "x"]}, "c": {"$optional": 3}}, {"a": None, "b": "X"}),
        ({"t": {"$text": "hello world"}, "x": {"$approx": 3.5, "within": 0.1}}, {"t": "Hello,  World!", "x": 3.49}),
        ([{"$contains": {"a": 1}}, {"$literal": {"$any": 1}}], [[{"a": 1.0}], {"$any": 1}]),
        ({"on": {"$between": ["2024-01-01", "2024-12-31T23:00:00Z"]}}, {"on": "2024-06-01T10:00:00+02:00"}),
    )
)
CONDITIONS = (
    text(
        {
            "all": [
                {"field": "status", "op": "equals", "value": "open"},
                {"any": [{"field": "note", "op": "matches", "value": "^a+$"}]},
                {"not": {"field": "at", "op": "older_than", "value": "3 days"}},
                {"field": "n", "op": "gt", "value": 3},
                {"field": "tags", "op": "in", "value": ["a"]},
            ]
        }
    ),
)
PATTERNS = (
    b"^A\\d+$\x00A17",
    b"(a|aa)+$\x00" + b"a" * 50 + b"!",
    b"\\bgr\xc3\xbc\xc3\x9f(e|t)?\\b\x00gr\xc3\xbc\xc3\x9fe",
    b"(?i)[\\w.-]+@\\w+\\.(com|org)\x00Ann@x.org",
    b"(?P<year>\\d{4})-\\d\\d\x002024-02",
    b"a{2,1000}(?=b)\x00aab",
)
EVALS = (
    b"evals:\n  - name: policy\n    instructions: 'Is {answer} right? {policy}'\n    inputs:\n      answer: answer\n"
    b"      policy: {source: metadata.policy, default: none}\n    scale: {min: 1, max: 5, integer: true}\n"
    b"    pass_mark: 4\n    worlds: [golden]\n    filters: {agent: [a]}\n    output: {score: s, reason: r}\n",
    text(
        {
            "evals": [
                {"name": "p", "template": "{answer}", "inputs": {"answer": "answer"}, "scale": {"min": 0, "max": 1}}
            ]
        }
    ),
)
DEFINITIONS = (
    text(
        {
            "metric_prefix": "shop",
            "metrics": {
                "quality": {
                    "metric_type": "llm",
                    "agents": ["a"],
                    "score_range": {"min": 0, "max": 5},
                    "template": "{prompt} {response} {extra}",
                    "rating_scores": {"5": "good", "0": "bad"},
                    "dataset_mapping": {"extra": {"source_column": "reference_data:x", "default": ""}},
                }
            },
        }
    ),
)
ANSWERS = (
    b"The answer is (B).",
    b"**Answer: A and C** because 1,000.50 EUR on 3 March 2024.",
    b'```json\n{"choice": "B", "modules": [{"id": "m1"}]}\n```',
    b"Not A. Not B either; option C is correct.\n\nFinal answer: C",
    b"You may cancel within 14 days, see Section 9. It costs $3.50 or 4 %. We never share data.",
    b"",
)
PDF = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    b"3 0 obj<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>endobj\n"
    b"4 0 obj<</Length 37>>stream\nBT /F1 12 Tf 10 10 Td (Hello) Tj ET\nendstream endobj\n"
    b"5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\ntrailer<</Root 1 0 R/Size 6>>\n%%EOF\n"
)
