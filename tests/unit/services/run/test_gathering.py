"""Results gather for a moment before they are saved: few transactions, and nothing is kept back at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from howsure.model.case import Case
from howsure.model.result import Result
from howsure.model.run import RunState
from howsure.services.run.execute import BATCH_SECONDS, FULL_BATCH
from howsure.store.store import Store
from unit.services.places import Counting, house, workplace
from unit.services.run.test_execute import begun, executed


class Watched(Store):
    """A store that remembers how many results came at a time."""

    saved: list[int]

    async def save(self, run_id: str, results: Sequence[Result], owner: str = "") -> None:
        await super().save(run_id, results, owner)
        self.saved = [*getattr(self, "saved", []), len(results)]


class Staggered(Counting):
    """Answers each case a little after the one before."""

    async def open(self, case: Case) -> Any:
        await asyncio.sleep(BATCH_SECONDS / 10 * int(case.id.removeprefix("q")))
        return await super().open(case)


async def saved(tmp_path: Path, target: Counting, cases: int, concurrency: int) -> list[int]:
    work = workplace(tmp_path, target)
    async with await Watched.open(tmp_path / "watched.db") as store:
        run, made = await begun(work, store, house(tmp_path, cases), concurrency=concurrency)
        done = await executed(store, run, made)
        assert done.state is RunState.COMPLETED
        assert len(await store.finished_positions(run.id)) == cases
        return store.saved


async def test_results_that_come_soon_after_each_other_are_saved_together(tmp_path: Path) -> None:
    counts = await saved(tmp_path, Staggered(), 6, concurrency=6)
    assert sum(counts) == 6
    assert len(counts) <= 3


async def test_the_only_result_is_not_waited_with(tmp_path: Path) -> None:
    assert await saved(tmp_path, Counting(), 1, concurrency=1) == [1]


@pytest.mark.parametrize("cases", [2 * FULL_BATCH + 1])
async def test_many_results_take_few_transactions(tmp_path: Path, cases: int) -> None:
    counts = await saved(tmp_path, Counting(), cases, concurrency=8)
    assert sum(counts) == cases
    assert len(counts) < cases / 50
