"""How a verdict looks: always a shape, a word and a colour, so that it survives grey print and colour blindness."""

from __future__ import annotations

from msgspec import Struct

from howsure.model.score import Direction, Grade, Score, Why
from howsure.model.verdict import Verdict


class Mark(Struct, frozen=True):
    """`sign` is the shape, `plain` the same in ASCII, `style` a colour of the terminal."""

    sign: str
    plain: str
    word: str
    style: str


PASSED = Mark("●", "o", "passed", "green")
FAILED = Mark("■", "x", "failed", "bold red")
ERRORED = Mark("▲", "!", "errored", "bold magenta")
SKIPPED = Mark("○", "-", "skipped", "dim")
PENDING = Mark("◌", ".", "pending", "dim")
NOT_APPLICABLE = Mark("–", "-", "not applicable", "dim")
NO_JUDGE = Mark("○", "-", "no judge", "dim")
MEASURED = Mark("·", " ", "measured", "dim")

OF_VERDICT = {
    Verdict.PASSED: PASSED,
    Verdict.FAILED: FAILED,
    Verdict.ERRORED: ERRORED,
    Verdict.SKIPPED: SKIPPED,
}
OF_WHY = {Why.ERROR: ERRORED, Why.NOT_APPLICABLE: NOT_APPLICABLE, Why.NO_JUDGE: NO_JUDGE}


def mark_of(grade: Grade) -> Mark:
    """A measure has no mark to reach: it neither passed nor failed."""
    if not isinstance(grade, Score):
        return OF_WHY[grade.why]
    if grade.passed is None:
        return MEASURED
    return PASSED if grade.passed else FAILED


def needed(pass_mark: float | None, direction: Direction = Direction.HIGHER) -> str:
    """`≥ 0.7`: what a value must reach; empty for a measure."""
    if pass_mark is None:
        return ""
    return f"{'≤' if direction is Direction.LOWER else '≥'} {pass_mark:g}"
