"""Stores that earlier versions wrote, with their own code, are opened with everything in them. A file is made when a
schema is superseded: `schema_NNNN.db.gz` holds the runs below, written by the last version whose schema was NNNN."""

from __future__ import annotations

import gzip
from datetime import timedelta
from pathlib import Path

import pytest

from howsure.errors import ConfigInvalid
from howsure.model.run import Counts, RunState
from howsure.model.simulation import Fault, Party
from howsure.model.verdict import Verdict
from howsure.store.store import Store
from store.making import NOON, OTHER, RUN, a_result

STORES = Path(__file__).parent.parent / "fixtures" / "stores"
EARLIER = sorted(path.name[len("schema_") :].split(".")[0] for path in STORES.glob("schema_*.db.gz"))
"""0007 and 0008 were never in anybody's hands: they came with 0009."""
BLAMED = Fault(party=Party.AGENT, reason="it gave up")


@pytest.fixture(params=EARLIER)
def written(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    """The schema of an earlier version, and a store that it wrote."""
    path = tmp_path / "howsure.db"
    path.write_bytes(gzip.decompress((STORES / f"schema_{request.param}.db.gz").read_bytes()))
    return request.param, path


async def test_everything_in_it_is_still_there(written: tuple[str, Path]) -> None:
    schema, path = written
    failed = a_result(1, Verdict.FAILED, fault=BLAMED if schema >= "0002" else None)
    async with await Store.open(path, clock=lambda: NOON) as store:
        assert [run.name for run in await store.runs()] == ["interrupted", "nightly"]
        run = await store.find_run("shop")
        assert (run.id, run.state, run.completed_at) == (RUN, RunState.COMPLETED, NOON + timedelta(seconds=9))
        assert run.counts == Counts(total=3, passed=1, failed=1, errored=1)
        assert await store.results(RUN) == [a_result(0), failed, a_result(2, Verdict.ERRORED)]
        assert (await store.summary(RUN)).faults == ({"agent": 1} if schema >= "0002" else {})


async def test_a_run_that_it_began_can_be_finished(written: tuple[str, Path]) -> None:
    async with await Store.open(written[1], clock=lambda: NOON + timedelta(minutes=5)) as store:
        assert (await store.run(OTHER)).state is RunState.INTERRUPTED
        await store.claim(OTHER, "here/1/2/3", NOON + timedelta(minutes=5))
        await store.save(OTHER, [a_result(1, Verdict.FAILED)])
        await store.set_state(OTHER, RunState.COMPLETED)
        assert (await store.run(OTHER)).counts == Counts(total=2, passed=1, failed=1)
        assert await store.finished_positions(OTHER) == {0, 1}


async def test_it_is_not_upgraded_by_looking(written: tuple[str, Path]) -> None:
    before = written[1].read_bytes()
    with pytest.raises(ConfigInvalid, match="cannot be upgraded while it is only read; `howsure db upgrade` does that"):
        await Store.open(written[1], read_only=True)
    assert written[1].read_bytes() == before
