"""Runs, agents and results as callers see them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hosts import a_dataset, completed, hosted, in_state, ordered, question, working
from howsure.errors import InputError, NotFound
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.job import RequestedState
from howsure.model.run import RunState
from howsure.model.score import Part, Score
from howsure.model.verdict import Verdict
from howsure.services.host import run_views
from howsure.services.host.run_views import (
    AgentStatus,
    CrossRunFilter,
    RunListFilter,
    RunViews,
    agent_statuses,
    results_across_runs,
)
from howsure.store.browse import RunPageContent, RunPageQuery
from howsure.store.leases import this_owner
from howsure.store.result_lists import ResultFilter
from howsure.store.store import Store
from store.making import NOON, RUN, a_result, a_run, numbered

BOT = """
import asyncio

async def answer(text: str) -> str:
    await asyncio.sleep(0.02)
    return "Answer: A"
"""


async def test_a_run_adds_up_whenever_it_is_looked_at(tmp_path: Path) -> None:
    async with hosted(tmp_path, BOT) as host:
        gallery = RunViews(host.store)
        run = await ordered(host, await a_dataset(host, *map(question, range(60))), concurrency=4)
        seen: list[int] = []
        async with working(host):
            while True:
                shown = await gallery.run(run.id)
                for counts in (shown, *shown["candidates"].values()):
                    parts = [counts[name] for name in ("passed", "failed", "errored", "skipped", "pending")]
                    assert sum(parts) == counts["total"] == 60
                seen.append(shown["completed"])
                if shown["status"] == "completed":
                    break
                await asyncio.sleep(0.02)
        assert seen == sorted(seen)
        assert len(set(seen)) > 2


async def test_a_run_whose_worker_was_killed_is_still_running_for_whoever_waits(tmp_path: Path) -> None:
    async with hosted(tmp_path, BOT) as host:
        gallery = RunViews(host.store)
        run = await ordered(host, await a_dataset(host, question(1)))
        gone = this_owner("worker-gone").split("/")
        gone[-3] = "999999999"
        await host.store.queue.claim("/".join(gone), per_agent=9, overall=9)
        assert (await host.store.run(run.id)).state is RunState.INTERRUPTED
        assert (await gallery.run(run.id))["status"] == "running"
        for status, number in (("running", 1), ("failed", 0), ("pending", 0), ("completed", 0)):
            chosen = RunListFilter(status=status)
            found, _ = await gallery.page(limit=5, before=None, chosen=chosen, scope=EVERYWHERE)
            assert len(found) == number, status


async def test_a_run_that_is_released_while_it_is_looked_at_is_shown_as_released(tmp_path: Path) -> None:
    async with hosted(tmp_path, BOT) as host:
        run, owner = await ordered(host, await a_dataset(host, question(1))), this_owner("worker-here")
        await host.store.queue.claim(owner, per_agent=9, overall=9)
        await host.store.set_state(run.id, RunState.INTERRUPTED, owner=owner)
        read_job = host.store.queue.job

        async def release_first(run_id: str) -> object:
            await host.store.queue.finish(run_id, owner, RequestedState.PAUSE)
            return await read_job(run_id)

        host.store.queue.job = release_first  # type: ignore[method-assign,assignment]
        shown = await RunViews(host.store).run(run.id)
        assert (shown["state"], shown["status"]) == ("paused", "pending")


async def test_a_run_that_is_worked_on_is_counted_once_however_many_look(tmp_path: Path) -> None:
    async with hosted(tmp_path, BOT) as host:
        gallery = RunViews(host.store)
        run = await ordered(host, await a_dataset(host, *map(question, range(200))), concurrency=2)
        counted = 0
        count = host.store.count

        async def counting(run_id: str) -> object:
            nonlocal counted
            counted += 1
            return await count(run_id)

        host.store.count = counting  # type: ignore[method-assign,assignment]
        async with working(host):
            await completed(host, run.id, 3)
            await asyncio.gather(*(gallery.run(run.id) for _ in range(50)))
            assert counted == 1
            await host.store.queue.wish(run.id, RequestedState.CANCEL)
            await in_state(host, run.id, RunState.CANCELLED)
        # What has ended was counted when it ended.
        await asyncio.gather(*(gallery.run(run.id) for _ in range(50)))
        assert counted == 1


def criterion(place: int, *, holds: bool) -> Score:
    return Score(name="criteria", value=float(holds), pass_mark=1.0, part=Part(id=f"c{place}", text=f"t{place}"))


@pytest.fixture
async def store(database: str) -> AsyncIterator[Store]:
    async with await Store.open(database if "://" in database else Path(database)) as opened:
        yield opened


async def test_the_page_of_a_live_run_is_read_once_for_each_of_its_states(store: Store) -> None:
    await store.create_run(a_run(total=3))
    await store.save(RUN, [a_result(0)])
    views, read_page = RunViews(store), store.browse.run_page
    read: list[str] = []

    async def reading(run_id: str, query: RunPageQuery, within: AccessScope) -> RunPageContent:
        read.append(run_id)
        return await read_page(run_id, query, within)

    store.browse.run_page = reading  # type: ignore[method-assign]
    query = RunPageQuery(filter=lambda _: ResultFilter(), examples=lambda _: (), after=None, limit=9, errored=0)

    async def look(view: str, viewers: int) -> list[int]:
        pages = await asyncio.gather(*(views.page_content(RUN, query, EVERYWHERE, view) for _ in range(viewers)))
        return [summary.run.counts.passed for summary, _ in pages]

    assert (await look("failures", 20), len(read)) == ([1] * 20, 1)
    assert (await look("all", 1), len(read)) == ([1], 2), "another view of it"
    await store.save(RUN, [a_result(1)])
    assert (await look("failures", 20), len(read)) == ([2] * 20, 3)
    with pytest.raises(NotFound):
        await views.page_content(RUN, query, AccessScope(organization_id="others"), "failures")
    await store.set_state(RUN, RunState.CANCELLED)
    assert (await look("failures", 2), len(read)) == ([2] * 2, 5), "what has ended is not remembered"


async def tried(store: Store, number: int, agent: str, held: tuple[bool, ...], **fields: Any) -> str:
    """A run of one result whose criteria held or did not."""
    created = NOON + timedelta(hours=number)
    run = replace(a_run(numbered(number), agent=agent, total=1, created_at=created), organization_id="acme")
    await store.create_run(run)
    grades = tuple(criterion(place, holds=each) for place, each in enumerate(held))
    await store.save(run.id, [a_result(0, Verdict.PASSED if all(held) else Verdict.FAILED, grades=grades)])
    await store.set_state(run.id, fields.get("state", RunState.COMPLETED))
    return run.id


async def found(store: Store, within: AccessScope = EVERYWHERE, limit: int = 50, after: str = "") -> list[AgentStatus]:
    return await agent_statuses(store, RunViews(store), after, limit, within)


async def test_the_newest_complete_run_counts(store: Store) -> None:
    await tried(store, 1, "a1", (False, False))
    newest = await tried(store, 2, "a1", (True, True, True, False))
    await tried(store, 3, "a1", (True,), state=RunState.FAILED)
    (standing,) = await found(store)
    assert (standing.agent_id, standing.agent_name, standing.runs) == ("a1", None, 3)
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


RUNS, EACH = 4, 5


def graded(position: int, run: int) -> Score:
    broke = (position + run) % 3 == 0
    return Score(name="rubric", value=float(not broke), pass_mark=1.0, part=Part(id="KIND", text="Is kind"))


@pytest.fixture
async def full_store(database: str) -> AsyncIterator[Store]:
    """Four runs of five results; every other one is of another agent and organisation."""
    async with await Store.open(database if "://" in database else Path(database)) as opened:
        for number in range(RUNS):
            run = a_run(
                numbered(number + 1), agent=f"a{number % 2}", total=EACH, created_at=NOON + timedelta(hours=number)
            )
            await opened.create_run(replace(run, organization_id=f"org{number % 2}"))
            results = [
                a_result(
                    position,
                    Verdict.FAILED if position % 2 else Verdict.PASSED,
                    grades=(graded(position, number),),
                )
                for position in range(EACH)
            ]
            await opened.save(run.id, results)
        yield opened


async def walked(
    full_store: Store, wanted: CrossRunFilter, limit: int, within: AccessScope = EVERYWHERE
) -> list[tuple[int, int]]:
    """Everything, page by page: the number of each run, and the position."""
    found: list[tuple[int, int]] = []
    place: str | None = None
    for _ in range(100):
        page, place = await results_across_runs(full_store, wanted, place, limit, within)
        assert len(page) <= limit
        found += [((run.created_at - NOON).seconds // 3600, result.position) for run, result in page]
        if place is None:
            return found
    raise AssertionError("the list has no end")


EVERY = [(run, position) for run in (3, 2, 1, 0) for position in range(EACH)]


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 7, 19, 20, 21, 100])
@pytest.mark.parametrize(
    ("wanted", "kept"),
    [
        (CrossRunFilter(), lambda run, position: True),
        (CrossRunFilter(failed_only=True), lambda run, position: position % 2 == 1),
        (CrossRunFilter(rule_id="KIND"), lambda run, position: (position + run) % 3 == 0),
        (CrossRunFilter(rule_id="KIND", failed_only=True), lambda run, at: (at + run) % 3 == 0 and at % 2 == 1),
        (CrossRunFilter(agent_id="a1"), lambda run, position: run % 2 == 1),
        (CrossRunFilter(since="2026-03-01T13:30:00Z"), lambda run, position: run >= 2),
        (CrossRunFilter(rule_id="NOBODY"), lambda run, position: False),
    ],
    ids=["all", "failed", "a rule", "both", "an agent", "since", "nothing"],
)  # fmt: skip
async def test_every_page_size_gives_the_same_list(
    full_store: Store, wanted: CrossRunFilter, kept: object, limit: int
) -> None:
    expected = [place for place in EVERY if kept(*place)]  # type: ignore[operator]
    assert await walked(full_store, wanted, limit) == expected


@pytest.mark.parametrize(
    ("within", "runs"),
    [
        (AccessScope(organization_id="org0"), {0, 2}),
        (AccessScope(organization_id="org1"), {1, 3}),
        (AccessScope(organization_id="org1", agent_ids=("a0",)), set()),
        (AccessScope(agent_ids=("a0",)), {0, 2}),
        (AccessScope(organization_id="nobody"), set()),
    ],
)
async def test_what_is_not_ones_own_is_not_there(full_store: Store, within: AccessScope, runs: set[int]) -> None:
    assert {run for run, _ in await walked(full_store, CrossRunFilter(), 3, within)} == runs


async def test_many_runs_without_anything_are_passed_by(full_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page looks at so many runs and no more; whoever asks for something rare goes on from there."""
    monkeypatch.setattr(run_views, "RUNS_PER_PAGE", 1)
    page, place = await results_across_runs(full_store, CrossRunFilter(rule_id="NOBODY"), None, 10, EVERYWHERE)
    assert (page, place is None) == ([], False)
    assert await walked(full_store, CrossRunFilter(rule_id="NOBODY"), 10) == []
    assert await walked(full_store, CrossRunFilter(), 3) == EVERY


async def test_a_run_that_was_deleted_meanwhile_is_passed_by(full_store: Store) -> None:
    first, place = await results_across_runs(full_store, CrossRunFilter(), None, 2, EVERYWHERE)
    await full_store.delete_run(first[0][0].id)
    rest, _ = await results_across_runs(full_store, CrossRunFilter(), place, 100, EVERYWHERE)
    assert [((run.created_at - NOON).seconds // 3600, result.position) for run, result in rest] == EVERY[EACH:]


@pytest.mark.parametrize(
    "place", ["", "x", "5", "|", "x|y~z", "-1|2026-03-01T12:00:00Z~x", "1|nothing", "99999999999|a~b"]
)
async def test_a_cursor_of_another_list_is_refused(full_store: Store, place: str) -> None:
    with pytest.raises(InputError):
        await results_across_runs(full_store, CrossRunFilter(), place, 5, EVERYWHERE)


@pytest.mark.parametrize("since", ["yesterday", "2026-03-01T12:00:00", "2026-13-01T12:00:00Z", ""])
async def test_what_is_no_time_is_refused(full_store: Store, since: str) -> None:
    with pytest.raises(InputError, match="since: "):
        await results_across_runs(full_store, CrossRunFilter(since=since), None, 5, EVERYWHERE)
