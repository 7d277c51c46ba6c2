"""The page of a comparison: cases by names that people read, links to both side by side, slices apart from the rest."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from howsure.model.comparison import Comparison, Flip, Kind
from howsure.reports.html.comparing import against
from howsure.web.pages.compare import ComparePage, compare_page
from store.making import OTHER, RUN, a_run
from unit.reports.comparisons import FAILED, PASSED, compared, comparison

CASE = "e17989d4-46cf-531c-9dbd-4f19be74c73e"


def page_of(found: Comparison, **fields: Any) -> ComparePage:
    runs = [a_run(RUN, name="before"), a_run(OTHER, name="after")]
    return compare_page(runs, found, against(found), "", **fields)


@pytest.fixture
def found() -> Comparison:
    return comparison(compared())


def test_sides_have_letters_and_the_answer_is_the_sentence(found: Comparison) -> None:
    page = page_of(found)
    assert [(side.letter, side.name) for side in page.sides] == [("A", "before"), ("B", "after")]
    assert page.answer == against(found)[0].sentence


def test_what_cannot_be_compared_says_so() -> None:
    page = compare_page([a_run(RUN), a_run(OTHER)], None, (), "they have no case in common")
    assert (page.answer, page.refused, page.pairs) == (
        "These runs cannot be compared.",
        "they have no case in common",
        (),
    )


def test_slices_are_told_apart_by_their_titles(found: Comparison) -> None:
    (pair,) = found.pairs
    tag = replace(pair.verdict, name="returns", kind=Kind.TAG)
    hard = replace(pair.verdict, name="difficulty=hard", kind=Kind.SLICE)
    grader = replace(pair.verdict, name="criteria", kind=Kind.GRADER)
    sliced = replace(found, pairs=(replace(pair, differences=(grader, tag, hard)),))
    assert page_of(sliced).pairs[0].slices == ("tag returns", "difficulty=hard")


def test_cases_are_called_by_their_names_and_lead_to_both_sides(found: Comparison) -> None:
    (pair,) = found.pairs
    flip = Flip(case_id=CASE, first=FAILED, second=PASSED)
    turned = replace(found, pairs=(replace(pair, flips=(flip,)),))
    (named,) = page_of(turned, names={CASE: "Neighbour's address"}).pairs[0].told.better
    assert named.id == "Neighbour's address"
    assert named.link.startswith("/compare/case?run=") and named.link.partition("case=")[2].startswith(CASE)
    (unnamed,) = page_of(turned).pairs[0].told.better
    assert unnamed.id == CASE
