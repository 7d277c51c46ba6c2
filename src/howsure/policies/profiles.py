"""The two built-in profiles of the Explain world, as one table. More profiles come from `howsure.yaml`."""

from __future__ import annotations

from typing import NamedTuple

from howsure.model.verdict import Profile


class _ExplainEvalRow(NamedTuple):
    name: str
    mark: float
    prep_default: float
    assessment_strict: float


_EVALS = (
    _ExplainEvalRow("TaskAdherenceExplain", 3.7, 0.20, 0.22),
    _ExplainEvalRow("IntentResolutionExplain", 3.6, 0.15, 0.13),
    _ExplainEvalRow("ToolCallAccuracyExplain", 3.5, 0.10, 0.12),
    _ExplainEvalRow("RelevanceExplain", 3.6, 0.15, 0.14),
    _ExplainEvalRow("CoherenceExplain", 3.6, 0.10, 0.10),
    _ExplainEvalRow("PerceivedIntelligenceExplain", 3.5, 0.10, 0.12),
    _ExplainEvalRow("FluencyExplain", 3.7, 0.10, 0.08),
    _ExplainEvalRow("EmpathyExplain", 3.2, 0.05, 0.03),
    _ExplainEvalRow("HelpfulnessExplain", 3.7, 0.05, 0.06),
)
EXPLAIN_EVALS = tuple(each.name for each in _EVALS)
"""The nine Explain evals, those with the largest weights first."""

DEFAULT_PROFILE = "prep_default"
CONTRACT = "output_contract"

_MARKS = {each.name: each.mark for each in _EVALS}
_HARD_FAILS = {
    "TaskAdherenceExplain": 3.0,
    "IntentResolutionExplain": 3.0,
    "ToolCallAccuracyExplain": 3.0,
    CONTRACT: 1.0,
}


def builtin_profiles() -> tuple[Profile, ...]:
    """`prep_default` and `assessment_strict`."""
    return (
        Profile(
            name=DEFAULT_PROFILE,
            marks=dict(_MARKS),
            weights={each.name: each.prep_default for each in _EVALS},
            hard_fails=dict(_HARD_FAILS),
            composite_mark=3.65,
        ),
        Profile(
            name="assessment_strict",
            marks=dict(_MARKS),
            weights={each.name: each.assessment_strict for each in _EVALS},
            hard_fails=dict(_HARD_FAILS),
            composite_mark=3.70,
        ),
    )
