"""Places in places."""

from __future__ import annotations

import pytest

from howsure.judges.offline.gazetteer import POSTAL, REGIONS, WHOLES
from howsure.judges.offline.passages import comparable
from howsure.judges.offline.places import Lies, asks_where, lies, place_of, wholes_of


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("Seattle, Washington", ("seattle",)),
        ("in the city of Lyon", ("lyon",)),
        ("southern Italy", ("italy",)),
        ("the French", ("france",)),
        ("South America", ("south", "america")),
        ("Republic of Kenya", ("kenya",)),
        ("Paris and Berlin", None),
        ("the Eiffel Tower in Paris", None),
        ("somewhere", None),
        ("", None),
    ],
)
def test_the_smallest_place_that_is_named(text: str, place: tuple[str, ...] | None) -> None:
    assert place_of(comparable(text)) == place


@pytest.mark.parametrize(
    ("expected", "stated", "how"),
    [
        ("Lyon", "Lyon, France", Lies.SAME),
        ("France", "Lyon", Lies.WITHIN),
        ("South America", "Peru", Lies.WITHIN),
        ("Chicago", "the United States", Lies.AROUND),
        ("Boston", "Massachusetts", Lies.AROUND),
        ("Peru", "South America", Lies.AROUND),
        ("Lyon", "Europe", Lies.ELSEWHERE),
        ("Lyon", "Germany", Lies.ELSEWHERE),
        ("northern Italy", "southern Italy", Lies.ELSEWHERE),
        ("Portland, Maine", "Portland, Oregon", Lies.ELSEWHERE),
        ("West Virginia", "Virginia", Lies.ELSEWHERE),
        ("the Rose Bowl, Pasadena", "Pasadena", Lies.AROUND),
        ("the Rose Bowl, Pasadena", "California", Lies.AROUND),
        ("the Rose Bowl, Pasadena", "Texas", None),
        ("a barn", "Texas", None),
        ("Texas", "a barn", None),
    ],
)
def test_how_two_places_lie_to_each_other(expected: str, stated: str, how: Lies | None) -> None:
    assert lies(comparable(expected), comparable(stated)) is how


def test_a_place_lies_in_everything_around_it() -> None:
    assert {("illinois",), ("midwest",), ("usa",), ("north", "america")} <= wholes_of(("chicago",))


def test_only_some_questions_ask_where() -> None:
    assert asks_where(comparable("Where is the tower located?"))
    assert not asks_where(comparable("Which country won?"))


def test_no_place_lies_in_itself_and_every_region_is_known() -> None:
    assert () not in WHOLES
    assert not [place for place in WHOLES if place in wholes_of(place)]
    assert set(WHOLES) >= REGIONS


def test_the_gazetteer_uses_the_names_that_are_compared() -> None:
    renamed = {place for place in WHOLES if comparable(" ".join(place)) != place}
    assert renamed == set()


def test_there_are_fifty_states_and_the_capital() -> None:
    assert len(POSTAL) == 51
    assert comparable("Pittsburgh, PA") == ("pittsburgh", "pennsylvania")
    assert comparable("Plan A, OK") == comparable("Plan A, Oklahoma"), "after a comma two capitals are a state"
