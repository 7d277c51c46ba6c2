"""Any judge, with its replies written down: a file that `recorded:FILE` answers from, with no model at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from assay.judges.base import Judge, Question, Reply
from assay.model.case import Case
from assay.model.score import Part


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

    async def ask(self, question: Question) -> Reply:
        reply = await self._judge.ask(question)
        self._write(self._line(question, reply))
        return reply

    def _line(self, question: Question, reply: Reply) -> bytes:
        line: dict[str, Any] = {
            "case_id": question.case.id,
            "candidate": self._candidate,
            "repeat": self._repeat,
            "grader": question.grader,
        }
        if question.part:
            line["criterion_id"] = question.part.id
        line |= {"judge": reply.judge or self.name, "attempt": question.attempt, "reply": _lasting(reply.content)}
        if reply.details:
            line["details"] = reply.details
        text = json.dumps(line, ensure_ascii=False)
        try:
            return text.encode() + b"\n"
        except UnicodeEncodeError:
            return json.dumps(line).encode() + b"\n"


def _lasting(content: Any) -> Any:
    """The reply as a file can hold it: JSON has no NaN, so an object with one is kept as the text it would be."""
    try:
        json.dumps(content, allow_nan=False)
    except ValueError:
        return json.dumps(content)
    return content
