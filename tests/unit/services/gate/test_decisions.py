"""Values in their units, as a person reads them."""

from __future__ import annotations

from math import inf

import pytest

from howsure.model.summary import GateOutcome
from howsure.policies.gates import BoundSign, GateBound
from howsure.services.gate.decisions import (
    GateUnit,
    interval_outcome,
    interval_text,
    limit_text,
    missing_text,
    more_cases_text,
)


@pytest.mark.parametrize(
    ("unit", "value", "said"),
    [
        (GateUnit.SHARE, 0.9, "90 %"),
        (GateUnit.SHARE, 0.9512, "95.1 %"),
        (GateUnit.SHARE, 0.99993, "99.993 %"),
        (GateUnit.SHARE, 0.0002, "0.02 %"),
        (GateUnit.SHARE, 1.0, "100 %"),
        (GateUnit.SHARE, 0.0, "0 %"),
        (GateUnit.SHARE, 0.1, "10 %"),
        (GateUnit.CHANGE, -0.0212, "-2.1 points"),
        (GateUnit.CHANGE, 0.0, "0.0 points"),
        (GateUnit.CHANGE, 0.00004, "+0.004 points"),
        (GateUnit.SECONDS, 2.345, "2.35 s"),
        (GateUnit.SECONDS, 0.8, "800 ms"),
        (GateUnit.SECONDS, 0.0, "0 ms"),
        (GateUnit.SECONDS, 90, "90 s"),
        (GateUnit.DOLLARS, 2, "2.00 USD"),
        (GateUnit.DOLLARS, 0.0123, "0.0123 USD"),
        (GateUnit.DOLLARS, 0, "0 USD"),
        (GateUnit.TOKENS, 500_000, "500,000 tokens"),
        (GateUnit.CASES, 3, "3"),
        (GateUnit.POINTS, 4.25, "4.25"),
    ],
)
def test_a_value_is_said_in_its_unit(unit: GateUnit, value: float, said: str) -> None:
    assert unit.say(value) == said


def test_an_end_that_is_not_known_is_said_to_be() -> None:
    assert interval_text(GateUnit.SECONDS, (1.0, inf)) == "1 s to an unknown high"
    assert interval_text(GateUnit.SECONDS, (-inf, 1.0)) == "an unknown low to 1 s"


@pytest.mark.parametrize(
    ("sign", "interval", "outcome", "said"),
    [
        (BoundSign.AT_LEAST, (0.9, 1.0), GateOutcome.HELD, "all of it at or above 90 %"),
        (BoundSign.AT_LEAST, (0.5, 0.899), GateOutcome.FAILED, "all of it below 90 %"),
        (BoundSign.AT_LEAST, (0.8, 0.95), GateOutcome.INCONCLUSIVE, "and 90 % lies within it"),
        (BoundSign.MORE, (0.9, 1.0), GateOutcome.INCONCLUSIVE, "and 90 % lies within it"),
        (BoundSign.MORE, (0.5, 0.9), GateOutcome.FAILED, "all of it at or below 90 %"),
        (BoundSign.AT_MOST, (0.5, 0.9), GateOutcome.HELD, "all of it at or below 90 %"),
        (BoundSign.AT_MOST, (0.91, 1.0), GateOutcome.FAILED, "all of it above 90 %"),
        (BoundSign.LESS, (0.5, 0.9), GateOutcome.INCONCLUSIVE, "and 90 % lies within it"),
    ],
)
def test_the_whole_interval_decides(
    sign: BoundSign, interval: tuple[float, float], outcome: GateOutcome, said: str
) -> None:
    bound = GateBound(sign, 0.9)
    assert interval_outcome(bound, interval) is outcome
    assert limit_text(GateUnit.SHARE, bound, outcome) == said


def test_without_an_interval_nothing_is_decided() -> None:
    assert interval_outcome(GateBound(BoundSign.AT_LEAST, 0.9), None) is GateOutcome.INCONCLUSIVE


@pytest.mark.parametrize(
    ("cases", "said"),
    [
        (1, "About 1 more case like these would settle it."),
        (1200, "About 1,200 more cases like these would settle it."),
    ],
)
def test_what_would_settle_it_is_a_number_of_cases(cases: int, said: str) -> None:
    assert more_cases_text(cases) == said


def test_what_is_left_out_is_counted() -> None:
    assert missing_text(0, "case") == ""
    assert missing_text(2, "answer", "a known cost") == " 2 answers without a known cost: not counted."
