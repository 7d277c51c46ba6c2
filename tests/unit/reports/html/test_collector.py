"""One pass over the results: what comes back, in which order, and how often what went wrong."""

from __future__ import annotations

import json

from howsure.model.score import Score
from howsure.model.verdict import Verdict
from howsure.reports.html.case_data import FailureCause
from howsure.reports.html.page import IN_MEMORY, ResultCollector
from howsure.testing import a_case, a_transcript
from unit.reports.northwind import a_result, refund_results, support_results


def test_results_come_back_worst_first_and_else_as_in_the_run() -> None:
    with ResultCollector() as gathered:
        for result in refund_results():
            gathered.add(result)
        order = gathered.order()
        assert order == [2, 5, 7, 10, 11, 0, 1, 3, 4, 6, 8, 9]
        assert [found.id for found in gathered.entries(order[:4])] == [
            "refund-03",
            "refund-06",
            "refund-08",
            "refund-11",
        ]
        blocks = [json.loads(data) for data in gathered.blocks(order)]
    assert [block["reasons"][0][:19] for block in blocks[:4]] == ["Tool usage accuracy"] * 3 + ["target 'recorded': "]
    assert len(blocks) == 12


def test_what_goes_wrong_is_counted_once_a_result() -> None:
    with ResultCollector() as gathered:
        for _ in range(3):
            gathered.add(support_results()[2])
        gathered.add(support_results()[0])
        common = gathered.common()
        entries = gathered.entries([0, 3])
    assert [(each.wrong.text, each.count) for each in common] == [
        ("No invented amounts", 3),
        ("Names the accrual rate", 1),
        ("Names the policy it follows", 1),
    ]
    assert common[0].wrong == FailureCause("rubric", "No invented amounts", "high", "failed")
    assert entries[0].wrong == (common[0].number,)
    assert set(entries[1].wrong) == {common[1].number, common[2].number}


def test_the_same_rule_twice_in_one_result_counts_once() -> None:
    failed = Score(name="w", value=0.0, pass_mark=1.0)
    with ResultCollector() as gathered:
        gathered.add(a_result(Verdict.FAILED, grades=(failed, failed)))
        assert [each.count for each in gathered.common()] == [1]


def test_what_became_of_a_case_against_the_baseline_is_in_its_entry() -> None:
    with ResultCollector({("v2", "q1"): "worse"}) as gathered:
        gathered.add(a_result(case=a_case(id="q1"), candidate="v1"))
        gathered.add(a_result(case=a_case(id="q1"), candidate="v2"))
        assert [found.change for found in gathered.entries([0, 1])] == ["", "worse"]


def test_more_than_fits_in_memory_goes_to_a_file_and_comes_back() -> None:
    said = "x" * 19_000
    with ResultCollector() as gathered:
        for place in range(IN_MEMORY // 19_000 + 50):
            gathered.add(a_result(case=a_case(id=f"q{place}"), transcript=a_transcript(f"{place} {said}")))
        assert gathered.bytes > IN_MEMORY
        (last,) = gathered.blocks([len(gathered) - 1])
        (first,) = gathered.entries([0])
    assert json.loads(last)["talk"][-1]["text"].startswith(f"{len(gathered) - 1} xxx")
    assert first.id == "q0"
