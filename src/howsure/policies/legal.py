"""The rule of the legal benchmark: `choice`, `weighted_criteria` and `reference_answer` at their marks (0.7 where
nothing says otherwise), the weighted sum under the profile's normalisation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from howsure.model.case import Case
from howsure.model.profile import Normalization, Profile
from howsure.model.score import Grade, Score
from howsure.model.verdict import Decision
from howsure.policies.deciding import decide

WEIGHTED = "weighted_criteria"
DEFAULT_MARK = 0.7

_DEFAULTS = (WEIGHTED, "reference_answer")


def legal(case: Case, grades: Sequence[Grade], profile: Profile | None) -> Decision:
    """The verdict on one case of the benchmark."""
    return decide(map(_with_default_mark, normalized(grades, profile)), profile)


def normalized(grades: Iterable[Grade], profile: Profile | None) -> Iterable[Grade]:
    """The weighted sums under the profile's normalisation. Their grader does not know the profile: it reports both
    values among the details, and `points` as its value."""
    if profile is None or profile.normalization is Normalization.POINTS:
        return grades
    return [_under(grade, profile.normalization) for grade in grades]


def _under(grade: Grade, normalization: Normalization) -> Grade:
    chosen = normalization.value
    if not isinstance(grade, Score) or grade.name != WEIGHTED or grade.details.get("normalization") == chosen:
        return grade
    details = {**grade.details, "normalization": chosen}
    return replace(grade, value=grade.details[chosen], reason=f"{grade.reason}, as {chosen}", details=details)


def _with_default_mark(grade: Grade) -> Grade:
    if grade.part is None and grade.pass_mark is None and grade.name in _DEFAULTS:
        return replace(grade, pass_mark=DEFAULT_MARK)
    return grade
