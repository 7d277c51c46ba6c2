"""The other worlds' rules: what gates in each, and what does not."""

from __future__ import annotations

from math import fsum
from typing import Any

import pytest

from howsure.model.case import Case, SingleTurn, World
from howsure.model.rubric import Severity
from howsure.model.score import LIKERT, ZERO_TO_FIVE, Grade, Part, Score, Unscored, UnscoredReason
from howsure.model.verdict import Decision, Normalization, Profile, Verdict
from howsure.policies.verdicts import (
    EXPLAIN_EVALS,
    JUDGED_SHARES,
    JUDGED_TO_FIVE,
    MEASURES,
    PASS_RULE,
    builtin_policies,
    builtin_profiles,
    explain,
    plain,
)
from howsure.testing import a_case


def decided(world: str, grades: list[Grade], profile: Profile | None = None) -> Decision:
    return builtin_policies()[world](a_case(world=world), grades, profile)


def scored(name: str, value: float, mark: float | None = 1.0, part: Part | None = None) -> Score:
    return Score(name=name, value=value, pass_mark=mark, part=part)


def criterion(id: str, value: float) -> Score:
    return scored("criteria", value, 1.0, Part(id=id, text=id))


def rule(id: str, severity: Severity, value: float) -> Score:
    return scored("rubric", value, 1.0, Part(id=id, text=id, severity=severity))


MET, UNMET = criterion("a", 1), criterion("b", 0)


def test_every_world_has_a_policy() -> None:
    assert set(builtin_policies()) == {"explain", "golden", "test-set", "legal", "plain"}


@pytest.mark.parametrize(
    ("grades", "verdict"),
    [
        ([MET, scored("criteria", 1)], Verdict.PASSED),
        ([MET, UNMET, scored("criteria", 0.5)], Verdict.FAILED),
        ([MET, rule("r", Severity.HIGH, 0), scored("rubric", 0, None)], Verdict.FAILED),
        ([MET, rule("r", Severity.MEDIUM, 0), scored("rubric", 0, None)], Verdict.PASSED),
        ([MET, rule("r", Severity.LOW, 0), scored("rubric", 0, None)], Verdict.PASSED),
        ([MET, scored("tools_used", 0)], Verdict.PASSED),
        ([MET, scored("expected_outcome", 0)], Verdict.PASSED),
        ([MET, Unscored(name="expected_outcome", why=UnscoredReason.NO_JUDGE, reason="needs a judge")], Verdict.PASSED),
        ([MET, Unscored(name="tools_used", why=UnscoredReason.ERROR, reason="hm")], Verdict.PASSED),
        ([scored("tools_used", 0)], Verdict.SKIPPED),
        (
            [UNMET, Unscored(name="criteria", why=UnscoredReason.ERROR, reason="hm", part=Part(id="c", text="c"))],
            Verdict.FAILED,
        ),
        ([MET, scored("word_limit", 0)], Verdict.FAILED),
    ],
    ids=[
        "met",
        "one unmet",
        "a high rule",
        "a medium rule",
        "a low rule",
        "tools are shown",
        "the outcome is shown",
        "the outcome has no judge",
        "tools broke",
        "nothing but tools",
        "one unmet, one broken",
        "a plug-in's check",
    ],
)
def test_a_test_set_passes_when_all_criteria_hold_and_no_high_rule_fails(grades: list[Grade], verdict: Verdict) -> None:
    assert decided(World.TEST_SET, grades).verdict is verdict


@pytest.mark.parametrize("name", ["tools_used", "expected_outcome"])
def test_in_a_test_set_a_profile_makes_the_others_gate(name: str) -> None:
    decision = decided(World.TEST_SET, [MET, scored(name, 0)], Profile(name="p", marks={name: 1}))
    assert (decision.verdict, decision.reasons) == (Verdict.FAILED, (f"{name} 0.00 < 1.00",))


@pytest.mark.parametrize(
    "name", ["tool_usage_accuracy", "trajectory_accuracy", "state_management_fidelity", "agent_routing"]
)
def test_in_the_golden_world_every_reference_gates(name: str) -> None:
    assert decided(World.GOLDEN, [scored(name, 1)]).verdict is Verdict.PASSED
    assert decided(World.GOLDEN, [scored(name, 0.5)]).verdict is Verdict.FAILED
    assert (
        decided(World.GOLDEN, [Unscored(name=name, why=UnscoredReason.ERROR, reason="no state")]).verdict
        is Verdict.ERRORED
    )


@pytest.mark.parametrize("name", [*JUDGED_TO_FIVE, *JUDGED_SHARES, *sorted(MEASURES)])
def test_in_the_golden_world_judged_evals_and_measures_gate_only_where_marked(name: str) -> None:
    passing = scored("agent_routing", 1)
    low = Score(name=name, value=0, scale=ZERO_TO_FIVE)
    assert decided(World.GOLDEN, [passing, low]).verdict is Verdict.PASSED
    assert decided(World.GOLDEN, [low]).verdict is Verdict.SKIPPED
    assert decided(World.GOLDEN, [passing, low], Profile(name="p", marks={name: 3})).verdict is Verdict.FAILED


def test_a_golden_case_without_references_has_nothing_to_decide() -> None:
    decision = decided(World.GOLDEN, [Score(name="token_usage", value=0.1)])
    assert (decision.verdict, decision.reasons) == (Verdict.SKIPPED, ("nothing to decide",))
    assert len(decision.grades) == 1


def weighted(points: float | None, min_max: float, mark: float | None = 0.7) -> Score:
    shown = "min_max" if points is None else "points"
    return Score(
        name="weighted_criteria",
        value=min_max if points is None else points,
        pass_mark=mark,
        reason="3 of 8 points",
        details={"points": points, "min_max": min_max, "normalization": shown, "raw_sum": 3.0},
    )


MIN_MAX = Profile(name="", normalization=Normalization.MIN_MAX)


@pytest.mark.parametrize(
    ("grade", "profile", "value", "verdict"),
    [
        (weighted(3 / 8, 8 / 13), None, 0.375, Verdict.FAILED),
        (weighted(3 / 8, 8 / 13), MIN_MAX, 8 / 13, Verdict.FAILED),
        (weighted(0.6, 0.75), MIN_MAX, 0.75, Verdict.PASSED),
        (weighted(0.6, 0.75), Profile(name="p"), 0.6, Verdict.FAILED),
        (weighted(0.6, 0.75), Profile(name="p", marks={"weighted_criteria": 0.6}), 0.6, Verdict.PASSED),
        (weighted(None, 1.0), None, 1.0, Verdict.PASSED),
        (weighted(None, 0.4), MIN_MAX, 0.4, Verdict.FAILED),
        (weighted(0.69, 0.7, mark=None), None, 0.69, Verdict.FAILED),
    ],
    ids=[
        "both of 8 and -5 met",
        "the same as min-max",
        "min-max reaches the mark",
        "points unless said",
        "the profile's mark",
        "no positive weight",
        "no positive weight, min-max",
        "0.7 by default",
    ],
)
def test_weighted_criteria_gate_under_the_profiles_normalisation(
    grade: Score, profile: Profile | None, value: float, verdict: Verdict
) -> None:
    decision = decided(World.LEGAL, [grade], profile)
    (kept,) = decision.grades
    assert isinstance(kept, Score)
    assert (kept.value, decision.verdict) == (value, verdict)


def test_the_normalisation_that_was_used_is_written_down() -> None:
    (kept,) = decided(World.LEGAL, [weighted(0.6, 0.75)], MIN_MAX).grades
    assert kept.details["normalization"] == "min_max"
    assert kept.details["points"] == 0.6
    assert kept.reason == "3 of 8 points, as min_max"
    assert decided(World.PLAIN, [weighted(0.6, 0.75)], MIN_MAX).verdict is Verdict.PASSED


@pytest.mark.parametrize("world", [World.LEGAL, World.PLAIN])
def test_min_max_is_for_the_sum_and_not_for_its_criteria(world: str) -> None:
    """The criteria have the name of the sum: taken for sums, they ended every run that had a rubric."""
    part = scored("weighted_criteria", 0, 1.0, Part(id="a", text="A", weight=1.0))
    decision = decided(world, [part, weighted(0.6, 0.75)], MIN_MAX)
    assert decision.grades[0] == part
    assert (getattr(decision.grades[1], "value", None), decision.verdict) == (0.75, Verdict.PASSED)


@pytest.mark.parametrize(
    ("value", "stated", "verdict", "reason"),
    [
        (0.6, True, Verdict.PASSED, "reference_answer 0.60 < 0.70, and the judge says pass"),
        (0.9, False, Verdict.FAILED, "reference_answer 0.90 ≥ 0.70, and the judge says fail"),
        (0.9, True, Verdict.PASSED, "reference_answer 0.90 ≥ 0.70"),
        (0.6, False, Verdict.FAILED, "reference_answer 0.60 < 0.70"),
    ],
)
def test_where_the_judges_own_pass_wins_the_value_stays_and_the_reason_says_so(
    value: float, stated: bool, verdict: Verdict, reason: str
) -> None:
    grade = Score(name="reference_answer", value=value, pass_mark=0.7, stated_pass=stated)
    decision = decided(World.LEGAL, [grade])
    assert (decision.verdict, decision.reasons) == (verdict, (reason,))
    assert decision.grades == (grade,)


def test_parts_of_a_weighted_sum_do_not_gate() -> None:
    part = scored("weighted_criteria", 0, 1.0, Part(id="a", text="A", weight=1.0))
    assert decided(World.LEGAL, [part, weighted(0.8, 0.8)]).verdict is Verdict.PASSED


@pytest.mark.parametrize(
    ("grade", "verdict"),
    [
        (scored("choice", 1), Verdict.PASSED),
        (scored("choice", 0), Verdict.FAILED),
        (Unscored(name="choice", why=UnscoredReason.ERROR, reason="two answers"), Verdict.ERRORED),
        (scored("reference_answer", 0.7, None), Verdict.PASSED),
        (scored("reference_answer", 0.69, None), Verdict.FAILED),
        (Unscored(name="reference_answer", why=UnscoredReason.NO_JUDGE, reason="needs a judge"), Verdict.SKIPPED),
        (Unscored(name="weighted_criteria", why=UnscoredReason.ERROR, reason="1 of 3"), Verdict.ERRORED),
    ],
)
def test_the_legal_graders_gate(grade: Grade, verdict: Verdict) -> None:
    assert decided(World.LEGAL, [grade]).verdict is verdict


def test_in_no_world_every_mark_gates_and_a_profile_adds_some() -> None:
    grades: list[Grade] = [scored("word_limit", 1), Score(name="style", value=0.4)]
    assert decided(World.PLAIN, grades).verdict is Verdict.PASSED
    assert decided(World.PLAIN, grades, Profile(name="p", marks={"style": 0.5})).verdict is Verdict.FAILED


PREP, STRICT = builtin_profiles()
TASK, INTENT, TOOLS, RELEVANCE, COHERENCE, INTELLIGENCE, FLUENCY, EMPATHY, HELPFUL = EXPLAIN_EVALS


def evals(default: float | None = None, **values: float | UnscoredReason) -> list[Grade]:
    """`default` for all nine, and others by the start of their names."""
    given: dict[str, float | UnscoredReason] = {} if default is None else dict.fromkeys(EXPLAIN_EVALS, default)
    for start, value in values.items():
        given[next(name for name in EXPLAIN_EVALS if name.startswith(start))] = value
    return [
        Unscored(name=name, why=value, reason="hm", scale=LIKERT)
        if isinstance(value, UnscoredReason)
        else Score(name=name, value=value, scale=LIKERT, reason="the judge's words")
        for name, value in given.items()
    ]


def contract(value: float) -> Score:
    return Score(name="output_contract", value=value, pass_mark=1.0, reason="`questions` is missing" * (value == 0))


def decide_explain(grades: list[Grade], profile: Profile | None = None, case: Case | None = None) -> Decision:
    return explain(case or a_case(world=World.EXPLAIN), grades, profile)


def composite(decision: Decision) -> Grade | None:
    return next((grade for grade in decision.grades if grade.name == "composite"), None)


def test_the_two_built_in_profiles_are_the_table_of_the_policy() -> None:
    assert (PREP.name, PREP.composite_mark, STRICT.name, STRICT.composite_mark) == (
        "prep_default",
        3.65,
        "assessment_strict",
        3.70,
    )
    for profile in (PREP, STRICT):
        assert fsum(profile.weights.values()) == pytest.approx(1.0)
        assert profile.marks == {
            "TaskAdherenceExplain": 3.7,
            "IntentResolutionExplain": 3.6,
            "ToolCallAccuracyExplain": 3.5,
            "RelevanceExplain": 3.6,
            "CoherenceExplain": 3.6,
            "PerceivedIntelligenceExplain": 3.5,
            "FluencyExplain": 3.7,
            "EmpathyExplain": 3.2,
            "HelpfulnessExplain": 3.7,
        }
    assert list(PREP.weights.values()) == [0.20, 0.15, 0.10, 0.15, 0.10, 0.10, 0.10, 0.05, 0.05]
    assert list(STRICT.weights.values()) == [0.22, 0.13, 0.12, 0.14, 0.10, 0.12, 0.08, 0.03, 0.06]


def test_all_marks_reached_is_a_pass_in_words() -> None:
    decision = decide_explain(evals(4, Task=5, Relevance=5))
    assert decision.verdict is Verdict.PASSED
    assert decision.reasons == ("all 9 evals reached their marks", "composite 4.35 ≥ 3.65")
    marks = {grade.name: grade.pass_mark for grade in decision.grades}
    assert marks == {**PREP.marks, "composite": 3.65}


@pytest.mark.parametrize(
    ("grades", "reasons"),
    [
        (evals(4, Empathy=3), ("EmpathyExplain 3.00 < 3.20",)),
        (evals(4, Task=2), ("hard fail: TaskAdherenceExplain 2.00 < 3.00", "composite 3.60 < 3.65")),
        (
            evals(4, Task=2, Relevance=3),
            (
                "hard fail: TaskAdherenceExplain 2.00 < 3.00",
                "RelevanceExplain 3.00 < 3.60",
                "composite 3.45 < 3.65",
            ),
        ),
        (evals(5, Task=3), ("TaskAdherenceExplain 3.00 < 3.70",)),
        (evals(5, Intent=2), ("hard fail: IntentResolutionExplain 2.00 < 3.00",)),
        (evals(5, ToolCall=1), ("hard fail: ToolCallAccuracyExplain 1.00 < 3.00",)),
        (evals(5, Coherence=2), ("CoherenceExplain 2.00 < 3.60",)),
        (
            [*evals(5), contract(0)],
            ("hard fail: output_contract 0.00 < 1.00: `questions` is missing",),
        ),
        (
            [*evals(5, Coherence=2), contract(0)],
            ("hard fail: output_contract 0.00 < 1.00: `questions` is missing", "CoherenceExplain 2.00 < 3.60"),
        ),
    ],
)
def test_hard_fails_come_first_then_marks_then_the_composite(grades: list[Grade], reasons: tuple[str, ...]) -> None:
    decision = decide_explain(grades)
    assert (decision.verdict, decision.reasons) == (Verdict.FAILED, reasons)


@pytest.mark.parametrize(
    ("grades", "profile", "value"),
    [
        (evals(4, Task=5, Relevance=5), PREP, 4.35),
        (evals(4, Task=5, Relevance=5), STRICT, 4.36),
        (evals(Task=5, Intent=3), PREP, (5 * 0.20 + 3 * 0.15) / 0.35),
        (evals(Empathy=2), PREP, 2.0),
        (evals(5), PREP, 5.0),
        (evals(1), STRICT, 1.0),
    ],
)
def test_the_composite_is_weighed_over_the_evals_present(grades: list[Grade], profile: Profile, value: float) -> None:
    total = composite(decide_explain(grades, profile))
    assert isinstance(total, Score)
    assert total.value == pytest.approx(value)
    assert total.scale == LIKERT


def test_a_sum_of_exactly_the_mark_reaches_it() -> None:
    profile = Profile(name="p", weights={TASK: 0.1, INTENT: 0.2, TOOLS: 0.7}, composite_mark=3.3)
    decision = decide_explain(evals(Task=4, Intent=5, ToolCall=2.714285714285714), profile)
    assert composite(decision) is not None
    even = Profile(name="p", weights={TASK: 0.35, INTENT: 0.65}, composite_mark=3.65)
    assert decide_explain(evals(Task=3, Intent=4), even).verdict is Verdict.PASSED


@pytest.mark.parametrize(
    ("grades", "verdict", "reasons"),
    [
        (
            evals(5, Relevance=UnscoredReason.ERROR),
            Verdict.ERRORED,
            (
                "RelevanceExplain could not be graded: hm",
                "composite could not be graded: no value for RelevanceExplain",
            ),
        ),
        (
            evals(5, Relevance=UnscoredReason.ERROR, Empathy=2),
            Verdict.FAILED,
            (
                "EmpathyExplain 2.00 < 3.20",
                "RelevanceExplain could not be graded: hm",
                "composite could not be graded: no value for RelevanceExplain",
            ),
        ),
        (
            evals(Relevance=UnscoredReason.NO_JUDGE, Fluency=UnscoredReason.NO_JUDGE),
            Verdict.SKIPPED,
            ("needs a judge: RelevanceExplain, FluencyExplain",),
        ),
        ([], Verdict.SKIPPED, ("nothing to decide",)),
        (
            evals(5, Relevance=UnscoredReason.NOT_APPLICABLE),
            Verdict.ERRORED,
            ("composite could not be graded: no value for RelevanceExplain",),
        ),
        ([*evals(Relevance=UnscoredReason.NO_JUDGE), contract(0)], Verdict.FAILED, None),
    ],
)
def test_what_has_no_value_never_enters_the_composite(
    grades: list[Grade], verdict: Verdict, reasons: tuple[str, ...] | None
) -> None:
    decision = decide_explain(grades)
    assert decision.verdict is verdict
    assert reasons is None or decision.reasons == reasons
    assert not isinstance(composite(decision), Score)


def test_tool_calls_by_program_do_not_gate() -> None:
    wrong = Score(name="tool_calls", value=0.0, pass_mark=1.0)
    assert decide_explain([*evals(5), wrong]).verdict is Verdict.PASSED
    broken = Unscored(name="tool_calls", why=UnscoredReason.ERROR, reason="hm")
    assert decide_explain([*evals(5), broken]).verdict is Verdict.PASSED


@pytest.mark.parametrize(
    ("named", "given", "value"),
    [("", None, 4.35), ("assessment_strict", None, 4.36), ("assessment_strict", PREP, 4.35), ("x", STRICT, 4.36)],
)
def test_the_runs_profile_goes_before_the_cases(named: str, given: Profile | None, value: float) -> None:
    case = a_case(world=World.EXPLAIN, profile=named)
    total = composite(decide_explain(evals(4, Task=5, Relevance=5), given, case))
    assert isinstance(total, Score)
    assert total.value == pytest.approx(value)


def test_a_profile_that_says_only_how_to_normalise_leaves_the_cases_in_force() -> None:
    bare = Profile(name="", normalization=Normalization.MIN_MAX)
    assert decide_explain(evals(4, Empathy=3), bare).verdict is Verdict.FAILED


def test_a_profile_nobody_knows_is_an_error_and_not_the_default() -> None:
    decision = decide_explain(evals(5), None, a_case(world=World.EXPLAIN, profile="lenient"))
    assert decision.verdict is Verdict.ERRORED
    assert decision.reasons == ("the profile 'lenient' is not known; known: prep_default, assessment_strict",)


def test_a_contract_violation_is_a_hard_fail_under_every_profile() -> None:
    own = Profile(name="own", marks={RELEVANCE: 2})
    assert decide_explain([*evals(Relevance=5), contract(0)], own).reasons[0].startswith("hard fail: output_contract")


def test_an_eval_that_the_profile_does_not_mark_does_not_gate() -> None:
    own = Profile(name="own", marks={RELEVANCE: 4}, weights={RELEVANCE: 1}, composite_mark=4)
    assert decide_explain(evals(Relevance=4, Empathy=1), own).verdict is Verdict.PASSED
    assert decide_explain(evals(Relevance=4, Empathy=UnscoredReason.ERROR), own).verdict is Verdict.PASSED


def rated(value: float, part: str) -> Score:
    return scored("includes", value, 1.0, Part(id=part, text=""))


def broken(part: str) -> Unscored:
    about = Part(id=part, text="")
    return Unscored(name="includes", why=UnscoredReason.ERROR, reason="bad pattern", pass_mark=1.0, part=about)


HALF: list[Grade] = [rated(1.0, "1"), rated(0.0, "2")]
RULES: list[tuple[dict[str, Any], list[Grade], Verdict, float | None]] = [
    ({"threshold": 0.5}, HALF, Verdict.PASSED, 0.5),
    ({"threshold": 0.6}, HALF, Verdict.FAILED, 0.5),
    ({"threshold": 0.6, "weights": {"includes 1": 2.0}}, HALF, Verdict.PASSED, 0.666666667),
    ({"weights": {"includes 2": 0.0}}, HALF, Verdict.PASSED, None),
    ({"weights": {"includes 1": 3.0}}, HALF, Verdict.FAILED, None),
    ({"threshold": 0.1}, [rated(1.0, "1"), broken("2")], Verdict.ERRORED, None),
    ({"weights": {"includes 2": 0.0}}, [rated(1.0, "1"), broken("2")], Verdict.PASSED, None),
    ({"threshold": 0.5, "weights": {"includes 1": 0.0}}, [rated(1.0, "1")], Verdict.SKIPPED, None),
]
"""A pass rule, grades, the verdict, and the weighted mean where there is one."""


@pytest.mark.parametrize(("rule", "grades", "verdict", "mean"), RULES)
def test_a_case_may_bring_weights_and_a_threshold(
    rule: dict[str, Any], grades: list[Grade], verdict: Verdict, mean: float | None
) -> None:
    case = Case(id="c", input=SingleTurn(message="?"), metadata={PASS_RULE: rule})
    decision = plain(case, grades, None)
    means = [each.value for each in decision.grades if isinstance(each, Score) and each.name == "composite"]
    assert (decision.verdict, means) == (verdict, [] if mean is None else [mean])
