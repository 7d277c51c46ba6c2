"""Runs and summaries: counts that always add up, and rates over what could be judged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.model.run import Counts, ModelSpending, Pins, RunState
from howsure.model.run_request import RunRequest
from howsure.model.summary import Tally

MANY = st.integers(0, 10**6)


@pytest.mark.parametrize(
    ("counts", "completed", "pending", "rate"),
    [
        (Counts(), 0, 0, None),
        (Counts(total=5), 0, 5, None),
        (Counts(total=4, passed=3, failed=1), 4, 0, 0.75),
        (Counts(total=10, passed=1, failed=3, errored=2, skipped=1), 7, 3, 0.25),
        (Counts(total=3, errored=2, skipped=1), 3, 0, None),
        (Counts(total=2, failed=2), 2, 0, 0.0),
        (Counts(total=2, passed=1, errored=1), 2, 0, 1.0),
    ],
    ids=["nothing", "not begun", "all judged", "all kinds", "none judged is not zero", "all failed", "errored is out"],
)
def test_counts_add_up(counts: Counts, completed: int, pending: int, rate: float | None) -> None:
    assert counts.completed == completed
    assert counts.pending == pending
    assert counts.pass_rate == rate


@pytest.mark.parametrize(
    ("tally", "total", "rate"),
    [
        (Tally(), 0, None),
        (Tally(passed=1), 1, 1.0),
        (Tally(passed=1, failed=1, errored=1, skipped=1), 4, 0.5),
        (Tally(errored=3, skipped=2), 5, None),
    ],
)
def test_tallies_add_up(tally: Tally, total: int, rate: float | None) -> None:
    assert tally.total == total
    assert tally.pass_rate == rate


@given(MANY, MANY, MANY, MANY, MANY)
def test_every_case_is_in_exactly_one_count(passed: int, failed: int, errored: int, skipped: int, pending: int) -> None:
    total = passed + failed + errored + skipped + pending
    counts = Counts(total=total, passed=passed, failed=failed, errored=errored, skipped=skipped)
    assert counts.completed + pending == total
    assert counts.pending == pending
    assert (counts.pass_rate is None) is (passed == failed == 0)


@given(MANY, MANY, MANY, MANY)
def test_what_could_not_be_judged_changes_no_rate(passed: int, failed: int, errored: int, skipped: int) -> None:
    judged, all_of_them = Tally(passed=passed, failed=failed), Tally(
        passed=passed, failed=failed, errored=errored, skipped=skipped
    )  # fmt: skip
    assert judged.pass_rate == all_of_them.pass_rate
    assert judged.pass_rate is None or 0 <= judged.pass_rate <= 1


def test_counts_are_given_and_the_rest_cannot_be() -> None:
    with pytest.raises(TypeError):
        Counts(total=1, pending=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Tally(total=1)  # type: ignore[call-arg]


def test_the_states_of_a_run_have_the_names_that_are_stored() -> None:
    assert [state.value for state in RunState] == [
        "pending",
        "running",
        "completed",
        "failed",
        "interrupted",
        "out_of_budget",
        "paused",
        "cancelled",
    ]


def test_a_run_has_one_nameless_candidate_and_has_spent_nothing_unless_it_says_more() -> None:
    pins = Pins(request=RunRequest(target="recorded"), datasets=())
    assert pins.request.candidates == ("",)
    assert pins.request.repeat == 1
    assert pins.request.graders is None
    assert ModelSpending() == ModelSpending(usd=0.0, tokens=0, seconds=0.0, calls=0, cached=0, unpriced=0)
