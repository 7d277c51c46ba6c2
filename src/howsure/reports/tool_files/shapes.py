"""Shared parts of the writers of other tools' files: the one candidate of a file, the common content of a result,
messages of a chat, details of a grade, and lists that are written a row at a time."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any
from uuid import UUID

from msgspec import Struct, json

from howsure.errors import PlanRefused
from howsure.model.case import SingleTurn, user_turns
from howsure.model.expectation import CorrectChoice, ReferenceAnswer, WeightedCriteria
from howsure.model.result import Result, result_id
from howsure.model.run import Run
from howsure.model.score import Grade, Score
from howsure.model.summary import Summary
from howsure.model.transcript import Message, Role, ToolCall, Usage
from howsure.reports.atomic_files import atomic_bytes
from howsure.reports.case_facts import DECIDED, NO_USAGE, conversation, result_error
from howsure.reports.grades import case_grades, criterion_score, grade_passed, part_grades

ENCODER = json.Encoder()
run_uuid = lru_cache(maxsize=16)(UUID)
"""Read once for all results of a run."""
Shape = dict[str, Any]


class ResultContent(Struct, frozen=True, kw_only=True):
    """The content of one result that every file has. `passed` is None where there is no verdict of ours, `error` where
    nothing broke; `expected` are the answers that the case expects, of a choice the texts of the correct ones;
    `metadata` is what a case has besides question and expectation."""

    id: UUID
    question: str
    answer: str | None
    expected: list[str]
    passed: bool | None
    error: str | None
    reason: str
    grades: list[Grade]
    usage: Usage
    metadata: Shape

    @property
    def scores(self) -> list[Score]:
        return [grade for grade in self.grades if isinstance(grade, Score)]

    @property
    def reference(self) -> str | list[str] | None:
        """The one answer that is expected, all of several, or None."""
        return self.expected[0] if len(self.expected) == 1 else self.expected or None


def result_content(run: Run, result: Result) -> ResultContent:
    case, transcript = result.case, result.transcript
    context = case.input.context if isinstance(case.input, SingleTurn) else ""
    own = {"name": case.name, "tags": list(case.tags), "labels": case.labels, "context": context}
    expected: list[str] = []
    for each in case.expectations:
        match each:
            case ReferenceAnswer(answers=answers) | WeightedCriteria(references=answers):
                expected += answers
            case CorrectChoice(choices=choices, correct=correct):
                expected += [choice.text for choice in choices if choice.id in correct]
            case _:
                continue
    return ResultContent(
        id=result_id(run_uuid(run.id), case.id, result.candidate, result.repeat),
        question="\n".join(user_turns(case.input)),
        answer=transcript.answer if transcript else None,
        expected=expected,
        passed=DECIDED.get(result.verdict),
        error=result_error(result),
        reason="; ".join(result.reasons),
        grades=case_grades(result.grades),
        usage=(transcript.usage if transcript else None) or NO_USAGE,
        metadata={**case.metadata, **{name: value for name, value in own.items() if value}},
    )


def only_candidate(summary: Summary, path: Path, document: str) -> str:
    """The candidate of the run; refuses a run of several, where a file is about one model."""
    if len(summary.candidates) > 1:
        names = ", ".join(map(repr, summary.candidates))
        raise PlanRefused(
            f"{path}: {document} is about one model, and this run has {len(summary.candidates)} candidates: "
            f"`howsure export RUN --candidate NAME` writes one of {names}"
        )
    return next(iter(summary.candidates), "")


def openai_call(call: ToolCall, id: str) -> Shape:
    return {"id": id, "type": "function", "function": {"name": call.name, "arguments": json_text(call.arguments)}}


def chat_messages(messages: Sequence[Message], call_shape: Callable[[ToolCall, str], Shape] = openai_call) -> list[Any]:
    """Messages of a chat; what a tool answered is a message after the one that called it."""
    shown: list[Shape] = []
    for message in messages:
        ids = [call.id or f"call_{len(shown)}_{place}" for place, call in enumerate(message.tool_calls)]
        calls = [call_shape(call, id) for call, id in zip(message.tool_calls, ids, strict=True)]
        said: Shape = {"role": message.role.value, "content": message.content}
        shown.append({**said, "tool_calls": calls} if calls else said)
        for call, id in zip(message.tool_calls, ids, strict=True):
            if call.result is not None:
                content = call.result.content
                text = content if isinstance(content, str) else json_text(content)
                failed = {"error": {"type": "unknown", "message": text}} if call.result.failed else {}
                shown.append({"role": "tool", "tool_call_id": id, "function": call.name, "content": text, **failed})
    return shown


def prompt_messages(result: Result) -> list[Any]:
    """The chat up to the answer."""
    messages = conversation(result)
    last = max((at for at, each in enumerate(messages) if each.role is Role.ASSISTANT), default=len(messages))
    return chat_messages(messages[:last])


def json_text(value: Any) -> str:
    return ENCODER.encode(value).decode()


def grade_details(grade: Grade, grades: Sequence[Grade]) -> Shape:
    """The details of a grade besides its value, name and reason, with its criteria or rules."""
    scale = [grade.scale.low, grade.scale.high]
    shown: Shape = {"scale": scale, "pass_mark": grade.pass_mark, "passed": grade_passed(grade), "judge": grade.judge}
    shown["evidence"] = list(grade.evidence) if isinstance(grade, Score) else []
    shown["criteria"] = [criterion_score(part) for part in part_grades(grades, grade.name)]
    return {**grade.details, **{name: value for name, value in shown.items() if value not in (None, "", [])}}


async def write_rows(path: Path, rows: AsyncIterable[Shape], head: bytes = b"", tail: bytes = b"") -> None:
    """A JSON list, a row a line, between what stands before and after it; memory does not grow with it."""
    with atomic_bytes(path) as file:
        file.write(head + b"[")
        before = b"\n"
        async for row in rows:
            file.write(before + ENCODER.encode(row))
            before = b",\n"
        file.write(b"\n]" + tail + b"\n")
