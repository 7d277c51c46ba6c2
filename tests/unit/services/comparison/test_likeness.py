"""What makes two runs unlike, and what is only what one wants to compare."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.model.agent import Agent
from howsure.model.case import Case, SingleTurn
from howsure.model.comparison import Bearing, Change, Turn, What
from howsure.model.expectation import (
    Choice,
    CorrectChoice,
    Criteria,
    Criterion,
    Expectation,
    Goal,
    ReferenceAnswer,
    WeightedCriteria,
)
from howsure.model.profile import Normalization
from howsure.model.rubric import Rubric, Rule, Severity
from howsure.model.run import DatasetPin
from howsure.services.comparison.likeness import SHOWN_CHANGES, case_changes, same_rules, unlike
from howsure.testing import a_case
from two_runs import pins

RUBRIC = Rubric(name="r", rules=(Rule(id="R1", name="Be kind", severity=Severity.HIGH),))
RESPONSES = (DatasetPin(path="answers.jsonl", sha256="1" * 64),)


def test_runs_made_of_the_same_are_alike() -> None:
    assert unlike(pins(), pins(), []) == ()


@pytest.mark.parametrize(
    ("first", "second", "what", "bearing", "said"),
    [
        (
            {"judge": "recorded:/home/me/a.jsonl", "judge_sha256": "1"},
            {"judge": "offline", "judge_sha256": "2"},
            What.JUDGE,
            Bearing.FLAGS,
            "recorded:a.jsonl and offline: a difference of judged grades may be the judge's",
        ),
        (
            {"judge": "openai:x", "judge_prompts": "v1"},
            {"judge": "openai:x", "judge_prompts": "v2"},
            What.JUDGE,
            Bearing.FLAGS,
            "openai:x, asked in other words: a difference of judged grades may come from that",
        ),
        (
            {"judge": "openai:x"},
            {"judge": "openai:x", "batch_criteria": True},
            What.JUDGE,
            Bearing.FLAGS,
            "openai:x, with other settings or another recording: a difference may come from that",
        ),
        (
            {},
            {"judge": "offline", "judge_sha256": "2"},
            What.JUDGE,
            Bearing.FLAGS,
            "no judge and offline: a difference of judged grades may be the judge's",
        ),
        (
            {},
            {"simulator": "openai:x", "simulator_sha256": "s"},
            What.SIMULATOR,
            Bearing.FLAGS,
            "the user was played otherwise (none and openai:x): the agents did not have the same conversation partner",
        ),
        (
            {"profile": "strict", "policy_sha256": "p"},
            {"policy_sha256": "q"},
            What.POLICY,
            Bearing.FLAGS,
            "pass marks or weights differ (strict and default): a flipped verdict may come from that",
        ),
        (
            {},
            {"normalization": Normalization.MIN_MAX},
            What.POLICY,
            Bearing.FLAGS,
            "pass marks or weights differ: a flipped verdict may come from that",
        ),
        (
            {"graders": ("choice",)},
            {},
            What.GRADERS,
            Bearing.FLAGS,
            "other graders, evals or plug-ins took part: the verdicts may rest on other grades",
        ),
        (
            {"rubric": RUBRIC, "rubric_sha256": "r"},
            {},
            What.RUBRIC,
            Bearing.FORBIDS,
            "the first run has a rubric and the second has none",
        ),
        ({"target": "http"}, {"target": "adk"}, What.TARGET, Bearing.EXPECTED, "http and adk"),
        ({"responses": RESPONSES}, {}, What.TARGET, Bearing.EXPECTED, "recorded and recorded"),
        ({"agent": Agent(id="a", name="a")}, {}, What.TARGET, Bearing.EXPECTED, "recorded and recorded"),
    ],
)
def test_what_differs_is_told(
    first: dict[str, Any], second: dict[str, Any], what: What, bearing: Bearing, said: str
) -> None:
    (found,) = unlike(pins(**first), pins(**second), [])
    assert (found.what, found.bearing, found.said) == (what, bearing, said)


def of(*expectations: Expectation, **fields: Any) -> Case:
    return a_case(*expectations, id="q1", **fields)


def plain(*texts: str) -> Criteria:
    return Criteria(criteria=tuple(Criterion(id=f"c{place}", text=text) for place, text in enumerate(texts)))


def weighted(weight: float, *references: str) -> WeightedCriteria:
    return WeightedCriteria(criteria=(Criterion(id="w", text="Is short", weight=weight),), references=references)


CHOICES = (Choice(id="A", text="yes"), Choice(id="B", text="no"))


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        (of(plain("a")), of(plain("a")), []),
        (of(plain("a")), of(plain("b")), [Change(turn=Turn.CHANGED, kind="criterion", id="c0", text="b")]),
        (of(plain("a", "b")), of(plain("a")), [Change(turn=Turn.REMOVED, kind="criterion", id="c1", text="b")]),
        (of(plain("a")), of(plain("a", "b")), [Change(turn=Turn.ADDED, kind="criterion", id="c1", text="b")]),
        (of(weighted(1)), of(weighted(2)), [Change(turn=Turn.CHANGED, kind="criterion", id="w", text="Is short")]),
        (of(weighted(1)), of(weighted(1, "So.")), [Change(turn=Turn.CHANGED, kind="weighted_criteria")]),
        (of(), of(ReferenceAnswer(answers=("x",))), [Change(turn=Turn.ADDED, kind="reference_answer")]),
        (of(Goal(text="a")), of(), [Change(turn=Turn.REMOVED, kind="goal")]),
        (
            of(CorrectChoice(choices=CHOICES, correct=("A",))),
            of(CorrectChoice(choices=CHOICES, correct=("B",))),
            [Change(turn=Turn.CHANGED, kind="correct_choice")],
        ),
        (of(), of(input=SingleTurn(message="Bye")), [Change(turn=Turn.CHANGED, kind="input")]),
        (of(), of(profile="strict"), [Change(turn=Turn.CHANGED, kind="profile")]),
    ],
)
def test_every_part_of_a_case_that_changed_is_named(before: Case, after: Case, changes: list[Change]) -> None:
    found = list(case_changes(before, after))
    assert [(each.turn, each.kind, each.id, each.text) for each in found] == [
        (each.turn, each.kind, each.id, each.text) for each in changes
    ]
    assert all(each.case_id == "q1" for each in found)


def test_thousands_of_changes_are_counted_and_not_all_listed() -> None:
    changed = [(a_case(id=f"q{n}"), a_case(id=f"q{n}", message="Bye")) for n in range(SHOWN_CHANGES + 7)]
    (found,) = unlike(pins(), pins(), changed)
    assert (len(found.changes), found.changes_left_out) == (SHOWN_CHANGES, 7)
    assert found.said == "207 cases of the same id ask or expect something else"


def test_only_rules_that_are_the_same_may_be_compared() -> None:
    changed = Rubric(name="r", rules=(Rule(id="R1", name="Be kind", severity=Severity.LOW),))
    assert same_rules(RUBRIC, RUBRIC) == {"R1": "Be kind"}
    assert same_rules(RUBRIC, changed) == {}
    assert same_rules(RUBRIC, None) == {}
