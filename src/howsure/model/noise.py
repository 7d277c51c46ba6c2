"""Whose noise it is: how much the values of one grader vary because cases differ, because the agent does not always do
the same, and because the judge does not always say the same. stats/variance computes, reports/ shows."""

from __future__ import annotations

from msgspec import Struct

Interval = tuple[float, float]


class Spread(Struct, frozen=True):
    """A variance, in the square of the grader's unit, and how sure it is (None: too few cases to say)."""

    value: float
    interval: Interval | None = None


class Noise(Struct, frozen=True, kw_only=True):
    """One grader on one side: `cases` were tried `tries` times in all, and judged `judgements` times in all. Checks of
    rules and criteria count one by one, each as a case of its own."""

    grader: str
    second: bool
    cases: int
    tries: int
    judgements: int
    between_cases: Spread | None
    agent: Spread
    judge: Spread

    @property
    def judge_share(self) -> float | None:
        """Of the noise within a case, the part that is the judge's; None where there is no noise."""
        noise = self.agent.value + self.judge.value
        return self.judge.value / noise if noise else None
