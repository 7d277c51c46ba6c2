"""The words and figures of the page's head."""

from __future__ import annotations

import pytest

from howsure.model.run import Counts
from howsure.model.score import Score
from howsure.model.verdict import Verdict
from howsure.reports.html.page import SHOWN_ROWS, head_context, interval_in_words, verdict_segments
from howsure.testing import a_case
from unit.reports.northwind import SUPPORT_PINS, a_result, refund_results, summary_of, support_results


def test_the_stretches_of_the_bar_follow_each_other_and_fill_it() -> None:
    assert verdict_segments(Counts(total=8, passed=4, failed=2, errored=1)) == [
        ("passed", 4, 0.0, 50.0),
        ("failed", 2, 50.0, 25.0),
        ("errored", 1, 75.0, 12.5),
        ("skipped", 0, 87.5, 0.0),
        ("pending", 1, 87.5, 12.5),
    ]
    assert {length for _, _, _, length in verdict_segments(Counts())} == {0.0}


@pytest.mark.parametrize(
    ("passed", "failed", "told"),
    [
        (0, 0, ""),
        (7, 3, "between 40 and 89 of every 100 would likely pass. 10 decided cases cannot say it more closely."),
        (1, 0, "between 21 and 100 of every 100 would likely pass. 1 decided case cannot say it more closely."),
        (800, 200, "between 77 and 82 of every 100 would likely pass."),
    ],
)
def test_the_interval_is_said_in_words(passed: int, failed: int, told: str) -> None:
    verdicts = [Verdict.PASSED] * passed + [Verdict.FAILED] * failed
    results = [a_result(verdict, case=a_case(id=str(place))) for place, verdict in enumerate(verdicts)]
    expected = f"If it met many more cases like these, {told}" if told else ""
    assert interval_in_words(summary_of(results)) == expected


def test_several_candidates_have_no_meaning_in_common() -> None:
    assert interval_in_words(summary_of([*refund_results("v1"), *refund_results("v2")])) == ""


def test_graders_that_judge_and_those_that_measure_are_apart() -> None:
    words = head_context(summary_of(refund_results()))
    judged, measured = words["judged"], words["measured"]
    assert isinstance(judged, list)
    assert isinstance(measured, list)
    assert [line["name"] for line in judged] == ["tool_usage_accuracy"]
    assert [(line["name"], line["absent"]) for line in measured] == [
        ("response_correctness", "1 no judge"),
        ("token_usage", ""),
        ("latency_metrics", ""),
    ]


def test_criteria_rules_and_components_have_their_rates() -> None:
    checks = head_context(summary_of(support_results(), pins=SUPPORT_PINS))["checks"]
    assert isinstance(checks, list)
    assert [(name, str(rate), scoped) for name, _, rate, scoped in checks] == [
        ("each criterion", "75.0 % [30–99] n 4", False),
        ("each rubric rule", "78.6 % [52–92] n 14", False),
        ("about prompt", "75.0 % [30–99] n 4", True),
        ("about knowledge base", "66.7 % [21–98] n 3", True),
        ("about function", "66.7 % [21–98] n 3", True),
        ("about general", "100.0 % [51–100] n 4", True),
    ]


def test_a_table_of_very_many_lines_is_cut_and_counts_what_is_left_out() -> None:
    results = [
        a_result(candidate=f"c{place}", grades=(Score(name="w", value=1.0, pass_mark=1.0),))
        for place in range(SHOWN_ROWS + 7)
    ]
    words = head_context(summary_of(results))
    assert words["rates_left_out"] == "14 lines"
    assert [len(lines) for lines in (words["candidates"], words["judged"]) if isinstance(lines, list)] == [
        SHOWN_ROWS,
        SHOWN_ROWS,
    ]
