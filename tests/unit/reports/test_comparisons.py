"""The conclusion of a comparison in one sentence. Whose noise it is, in words, on the screen, in Markdown and as JSON;
and flips of cases that changed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace
from rich.console import Console

from howsure.model.comparison import (
    Conclusion,
    Difference,
    DifferenceKind,
    MissingValues,
    PairCounts,
    TryCounts,
    VarianceComponents,
    VarianceEstimate,
)
from howsure.model.score import OPEN
from howsure.reports.comparisons import (
    amount_text,
    change_text,
    comparison_markdown,
    comparison_report,
    comparison_sentence,
    comparison_shape,
    interval_text,
    noise_line,
    p_value_text,
    side_value,
    tries_text,
    unpaired_text,
)
from unit.reports.comparisons import FLIPS, GRADER, JUDGE, LEFT, RUBRIC, TARGET, compared, comparison, difference, whole

EVEN: dict[str, Any] = {"first": 0.8, "second": 0.8, "difference": 0.0, "raised": 0, "lowered": 0, "same": 60}


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        (
            difference(),
            "after is better than before: 85.0 % of 60 paired cases passed against 70.0 % "
            "(+15.0 points, likely +4.1 to +26.2).",
        ),
        (
            difference(Conclusion.WORSE, first=0.85, second=0.7, difference=-0.15, interval=(-0.262, -0.041)),
            "after is worse than before: 70.0 % of 60 paired cases passed against 85.0 % "
            "(−15.0 points, likely −26.2 to −4.1).",
        ),
        (
            difference(Conclusion.EQUAL, interval=(-0.06, 0.06), **EVEN),
            "No difference larger than 6.0 points between before and after: all 60 paired cases came out the same.",
        ),
        (
            difference(Conclusion.EQUAL, interval=(-0.031, 0.042), **{**EVEN, "raised": 3, "second": 0.805}),
            "No difference larger than 4.2 points between before and after: 80.5 % of 60 paired cases passed against "
            "80.0 % (0.0 points, likely −3.1 to +4.2).",
        ),
        (
            difference(Conclusion.CANNOT_TELL, difference=0.05, second=0.75, interval=(-0.052, 0.153), needed=431),
            "Cannot tell yet whether after is better or worse than before: 75.0 % of 60 paired cases passed against "
            "70.0 % (+5.0 points, likely −5.2 to +15.3). About 440 paired cases would tell, 380 more than there are.",
        ),
        (
            difference(Conclusion.CANNOT_TELL, interval=None),
            "Cannot tell yet whether after is better or worse than before: 85.0 % of 60 paired cases passed against "
            "70.0 % (+15.0 points). There are too few to say how many would tell.",
        ),
        (
            difference(
                Conclusion.CANNOT_TELL,
                first=None,
                second=None,
                difference=None,
                interval=None,
                pairing=PairCounts(without=2, absences=(MissingValues(second=False, why="errored", count=2),)),
            ),
            "Nothing can be said: no case was decided on both sides "
            "(2 cases could not be compared: 2 errored on the first side).",
        ),
    ],
    ids=["better", "worse", "all the same", "equal", "cannot tell", "too few", "nothing"],
)
def test_each_conclusion_has_its_sentence(verdict: Difference, said: str) -> None:
    assert comparison_sentence(compared(verdict)) == said


@pytest.mark.parametrize(
    ("unlike", "said"),
    [
        ((), ""),
        ((TARGET,), ""),
        ((JUDGE, TARGET), " Mind that the judge is not the same on both sides."),
        ((RUBRIC, JUDGE), " Mind that the rubric and judge are not the same on both sides."),
    ],
)
def test_what_is_unlike_is_part_of_the_sentence(unlike: tuple[Any, ...], said: str) -> None:
    assert comparison_sentence(compared(unlike=unlike)) == comparison_sentence(compared()) + said


def test_pairs_of_groups_are_called_by_their_label() -> None:
    assert "60 paired scenario_id values passed" in comparison_sentence(compared(), "scenario_id")


@pytest.mark.parametrize(
    ("shown", "size", "said"),
    [
        (difference(), 0.01, "+1.0 point"),
        (difference(), -0.15, "−15.0 points"),
        (difference(), -0.0001, "0.0 points"),
        (difference(), 0.0, "0.0 points"),
        (GRADER, -0.25, "−0.25"),
        (difference(kind=DifferenceKind.GRADER, scale=OPEN), 1234.5, "+1,234.5"),
    ],
)
def test_amounts_are_points_or_what_the_grader_counts(shown: Difference, size: float, said: str) -> None:
    assert amount_text(shown, size, signed=True) == said


def test_numbers_are_shown_with_the_p_value_that_counts() -> None:
    assert (side_value(difference(), 0.7), side_value(GRADER, 3.5), side_value(GRADER, None)) == ("70.0 %", "3.5", "–")
    assert (interval_text(GRADER), interval_text(difference(interval=None))) == ("−0.6 to +0.1", "")
    assert (p_value_text(difference()), p_value_text(GRADER)) == ("0.012", "0.400")
    assert (p_value_text(difference(p_value=0.00001)), p_value_text(difference(p_value=None))) == ("<0.001", "–")
    assert change_text(difference(difference=None)) == "–"


def test_tries_are_a_verdict_or_a_share() -> None:
    assert [tries_text(TryCounts(1, 1)), tries_text(TryCounts(0, 1)), tries_text(TryCounts(2, 3))] == [
        "passed",
        "failed",
        "2 of 3 passed",
    ]


def test_what_was_left_out_is_counted_with_reasons() -> None:
    assert unpaired_text(PairCounts(paired=3)) == ""
    assert (
        unpaired_text(LEFT) == "5 cases could not be compared: 2 only on the first side, 3 errored on the second side"
    )


def noise(agent: float, judge: float) -> VarianceComponents:
    return VarianceComponents(
        grader="quality",
        second=True,
        cases=40,
        tries=120,
        judgements=360,
        between_cases=VarianceEstimate(1.0, (0.5, 1.5)),
        agent=VarianceEstimate(agent, (0.1, 0.9)),
        judge=VarianceEstimate(judge),
    )


BASIS = "40 cases, 120 tries, 360 judgements"


@pytest.mark.parametrize(
    ("agent", "judge", "said"),
    [
        (
            0.75,
            0.25,
            "75 % of the noise is the agent's, 25 % the judge's (standard deviation 0.866 and 0.5; "
            f"{BASIS}): more repeats help most",
        ),
        (
            0.25,
            0.75,
            "25 % of the noise is the agent's, 75 % the judge's (standard deviation 0.5 and 0.866; "
            f"{BASIS}): ask the judge more often, or take a better one",
        ),
        (
            0.25,
            0.25,
            f"50 % of the noise is the agent's, 50 % the judge's (standard deviation 0.5 and 0.5; {BASIS})",
        ),
        (0.0, 0.0, f"no noise, repeats and judgements always agree ({BASIS})"),
    ],
    ids=["the agent's", "the judge's", "half and half", "none"],
)
def test_the_larger_part_says_what_to_do(agent: float, judge: float, said: str) -> None:
    assert noise_line(noise(agent, judge)) == f"quality: {said}"


def screen_of(*flags: VarianceComponents, **fields: object) -> str:
    console = Console(width=200, color_system=None)
    with console.capture() as caught:
        console.print(comparison_report(comparison(replace(whole(), noise=flags, **fields)), hints=False))
    return caught.get()


def test_the_screen_shows_it_below_the_flaky_cases() -> None:
    text = screen_of(noise(0.75, 0.25))
    assert "  after: quality: 75 % of the noise is the agent's" in text
    assert text.index("1 case flaky") < text.index("Whose noise it is")
    assert "Whose noise" not in screen_of()


def test_markdown_and_json_have_it_too() -> None:
    made = comparison(compared(noise=(noise(0.75, 0.25),)))
    assert (
        "## Whose noise it is, where cases were repeated and judges asked several times\n\n- after: quality: 75 %"
        in comparison_markdown(made)
    )
    assert json.loads(json.dumps(comparison_shape(made)))["comparisons"][0]["noise"] == [
        {
            "grader": "quality",
            "side": "second",
            "cases": 40,
            "tries": 120,
            "judgements": 360,
            "variance_between_cases": {"value": 1.0, "interval": [0.5, 1.5]},
            "variance_agent": {"value": 0.75, "interval": [0.1, 0.9]},
            "variance_judge": {"value": 0.25, "interval": None},
            "judge_share": 0.25,
        }
    ]


def test_a_flip_of_a_case_that_changed_says_so() -> None:
    flips = (replace(FLIPS[0], changed=True), FLIPS[1])
    assert "the case changed, choice, Asks for the order" in screen_of(flips=flips)
    made = comparison(compared(flips=flips))
    assert "| q7 | passed | failed | the case changed, choice, Asks for the order |" in comparison_markdown(made)
    (pair,) = comparison_shape(made)["comparisons"]
    assert [each["case_changed"] for each in (*pair["got_worse"], *pair["got_better"])] == [True, False]
