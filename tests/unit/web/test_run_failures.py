"""What goes wrong, in words."""

from __future__ import annotations

from howsure.model.result import Result
from howsure.model.rubric import Severity
from howsure.model.score import Part, Score
from howsure.store.browsing import Failing
from howsure.web.pages.run_failures import broke, told, worth_showing
from unit.reports.northwind import refund_results
from unit.web.graded import a_graded


def failing(name: str, part: str | None = None, number: int = 1, first: int = 0, last: int = 0) -> Failing:
    return Failing(name=name, part_id=part, outcome="failed", number=number, first=first, last=last)


def a_part(id: str, text: str, name: str = "criteria", **fields: object) -> Score:
    return Score(name=name, value=0.0, pass_mark=1.0, part=Part(id=id, text=text, **fields))  # type: ignore[arg-type]


def known(*results: Result) -> dict[int, Result]:
    return dict(enumerate(results))


def test_parts_speak_for_their_grader() -> None:
    parts, whole, other = failing("criteria", "c1"), failing("criteria"), failing("choice")
    assert worth_showing([parts, whole, other]) == [parts, other]


def test_a_rule_is_told_with_its_severity_and_component_and_leads_to_its_results() -> None:
    result = a_graded(a_part("r1", "No invented amounts", "rubric", severity=Severity.HIGH, scope="prompt"))
    (found,) = told([failing("rubric", "r1", number=4)], known(result))
    assert (found.text, found.kind, found.severity, found.component, found.number) == (
        "No invented amounts",
        "RUBRIC",
        "high",
        "prompt",
        4,
    )
    assert found.query == "verdict=all&grader=rubric&part=r1"


def test_a_grader_without_parts_is_told_by_its_name() -> None:
    (found,) = told([failing("choice", number=2)], known(a_graded(Score(name="choice", value=0.0, pass_mark=1.0))))
    assert (found.text, found.grader, found.kind, found.number) == ("", "choice", "", 2)


def test_criteria_that_share_an_id_and_nothing_else_are_counted_together() -> None:
    results = known(a_graded(a_part("1", "Greets")), a_graded(a_part("1", "Apologises")))
    found = told([failing("criteria", "1", number=5, first=0, last=1)], results)
    assert [(each.text, each.number) for each in found] == [("criteria of single cases", 5)]


def test_the_commonest_comes_first() -> None:
    results = known(a_graded(a_part("a", "A"), a_part("b", "B")))
    found = told([failing("criteria", "a", 1), failing("criteria", "b", 7)], results)
    assert [each.text for each in found] == ["B", "A"]


def test_a_result_that_is_gone_is_left_out() -> None:
    assert told([failing("choice", first=9, last=9)], {}) == []


def test_what_broke_is_told_and_how_much_was_looked_at() -> None:
    errored = [result for result in refund_results() if result.failures]
    (found,) = broke(errored, 1)
    assert (found.grader, found.text, found.number) == (
        "TargetFailed",
        "target 'recorded': ConnectionError: refused",
        1,
    )
    (more,) = broke(errored, 80)
    assert more.text.endswith("(of the first 1 that errored)")
