"""Records of public benchmarks as their publishers write them, small and valid, to be changed in one place; and a file
of each source, as contract suites need them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from howsure.dialects.base import Importer
from howsure.dialects.datasets import FileReport, read_cases, validate
from howsure.model.case import Case

Row = dict[str, Any]


def _given(fields: Mapping[str, Any]) -> Row:
    """`...` leaves a field out."""
    return {name: value for name, value in fields.items() if value is not ...}


def prbench(**fields: Any) -> Row:
    return _given(
        {
            "task": "t-1",
            "turns": 2,
            "field": "Legal",
            "topic": "Contracts",
            "expert": "E7",
            "scratchpad": None,
            "canary": "the same in every row",
            "prompt_0": "May I cancel the lease?",
            "response_0": "Where do you live?",
            "reference_texts_0": ["Section 1", "Section 2"],
            "prompt_1": "In Vienna.",
            "response_1": None,
            "reference_texts_1": ["Section 9"],
            "rubric": [prbench_criterion(), prbench_criterion("c2", "Invents a deadline", "detrimental", -5)],
            **fields,
        }
    )


def prbench_criterion(id: str = "c1", title: str = "Names the Act", kind: str = "important", weight: int = 6) -> Row:
    weights = {f"{kind.replace(' ', '_')}_weight": weight}
    return {"id": id, "title": title, "annotations": {"criteria_category": "Accuracy", "weight_class": kind, **weights}}


def apex(**fields: Any) -> Row:
    rubric = {
        "criterion 1": {"description": "States that notice was late", "justification": "See §3.", "weight": 2.5},
        "criterion 2": {"description": "Advises to settle", "sources": "memo"},
    }
    return _given(
        {
            "Task ID": 1037,
            "Domain": "Legal",
            "Prompt": "Advise the client.",
            "File Attachments": "docs/memo.pdf",
            "Rubric JSON": json.dumps(rubric),
            **fields,
        }
    )


def lexam_choice(**fields: Any) -> Row:
    return _given(
        {
            "id": "q-1",
            "question": "Which statements are right?",
            "question_type": "mcq",
            "choices": "['i and ii', 'ii only', \"iii's\"]",
            "gold": 2,
            "course": "Criminal law",
            "language": "en",
            **fields,
        }
    )


def lexam_open(**fields: Any) -> Row:
    return _given(
        {
            "id": "q-2",
            "question": "Is the contract void?",
            "question_type": "open",
            "answer": "No, art. 20 OR.",
            "course": "Contract law",
            **fields,
        }
    )


def include(**fields: Any) -> Row:
    return _given(
        {
            "question": "Τι ισχύει;",
            "option_a": "Α",
            "option_b": "Β",
            "option_c": "",
            "option_d": "Δ",
            "answer": 3,
            "language": "Greek",
            "country": "Greece",
            "source_file": "law.csv",
            **fields,
        }
    )


def lar_echr(**fields: Any) -> Row:
    return _given(
        {
            "case_id": "001-1",
            "case_no": "12/99",
            "facts": "The applicant was detained.",
            "context": "The Court recalls that detention must be lawful.",
            "a": "It follows that it was not.",
            "b": "The weather was fine.",
            "c": "It was lawful.",
            "d": "No issue arises.",
            "label": "a",
            "toughness_score": 0.7,
            **fields,
        }
    )


def mmlu(question: str = "What is a tort?", answer: str = "B") -> list[str]:
    return [question, "a cake", "a civil wrong", "a crime", "a contract", answer]


def ace(**fields: Any) -> Row:
    return _given(
        {
            "Criterion ID": "872",
            "Task ID": "4",
            "Prompt": "The light is out.",
            "Specified Prompt": "The light is out. Name each step.",
            "Workflow": "Repairs",
            "Hurdle Tag": "Hurdle",
            "Criteria type": "Steps",
            "Description": "Recommends checking the breaker",
            **fields,
        }
    )


def tau2(**fields: Any) -> Row:
    return _given(
        {
            "id": "0",
            "description": {"purpose": "an exchange"},
            "user_scenario": {
                "persona": None,
                "instructions": {
                    "task_instructions": "You are in a hurry.",
                    "domain": "retail",
                    "reason_for_call": "You want to exchange the keyboard of order #W1.",
                    "known_info": "You are Yusuf Rossi in zip code 19122.",
                    "unknown_info": "You do not remember your email address.",
                },
            },
            "initial_state": None,
            "evaluation_criteria": {
                "actions": [
                    {"action_id": "0_0", "name": "get_order", "arguments": {"order_id": "#W1"}, "info": None},
                    {
                        "action_id": "0_1",
                        "name": "transfer",
                        "arguments": {"summary": "…", "queue": "b"},
                        "compare_args": ["queue"],
                    },
                ],
                "communicate_info": ["44.08"],
                "nl_assertions": ["Agent should not refund."],
                "reward_basis": ["DB"],
            },
            **fields,
        }
    )


def conversation(**fields: Any) -> Row:
    return _given(
        {
            "messages": [
                {"role": "system", "createdAt": 1, "content": "Be kind."},
                {"role": "user", "content": [{"type": "text", "text": "Where is order 7?"}]},
                {
                    "role": "assistant",
                    "run_id": "r",
                    "content": [
                        {
                            "type": "tool_call",
                            "tool_call": {
                                "id": "c1",
                                "type": "function",
                                "function": {"name": "find", "arguments": '{"order": "7"}'},
                            },
                        }
                    ],
                },
                {
                    "role": "tool",
                    "tool_call_id": "c1",
                    "content": [{"type": "tool_result", "tool_result": {"at": "depot"}}],
                },
                {"role": "assistant", "content": [{"type": "text", "text": "At the depot."}]},
            ],
            "tools": [{"id": "t", "name": "find", "description": "Finds.", "parameters": {"type": "object"}}],
            **fields,
        }
    )


def observation(id: str, kind: str, name: str, **fields: Any) -> Row:
    return {
        "id": id,
        "traceId": "tr-1",
        "type": kind,
        "name": name,
        "parentObservationId": None,
        "startTime": "2026-01-01T10:00:00.000Z",
        "endTime": "2026-01-01T10:00:01.000Z",
        "metadata": None,
        "level": "DEFAULT",
        **fields,
    }


def langfuse(**fields: Any) -> Row:
    asked = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Where is order 7?"}]
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"order": "7"}'}}
    wants = {"role": "assistant", "content": "", "tool_calls": [call]}
    got = {"role": "tool", "tool_call_id": "c1", "content": "depot"}
    return {
        "trace": {
            "id": "tr-1",
            "name": "run",
            "input": '"Where is order 7?"',
            "output": '"At the depot."',
            "tags": ["x"],
        },
        "observations": [
            observation("s0", "AGENT", "invoke_agent clerk", endTime="2026-01-01T10:00:05.000Z"),
            observation(
                "s1",
                "GENERATION",
                "chat m",
                parentObservationId="s0",
                input=asked,
                output=wants,
                usageDetails={"input": 10, "output": 2, "total": 12},
                model="m",
            ),
            observation(
                "s2",
                "TOOL",
                "find",
                parentObservationId="s0",
                startTime="2026-01-01T10:00:02.000Z",
                endTime="2026-01-01T10:00:02.500Z",
                input={"order": "7"},
                output="depot",
            ),
            observation(
                "s3",
                "GENERATION",
                "chat m",
                parentObservationId="s0",
                startTime="2026-01-01T10:00:03.000Z",
                endTime="2026-01-01T10:00:05.000Z",
                input=[*asked, wants, got],
                output={"role": "assistant", "content": "At the depot."},
                usageDetails={"input": 20, "output": 5, "total": 25},
                model="m",
            ),
        ],
        **fields,
    }


def otlp_span(id: str, name: str, attributes: Mapping[str, str | int], **fields: Any) -> Row:
    typed = [
        {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}
        for key, value in attributes.items()
    ]
    return {
        "traceId": "aa11",
        "spanId": id,
        "parentSpanId": "",
        "name": name,
        "startTimeUnixNano": "1700000000000000000",
        "endTimeUnixNano": "1700000001000000000",
        "attributes": typed,
        **fields,
    }


def otlp(*spans: Row) -> Row:
    model: dict[str, str | int] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Hi?"}]}]),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "Hello."}]}]),
        "gen_ai.usage.input_tokens": 4,
        "gen_ai.usage.output_tokens": 2,
    }
    service = {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]}
    listed = list(spans) or [otlp_span("b1", "chat m", model)]
    return {"resourceSpans": [{"resource": service, "scopeSpans": [{"scope": {}, "spans": listed}]}]}


def as_lines(rows: Iterable[Any]) -> str:
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def as_table(rows: Iterable[Mapping[str, Any]]) -> str:
    """Cells that are no texts hold JSON, as exports write them."""
    listed = [
        {
            key: value if isinstance(value, str) else "" if value is None else json.dumps(value)
            for key, value in row.items()
        }
        for row in rows
    ]
    file = io.StringIO()
    table = csv.DictWriter(file, list(listed[0]))
    table.writeheader()
    table.writerows(listed)
    return file.getvalue()


def as_cells(rows: Iterable[Iterable[str]]) -> str:
    file = io.StringIO()
    csv.writer(file).writerows(rows)
    return file.getvalue()


SOURCES: dict[str, tuple[str, str]] = {
    "prbench": ("prbench.jsonl", as_lines([prbench(), prbench(task="t-2")])),
    "apexv1": (
        "apex.csv",
        as_table([apex(**{"File Attachments": None}), apex(**{"Task ID": 2, "File Attachments": None})]),
    ),
    "lexam": ("lexam.jsonl", as_lines([lexam_choice(), lexam_open()])),
    "includebase": ("include.jsonl", as_lines([include()])),
    "lar_echr": ("echr.jsonl", as_lines([lar_echr()])),
    "mmlu": ("professional_law_test.csv", as_cells([mmlu(), mmlu("What is a lien?", "D")])),
    "ace": ("ACE-DIY.csv", as_table([ace(), ace(**{"Criterion ID": "873", "Description": "Says why"})])),
    "tau2": ("tasks.json", json.dumps([tau2()])),
    "conversations": ("talks.jsonl", as_lines([conversation()])),
    "langfuse": ("trace.json", json.dumps(langfuse())),
    "otlp": ("spans.jsonl", as_lines([otlp()])),
}
"""A small valid file of each source: its name and what it holds."""


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def imported(importer: Importer, path: Path) -> list[Case]:
    return list(read_cases(path, importer))


def report(importer: Importer, path: Path) -> FileReport:
    return validate(path, importer)


def faults(importer: Importer, path: Path) -> list[tuple[int | None, str, str]]:
    """Line, field and code of every problem."""
    return [(problem.line, problem.field, problem.code) for problem in validate(path, importer).problems]
