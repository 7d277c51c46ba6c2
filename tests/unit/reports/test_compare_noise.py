"""Whose noise it is, in words, on the screen, in Markdown and as JSON; and flips of cases that changed."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace
from rich.console import Console

from howsure.model.comparison import VarianceComponents, VarianceEstimate
from howsure.reports.comparison_report import comparison_markdown, comparison_report
from howsure.reports.comparisons import comparison_shape, noise_line
from unit.reports.comparisons import FLIPS, compared, comparison, whole


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
    assert "after  quality: 75 % of the noise is the agent's" in text
    assert text.index("1 case flaky") < text.index("Whose noise it is")
    assert "Whose noise" not in screen_of()


def test_markdown_and_json_have_it_too() -> None:
    made = comparison(compared(noise=(noise(0.75, 0.25),)))
    assert "## Whose noise\n\n- after: quality: 75 %" in comparison_markdown(made)
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
    assert "the case changed, choice, rubric:R1" in screen_of(flips=flips)
    made = comparison(compared(flips=flips))
    assert "| q7 | passed | failed | the case changed, choice, rubric:R1 |" in comparison_markdown(made)
    (pair,) = comparison_shape(made)["comparisons"]
    assert [each["case_changed"] for each in (*pair["got_worse"], *pair["got_better"])] == [True, False]
