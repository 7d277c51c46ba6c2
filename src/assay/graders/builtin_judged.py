"""Every built-in grader that asks a judge."""

from __future__ import annotations

from assay.graders.base import Binding
from assay.graders.criteria import CriteriaGrader
from assay.graders.expected_outcome import ExpectedOutcomeGrader
from assay.graders.explain_evals import explain_evals
from assay.graders.golden_judged import golden_judged
from assay.graders.reference_answer import ReferenceAnswerGrader
from assay.graders.rubric_rules import RubricGrader
from assay.graders.simulator_fidelity import JudgedFidelityGrader
from assay.graders.weighted_criteria import WeightedCriteriaGrader


def judged_graders() -> tuple[Binding, ...]:
    return (
        *explain_evals(),
        CriteriaGrader(),
        RubricGrader(),
        ExpectedOutcomeGrader(),
        WeightedCriteriaGrader(),
        ReferenceAnswerGrader(),
        *golden_judged(),
        JudgedFidelityGrader(),
    )
