"""What the offline judge can come to: an opinion with a stated confidence, or none; and how far people agree with it,
kind by kind. `python -m bench.offline_agreement` measures these figures, and the acceptance tests measure them again: a
figure that no longer holds fails them."""

from __future__ import annotations

from enum import Enum
from typing import Any

from msgspec import Struct, field


class OfflineOpinion(Struct, frozen=True, kw_only=True):
    """A value on the grader's scale. `confidence` is the measured share of people who would agree
    (docs/offline-judge.md); where nothing was measured it is low on purpose."""

    value: float
    confidence: float
    reason: str
    evidence: tuple[str, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)


class NoOpinion(Struct, frozen=True):
    """Nothing in the texts decides the question."""

    why: str


Judgment = OfflineOpinion | NoOpinion


class AgreementKind(Enum):
    """What a figure measures."""

    AGREEMENT = "agreement with people, `cannot tell` counted as disagreement"
    DECIDED = "agreement with people where it decides"
    CORRELATION = "Spearman's rank correlation with people's ratings"
    PREFERENCE = "the answer people prefer has the higher value; ties count half"
    COMPARISON = "agreement of another judge with people on the same answers, for comparison"
    GAP = "difference of two agreements"
    SELF_CHECK = "share of answers judged as they must be"


class MeasuredAgreement(Struct, frozen=True, kw_only=True):
    """One figure: what was judged, on which data, and how often the judge decided."""

    what: str
    data: str
    kind: AgreementKind
    n: int
    decided: int
    value: float


def _measured(what: str, data: str, kind: AgreementKind, decided: tuple[int, int], value: float) -> MeasuredAgreement:
    return MeasuredAgreement(what=what, data=data, kind=kind, decided=decided[0], n=decided[1], value=value)


BEM = "a trained matcher (BEM)"
MEASURED = (
    _measured("short reference answers", "openqa_eval, all", AgreementKind.AGREEMENT, (1490, 1490), 0.813),
    _measured(
        "short reference answers", "openqa_eval, the half it was built on", AgreementKind.AGREEMENT, (728, 728), 0.860
    ),
    _measured("short reference answers", "openqa_eval, the half held out", AgreementKind.AGREEMENT, (762, 762), 0.769),
    _measured(f"short reference answers, {BEM}", "openqa_eval, all", AgreementKind.COMPARISON, (1490, 1490), 0.806),
    _measured(
        f"short reference answers, {BEM}",
        "openqa_eval, the half it was built on",
        AgreementKind.COMPARISON,
        (728, 728),
        0.838,
    ),
    _measured(
        f"short reference answers, {BEM}", "openqa_eval, the half held out", AgreementKind.COMPARISON, (762, 762), 0.776
    ),
    _measured(
        "short reference answers, built on minus held out", "openqa_eval, all", AgreementKind.GAP, (1490, 1490), 0.091
    ),
    _measured(
        "short reference answers, the same, less the trained matcher's",
        "openqa_eval, all",
        AgreementKind.GAP,
        (1490, 1490),
        0.029,
    ),
    _measured("criteria: “Names …”", "openqa_eval, one gold answer", AgreementKind.DECIDED, (703, 829), 0.787),
    _measured(
        "criteria: “Does not mention …”", "openqa_eval, one gold answer", AgreementKind.DECIDED, (716, 829), 0.806
    ),
    _measured("long references against itself", "lexam, open questions", AgreementKind.SELF_CHECK, (100, 100), 1.0),
    _measured(
        "long references against the next question's", "lexam, open questions", AgreementKind.SELF_CHECK, (95, 100), 1.0
    ),
    _measured(
        "CoherenceExplain against rated coherence",
        "unieval, dialogue turns",
        AgreementKind.CORRELATION,
        (360, 360),
        0.344,
    ),
    _measured(
        "FluencyExplain against rated naturalness",
        "unieval, dialogue turns",
        AgreementKind.CORRELATION,
        (360, 360),
        0.206,
    ),
    _measured(
        "PerceivedIntelligenceExplain against rated engagingness",
        "unieval, dialogue turns",
        AgreementKind.CORRELATION,
        (360, 360),
        0.35,
    ),
    _measured(
        "IntentResolutionExplain against rated groundedness",
        "unieval, dialogue turns",
        AgreementKind.CORRELATION,
        (360, 360),
        0.279,
    ),
    _measured(
        "RelevanceExplain against rated overall",
        "unieval, dialogue turns",
        AgreementKind.CORRELATION,
        (360, 360),
        0.297,
    ),
    _measured(
        "HelpfulnessExplain against rated overall",
        "unieval, dialogue turns",
        AgreementKind.CORRELATION,
        (360, 360),
        0.300,
    ),
    _measured(
        "TaskAdherenceExplain against rated overall",
        "unieval, dialogue turns",
        AgreementKind.CORRELATION,
        (360, 360),
        0.263,
    ),
    _measured("HelpfulnessExplain", "pandalm, pairs without a tie", AgreementKind.PREFERENCE, (814, 894), 0.655),
    _measured("HelpfulnessExplain", "llmbar/Natural", AgreementKind.PREFERENCE, (91, 100), 0.595),
)
NOT_MEASURED = (
    "criteria about tone, reasoning or conduct, rubric rules and expected outcomes: mostly `cannot tell`; no public "
    "set of ours has answers with people's verdicts on them",
    "ToolCallAccuracyExplain and the golden world's judged evals: the program's comparison with the expected calls, "
    "steps, state or answer, on the judge's scale",
    "EmpathyExplain: words of feeling; mostly `cannot tell`",
)


def agreement_rows(measured: tuple[MeasuredAgreement, ...] = MEASURED) -> list[tuple[str, str, str, str, str]]:
    """The figures as rows to print: what, data, decided of n, value, and what the value measures."""
    return [
        (each.what, each.data, f"{each.decided:,} of {each.n:,}", f"{each.value:.3f}", each.kind.value)
        for each in measured
    ]
