"""What the results of one case mean for its test."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from howsure.model.result import Result
from howsure.model.verdict import Verdict
from howsure.pytest_plugin.case_runner import CaseOutcome
from howsure.testing import a_case, a_transcript

MEANING = {"+": Verdict.PASSED, "-": Verdict.FAILED, "!": Verdict.ERRORED, "o": Verdict.SKIPPED}


def outcome(pattern: str, *, lenient: bool = False, reasons: Sequence[str] = ("because",)) -> CaseOutcome:
    case = a_case(id="q1", message="Why?")
    results = [
        Result(
            case=case,
            verdict=MEANING[sign],
            reasons=tuple(reasons),
            repeat=place,
            transcript=None if sign == "!" else a_transcript(f"answer {place}"),
        )
        for place, sign in enumerate(pattern, start=1)
    ]
    return CaseOutcome(case=case, results=tuple(results), run_id="0123456789", lenient=lenient)


@pytest.mark.parametrize(
    ("pattern", "verdict"),
    [
        ("+", Verdict.PASSED),
        ("+++", Verdict.PASSED),
        ("+-+", Verdict.FAILED),
        ("-!o", Verdict.FAILED),
        ("+!+", Verdict.ERRORED),
        ("o!", Verdict.ERRORED),
        ("+o", Verdict.SKIPPED),
    ],
)
def test_one_failed_repeat_decides_then_one_that_broke(pattern: str, verdict: Verdict) -> None:
    found = outcome(pattern)
    assert (found.verdict, found.passed) == (verdict, verdict is Verdict.PASSED)
    assert found.result.verdict is verdict
    assert repr(found) == f"<case 'q1': {verdict.value}>"


def test_the_answer_is_that_of_the_result_that_decided() -> None:
    assert outcome("+-").answer == "answer 2"
    assert outcome("++").answer == "answer 1"
    assert outcome("!").answer == ""


def test_a_passed_case_lets_its_test_be() -> None:
    found = outcome("++")
    found.settle_early()
    found.settle()
    assert (found.verdict, found.passed) == (Verdict.PASSED, True), "nothing was raised, and nothing has changed"


def test_a_failed_case_fails_after_the_asserts_and_says_why() -> None:
    found = outcome("+-", reasons=("too short", "rude"))
    found.settle_early()
    with pytest.raises(pytest.fail.Exception) as failed:
        found.settle()
    assert str(failed.value).splitlines() == [
        "case q1 failed (1 of 2 attempts passed)",
        "asked: Why?",
        "said:  answer 2",
        "why:   too short",
        "why:   rude",
        "more:  howsure show 01234567 q1",
    ]


def test_where_the_whole_is_held_to_something_a_failed_case_may_fail() -> None:
    with pytest.raises(pytest.xfail.Exception, match="because"):
        outcome("-", lenient=True).settle()


def test_what_broke_stops_the_test_before_its_asserts_also_there() -> None:
    with pytest.raises(pytest.fail.Exception) as broke:
        outcome("!", lenient=True).settle_early()
    assert str(broke.value).splitlines()[:3] == ["case q1 errored", "asked: Why?", "why:   because"]


def test_what_nobody_could_judge_is_skipped() -> None:
    with pytest.raises(pytest.skip.Exception, match="needs a judge"):
        outcome("o", reasons=("needs a judge",)).settle_early()
