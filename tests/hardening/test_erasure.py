"""Conversations of one person are erased by their id: what was said is gone, verdicts, scores and counts stay,
checksums fit, and the log says so without the id."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from api.served import serving
from databases import IN_TURN, a_database
from hardening.alterations import execute
from howsure.api.app import ServiceAccess
from howsure.main import program
from howsure.model.document import DocumentKind
from howsure.model.run import RunState
from howsure.model.verdict import Verdict
from howsure.services.host.keys import KeyRequest, make_key
from howsure.store import maintenance
from howsure.store.documents import DocumentDraft
from howsure.store.erasure import names_user
from howsure.store.keys import KeyScope
from howsure.store.store import Store
from store.making import NOON, RUN, a_result, a_run

SECRET = "my card is 4111"


@pytest.fixture(params=IN_TURN)
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with a_database(request.param, tmp_path) as where:
        yield where


async def fill(location: str) -> None:
    """Three cases of ada, one of them by a label, one by the state of its conversation; two of somebody else."""
    async with await Store.open(location, clock=lambda: NOON) as store:
        await store.create_run(a_run(total=5))
        results = [a_result(place, Verdict.FAILED if place == 1 else Verdict.PASSED) for place in range(5)]
        results = [replace(each, reasons=(SECRET,)) for each in results]
        results[0] = replace(results[0], case=replace(results[0].case, metadata={"user_id": "ada", "text": SECRET}))
        results[1] = replace(results[1], case=replace(results[1].case, labels={"customer": "ada", "city": "Bern"}))
        transcript = results[2].transcript
        assert transcript is not None
        results[2] = replace(results[2], transcript=replace(transcript, state={"session": {"user": "ada"}}))
        results[3] = replace(results[3], case=replace(results[3].case, metadata={"user_id": "adam", "note": "not ada"}))
        await store.save(RUN, results)
        await store.set_state(RUN, RunState.COMPLETED, completed_at=NOON)
        body = b'{"user_id": "ada", "input": "hello"}\n'
        await store.documents.create(DocumentKind.DATASET, "d1", DocumentDraft(body=body, name="d1", case_ids=("a",)))


async def test_conversations_of_one_person_are_erased_and_nothing_else(location: str) -> None:
    await fill(location)
    async with await Store.open(location) as store:
        before = await store.summary(RUN)
        would = await store.erasure.erase("ada", dry_run=True)
        assert (would.cases, would.results, would.documents) == (3, 3, ("dataset d1 version 1",))
        assert (await store.results(RUN))[0].reasons == (SECRET,)
        done = await store.erasure.erase("ada")
        assert done == would
        results = await store.results(RUN)
        assert [SECRET in repr(each) for each in results] == [False, False, False, True, True]
        assert "ada'" not in repr(results[:3])
        assert results[1].case.labels == {"city": "Bern"}
        assert [each.verdict for each in results].count(Verdict.FAILED) == 1
        assert [grade.value for grade in results[1].grades] == [0.0]  # type: ignore[union-attr]
        assert await store.summary(RUN) == before
        assert (await store.erasure.erase("ada")).results == 0
    assert (await maintenance.check(location)).healthy
    left = execute(location, ["SELECT body FROM results WHERE position < 3"])
    assert not any(SECRET.encode() in bytes(body) for (body,) in left)


TRACES: dict[str, Any] = {
    "attribute": {"spans": [{"attributes": {"enduser.id": "ada"}}]},
    "OTLP attribute": {"spans": [{"attributes": [{"key": "enduser.id", "value": {"stringValue": "ada"}}]}]},
    "camel case": {"metadata": {"userId": "ada"}},
    "label": {"labels": {"who": "ada"}},
    "deep": {"a": [{"b": {"user_id": "ada"}}]},
}


@pytest.mark.parametrize("body", TRACES.values(), ids=TRACES)
def test_a_user_is_found_wherever_the_id_stands(body: Any) -> None:
    assert names_user(json.dumps(body).encode(), "ada")
    assert not names_user(json.dumps(body).encode(), "ad")


def test_a_word_that_only_happens_to_be_the_id_is_left_alone() -> None:
    assert not names_user(b'{"input": "ada", "answer": "ada"}', "ada")
    assert names_user(b'{"user_id": 42}', "42")


def test_the_command_erases_and_the_log_does_not_name_the_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asyncio.run(fill(str(tmp_path / ".howsure" / "howsure.db")))
    told = CliRunner().invoke(program, ["erase", "--user", "ada", "--dry-run"])
    assert "3 cases with 3 results in 1 runs would be erased" in told.stdout
    shown = json.loads(CliRunner().invoke(program, ["erase", "--user", "ada", "--json"]).stdout)
    assert (shown["results"], shown["runs"]) == (3, {RUN: 3})
    (entry,) = json.loads(CliRunner().invoke(program, ["audit", "list", "--json"]).stdout)
    assert entry["action"] == "erase"
    assert "ada" not in entry["subject"]


async def test_an_administrator_erases_in_their_own_organisation_only(tmp_path: Path, location: str) -> None:
    await fill(location)
    async with serving(tmp_path, ServiceAccess(keys_needed=True), location) as call:
        for organization, scopes, status, results in (
            ("acme", (KeyScope.ADMIN,), 200, 0),
            (None, (KeyScope.WRITE,), 403, None),
            (None, (KeyScope.ADMIN,), 200, 3),
        ):
            request = KeyRequest(name="k", scopes=scopes, organization_id=organization)
            _, call.key = await make_key(call.host.store, request)
            answer = await call("POST", "/erasures", {"user_id": "ada"})
            assert (answer.status, answer.body.get("results")) == (status, results)
        last = (await call.host.store.audit.several(limit=1))[0]
        assert last.action == "POST /api/v1/erasures"
        assert "ada" not in last.subject
