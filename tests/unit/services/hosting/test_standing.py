"""How agents stand: by the newest run that is complete, each once, page by page, and within what one may see."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.run import RunState
from howsure.model.score import Part, Score
from howsure.model.verdict import Verdict
from howsure.services.hosting.standing import Standing, standings
from howsure.services.hosting.viewing import Gallery
from howsure.store.store import Store
from store.making import NOON, a_result, a_run, numbered


def criterion(place: int, *, holds: bool) -> Score:
    return Score(name="criteria", value=float(holds), pass_mark=1.0, part=Part(id=f"c{place}", text=f"t{place}"))


@pytest.fixture
async def store(database: str) -> AsyncIterator[Store]:
    async with await Store.open(database if "://" in database else Path(database)) as opened:
        yield opened


async def tried(store: Store, number: int, agent: str, held: tuple[bool, ...], **fields: Any) -> str:
    """A run of one result whose criteria held or did not."""
    created = NOON + timedelta(hours=number)
    run = replace(a_run(numbered(number), agent=agent, total=1, created_at=created), organization_id="acme")
    await store.create_run(run)
    grades = tuple(criterion(place, holds=each) for place, each in enumerate(held))
    await store.save(run.id, [a_result(0, Verdict.PASSED if all(held) else Verdict.FAILED, grades=grades)])
    await store.set_state(run.id, fields.get("state", RunState.COMPLETED))
    return run.id


async def found(store: Store, within: AccessScope = EVERYWHERE, limit: int = 50, after: str = "") -> list[Standing]:
    return await standings(store, Gallery(store), after, limit, within)


async def test_the_newest_complete_run_counts(store: Store) -> None:
    await tried(store, 1, "a1", (False, False))
    newest = await tried(store, 2, "a1", (True, True, True, False))
    await tried(store, 3, "a1", (True,), state=RunState.FAILED)
    (standing,) = await found(store)
    assert (standing.agent_id, standing.name, standing.runs) == ("a1", "", 3)
    assert standing.run is not None
    assert (standing.run["run_id"], standing.criteria_score, standing.rubric_score) == (newest, 0.75, None)


async def test_without_a_complete_run_nothing_is_said(store: Store) -> None:
    await tried(store, 1, "a1", (True,), state=RunState.FAILED)
    (standing,) = await found(store)
    assert (standing.runs, standing.run, standing.criteria_score) == (1, None, None)


async def test_nothing_judged_is_not_nought(store: Store) -> None:
    await tried(store, 1, "a1", ())
    await tried(store, 2, "a2", (False,))
    assert [each.criteria_score for each in await found(store)] == [None, 0.0]


@pytest.mark.parametrize("limit", [1, 2, 3, 10])
async def test_every_agent_comes_once_by_its_id(store: Store, limit: int) -> None:
    for number, agent in enumerate(("b", "a", "c", "a", "ä"), 1):
        await tried(store, number, agent, (True,))
    names: list[str] = []
    while page := await found(store, limit=limit, after=names[-1] if names else ""):
        names += [each.agent_id for each in page]
        if len(page) < limit:
            break
    assert names == ["a", "b", "c", "ä"]


async def test_only_those_that_one_may_see(store: Store) -> None:
    await tried(store, 1, "a1", (True,))
    await tried(store, 2, "a2", (True,))
    assert len(await found(store, AccessScope(organization_id="acme"))) == 2
    assert await found(store, AccessScope(organization_id="other")) == []
    assert [each.agent_id for each in await found(store, AccessScope(agent_ids=("a2",)))] == ["a2"]
