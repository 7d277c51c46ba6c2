"""Who is guarded: a run that somebody asked the service for, whoever carries it out; not one started by hand."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from howsure.config import ServiceSettings, Settings
from howsure.errors import PlanRefused
from howsure.kit.builtins import builtin_kit
from howsure.model.access_scope import EVERYWHERE
from howsure.model.document import DocumentKind
from howsure.policies.profiles import builtin_profiles
from howsure.services.hosting.host import Host
from howsure.services.hosting.ordering import Order, order_run
from howsure.services.options import RunOptions
from howsure.services.running import Progress
from howsure.services.runs import Started, go_on, start
from howsure.services.workspace import Workspace
from howsure.store.service.documents import Draft
from listening import a_chat_bot
from unit.services.hosting.test_library import GOOD

ENTRY = GOOD[DocumentKind.TEST_SET]["items"][0]


def workplace(folder: Path) -> Workspace:
    settings = Settings(database=str(folder / "howsure.db"), service=ServiceSettings(hosts=("localhost",)))
    return Workspace(settings, builtin_kit(builtin_profiles()), folder)


def unwatched(_: Started) -> Progress:
    return lambda _: None


async def ordered(work: Workspace, target: str) -> str:
    async with await work.store() as store:
        draft = Draft(body=msgspec.json.encode({"items": [ENTRY]}), agent_id="a1", name="Greetings")
        document = await store.documents.create(DocumentKind.TEST_SET, "ts", draft, EVERYWHERE)
        made = await order_run(Host(work, store), Order(test_set_id=document.id, target=target), EVERYWHERE)
        return made.run.id


async def test_a_run_of_the_service_is_guarded_when_it_is_resumed_by_hand(tmp_path: Path) -> None:
    work = workplace(tmp_path)
    async with a_chat_bot() as (port, came):
        run_id = await ordered(work, f"http://localhost:{port}/chat")
        with pytest.raises(PlanRefused, match="this host leads to an address that the service may not call"):
            await go_on(work, run_id, unwatched)
        assert came == []


async def test_a_run_that_is_started_by_hand_goes_where_it_is_sent(tmp_path: Path) -> None:
    work = workplace(tmp_path)
    (tmp_path / "set.json").write_bytes(
        msgspec.json.encode({"test_set_id": "t", "name": "Greetings", "version": 1, "items": [ENTRY]})
    )
    async with a_chat_bot() as (port, came):
        options = RunOptions(datasets=(str(tmp_path / "set.json"),), target=f"http://localhost:{port}/chat")
        summary = await start(work, options, unwatched)
        assert (summary.run.counts.total, len(came)) == (1, 1)
