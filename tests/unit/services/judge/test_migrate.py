"""Migrating: the rule that decides, and the shift that it rests on."""

from __future__ import annotations

import pytest

from howsure.model.calibration import Figure
from howsure.model.score import UNIT, Score
from howsure.services.judge.labels import GradeWithLabels
from howsure.services.judge.migrate import (
    GradePair,
    comparable_pairs,
    credit,
    judge_shifts,
    may_replace,
    mean_credit,
    mean_gain,
    replacement_sentence,
)
from unit.services.judge.labelled_grades import a_label, checked, ratings, verdicts


def pairs(*given: tuple[bool, bool | None, bool | None]) -> list[GradePair]:
    """(people, the old judge, the new one)."""
    old = verdicts(*((people, said) for people, said, _ in given))
    new = verdicts(*((people, said) for people, _, said in given))
    return [GradePair(*each) for each in zip(old, new, strict=True)]


@pytest.mark.parametrize(
    ("thing", "value"),
    [
        (verdicts((True, True))[0], 1.0),
        (verdicts((True, False))[0], 0.0),
        (verdicts((True, None))[0], 0.0),
        (verdicts((None, True))[0], None),
        (ratings((4, 4))[0], 1.0),
        (ratings((1, 5))[0], 0.0),
        (ratings((3, 4))[0], 0.75),
        (ratings((3, None))[0], 0.0),
        (ratings((0.5, 0.25), scale=UNIT)[0], 0.75),
        (GradeWithLabels(case_id="c", grader="g", labels=(a_label(True),), grade=Score(name="g", value=1.0)), None),
        (GradeWithLabels(case_id="c", grader="g", labels=(a_label(True),)), 0.0),
    ],
    ids=["same", "other", "silent", "people split", "equal", "far", "near", "no number", "unit", "no mark", "no grade"],
)
def test_the_credit_for_one_thing(thing: GradeWithLabels, value: float | None) -> None:
    assert credit(thing) == value


@pytest.mark.parametrize(
    ("interval", "may"),
    [
        ((0.01, 0.2), True),
        ((-0.05, -0.01), True),
        ((-0.1, 0.1), None),
        ((-0.2, 0.0), None),
        ((-0.2, -0.01), None),
        ((-0.2, -0.06), False),
        (None, None),
    ],
    ids=["better", "worse within the margin", "no difference seen", "ditto", "worse", "worse than the margin", "few"],
)
def test_a_new_judge_may_replace_the_old_one_if_it_is_surely_not_worse_by_more_than_five_points(
    interval: tuple[float, float] | None, may: bool | None
) -> None:
    assert may_replace(Figure(value=0.0, interval=interval, n=20)) is may


def test_equal_judges_may_replace_each_other_when_enough_labels_show_it() -> None:
    few = mean_gain(pairs(*[(True, True, True)] * 6, (True, False, False)))
    assert (few.value, may_replace(few)) == (0.0, None), "seven agreeing labels prove nothing"
    many = mean_gain(pairs(*[(True, True, True)] * 150))
    assert (many.value, may_replace(many)) == (0.0, True)


def test_a_judge_that_lost_its_wits_may_not() -> None:
    gain = mean_gain(pairs(*[(True, True, False)] * 10, *[(False, False, True)] * 10))
    assert gain.value == -1.0
    assert may_replace(gain) is False


def test_a_judge_that_falls_silent_may_not_either() -> None:
    gain = mean_gain(pairs(*[(True, True, None)] * 10))
    assert may_replace(gain) is False


def test_a_handful_of_cases_does_not_tell() -> None:
    gain = mean_gain(pairs(*[(True, False, True)] * 4))
    assert gain.interval is None
    assert may_replace(gain) is None
    assert replacement_sentence(None, gain, (Figure(), Figure())).startswith("It cannot be told")


def test_what_neither_was_asked_is_held_against_neither() -> None:
    absent = GradeWithLabels(case_id="c", grader="criteria", labels=(a_label(True),))
    said = GradeWithLabels(case_id="c", grader="criteria", labels=(a_label(True),), grade=checked(True))
    assert comparable_pairs([GradePair(absent, absent), GradePair(said, absent), GradePair(said, said)]) == [
        GradePair(said, absent),
        GradePair(said, said),
    ]


@pytest.mark.parametrize(
    ("may", "interval", "words"),
    [
        (True, (-0.05, 0.15), "at most 5 points worse: it agrees with people in 85.0 %, the old one in 80.0 % (+5.0"),
        (True, (0.01, 0.15), "(+5.0 points, +1.0 to +15.0)."),
        (False, (-0.3, -0.1), "may not replace the old one"),
    ],
)  # fmt: skip
def test_the_sentence_says_what_it_rests_on(may: bool, interval: tuple[float, float], words: str) -> None:
    said = replacement_sentence(
        may, Figure(value=0.05, interval=interval, n=20), (Figure(value=0.8), Figure(value=0.85))
    )
    assert said.startswith("The new judge may")
    assert words in said


def test_the_shift_names_every_verdict_that_flips() -> None:
    (shift,) = judge_shifts(pairs((True, True, False), (True, True, True), (False, False, None), (False, None, None)))
    assert (shift.grader, shift.level) == ("criteria", "case")
    assert (shift.difference.value, shift.difference.n) == (-0.5, 2)
    assert shift.difference.interval is not None
    assert (shift.same_verdict.value, shift.same_verdict.n) == (0.5, 2)
    assert (shift.only_old, shift.only_new, shift.neither) == (1, 0, 1)
    assert [(flip.case_id, flip.before, flip.after) for flip in shift.flips] == [("c0", "pass", "fail")]
    assert (shift.old_agreement.value, shift.new_agreement.value) == (0.75, 0.25)


def test_each_criterion_has_a_shift_of_its_own() -> None:
    def both(case: str, criterion: str) -> GradePair:
        label = (a_label(True, criterion=criterion),)
        things = [
            GradeWithLabels(
                case_id=case, grader="criteria", criterion=criterion, labels=label, grade=checked(said, criterion)
            )
            for said in (True, criterion == "k")
        ]
        return GradePair(*things)

    found = judge_shifts([both("c1", "k"), both("c1", "m"), both("c2", "k")])
    assert [(each.level, each.criterion, len(each.flips)) for each in found] == [
        ("criteria", "", 1),
        ("criterion", "k", 0),
        ("criterion", "m", 1),
    ]
    assert found[2].text == "text of m"


def test_agreement_on_numbers_is_their_nearness() -> None:
    found = mean_credit(ratings((1, 1), (1, 3), (5, 5)))
    assert found.value == pytest.approx(2.5 / 3)
    assert found.interval is not None
    assert mean_credit([]).value is None


def test_tries_of_one_case_are_not_cases_of_their_own() -> None:
    """Grades of four cases, each tried three times: as sure as four cases."""
    once = ratings((1, 2), (1, 4), (5, 5), (4, 2))
    again = [each for each in once for _ in range(3)]
    assert mean_credit(again).interval == pytest.approx(mean_credit(once).interval)
    (shift,) = judge_shifts([GradePair(old, new) for old, new in zip(again, [again[0], *again[:-1]], strict=True)])
    assert shift.difference.interval is not None and shift.same_verdict.interval is not None
