"""Runs in the store: what is written is read, what a person types is found, states follow the process."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from howsure.errors import Conflict, InputError, NotFound
from howsure.model.run import Counts, RunState
from howsure.model.verdict import Verdict
from howsure.store.leases import this_owner
from howsure.store.pages import next_cursor
from howsure.store.store import Store
from store.making import NOON, OTHER, RUN, a_result, a_run, numbered


async def test_a_run_is_read_as_it_was_written(store: Store) -> None:
    run = a_run(agent="shop-bot", started_at=NOON, name="nächtlich ✓", error="")
    await store.create_run(run)
    assert await store.run(RUN) == run


async def test_counts_follow_the_results(store: Store) -> None:
    await store.create_run(a_run(total=6))
    verdicts = [Verdict.PASSED, Verdict.PASSED, Verdict.FAILED, Verdict.ERRORED, Verdict.SKIPPED]
    await store.save(RUN, [a_result(position, verdict) for position, verdict in enumerate(verdicts)])
    counts = (await store.run(RUN)).counts
    assert counts == Counts(total=6, passed=2, failed=1, errored=1, skipped=1)
    assert counts.pending == 1


async def test_times_are_kept_in_utc_whatever_zone_they_came_in(store: Store) -> None:
    lisbon_summer = timezone(timedelta(hours=1))
    await store.create_run(a_run(created_at=datetime(2026, 7, 1, 0, 30, tzinfo=lisbon_summer)))
    assert (await store.run(RUN)).created_at == datetime(2026, 6, 30, 23, 30, tzinfo=UTC)


async def test_a_time_without_a_zone_is_refused(store: Store) -> None:
    with pytest.raises(Exception, match="has no time zone"):
        await store.create_run(a_run(created_at=datetime(2026, 7, 1)))


async def test_the_same_run_cannot_be_created_twice(store: Store) -> None:
    await store.create_run(a_run())
    with pytest.raises(Conflict, match=f"there is a run {RUN} already"):
        await store.create_run(a_run(name="again"))


async def test_a_run_id_is_a_uuid(store: Store) -> None:
    for bad in ("run-1", RUN.replace("-", ""), RUN.upper().replace("1", "A")):
        with pytest.raises(ValueError, match="UUID"):
            await store.create_run(a_run(bad))


async def test_states_change_and_times_stay_unless_given(store: Store) -> None:
    await store.create_run(a_run())
    await store.set_state(RUN, RunState.RUNNING, started_at=NOON)
    assert (await store.run(RUN)).state is RunState.RUNNING
    await store.set_state(RUN, RunState.FAILED, completed_at=NOON + timedelta(minutes=1), error="disk full")
    run = await store.run(RUN)
    assert (run.state, run.started_at, run.completed_at) == (RunState.FAILED, NOON, NOON + timedelta(minutes=1))
    assert run.error == "disk full"


async def test_a_run_that_goes_on_has_neither_end_nor_error(store: Store) -> None:
    await store.create_run(a_run())
    await store.set_state(RUN, RunState.FAILED, completed_at=NOON, error="disk full")
    await store.set_state(RUN, RunState.RUNNING)
    run = await store.run(RUN)
    assert (run.completed_at, run.error) == (None, "")


async def test_what_is_not_there_is_not_found(store: Store) -> None:
    for call in (
        store.run(RUN),
        store.set_state(RUN, RunState.RUNNING),
        store.delete_run(RUN),
        store.claim(RUN, "me", NOON),
        store.heartbeat(RUN),
        store.save(RUN, [a_result()]),
        store.summary(RUN),
    ):
        with pytest.raises(NotFound, match=f"there is no run {RUN}"):
            await call


async def test_deleting_a_run_leaves_the_others(store: Store) -> None:
    await store.create_run(a_run())
    await store.create_run(a_run(OTHER))
    await store.save(RUN, [a_result(0), a_result(1)])
    await store.save(OTHER, [a_result(0)])
    await store.delete_run(RUN)
    assert [run.id for run in await store.runs()] == [OTHER]
    assert await store.results(RUN) == []
    assert [case async for case in store.cases(RUN)] == []
    assert (await store.summary(OTHER)).graders[0].scored == 1


async def test_runs_are_listed_newest_first_page_by_page(store: Store) -> None:
    for number in range(7):
        # Two runs of one second: their ids decide.
        await store.create_run(a_run(numbered(number), created_at=NOON + timedelta(seconds=number // 2)))
    seen: list[str] = []
    before: str | None = None
    while page := await store.runs(limit=3, before=before):
        seen += [run.id for run in page]
        before = next_cursor(page[-1])
        # What is added meanwhile is newer, and does not disturb.
        await store.create_run(a_run(numbered(100 + len(seen)), created_at=NOON + timedelta(hours=1)))
    assert seen == [numbered(number) for number in (6, 5, 4, 3, 2, 1, 0)]


async def test_runs_are_filtered_by_agent_and_state(store: Store) -> None:
    await store.create_run(a_run(numbered(1), agent="shop"))
    await store.create_run(a_run(numbered(2), agent="shop", state=RunState.COMPLETED))
    await store.create_run(a_run(numbered(3), agent="bank", state=RunState.COMPLETED))
    found = await store.runs(agent_id="shop", states=[RunState.COMPLETED])
    assert [run.id for run in found] == [numbered(2)]


@pytest.mark.parametrize("text", ["", "yesterday", "~", "2026-13-45~x"])
async def test_a_cursor_that_is_none_is_refused(store: Store, text: str) -> None:
    with pytest.raises(InputError, match="is not a place in a list"):
        await store.runs(before=text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("latest", 4),
        (numbered(1), 1),
        (numbered(1).upper(), 1),
        ("nightly", 3),
        ("shop", 2),
        ("abcdef00", 5),
        ("ABCDEF00", 5),
    ],
    ids=["latest", "id", "id in capitals", "name: newest", "agent: latest completed", "prefix", "prefix in capitals"],
)
async def test_a_run_is_found_by_what_a_person_types(store: Store, text: str, expected: int) -> None:
    def later(minutes: int) -> datetime:
        return NOON + timedelta(minutes=minutes)

    ids = {5: "abcdef00-0000-4000-8000-000000000000"}
    # The newest is the one that was made last, whatever the clock said.
    await store.create_run(a_run(ids[5], name="hex", created_at=later(12)))
    await store.create_run(a_run(numbered(1), name="nightly", created_at=later(1)))
    await store.create_run(a_run(numbered(2), agent="shop", state=RunState.COMPLETED, created_at=later(2)))
    await store.create_run(a_run(numbered(3), name="nightly", agent="shop", created_at=later(0)))
    await store.create_run(a_run(numbered(4), name="last", created_at=later(9)))
    assert (await store.find_run(text)).id == ids.get(expected, numbered(expected))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nightli", "there is no run, run name or agent 'nightli'; did you mean 'nightly'?"),
        ("zzz", "(an id needs 4 characters at least)"),
        ("shop", "agent 'shop' has no completed run yet"),
        ("", "there is no run, run name or agent ''"),
        ("%%%%", "`howsure runs` lists them"),
    ],
)
async def test_a_run_that_is_not_there_is_named_with_its_neighbours(store: Store, text: str, message: str) -> None:
    await store.create_run(a_run(name="nightly", agent="shop"))
    with pytest.raises(NotFound) as caught:
        await store.find_run(text)
    assert message in str(caught.value)


async def test_an_empty_store_says_how_to_begin(store: Store) -> None:
    for text in ("latest", "nightly"):
        with pytest.raises(NotFound, match="there are no runs yet; `howsure run` makes one"):
            await store.find_run(text)


async def test_a_prefix_of_several_ids_lists_them(store: Store) -> None:
    first, second = "abcd0000-0000-4000-8000-000000000001", "abcd0000-0000-4000-8000-000000000002"
    await store.create_run(a_run(first, name="one"))
    await store.create_run(a_run(second, name="two"))
    with pytest.raises(Conflict) as caught:
        await store.find_run("abcd")
    assert str(caught.value) == f"'abcd' begins the id of several runs: {second} (two); {first} (one)"


class Clock:
    """A clock that stands where it is put."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


async def test_a_run_whose_process_is_gone_is_shown_as_interrupted(location: str) -> None:
    clock = Clock()
    async with await Store.open(location, clock=clock) as store:
        await store.create_run(a_run())
        await store.claim(RUN, "elsewhere/1/2/3", NOON)
        await store.set_state(RUN, RunState.RUNNING, started_at=NOON)
        clock.now = NOON + timedelta(seconds=50)
        await store.save(RUN, [a_result()])
        clock.now = NOON + timedelta(seconds=105)
        assert (await store.run(RUN)).state is RunState.RUNNING
        clock.now = NOON + timedelta(seconds=111)
        assert (await store.run(RUN)).state is RunState.INTERRUPTED
        assert [run.id for run in await store.runs(states=[RunState.INTERRUPTED])] == [RUN]
        assert await store.runs(states=[RunState.RUNNING]) == []
        await store.heartbeat(RUN)
        assert (await store.run(RUN)).state is RunState.RUNNING


async def test_a_run_that_another_process_runs_cannot_be_claimed(store: Store) -> None:
    await store.create_run(a_run())
    mine, other = this_owner("mine"), this_owner("other")
    await store.claim(RUN, other, NOON)
    with pytest.raises(Conflict, match="is being run by another process"):
        await store.claim(RUN, mine, NOON + timedelta(days=1))
    await store.claim(RUN, other, NOON)


async def test_a_lease_that_ran_out_can_be_taken(store: Store) -> None:
    await store.create_run(a_run())
    await store.claim(RUN, "elsewhere", NOON)
    with pytest.raises(Conflict):
        await store.claim(RUN, "mine", NOON + timedelta(seconds=60))
    await store.claim(RUN, "mine", NOON + timedelta(seconds=61))


@pytest.mark.parametrize("state", [RunState.COMPLETED, RunState.FAILED, RunState.INTERRUPTED])
async def test_a_run_that_ended_can_be_claimed_at_once(store: Store, state: RunState) -> None:
    await store.create_run(a_run())
    await store.claim(RUN, this_owner("a"), NOON)
    await store.set_state(RUN, state)
    await store.claim(RUN, this_owner("b"), NOON)
    assert (await store.run(RUN)).id == RUN
