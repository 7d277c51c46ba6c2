"""Results over many runs: each once, newest run first, whatever the page; and cursors of one's own making."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from howsure.errors import InputError
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.score import Part, Score
from howsure.model.verdict import Verdict
from howsure.services.hosting import across
from howsure.services.hosting.across import Filter, results_across
from howsure.store.store import Store
from store.making import NOON, a_result, a_run, numbered

RUNS, EACH = 4, 5


def graded(position: int, run: int) -> Score:
    broke = (position + run) % 3 == 0
    return Score(name="rubric", value=float(not broke), pass_mark=1.0, part=Part(id="KIND", text="Is kind"))


@pytest.fixture
async def store(database: str) -> AsyncIterator[Store]:
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


async def walked(store: Store, wanted: Filter, limit: int, within: AccessScope = EVERYWHERE) -> list[tuple[int, int]]:
    """Everything, page by page: the number of each run, and the position."""
    found: list[tuple[int, int]] = []
    place: str | None = None
    for _ in range(100):
        page, place = await results_across(store, wanted, place, limit, within)
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
        (Filter(), lambda run, position: True),
        (Filter(failed_only=True), lambda run, position: position % 2 == 1),
        (Filter(rule_id="KIND"), lambda run, position: (position + run) % 3 == 0),
        (Filter(rule_id="KIND", failed_only=True), lambda run, place: (place + run) % 3 == 0 and place % 2 == 1),
        (Filter(agent_id="a1"), lambda run, position: run % 2 == 1),
        (Filter(since="2026-03-01T13:30:00Z"), lambda run, position: run >= 2),
        (Filter(rule_id="NOBODY"), lambda run, position: False),
    ],
    ids=["all", "failed", "a rule", "both", "an agent", "since", "nothing"],
)  # fmt: skip
async def test_every_page_size_gives_the_same_list(store: Store, wanted: Filter, kept: object, limit: int) -> None:
    expected = [place for place in EVERY if kept(*place)]  # type: ignore[operator]
    assert await walked(store, wanted, limit) == expected


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
async def test_what_is_not_ones_own_is_not_there(store: Store, within: AccessScope, runs: set[int]) -> None:
    assert {run for run, _ in await walked(store, Filter(), 3, within)} == runs


async def test_many_runs_without_anything_are_passed_by(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page looks at so many runs and no more; whoever asks for something rare goes on from there."""
    monkeypatch.setattr(across, "RUNS", 1)
    page, place = await results_across(store, Filter(rule_id="NOBODY"), None, 10, EVERYWHERE)
    assert (page, place is None) == ([], False)
    assert await walked(store, Filter(rule_id="NOBODY"), 10) == []
    assert await walked(store, Filter(), 3) == EVERY


async def test_a_run_that_was_deleted_meanwhile_is_passed_by(store: Store) -> None:
    first, place = await results_across(store, Filter(), None, 2, EVERYWHERE)
    await store.delete_run(first[0][0].id)
    rest, _ = await results_across(store, Filter(), place, 100, EVERYWHERE)
    assert [((run.created_at - NOON).seconds // 3600, result.position) for run, result in rest] == EVERY[EACH:]


@pytest.mark.parametrize(
    "place", ["", "x", "5", "|", "x|y~z", "-1|2026-03-01T12:00:00Z~x", "1|nothing", "99999999999|a~b"]
)
async def test_a_cursor_of_another_list_is_refused(store: Store, place: str) -> None:
    with pytest.raises(InputError):
        await results_across(store, Filter(), place, 5, EVERYWHERE)


@pytest.mark.parametrize("since", ["yesterday", "2026-03-01T12:00:00", "2026-13-01T12:00:00Z", ""])
async def test_what_is_no_time_is_refused(store: Store, since: str) -> None:
    with pytest.raises(InputError, match="since: "):
        await results_across(store, Filter(since=since), None, 5, EVERYWHERE)
