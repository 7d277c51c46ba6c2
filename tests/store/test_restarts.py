"""A PostgreSQL that is restarted, or crashes, while it is used: what was acknowledged is there, what waits goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

import postgres
from databases import a_machine
from howsure.errors import ConfigInvalid
from howsure.store.store import Store
from store.making import RUN, a_result, a_run

WRITERS = 6
BATCH = 5
# What is acknowledged has been written to its log, so a server that is killed still has it.
DURABLE = "-c fsync=off -c synchronous_commit=on"


@pytest.fixture
async def machine() -> AsyncIterator[postgres.Server]:
    with a_machine(DURABLE) as server:
        yield server


class Load:
    """Writers that save batch after batch of their own, and a reader that counts."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.acknowledged: set[int] = set()
        self.stopping = asyncio.Event()

    async def write(self, number: int) -> None:
        first = number * 1_000_000
        while not self.stopping.is_set():
            positions = range(first, first + BATCH)
            await self._store.save(RUN, [a_result(position) for position in positions])
            self.acknowledged.update(positions)
            first += BATCH

    async def read(self) -> None:
        while not self.stopping.is_set():
            seen = len(self.acknowledged)
            counts = (await self._store.run(RUN)).counts
            assert counts.passed >= seen
            assert counts.passed % BATCH == 0
            await asyncio.sleep(0.01)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["fast", "immediate"])
@pytest.mark.thorough
async def test_a_restart_under_load_loses_nothing_and_stops_nobody(machine: postgres.Server, how: str) -> None:
    async with await Store.open(machine.address) as store:
        await store.create_run(a_run(total=10_000_000))
        load = Load(store)
        at_work = [asyncio.create_task(load.write(number)) for number in range(WRITERS)]
        at_work.append(asyncio.create_task(load.read()))
        before = 0
        for _ in range(3):
            await asyncio.sleep(0.4)
            async with asyncio.timeout(60):
                while len(load.acknowledged) == before:
                    await asyncio.sleep(0.01)
            before = len(load.acknowledged)
            await asyncio.to_thread(machine.restart, how)
        await asyncio.sleep(0.4)
        load.stopping.set()
        await asyncio.gather(*at_work)
        found = await store.finished_positions(RUN)
        assert load.acknowledged == found
        assert (await store.run(RUN)).counts.passed == len(found)
        assert sum(grader.scored for grader in (await store.summary(RUN)).graders) == len(found)


@pytest.mark.slow
async def test_a_server_that_stays_away_is_given_up_and_found_again(machine: postgres.Server) -> None:
    async with await Store.open(machine.address, wait=0.5) as store:
        await store.create_run(a_run())
        await asyncio.to_thread(machine.stop)
        began = asyncio.get_running_loop().time()
        for call in (store.save(RUN, [a_result()]), store.run(RUN)):
            with pytest.raises(ConfigInvalid, match="cannot be reached: is the server running"):
                await call
        assert 1.0 <= asyncio.get_running_loop().time() - began < 5.0
        await asyncio.to_thread(machine.start)
        await store.save(RUN, [a_result()])
        assert await store.finished_positions(RUN) == {0}


async def test_a_password_is_asked_for_and_never_shown(
    machine: postgres.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres.execute(machine.address, "CREATE ROLE me LOGIN PASSWORD 'right'", "CREATE DATABASE mine OWNER me")
    (machine.folder / "data" / "pg_hba.conf").write_text("local all me scram-sha-256\n")
    await asyncio.to_thread(machine.restart)
    wrong, right = (f"postgresql://me:{word}@/mine?host={machine.folder}" for word in ("wr0ng", "right"))
    with pytest.raises(ConfigInvalid, match="did not let us in: check the user and the password") as caught:
        await Store.open(wrong)
    assert "wr0ng" not in str(caught.value)
    async with await Store.open(right) as store:
        assert store.where == f"postgresql://me:***@/mine?host={machine.folder}"
    monkeypatch.setenv("PGPASSWORD", "right")
    async with await Store.open(right.replace(":right", "")) as store:
        assert await store.runs() == []
