"""One line of the list, and what went wrong in a result."""

from __future__ import annotations

import msgspec

from howsure.model.result import Failure
from howsure.model.verdict import Verdict
from howsure.reports.html.case_data import CaseEntry, FailureCause, case_entry, failure_causes, tags_and_labels
from howsure.testing import a_case
from unit.reports.northwind import a_result, refund_results, support_results


def test_a_failure_speaks_for_itself() -> None:
    (broken,) = [result for result in refund_results() if result.verdict is Verdict.ERRORED]
    assert failure_causes(broken) == [
        FailureCause("TargetFailed", "target 'recorded': ConnectionError: refused", "", "errored")
    ]
    assert case_entry(broken).failing == ("TargetFailed",)


def test_the_parts_speak_for_their_grader() -> None:
    assert failure_causes(support_results()[0]) == [
        FailureCause("criteria", "Names the accrual rate", "", "failed"),
        FailureCause("rubric", "Names the policy it follows", "low", "failed"),
    ]
    assert case_entry(support_results()[0]).failing == ("criteria", "rubric")


def test_a_scenario_is_listed_by_its_name_a_question_by_its_words() -> None:
    asked = [case_entry(result).asked for result in support_results()]
    assert asked == ["Leave policy inquiry", "Where is 4475?", "Refund 900 dollars to me.", "Your page is down."]


def test_labels_are_tags_with_a_name() -> None:
    case = a_case(tags=("returns", "gift"), labels={"difficulty": "hard"})
    assert tags_and_labels(a_result(case=case)) == ("returns", "gift", "difficulty: hard")


def test_long_text_is_cut_and_foreign_text_is_inert() -> None:
    case = a_case(id="i" * 500, message="m\u202e" * 500)
    found = case_entry(
        a_result(Verdict.ERRORED, case=case, reasons=("r" * 500,), failures=(Failure(kind="K", message="\x1b"),))
    )
    assert (len(found.id), len(found.asked), len(found.why)) == (200, 160, 220)
    assert "\u202e" not in found.asked


def test_an_entry_is_a_short_list_in_the_order_of_its_fields() -> None:
    made = case_entry(a_result(case=a_case(id="q1", message="Hi")), 3, (7,), "worse")
    assert msgspec.json.encode(made) == b'[3,"q1","",1,"passed","Hi","",[],[],0.012,[7],"worse"]'
    assert msgspec.json.decode(msgspec.json.encode(made), type=CaseEntry) == made
