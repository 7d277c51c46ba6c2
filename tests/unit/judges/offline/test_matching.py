"""The forms that an expected answer stands for, and which way of comparing speaks."""

from __future__ import annotations

import pytest

from howsure.judges.offline.matches import Match, Way, asked
from howsure.judges.offline.matching import best_match, forms_of, match


@pytest.mark.parametrize(
    ("expected", "forms"),
    [
        ("Paris", ["Paris"]),
        ("adenosine diphosphate (ADP)", ["adenosine diphosphate (ADP)", "adenosine diphosphate ", "ADP"]),
        ("Halvorsen (6)", ["Halvorsen (6)", "Halvorsen "]),
        ("Berg, Anna", ["Berg, Anna", "Anna Berg"]),
        ("Lyon, France", ["Lyon, France", "France Lyon", "Lyon"]),
        ("Rheims or Reims", ["Rheims or Reims", "Rheims", "Reims"]),
        ("trick or treat", ["trick or treat"]),
        ("AC/DC", ["AC/DC"]),
        ("9/11", ["9/11"]),
        ("Night Watch: The Long Road", ["Night Watch: The Long Road", "Night Watch", "The Long Road"]),
        ("the explorer Anna de Berg", ["the explorer Anna de Berg", "Anna de Berg"]),
        ("the king of Spain", ["the king of Spain", "Spain king"]),
        ("Alice paid Bob", ["Alice paid Bob"]),
        ("Mission: Impossible", ["Mission: Impossible"]),
        ("the Bank of England", ["the Bank of England", "England Bank"]),
        ("red, white, blue", ["red, white, blue", "red and white and blue"]),
    ],
)
def test_the_forms_of_an_expected_answer(expected: str, forms: list[str]) -> None:
    assert list(forms_of(expected)) == forms


@pytest.mark.parametrize(
    ("question", "expected", "answer", "way"),
    [
        ("q", "Paris", "paris", Way.EQUAL),
        ("q", "Paris", "The capital is Paris.", Way.CONTAINED),
        ("who was it", "Anna Maria Berg", "It was Anna Berg.", Way.NAME),
        ("who was it", "Anna Berg", "It was Berg, I think.", Way.LAST_NAME),
        ("q", "International Monetary Fund", "The IMF did.", Way.ACRONYM),
        ("when", "4 July 1960", "1960-07-04", Way.DATE),
        ("when", "4 July 1960", "in 1960", Way.COARSER_DATE),
        ("when", "1914 to 1918", "in 1916", Way.COARSER_DATE),
        ("when", "1916", "between 1914 and 1918", Way.COARSER_DATE),
        ("when", "4 July 1960", "5 July 1960", Way.OTHER_DATE),
        ("how many", "5 to 10", "7", Way.NUMBER),
        ("how many", "5", "7", Way.OTHER_NUMBER),
        ("where is it", "France", "Lyon", Way.WITHIN),
        ("where is it", "Lyon", "France", Way.AROUND),
        ("who was it", "Anna Berg", "Anna", Way.SHORTER),
        ("q", "city planners", "the planning office of each city", Way.OVERLAP),
        ("q", "Paris", "It is not Paris.", Way.DENIED),
        ("q", "Paris", "Paris or London", Way.ONE_OF_SEVERAL),
        ("q", "Paris", "London", Way.OTHER),
    ],
)
def test_the_first_way_that_speaks_decides(question: str, expected: str, answer: str, way: Way) -> None:
    assert match(expected, asked(question, answer)).way is way


def test_the_best_reference_counts_and_none_is_no_match() -> None:
    given = asked("where is it", "Lyon")
    assert best_match(["Rome", "Lyon"], given) == Match(Way.EQUAL, 1.0, "Lyon")
    assert best_match([], given) == Match(Way.OTHER)
