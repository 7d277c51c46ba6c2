"""The agreement of people and a judge on the labels of one run."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from howsure.model.score import Grade, Score, Unscored, UnscoredReason
from howsure.services.host.agreement import annotator_agreement, compare_verdicts
from howsure.services.judge.labels import GradeWithLabels, Label


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


MIXED = [thing(place // 2, [place % 3 > 0], place % 4 > 0) for place in range(60)]


def test_all_together_and_grader_by_grader() -> None:
    other = [replace(each, grader="tone", case_id=f"t{place}") for place, each in enumerate(MIXED[:10])]
    overall, graders = compare_verdicts([*MIXED, *other, thing(90, [True], None)])
    assert (overall.agreement.n, graders["rubric"].agreement.n, graders["tone"].agreement.n) == (70, 60, 10)
    assert (graders["rubric"].agreed, graders["rubric"].agreement.value) == (35, 35 / 60)
    assert graders["rubric"].confusion["pass"]["none"] == 1


def test_labels_that_nothing_can_be_compared_with() -> None:
    overall, graders = compare_verdicts([thing(1, [True, False], True)])
    assert (overall.agreement.n, overall.agreed, overall.kappa.value) == (0, 0, None)
    assert graders["rubric"].confusion["fail"] == {"pass": 0, "fail": 0, "none": 0}
    assert compare_verdicts([thing(1, [True, True, False], True)])[0].agreed == 1


def test_people_among_themselves() -> None:
    assert annotator_agreement([thing(1, [True], True)]) is None
    found = annotator_agreement([thing(1, [True, True], True), thing(2, [True, False], True), thing(3, [False], None)])
    assert found is not None
    assert (found.people, found.grades, found.agreed) == (("ana", "bo"), 2, 1)
    assert found.alpha == pytest.approx(0.0)
