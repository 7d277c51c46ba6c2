"""The Explain pass rule: hard fails, marks, composite. Expected values are worked out by hand."""

from __future__ import annotations

from math import fsum

import pytest

from howsure.model.case import Case, World
from howsure.model.score import LIKERT, Grade, Score, Unscored, UnscoredReason
from howsure.model.verdict import Decision, Normalization, Profile, Verdict
from howsure.policies.profiles import EXPLAIN_EVALS, builtin_profiles
from howsure.policies.worlds import explain
from howsure.testing import a_case

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


def decided(grades: list[Grade], profile: Profile | None = None, case: Case | None = None) -> Decision:
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
    decision = decided(evals(4, Task=5, Relevance=5))
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
    decision = decided(grades)
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
        (evals(5, Empathy=UnscoredReason.NOT_APPLICABLE, Task=4), PREP, (4 * 0.20 + 5 * 0.75) / 0.95),
    ],
)
def test_the_composite_is_weighed_over_the_evals_present(grades: list[Grade], profile: Profile, value: float) -> None:
    total = composite(decided(grades, profile))
    assert isinstance(total, Score)
    assert total.value == pytest.approx(value)
    assert total.scale == LIKERT


def test_a_sum_of_exactly_the_mark_reaches_it() -> None:
    profile = Profile(name="p", weights={TASK: 0.1, INTENT: 0.2, TOOLS: 0.7}, composite_mark=3.3)
    decision = decided(evals(Task=4, Intent=5, ToolCall=2.714285714285714), profile)
    assert composite(decision) is not None
    even = Profile(name="p", weights={TASK: 0.35, INTENT: 0.65}, composite_mark=3.65)
    assert decided(evals(Task=3, Intent=4), even).verdict is Verdict.PASSED


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
        (evals(Relevance=UnscoredReason.NOT_APPLICABLE), Verdict.SKIPPED, ("nothing to decide",)),
        ([*evals(Relevance=UnscoredReason.NO_JUDGE), contract(0)], Verdict.FAILED, None),
    ],
)
def test_what_has_no_value_never_enters_the_composite(
    grades: list[Grade], verdict: Verdict, reasons: tuple[str, ...] | None
) -> None:
    decision = decided(grades)
    assert decision.verdict is verdict
    assert reasons is None or decision.reasons == reasons
    assert not isinstance(composite(decision), Score)


def test_tool_calls_by_program_do_not_gate() -> None:
    wrong = Score(name="tool_calls", value=0.0, pass_mark=1.0)
    assert decided([*evals(5), wrong]).verdict is Verdict.PASSED
    broken = Unscored(name="tool_calls", why=UnscoredReason.ERROR, reason="hm")
    assert decided([*evals(5), broken]).verdict is Verdict.PASSED


@pytest.mark.parametrize(
    ("named", "given", "value"),
    [("", None, 4.35), ("assessment_strict", None, 4.36), ("assessment_strict", PREP, 4.35), ("x", STRICT, 4.36)],
)
def test_the_runs_profile_goes_before_the_cases(named: str, given: Profile | None, value: float) -> None:
    case = a_case(world=World.EXPLAIN, profile=named)
    total = composite(decided(evals(4, Task=5, Relevance=5), given, case))
    assert isinstance(total, Score)
    assert total.value == pytest.approx(value)


def test_a_profile_that_says_only_how_to_normalise_leaves_the_cases_in_force() -> None:
    bare = Profile(name="", normalization=Normalization.MIN_MAX)
    assert decided(evals(4, Empathy=3), bare).verdict is Verdict.FAILED


def test_a_profile_nobody_knows_is_an_error_and_not_the_default() -> None:
    decision = decided(evals(5), None, a_case(world=World.EXPLAIN, profile="lenient"))
    assert decision.verdict is Verdict.ERRORED
    assert decision.reasons == ("the profile 'lenient' is not known; known: prep_default, assessment_strict",)


def test_a_contract_violation_is_a_hard_fail_under_every_profile() -> None:
    own = Profile(name="own", marks={RELEVANCE: 2})
    assert decided([*evals(Relevance=5), contract(0)], own).reasons[0].startswith("hard fail: output_contract")


def test_an_eval_that_the_profile_does_not_mark_does_not_gate() -> None:
    own = Profile(name="own", marks={RELEVANCE: 4}, weights={RELEVANCE: 1}, composite_mark=4)
    assert decided(evals(Relevance=4, Empathy=1), own).verdict is Verdict.PASSED
    assert decided(evals(Relevance=4, Empathy=UnscoredReason.ERROR), own).verdict is Verdict.PASSED
