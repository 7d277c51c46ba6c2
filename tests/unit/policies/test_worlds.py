"""The other worlds' rules: what gates in each, and what does not."""

from __future__ import annotations

import pytest

from howsure.model.case import World
from howsure.model.rubric import Severity
from howsure.model.score import ZERO_TO_FIVE, Grade, Part, Score, Unscored, UnscoredReason
from howsure.model.verdict import Decision, Normalization, Profile, Verdict
from howsure.policies.verdicts import MEASURES
from howsure.policies.worlds import JUDGED_SHARES, JUDGED_TO_FIVE, builtin_policies
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
