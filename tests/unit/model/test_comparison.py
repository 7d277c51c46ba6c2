"""Comparisons, gates, histories, sizes and noise: what follows from what they hold."""

from __future__ import annotations

from enum import Enum

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.model.comparison import (
    CaseFlip,
    ChangeKind,
    Conclusion,
    Difference,
    DifferenceKind,
    FlakinessSource,
    Mismatch,
    MismatchEffect,
    PairComparison,
    PairCounts,
    PinKind,
    SampleSize,
    Side,
    TryCounts,
    VarianceComponents,
    VarianceEstimate,
)
from howsure.model.score import UNIT, Direction
from howsure.model.simulation import Fault, Party
from howsure.model.summary import GateOutcome, GateRuling, worst_outcome
from howsure.model.triage import Cause, Triage, result_label
from unit.services.triage.triage_results import a_triage, criterion, result, rule, unreadable

FEW = st.integers(0, 1000)


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        (DifferenceKind, ["verdict", "grader", "rule", "component", "tag", "slice"]),
        (Conclusion, ["better", "worse", "equal", "cannot_tell", "different"]),
        (PinKind, ["test set", "rubric", "judge", "simulator", "policy", "graders", "target"]),
        (MismatchEffect, ["forbids", "flags", "expected"]),
        (ChangeKind, ["added", "removed", "changed"]),
        (FlakinessSource, ["agent", "judge", "both", "unknown"]),
        (GateOutcome, ["held", "failed", "inconclusive"]),
    ],
)
def test_the_words_that_reports_and_stores_hold_are_fixed(kind: type[Enum], stored: list[str]) -> None:
    assert [each.value for each in kind] == stored


@given(FEW, FEW, FEW, FEW, FEW)
def test_every_case_of_both_sides_is_somewhere(
    paired: int, only_first: int, only_second: int, without: int, changed: int
) -> None:
    pairing = PairCounts(
        paired=paired, only_first=only_first, only_second=only_second, without=without, changed=changed
    )  # fmt: skip
    assert pairing.total == sum((paired, only_first, only_second, without, changed))
    assert a_difference(pairing=pairing).n == paired


def a_difference(**fields: object) -> Difference:
    whole = {
        "name": "verdict", "kind": DifferenceKind.VERDICT, "direction": Direction.HIGHER, "scale": UNIT,
        "conclusion": Conclusion.CANNOT_TELL, "pairing": PairCounts(), **fields,
    }  # fmt: skip
    return Difference(**whole)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("interval", "reach"),
    [
        (None, None),
        ((-0.1, 0.3), 0.3),
        ((-0.4, 0.1), 0.4),
        ((0.0, 0.0), 0.0),
        ((0.1, 0.2), 0.2),
        ((-0.2, -0.1), 0.2),
    ],
    ids=["nobody knows", "up", "down", "none at all", "above zero", "below zero"],
)
def test_how_far_a_difference_may_reach(interval: tuple[float, float] | None, reach: float | None) -> None:
    assert a_difference(interval=interval).reach == reach


@pytest.mark.parametrize(
    ("first", "second", "gained"),
    [
        (TryCounts(0, 1), TryCounts(1, 1), True),
        (TryCounts(1, 1), TryCounts(0, 1), False),
        (TryCounts(1, 3), TryCounts(2, 5), True),
        (TryCounts(2, 4), TryCounts(1, 2), False),
    ],
    ids=["gained", "lost", "more often", "as often"],
)
def test_a_flip_is_gained_when_it_passes_more_often(first: TryCounts, second: TryCounts, gained: bool) -> None:
    assert CaseFlip(case_id="c", first=first, second=second).gained is gained


@given(st.integers(1, 50).flatmap(lambda judged: st.tuples(st.integers(0, judged), st.just(judged))))
def test_a_rate_lies_between_none_and_all(tries: tuple[int, int]) -> None:
    assert 0 <= TryCounts(*tries).rate <= 1
    assert (TryCounts(*tries).rate == 1) is (tries[0] == tries[1])


def test_what_was_to_be_compared_is_no_flag() -> None:
    unlike = [Mismatch(what=PinKind.TARGET, bearing=bearing, said=bearing.value) for bearing in MismatchEffect]
    sides = [Side(name=name, run_id=name) for name in "ab"]
    compared = PairComparison(first=sides[0], second=sides[1], verdict=a_difference(), unlike=tuple(unlike))
    assert [each.said for each in compared.flags] == ["forbids", "flags"]


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ((), GateOutcome.HELD),
        ((GateOutcome.HELD, GateOutcome.HELD), GateOutcome.HELD),
        ((GateOutcome.HELD, GateOutcome.INCONCLUSIVE), GateOutcome.INCONCLUSIVE),
        ((GateOutcome.INCONCLUSIVE, GateOutcome.FAILED, GateOutcome.HELD), GateOutcome.FAILED),
        ((GateOutcome.FAILED,), GateOutcome.FAILED),
    ],
)
def test_one_gate_that_failed_decides(outcomes: tuple[GateOutcome, ...], expected: GateOutcome) -> None:
    rulings = tuple(GateRuling(expression="pass_rate >= 0.9", outcome=each, reason="r") for each in outcomes)
    assert worst_outcome(rulings) is expected
    assert worst_outcome(rulings[::-1]) is expected


@given(st.lists(st.sampled_from(GateOutcome)), st.sampled_from(GateOutcome))
def test_another_gate_never_makes_things_better(outcomes: list[GateOutcome], more: GateOutcome) -> None:
    order = [GateOutcome.HELD, GateOutcome.INCONCLUSIVE, GateOutcome.FAILED]
    rulings = [GateRuling(expression="e", outcome=each, reason="r") for each in (*outcomes, more)]
    assert order.index(worst_outcome(tuple(rulings))) >= order.index(worst_outcome(tuple(rulings[:-1])))


@pytest.mark.parametrize(
    ("agent", "judge", "share"),
    [(0.0, 0.0, None), (0.3, 0.1, 0.25), (0.0, 0.2, 1.0), (0.2, 0.0, 0.0)],
    ids=["no noise", "both", "the judge's alone", "the agent's alone"],
)
def test_the_judges_part_of_the_noise(agent: float, judge: float, share: float | None) -> None:
    noise = VarianceComponents(
        grader="criteria", second=False, cases=2, tries=4, judgements=8, between_cases=None,
        agent=VarianceEstimate(agent), judge=VarianceEstimate(judge),
    )  # fmt: skip
    assert noise.judge_share == (None if share is None else pytest.approx(share))


@pytest.mark.parametrize(("repeats", "cases", "attempts"), [(1, 100, 100), (5, 30, 150), (3, None, None), (2, 0, 0)])
def test_attempts_are_cases_times_repeats_where_any_number_would_do(
    repeats: int, cases: int | None, attempts: int | None
) -> None:
    assert SampleSize(repeats=repeats, cases=cases).attempts == attempts


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (("q1", "", 1), "q1"),
        (("q1", "m1", 1), "q1 [m1]"),
        (("q1", "", 2), "q1 #2"),
        (("q1", "m1", 3), "q1 [m1] #3"),
    ],
)
def test_a_result_is_named_by_its_case_who_answered_and_which_repeat(
    parts: tuple[str, str, int], expected: str
) -> None:
    assert result_label(*parts) == expected


def test_a_triage_is_read_back_as_it_was_written() -> None:
    found = a_triage(
        result(criterion("Is polite", False, "Calls names."), rule("PRIVACY", True), id="a", candidate="m1", repeat=2),
        result(unreadable("criteria"), id="b"),
    )
    assert msgspec.json.decode(msgspec.json.encode(found), type=Triage) == found


def test_the_words_of_causes_are_stable_and_unlike() -> None:
    assert len({cause.value for cause in Cause}) == len(Cause) == 34
    assert all(cause.value == cause.name.lower() for cause in Cause)


def test_a_fault_that_an_older_howsure_stored_is_still_read() -> None:
    for word in ("agent", "simulator", "environment", "evaluation", "judge"):
        fault = msgspec.json.decode(f'{{"party": "{word}", "reason": "x"}}', type=Fault)
        assert fault.party is Party(word)
