"""Comparisons for the tests of their reports."""

from __future__ import annotations

from typing import Any

from howsure.model.comparison import (
    CaseFlip,
    ChangeKind,
    Comparison,
    Conclusion,
    Difference,
    DifferenceKind,
    FlakinessSource,
    FlakyCase,
    Mismatch,
    MismatchEffect,
    MissingValues,
    PairComparison,
    PairCounts,
    PartChange,
    PinKind,
    Side,
    TryCounts,
)
from howsure.model.score import LIKERT, UNIT, Direction

FIRST = Side(name="before", run_id="11111111-1111-4111-8111-111111111111", run_name="before")
SECOND = Side(name="after", run_id="22222222-2222-4222-8222-222222222222", run_name="after")
PASSED, FAILED = TryCounts(1, 1), TryCounts(0, 1)
JUDGE = Mismatch(
    what=PinKind.JUDGE, bearing=MismatchEffect.FLAGS, said="offline and openai:x: a difference may be the judge's"
)
RULE = PartChange(turn=ChangeKind.REMOVED, kind="rule", id="R2", text="Be kind")
RUBRIC = Mismatch(
    what=PinKind.RUBRIC, bearing=MismatchEffect.FORBIDS, said="1 of its rules is not the same", changes=(RULE,)
)
TARGET = Mismatch(what=PinKind.TARGET, bearing=MismatchEffect.EXPECTED, said="http and adk")


def difference(conclusion: Conclusion = Conclusion.BETTER, **fields: Any) -> Difference:
    plain: dict[str, Any] = {
        "name": "verdict",
        "kind": DifferenceKind.VERDICT,
        "direction": Direction.HIGHER,
        "scale": UNIT,
        "conclusion": conclusion,
        "pairing": PairCounts(paired=60),
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
    kind=DifferenceKind.GRADER,
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
    Conclusion.WORSE, name="returns", kind=DifferenceKind.TAG, difference=-0.3, interval=(-0.5, -0.1), adjusted=0.0004
)
FLIPS = (
    CaseFlip(
        case_id="q7",
        first=PASSED,
        second=FAILED,
        graders=("choice", "rubric:R1"),
        causes=("choice", "Asks for the order"),
    ),
    CaseFlip(case_id="q9", first=FAILED, second=PASSED),
    CaseFlip(case_id="q2", first=TryCounts(0, 3), second=TryCounts(2, 3)),
)
FLAKY = FlakyCase(case_id="q2", second=True, tries=TryCounts(2, 3), blame=FlakinessSource.AGENT)
LEFT = PairCounts(paired=60, only_first=2, without=3, absences=(MissingValues(second=True, why="errored", count=3),))


def compared(verdict: Difference | None = None, **fields: Any) -> PairComparison:
    return PairComparison(**{"first": FIRST, "second": SECOND, "verdict": verdict or difference(), **fields})


def comparison(*pairs: PairComparison, **fields: Any) -> Comparison:
    return Comparison(pairs=pairs or (whole(),), **fields)


def whole() -> PairComparison:
    """One with everything."""
    return compared(
        difference(pairing=LEFT),
        differences=(GRADER, TAG),
        flips=FLIPS,
        unlike=(RUBRIC, JUDGE, TARGET),
        flaky=(FLAKY,),
        notes=("1 and 3 repeats; a case's repeats are averaged",),
    )
