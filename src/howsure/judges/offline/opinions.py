"""The result of the offline judge: an opinion with a stated confidence, or none; and how often people agree with it, by
kind. The figures are about the grades that a user gets. `python -m bench.offline_agreement` measures them, and the
acceptance tests measure them again: a figure that no longer holds fails them."""

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


BEM = "a trained matcher (BEM)"
_ALL = "openqa_eval, all"
_BUILT_ON = "openqa_eval, the half it was built on"
_HELD_OUT = "openqa_eval, the half held out"
_ONE_GOLD = "openqa_eval, one gold answer"
_LEXAM = "lexam, open questions"
_CHAT = "unieval, dialogue turns"
MEASURED = tuple(
    MeasuredAgreement(what=what, data=data, kind=kind, decided=decided, n=n, value=value)
    for what, data, kind, decided, n, value in (
        ("short reference answers", _ALL, AgreementKind.AGREEMENT, 1487, 1490, 0.813),
        ("short reference answers", _BUILT_ON, AgreementKind.AGREEMENT, 728, 728, 0.86),
        ("short reference answers", _HELD_OUT, AgreementKind.AGREEMENT, 759, 762, 0.769),
        (f"short reference answers, {BEM}", _ALL, AgreementKind.COMPARISON, 1490, 1490, 0.806),
        (f"short reference answers, {BEM}", _BUILT_ON, AgreementKind.COMPARISON, 728, 728, 0.838),
        (f"short reference answers, {BEM}", _HELD_OUT, AgreementKind.COMPARISON, 762, 762, 0.776),
        ("short reference answers, built on minus held out", _ALL, AgreementKind.GAP, 1490, 1490, 0.091),
        ("short reference answers, the same, less the trained matcher's", _ALL, AgreementKind.GAP, 1490, 1490, 0.029),
        ("criteria: “Names …”", _ONE_GOLD, AgreementKind.DECIDED, 703, 829, 0.787),
        ("criteria: “Does not mention …”", _ONE_GOLD, AgreementKind.DECIDED, 716, 829, 0.806),
        ("long references against itself", _LEXAM, AgreementKind.SELF_CHECK, 100, 100, 1.0),
        ("long references against the next question's", _LEXAM, AgreementKind.SELF_CHECK, 94, 100, 1.0),
        ("PerceivedIntelligenceExplain against rated engagingness", _CHAT, AgreementKind.CORRELATION, 360, 360, 0.294),
        ("IntentResolutionExplain against rated groundedness", _CHAT, AgreementKind.CORRELATION, 360, 360, 0.278),
        ("HelpfulnessExplain against rated overall", _CHAT, AgreementKind.CORRELATION, 360, 360, 0.271),
        ("TaskAdherenceExplain against rated overall", _CHAT, AgreementKind.CORRELATION, 360, 360, 0.249),
        ("HelpfulnessExplain", "pandalm, pairs without a tie", AgreementKind.PREFERENCE, 500, 894, 0.629),
        ("HelpfulnessExplain", "llmbar/Natural", AgreementKind.PREFERENCE, 43, 100, 0.545),
    )
)  # fmt: skip
NOT_MEASURED = (
    "CoherenceExplain, FluencyExplain and RelevanceExplain: `cannot tell` except where it is obvious (echoes, loops, "
    "refusals, contradictions); on answers not seen before their grades were no better than chance",
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
