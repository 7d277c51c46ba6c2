"""Checks × cases."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from howsure.model.result import Result
from howsure.model.rubric import Severity
from howsure.model.score import Part, Score
from howsure.model.verdict import Verdict
from howsure.reports.figures import Rate
from howsure.reports.html.case_data import case_entry
from howsure.reports.html.matrix import CHECKS, COLUMNS, Matrix, MatrixCheck, check_outcomes, column_labels
from howsure.reports.html.page import ResultCollector
from howsure.testing import a_case
from unit.reports.northwind import BROKEN, FAILS, HOLDS, a_check, a_result, refund_results, support_results


def matrix_of(results: Iterable[Result]) -> Matrix:
    with ResultCollector() as gathered:
        for result in results:
            gathered.add(result)
    return gathered.matrix


def test_rules_stand_under_their_grader_the_ones_that_failed_most_first() -> None:
    found = matrix_of(support_results())
    assert [(line.check.grader, line.check.text, line.rate, line.errored) for line in found.lines()] == [
        ("rubric", "", Rate(0, 3), 1),
        ("rubric", "No invented amounts", Rate(2, 3), 1),
        ("rubric", "Brief, focused replies", Rate(3, 4), 0),
        ("rubric", "Names the policy it follows", Rate(2, 3), 0),
        ("rubric", "Stays polite", Rate(4, 4), 0),
        ("criteria", "", Rate(2, 3), 1),
    ]


def test_columns_are_the_worst_cases_and_each_line_has_a_word_for_each() -> None:
    found = matrix_of(support_results())
    assert [column.entry.verdict for column in found.columns()] == ["failed", "failed", "errored", "passed"]
    words = {line.check.text: line.words for line in found.lines()}
    assert words["No invented amounts"] == ("passed", "failed", "errored", "passed")
    assert words["Names the policy it follows"] == ("failed", "passed", "passed", "not applicable")


def test_a_measure_decides_nothing_and_has_no_line() -> None:
    assert {line.check.grader for line in matrix_of(refund_results()).lines()} == {"tool_usage_accuracy"}


def test_what_is_asked_of_one_case_alone_has_no_line_of_its_own() -> None:
    lone, shared = Part(id="c1", text="only here"), Part(id="c2", text="everywhere")
    results = [
        a_result(
            Verdict.FAILED,
            case=a_case(id=id),
            candidate=candidate,
            grades=(a_check("criteria", lone if id == "a" else shared, FAILS), a_check("criteria", shared, HOLDS)),
        )
        for id in ("a", "b")
        for candidate in ("small", "large")
    ]
    assert [line.check.text for line in matrix_of(results).lines()] == ["", "everywhere"]


def test_only_so_many_columns_and_lines_are_shown_and_the_rest_is_counted() -> None:
    rules = [Part(id=f"R{place}", text=f"rule {place}") for place in range(CHECKS + 5)]
    grades = tuple(a_check("rubric", rule, FAILS) for rule in rules)
    found = matrix_of(
        a_result(Verdict.FAILED, case=a_case(id=f"q{place}"), grades=grades) for place in range(COLUMNS + 9)
    )
    assert len(found.columns()) == COLUMNS
    assert len(found.lines()) == CHECKS
    assert found.left_out == 6
    assert found.lines()[0].rate == Rate(0, COLUMNS + 9)


def test_failures_late_in_the_run_push_passed_cases_out_of_the_columns() -> None:
    results = [a_result(case=a_case(id=f"p{place}")) for place in range(100)]
    results.append(a_result(Verdict.FAILED, case=a_case(id="late")))
    assert matrix_of(results).columns()[0].entry.id == "late"


def test_a_grader_without_a_whole_is_as_bad_as_its_worst_part() -> None:
    rules = [Part(id=id, text=id, severity=Severity.HIGH, scope="tool") for id in "ab"]
    words = check_outcomes([a_check("rubric", rules[0], HOLDS), a_check("rubric", rules[1], BROKEN)])
    assert words == {
        MatrixCheck("rubric", "a", "high", "tool"): "passed",
        MatrixCheck("rubric", "b", "high", "tool"): "errored",
        MatrixCheck("rubric"): "errored",
    }


def test_a_grade_of_the_whole_outweighs_the_parts() -> None:
    part = Part(id="c", text="cites")
    whole = Score(name="w", value=0.9, pass_mark=0.7)
    for grades in ((whole, a_check("w", part, FAILS)), (a_check("w", part, FAILS), whole)):
        assert check_outcomes(grades)[MatrixCheck("w")] == "passed"


def test_a_part_without_words_is_known_by_its_id() -> None:
    assert MatrixCheck("w", "c9") in check_outcomes(
        [Score(name="w", value=1.0, pass_mark=1.0, part=Part(id="c9", text=""))]
    )


MACHINE = "8b1f0000-0000-4000-8000-00000000000"


@pytest.mark.parametrize(
    ("ids", "shown"),
    [
        (["refund-03", "refund-06"], ["refund-03", "refund-06"]),
        (["legal:tenancy:notice", "legal:tenancy:rent"], ["notice", "rent"]),
        (["legal:tenancy:notice", "other"], ["legal:tenancy:…", "other"]),
        (["refund-03", "refund-03"], ["refund-03", "refund-03"]),
        ([f"{MACHINE}1", f"{MACHINE}2"], ["asked 0", "asked 1"]),
        (["only-this-one"], ["only-this-one"]),
        ([], []),
    ],
)
def test_columns_are_named_so_that_a_person_can_tell_them_apart(ids: list[str], shown: list[str]) -> None:
    asked = [case_entry(a_result(case=a_case(id=id, message=f"asked {place}"))) for place, id in enumerate(ids)]
    assert column_labels(asked) == shown
