"""Whose noise it is, in words and as JSON: of what varies within a case, the agent's part and the judge's."""

from __future__ import annotations

from typing import Any

from msgspec import to_builtins

from howsure.model.noise import Noise, Spread
from howsure.reports.figures import counted, number

MOSTLY = 2 / 3
"""From this part of the noise on, one side is worth doing something about first."""


def noise_line(noise: Noise) -> str:
    """`rubric: 70 % of the noise is the agent's, 30 % the judge's (…; 30 cases, …): more repeats help most`."""
    share = noise.judge_share
    basis = f"{counted(noise.cases, 'case')}, {noise.tries:,} tries, {noise.judgements:,} judgements"
    if share is None:
        return f"{noise.grader}: no noise, repeats and judgements always agree ({basis})"
    parts = f"standard deviation {_deviation(noise.agent)} and {_deviation(noise.judge)}"
    split = f"{100 * (1 - share):.0f} % of the noise is the agent's, {100 * share:.0f} % the judge's"
    return f"{noise.grader}: {split} ({parts}; {basis}){_advice(share)}"


def _deviation(spread: Spread) -> str:
    return number(spread.value**0.5)


def _advice(share: float) -> str:
    if share >= MOSTLY:
        return ": ask the judge more often, or take a better one"
    return ": more repeats help most" if share <= 1 - MOSTLY else ""


def noise_wire(noise: Noise) -> dict[str, Any]:
    """Variances are in the square of the grader's unit."""
    return {
        "grader": noise.grader,
        "side": "second" if noise.second else "first",
        "cases": noise.cases,
        "tries": noise.tries,
        "judgements": noise.judgements,
        "variance_between_cases": to_builtins(noise.between_cases),
        "variance_agent": to_builtins(noise.agent),
        "variance_judge": to_builtins(noise.judge),
        "judge_share": noise.judge_share,
    }
