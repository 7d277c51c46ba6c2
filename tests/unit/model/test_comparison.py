"""Comparisons, gates, histories, sizes and noise: what follows from what they hold."""

from __future__ import annotations

from enum import Enum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.model.comparison import (
    Bearing,
    Blame,
    Compared,
    Conclusion,
    Difference,
    Flip,
    Kind,
    Pairing,
    Side,
    Tries,
    Turn,
    Unlike,
    What,
)
from howsure.model.gate import GateRuling, Outcome, worst
from howsure.model.noise import Noise, Spread
from howsure.model.score import UNIT, Direction
from howsure.model.sizing import Size

FEW = st.integers(0, 1000)


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        (Kind, ["verdict", "grader", "rule", "component", "tag", "slice"]),
        (Conclusion, ["better", "worse", "equal", "cannot_tell", "different"]),
        (What, ["test set", "rubric", "judge", "simulator", "policy", "graders", "target"]),
        (Bearing, ["forbids", "flags", "expected"]),
        (Turn, ["added", "removed", "changed"]),
        (Blame, ["agent", "judge", "both", "unknown"]),
        (Outcome, ["held", "failed", "inconclusive"]),
    ],
)
def test_the_words_that_reports_and_stores_hold_are_fixed(kind: type[Enum], stored: list[str]) -> None:
    assert [each.value for each in kind] == stored


@given(FEW, FEW, FEW, FEW, FEW)
def test_every_case_of_both_sides_is_somewhere(
    paired: int, only_first: int, only_second: int, without: int, changed: int
) -> None:
    pairing = Pairing(
        paired=paired, only_first=only_first, only_second=only_second, without=without, changed=changed
    )  # fmt: skip
    assert pairing.total == sum((paired, only_first, only_second, without, changed))
    assert a_difference(pairing=pairing).n == paired


def a_difference(**fields: object) -> Difference:
    whole = {
        "name": "verdict", "kind": Kind.VERDICT, "direction": Direction.HIGHER, "scale": UNIT,
        "conclusion": Conclusion.CANNOT_TELL, "pairing": Pairing(), **fields,
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
        (Tries(0, 1), Tries(1, 1), True),
        (Tries(1, 1), Tries(0, 1), False),
        (Tries(1, 3), Tries(2, 5), True),
        (Tries(2, 4), Tries(1, 2), False),
    ],
    ids=["gained", "lost", "more often", "as often"],
)
def test_a_flip_is_gained_when_it_passes_more_often(first: Tries, second: Tries, gained: bool) -> None:
    assert Flip(case_id="c", first=first, second=second).gained is gained


@given(st.integers(1, 50).flatmap(lambda judged: st.tuples(st.integers(0, judged), st.just(judged))))
def test_a_rate_lies_between_none_and_all(tries: tuple[int, int]) -> None:
    assert 0 <= Tries(*tries).rate <= 1
    assert (Tries(*tries).rate == 1) is (tries[0] == tries[1])


def test_what_was_to_be_compared_is_no_flag() -> None:
    unlike = [Unlike(what=What.TARGET, bearing=bearing, said=bearing.value) for bearing in Bearing]
    sides = [Side(name=name, run_id=name) for name in "ab"]
    compared = Compared(first=sides[0], second=sides[1], verdict=a_difference(), unlike=tuple(unlike))
    assert [each.said for each in compared.flags] == ["forbids", "flags"]


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ((), Outcome.HELD),
        ((Outcome.HELD, Outcome.HELD), Outcome.HELD),
        ((Outcome.HELD, Outcome.INCONCLUSIVE), Outcome.INCONCLUSIVE),
        ((Outcome.INCONCLUSIVE, Outcome.FAILED, Outcome.HELD), Outcome.FAILED),
        ((Outcome.FAILED,), Outcome.FAILED),
    ],
)
def test_one_gate_that_failed_decides(outcomes: tuple[Outcome, ...], expected: Outcome) -> None:
    rulings = tuple(GateRuling(expression="pass_rate >= 0.9", outcome=each, reason="r") for each in outcomes)
    assert worst(rulings) is expected
    assert worst(rulings[::-1]) is expected


@given(st.lists(st.sampled_from(Outcome)), st.sampled_from(Outcome))
def test_another_gate_never_makes_things_better(outcomes: list[Outcome], more: Outcome) -> None:
    order = [Outcome.HELD, Outcome.INCONCLUSIVE, Outcome.FAILED]
    rulings = [GateRuling(expression="e", outcome=each, reason="r") for each in (*outcomes, more)]
    assert order.index(worst(tuple(rulings))) >= order.index(worst(tuple(rulings[:-1])))


@pytest.mark.parametrize(
    ("agent", "judge", "share"),
    [(0.0, 0.0, None), (0.3, 0.1, 0.25), (0.0, 0.2, 1.0), (0.2, 0.0, 0.0)],
    ids=["no noise", "both", "the judge's alone", "the agent's alone"],
)
def test_the_judges_part_of_the_noise(agent: float, judge: float, share: float | None) -> None:
    noise = Noise(
        grader="criteria", second=False, cases=2, tries=4, judgements=8, between_cases=None,
        agent=Spread(agent), judge=Spread(judge),
    )  # fmt: skip
    assert noise.judge_share == (None if share is None else pytest.approx(share))


@pytest.mark.parametrize(("repeats", "cases", "attempts"), [(1, 100, 100), (5, 30, 150), (3, None, None), (2, 0, 0)])
def test_attempts_are_cases_times_repeats_where_any_number_would_do(
    repeats: int, cases: int | None, attempts: int | None
) -> None:
    assert Size(repeats=repeats, cases=cases).attempts == attempts
