"""Comparisons for the tests of their reports."""

from __future__ import annotations

from typing import Any

from howsure.model.comparison import (
    Absence,
    Bearing,
    Blame,
    Change,
    Compared,
    Comparison,
    Conclusion,
    Difference,
    Flaky,
    Flip,
    Kind,
    Pairing,
    Side,
    Tries,
    Turn,
    Unlike,
    What,
)
from howsure.model.score import LIKERT, UNIT, Direction

FIRST = Side(name="before", run_id="11111111-1111-4111-8111-111111111111", run_name="before")
SECOND = Side(name="after", run_id="22222222-2222-4222-8222-222222222222", run_name="after")
PASSED, FAILED = Tries(1, 1), Tries(0, 1)
JUDGE = Unlike(what=What.JUDGE, bearing=Bearing.FLAGS, said="offline and openai:x: a difference may be the judge's")
RULE = Change(turn=Turn.REMOVED, kind="rule", id="R2", text="Be kind")
RUBRIC = Unlike(what=What.RUBRIC, bearing=Bearing.FORBIDS, said="1 of its rules is not the same", changes=(RULE,))
TARGET = Unlike(what=What.TARGET, bearing=Bearing.EXPECTED, said="http and adk")


def difference(conclusion: Conclusion = Conclusion.BETTER, **fields: Any) -> Difference:
    plain: dict[str, Any] = {
        "name": "verdict",
        "kind": Kind.VERDICT,
        "direction": Direction.HIGHER,
        "scale": UNIT,
        "conclusion": conclusion,
        "pairing": Pairing(paired=60),
        "first": 0.7,
        "second": 0.85,
        "difference": 0.15,
        "interval": (0.041, 0.262),
        "p_value": 0.0117,
        "method": "exact_mcnemar",
        "clusters": 60,
        "margin": 0.05,
        "raised": 11,
        "lowered": 2,
        "same": 47,
    }
    return Difference(**{**plain, **fields})


GRADER = difference(
    Conclusion.CANNOT_TELL,
    name="RelevanceExplain",
    kind=Kind.GRADER,
    scale=LIKERT,
    first=3.5,
    second=3.25,
    difference=-0.25,
    interval=(-0.6, 0.1),
    p_value=0.2,
    adjusted=0.4,
    needed=140,
)
TAG = difference(
    Conclusion.WORSE, name="returns", kind=Kind.TAG, difference=-0.3, interval=(-0.5, -0.1), adjusted=0.0004
)
FLIPS = (
    Flip(case_id="q7", first=PASSED, second=FAILED, graders=("choice", "rubric:R1")),
    Flip(case_id="q9", first=FAILED, second=PASSED),
    Flip(case_id="q2", first=Tries(0, 3), second=Tries(2, 3)),
)
FLAKY = Flaky(case_id="q2", second=True, tries=Tries(2, 3), blame=Blame.AGENT)
LEFT = Pairing(paired=60, only_first=2, without=3, absences=(Absence(second=True, why="errored", count=3),))


def compared(verdict: Difference | None = None, **fields: Any) -> Compared:
    return Compared(**{"first": FIRST, "second": SECOND, "verdict": verdict or difference(), **fields})


def comparison(*pairs: Compared, **fields: Any) -> Comparison:
    return Comparison(pairs=pairs or (whole(),), **fields)


def whole() -> Compared:
    """One with everything."""
    return compared(
        difference(pairing=LEFT),
        differences=(GRADER, TAG),
        flips=FLIPS,
        unlike=(RUBRIC, JUDGE, TARGET),
        flaky=(FLAKY,),
        notes=("1 and 3 repeats; a case's repeats are averaged",),
    )
