"""The audit log: sign-ins, refusals, writes, exports and key changes, through the API, the pages and the command line;
by ids alone, and in a chain that `howsure audit` verifies."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from api.served import Caller, serving
from databases import IN_TURN, a_database
from hardening.test_integrity import store_run
from howsure.api.app import ServiceAccess, create_app
from howsure.api.audit import EXPORTS, REFUSALS_EACH_MINUTE, RefusalCounts
from howsure.api.counters import PREFIX
from howsure.config import Settings
from howsure.main import program
from howsure.services.host.audit import record_settings
from howsure.services.host.keys import KeyRequest, make_key
from howsure.store.audit import AuditEntry
from howsure.store.keys import KeyScope
from howsure.store.store import Store
from howsure.web.app import PAGES
from store.making import NOON, RUN


@pytest.fixture(params=IN_TURN)
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with a_database(request.param, tmp_path) as where:
        yield where


RUBRIC = {
    "name": "secret words",
    "agent_id": "a",
    "rules": [{"id": "r", "name": "kind", "text": "be kind", "severity": "high"}],
}


async def made_key(call: Caller, *scopes: KeyScope, name: str = "Ms Example") -> str:
    key, secret = await make_key(call.host.store, KeyRequest(name=name, scopes=scopes))
    call.key = secret
    return key.id


async def test_writes_refusals_and_exports_are_in_the_log_by_ids_alone(tmp_path: Path, location: str) -> None:
    async with serving(tmp_path, ServiceAccess(keys_needed=True), location) as call:
        assert (await call("GET", "/runs")).status == 401
        reader = await made_key(call, KeyScope.READ)
        assert (await call("POST", "/rubrics", {"name": "secret words", "rules": []})).status == 403
        writer = await made_key(call, KeyScope.READ, KeyScope.WRITE)
        made = await call("POST", "/rubrics", RUBRIC, X_Request_ID="req-7")
        assert made.status == 201, made.body
        assert (await call("GET", "/export")).status == 200
        assert (await call("GET", "/rubrics")).status == 200
        entries = [entry async for entry in call.host.store.audit.entries()]
    found = [(entry.action, entry.status, entry.actor) for entry in entries]
    assert found == [
        ("GET /api/v1/runs", 401, ""),
        ("POST /api/v1/rubrics", 403, reader),
        ("POST /api/v1/rubrics", 201, writer),
        ("GET /api/v1/export", 200, writer),
    ]
    assert entries[2].request_id == "req-7"
    assert entries[2].subject == made.body["rubric_id"]
    assert {entry.address for entry in entries} == {"127.0.0.1"}
    text = repr(entries)
    assert "secret words" not in text
    assert "Example" not in text


async def test_the_list_names_keys_as_they_are_called_now_and_chains_their_ids(tmp_path: Path) -> None:
    async with serving(tmp_path, ServiceAccess(keys_needed=True)) as call:
        admin = await made_key(call, KeyScope.ADMIN, name="ops")
        new = await call("POST", "/keys", {"name": "ci", "scopes": ["read"]})
        assert new.status == 201
        listed = (await call("GET", "/audit")).body
        assert (listed[0]["actor"], listed[0]["key_id"], listed[0]["subject"]) == ("ops", admin, new.body["id"])
        assert (listed[0]["sequence"], listed[0]["previous"]) == (1, "")
        assert len(listed[0]["hash"]) == 64
        assert (await call.host.store.audit.verify()).problems == ()


def test_every_export_in_the_table_is_a_route_that_exists(tmp_path: Path) -> None:
    pages = {page.path for page in PAGES}
    paths = create_app.__globals__["routers"]()
    api = {PREFIX + route.path for router in paths for route in router.routes}
    assert EXPORTS - pages - api == set()


def test_a_flood_of_refusals_is_counted_and_not_written() -> None:
    counts = RefusalCounts()
    written = [counts.count("10.0.0.1") for _ in range(500)]
    assert sum(written) == REFUSALS_EACH_MINUTE
    assert counts.count("10.0.0.2") == 1
    counts._begun["10.0.0.1"] -= 61
    assert counts.count("10.0.0.1") == 500 - REFUSALS_EACH_MINUTE + 1


def howsure(*words: str) -> Any:
    return CliRunner().invoke(program, [*words])


def test_keys_made_on_the_command_line_are_in_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = json.loads(howsure("keys", "create", "--name", "Ms Example", "--scope", "read", "--json").stdout)
    assert howsure("keys", "revoke", made["id"]).exit_code == 0
    listed = json.loads(howsure("audit", "list", "--json").stdout)
    told = [(entry["action"], entry["actor"], entry["subject"]) for entry in listed]
    assert told == [("keys-revoke", "command-line", made["id"]), ("keys-create", "command-line", made["id"])]
    lines = howsure("audit", "export").stdout
    assert [json.loads(line)["sequence"] for line in lines.splitlines()] == [1, 2]
    assert "Example" not in lines


def test_exports_on_the_command_line_are_in_the_log_of_a_database_that_is_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asyncio.run(store_run(str(tmp_path / ".howsure" / "howsure.db"), 3))
    exports = (("results",), ("report", "-o", "a.csv"), ("db", "backup", "copy.db"), ("audit", "export"))
    assert all(howsure(*words).exit_code == 0 for words in exports)
    assert json.loads(howsure("audit", "list", "--json").stdout) == []
    howsure("keys", "create", "--name", "a", "--scope", "read")
    assert all(howsure(*words).exit_code == 0 for words in (*exports[:2], ("db", "backup", "b.db"), exports[3]))
    entries = json.loads(howsure("audit", "list", "--json").stdout)
    told = [(entry["action"], entry["subject"]) for entry in reversed(entries)]
    assert told[1:] == [("export", RUN), ("export", RUN), ("export", "database"), ("export", "audit")]


async def test_a_start_with_other_settings_is_in_the_log(location: str) -> None:
    changed = Settings(max_concurrency=3)
    async with await Store.open(location) as store:
        for settings in (Settings(), Settings(database="postgresql://me:secret@here/x"), changed, changed, Settings()):
            await record_settings(store, settings)
        entries = [entry async for entry in store.audit.entries()]
    assert [(entry.action, entry.actor) for entry in entries] == [("settings", "service")] * 3
    assert entries[0].subject == entries[2].subject != entries[1].subject


def test_a_head_shows_that_the_end_was_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        howsure("keys", "create", "--name", name, "--scope", "read")
    assert howsure("audit", "head", "-o", "head.json").exit_code == 0
    assert (tmp_path / "head.json").stat().st_mode & 0o777 == 0o600
    assert howsure("audit", "verify", "--head", "head.json").exit_code == 0
    asyncio.run(cut(tmp_path / ".howsure" / "howsure.db"))
    assert howsure("audit", "verify").exit_code == 0
    told = howsure("audit", "verify", "--head", "head.json")
    assert told.exit_code == 2
    assert "its end was cut off" in told.stdout
    (tmp_path / "head.json").write_text("{}")
    assert "is not a head that" in howsure("audit", "verify", "--head", "head.json").stderr


async def cut(path: Path) -> None:
    async with await Store.open(path) as store:
        await store._database.write(lambda it: it.exec_driver_sql("DELETE FROM audit WHERE sequence = 2"))


async def test_retention_leaves_a_checkpoint_and_the_rest_verifies(location: str) -> None:
    async with await Store.open(location) as store:
        for number in range(6):
            await store.audit.add(AuditEntry(id=f"e{number}", at=NOON + timedelta(days=number), action="x"))
        old = await store.audit.head()
        assert await store.audit.trim(NOON + timedelta(days=3), NOON + timedelta(days=9), dry_run=True) == 3
        assert await store.audit.trim(NOON + timedelta(days=3), NOON + timedelta(days=9)) == 3
        found = await store.audit.verify(old)
        assert (found.first, found.last, found.problems) == (4, 7, ())
        assert await store.audit.trim(NOON + timedelta(days=8), NOON + timedelta(days=9)) == 3
        assert (await store.audit.verify()).problems == ()
        told = (await store.audit.verify(old)).problems
        assert told == () or "retention removed" in told[0]
        await store._database.write(
            lambda it: it.exec_driver_sql("DELETE FROM audit WHERE action = 'audit-checkpoint'")
        )
        await store.audit.add(AuditEntry(id="later", at=NOON, action="x"))
