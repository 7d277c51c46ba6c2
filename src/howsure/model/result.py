"""A Result: one Case, by one candidate, in one repeat of one Run."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID, uuid5

from msgspec import Struct

from howsure.errors import CaseFailure
from howsure.model.case import Case
from howsure.model.score import Grade, Part
from howsure.model.simulation import Fault
from howsure.model.transcript import Transcript
from howsure.model.verdict import Verdict

FORMAT = 1
"""The version of a stored Result body."""


BUDGET = "budget"
"""The first word of the reason why a case was left out when the budget was reached."""


class Failure(Struct, frozen=True, kw_only=True):
    """What broke, as data: which of the errors in errors.py it is, and its message."""

    kind: str
    message: str

    @classmethod
    def of(cls, error: Exception) -> Failure:
        # A target may raise a kind of its own; whoever reads results knows those of the one tree.
        tree = (kind for kind in type(error).__mro__ if kind.__module__ == CaseFailure.__module__)
        return cls(kind=next(tree, type(error)).__name__, message=str(error))


class Result(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one attempt gave. `transcript` None: the target broke before there was one. `fault`: who is answerable for a
    simulated conversation that did not pass."""

    case: Case
    verdict: Verdict
    reasons: tuple[str, ...] = ()
    grades: tuple[Grade, ...] = ()
    failures: tuple[Failure, ...] = ()
    transcript: Transcript | None = None
    fault: Fault | None = None
    candidate: str = ""
    repeat: int = 1
    position: int = 0
    created_at: datetime | None = None
    duration_ms: float = 0.0


def result_id(run: UUID, case: str, candidate: str, repeat: int) -> UUID:
    """The same attempt always has the same id, so writing it twice changes nothing."""
    return uuid5(run, attempt_name(case, candidate, repeat))


def attempt_name(case: str, candidate: str, repeat: int) -> str:
    """What the id is made of. The length comes first where an id holds the separator itself: no two attempts share a
    name, and every other attempt keeps the id it has always had."""
    name = f"{case}\x1f{candidate}\x1f{repeat}"
    return f"{len(case)}\x1f{name}" if "\x1f" in case or "\x1f" in candidate else name


def score_id(result: UUID, grader: str, part: Part | None) -> UUID:
    return uuid5(result, f"{grader}\x1f{part.id if part else ''}")
