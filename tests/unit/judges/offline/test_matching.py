"""The forms that an expected answer stands for, and which way of comparing speaks."""

from __future__ import annotations

import pytest

from howsure.judges.offline.matches import Match, MatchKind, read_short_answer
from howsure.judges.offline.references import best_match, match_reference, reference_forms


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
    assert list(reference_forms(expected)) == forms


@pytest.mark.parametrize(
    ("question", "expected", "answer", "way"),
    [
        ("q", "Paris", "paris", MatchKind.EQUAL),
        ("q", "Paris", "The capital is Paris.", MatchKind.CONTAINED),
        ("who was it", "Anna Maria Berg", "It was Anna Berg.", MatchKind.NAME),
        ("who was it", "Anna Berg", "It was Berg, I think.", MatchKind.LAST_NAME),
        ("q", "International Monetary Fund", "The IMF did.", MatchKind.ACRONYM),
        ("when", "4 July 1960", "1960-07-04", MatchKind.DATE),
        ("when", "4 July 1960", "in 1960", MatchKind.COARSER_DATE),
        ("when", "1914 to 1918", "in 1916", MatchKind.COARSER_DATE),
        ("when", "1916", "between 1914 and 1918", MatchKind.COARSER_DATE),
        ("when", "4 July 1960", "5 July 1960", MatchKind.OTHER_DATE),
        ("how many", "5 to 10", "7", MatchKind.NUMBER),
        ("how many", "5", "7", MatchKind.OTHER_NUMBER),
        ("where is it", "France", "Lyon", MatchKind.WITHIN),
        ("where is it", "Lyon", "France", MatchKind.AROUND),
        ("who was it", "Anna Berg", "Anna", MatchKind.SHORTER),
        ("q", "city planners", "the planning office of each city", MatchKind.OVERLAP),
        ("q", "Paris", "It is not Paris.", MatchKind.DENIED),
        ("q", "Paris", "Paris or London", MatchKind.ONE_OF_SEVERAL),
        ("q", "Paris", "London", MatchKind.OTHER),
    ],
)
def test_the_first_way_that_speaks_decides(question: str, expected: str, answer: str, way: MatchKind) -> None:
    assert match_reference(expected, read_short_answer(question, answer)).kind is way


def test_the_best_reference_counts_and_none_is_no_match() -> None:
    given = read_short_answer("where is it", "Lyon")
    assert best_match(["Rome", "Lyon"], given) == Match(MatchKind.EQUAL, 1.0, "Lyon")
    assert best_match([], given) == Match(MatchKind.OTHER)
