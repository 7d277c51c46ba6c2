"""Results with grades, for the tests of pages."""

from __future__ import annotations

from typing import Any

from howsure.model.result import Result
from howsure.model.score import Grade
from howsure.model.verdict import Verdict
from howsure.testing import a_case, a_transcript


def a_graded(*grades: Grade, **fields: Any) -> Result:
    plain: dict[str, Any] = {"case": a_case(), "verdict": Verdict.FAILED, "transcript": a_transcript("said")}
    return Result(**{**plain, "grades": grades, **fields})
