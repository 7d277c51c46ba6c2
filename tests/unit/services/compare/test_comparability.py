"""What makes two runs unlike, and what is only what one wants to compare."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from howsure.model.agent import Agent
from howsure.model.case import Case, SingleTurn
from howsure.model.comparison import (
    CaseFlip,
    ChangeKind,
    Conclusion,
    MismatchEffect,
    PairComparison,
    PartChange,
    PinKind,
    TryCounts,
)
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
from howsure.model.result import Result
from howsure.model.rubric import Rubric, Rule, Severity
from howsure.model.run import DatasetPin
from howsure.model.verdict import Normalization
from howsure.policies.gates import read_gates
from howsure.reports.comparisons import unpaired_text
from howsure.services.compare.comparability import SHOWN_CHANGES, case_changes, run_mismatches, same_rules
from howsure.services.compare.compare import CompareRequest, compare_stored
from howsure.services.gate.rulings import make_rulings
from howsure.store.store import Store
from howsure.testing import a_case
from two_runs import AFTER, BEFORE, PINNED, keep, pins, verdicts

RUBRIC = Rubric(name="r", rules=(Rule(id="R1", name="Be kind", severity=Severity.HIGH),))
RESPONSES = (DatasetPin(path="answers.jsonl", sha256="1" * 64),)


def test_runs_made_of_the_same_are_alike() -> None:
    assert run_mismatches(pins(), pins(), []) == ()


@pytest.mark.parametrize(
    ("first", "second", "what", "bearing", "said"),
    [
        (
            {"judge": "recorded:/home/me/a.jsonl", "judge_sha256": "1"},
            {"judge": "offline", "judge_sha256": "2"},
            PinKind.JUDGE,
            MismatchEffect.FLAGS,
            "recorded:a.jsonl and offline: a difference of judged grades may be the judge's",
        ),
        (
            {"judge": "openai:x", "judge_prompts": "v1"},
            {"judge": "openai:x", "judge_prompts": "v2"},
            PinKind.JUDGE,
            MismatchEffect.FLAGS,
            "openai:x, asked in other words: a difference of judged grades may come from that",
        ),
        (
            {"judge": "openai:x"},
            {"judge": "openai:x", "batch_criteria": True},
            PinKind.JUDGE,
            MismatchEffect.FLAGS,
            "openai:x, with other settings or another recording: a difference may come from that",
        ),
        (
            {},
            {"judge": "offline", "judge_sha256": "2"},
            PinKind.JUDGE,
            MismatchEffect.FLAGS,
            "no judge and offline: a difference of judged grades may be the judge's",
        ),
        (
            {},
            {"simulator": "openai:x", "simulator_sha256": "s"},
            PinKind.SIMULATOR,
            MismatchEffect.FLAGS,
            "the user was played otherwise (none and openai:x): the agents did not have the same conversation partner",
        ),
        (
            {"profile": "strict", "policy_sha256": "p"},
            {"policy_sha256": "q"},
            PinKind.POLICY,
            MismatchEffect.FLAGS,
            "pass marks, weights or dataset policies differ (strict and default): a flipped verdict may come from that",
        ),
        (
            {},
            {"normalization": Normalization.MIN_MAX},
            PinKind.POLICY,
            MismatchEffect.FLAGS,
            "pass marks, weights or dataset policies differ: a flipped verdict may come from that",
        ),
        (
            {"graders": ("choice",)},
            {},
            PinKind.GRADERS,
            MismatchEffect.FLAGS,
            "other graders, evals or plug-ins took part: the verdicts may rest on other grades",
        ),
        (
            {"rubric": RUBRIC, "rubric_sha256": "r"},
            {},
            PinKind.RUBRIC,
            MismatchEffect.FORBIDS,
            "the first run has a rubric and the second has none",
        ),
        ({"target": "http"}, {"target": "adk"}, PinKind.TARGET, MismatchEffect.EXPECTED, "http and adk"),
        ({"responses": RESPONSES}, {}, PinKind.TARGET, MismatchEffect.EXPECTED, "recorded and recorded"),
        ({"agent": Agent(id="a", name="a")}, {}, PinKind.TARGET, MismatchEffect.EXPECTED, "recorded and recorded"),
    ],
)
def test_what_differs_is_told(
    first: dict[str, Any], second: dict[str, Any], what: PinKind, bearing: MismatchEffect, said: str
) -> None:
    (found,) = run_mismatches(pins(**first), pins(**second), [])
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
        (of(plain("a")), of(plain("b")), [PartChange(turn=ChangeKind.CHANGED, kind="criterion", id="c0", text="b")]),
        (
            of(plain("a", "b")),
            of(plain("a")),
            [PartChange(turn=ChangeKind.REMOVED, kind="criterion", id="c1", text="b")],
        ),
        (of(plain("a")), of(plain("a", "b")), [PartChange(turn=ChangeKind.ADDED, kind="criterion", id="c1", text="b")]),
        (
            of(weighted(1)),
            of(weighted(2)),
            [PartChange(turn=ChangeKind.CHANGED, kind="criterion", id="w", text="Is short")],
        ),
        (of(weighted(1)), of(weighted(1, "So.")), [PartChange(turn=ChangeKind.CHANGED, kind="weighted_criteria")]),
        (of(), of(ReferenceAnswer(answers=("x",))), [PartChange(turn=ChangeKind.ADDED, kind="reference_answer")]),
        (of(Goal(text="a")), of(), [PartChange(turn=ChangeKind.REMOVED, kind="goal")]),
        (
            of(CorrectChoice(choices=CHOICES, correct=("A",))),
            of(CorrectChoice(choices=CHOICES, correct=("B",))),
            [PartChange(turn=ChangeKind.CHANGED, kind="correct_choice")],
        ),
        (of(), of(input=SingleTurn(message="Bye")), [PartChange(turn=ChangeKind.CHANGED, kind="input")]),
        (of(), of(profile="strict"), [PartChange(turn=ChangeKind.CHANGED, kind="profile")]),
    ],
)
def test_every_part_of_a_case_that_changed_is_named(before: Case, after: Case, changes: list[PartChange]) -> None:
    found = list(case_changes(before, after))
    assert [(each.turn, each.kind, each.id, each.text) for each in found] == [
        (each.turn, each.kind, each.id, each.text) for each in changes
    ]
    assert all(each.case_id == "q1" for each in found)


def test_thousands_of_changes_are_counted_and_not_all_listed() -> None:
    changed = [(a_case(id=f"q{n}"), a_case(id=f"q{n}", message="Bye")) for n in range(SHOWN_CHANGES + 7)]
    (found,) = run_mismatches(pins(), pins(), changed)
    assert (len(found.changes), found.changes_left_out) == (SHOWN_CHANGES, 7)
    assert found.said == "207 cases of the same id ask or expect something else"


def test_only_rules_that_are_the_same_may_be_compared() -> None:
    changed = Rubric(name="r", rules=(Rule(id="R1", name="Be kind", severity=Severity.LOW),))
    assert same_rules(RUBRIC, RUBRIC) == {"R1": "Be kind"}
    assert same_rules(RUBRIC, changed) == {}
    assert same_rules(RUBRIC, None) == {}


OTHER = (replace(PINNED, sha256="cd" * 32),)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with await Store.open(tmp_path / "howsure.db") as opened:
        yield opened


def asking_otherwise(results: list[Result], count: int) -> list[Result]:
    """The first so many ask something else."""
    return [
        replace(each, case=a_case(id=each.case.id, message="Something else?")) if place < count else each
        for place, each in enumerate(results)
    ]


async def versus(store: Store, before: str, after: str, changed: int) -> PairComparison:
    await keep(store, BEFORE, verdicts(before))
    await keep(store, AFTER, asking_otherwise(verdicts(after), changed), datasets=OTHER)
    (pair,) = (await compare_stored(store, CompareRequest(runs=(BEFORE, AFTER)))).pairs
    return pair


async def test_nothing_is_concluded_from_changed_cases_but_their_flips_are_listed(store: Store) -> None:
    # The first ten changed and all fail now; the other thirty are as they were.
    pair = await versus(store, "+" * 40, "-" * 10 + "+" * 30, changed=10)
    assert (pair.verdict.n, pair.verdict.difference, pair.verdict.conclusion) == (30, 0.0, Conclusion.CANNOT_TELL)
    assert (pair.verdict.pairing.changed, pair.verdict.pairing.total) == (10, 40)
    assert (pair.verdict.pairing.only_first, pair.verdict.pairing.only_second) == (0, 0)
    assert unpaired_text(pair.verdict.pairing) == "10 cases could not be compared: 10 changed between the runs"
    assert pair.flips[0] == CaseFlip(
        case_id="q1",
        first=TryCounts(1, 1),
        second=TryCounts(0, 1),
        graders=("choice",),
        causes=("choice",),
        question="Something else?",
        changed=True,
    )
    assert [flip.changed for flip in pair.flips] == [True] * 10
    assert {each.pairing.paired for each in pair.differences} == {30}


async def test_flips_of_cases_that_did_not_change_are_not_marked(store: Store) -> None:
    pair = await versus(store, "++++", "--++", changed=1)
    assert [(flip.case_id, flip.changed) for flip in pair.flips] == [("q1", True), ("q2", False)]
    assert (pair.verdict.n, pair.verdict.lowered) == (3, 1)


async def test_where_every_case_changed_nothing_can_be_said(store: Store) -> None:
    pair = await versus(store, "+++", "---", changed=3)
    assert (pair.verdict.n, pair.verdict.pairing.changed, len(pair.flips)) == (0, 3, 3)
    assert pair.verdict.conclusion is Conclusion.CANNOT_TELL


@pytest.mark.parametrize("changed", [0, 10, 25])
async def test_the_gate_and_the_comparison_judge_the_same_cases(store: Store, changed: int) -> None:
    pair = await versus(store, "+" * 60, "-" * 30 + "+" * 30, changed=changed)
    summary = await store.summary(AFTER)
    (ruling,) = await make_rulings(store, summary, read_gates([f"no_regression vs {BEFORE} by 2%"]))
    assert (ruling.n, ruling.value) == (pair.verdict.n, pair.verdict.difference)
    assert ruling.n == 60 - changed
