"""A Result: one Case, by one candidate, in one repeat of one Run."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID, uuid5

from msgspec import Struct

from howsure.errors import CaseFailure, message_of
from howsure.model.case import Case
from howsure.model.flag import Flag
from howsure.model.score import Grade
from howsure.model.simulation import Fault
from howsure.model.transcript import BrokenRecording, Transcript
from howsure.model.verdict import Verdict

FORMAT = 1
"""The version of a stored Result body."""


BUDGET = "budget"
"""The first word of the reason for a case that was left out because the budget was spent."""


DECIDED_EARLY = "decided_early"
"""The flag of a case that was not asked because the run was sure before its turn came."""


class Failure(Struct, frozen=True, kw_only=True):
    """What broke, as data: the class in errors.py and the message."""

    kind: str
    message: str

    @classmethod
    def of(cls, error: Exception) -> Failure:
        # A target may raise its own subclass. Readers of results know the classes of errors.py only.
        tree = (kind for kind in type(error).__mro__ if kind.__module__ == CaseFailure.__module__)
        return cls(kind=next(tree, type(error)).__name__, message=message_of(error))


class Result(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of one attempt. `transcript` None: the target broke before there was one. `fault`: who is responsible
    for a simulated conversation that did not pass. `flags`: what a reader must know besides the verdict."""

    case: Case
    verdict: Verdict
    reasons: tuple[str, ...] = ()
    grades: tuple[Grade, ...] = ()
    failures: tuple[Failure, ...] = ()
    transcript: Transcript | None = None
    fault: Fault | None = None
    flags: tuple[Flag, ...] = ()
    candidate: str = ""
    repeat: int = 1
    position: int = 0
    created_at: datetime | None = None
    duration_ms: float = 0.0

    @property
    def recording(self) -> Transcript | BrokenRecording:
        """The conversation, to be graded again. One that broke stays one that broke."""
        broken = [failure for failure in self.failures if failure.kind not in _OF_GRADING]
        if self.transcript is not None and not broken:
            return self.transcript
        reason = "; ".join(failure.message for failure in broken) or "no transcript was kept"
        kind = broken[0].kind if broken else ""
        return BrokenRecording(reason=reason, transcript=self.transcript, failure_kind=kind)


_OF_GRADING = ("GraderFailed", "JudgeFailed", "PolicyFailed")
"""The failures after a conversation."""


def result_id(run: UUID, case: str, candidate: str, repeat: int) -> UUID:
    """The same attempt always has the same id, so writing it twice changes nothing."""
    return uuid5(run, attempt_name(case, candidate, repeat))


def attempt_name(case: str, candidate: str, repeat: int) -> str:
    """The text from which the id is made. If a part holds the separator, the length of the case id comes first, so that
    no two attempts share a name."""
    name = f"{case}\x1f{candidate}\x1f{repeat}"
    return f"{len(case)}\x1f{name}" if "\x1f" in case or "\x1f" in candidate else name
