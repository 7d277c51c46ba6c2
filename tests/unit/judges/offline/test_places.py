"""Places in places."""

from __future__ import annotations

import pytest

from howsure.judges.offline.lexicon import gazetteer, postal_states
from howsure.judges.offline.places import PlaceRelation, asks_where, enclosing_places, find_place, relate_places
from howsure.judges.offline.sentences import comparable_words


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
    assert find_place(comparable_words(text)) == place


@pytest.mark.parametrize(
    ("expected", "stated", "how"),
    [
        ("Lyon", "Lyon, France", PlaceRelation.SAME),
        ("France", "Lyon", PlaceRelation.WITHIN),
        ("South America", "Peru", PlaceRelation.WITHIN),
        ("Chicago", "the United States", PlaceRelation.AROUND),
        ("Boston", "Massachusetts", PlaceRelation.AROUND),
        ("Peru", "South America", PlaceRelation.AROUND),
        ("Lyon", "Europe", PlaceRelation.ELSEWHERE),
        ("Lyon", "Germany", PlaceRelation.ELSEWHERE),
        ("northern Italy", "southern Italy", PlaceRelation.ELSEWHERE),
        ("Portland, Maine", "Portland, Oregon", PlaceRelation.ELSEWHERE),
        ("West Virginia", "Virginia", PlaceRelation.ELSEWHERE),
        ("the Rose Bowl, Pasadena", "Pasadena", PlaceRelation.AROUND),
        ("the Rose Bowl, Pasadena", "California", PlaceRelation.AROUND),
        ("the Rose Bowl, Pasadena", "Texas", None),
        ("a barn", "Texas", None),
        ("Texas", "a barn", None),
    ],
)
def test_how_two_places_lie_to_each_other(expected: str, stated: str, how: PlaceRelation | None) -> None:
    assert relate_places(comparable_words(expected), comparable_words(stated)) is how


def test_a_place_lies_in_everything_around_it() -> None:
    assert {("illinois",), ("midwest",), ("usa",), ("north", "america")} <= enclosing_places(("chicago",))


def test_only_some_questions_ask_where() -> None:
    assert asks_where(comparable_words("Where is the tower located?"))
    assert not asks_where(comparable_words("Which country won?"))


def test_no_place_lies_in_itself_and_every_region_is_known() -> None:
    assert () not in gazetteer().containers
    assert not [place for place in gazetteer().containers if place in enclosing_places(place)]
    assert set(gazetteer().containers) >= gazetteer().regions


def test_the_gazetteer_uses_the_names_that_are_compared() -> None:
    renamed = {place for place in gazetteer().containers if comparable_words(" ".join(place)) != place}
    assert renamed == set()


def test_there_are_fifty_states_and_the_capital() -> None:
    assert len(postal_states()) == 51
    assert comparable_words("Pittsburgh, PA") == ("pittsburgh", "pennsylvania")
    assert comparable_words("Plan A, OK") == comparable_words("Plan A, Oklahoma"), (
        "after a comma two capitals are a state"
    )
