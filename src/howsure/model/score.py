"""Scores: one measurement each, on a named scale; or the fact that nothing could be measured, and why."""

from __future__ import annotations

from enum import Enum
from math import isfinite
from typing import Any

from msgspec import Struct, field

from howsure.model.rubric import Severity

Interval = tuple[float, float]
"""The two ends of a confidence interval, the lower one first."""


class Direction(Enum):
    """Which end of a scale is good."""

    HIGHER = "higher"
    LOWER = "lower"
    NEITHER = "neither"


class Scale(Struct, frozen=True):
    """The values a Score may take; `high` None is open-ended."""

    low: float
    high: float | None = None

    def __contains__(self, value: float) -> bool:
        return isfinite(value) and self.low <= value and (self.high is None or value <= self.high)

    @property
    def ends(self) -> Interval | None:
        return None if self.high is None else (self.low, self.high)

    def __str__(self) -> str:
        return f"{self.low:g} to {'∞' if self.high is None else format(self.high, 'g')}"


UNIT = Scale(0, 1)
LIKERT = Scale(1, 5)
ZERO_TO_FIVE = Scale(0, 5)
OPEN = Scale(0, None)


class Part(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The criterion or rule that a Score is about, if a grader gives several. `position` counts from 1."""

    id: str
    text: str
    weight: float | None = None
    severity: Severity | None = None
    scope: str = ""
    position: int | None = None


class Score(Struct, frozen=True, kw_only=True, tag="score", tag_field="kind", omit_defaults=True):
    """One measurement. `passed` is derived from value, mark and direction, so it cannot contradict them. The exception
    is `stated_pass`: the judge itself says whether the answer passes, and the policy of the dataset lets that win over
    the mark. `flag`: the kind of flag that the result gets for it, with the reason as its text."""

    name: str
    value: float
    scale: Scale = UNIT
    pass_mark: float | None = None
    direction: Direction = Direction.HIGHER
    stated_pass: bool | None = None
    reason: str = ""
    part: Part | None = None
    evidence: tuple[str, ...] = ()
    judge: str = ""
    cost_usd: float | None = None
    flag: str = ""
    details: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.value not in self.scale:
            raise ValueError(f"{self.name}: {self.value} is not on the scale {self.scale}")
        if self.pass_mark is not None and not isfinite(self.pass_mark):
            raise ValueError(f"{self.name}: {self.pass_mark} is no pass mark")

    @property
    def passed(self) -> bool | None:
        """None: measured, not judged."""
        if self.pass_mark is None or self.stated_pass is not None:
            return None if self.pass_mark is None else self.stated_pass
        return self.value <= self.pass_mark if self.direction is Direction.LOWER else self.value >= self.pass_mark


class UnscoredReason(Enum):
    """Why there is no value."""

    ERROR = "error"
    NOT_APPLICABLE = "not_applicable"
    NO_JUDGE = "no_judge"


FREE = "gates nothing"
"""A key in the details of a grade that has no value and would have had no mark: the grade does not gate."""


class Unscored(Struct, frozen=True, kw_only=True, tag="unscored", tag_field="kind", omit_defaults=True):
    """A measurement that could not be made. It has no value, which is not the same as a low value. `flag`: as in
    `Score`; the kind of a judge's reply that cannot be read."""

    name: str
    why: UnscoredReason
    reason: str
    scale: Scale = UNIT
    pass_mark: float | None = None
    part: Part | None = None
    judge: str = ""
    flag: str = ""
    details: dict[str, Any] = field(default_factory=dict)


Grade = Score | Unscored
