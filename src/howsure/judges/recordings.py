"""Judges that write their replies to a recording, and judges that answer from one (`recorded:FILE`) without any model.
A recorded judge answers the question it is asked or fails: a line for one candidate, repeat or criterion never answers
for another. recording_files.py reads the file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from howsure.config import PanelSettings
from howsure.errors import JudgeFailed, Problem
from howsure.judges.base import Judge, JudgeReply, Question, VotingProcedure, can_answer, voting_procedure
from howsure.judges.recording_files import PanelSeat, RecordedReply, read_recording
from howsure.model.case import Case
from howsure.model.expectation import Criteria, WeightedCriteria, text_id
from howsure.model.score import Part

OPTIONAL = frozenset({"criterion_id", "sample", "details", "order", "failed", "panel"})
"""Fields that a line leaves out where they say nothing."""
FLAG = "flag"
"""A key in the details of a line about a failure."""


class RecordingJudge:
    """Asks `judge`, and passes `write` one line of JSON for each reply before it is read."""

    def __init__(self, judge: Judge, write: Callable[[bytes], object], *, candidate: str = "", repeat: int = 1) -> None:
        self.name = judge.name
        self._judge = judge
        self._write = write
        self._candidate = candidate
        self._repeat = repeat

    def covers(self, case: Case | str, grader: str, part: Part | None = None) -> bool:
        return can_answer(self._judge, case, grader, part)

    def procedure(self, question: Question) -> VotingProcedure | None:
        return voting_procedure(self._judge, question)

    async def ask(self, question: Question) -> JudgeReply:
        try:
            reply = await self._judge.ask(question)
        except JudgeFailed as failure:
            # A failure is part of the run: a replay must fail with the same words.
            about = {FLAG: failure.flag} if failure.flag else {}
            self._write(self._line(question, JudgeReply(content="", details=about), str(failure)))
            raise
        self._write(self._line(question, reply))
        return reply

    def _line(self, question: Question, reply: JudgeReply, failed: str = "") -> bytes:
        procedure = self.procedure(question) if question.member else None
        line: dict[str, Any] = {
            "case_id": question.case.id,
            "candidate": self._candidate,
            "repeat": self._repeat,
            "grader": question.grader,
            "criterion_id": question.part.id if question.part else "",
            "judge": question.member or reply.judge or self.name,
            "sample": question.vote,
            "attempt": question.attempt,
            "reply": _json_content(reply.content),
            "details": reply.details,
            "order": question.order,
            "failed": failed,
            "panel": to_builtins(PanelSeat.for_member(procedure, question.member)) if procedure else {},
        }
        line = {name: value for name, value in line.items() if value or name not in OPTIONAL}
        text = json.dumps(line, ensure_ascii=False)
        try:
            return text.encode() + b"\n"
        except UnicodeEncodeError:
            return json.dumps(line).encode() + b"\n"


def _json_content(content: Any) -> Any:
    """The reply as a file can hold it: JSON has no NaN, so an object with one becomes text."""
    try:
        json.dumps(content, allow_nan=False)
    except ValueError:
        return json.dumps(content)
    return content


Key = tuple[str, str, str, int]


class RecordedJudge:
    """All replies of a recording. `at` gives the judge of one candidate and repeat. `judges` are those that the lines
    name. `warnings` are about unknown fields. `panel` says how several judges become one where the lines do not."""

    name = "recorded"

    def __init__(
        self, lines: Sequence[RecordedReply], warnings: Sequence[Problem] = (), panel: PanelSettings | None = None
    ) -> None:
        self.warnings = tuple(warnings)
        self.judges = tuple(sorted({line.judge for line in lines if line.judge}))
        self._panel = panel
        self._has_panels = panel is not None or any(line.seat is not None for line in lines)
        self._replies: dict[Key, list[RecordedReply]] = {}
        for line in lines:
            key = (line.case_id, line.grader, line.criterion, line.attempt)
            self._replies.setdefault(key, []).append(line)

    @classmethod
    def load(cls, path: Path, panel: PanelSettings | None = None) -> RecordedJudge:
        """The recording, or `DatasetInvalid` with all its problems."""
        return cls(*read_recording(path), panel)

    def at(self, candidate: str, repeat: int) -> CandidateRecording:
        """The judge of one candidate in one repeat."""
        return CandidateRecording(self, candidate, repeat)

    def covers(
        self, case: Case | str, grader: str, part: Part | None = None, candidate: str = "", repeat: int = 1
    ) -> bool:
        """Whether there is a reply to this question (its first attempt)."""
        return bool(self.find(case, grader, part, 1, candidate, repeat))

    def find(
        self, case: Case | str, grader: str, part: Part | None, attempt: int, candidate: str, repeat: int
    ) -> list[RecordedReply]:
        """The lines that answer a question, only the most specific ones."""
        case_id = case if isinstance(case, str) else case.id
        for name in _names(part, None if isinstance(case, str) else case):
            lines = self._replies.get((case_id, grader, name, attempt))
            if lines and (
                matching := [
                    line for line in lines if (line.candidate in (None, candidate) and line.repeat in (None, repeat))
                ]
            ):
                closest = max(map(_specificity, matching))
                return [line for line in matching if _specificity(line) == closest]
        return []

    def procedure(self, question: Question, candidate: str, repeat: int) -> VotingProcedure | None:
        """How the panel that gave these replies votes; None when one judge replied."""
        if not self._has_panels:
            return None
        lines = self.find(question.case, question.grader, question.part, 1, candidate, repeat)
        if seats := {line.seat.member: line for line in lines if line.seat is not None}:
            return _procedure_of(seats)
        names = tuple(dict.fromkeys(line.judge for line in lines))
        votes = max((sum(line.judge == name for line in lines) for name in names), default=0)
        if self._panel is None or (len(names) < 2 and votes < 2):
            return None
        return VotingProcedure(rule=self._panel.rule, members=names, votes=votes)


class CandidateRecording:
    """A recording, bound to one candidate and repeat."""

    name = RecordedJudge.name

    def __init__(self, recording: RecordedJudge, candidate: str, repeat: int) -> None:
        self._recording = recording
        self._candidate = candidate
        self._repeat = repeat

    def covers(self, case: Case | str, grader: str, part: Part | None = None) -> bool:
        return self._recording.covers(case, grader, part, self._candidate, self._repeat)

    def procedure(self, question: Question) -> VotingProcedure | None:
        return self._recording.procedure(question, self._candidate, self._repeat)

    async def ask(self, question: Question) -> JudgeReply:
        found = self._recording.find(
            question.case, question.grader, question.part, question.attempt, self._candidate, self._repeat
        )
        lines = [line for line in found if _answers(line, question)]
        if not lines:
            raise JudgeFailed(f"the recording has no reply for {self._describe(question)}")
        if len(lines) > 1:
            several = len({line.judge for line in lines}) > 1
            hint = "; to count them as a panel, set its rule under `panel:` in howsure.yaml" if several else ""
            raise JudgeFailed(f"the recording has {len(lines)} replies for {self._describe(question)}{hint}")
        (line,) = lines
        if line.failed:
            raise JudgeFailed(line.failed, str((line.details or {}).get(FLAG, "")))
        return JudgeReply(content=line.reply, judge=line.judge or self.name, details=line.details or {})

    def _describe(self, question: Question) -> str:
        words = {
            "case": question.case.id,
            "grader": question.grader,
            "criterion": question.part.id if question.part else "",
            "candidate": self._candidate,
            "repeat": self._repeat if self._repeat != 1 else "",
            "attempt": question.attempt if question.attempt != 1 else "",
            "judge": question.member,
            "sample": question.vote,
            "order": question.order,
        }
        return ", ".join(f"{name} {value!r}" for name, value in words.items() if value)


def _names(part: Part | None, case: Case | None) -> Iterator[str]:
    """The names of a criterion in a recording: its id, the hash of its text, its text, its position from 1."""
    if part is None:
        yield ""
        return
    yield part.id
    yield text_id(part.text)
    yield part.text
    # "2" is the second criterion only where no criterion of the case has the id "2".
    expectations = case.expectations if case else ()
    lists = (each.criteria for each in expectations if isinstance(each, Criteria | WeightedCriteria))
    if part.position is not None and not any(each.id == str(part.position) for criteria in lists for each in criteria):
        yield str(part.position)


def _answers(line: RecordedReply, question: Question) -> bool:
    """Whether a line of a panel or pair belongs to this member, vote and order."""
    if question.order and line.order != question.order:
        return False
    if question.vote and line.draw != str(question.vote) and (line.draw or question.vote > 1):
        return False
    return not question.member or line.judge == question.member


def _procedure_of(lines: Mapping[int, RecordedReply]) -> VotingProcedure:
    """The panel as its lines describe it. A member without a line keeps its seat and counts as not having ruled."""
    seat = next(line.seat for line in lines.values() if line.seat is not None)
    names = (lines[number].judge if number in lines else f"member {number}" for number in range(1, seat.of + 1))
    return VotingProcedure(rule=seat.rule, members=tuple(names), votes=seat.votes, near=seat.near)


def _specificity(line: RecordedReply) -> tuple[bool, bool]:
    return line.candidate is not None, line.repeat is not None
