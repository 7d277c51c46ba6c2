"""Every built-in grader that asks a judge."""

from __future__ import annotations

from howsure.graders.base import Binding
from howsure.graders.criteria import CriteriaGrader
from howsure.graders.expected_outcome import ExpectedOutcomeGrader
from howsure.graders.explain_evals import explain_evals
from howsure.graders.golden_judged import golden_judged
from howsure.graders.reference_answer import ReferenceAnswerGrader
from howsure.graders.rubric_rules import RubricGrader
from howsure.graders.simulator_fidelity import JudgedFidelityGrader
from howsure.graders.weighted_criteria import WeightedCriteriaGrader


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
