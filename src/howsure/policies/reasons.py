"""Verdicts in words: why a case failed, broke, was skipped, or passed. Every number stands beside its mark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from howsure.model.profile import Profile
from howsure.model.score import Direction, Grade, Score, Unscored
from howsure.policies.profiles import EXPLAIN_EVALS

CRITERIA = "criteria"
RUBRIC = "rubric"
COMPOSITE = "composite"
NOTHING_TO_DECIDE = "nothing to decide"
NEEDS_A_JUDGE = "needs a judge"
_LONGEST = 200
_MOST_DECIMALS = 6


def failure_reason(score: Score, profile: Profile, *, hard: bool) -> str:
    """Why this Score fails the case."""
    why = f": {_short(score.reason)}" if score.reason and score.name not in profile.weights else ""
    if score.name == CRITERIA and score.part:
        return f"criterion not met: {_short(score.part.text)}{why}"
    if score.name == RUBRIC and score.part:
        return f"high-severity rule {score.part.id} failed{why}"
    if hard:
        return f"hard fail: {_label(score)} {_against(score, profile.hard_fails[score.name], holds=False)}{why}"
    return f"{_label(score)} {_against(score, score.pass_mark, holds=False)}{why if score.name != COMPOSITE else ''}"


def error_reasons(broken: Sequence[Unscored]) -> Iterator[str]:
    """What could not be graded, each with its reason."""
    for grade in broken:
        yield f"{_label(grade)} could not be graded: {_short(grade.reason)}"


def judge_reason(unjudged: Sequence[Unscored]) -> Iterator[str]:
    """One sentence that names every grader that had no judge."""
    names = dict.fromkeys(grade.name for grade in unjudged if grade.name != COMPOSITE)
    if unjudged:
        yield f"{NEEDS_A_JUDGE}: {', '.join(names) or COMPOSITE}"


def passing_reasons(gating: Sequence[Grade]) -> tuple[str, ...]:
    """What was checked, when all of it held."""
    criteria = rules = evals = 0
    others: list[str] = []
    for score in gating:
        if not isinstance(score, Score):
            continue
        if score.part and score.name == CRITERIA:
            criteria += 1
        elif score.part and score.name == RUBRIC:
            rules += 1
        elif score.name in EXPLAIN_EVALS:
            evals += 1
        else:
            others.append(f"{_label(score)} {_against(score, score.pass_mark, holds=True)}")
    return (
        *([f"all {criteria} criteria met" if criteria > 1 else "the criterion is met"] if criteria else []),
        *([f"no high-severity rule failed ({rules} checked)"] if rules else []),
        *([f"all {evals} evals reached their marks" if evals > 1 else "the eval reached its mark"] if evals else []),
        *others,
    )


def _label(grade: Grade) -> str:
    """The grader, and the criterion or rule where it is about one."""
    if grade.part is None:
        return grade.name
    return f"{grade.name} {_short(grade.part.text or grade.part.id, 80)!r}"


def _against(score: Score, mark: float | None, *, holds: bool) -> str:
    """`3.00 < 3.70`, with as many decimals as it takes to tell two different numbers apart."""
    if mark is None:
        return f"{score.value:.2f}"
    lower = score.direction is Direction.LOWER
    sign = ("≤" if lower else "≥") if holds else (">" if lower else "<")
    decimals = 2
    while score.value != mark and f"{score.value:.{decimals}f}" == f"{mark:.{decimals}f}" and decimals < _MOST_DECIMALS:
        decimals += 1
    return f"{score.value:.{decimals}f} {sign} {mark:.{decimals}f}"


def _short(text: str, longest: int = _LONGEST) -> str:
    text = " ".join(text.split())
    return text if len(text) <= longest else f"{text[:longest]}…"
