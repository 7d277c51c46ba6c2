"""The final state against the values it should hold."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest

from howsure.matching.state_and_steps import bare_name, compare_state, compare_steps
from howsure.model.expectation import FinalState, Matching, MatchMode, Trajectory
from howsure.model.transcript import AgentStep, Step, ToolStep


@pytest.mark.parametrize(
    ("expected", "actual", "same"),
    [
        ("refund", "refund", True),
        ("refund", "Refund", False),
        (50.00, 50, True),
        (50, 50.0, True),
        (0.3, 0.1 + 0.2, True),
        (50, 50.0001, False),
        (1e-12, 0, False),
        (50, "50", False),
        (50.0, "50.00", False),
        ("50", 50, False),
        (True, 1, False),
        (True, True, True),
        (True, "true", False),
        (None, None, True),
        (None, "", False),
        ("2024-01-01", "2024-01-01", True),
        ("2024-01-01", "2024-01-01T00:00:00Z", True),
        ("2024-01-01", "2024-01-01 00:00:00", True),
        ("2024-01-01", "2024-01-01T08:00:00Z", False),
        ("2024-01-01T10:00:00Z", "2024-01-01T12:00:00+02:00", True),
        ("2024-01-01", date(2024, 1, 1), True),
        ("2024-01-01", datetime(2024, 1, 1, tzinfo=UTC), True),
        ("2024-01-01", "01/01/2024", False),
        ([1.0, "2024-01-01"], [1, "2024-01-01T00:00:00Z"], True),
        ([1, 2], [2, 1], False),
        ({"total": 50.0}, {"total": 50}, True),
        ({"total": 50.0}, {"total": 50, "currency": "EUR"}, True),
        ({"paid": {"total": 50.0}}, {"paid": {"total": 50, "by": "card"}}, True),
        ({"total": 50.0, "currency": "EUR"}, {"total": 50}, False),
        ({"$contains": {"total": 50.0}}, {"total": 50, "currency": "EUR"}, True),
        ({"$one_of": ["open", "closed"]}, "closed", True),
        ({"$approx": 50, "within": 1}, 50.5, True),
        ({"$text": "Main Street 5"}, "main street, 5", True),
        ({"$contains": "2024-01-01"}, ["2024-01-01T00:00:00Z"], True),
        (float("inf"), float("inf"), True),
        (float("nan"), float("nan"), False),
    ],
)
def test_values_are_alike_but_for_rounding_and_the_spelling_of_dates(expected: Any, actual: Any, same: bool) -> None:
    found = compare_state(FinalState(variables={"x": expected}), {"x": actual, "other": 1})
    assert found.passed is same
    assert found.value == float(same)
    assert (found.reasons == ()) is same


def test_the_value_is_the_share_of_what_is_listed() -> None:
    expected = FinalState(variables={"intent": "refund", "amount": 50.0, "date": "2024-01-01", "id": "7"})
    found = compare_state(expected, {"intent": "refund", "amount": 40, "date": "2024-01-01T00:00:00Z", "free": 1})
    assert found.value == 0.5
    assert (found.correct, found.wrong, found.missing) == (("intent", "date"), ("amount",), ("id",))
    assert found.reasons == ("`amount`: expected 50.0, found 40", "`id`: not in the state, expected '7'")


@pytest.mark.parametrize(
    ("name", "state", "passed"),
    [
        ("order.total", {"order": {"total": 5}}, True),
        ("order.total", {"order.total": 5, "order": {"total": 9}}, True),
        ("order.lines.0.total", {"order": {"lines": [{"total": 5}]}}, True),
        ("order.lines.1.total", {"order": {"lines": [{"total": 5}]}}, False),
        ("user:order.total", {"user:order": {"total": 5}}, True),
        ("order.total", {"order": 5}, False),
        ("order.total", {}, False),
    ],
)
def test_a_dotted_name_goes_into_the_state(name: str, state: dict[str, Any], passed: bool) -> None:
    assert compare_state(FinalState(variables={name: 5}), state).passed is passed


def test_an_optional_variable_may_be_missing() -> None:
    expected = FinalState(variables={"note": {"$optional": "x"}})
    assert compare_state(expected, {}).passed
    assert not compare_state(expected, {"note": "y"}).passed


def test_a_number_written_as_text_is_pointed_out() -> None:
    found = compare_state(FinalState(variables={"amount": 50}), {"amount": "50"})
    assert found.reasons == ("`amount`: expected 50, found '50' (a number and a text)",)


def test_a_difference_deep_inside_is_named_by_its_path() -> None:
    found = compare_state(FinalState(variables={"order": {"lines": [{"n": 1}]}}), {"order": {"lines": [{"n": 2}]}})
    assert found.reasons == ("`order.lines.0.n`: expected 1, found 2",)


def steps(written: str) -> list[Step]:
    """Names with a capital are agents, others tools."""
    return [AgentStep(name=name) if name[0].isupper() else ToolStep(name=name) for name in written.split()]


def trajectory(written: str, mode: MatchMode = MatchMode.IN_ORDER, **matching: tuple[str, ...]) -> Trajectory:
    return Trajectory(steps=tuple(written.split()), match=Matching(mode=mode, **matching))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wanted", "taken", "exact", "in_order", "any_order", "superset", "subset"),
    [
        ("Greeting Billing pay", "Greeting Billing pay", 1, 1, 1, 1, 1),
        ("Greeting Billing pay", "Greeting look Billing pay bye", 0.6, 1, 0.6, 1, 0.6),
        ("Greeting Billing pay", "Billing Greeting pay", 0.5, 2 / 3, 1, 1, 1),
        ("Greeting Billing pay", "Greeting", 1 / 3, 1 / 3, 1 / 3, 1 / 3, 1),
        ("Greeting", "greeting", 0, 0, 0, 0, 0),
        ("Greeting Greeting", "Greeting", 0.5, 0.5, 0.5, 0.5, 1),
        ("Greeting", "", 0, 0, 0, 0, 1),
        ("", "", 1, 1, 1, 1, 1),
        ("", "Greeting", 0, 0, 0, 0, 0),
    ],
)
def test_each_mode_asks_for_something_else(
    wanted: str, taken: str, exact: float, in_order: float, any_order: float, superset: float, subset: float
) -> None:
    for mode, value in zip(MatchMode, (exact, in_order, any_order, superset, subset), strict=True):
        found = compare_steps(trajectory(wanted, mode), steps(taken))
        assert found.value == pytest.approx(value), mode
        assert found.passed is (value == 1), mode
        assert found.passed is (found.reasons == ()), mode


@pytest.mark.parametrize(
    ("name", "bare"),
    [
        ("agent:Billing", "Billing"),
        ("sub-agent:BillingAgent", "BillingAgent"),
        ("sub_agent: Billing", "Billing"),
        ("tool:pay", "pay"),
        ("Tool: pay", "pay"),
        ("pay", "pay"),
        ("agentic", "agentic"),
        ("tool:agent:x", "agent:x"),
        ("my:tool", "my:tool"),
    ],
)
def test_only_the_prefix_of_a_trace_summary_is_dropped(name: str, bare: str) -> None:
    assert bare_name(name) == bare


def test_prefixes_do_not_matter_on_either_side() -> None:
    assert compare_steps(trajectory("agent:Billing pay"), steps("Billing tool:pay")).passed


def test_steps_that_do_not_count_are_left_out_on_both_sides() -> None:
    exact = MatchMode.EXACT
    assert compare_steps(trajectory("Billing", exact, ignore=("think",)), steps("think Billing think")).passed
    assert compare_steps(trajectory("Billing pay", exact, only=("agent:Billing",)), steps("x Billing")).passed


@pytest.mark.parametrize("mode", MatchMode)
@pytest.mark.parametrize("wanted", ["Shop look Shop look", "Shop look look"], ids=["each turn", "once"])
def test_an_agent_of_several_turns_may_be_listed_in_each_or_once(wanted: str, mode: MatchMode) -> None:
    assert compare_steps(trajectory(wanted, mode), steps("Shop look Shop look")).passed


def test_an_agent_that_came_back_must_have_come_back() -> None:
    came_back = trajectory("Shop Billing Shop", MatchMode.EXACT)
    assert compare_steps(came_back, steps("Shop Billing Shop")).passed
    assert not compare_steps(came_back, steps("Shop Shop Billing")).passed


def test_a_step_that_was_taken_too_rarely_is_not_said_to_be_missing() -> None:
    assert compare_steps(trajectory("Shop look Shop look"), steps("Shop look")).reasons == (
        "`Shop` took part 1 of 2 times",
        "`look` took part 1 of 2 times",
    )


def test_reasons_name_the_step() -> None:
    found = compare_steps(trajectory("Greeting Billing pay"), steps("Billing Greeting"))
    assert found.reasons == ("`Billing` took part, but not in the expected place", "`pay` did not take part")
    assert (found.missing, found.unexpected) == (("Billing", "pay"), ("Billing",))
    extra = compare_steps(trajectory("Greeting", MatchMode.EXACT), steps("Greeting look"))
    assert extra.reasons == ("`look` took part, but was not expected",)
    none = compare_steps(trajectory(""), steps("look"))
    assert none.reasons == ("`look` took part, but no step was expected",)
