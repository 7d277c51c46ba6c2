"""The SSRF guard: which hosts a request may make the service call."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from hosts import requested
from howsure.config import ServiceSettings, Settings
from howsure.errors import PlanRefused
from howsure.kit.plugins import builtin_kit
from howsure.model.access_scope import EVERYWHERE
from howsure.model.document import DocumentKind
from howsure.model.run_request import RunRequest
from howsure.policies.verdicts import builtin_profiles
from howsure.services.host.allowed_hosts import allows_host, guard_for, may_connect
from howsure.services.host.run_requests import submit_run
from howsure.services.run.execute import Progress, RunHandle
from howsure.services.run.start import resume, start
from howsure.services.workspace import Host, Workspace
from howsure.store.documents import DocumentDraft
from listening import a_chat_bot
from unit.services.host.test_documents import GOOD


@pytest.mark.parametrize(
    ("hosts", "host", "port", "allowed"),
    [
        (["bot.example"], "bot.example", 443, True),
        (["bot.example"], "BOT.Example.", 443, True),
        (["bot.example"], "evil.bot.example", 443, False),
        (["*.bot.example"], "a.bot.example", 443, True),
        (["*.bot.example"], "bot.example", 443, False),
        (["*.bot.example"], "notbot.example", 443, False),
        (["bot.example:8443"], "bot.example", 8443, True),
        (["bot.example:8443"], "bot.example", 22, False),
        (["bot.example:8443"], "bot.example", None, False),
        (["10.0.0.0/8"], "10.1.2.3", 80, True),
        (["10.0.0.0/8"], "11.1.2.3", 80, False),
        (["127.0.0.1:8000"], "127.0.0.1", 8000, True),
        (["127.0.0.1:8000"], "127.0.0.1", 22, False),
        (["[::1]:8000"], "::1", 8000, True),
        (["[::1]:8000"], "::1", 22, False),
        (["::1"], "::1", 22, True),
        (["fd00::/8"], "fd12::1", 80, True),
        (["127.0.0.1"], "::ffff:127.0.0.1", 80, True),
        ([], "bot.example", 80, False),
        (["bot.example"], "", 80, False),
    ],
)
def test_a_request_may_name_what_is_listed(hosts: list[str], host: str, port: int | None, allowed: bool) -> None:
    assert allows_host(hosts, host, port) is allowed


PRIVATE = [
    "127.0.0.1", "127.9.9.9", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0",
    "224.0.0.1", "255.255.255.255", "::", "::1", "fe80::1", "fe80::1%eth0", "fd00::1", "ff02::1", "::ffff:127.0.0.1",
    "::ffff:169.254.169.254", "2002:7f00:1::", "2002:a9fe:a9fe::", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe",
    "2001:0:4136:e378:8000:63bf:80ff:fffe", "not an address", "2130706433", "0177.0.0.1", "0x7f.1", "",
]  # fmt: skip


@pytest.mark.parametrize("address", PRIVATE)
def test_a_listed_name_may_not_lead_to_this_machine_or_its_network(address: str) -> None:
    assert may_connect(["bot.example", "*"], "bot.example", address, 80) is False


@pytest.mark.parametrize(
    ("hosts", "address", "allowed"),
    [
        (["bot.example"], "93.184.216.34", True),
        (["bot.example"], "2606:2800:220:1:248:1893:25c8:1946", True),
        (["bot.example", "10.0.0.0/8"], "10.1.2.3", True),
        (["bot.example", "10.0.0.0/8"], "192.168.0.1", False),
        (["bot.example", "127.0.0.1:8000"], "127.0.0.1", False),
        (["bot.example", "127.0.0.1:80"], "127.0.0.1", True),
        (["bot.example", "127.0.0.1"], "::ffff:127.0.0.1", True),
        (["bot.example:443"], "93.184.216.34", False),
        (["other.example"], "93.184.216.34", False),
    ],
)
def test_what_a_name_leads_to_must_be_public_or_listed(hosts: list[str], address: str, allowed: bool) -> None:
    assert may_connect(hosts, "bot.example", address, 80) is allowed


@pytest.mark.parametrize(
    ("target", "guarded"),
    [("", False), ("recorded", False), ("bot", False), ("replay:bot", False), ("replay:http://x.org", True),
     ("http://x.org", True), ("http:http://x.org", True), ("adk:http://x.org/app", True), ("bots", True)],
)  # fmt: skip
def test_what_the_operator_named_goes_where_it_goes(target: str, guarded: bool) -> None:
    guard = guard_for(["x.org"], ["bot", target], {"bot": {}})
    assert (guard is not None) is guarded
    if guard is not None:
        assert (guard("x.org", "8.8.8.8", 80), guard("y.org", "8.8.8.8", 80)) == (True, False)


ENTRY = GOOD[DocumentKind.TEST_SET]["items"][0]


def workplace(folder: Path) -> Workspace:
    settings = Settings(database=str(folder / "howsure.db"), service=ServiceSettings(hosts=("localhost",)))
    return Workspace(settings, builtin_kit(builtin_profiles()), folder)


def unwatched(_: RunHandle) -> Progress:
    return lambda _: None


async def ordered(work: Workspace, target: str) -> str:
    async with await work.store() as store:
        draft = DocumentDraft(body=msgspec.json.encode({"items": [ENTRY]}), agent_id="a1", name="Greetings")
        document = await store.documents.create(DocumentKind.TEST_SET, "ts", draft, EVERYWHERE)
        made = await submit_run(Host(work, store), requested(test_set_id=document.id, target=target), EVERYWHERE)
        return made.run.id


async def test_a_run_of_the_service_is_guarded_when_it_is_resumed_by_hand(tmp_path: Path) -> None:
    work = workplace(tmp_path)
    async with a_chat_bot() as (port, came):
        run_id = await ordered(work, f"http://localhost:{port}/chat")
        with pytest.raises(PlanRefused, match="this host leads to an address that the service may not call"):
            await resume(work, run_id, unwatched)
        assert came == []


async def test_a_run_that_is_started_by_hand_goes_where_it_is_sent(tmp_path: Path) -> None:
    work = workplace(tmp_path)
    (tmp_path / "set.json").write_bytes(
        msgspec.json.encode({"test_set_id": "t", "name": "Greetings", "version": 1, "items": [ENTRY]})
    )
    async with a_chat_bot() as (port, came):
        options = RunRequest(datasets=(str(tmp_path / "set.json"),), target=f"http://localhost:{port}/chat")
        summary = await start(work, options, unwatched)
        assert (summary.run.counts.total, len(came)) == (1, 1)
