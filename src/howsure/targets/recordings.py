"""The recorded target: answers that exist already, from the dataset itself, a responses file or an earlier run."""

from __future__ import annotations

from msgspec import Struct, field

from howsure.errors import CaseFailure, NotRecorded, SimulatorFailed, TargetFailed, TargetTimedOut
from howsure.model.case import Case, finished_transcript_of, user_turns
from howsure.model.transcript import BrokenRecording, Transcript
from howsure.targets.base import FinishedSession

Recording = Transcript | BrokenRecording


class Recordings(Struct, frozen=True):
    """Recordings by case, candidate and repeat; those without a case id are found by the user's messages.

    Candidate "" answers for every candidate, so that one set of answers need not be named. `of_run`: they are the
    answers of an earlier run, whose own words say who broke.
    """

    by_case: dict[tuple[str, str, int], Recording] = field(default_factory=dict)
    by_turns: dict[tuple[tuple[str, ...], str, int], Recording] = field(default_factory=dict)
    of_run: bool = False

    def find(self, case: Case, candidate: str, repeat: int) -> Recording | None:
        for name in dict.fromkeys((candidate, "")):
            if found := self.by_case.get((case.id, name, repeat)):
                return found
            if self.by_turns and (found := self.by_turns.get((user_turns(case.input), name, repeat))):
                return found
        return None

    @property
    def candidates(self) -> tuple[str, ...]:
        """The candidates, in the order of the file."""
        return tuple(dict.fromkeys(name for _, name, _ in (*self.by_case, *self.by_turns)))


BROKE = {kind.__name__: kind for kind in (TargetFailed, TargetTimedOut, SimulatorFailed)}
"""The kinds of failure that a recording may name."""


def failure_of(kind: str, message: str) -> CaseFailure:
    return BROKE.get(kind, TargetFailed)(message)


class RecordedTarget:
    """Returns the recordings of one candidate in one repeat."""

    name = "recorded"

    def __init__(self, recordings: Recordings | None = None, candidate: str = "", repeat: int = 1) -> None:
        self._recordings = recordings
        self._candidate = candidate
        self._repeat = repeat

    def covers(self, case: Case) -> bool:
        return self.find(case) is not None

    def find(self, case: Case) -> Recording | None:
        if self._recordings is None:
            return case.recorded
        return self._recordings.find(case, self._candidate, self._repeat) or finished_transcript_of(case)

    async def open(self, case: Case) -> FinishedSession:
        match self.find(case):
            case Transcript() as transcript:
                return FinishedSession(transcript)
            case BrokenRecording(reason=reason, transcript=transcript, failure_kind=kind):
                of_run = self._recordings is not None and self._recordings.of_run
                failure = reason if of_run else f"the recorded conversation broke: {reason}"
                if transcript is None:
                    raise failure_of(kind, failure)
                return FinishedSession(transcript, failure, kind)
            case None:
                raise NotRecorded(f"nothing was recorded for {case.id!r}")
