"""What results that did not pass have in common."""

from __future__ import annotations

import random
import time

import pytest

from howsure.model.simulation import Party
from howsure.model.triage import Cause, DivergenceKind, GroupKind, Triage, TriageGroup
from howsure.services.triage.groups import RunTotals, group_similar, representative, telling_words
from howsure.services.triage.rules import MetCounts
from unit.services.triage.triage_results import a_triage, called, criterion, grade, result, rule, talk, unreadable


def of_kind(found: Triage, kind: GroupKind) -> list[tuple[str, int, int | None, tuple[str, ...]]]:
    return [(group.name, group.results, group.of, group.cases) for group in found.groups if group.kind is kind]


def three() -> Triage:
    return a_triage(
        result(rule("PRIVACY", False, scope="prompt"), criterion("Is polite", False), id="a", tags=("refund",)),
        result(rule("PRIVACY", False, scope="prompt"), criterion("Is short", True), id="b", tags=("refund", "vip")),
        result(criterion("Is polite", False), rule("PRIVACY", True), id="c", labels={"topic": "refund"}),
        totals=RunTotals(
            tried={"PRIVACY": MetCounts(met=7, judged=9)},
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
    found = a_triage(*rare, *more, totals=RunTotals(tags={"rare": 4, "common": 60}))
    assert [group.name for group in found.groups if group.kind is GroupKind.TAG] == ["rare", "common"]


def test_candidates_are_a_group_where_there_are_several() -> None:
    results = [
        result(criterion("x", False), candidate=name, id=f"c{place}") for place, name in enumerate(("m1", "m1", "m2"))
    ]
    assert of_kind(a_triage(*results, totals=RunTotals(candidates={"m1": 3})), GroupKind.CANDIDATE) == []
    several = a_triage(*results, totals=RunTotals(candidates={"m1": 3, "m2": 3}))
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
    assert isinstance(group, TriageGroup)
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
        (DivergenceKind.CRITERIA_FAIL, "strict", ("Is polite",), 2),
        (DivergenceKind.RUBRIC_FAIL, "violation", ("PRIVACY: about PRIVACY",), 1),
    ]
    assert found.divergences[1].party is Party.AGENT


def test_criteria_that_could_not_be_judged_agree_with_nobody() -> None:
    found = a_triage(result(criterion("Is polite", True), unreadable("criteria"), rule("PRIVACY", False)))
    assert found.divergences == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The agent is rude.", {"agent", "rude"}),
        ("Order 123 of 2026-04-18", {"order", "#"}),
        ("It's a don't", {"it's", "don't"}),
        ("ça va très bien", {"ça", "va", "très", "bien"}),
        ("A", {"a"}),
        ("", {""}),
    ],
)
def test_the_words_of_a_text_are_those_that_tell_something(text: str, expected: set[str]) -> None:
    assert telling_words(text) == expected


def test_reasons_that_share_half_of_their_words_are_one_group() -> None:
    texts = [
        "The agent never asked for the order number.",
        "Gives the wrong price for the tent.",
        "The order number was never asked for by the agent.",
        "Gives a wrong price: 120 instead of 90.",
        "Says nothing about shipping.",
        "The agent never asked for an order number",
    ]
    assert group_similar(texts) == [[0, 2, 5], [1, 3], [4]]
    assert group_similar(["wrong price 120", "wrong price 90"]) == [[0, 1]]


def test_a_chain_of_small_steps_joins_nothing_that_is_unlike() -> None:
    assert group_similar(["aa bb cc", "bb cc dd", "cc dd ee", "dd ee ff"]) == [[0, 1], [2, 3]]


def test_nothing_has_no_groups_and_the_order_of_groups_is_fixed() -> None:
    assert group_similar([]) == []
    assert group_similar(["b1 x", "a y", "z z"]) == [[0], [1], [2]]


def test_the_most_frequent_text_speaks_for_a_group_and_the_shortest_of_these() -> None:
    assert representative(["long text", "short", "short", "long text", "other"]) == "short"


def test_thousands_of_reasons_take_seconds_and_give_the_same_groups_again() -> None:
    chance = random.Random(7)
    words = ["".join(chance.choices("abcdefghij", k=5)) for _ in range(2000)]
    kinds = [chance.sample(words, 10) for _ in range(100)]
    texts = [" ".join([*chance.sample(kind, 9), chance.choice(words)]) for kind in kinds for _ in range(50)]
    began = time.process_time()
    groups = group_similar(texts)
    assert time.process_time() - began < 10
    assert sum(map(len, groups)) == 5000
    assert [len(group) for group in groups] == [50] * 100
    assert group_similar(texts) == groups
