"""Results with grades, for the tests of pages."""

from __future__ import annotations

from typing import Any

from assay.model.result import Result
from assay.model.score import Grade
from assay.model.verdict import Verdict
from assay.testing import a_case, a_transcript


def a_graded(*grades: Grade, **fields: Any) -> Result:
    plain: dict[str, Any] = {"case": a_case(), "verdict": Verdict.FAILED, "transcript": a_transcript("said")}
    return Result(**{**plain, "grades": grades, **fields})
