"""The page of a run: its cases, filters and most frequent failures."""

from __future__ import annotations

import pytest

from howsure.model.result import Result
from howsure.model.rubric import Severity
from howsure.model.score import Part, Score
from howsure.store.result_lists import ResultFilter, ResultOrder, ResultPage
from howsure.store.summaries import FailureCount
from howsure.web.pages.run import describe_failures, errored_failures, without_summed_graders
from howsure.web.pages.run_cases import (
    CaseFilter,
    Facet,
    FacetGroup,
    SearchedRange,
    describe_page,
    filter_value,
    next_page_address,
    read_case_filter,
    read_start,
    searched_range,
)
from store.making import RUN
from unit.reports.northwind import refund_results
from unit.web.graded import a_graded


def failing(name: str, part: str | None = None, number: int = 1, first: int = 0, last: int = 0) -> FailureCount:
    return FailureCount(name=name, part_id=part, outcome="failed", number=number, first=first, last=last)


def a_part(id: str, text: str, name: str = "criteria", **fields: object) -> Score:
    return Score(name=name, value=0.0, pass_mark=1.0, part=Part(id=id, text=text, **fields))  # type: ignore[arg-type]


def known(*results: Result) -> dict[int, Result]:
    return dict(enumerate(results))


def test_parts_speak_for_their_grader() -> None:
    parts, whole, other = failing("criteria", "c1"), failing("criteria"), failing("choice")
    assert without_summed_graders([parts, whole, other]) == [parts, other]


def test_a_rule_is_told_with_its_severity_and_component_and_leads_to_its_results() -> None:
    result = a_graded(a_part("r1", "No invented amounts", "rubric", severity=Severity.HIGH, scope="prompt"))
    (found,) = describe_failures([failing("rubric", "r1", number=4)], known(result))
    assert (found.text, found.kind, found.severity, found.component, found.number) == (
        "No invented amounts",
        "RUBRIC",
        "high",
        "prompt",
        4,
    )
    assert found.query == "verdict=all&grader=rubric&part=r1"


def test_a_grader_without_parts_is_told_by_its_name() -> None:
    (found,) = describe_failures(
        [failing("choice", number=2)], known(a_graded(Score(name="choice", value=0.0, pass_mark=1.0)))
    )
    assert (found.text, found.grader, found.kind, found.number) == ("", "choice", "", 2)


def test_criteria_that_share_an_id_and_nothing_else_are_counted_together() -> None:
    results = known(a_graded(a_part("1", "Greets")), a_graded(a_part("1", "Apologises")))
    found = describe_failures([failing("criteria", "1", number=5, first=0, last=1)], results)
    assert [(each.text, each.number) for each in found] == [("criteria of single cases", 5)]


def test_the_commonest_comes_first() -> None:
    results = known(a_graded(a_part("a", "A"), a_part("b", "B")))
    found = describe_failures([failing("criteria", "a", 1), failing("criteria", "b", 7)], results)
    assert [each.text for each in found] == ["B", "A"]


def test_a_result_that_is_gone_is_left_out() -> None:
    assert describe_failures([failing("choice", first=9, last=9)], {}) == []


def test_what_broke_is_told_and_how_much_was_looked_at() -> None:
    errored = [result for result in refund_results() if result.failures]
    (found,) = errored_failures(errored, 1)
    assert (found.grader, found.text, found.number) == (
        "TargetFailed",
        "target 'recorded': ConnectionError: refused",
        1,
    )
    (more,) = errored_failures(errored, 80)
    assert more.text.endswith("(of the first 1 that errored)")


def facets(name: str, *words: str) -> FacetGroup:
    return FacetGroup(name, name, tuple(Facet(word, word, 1, False) for word in words))


@pytest.mark.parametrize(
    ("name", "words", "groups"),
    [
        ("tag", ("returns", "urgent"), [("", ["returns", "urgent"])]),
        (
            "tag",
            ("language: en", "returns", "difficulty: hard", "difficulty: easy"),
            [
                ("", ["returns"]),
                ("difficulty", ["difficulty: hard", "difficulty: easy"]),
                ("language", ["language: en"]),
            ],
        ),
        ("tag", ("difficulty: hard",), [("difficulty", ["difficulty: hard"])]),
        ("tag", ("time:10", "a:b: c"), [("", ["time:10"]), ("a:b", ["a:b: c"])]),
        ("grader", ("criteria: strict",), [("", ["criteria: strict"])]),
        ("tag", (), []),
    ],
    ids=["tags", "tags and labels", "labels alone", "colons", "not of tags", "nothing"],
)
def test_labels_stand_under_their_names(name: str, words: tuple[str, ...], groups: list[tuple[str, list[str]]]) -> None:
    found = facets(name, *words).groups
    assert [(group, [each.word for each in choices]) for group, choices in found] == groups


def shown(number: int, **listed: int | None) -> ResultPage:
    """So many results on the page."""
    plain: dict[str, int | None] = {"total": 40, "first": 0, "matching": 40, **listed}
    return ResultPage(positions=list(range(number)), **plain)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (shown(3), "1–3 of 40"),
        (shown(3, first=25), "26–28 of 40"),
        (shown(3, matching=7), "1–3 of 7 that match, of 40 results"),
        (shown(0, matching=0), "none of 40 results matches"),
        (
            shown(2, total=20_000, first=None, matching=None, start=1000, looked_at=1000),
            "2 found in results 1,001–2,000 of 20,000 (the rest was not looked through yet)",
        ),
        (
            shown(0, total=20_000, first=None, matching=None, start=19_000, looked_at=1000),
            "0 found in results 19,001–20,000 of 20,000",
        ),
    ],
    ids=["all", "second page", "filtered", "nothing", "some looked through", "the last looked through"],
)
def test_a_page_says_which_it_shows_of_how_many(page: ResultPage, said: str) -> None:
    assert describe_page(page, 40) == said


def test_what_was_looked_through_is_told_to_programs_too() -> None:
    part = shown(2, total=20_000, first=None, matching=None, start=1000, looked_at=1000)
    assert searched_range(part) == SearchedRange(1001, 2000, 20_000)
    assert searched_range(shown(2)) is None


def test_the_next_page_begins_behind_a_position() -> None:
    assert next_page_address(RUN, CaseFilter(q="x"), shown(3)) == ""
    assert next_page_address(RUN, CaseFilter(q="x"), shown(3, further=24)) == f"/runs/{RUN}?q=x&after=MjQ%3D#cases"


@pytest.mark.parametrize(("after", "position"), [(None, None), ("24", 24), ("nonsense", None), ("-1", None)])
def test_an_address_is_read_with_care(after: str | None, position: int | None) -> None:
    assert read_start(after) == position


@pytest.mark.parametrize(
    ("query", "failed", "chosen"),
    [
        ({}, 3, ResultFilter(verdicts=("failed",))),
        ({}, 0, ResultFilter()),
        ({"verdict": "all"}, 3, ResultFilter()),
        ({"verdict": "errored"}, 3, ResultFilter(verdicts=("errored",))),
        ({"verdict": "nonsense", "order": "nonsense"}, 3, ResultFilter(verdicts=("failed",))),
        ({"tag": "hard"}, 3, ResultFilter(tag="hard")),
        ({"candidate": "-", "component": "-"}, 3, ResultFilter(candidate="", component="")),
        ({"flaky": "1", "order": "slowest"}, 3, ResultFilter(flaky=True, order=ResultOrder.SLOWEST)),
        (
            {"grader": "rubric", "part": "r1", "q": "x", "fault": "agent"},
            0,
            ResultFilter(grader="rubric", part="r1", text="x", fault="agent"),
        ),
    ],
    ids=[
        "failures first",
        "no failures",
        "all",
        "one verdict",
        "nonsense",
        "a facet shows all",
        "nameless",
        "flaky",
        "many",
    ],
)
def test_an_address_chooses_results(query: dict[str, str], failed: int, chosen: ResultFilter) -> None:
    assert read_case_filter(query).result_filter(failed) == chosen


def test_what_an_address_said_can_be_said_again_with_a_change() -> None:
    chosen = read_case_filter({"verdict": "failed", "tag": "a & b", "ignored": "x"})
    assert chosen.query() == "verdict=failed&tag=a+%26+b"
    assert chosen.query(tag="") == "verdict=failed"
    assert CaseFilter().query() == ""


def test_a_nameless_candidate_has_a_name_in_addresses() -> None:
    assert (filter_value(""), filter_value("gpt")) == ("-", "gpt")
