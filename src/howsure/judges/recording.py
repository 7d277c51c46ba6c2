"""Any judge, with its replies written down: a file that `recorded:FILE` answers from, with no model at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from msgspec import to_builtins

from howsure.errors import JudgeFailed
from howsure.judges.base import Judge, Question, Reply
from howsure.judges.recording_file import Seat
from howsure.judges.voting import Bench, bench_of
from howsure.model.case import Case
from howsure.model.score import Part


@runtime_checkable
class Covering(Protocol):
    """A judge that knows beforehand which questions it can answer."""

    def covers(self, case: Case | str, grader: str, part: Part | None = None) -> bool: ...


class RecordingJudge:
    """Asks `judge`, and gives `write` one line of JSON for each reply before anyone reads it."""

    def __init__(self, judge: Judge, write: Callable[[bytes], object], *, candidate: str = "", repeat: int = 1) -> None:
        self.name = judge.name
        self._judge = judge
        self._write = write
        self._candidate = candidate
        self._repeat = repeat

    def covers(self, case: Case | str, grader: str, part: Part | None = None) -> bool:
        """Whatever the judge says; one that cannot say can be asked anything."""
        return self._judge.covers(case, grader, part) if isinstance(self._judge, Covering) else True

    def bench(self, question: Question) -> Bench | None:
        return bench_of(self._judge, question)

    async def ask(self, question: Question) -> Reply:
        try:
            reply = await self._judge.ask(question)
        except JudgeFailed as failure:
            # That somebody could not rule is part of the run: a replay must say so in the same words.
            self._write(self._line(question, Reply(content=""), str(failure)))
            raise
        self._write(self._line(question, reply))
        return reply

    def _line(self, question: Question, reply: Reply, failed: str = "") -> bytes:
        line: dict[str, Any] = {
            "case_id": question.case.id,
            "candidate": self._candidate,
            "repeat": self._repeat,
            "grader": question.grader,
        }
        if question.part:
            line["criterion_id"] = question.part.id
        line["judge"] = question.member or reply.judge or self.name
        if question.vote:
            line["sample"] = question.vote
        line |= {"attempt": question.attempt, "reply": _lasting(reply.content)}
        if reply.details:
            line["details"] = reply.details
        line |= self._told_apart(question, failed)
        text = json.dumps(line, ensure_ascii=False)
        try:
            return text.encode() + b"\n"
        except UnicodeEncodeError:
            return json.dumps(line).encode() + b"\n"

    def _told_apart(self, question: Question, failed: str) -> dict[str, Any]:
        """What only panels and pairs need."""
        bench = self.bench(question) if question.member else None
        told = {"order": question.order, "failed": failed}
        seat = {} if bench is None else {"panel": to_builtins(Seat.of_bench(bench, question.member))}
        return {key: value for key, value in told.items() if value} | seat


def _lasting(content: Any) -> Any:
    """The reply as a file can hold it: JSON has no NaN, so an object with one is kept as the text it would be."""
    try:
        json.dumps(content, allow_nan=False)
    except ValueError:
        return json.dumps(content)
    return content
