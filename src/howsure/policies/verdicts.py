"""The rule behind every policy: which grades gate, which verdict follows, and the reasons in words. Each number stands
beside its mark.

A gating Score below its mark fails the case; else an error among the gating grades makes it errored; else a missing
judge makes it skipped. Without a gating grade there is nothing to decide. Grades that do not apply are left out. Then
the policies of the worlds, and the two built-in profiles of the Explain world."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import fsum
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from howsure.model.adk_criteria import declares_criteria
from howsure.model.case import Case, World
from howsure.model.result import Result
from howsure.model.rubric import Severity
from howsure.model.score import FREE, LIKERT, Direction, Grade, Score, Unscored, UnscoredReason
from howsure.model.verdict import Decision, Normalization, Profile, Verdict


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

_HARD_FAILS = {
    "TaskAdherenceExplain": 3.0,
    "IntentResolutionExplain": 3.0,
    "ToolCallAccuracyExplain": 3.0,
    CONTRACT: 1.0,
}


def builtin_profiles() -> tuple[Profile, ...]:
    """`prep_default` and `assessment_strict`."""
    return tuple(
        Profile(
            name=name,
            marks={each.name: each.mark for each in _EVALS},
            weights={each.name: getattr(each, name) for each in _EVALS},
            hard_fails=dict(_HARD_FAILS),
            composite_mark=mark,
        )
        for name, mark in ((DEFAULT_PROFILE, 3.65), ("assessment_strict", 3.70))
    )


CRITERIA = "criteria"
RUBRIC = "rubric"
COMPOSITE = "composite"
AS_IMPORTED = "as imported"
NOTHING_TO_DECIDE = "nothing to decide"
NEEDS_A_JUDGE = "needs a judge"
_LONGEST = 200
_MOST_DECIMALS = 6


def failure_reason(score: Score, profile: Profile, *, hard: bool) -> str:
    """Why this Score fails the case."""
    why = f": {_shorten(score.reason)}" if score.reason and score.name not in profile.weights else ""
    if score.name == CRITERIA and score.part:
        return f"criterion not met: {_shorten(score.part.text)}{why}"
    if score.name == RUBRIC and score.part:
        return f"high-severity rule {score.part.id} failed{why}"
    if hard:
        limit = profile.hard_fails[score.name]
        return f"hard fail: {_label(score)} {_compare_with_mark(score, limit, holds=False)}{why}"
    comparison = f"{_label(score)} {_compare_with_mark(score, score.pass_mark, holds=False)}"
    return comparison if score.name == COMPOSITE else f"{comparison}{why}"


def passing_reasons(gating: Sequence[Grade]) -> tuple[str, ...]:
    """What was checked, if all of it passed."""
    criteria = rules = evals = 0
    others: list[str] = []
    for score in gating:
        if not isinstance(score, Score):
            continue
        if score.part and score.name == CRITERIA:
            criteria += 1
        elif score.part and score.name == RUBRIC:
            rules += 1
        elif score.name in EXPLAIN_EVALS:
            evals += 1
        else:
            others.append(f"{_label(score)} {_compare_with_mark(score, score.pass_mark, holds=True)}")
    return (
        *([f"all {criteria} criteria met" if criteria > 1 else "the criterion is met"] if criteria else []),
        *([f"no high-severity rule failed ({rules} checked)"] if rules else []),
        *([f"all {evals} evals reached their marks" if evals > 1 else "the eval reached its mark"] if evals else []),
        *others,
    )


def _label(grade: Grade) -> str:
    """The grader, with the criterion or rule if the grade is about one."""
    if grade.part is None:
        return grade.name
    return f"{grade.name} {_shorten(grade.part.text or grade.part.id, 80)!r}"


def _compare_with_mark(score: Score, mark: float | None, *, holds: bool) -> str:
    """`3.00 < 3.70`, with enough decimals to show that two numbers differ."""
    if mark is None:
        return f"{score.value:.2f}"
    lower = score.direction is Direction.LOWER
    reached = score.value <= mark if lower else score.value >= mark
    sign = ("≤" if lower else "≥") if reached else (">" if lower else "<")
    decimals = 2
    while score.value != mark and f"{score.value:.{decimals}f}" == f"{mark:.{decimals}f}" and decimals < _MOST_DECIMALS:
        decimals += 1
    # `stated_pass` may win over the mark.
    stated = "" if reached is holds else f", and the judge says {'pass' if holds else 'fail'}"
    return f"{score.value:.{decimals}f} {sign} {mark:.{decimals}f}{stated}"


def _shorten(text: str, longest: int = _LONGEST) -> str:
    text = " ".join(text.split())
    return text if len(text) <= longest else f"{text[:longest]}…"


MEASURES = frozenset((
    "token_usage", "latency_metrics", "cache_efficiency", "thinking_metrics", "tool_utilization",
    "tool_success_rate", "grounding_utilization", "context_saturation", "agent_handoffs", "output_density",
    "sandbox_usage", "simulator_fidelity", "simulator_fidelity_judged",
))  # fmt: skip
"""Graders that do not measure how well the agent did (but spans, or the simulated user). They gate only if a profile
names them."""

_NO_PROFILE = Profile(name="")


def decide(grades: Iterable[Grade], profile: Profile | None, free: Collection[str] = ()) -> Decision:
    """The verdict on these grades, after the marks of the profile are set on them. The graders in `free` gate only if
    the profile names them."""
    profile = profile or _NO_PROFILE
    marked = tuple(grades)
    if profile.marks or profile.hard_fails:
        # If a grader grades the whole case, the mark is for that grade only.
        wholes = _whole_case_names(marked)
        marked = tuple(grade if grade.part and grade.name in wholes else _with_mark(grade, profile) for grade in marked)
    gating = _select_gating(marked, profile, free)
    failed = [
        grade
        for grade in gating
        if isinstance(grade, Score) and (grade.passed is False or is_hard_fail(grade, profile))
    ]
    without_value = [grade for grade in gating if isinstance(grade, Unscored)]
    if failed or without_value:
        # The verdict if a gating grade is below its mark or has no value.
        failed.sort(key=lambda score: not is_hard_fail(score, profile))
        broken = [grade for grade in without_value if grade.why is UnscoredReason.ERROR]
        unjudged = [grade for grade in without_value if grade.why is UnscoredReason.NO_JUDGE]
        verdict = Verdict.FAILED if failed else Verdict.ERRORED if broken else Verdict.SKIPPED
        names = dict.fromkeys(grade.name for grade in unjudged if grade.name != COMPOSITE)
        reasons = (
            *(failure_reason(score, profile, hard=is_hard_fail(score, profile)) for score in failed),
            *(f"{_label(grade)} could not be graded: {_shorten(grade.reason)}" for grade in broken),
            *([f"{NEEDS_A_JUDGE}: {', '.join(names) or COMPOSITE}"] if unjudged else []),
        )
        return Decision(verdict=verdict, reasons=reasons, grades=marked)
    if not gating:
        return Decision(verdict=Verdict.SKIPPED, reasons=(NOTHING_TO_DECIDE,), grades=marked)
    return Decision(verdict=Verdict.PASSED, reasons=passing_reasons(gating), grades=marked)


def is_hard_fail(score: Score, profile: Profile) -> bool:
    """Whether a score is below its hard-fail mark, under which nothing else counts."""
    limit = profile.hard_fails.get(score.name)
    if limit is None or (score.part is not None and score.name in (CRITERIA, RUBRIC)):
        return False
    return score.value > limit if score.direction is Direction.LOWER else score.value < limit


def _with_mark(grade: Grade, profile: Profile) -> Grade:
    mark = profile.marks.get(grade.name, grade.pass_mark)
    if mark is None:
        mark = profile.hard_fails.get(grade.name)
    return grade if mark == grade.pass_mark else replace(grade, pass_mark=mark)


def _select_gating(grades: Sequence[Grade], profile: Profile, free: Collection[str]) -> list[Grade]:
    with_parts = {grade.name for grade in grades if grade.part is not None}
    wholes = _whole_case_names(grades) if with_parts else ()
    gating = []
    for grade in grades:
        if not _decides(grade):
            continue
        named = grade.name in profile.marks or grade.name in profile.hard_fails
        if grade.name in (CRITERIA, RUBRIC) and grade.part is None:
            # The whole gates if a profile sets a mark for it, or if it broke before its parts were graded.
            gates = named or grade.name not in with_parts
        elif grade.name == CRITERIA:
            gates = not named
        elif grade.name == RUBRIC and grade.part:
            gates = grade.part.severity is Severity.HIGH
        else:
            gates = grade.part is None or grade.name not in wholes
            if grade.name in free or grade.name in MEASURES:
                gates = gates and named
        if gates:
            gating.append(grade)
    return gating


def deciding_grades(result: Result) -> list[Grade]:
    """The grades that decide a result's verdict. Graders that gate only because a profile names them are recognised by
    the reasons, which begin with their names."""
    free = _not_gating(result.case)
    told = {reason.removeprefix("hard fail: ").split(" ")[0] for reason in result.reasons} & {*free, *MEASURES}
    return _select_gating(result.grades, Profile(name="", marks=dict.fromkeys(told, 0.0)), free)


def _decides(grade: Grade) -> bool:
    """Whether a grade has a mark and a value, or should have had them."""
    if isinstance(grade, Score):
        return grade.pass_mark is not None
    return grade.why is not UnscoredReason.NOT_APPLICABLE and not (grade.pass_mark is None and FREE in grade.details)


def _whole_case_names(grades: Iterable[Grade]) -> set[str]:
    return {grade.name for grade in grades if grade.part is None}


class Policy(Protocol):
    """A pure function from grades to a verdict.

    `profile` None: the policy's own default (or the one the case names).
    """

    def __call__(self, case: Case, grades: Sequence[Grade], profile: Profile | None) -> Decision: ...


_BUILTIN = {profile.name: profile for profile in builtin_profiles()}
_NOT_GATING = frozenset({*EXPLAIN_EVALS, "tool_calls"})


def explain(case: Case, grades: Sequence[Grade], profile: Profile | None) -> Decision:
    """The verdict on an Explain case. `profile` overrides the profile of the case."""
    chosen = profile if profile is not None and profile.name else _BUILTIN.get(case.profile or DEFAULT_PROFILE)
    if chosen is None:
        reason = f"the profile {case.profile!r} is not known; known: {', '.join(_BUILTIN)}"
        return Decision(verdict=Verdict.ERRORED, reasons=(reason,), grades=tuple(grades))
    if CONTRACT not in chosen.hard_fails:
        chosen = replace(chosen, hard_fails={**chosen.hard_fails, CONTRACT: 1.0})
    total = composite(grades, chosen)
    return decide(grades if total is None else (*grades, total), chosen, _NOT_GATING)


def composite(grades: Sequence[Grade], profile: Profile) -> Grade | None:
    """Σ(score · weight) / Σ(weight) over the evals; None if there are none. If an eval has no value, the composite has
    none either: it is never made of the others alone."""
    weighted = [grade for grade in grades if grade.name in profile.weights and grade.part is None]
    scores = [grade for grade in weighted if isinstance(grade, Score)]
    missing = {grade.name: grade.why for grade in weighted if isinstance(grade, Unscored)}
    if missing:
        unjudged = set(missing.values()) == {UnscoredReason.NO_JUDGE}
        return Unscored(
            name=COMPOSITE,
            why=UnscoredReason.NO_JUDGE if unjudged else UnscoredReason.ERROR,
            reason=f"no value for {', '.join(missing)}",
            scale=LIKERT,
            pass_mark=profile.composite_mark,
        )
    weight = fsum(profile.weights[score.name] for score in scores)
    if weight <= 0:
        return None
    # Rounded, so that a sum of exactly 3.65 reaches 3.65 in spite of binary fractions.
    value = round(fsum(score.value * profile.weights[score.name] for score in scores) / weight, 9)
    return Score(
        name=COMPOSITE,
        value=value,
        scale=LIKERT,
        pass_mark=profile.composite_mark,
        reason=f"{len(scores)} evals under {profile.name}",
        details={"profile": profile.name, "weights": {score.name: profile.weights[score.name] for score in scores}},
    )


JUDGED_TO_FIVE = (
    "tool_usage_accuracy_judged", "trajectory_accuracy_judged", "state_management_fidelity_judged",
    "response_correctness", "capability_honesty", "pipeline_integrity",
)  # fmt: skip
"""Judged on 0 to 5."""

JUDGED_SHARES = (
    "general_quality", "text_quality", "instruction_following", "grounding", "hallucination", "safety",
    "final_response_quality", "tool_use_quality", "multi_turn_general_quality", "multi_turn_text_quality",
)  # fmt: skip
"""Judged on 0 to 1, as the share of verdicts on a rubric that the judge writes itself."""

_GOLDEN_NOT_GATING = frozenset({*JUDGED_TO_FIVE, *JUDGED_SHARES, "expected_outcome"})


_BESIDE_ADK = _GOLDEN_NOT_GATING | {"tool_usage_accuracy"}
"""Where the author of a case set criteria of ADK, they say what is enough: our comparison of calls stands beside."""


def golden(case: Case, grades: Sequence[Grade], profile: Profile | None) -> Decision:
    """The verdict on a golden question or a simulated conversation."""
    return decide(grades, profile, _not_gating(case))


WEIGHTED = "weighted_criteria"
PASS_RULE = "pass_rule"
"""The metadata key of a case's own pass rule: `weights`, by grader and the id of its part, and `threshold`."""
DEFAULT_MARK = 0.7

_DEFAULTS = (WEIGHTED, "reference_answer")


def legal(case: Case, grades: Sequence[Grade], profile: Profile | None) -> Decision:
    """The verdict on a case of the legal benchmark."""
    marked = list(map(_with_default_mark, apply_normalization(grades, profile)))
    return _with_failed_part(decide(marked, profile), profile)


def _with_failed_part(decision: Decision, profile: Profile | None) -> Decision:
    """If every criterion must be met, one that is not decides, whatever the others are."""
    unscored = (each for each in decision.grades if isinstance(each, Unscored) and each.part is None)
    broken = {each.name for each in unscored if each.name == WEIGHTED and each.pass_mark == 1}
    failed = decide([each for each in decision.grades if each.part and each.name in broken], profile)
    if decision.verdict is not Verdict.ERRORED or failed.verdict is not Verdict.FAILED:
        return decision
    return Decision(verdict=failed.verdict, reasons=(*failed.reasons, *decision.reasons), grades=decision.grades)


def apply_normalization(grades: Iterable[Grade], profile: Profile | None) -> Iterable[Grade]:
    """The weighted sums with the normalization of the profile. Their grader does not know the profile: it reports both
    values in the details, and `points` as the value. Single criteria have the sum's name and stay as they are."""
    if profile is None or profile.normalization is Normalization.POINTS:
        return grades
    chosen, normalized = profile.normalization.value, list[Grade]()
    for grade in grades:
        is_sum = isinstance(grade, Score) and grade.name == WEIGHTED and grade.part is None
        if is_sum and grade.details.get("normalization") != chosen:
            details, reason = {**grade.details, "normalization": chosen}, f"{grade.reason}, as {chosen}"
            grade = replace(grade, value=grade.details[chosen], reason=reason, details=details)
        normalized.append(grade)
    return normalized


def _with_default_mark(grade: Grade) -> Grade:
    if grade.part is None and grade.pass_mark is None and grade.name in _DEFAULTS:
        return replace(grade, pass_mark=DEFAULT_MARK)
    return grade


_TEST_SET_NOT_GATING = frozenset({"tools_used", "forbidden_tools", "expected_outcome"})


def criteria_and_rules(case: Case, grades: Sequence[Grade], profile: Profile | None) -> Decision:
    """The verdict on a case of a test set."""
    return decide(grades, profile, _TEST_SET_NOT_GATING)


_FREE_BY_WORLD = {
    # Every profile of this world names the evals.
    World.EXPLAIN: frozenset({"tool_calls"}),
    World.GOLDEN: _GOLDEN_NOT_GATING,
    World.TEST_SET: _TEST_SET_NOT_GATING,
}
"""The graders that gate nothing in a world unless a profile names them."""


def _not_gating(case: Case) -> frozenset[str]:
    if case.world == World.GOLDEN and declares_criteria(case):
        return _BESIDE_ADK
    return _FREE_BY_WORLD.get(case.world, frozenset())


def plain(case: Case, grades: Sequence[Grade], profile: Profile | None) -> Decision:
    """The verdict on a case of any other world. A case may bring a pass rule of its own (`PASS_RULE`): weights, and the
    share that is enough."""
    rule = case.metadata.get(PASS_RULE)
    if isinstance(rule, dict):
        grades = weigh(grades, rule.get("weights") or {}, rule.get("threshold"))
    return decide(apply_normalization(grades, profile), profile)


def weigh(grades: Sequence[Grade], weights: Mapping[str, float], threshold: float | None) -> Sequence[Grade]:
    """The grades under a pass rule. A weight of 0 measures only. With a `threshold`, the weighted mean decides in place
    of the single grades; where one of them has no value, there is no mean, and that one decides."""
    parts = {grade.name for grade in grades if grade.part is not None}
    weighted: list[tuple[float, Score]] = []
    marked: list[Grade] = []
    for grade in grades:
        key = grade.name if grade.part is None else f"{grade.name} {grade.part.id}"
        own = grade.part.weight if grade.part else None
        weight = weights.get(key, 1.0) if own is None else own
        counts = _decides(grade) and weight > 0 and (grade.part is not None or grade.name not in parts)
        if isinstance(grade, Score):
            weighted += [(weight, grade)] if counts else []
            marked.append(grade if counts and threshold is None else replace(grade, pass_mark=None))
        else:
            details = grade.details if counts else {**grade.details, FREE: True}
            marked.append(replace(grade, details=details, pass_mark=grade.pass_mark if counts else None))
    total, broken = fsum(weight for weight, _ in weighted), any(isinstance(each, Unscored) for each in marked)
    if threshold is None or not total or (broken and any(_decides(each) for each in marked)):
        return marked
    value = round(fsum(weight * score.value for weight, score in weighted) / total, 9)
    reason = f"the weighted mean of {len(weighted)} grades"
    return [*marked, Score(name=COMPOSITE, value=value, pass_mark=threshold, reason=reason)]


def builtin_policies() -> dict[str, Policy]:
    """The policy of each world. `plain` is also for the worlds of plug-ins."""
    return {
        World.EXPLAIN: explain,
        World.GOLDEN: golden,
        World.TEST_SET: criteria_and_rules,
        World.LEGAL: legal,
        World.PLAIN: plain,
    }
