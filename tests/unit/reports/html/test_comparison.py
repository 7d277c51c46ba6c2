"""The comparison as the page shows it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from howsure.model.comparison import CaseFlip, Conclusion, Difference, DifferenceKind
from howsure.model.score import OPEN
from howsure.reports.html.comparison import (
    SHOWN_DIFFERENCES,
    SHOWN_FLIPS,
    IntervalStrip,
    axis_half_width,
    baseline_comparisons,
    case_changes,
    interval_strip,
)
from unit.reports.comparisons import FAILED, GRADER, PASSED, SECOND, TAG, compared, comparison, difference, whole


def test_without_a_baseline_there_is_nothing_to_show() -> None:
    assert baseline_comparisons(None) == []
    assert case_changes(None) == {}


def test_each_flip_is_told_by_candidate_and_case() -> None:
    second = replace(SECOND, candidate="v2")
    made = comparison(replace(whole(), second=second))
    assert case_changes(made) == {("v2", "q7"): "worse", ("v2", "q9"): "better", ("v2", "q2"): "better"}


def test_a_group_is_told_by_the_other_case() -> None:
    flip = CaseFlip(case_id="a-1", other_id="b-1", first=PASSED, second=FAILED)
    made = comparison(compared(flips=(flip,)))
    assert case_changes(made) == {("", "b-1"): "worse"}
    assert baseline_comparisons(made)[0].worse[0].id == "a-1 / b-1"
    assert baseline_comparisons(made)[0].worse[0].link == "#case=b-1&by="


def test_worse_and_better_are_apart_with_what_turned_with_them() -> None:
    (side,) = baseline_comparisons(comparison())
    assert [(each.id, each.was, each.now, each.graders) for each in side.worse] == [
        ("q7", "passed", "failed", "choice, Asks for the order")
    ]
    assert [(each.id, each.was, each.now) for each in side.better] == [
        ("q9", "failed", "passed"),
        ("q2", "0 of 3 passed", "2 of 3 passed"),
    ]
    assert side.sentence.startswith("after is better than before: 85.0 % of 60 paired cases passed against 70.0 %")
    assert side.looks == "passed"


def test_a_case_id_cannot_leave_its_link() -> None:
    flip = CaseFlip(case_id='"><a href="x&by=', first=PASSED, second=FAILED)
    assert (
        baseline_comparisons(comparison(compared(flips=(flip,))))[0].worse[0].link
        == "#case=%22%3E%3Ca+href%3D%22x%26by%3D&by="
    )


def test_many_flips_are_counted_and_some_shown() -> None:
    flips = tuple(CaseFlip(case_id=f"q{place}", first=PASSED, second=FAILED) for place in range(SHOWN_FLIPS + 5))
    (side,) = baseline_comparisons(comparison(compared(flips=flips)))
    assert (side.worse_count, len(side.worse), side.better_count) == (105, 100, 0)


@pytest.mark.parametrize(
    ("intervals", "half"),
    [([], 0.1), ([(-0.02, 0.06)], 0.1), ([(-0.02, 0.2)], 0.25), ([(-0.3, 0.2)], 0.5), ([(-0.9, 0.2), (0, 0.1)], 1.0)],
)
def test_the_axis_is_the_shortest_round_one_that_holds_every_interval(
    intervals: list[tuple[float, float]], half: float
) -> None:
    assert axis_half_width([difference(interval=one, difference=sum(one) / 2) for one in intervals]) == half


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (difference(difference=0.15, interval=(0.05, 0.25)), IntervalStrip(low=55, width=20, tick=65, told=True)),
        (
            difference(Conclusion.CANNOT_TELL, difference=0.0, interval=(-0.5, 0.5)),
            IntervalStrip(low=0, width=100, tick=50, told=False),
        ),
        (difference(difference=0.9, interval=(0.8, 1.0)), IntervalStrip(low=100, width=0.5, tick=100, told=True)),
        (replace(GRADER, difference=-0.4, interval=(-0.8, 0.0)), IntervalStrip(low=30, width=20, tick=40, told=False)),
        (replace(GRADER, scale=OPEN), None),
        (difference(difference=None, interval=None), None),
        (difference(interval=None), None),
    ],
    ids=[
        "points",
        "across zero",
        "beyond the axis",
        "a share of a 1-5 scale",
        "open scale",
        "not known",
        "no interval",
    ],
)
def test_an_interval_lies_where_it_belongs_on_an_axis_of_half_a_scale(
    given: Difference, shown: IntervalStrip | None
) -> None:
    assert interval_strip(given, 0.5) == shown


def test_what_tells_something_comes_before_what_does_not_when_there_are_many() -> None:
    quiet = [replace(GRADER, name=f"g{place}", kind=DifferenceKind.GRADER) for place in range(SHOWN_DIFFERENCES + 3)]
    (side,) = baseline_comparisons(comparison(compared(differences=(*quiet, TAG))))
    assert len(side.apart) == SHOWN_DIFFERENCES + 1
    assert [side.apart[0].title, side.apart[-1].title] == ["pass rate", "tag returns"]
    assert (side.apart[-1].word, side.apart[-1].apart, side.apart[-1].likely) == (
        "worse",
        "−30.0 points",
        "−50.0 to −10.0",
    )
    assert side.apart_left_out == "4 more differences, which could not be compared or tell nothing sure"


def test_what_is_unlike_is_told_with_its_changes_and_what_is_meant_is_not() -> None:
    (side,) = baseline_comparisons(comparison())
    assert side.flags == [
        ("The rubric differs: 1 of its rules is not the same.", ["rule R2 removed: Be kind"]),
        ("The judge differs: offline and openai:x: a difference may be the judge's.", []),
    ]
    assert side.flaky == [("q2", "after", "2 of 3 passed", "agent")]
    assert side.notes[0] == "5 cases could not be compared: 2 only on the first side, 3 errored on the second side."
