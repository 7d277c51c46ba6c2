"""The agents and tools a conversation passed through."""

from __future__ import annotations

import pytest

from howsure.matching.state_and_steps import bare_name, compare_steps
from howsure.model.expectation import Matching, MatchMode, Trajectory
from howsure.model.transcript import AgentStep, Step, ToolStep


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


def test_reasons_name_the_step() -> None:
    found = compare_steps(trajectory("Greeting Billing pay"), steps("Billing Greeting"))
    assert found.reasons == ("`Billing` took part, but not in the expected place", "`pay` did not take part")
    assert (found.missing, found.unexpected) == (("Billing", "pay"), ("Billing",))
    extra = compare_steps(trajectory("Greeting", MatchMode.EXACT), steps("Greeting look"))
    assert extra.reasons == ("`look` took part, but was not expected",)
    none = compare_steps(trajectory(""), steps("look"))
    assert none.reasons == ("`look` took part, but no step was expected",)
