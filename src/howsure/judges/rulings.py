"""What a judge can mean: a rating on a scale, a check that holds or not, verdicts on a rubric that it wrote itself, or
that the question does not apply. replies.py makes these from replies; graders make Scores from them."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from howsure.model.flag import UnreadableKind


class UnparsableReply(ValueError):
    """A reply that cannot be read. The judge is asked again; its meaning is never guessed."""

    def __init__(self, message: str, kind: UnreadableKind = UnreadableKind.SEVERAL_GRADES) -> None:
        super().__init__(message)
        self.kind = kind


OFF_SCALE = UnreadableKind.OFF_SCALE


class NoValue(UnparsableReply):
    """Nothing in the reply is a value. (A wrong value is a plain `UnparsableReply`.)"""

    def __init__(self, message: str) -> None:
        super().__init__(message, UnreadableKind.NO_GRADE)


class Rating(Struct, frozen=True, kw_only=True):
    """A number on the scale that was asked for. `stated_pass`: the judge says besides that the answer passes, or fails.
    `details` is everything else in the reply, by its own keys."""

    value: float
    stated_pass: bool | None = None
    reason: str = ""
    evidence: tuple[str, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)


class Check(Struct, frozen=True, kw_only=True):
    """Yes or no."""

    passed: bool
    reason: str = ""
    evidence: tuple[str, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def value(self) -> float:
        return float(self.passed)


class RubricVerdict(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of a rubric that the judge wrote itself."""

    text: str
    passed: bool
    reason: str = ""
    importance: str = ""


class RubricVerdicts(Struct, frozen=True, kw_only=True):
    """At least one verdict; the value is the share that passed."""

    verdicts: tuple[RubricVerdict, ...]
    reason: str = ""
    evidence: tuple[str, ...] = ()

    @property
    def value(self) -> float:
        return sum(verdict.passed for verdict in self.verdicts) / len(self.verdicts)

    @property
    def details(self) -> dict[str, Any]:
        return {
            "rubric_verdicts": [
                {
                    "content": verdict.text,
                    "verdict": verdict.passed,
                    "reasoning": verdict.reason,
                    "importance": verdict.importance,
                }
                for verdict in self.verdicts
            ]
        }


class NotApplicable(Struct, frozen=True, kw_only=True):
    """The judge says that the question does not apply."""

    reason: str = ""


Ruling = Rating | Check | RubricVerdicts | NotApplicable
