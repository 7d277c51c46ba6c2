"""Cases that ask something else on the second side: one rule for comparisons and gates."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from howsure.model.comparison import Compared, Conclusion, Flip, Tries
from howsure.model.result import Result
from howsure.policies.gate_reading import read_gates
from howsure.reports.compare_sentence import unpaired
from howsure.services.comparing import Wanted, compared
from howsure.services.gates.ruling import rulings
from howsure.store.store import Store
from howsure.testing import a_case
from two_runs import AFTER, BEFORE, PINNED, keep, verdicts

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


async def versus(store: Store, before: str, after: str, changed: int) -> Compared:
    await keep(store, BEFORE, verdicts(before))
    await keep(store, AFTER, asking_otherwise(verdicts(after), changed), datasets=OTHER)
    (pair,) = (await compared(store, Wanted(runs=(BEFORE, AFTER)))).pairs
    return pair


async def test_nothing_is_concluded_from_changed_cases_but_their_flips_are_listed(store: Store) -> None:
    # The first ten changed and all fail now; the other thirty are as they were.
    pair = await versus(store, "+" * 40, "-" * 10 + "+" * 30, changed=10)
    assert (pair.verdict.n, pair.verdict.difference, pair.verdict.conclusion) == (30, 0.0, Conclusion.EQUAL)
    assert (pair.verdict.pairing.changed, pair.verdict.pairing.total) == (10, 40)
    assert (pair.verdict.pairing.only_first, pair.verdict.pairing.only_second) == (0, 0)
    assert unpaired(pair.verdict.pairing) == "10 cases could not be compared: 10 changed between the runs"
    assert pair.flips[0] == Flip(case_id="q1", first=Tries(1, 1), second=Tries(0, 1), graders=("choice",), changed=True)
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
    (ruling,) = await rulings(store, summary, read_gates([f"no_regression vs {BEFORE} by 2%"]))
    assert (ruling.n, ruling.value) == (pair.verdict.n, pair.verdict.difference)
    assert ruling.n == 60 - changed
