"""The comparison of runs, and of one case in two runs."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from howsure.model.comparison import CaseFlip, Comparison, DifferenceKind, Mismatch, MismatchEffect, PinKind
from howsure.model.tool_runs import ToolRun
from howsure.reports.html.comparison import baseline_comparisons
from howsure.web.pages.compare import (
    ComparedTurn,
    ComparePage,
    DiffSpan,
    compare_page,
    diff_words,
    shared_setup,
    side_by_side,
)
from store.making import OTHER, RUN, a_run
from unit.reports.comparisons import FAILED, PASSED, compared, comparison

CASE = "e17989d4-46cf-531c-9dbd-4f19be74c73e"


def page_of(found: Comparison, **fields: Any) -> ComparePage:
    runs = [a_run(RUN, name="before"), a_run(OTHER, name="after")]
    return compare_page(runs, found, baseline_comparisons(found), "", **fields)


@pytest.fixture
def found() -> Comparison:
    return comparison(compared())


def test_sides_have_letters_and_the_answer_is_the_sentence(found: Comparison) -> None:
    page = page_of(found)
    assert [(side.letter, side.name) for side in page.sides] == [("A", "before"), ("B", "after")]
    assert page.answer == baseline_comparisons(found)[0].sentence


def test_what_cannot_be_compared_says_so() -> None:
    page = compare_page([a_run(RUN), a_run(OTHER)], None, (), "they have no case in common")
    assert (page.answer, page.refused, page.pairs) == (
        "These runs cannot be compared.",
        "they have no case in common",
        (),
    )


def test_slices_are_told_apart_by_their_titles(found: Comparison) -> None:
    (pair,) = found.pairs
    tag = replace(pair.verdict, name="returns", kind=DifferenceKind.TAG)
    hard = replace(pair.verdict, name="difficulty=hard", kind=DifferenceKind.SLICE)
    grader = replace(pair.verdict, name="criteria", kind=DifferenceKind.GRADER)
    sliced = replace(found, pairs=(replace(pair, differences=(grader, tag, hard)),))
    assert page_of(sliced).pairs[0].slices == ("tag returns", "difficulty=hard")


def test_cases_are_called_by_their_names_and_lead_to_both_sides(found: Comparison) -> None:
    (pair,) = found.pairs
    flip = CaseFlip(case_id=CASE, first=FAILED, second=PASSED)
    turned = replace(found, pairs=(replace(pair, flips=(flip,)),))
    (named,) = page_of(turned, names={CASE: "Neighbour's address"}).pairs[0].told.better
    assert named.id == "Neighbour's address"
    assert named.link.startswith("/compare/case?run=") and named.link.partition("case=")[2].startswith(CASE)
    (unnamed,) = page_of(turned).pairs[0].told.better
    assert unnamed.id == CASE


ASK = ComparedTurn("user", "Refund me.")


def test_what_is_the_same_is_not_marked() -> None:
    (only,) = side_by_side([ASK], [ASK])
    assert not only.differs


def test_words_that_the_other_does_not_have_are_marked() -> None:
    assert diff_words("it costs 9 dollars", "it costs 18 dollars") == (
        (DiffSpan("it costs "), DiffSpan("9", True), DiffSpan(" dollars")),
        (DiffSpan("it costs "), DiffSpan("18", True), DiffSpan(" dollars")),
    )


def test_a_turn_that_only_one_side_has_stands_alone() -> None:
    first, second = side_by_side([ASK], [ASK, ComparedTurn("assistant", "Done.")])
    assert not first.differs
    assert second.first is None
    assert second.second is not None
    assert second.second.words == (DiffSpan("Done.", True),)


def test_a_call_that_only_one_side_made_is_marked_and_the_shared_one_is_not() -> None:
    (only,) = side_by_side(
        [ComparedTurn("assistant", "", ("look(1)",))], [ComparedTurn("assistant", "", ("look(1)", "refund(1)"))]
    )
    assert only.first is not None
    assert only.second is not None
    assert only.first.calls == (DiffSpan("look(1)"),)
    assert only.second.calls == (DiffSpan("look(1)"), DiffSpan("refund(1)", True))


def test_turns_of_other_roles_do_not_stand_beside_each_other() -> None:
    found = side_by_side([ComparedTurn("user", "a")], [ComparedTurn("assistant", "b")])
    assert [(each.first is None, each.second is None) for each in found] == [(False, True), (True, False)]


def test_very_long_texts_are_marked_whole() -> None:
    long = "word " * 2000
    assert diff_words(long, long + "x") == ((DiffSpan(long, True),), (DiffSpan(long + "x", True),))


def test_spaces_alone_make_no_other_turn() -> None:
    (only,) = side_by_side([ComparedTurn("user", "a  b")], [ComparedTurn("user", "a b")])
    assert only.first is not None
    assert next(stretch.text for stretch in only.first.words) == "a"


def test_only_what_is_known_to_be_the_same_is_said_to_be() -> None:
    (pair,) = page_of(comparison(compared())).pairs
    assert pair.shared == "Comparable: same cases, rubric, judge and policy."
    runs = [
        replace(run, pins=replace(run.pins, imported=ToolRun(tool="inspect"), models={"": model}))
        for run, model in ((a_run(RUN), "gpt-4o"), (a_run(OTHER), "o3"))
    ]
    shared = shared_setup(compared(), runs)
    assert shared == (
        "Same cases. The grades are those that inspect gave: by which judge, rubric and policy is not known to be the "
        "same. Models: gpt-4o and o3."
    )
    told = replace(
        compared(), unlike=(Mismatch(what=PinKind.JUDGE, bearing=MismatchEffect.EXPECTED, said="taken for one"),)
    )
    assert shared_setup(told, []) == "Same cases, rubric and policy; judge: taken for one."
