"""Conversations of earlier results, gathered into a dataset; and the cases of a run kept as one."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from hosts import hosted
from howsure.errors import NotFound, PlanRefused
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.document import DocumentKind
from howsure.model.result import result_id
from howsure.model.transcript import Transcript
from howsure.reports.run_wire import dataset_id_of
from howsure.services.hosting.conversations import gathered
from howsure.services.hosting.host import Host
from howsure.services.hosting.keeping import keep_cases
from howsure.services.hosting.library import Change, add
from howsure.services.hosting.ordering import Order, order_run
from howsure.services.hosting.uploads import Upload, cases_of
from store.making import RUN, a_result, a_run
from unit.services.hosting.test_library import GOOD

BOT = "def answer(text): return text"
BY = Upload(content=b"", agent_id="a1", author="ana")


async def filled(host: Host, number: int = 3, **run: Any) -> list[str]:
    """A run with results; their ids."""
    await host.store.create_run(a_run(agent="a1", total=number, **run))
    results = [a_result(position) for position in range(number)]
    await host.store.save(RUN, results)
    return [str(result_id(UUID(RUN), each.case.id, each.candidate, each.repeat)) for each in results]


async def test_conversations_become_a_dataset(tmp_path: Path, database: str) -> None:
    async with hosted(tmp_path, BOT, database) as host:
        ids = await filled(host)
        document = await gathered(host, [ids[2], ids[0], ids[2]], "d1", BY, EVERYWHERE)
        assert (document.id, document.agent_id, document.edition.dialect) == ("d1", "a1", "simulation")
        cases = await cases_of(host, document, 0, 9)
        said = [case.recorded.answer for case in cases if isinstance(case.recorded, Transcript)]
        assert sorted(said) == ["Answer 0", "Answer 2"]


async def test_one_that_is_not_there_leaves_nothing_behind(tmp_path: Path) -> None:
    async with hosted(tmp_path, BOT) as host:
        ids = await filled(host)
        with pytest.raises(NotFound, match="1 of 2 conversations are not there"):
            await gathered(host, [ids[0], "nothing"], "d1", BY, EVERYWHERE)
        with pytest.raises(PlanRefused, match="there is no conversation to look at"):
            await gathered(host, [], "d1", BY, EVERYWHERE)
        with pytest.raises(NotFound):
            await host.store.documents.get(DocumentKind.DATASET, "d1")


@pytest.mark.parametrize(
    ("within", "seen"),
    [
        (EVERYWHERE, True),
        (AccessScope(organization_id="acme"), True),
        (AccessScope(organization_id="acme", agent_ids=("a1",)), True),
        (AccessScope(organization_id="other"), False),
        (AccessScope(organization_id="acme", agent_ids=("a2",)), False),
    ],
)
async def test_conversations_of_others_are_not_there(tmp_path: Path, within: AccessScope, seen: bool) -> None:
    async with hosted(tmp_path, BOT) as host:
        ids = await filled(host, organization_id="acme")
        if seen:
            assert (await gathered(host, ids, "d1", BY, within)).organization_id == within.home
        else:
            with pytest.raises(NotFound):
                await gathered(host, ids, "d1", BY, within)


async def test_the_cases_of_a_run_are_kept_once_under_the_id_that_it_shows(tmp_path: Path, database: str) -> None:
    async with hosted(tmp_path, BOT, database) as host:
        await add(host, DocumentKind.TEST_SET, Change(body=GOOD[DocumentKind.TEST_SET]), EVERYWHERE, "t1")
        run = (await order_run(host, Order(test_set_id="t1", agent_id="a1"), EVERYWHERE)).run
        for _ in range(2):
            await keep_cases(host, run, "ana", EVERYWHERE)
        kept = await host.store.documents.get(DocumentKind.DATASET, dataset_id_of(run.pins))
        assert (kept.latest, kept.edition.dialect, kept.name) == (1, "test-set", "Greetings.json")
        assert kept.edition.note == "the cases of test set t1, version 1"
        assert [case.id for case in await cases_of(host, kept, 0, 9)] == ["i1"]


async def test_they_are_those_of_the_version_that_ran(tmp_path: Path) -> None:
    """Though the test set has been changed since, or deleted."""
    async with hosted(tmp_path, BOT) as host:
        await add(host, DocumentKind.TEST_SET, Change(body=GOOD[DocumentKind.TEST_SET]), EVERYWHERE, "t1")
        run = (await order_run(host, Order(test_set_id="t1"), EVERYWHERE)).run
        await host.store.documents.delete(DocumentKind.TEST_SET, "t1")
        await keep_cases(host, run, "ana", EVERYWHERE)
        kept = await host.store.documents.get(DocumentKind.DATASET, dataset_id_of(run.pins))
        assert [case.id for case in await cases_of(host, kept, 0, 9)] == ["i1"]
