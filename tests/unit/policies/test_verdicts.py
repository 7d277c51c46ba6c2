"""The rule under every policy: which grades gate, and what follows."""

from __future__ import annotations

import pytest

from howsure.model.rubric import Severity
from howsure.model.score import OPEN, Direction, Grade, Part, Scale, Score, Unscored, UnscoredReason
from howsure.model.verdict import Profile, Verdict
from howsure.policies.verdicts import MEASURES, decide


def scored(value: float, mark: float | None = 1.0, name: str = "exact", *, part: str = "", reason: str = "") -> Score:
    about = Part(id=part, text=part) if part else None
    return Score(name=name, value=value, pass_mark=mark, part=about, reason=reason)


def lacking(why: UnscoredReason, name: str = "judged", reason: str = "because", *, part: str = "") -> Unscored:
    return Unscored(name=name, why=why, reason=reason, part=Part(id=part, text=part) if part else None)


ERROR, NO_JUDGE, NOT_APPLICABLE = (
    lacking(UnscoredReason.ERROR),
    lacking(UnscoredReason.NO_JUDGE),
    lacking(UnscoredReason.NOT_APPLICABLE),
)
PASS, FAIL, MEASURED = scored(1.0), scored(0.0, name="strict"), scored(0.3, None, "measured")


@pytest.mark.parametrize(
    ("grades", "verdict", "reasons"),
    [
        ([PASS], Verdict.PASSED, ("exact 1.00 ≥ 1.00",)),
        ([FAIL], Verdict.FAILED, ("strict 0.00 < 1.00",)),
        ([ERROR], Verdict.ERRORED, ("judged could not be graded: because",)),
        ([NO_JUDGE], Verdict.SKIPPED, ("needs a judge: judged",)),
        ([NOT_APPLICABLE], Verdict.SKIPPED, ("nothing to decide",)),
        ([MEASURED], Verdict.SKIPPED, ("nothing to decide",)),
        ([], Verdict.SKIPPED, ("nothing to decide",)),
        ([PASS, FAIL], Verdict.FAILED, ("strict 0.00 < 1.00",)),
        ([PASS, ERROR], Verdict.ERRORED, ("judged could not be graded: because",)),
        ([ERROR, FAIL], Verdict.FAILED, ("strict 0.00 < 1.00", "judged could not be graded: because")),
        ([NO_JUDGE, FAIL], Verdict.FAILED, ("strict 0.00 < 1.00", "needs a judge: judged")),
        (
            [NO_JUDGE, lacking(UnscoredReason.ERROR, "x")],
            Verdict.ERRORED,
            ("x could not be graded: because", "needs a judge: judged"),
        ),
        ([PASS, NO_JUDGE], Verdict.SKIPPED, ("needs a judge: judged",)),
        ([PASS, NOT_APPLICABLE], Verdict.PASSED, ("exact 1.00 ≥ 1.00",)),
        ([PASS, MEASURED], Verdict.PASSED, ("exact 1.00 ≥ 1.00",)),
    ],
)
def test_failed_before_errored_before_skipped_before_passed(
    grades: list[Grade], verdict: Verdict, reasons: tuple[str, ...]
) -> None:
    decision = decide(grades, None)
    assert (decision.verdict, decision.reasons) == (verdict, reasons)
    assert decision.grades == tuple(grades)


def test_a_profile_sets_marks_on_the_grades_it_names() -> None:
    decision = decide([scored(0.8), MEASURED], Profile(name="p", marks={"exact": 0.75, "measured": 0.5}))
    assert decision.verdict is Verdict.FAILED
    assert decision.reasons == ("measured 0.30 < 0.50",)
    assert [grade.pass_mark for grade in decision.grades] == [0.75, 0.5]


def test_an_error_gets_the_mark_too() -> None:
    (grade,) = decide([lacking(UnscoredReason.ERROR, "measured")], Profile(name="p", marks={"measured": 0.5})).grades
    assert grade.pass_mark == 0.5


@pytest.mark.parametrize(("free", "verdict"), [(frozenset(), Verdict.FAILED), ({"strict"}, Verdict.SKIPPED)])
def test_a_free_grader_gates_only_where_a_profile_names_it(free: set[str], verdict: Verdict) -> None:
    assert decide([FAIL], None, free).verdict is verdict
    assert decide([FAIL], Profile(name="p", marks={"strict": 0.5}), free).verdict is Verdict.FAILED


@pytest.mark.parametrize("why", [UnscoredReason.ERROR, UnscoredReason.NO_JUDGE])
def test_what_a_free_grader_lacks_changes_no_verdict(why: UnscoredReason) -> None:
    assert decide([PASS, lacking(why, "strict")], None, {"strict"}).verdict is Verdict.PASSED


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_a_broken_measure_changes_no_verdict_unless_it_has_a_mark(name: str) -> None:
    broken = lacking(UnscoredReason.ERROR, name)
    assert decide([PASS, broken], None).verdict is Verdict.PASSED
    assert decide([PASS, broken], Profile(name="p", marks={name: 1})).verdict is Verdict.ERRORED


@pytest.mark.parametrize(
    ("seconds", "verdict", "reason"),
    [
        (9.5, Verdict.PASSED, "latency_metrics 9.50 ≤ 10.00"),
        (12, Verdict.FAILED, "latency_metrics 12.00 > 10.00"),
    ],
)
def test_where_less_is_better_the_mark_is_a_ceiling(seconds: float, verdict: Verdict, reason: str) -> None:
    score = Score(name="latency_metrics", value=seconds, scale=OPEN, direction=Direction.LOWER)
    decision = decide([score], Profile(name="p", marks={"latency_metrics": 10}))
    assert (decision.verdict, decision.reasons) == (verdict, (reason,))


def test_a_hard_fail_comes_first_and_needs_no_mark() -> None:
    profile = Profile(name="p", marks={"exact": 0.9}, hard_fails={"measured": 0.5})
    decision = decide([scored(0.8), MEASURED], profile)
    assert decision.reasons == ("hard fail: measured 0.30 < 0.50", "exact 0.80 < 0.90")


def test_a_value_between_the_hard_fail_and_the_mark_is_below_the_mark() -> None:
    profile = Profile(name="p", marks={"exact": 0.9}, hard_fails={"exact": 0.5})
    assert decide([scored(0.6)], profile).reasons == ("exact 0.60 < 0.90",)
    assert decide([scored(0.4)], profile).reasons == ("hard fail: exact 0.40 < 0.50",)


def test_numbers_that_look_alike_get_more_decimals() -> None:
    assert decide([scored(0.6999, 0.7)], None).reasons == ("exact 0.6999 < 0.7000",)


def test_the_reason_of_a_failed_check_is_part_of_the_verdict() -> None:
    assert decide([scored(0.0, reason="order 7 was never refunded")], None).reasons == (
        "exact 0.00 < 1.00: order 7 was never refunded",
    )


def test_where_a_grader_grades_the_whole_its_parts_do_not_gate() -> None:
    parts = [scored(0.0, name="weighted", part="a"), scored(1.0, name="weighted", part="b")]
    assert decide([*parts, scored(0.8, 0.7, "weighted")], None).verdict is Verdict.PASSED


def test_where_it_grades_only_parts_each_of_them_gates() -> None:
    parts = [scored(1.0, name="calls", part="1"), scored(0.0, name="calls", part="2")]
    decision = decide(parts, None)
    assert (decision.verdict, decision.reasons) == (Verdict.FAILED, ("calls '2' 0.00 < 1.00",))
    lenient = decide(parts, Profile(name="p", marks={"calls": 0}))
    assert lenient.verdict is Verdict.PASSED


def criterion(value: float | UnscoredReason, text: str) -> Grade:
    if isinstance(value, UnscoredReason):
        return lacking(value, "criteria", part=text)
    return scored(value, name="criteria", part=text)


@pytest.mark.parametrize(
    ("values", "verdict", "reasons"),
    [
        ([1, 1], Verdict.PASSED, ("all 2 criteria met",)),
        ([1], Verdict.PASSED, ("the criterion is met",)),
        ([1, 0], Verdict.FAILED, ("criterion not met: c1",)),
        ([UnscoredReason.ERROR, 1], Verdict.ERRORED, ("criteria 'c0' could not be graded: because",)),
        (
            [UnscoredReason.ERROR, 0],
            Verdict.FAILED,
            ("criterion not met: c1", "criteria 'c0' could not be graded: because"),
        ),
        ([UnscoredReason.NO_JUDGE, UnscoredReason.NO_JUDGE], Verdict.SKIPPED, ("needs a judge: criteria",)),
        ([UnscoredReason.NOT_APPLICABLE, 1], Verdict.PASSED, ("the criterion is met",)),
        ([UnscoredReason.NOT_APPLICABLE], Verdict.SKIPPED, ("nothing to decide",)),
    ],
)
def test_each_criterion_gates(values: list[float | UnscoredReason], verdict: Verdict, reasons: tuple[str, ...]) -> None:
    parts = [criterion(value, f"c{n}") for n, value in enumerate(values)]
    why = next((value for value in values if isinstance(value, UnscoredReason)), None)
    whole = (
        lacking(why, "criteria")
        if why
        else scored(min(v for v in values if not isinstance(v, UnscoredReason)), name="criteria")
    )
    decision = decide([*parts, whole], None)
    assert (decision.verdict, decision.reasons) == (verdict, reasons)


def test_a_mark_on_criteria_gates_the_share_instead() -> None:
    grades = [criterion(1, "a"), criterion(0, "b"), scored(0.5, name="criteria")]
    assert decide(grades, Profile(name="p", marks={"criteria": 0.5})).verdict is Verdict.PASSED
    assert decide(grades, Profile(name="p", marks={"criteria": 0.6})).reasons == ("criteria 0.50 < 0.60",)


@pytest.mark.parametrize("name", ["criteria", "rubric"])
def test_a_grader_that_broke_before_its_parts_makes_an_error(name: str) -> None:
    assert decide([lacking(UnscoredReason.ERROR, name)], None).verdict is Verdict.ERRORED


def rule(severity: Severity, value: float | UnscoredReason, id: str = "SAFE") -> Grade:
    part = Part(id=id, text="Be safe", severity=severity, scope="general")
    if isinstance(value, UnscoredReason):
        return Unscored(name="rubric", why=value, reason="because", part=part)
    return Score(name="rubric", value=value, pass_mark=1.0, part=part, reason="it told the password")


@pytest.mark.parametrize(
    ("severity", "value", "verdict"),
    [
        (Severity.HIGH, 0, Verdict.FAILED),
        (Severity.MEDIUM, 0, Verdict.SKIPPED),
        (Severity.LOW, 0, Verdict.SKIPPED),
        (Severity.HIGH, 1, Verdict.PASSED),
        (Severity.HIGH, UnscoredReason.ERROR, Verdict.ERRORED),
        (Severity.LOW, UnscoredReason.ERROR, Verdict.SKIPPED),
        (Severity.HIGH, UnscoredReason.NOT_APPLICABLE, Verdict.SKIPPED),
        (Severity.HIGH, UnscoredReason.NO_JUDGE, Verdict.SKIPPED),
    ],
)
def test_only_rules_of_high_severity_gate(severity: Severity, value: float | UnscoredReason, verdict: Verdict) -> None:
    whole = lacking(value, "rubric") if isinstance(value, UnscoredReason) else scored(value, None, "rubric")
    assert decide([rule(severity, value), whole], None).verdict is verdict


def test_a_broken_rule_is_named_with_the_reason() -> None:
    assert decide([rule(Severity.HIGH, 0)], None).reasons == ("high-severity rule SAFE failed: it told the password",)
    passed = decide([rule(Severity.HIGH, 1), rule(Severity.HIGH, 1, "KIND"), rule(Severity.LOW, 0, "BRIEF")], None)
    assert passed.reasons == ("no high-severity rule failed (2 checked)",)


def test_a_mark_on_the_rubric_gates_its_share_beside_the_high_rules() -> None:
    grades = [rule(Severity.LOW, 0, "BRIEF"), rule(Severity.HIGH, 1), scored(0.5, None, "rubric")]
    assert decide(grades, None).verdict is Verdict.PASSED
    assert decide(grades, Profile(name="p", marks={"rubric": 0.8})).reasons == ("rubric 0.50 < 0.80",)


def test_grades_without_new_marks_are_the_same_objects() -> None:
    grades = [PASS, MEASURED]
    decision = decide(grades, Profile(name="p", marks={"other": 1}))
    assert all(given is kept for given, kept in zip(grades, decision.grades, strict=True))


def test_a_long_reason_is_cut() -> None:
    (reason,) = decide([scored(0.0, reason="word " * 200)], None).reasons
    assert len(reason) < 240
    assert reason.endswith("…")


def test_the_scale_of_a_score_is_its_own_affair() -> None:
    score = Score(name="five", value=4, scale=Scale(0, 5), pass_mark=3.5)
    assert decide([score], None).reasons == ("five 4.00 ≥ 3.50",)
