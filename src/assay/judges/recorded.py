"""A judge that repeats what was recorded. It answers the question it was asked, or fails: a line for one candidate,
repeat or criterion never answers for another. recording_file.py reads the lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from assay.errors import JudgeFailed, Problem
from assay.judges.base import Question, Reply
from assay.judges.recording_file import Line, read_lines
from assay.model.case import Case
from assay.model.expectation import Criteria, WeightedCriteria, text_id
from assay.model.score import Part

Key = tuple[str, str, str, int]


class RecordedJudge:
    """Every reply of a recording. `at` gives the judge of one lane. `warnings` are about fields nobody reads."""

    name = "recorded"

    def __init__(self, lines: Sequence[Line], warnings: Sequence[Problem] = ()) -> None:
        self.warnings = tuple(warnings)
        self._replies: dict[Key, list[Line]] = {}
        for line in lines:
            key = (line.case_id, line.grader, line.criterion, line.attempt)
            self._replies.setdefault(key, []).append(line)

    @classmethod
    def load(cls, path: Path) -> RecordedJudge:
        """The recording, or `DatasetInvalid` with all its problems."""
        return cls(*read_lines(path))

    def at(self, candidate: str, repeat: int) -> RecordedLane:
        """The judge of one candidate in one repeat."""
        return RecordedLane(self, candidate, repeat)

    def covers(
        self, case: Case | str, grader: str, part: Part | None = None, candidate: str = "", repeat: int = 1
    ) -> bool:
        """Whether there is a reply to this question (its first attempt)."""
        return bool(self.find(case, grader, part, 1, candidate, repeat))

    def find(
        self, case: Case | str, grader: str, part: Part | None, attempt: int, candidate: str, repeat: int
    ) -> list[Line]:
        """The lines that answer a question, the most specific ones only."""
        case_id = case if isinstance(case, str) else case.id
        for name in _names(part, None if isinstance(case, str) else case):
            lines = self._replies.get((case_id, grader, name, attempt))
            if lines and (answering := [line for line in lines if _is_for(line, candidate, repeat)]):
                closest = max(map(_closeness, answering))
                return [line for line in answering if _closeness(line) == closest]
        return []


class RecordedLane:
    """A recording, bound to one candidate and repeat."""

    name = RecordedJudge.name

    def __init__(self, recording: RecordedJudge, candidate: str, repeat: int) -> None:
        self._recording = recording
        self._candidate = candidate
        self._repeat = repeat

    def covers(self, case: Case | str, grader: str, part: Part | None = None) -> bool:
        return self._recording.covers(case, grader, part, self._candidate, self._repeat)

    async def ask(self, question: Question) -> Reply:
        lines = self._recording.find(
            question.case, question.grader, question.part, question.attempt, self._candidate, self._repeat
        )
        if not lines:
            raise JudgeFailed(f"the recording has no reply for {self._described(question)}")
        if len(lines) > 1:
            raise JudgeFailed(f"the recording has {len(lines)} replies for {self._described(question)}")
        (line,) = lines
        return Reply(content=line.reply, judge=line.judge or self.name, details=line.details or {})

    def _described(self, question: Question) -> str:
        said = [f"case {question.case.id!r}", f"grader {question.grader!r}"]
        if question.part:
            said.append(f"criterion {question.part.id!r}")
        if self._candidate:
            said.append(f"candidate {self._candidate!r}")
        if self._repeat != 1:
            said.append(f"repeat {self._repeat}")
        if question.attempt != 1:
            said.append(f"attempt {question.attempt}")
        return ", ".join(said)


def _names(part: Part | None, case: Case | None) -> Iterator[str]:
    """What a recording may call a criterion: its id, the hash of its text, its text, its position from 1."""
    if part is None:
        yield ""
        return
    yield part.id
    yield text_id(part.text)
    yield part.text
    # "2" is the second criterion only where no criterion of the case is named "2": that one would be another's reply.
    if part.position is not None and (case is None or str(part.position) not in _criterion_ids(case)):
        yield str(part.position)


def _criterion_ids(case: Case) -> set[str]:
    return {
        criterion.id
        for expectation in case.expectations
        if isinstance(expectation, Criteria | WeightedCriteria)
        for criterion in expectation.criteria
    }


def _is_for(line: Line, candidate: str, repeat: int) -> bool:
    return line.candidate in (None, candidate) and line.repeat in (None, repeat)


def _closeness(line: Line) -> tuple[bool, bool]:
    return line.candidate is not None, line.repeat is not None
