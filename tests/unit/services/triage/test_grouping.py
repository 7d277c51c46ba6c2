"""What results that did not pass have in common."""

from __future__ import annotations

from howsure.model.simulation import Party
from howsure.model.triage import Cause, Group, GroupKind, Split, Triage
from howsure.services.triage.grouping import Totals
from howsure.services.triage.ruling import Tried
from unit.services.triage.triage_results import a_triage, called, criterion, grade, result, rule, talk, unreadable


def of_kind(found: Triage, kind: GroupKind) -> list[tuple[str, int, int | None, tuple[str, ...]]]:
    return [(group.name, group.results, group.of, group.cases) for group in found.groups if group.kind is kind]


def three() -> Triage:
    return a_triage(
        result(rule("PRIVACY", False, scope="prompt"), criterion("Is polite", False), id="a", tags=("refund",)),
        result(rule("PRIVACY", False, scope="prompt"), criterion("Is short", True), id="b", tags=("refund", "vip")),
        result(criterion("Is polite", False), rule("PRIVACY", True), id="c", labels={"topic": "refund"}),
        totals=Totals(
            tried={"PRIVACY": Tried(met=7, judged=9)},
            components={"prompt": 9},
            tags={"refund": 4, "vip": 1, "topic:refund": 2},
            candidates={"": 9},
        ),
    )


def test_rules_and_components_say_how_many_of_how_many() -> None:
    found = three()
    assert of_kind(found, GroupKind.RULE) == [("PRIVACY: about PRIVACY", 2, 9, ("a", "b"))]
    assert of_kind(found, GroupKind.COMPONENT) == [("prompt", 2, 9, ("a", "b"))]


def test_criteria_are_grouped_by_their_text() -> None:
    assert of_kind(three(), GroupKind.CRITERION) == [("Is polite", 2, None, ("a", "c"))]


def test_a_tag_of_one_result_is_no_group() -> None:
    assert of_kind(three(), GroupKind.TAG) == [("refund", 2, 4, ("a", "b"))]


def test_tags_are_ordered_by_how_often_they_fail_not_by_their_size() -> None:
    rare = [result(criterion("x", False), id=f"r{n}", tags=("rare", "common")) for n in range(4)]
    more = [result(criterion("x", False), id=f"m{n}", tags=("common",)) for n in range(2)]
    found = a_triage(*rare, *more, totals=Totals(tags={"rare": 4, "common": 60}))
    assert [group.name for group in found.groups if group.kind is GroupKind.TAG] == ["rare", "common"]


def test_candidates_are_a_group_where_there_are_several() -> None:
    results = [
        result(criterion("x", False), candidate=name, id=f"c{place}") for place, name in enumerate(("m1", "m1", "m2"))
    ]
    assert of_kind(a_triage(*results, totals=Totals(candidates={"m1": 3})), GroupKind.CANDIDATE) == []
    several = a_triage(*results, totals=Totals(candidates={"m1": 3, "m2": 3}))
    assert of_kind(several, GroupKind.CANDIDATE) == [("m1", 2, 3, ("c0", "c1")), ("m2", 1, 3, ("c2",))]


def test_tools_are_those_that_something_is_wrong_with() -> None:
    found = a_triage(
        result(grade("tool_calls", False, "`pay` was not called; `ask` was called with other arguments: x"), id="a"),
        result(criterion("x", False), id="b", said=talk(called("pay", "no such card", failed=True), called("ask"))),
    )
    assert of_kind(found, GroupKind.TOOL) == [("pay", 2, None, ("a", "b")), ("ask", 1, None, ("a",))]


def test_reasons_alike_join_results_whatever_was_asked() -> None:
    found = a_triage(
        result(criterion("x", False, "Never asked for the order number."), id="a"),
        result(criterion("y", False, "The order number was never asked for."), id="b"),
        result(criterion("z", False, "Too long."), id="c"),
    )
    assert of_kind(found, GroupKind.REASON) == [("Never asked for the order number.", 2, None, ("a", "b"))]


def test_a_case_with_several_results_is_listed_once() -> None:
    found = a_triage(*(result(criterion("x", False), id="a", repeat=repeat) for repeat in (1, 2, 3)))
    (group,) = (group for group in found.groups if group.kind is GroupKind.CRITERION)
    assert (group.results, group.cases) == (3, ("a",))
    assert found.causes[0].results == ("a", "a #2", "a #3")


def test_every_group_counts_who_is_answerable() -> None:
    found = a_triage(
        result(criterion("x", False), id="a"),
        result(criterion("x", False), id="b"),
        result(criterion("x", False), id="c", said=talk(called("search_help", []))),
    )
    (group,) = (group for group in found.groups if group.kind is GroupKind.CRITERION)
    assert isinstance(group, Group)
    assert group.parties == {"agent": 2, "retrieval": 1}


def test_causes_come_by_priority_and_then_by_size() -> None:
    found = a_triage(
        result(criterion("x", False), id="a", said=talk(called("search_help", []))),
        result(grade("choice", False, "chose A"), id="b"),
        result(criterion("x", False), id="c"),
        result(criterion("x", False), id="d"),
        result(unreadable("criteria"), id="e"),
    )
    assert [(group.priority.value, group.cause, group.cases) for group in found.causes] == [
        ("P1", Cause.JUDGE_UNREADABLE, ("e",)),
        ("P2", Cause.CRITERION_UNMET, ("c", "d")),
        ("P2", Cause.WRONG_CHOICE, ("b",)),
        ("P3", Cause.NOTHING_FOUND, ("a",)),
    ]
    assert found.causes[1].confidence == {"likely": 2}


def test_criteria_and_rules_that_disagree_are_called_out_both_ways() -> None:
    found = a_triage(
        result(criterion("Is polite", False), rule("PRIVACY", True), rule("SOURCES", True), id="strict"),
        result(criterion("Is polite", True), rule("PRIVACY", False), id="violation", name="Neighbour"),
        result(criterion("Is polite", False), rule("PRIVACY", False), id="both agree"),
        result(criterion("Is polite", False), id="no rules"),
    )
    assert [(each.split, each.result, each.failed, each.passed) for each in found.divergences] == [
        (Split.CRITERIA_FAIL, "strict", ("Is polite",), 2),
        (Split.RUBRIC_FAIL, "violation", ("PRIVACY: about PRIVACY",), 1),
    ]
    assert found.divergences[1].party is Party.AGENT


def test_criteria_that_could_not_be_judged_agree_with_nobody() -> None:
    found = a_triage(result(criterion("Is polite", True), unreadable("criteria"), rule("PRIVACY", False)))
    assert found.divergences == ()
