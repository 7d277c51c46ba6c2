"""A judge that repeats what was recorded. It answers the question it was asked, or fails: a line for one candidate,
repeat or criterion never answers for another. recording_file.py reads the lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from howsure.config import PanelSettings
from howsure.errors import JudgeFailed, Problem
from howsure.judges.base import Question, Reply
from howsure.judges.recording_file import Line, read_lines
from howsure.judges.voting import Bench
from howsure.model.case import Case
from howsure.model.expectation import Criteria, WeightedCriteria, text_id
from howsure.model.score import Part

Key = tuple[str, str, str, int]


class RecordedJudge:
    """Every reply of a recording. `at` gives the judge of one lane. `warnings` are about fields nobody reads. `panel`
    says how several judges become one where the lines themselves do not."""

    name = "recorded"

    def __init__(
        self, lines: Sequence[Line], warnings: Sequence[Problem] = (), panel: PanelSettings | None = None
    ) -> None:
        self.warnings = tuple(warnings)
        self._panel = panel
        self._has_panels = panel is not None or any(line.seat is not None for line in lines)
        self._replies: dict[Key, list[Line]] = {}
        for line in lines:
            key = (line.case_id, line.grader, line.criterion, line.attempt)
            self._replies.setdefault(key, []).append(line)

    @classmethod
    def load(cls, path: Path, panel: PanelSettings | None = None) -> RecordedJudge:
        """The recording, or `DatasetInvalid` with all its problems."""
        return cls(*read_lines(path), panel)

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

    def bench(self, question: Question, candidate: str, repeat: int) -> Bench | None:
        """The panel whose replies these are; None when one judge replied."""
        if not self._has_panels:
            return None
        lines = self.find(question.case, question.grader, question.part, 1, candidate, repeat)
        if seats := {line.seat.member: line for line in lines if line.seat is not None}:
            return _seated(seats)
        names = tuple(dict.fromkeys(line.judge for line in lines))
        votes = max((sum(line.judge == name for line in lines) for name in names), default=0)
        if self._panel is None or (len(names) < 2 and votes < 2):
            return None
        return Bench(rule=self._panel.rule, members=names, votes=votes)


class RecordedLane:
    """A recording, bound to one candidate and repeat."""

    name = RecordedJudge.name

    def __init__(self, recording: RecordedJudge, candidate: str, repeat: int) -> None:
        self._recording = recording
        self._candidate = candidate
        self._repeat = repeat

    def covers(self, case: Case | str, grader: str, part: Part | None = None) -> bool:
        return self._recording.covers(case, grader, part, self._candidate, self._repeat)

    def bench(self, question: Question) -> Bench | None:
        return self._recording.bench(question, self._candidate, self._repeat)

    async def ask(self, question: Question) -> Reply:
        found = self._recording.find(
            question.case, question.grader, question.part, question.attempt, self._candidate, self._repeat
        )
        lines = [line for line in found if _is_said_to(line, question)]
        if not lines:
            raise JudgeFailed(f"the recording has no reply for {self._described(question)}")
        if len(lines) > 1:
            raise JudgeFailed(f"the recording has {len(lines)} replies for {self._described(question)}{_hint(lines)}")
        (line,) = lines
        if line.failed:
            raise JudgeFailed(line.failed)
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
        if question.member:
            said.append(f"judge {question.member!r}")
        if question.vote:
            said.append(f"sample {question.vote}")
        if question.order:
            said.append(f"order {question.order!r}")
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


def _is_said_to(line: Line, question: Question) -> bool:
    """Of a panel's or a pair's lines, whether this one is the member's, the vote's, the order's."""
    if question.order and line.order != question.order:
        return False
    if question.vote and line.draw != str(question.vote) and (line.draw or question.vote > 1):
        return False
    return not question.member or line.judge == question.member


def _seated(lines: Mapping[int, Line]) -> Bench:
    """The panel as its lines tell. A member without any line keeps its seat: it counts among those who did not rule."""
    seat = next(line.seat for line in lines.values() if line.seat is not None)
    names = (lines[number].judge if number in lines else f"member {number}" for number in range(1, seat.of + 1))
    return Bench(rule=seat.rule, members=tuple(names), votes=seat.votes, near=seat.near)


def _hint(lines: Sequence[Line]) -> str:
    judges = {line.judge for line in lines}
    return "; to count them as a panel, set its rule under `panel:` in howsure.yaml" if len(judges) > 1 else ""


def _closeness(line: Line) -> tuple[bool, bool]:
    return line.candidate is not None, line.repeat is not None
