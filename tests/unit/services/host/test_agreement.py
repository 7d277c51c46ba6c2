"""Agreement for pages: the same figures as calibrations give, in a fraction of the time."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from howsure.model.score import Grade, Score, Unscored, UnscoredReason
from howsure.services.host.agreement import (
    Agreement,
    Table,
    agreement_from_cells,
    annotator_agreement,
    confusion_cells,
    kappa_from_table,
)
from howsure.services.judge.agreement import verdict_figures
from howsure.services.judge.labels import GradeWithLabels, Label
from howsure.stats.agreement import cohen_kappa


def thing(case: int, people: Sequence[bool], judge: bool | None) -> GradeWithLabels:
    names = ("ana", "bo", "cleo")
    labels = tuple(
        Label(case_id=f"c{case}", grader="rubric", value=value, annotator=name)
        for name, value in zip(names, people, strict=False)
    )
    grade: Grade = Unscored(name="rubric", why=UnscoredReason.ERROR, reason="")
    if judge is not None:
        grade = Score(name="rubric", value=float(judge), pass_mark=1.0)
    return GradeWithLabels(case_id=f"c{case}", grader="rubric", labels=labels, grade=grade)


def agreement(grades: Sequence[GradeWithLabels]) -> Agreement:
    return agreement_from_cells(confusion_cells(grades))


MIXED = [thing(place // 2, [place % 3 > 0], place % 4 > 0) for place in range(60)]


def test_counts_are_those_of_a_calibration() -> None:
    silent = [thing(90, [True], None), thing(91, [False], None), thing(92, [True], None)]
    found, known = agreement([*MIXED, *silent]), verdict_figures([*MIXED, *silent])
    assert known is not None
    assert (found.agreed, found.n, found.silent) == (35, 60, (2, 1))
    assert known.agreement.value == 35 / 60
    assert found.kappa == pytest.approx(known.kappa.value)
    both, only_people, only_judge, neither = found.table
    assert known.confusion == {
        "pass": {"pass": both, "fail": only_people, "none": 2},
        "fail": {"pass": only_judge, "fail": neither, "none": 1},
    }


def test_the_interval_is_close_to_that_of_a_calibration() -> None:
    found, known = agreement(MIXED), verdict_figures(MIXED)
    assert known is not None
    assert found.interval is not None
    assert known.kappa.interval is not None
    assert found.interval == pytest.approx(known.kappa.interval, abs=0.06)


@pytest.mark.parametrize(
    ("table", "kappa"),
    [
        ((5, 0, 0, 5), 1.0),
        ((0, 5, 5, 0), -1.0),
        ((10, 0, 0, 0), None),
        ((0, 0, 0, 0), None),
        ((11, 0, 2, 0), 0.0),
        ((20, 5, 10, 15), 0.4),
    ],
)
def test_kappa_of_a_table(table: Table, kappa: float | None) -> None:
    assert kappa_from_table(table) == (None if kappa is None else pytest.approx(kappa))


def test_kappa_is_the_one_of_the_statistics() -> None:
    people = [place % 3 > 0 for place in range(60)]
    judge = [place % 4 > 0 for place in range(60)]
    assert agreement(MIXED).kappa == pytest.approx(cohen_kappa(people, judge))


def test_a_few_cases_have_no_interval() -> None:
    assert agreement([thing(case, [case % 2 == 0], True) for case in range(4)]).interval is None
    assert agreement([]).n == 0


def test_people_who_are_split_are_not_compared() -> None:
    assert agreement([thing(1, [True, False], True)]).n == 0
    assert agreement([thing(1, [True, True, False], True)]).table == (1, 0, 0, 0)


def test_people_among_themselves() -> None:
    assert annotator_agreement([thing(1, [True], True)]) is None
    found = annotator_agreement([thing(1, [True, True], True), thing(2, [True, False], True), thing(3, [False], None)])
    assert found is not None
    assert (found.people, found.grades, found.agreed) == (("ana", "bo"), 2, 1)
    assert found.alpha == pytest.approx(0.0)
