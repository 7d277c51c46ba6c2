"""Pairing: each label finds the grade that it is about, or is counted as having none."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.errors import DatasetInvalid, PlanRefused
from howsure.model.expectation import text_id
from howsure.model.result import Result
from howsure.model.score import Direction, Part, Score, Unscored, Why
from howsure.services.trust.labels import Label
from howsure.services.trust.pairing import Outcome, Thing, graded, paired, passes
from unit.services.trust.making import a_label, a_result, checked, labels_of, rated, stream, verdicts


async def things(labels: list[Label], *results: Result, by: str = "") -> list[Thing]:
    return paired(labels_of(*labels), await graded(stream(results), {"criteria", "RelevanceExplain"}, by))


async def test_a_label_without_a_criterion_is_about_the_whole() -> None:
    (thing,) = await things([a_label(True)], a_result("c1", checked(False, "k"), checked(True)))
    assert thing.passed is True
    assert thing.criterion == ""


@pytest.mark.parametrize("name", ["k", text_id("text of k"), "text of k", "1"])
async def test_a_criterion_is_found_by_id_hash_text_or_position(name: str) -> None:
    (thing,) = await things([a_label(True, criterion=name)], a_result("c1", checked(False, "k"), checked(True)))
    assert thing.passed is False
    assert thing.criterion == "k"


async def test_a_label_that_may_be_about_two_answers_is_a_problem() -> None:
    results = [a_result("c1", checked(True), candidate=name) for name in ("juno", "orchid")]
    with pytest.raises(DatasetInvalid) as caught:
        await things([a_label(True, line=3)], *results)
    (problem,) = caught.value.problems
    assert (problem.code, problem.line, problem.field) == ("ambiguous-label", 3, "candidate")
    assert problem.expected == "one of juno, orchid"
    (thing,) = await things([a_label(True, candidate="orchid")], *results)
    assert thing.candidate == "orchid"


async def test_repeats_must_be_told_apart_too() -> None:
    results = [a_result("c1", checked(True), repeat=number) for number in (1, 2)]
    with pytest.raises(DatasetInvalid, match="1 problem"):
        await things([a_label(True)], *results)
    (thing,) = await things([a_label(True, repeat=2)], *results)
    assert thing.repeat == 2


async def test_labels_of_several_people_are_about_one_thing() -> None:
    given = [a_label(True, "a"), a_label(False, "b"), a_label(True, "c")]
    (thing,) = await things(given, a_result("c1", checked(True)))
    assert len(thing.labels) == 3
    assert thing.people_passed is True


async def test_one_person_cannot_label_a_criterion_twice_under_two_names() -> None:
    given = [a_label(True, "a", criterion="k", line=1), a_label(False, "a", criterion="1", line=2)]
    with pytest.raises(DatasetInvalid) as caught:
        await things(given, a_result("c1", checked(True, "k")))
    assert [(problem.code, problem.line) for problem in caught.value.problems] == [("duplicate-label", 2)]


async def test_labels_about_nothing_here_are_counted_unless_all_are() -> None:
    given = [a_label(True), a_label(True, case_id="c9")]
    found = await things(given, a_result("c1", checked(True)))
    assert [thing.outcome for thing in found] == [Outcome.COMPARED, Outcome.MISSING]
    with pytest.raises(PlanRefused, match="no case 'c9'"):
        await things([a_label(True, case_id="c9")], a_result("c1", checked(True)))
    with pytest.raises(PlanRefused, match="criterion 'zz' of criteria"):
        await things([a_label(True, criterion="zz")], a_result("c1", checked(True)))


async def test_things_know_the_slice_of_their_case() -> None:
    results = [a_result("c1", checked(True), quality_band="poor"), a_result("c2", checked(True), quality_band="good")]
    found = await things([a_label(True), a_label(True, case_id="c2")], *results, by="quality_band")
    assert [thing.where for thing in found] == ["poor", "good"]


@pytest.mark.parametrize(
    ("grade", "outcome"),
    [
        (checked(True), Outcome.COMPARED),
        (checked(None), Outcome.UNREADABLE),
        (Unscored(name="criteria", why=Why.NOT_APPLICABLE, reason="x"), Outcome.NOT_APPLICABLE),
        (Unscored(name="criteria", why=Why.NO_JUDGE, reason="x"), Outcome.NO_JUDGE),
        (Score(name="criteria", value=1.0), Outcome.UNMARKED),
        (None, Outcome.MISSING),
    ],
    ids=lambda value: value.value if isinstance(value, Outcome) else "",
)
def test_what_becomes_of_a_labelled_thing(grade: Any, outcome: Outcome) -> None:
    thing = Thing(case_id="c", grader="criteria", labels=(a_label(True),), grade=grade)
    assert thing.outcome is outcome


def test_people_in_halves_have_no_verdict() -> None:
    (thing,) = verdicts((None, True))
    assert thing.people_passed is None
    assert thing.outcome is Outcome.SPLIT


@pytest.mark.parametrize(
    ("numbers", "mean", "category"), [((4.0,), 4.0, 4.0), ((2.0, 5.0), 3.5, 2.0), ((1.0, 4.0, 5.0), 10 / 3, 4.0)]
)
def test_numbers_of_several_people_have_a_mean_and_a_middle_that_somebody_gave(
    numbers: tuple[float, ...], mean: float, category: float
) -> None:
    given = tuple(a_label(value, str(place)) for place, value in enumerate(numbers))
    thing = Thing(case_id="c", grader="RelevanceExplain", labels=given, grade=rated(3, 3))
    assert thing.people_value == pytest.approx(mean)
    assert thing.people_category == category
    assert thing.people_passed is (mean >= 3)


def test_where_low_is_good_a_low_number_passes() -> None:
    bad = Score(name="w", value=0.0, pass_mark=0.0, direction=Direction.LOWER, part=Part(id="p", text="t", weight=-1))
    assert passes(0.0, bad) is True
    assert passes(1.0, bad) is False
    assert passes(1.0, Score(name="w", value=0.5)) is None
