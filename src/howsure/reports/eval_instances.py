"""The lines of Every Eval Ever: one for each case and each result it counts towards. Their schema wants a score and a
yes or no of every line, so a case that could not be decided, and a grade without a mark, has none: it is counted in the
document, never guessed at."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from math import sqrt
from typing import Any

from msgspec import Struct, json

from howsure.model.case import Case, user_turns
from howsure.model.expectation import CorrectChoice, ReferenceAnswer, WeightedCriteria
from howsure.model.result import Result
from howsure.model.score import Score
from howsure.model.transcript import Message, Role, Transcript
from howsure.model.verdict import Verdict
from howsure.reports.conversation import conversation

SCHEMA_VERSION = "0.2.2"
INSTANCE_VERSION = "instance_level_eval_0.2.2"
PASS_RATE = "pass_rate"
DECIDED = {Verdict.PASSED: True, Verdict.FAILED: False}


class Evaluated(Struct, frozen=True, kw_only=True):
    """What every line says of the document it belongs to."""

    id: str
    model: str
    name: str

    def result_id(self, measured: str) -> str:
        return f"{self.id}#{measured}"


class Spread(Struct):
    """Count, mean and squared distance from it, of values as they come."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, value: float) -> None:
        self.count += 1
        step = value - self.mean
        self.mean += step / self.count
        self.squares += step * (value - self.mean)

    @property
    def deviation(self) -> float | None:
        return sqrt(self.squares / (self.count - 1)) if self.count > 1 else None


def instances(evaluated: Evaluated, result: Result) -> Iterator[dict[str, Any]]:
    """A line for the verdict, and one for each grade that has a mark."""
    if result.transcript is None:
        return
    around = _around(evaluated, result, result.transcript)
    turns = around.pop("turns")
    if result.verdict in DECIDED:
        held = DECIDED[result.verdict]
        yield _record(around, evaluated.result_id(PASS_RATE), {"score": float(held), "is_correct": held, **turns})
    for grade in result.grades:
        if grade.part is None and isinstance(grade, Score) and grade.passed is not None:
            judged = {"score": grade.value, "is_correct": grade.passed, **turns}
            yield _record(around, evaluated.result_id(grade.name), judged)


def _record(around: dict[str, Any], result_id: str, judged: dict[str, Any]) -> dict[str, Any]:
    return {**around, "evaluation_result_id": result_id, "evaluation": judged}


def _around(evaluated: Evaluated, result: Result, said: Transcript) -> dict[str, Any]:
    talk, calls = conversation(result), len(said.tool_calls)
    asked = sum(message.role is Role.USER for message in talk)
    kind = "agentic" if calls else "multi_turn" if asked > 1 else "single_turn"
    given, messages = _given(result.case), None if kind == "single_turn" else _messages(talk)
    where = "output.raw" if messages is None else f"messages[{_last(messages)}].content"
    attributed = {
        "turn_idx": 0 if messages is None else _last(messages),
        "source": where,
        "extracted_value": said.answer,
        "extraction_method": "whole_answer",
        "is_terminal": True,
    }
    return {
        "schema_version": INSTANCE_VERSION,
        "evaluation_id": evaluated.id,
        "model_id": evaluated.model,
        "evaluation_name": evaluated.name,
        "sample_id": result.case.id,
        "sample_hash": sha256("".join([given["raw"], *given["reference"]]).encode()).hexdigest(),
        "interaction_type": kind,
        "input": given,
        "output": {"raw": [said.answer]} if messages is None else None,
        "messages": messages,
        "answer_attribution": [attributed],
        "token_usage": _usage(said),
        "performance": {"latency_ms": said.duration_ms} if said.duration_ms is not None else None,
        "error": None,
        "metadata": _metadata(result),
        "turns": {"num_turns": max(asked, 1), "tool_calls_count": calls},
    }


def _given(case: Case) -> dict[str, Any]:
    reference: list[str] = []
    choices: list[str] | None = None
    for expected in case.expectations:
        match expected:
            case ReferenceAnswer(answers=answers) | WeightedCriteria(references=answers):
                reference += answers
            case CorrectChoice(choices=offered, correct=correct):
                reference += correct
                choices = [f"{choice.id}: {choice.text}" for choice in offered]
            case _:
                continue
    return {"raw": "\n".join(user_turns(case.input)), "reference": reference, "choices": choices}


def _messages(talk: tuple[Message, ...]) -> list[dict[str, Any]]:
    """With the tools' results as messages of their own, as theirs are. Arguments are text there."""
    shown: list[dict[str, Any]] = []
    for message in talk:
        calls = [
            {"id": call.id or f"call_{len(shown)}_{place}", "name": call.name, "arguments": _texts(call.arguments)}
            for place, call in enumerate(message.tool_calls)
        ]
        said = {"role": message.role.value, "content": message.content or None}
        shown.append({"turn_idx": len(shown), **said, "tool_calls": calls or None})
        for call, made in zip(message.tool_calls, calls, strict=True):
            if call.result is not None:
                content = json.encode(call.result.content).decode()
                told = {"role": "tool", "content": content, "tool_call_id": [made["id"]]}
                shown.append({"turn_idx": len(shown), **told})
    return shown


def _texts(values: dict[str, Any]) -> dict[str, str]:
    return {name: value if isinstance(value, str) else json.encode(value).decode() for name, value in values.items()}


def _last(messages: list[dict[str, Any]]) -> int:
    said = [each["turn_idx"] for each in messages if each["role"] == Role.ASSISTANT.value]
    return int(said[-1]) if said else max(len(messages) - 1, 0)


def _usage(said: Transcript) -> dict[str, int] | None:
    used = said.usage
    if used is None or used.prompt_tokens is None or used.completion_tokens is None:
        return None
    thought = used.thinking_tokens or 0
    output = used.completion_tokens + thought
    known = {"input_tokens_cache_read": used.cached_tokens, "reasoning_tokens": used.thinking_tokens}
    total = {
        "input_tokens": used.prompt_tokens,
        "output_tokens": output,
        "total_tokens": used.prompt_tokens + output,
    }
    return total | {name: count for name, count in known.items() if count is not None}


def _metadata(result: Result) -> dict[str, str]:
    own = {"verdict": result.verdict.value, "repeat": str(result.repeat), "candidate": result.candidate}
    tags = {"tags": ", ".join(result.case.tags)} if result.case.tags else {}
    return {**result.case.labels, **tags, **own}
