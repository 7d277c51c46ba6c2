"""Values in their units, as a person reads them."""

from __future__ import annotations

from math import inf

import pytest

from howsure.model.gate import Outcome
from howsure.policies.gates import Bound, Sign
from howsure.services.gates.deciding import side
from howsure.services.gates.wording import Unit, more, span, standing, without


@pytest.mark.parametrize(
    ("unit", "value", "said"),
    [
        (Unit.SHARE, 0.9, "90 %"),
        (Unit.SHARE, 0.9512, "95.1 %"),
        (Unit.SHARE, 0.99993, "99.993 %"),
        (Unit.SHARE, 0.0002, "0.02 %"),
        (Unit.SHARE, 1.0, "100 %"),
        (Unit.SHARE, 0.0, "0 %"),
        (Unit.SHARE, 0.1, "10 %"),
        (Unit.CHANGE, -0.0212, "-2.1 points"),
        (Unit.CHANGE, 0.0, "0.0 points"),
        (Unit.CHANGE, 0.00004, "+0.004 points"),
        (Unit.SECONDS, 2.345, "2.35 s"),
        (Unit.SECONDS, 0.8, "800 ms"),
        (Unit.SECONDS, 0.0, "0 ms"),
        (Unit.SECONDS, 90, "90 s"),
        (Unit.DOLLARS, 2, "2.00 USD"),
        (Unit.DOLLARS, 0.0123, "0.0123 USD"),
        (Unit.DOLLARS, 0, "0 USD"),
        (Unit.TOKENS, 500_000, "500,000 tokens"),
        (Unit.CASES, 3, "3"),
        (Unit.POINTS, 4.25, "4.25"),
    ],
)
def test_a_value_is_said_in_its_unit(unit: Unit, value: float, said: str) -> None:
    assert unit.say(value) == said


def test_an_end_that_is_not_known_is_said_to_be() -> None:
    assert span(Unit.SECONDS, (1.0, inf)) == "1 s to an unknown high"
    assert span(Unit.SECONDS, (-inf, 1.0)) == "an unknown low to 1 s"


@pytest.mark.parametrize(
    ("sign", "interval", "outcome", "said"),
    [
        (Sign.AT_LEAST, (0.9, 1.0), Outcome.HELD, "all of it at or above 90 %"),
        (Sign.AT_LEAST, (0.5, 0.899), Outcome.FAILED, "all of it below 90 %"),
        (Sign.AT_LEAST, (0.8, 0.95), Outcome.INCONCLUSIVE, "and 90 % lies within it"),
        (Sign.MORE, (0.9, 1.0), Outcome.INCONCLUSIVE, "and 90 % lies within it"),
        (Sign.MORE, (0.5, 0.9), Outcome.FAILED, "all of it at or below 90 %"),
        (Sign.AT_MOST, (0.5, 0.9), Outcome.HELD, "all of it at or below 90 %"),
        (Sign.AT_MOST, (0.91, 1.0), Outcome.FAILED, "all of it above 90 %"),
        (Sign.LESS, (0.5, 0.9), Outcome.INCONCLUSIVE, "and 90 % lies within it"),
    ],
)
def test_the_whole_interval_decides(sign: Sign, interval: tuple[float, float], outcome: Outcome, said: str) -> None:
    bound = Bound(sign, 0.9)
    assert side(bound, interval) is outcome
    assert standing(Unit.SHARE, bound, outcome) == said


def test_without_an_interval_nothing_is_decided() -> None:
    assert side(Bound(Sign.AT_LEAST, 0.9), None) is Outcome.INCONCLUSIVE


@pytest.mark.parametrize(
    ("cases", "said"),
    [
        (1, "About 1 more case like these would settle it."),
        (1200, "About 1,200 more cases like these would settle it."),
    ],
)
def test_what_would_settle_it_is_a_number_of_cases(cases: int, said: str) -> None:
    assert more(cases) == said


def test_what_is_left_out_is_counted() -> None:
    assert without(0, "case") == ""
    assert without(2, "answer", "a known cost") == " 2 answers without a known cost: not counted."
