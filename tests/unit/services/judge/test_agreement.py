"""Figures: worked out by hand on small tables, and adding up always."""

from __future__ import annotations

from itertools import product

import pytest

from howsure.model.calibration import LabelCoverage
from howsure.model.score import UNIT
from howsure.services.judge.agreement import (
    agreement_group,
    agreement_groups,
    label_coverage,
    rater_figures,
    rating_figures,
    verdict_figures,
)
from howsure.services.judge.labels import GradeWithLabels
from unit.services.judge.labelled_grades import a_label, checked, rated, ratings, verdicts

TABLE = [(True, True)] * 4 + [(True, False)] * 1 + [(False, False)] * 3 + [(False, True)] * 2


def test_agreement_kappa_and_the_classes_of_a_table_known_by_hand() -> None:
    found = verdict_figures(verdicts(*TABLE))
    assert found is not None
    assert found.agreement.value == 0.7
    assert found.agreement.n == 10
    assert found.agreement.interval == pytest.approx((0.3968, 0.8922), abs=1e-4)
    # p_o 0.7; people 5:5, judge 6:4, so p_e = 0.5 * 0.6 + 0.5 * 0.4 = 0.5
    assert found.kappa.value == pytest.approx(0.4)
    assert found.kappa.interval is not None
    assert found.kappa.interval[0] < 0.4 < found.kappa.interval[1]
    assert found.confusion == {"pass": {"pass": 4, "fail": 1, "none": 0}, "fail": {"pass": 2, "fail": 3, "none": 0}}
    passing, failing = found.classes["pass"], found.classes["fail"]
    assert passing.precision.value == pytest.approx(4 / 6)
    assert passing.recall.value == pytest.approx(4 / 5)
    assert passing.f1.value == pytest.approx(8 / 11)
    assert failing.precision.value == pytest.approx(3 / 4)
    assert failing.recall.value == pytest.approx(3 / 5)
    assert failing.f1.value == pytest.approx(6 / 9)


def test_silence_is_disagreement_in_one_figure_and_left_out_of_the_other() -> None:
    found = verdict_figures(verdicts((True, True), (True, True), (True, None), (False, None)))
    assert found is not None
    assert (found.agreement.value, found.agreement.n) == (1.0, 2)
    assert (found.with_silence.value, found.with_silence.n) == (0.5, 4)
    assert found.confusion == {"pass": {"pass": 2, "fail": 0, "none": 1}, "fail": {"pass": 0, "fail": 0, "none": 1}}


def test_a_judge_that_never_says_anything_agrees_never() -> None:
    found = verdict_figures(verdicts((True, None), (False, None)))
    assert found is not None
    assert (found.agreement.value, found.agreement.n) == (None, 0)
    assert (found.with_silence.value, found.with_silence.n) == (0.0, 2)


def test_coverage_adds_up_whatever_happens() -> None:
    for people, judge in product((True, False, None), repeat=2):
        things = [*verdicts((people, judge)), GradeWithLabels(case_id="x", grader="criteria", labels=(a_label(True),))]
        found = label_coverage(things)
        parts = (found.compared, found.unreadable, found.not_applicable, found.no_judge, found.missing)
        assert sum((*parts, found.split, found.unmarked)) == found.things == 2
    assert label_coverage(verdicts(*TABLE, (None, True), (True, None))) == LabelCoverage(
        labels=13, things=12, compared=10, unreadable=1, split=1
    )


def test_figures_of_numbers_known_by_hand() -> None:
    found = rating_figures(ratings((1, 2), (2, 2), (3, 4), (4, 4), (5, 5), (5, 4)))
    assert found is not None
    assert (found.exact.value, found.exact.n) == (0.5, 6)
    assert found.mae.value == pytest.approx(0.5)
    assert found.bias.value == pytest.approx(1 / 6)
    # sums of squares 80 - 400/6 and 81 - 441/6, of products 79 - 70: 9 / sqrt(40/3 * 7.5)
    assert found.pearson.value == pytest.approx(0.9)
    # the same on the ranks: 14 / sqrt(17 * 15)
    assert found.spearman.value == pytest.approx(14 / 255**0.5)
    # squared distances: 3 in the pairs; 6 * 80 + 6 * 81 - 2 * 20 * 21 = 126 over all 36
    assert found.weighted_kappa.value == pytest.approx(1 - 6 * 3 / 126)
    assert found.pearson.interval is None, "six cases say nothing about its spread"
    assert found.mae.interval is not None and found.mae.interval[0] > 0.0


def test_a_correlation_is_not_surer_than_so_few_cases_allow() -> None:
    """Twelve grades that all agree, and twelve of which one does not."""
    alike = rating_figures(ratings(*[(place % 5 + 1, place % 5 + 1) for place in range(12)]))
    other = rating_figures(ratings(*[(place % 5 + 1, place % 5 + 1) for place in range(11)], (5, 3)))
    assert alike is not None and other is not None
    for figure in (alike.spearman, other.spearman, other.kendall, alike.weighted_kappa):
        assert figure.interval is not None
        assert figure.interval[0] < 0.7 and figure.interval[1] == 1.0


def test_a_scale_that_is_not_of_whole_steps_has_no_weighted_kappa() -> None:
    for things in (ratings((0.5, 0.25), (1, 1), scale=UNIT), ratings((0, 1), (1, 1), scale=UNIT), ratings((2.5, 3))):
        found = rating_figures(things)
        assert found is not None
        assert found.weighted_kappa.value is None
        assert found.mae.value is not None


def test_numbers_have_verdicts_too_where_the_grade_has_a_mark() -> None:
    found = verdict_figures(ratings((2, 4), (4, 4), (5, 2), (1, None), mark=3))
    assert found is not None
    assert found.agreement.value == pytest.approx(1 / 3)
    assert found.agreement.n == 3
    assert found.with_silence.n == 4
    assert found.confusion["fail"] == {"pass": 1, "fail": 0, "none": 1}
    assert verdict_figures(ratings((2, 4), (4, 4))) is None


def test_verdicts_have_no_figures_of_numbers() -> None:
    assert rating_figures(verdicts(*TABLE)) is None


def test_few_cases_have_no_drawn_interval_and_one_category_no_kappa() -> None:
    found = verdict_figures(verdicts((True, True), (True, True), (False, False)))
    assert found is not None
    assert found.kappa.value == 1.0
    assert found.kappa.interval is None
    alike = verdict_figures(verdicts(*[(True, True)] * 6))
    assert alike is not None
    assert alike.kappa.value is None
    assert alike.agreement.value == 1.0


def several(*said: tuple[bool, ...], judge: tuple[bool | None, ...] = ()) -> list[GradeWithLabels]:
    return [
        GradeWithLabels(
            case_id=f"c{place}",
            grader="criteria",
            labels=tuple(a_label(value, name) for value, name in zip(values, "abcd", strict=False)),
            grade=checked(judge[place] if judge else values[0]),
        )
        for place, values in enumerate(said)
    ]


def test_people_among_themselves_and_with_the_judge() -> None:
    found = rater_figures(
        several((True, True), (False, False), (True, False), (False, False), judge=(True, False, True, True))
    )
    assert found is not None
    assert found.annotators == ("a", "b")
    assert found.things == 4
    # p_o 0.75; 3 of 8 pass: p_e = (3/8)^2 + (5/8)^2 = 34/64
    assert found.fleiss.value == pytest.approx((0.75 - 34 / 64) / (1 - 34 / 64))
    # alpha = 1 - 7 * 2 / (2 * 3 * 5)
    assert found.alpha["nominal"].value == pytest.approx(1 - 14 / 30)
    assert found.fleiss_with_judge.n == 4
    assert found.fleiss_with_judge.value is not None
    assert found.alpha_with_judge["nominal"].value is not None
    assert set(found.alpha) == {"nominal"}


def test_a_judge_that_could_not_say_is_a_silent_rater() -> None:
    found = rater_figures(several((True, True), (False, False), judge=(None, False)))
    assert found is not None
    assert found.fleiss.n == 2
    assert found.fleiss_with_judge.n == 1
    assert found.alpha_with_judge["nominal"].value == 1.0


def test_numbers_have_an_alpha_for_each_level_of_measurement() -> None:
    thing = [
        GradeWithLabels(
            case_id=f"c{place}",
            grader="RelevanceExplain",
            labels=(a_label(float(one), "a"), a_label(float(other), "b")),
            grade=rated(3),
        )
        for place, (one, other) in enumerate([(1, 2), (3, 3), (5, 4)])
    ]
    found = rater_figures(thing)
    assert found is not None
    assert list(found.alpha) == ["nominal", "ordinal", "interval"]
    assert rater_figures(ratings((1, 2))) is None


def test_groups_are_the_whole_all_criteria_each_criterion_and_the_slices() -> None:
    def thing(case: str, criterion: str, where: str) -> GradeWithLabels:
        labels = (a_label(True, criterion=criterion),)
        grade = checked(True, criterion)
        return GradeWithLabels(
            case_id=case, grader="criteria", labels=labels, criterion=criterion, grade=grade, where=where
        )

    found = agreement_groups(
        [thing("c1", "", ""), thing("c1", "k", "poor"), thing("c1", "m", "poor"), thing("c2", "k", "good")]
    )
    assert [(each.level, each.criterion, each.where, each.coverage.things) for each in found] == [
        ("case", "", "", 1),
        ("criteria", "", "", 3),
        ("criteria", "", "poor", 2),
        ("criteria", "", "good", 1),
        ("criterion", "k", "", 2),
        ("criterion", "m", "", 1),
    ]
    assert found[4].text == "text of k"


def test_the_same_things_always_have_the_same_figures() -> None:
    things = verdicts(*TABLE)
    assert agreement_group(things, "case") == agreement_group(things, "case")
