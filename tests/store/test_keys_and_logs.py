"""API keys: only a hash of the secret is kept; who revoked, expired, or belongs elsewhere opens nothing."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from howsure.errors import Conflict, NotFound
from howsure.model.access_scope import AccessScope
from howsure.store.audit import AuditEntry
from howsure.store.keys import ApiKey, KeyScope, hash_secret
from howsure.store.logs import IdempotentAnswer
from howsure.store.pages import next_cursor
from howsure.store.store import Store
from store.conftest import Clock
from store.making import NOON, asked

ACME, OTHER = AccessScope(organization_id="acme"), AccessScope(organization_id="other")
SECRET = "howsure_0123456789"


def a_key(id: str = "k1", **fields: Any) -> ApiKey:
    return ApiKey(**{"id": id, "name": "Build", "scopes": (KeyScope.READ, KeyScope.RUN), "created_at": NOON, **fields})


@pytest.mark.parametrize("agents", [None, (), ("a1",), ("a1", "a2"), ("a\u2028b", "c\x0bd", "e\x85f")])
async def test_a_key_is_kept_as_it_was(kept: Store, agents: tuple[str, ...] | None) -> None:
    key = a_key(organization_id="acme", agent_ids=agents, expires_at=NOON + timedelta(days=1))
    await kept.keys.add(key, SECRET)
    assert await kept.keys.by_secret(SECRET) == key
    assert await kept.keys.by_id("k1") == key
    assert key.within == AccessScope(organization_id="acme", agent_ids=agents)


async def test_the_secret_is_nowhere_in_the_store(kept: Store) -> None:
    await kept.keys.add(a_key(), SECRET)
    (found,) = await asked(kept, "SELECT * FROM api_keys")
    assert SECRET not in str(found)
    assert hash_secret(SECRET) in found
    assert await kept.keys.by_secret(SECRET + "x") is None
    assert await kept.keys.by_secret(hash_secret(SECRET)) is None


@pytest.mark.parametrize(
    ("fields", "is_open"),
    [
        ({}, True),
        ({"expires_at": NOON + timedelta(seconds=1)}, True),
        ({"expires_at": NOON}, False),
        ({"expires_at": NOON - timedelta(days=1)}, False),
        ({"revoked_at": NOON - timedelta(days=1)}, False),
        ({"revoked_at": NOON + timedelta(days=1)}, False),
    ],
    ids=["plain", "not yet", "just now", "long ago", "revoked", "revoked whenever"],
)
def test_a_key_opens_until_it_is_revoked_or_expires(fields: dict[str, Any], is_open: bool) -> None:
    assert a_key(**fields).is_open(NOON) is is_open


async def test_a_revoked_key_stays_in_the_list(kept: Store, clock: Clock) -> None:
    await kept.keys.add(a_key(organization_id="acme"), SECRET)
    with pytest.raises(NotFound, match="there is no key k1"):
        await kept.keys.revoke("k1", OTHER)
    assert (await kept.keys.revoke("k1", ACME)).revoked_at == NOON
    clock.on(hours=1)
    assert (await kept.keys.revoke("k1", ACME)).revoked_at == NOON
    assert [key.id for key in await kept.keys.several(within=ACME)] == ["k1"]
    assert await kept.keys.several(within=OTHER) == []
    assert await kept.keys.any() is False


@pytest.mark.parametrize(
    ("fields", "found"),
    [({}, True), ({"expires_at": NOON + timedelta(days=1)}, True), ({"expires_at": NOON - timedelta(days=1)}, False)],
    ids=["plain", "still good", "expired"],
)
async def test_whether_some_key_opens_anything(kept: Store, fields: dict[str, Any], found: bool) -> None:
    assert await kept.keys.any() is False
    await kept.keys.add(a_key(**fields), SECRET)
    assert await kept.keys.any() is found


async def test_keys_are_paged_newest_first(kept: Store) -> None:
    for number in range(5):
        made = a_key(f"k{number}", created_at=NOON + timedelta(seconds=number // 2))
        await kept.keys.add(made, f"{SECRET}{number}")
    seen: list[str] = []
    before: str | None = None
    while page := await kept.keys.several(limit=2, before=before):
        seen += [key.id for key in page]
        before = next_cursor(page[-1])
    assert seen == ["k4", "k3", "k2", "k1", "k0"]


async def test_that_a_key_was_used_is_noted(kept: Store, clock: Clock) -> None:
    await kept.keys.add(a_key(), SECRET)
    clock.on(minutes=5)
    await kept.keys.used("k1")
    found = await kept.keys.by_secret(SECRET)
    assert found is not None and found.used_at == clock.now


MADE = IdempotentAnswer(201, b'{"etag": "1"}', b'{"id": "r1"}')


async def test_a_request_is_done_once_and_answered_the_same_twice(kept: Store) -> None:
    assert await kept.answers.begin("acme", "k1", "hash") is None
    await kept.answers.end("acme", "k1", MADE)
    assert await kept.answers.begin("acme", "k1", "hash") == MADE
    assert await kept.answers.begin("acme", "k1", "hash") == MADE


async def test_a_key_is_an_organisations_own(kept: Store) -> None:
    await kept.answers.begin("acme", "k1", "hash")
    await kept.answers.end("acme", "k1", MADE)
    assert await kept.answers.begin("other", "k1", "another hash") is None


async def test_a_key_of_another_request_is_a_conflict(kept: Store) -> None:
    await kept.answers.begin("acme", "k1", "hash")
    await kept.answers.end("acme", "k1", MADE)
    with pytest.raises(Conflict, match="the idempotency key 'k1' was used for another request: take a new one"):
        await kept.answers.begin("acme", "k1", "another hash")


async def test_of_many_at_once_one_is_done(kept: Store) -> None:
    begun = await asyncio.gather(*(kept.answers.begin("acme", "k1", "hash") for _ in range(8)), return_exceptions=True)
    assert sum(each is None for each in begun) == 1
    assert sum(isinstance(each, Conflict) for each in begun) == 7


async def test_a_request_that_failed_may_be_tried_again(kept: Store) -> None:
    assert await kept.answers.begin("acme", "k1", "hash") is None
    await kept.answers.end("acme", "k1", None)
    assert await kept.answers.begin("acme", "k1", "hash") is None


@pytest.mark.parametrize(
    ("later", "again"), [({"minutes": 1}, False), ({"minutes": 3}, True)], ids=["being answered", "killed"]
)
async def test_a_request_whose_process_was_killed_is_done_after_a_while(
    kept: Store, clock: Clock, later: dict[str, float], again: bool
) -> None:
    await kept.answers.begin("acme", "k1", "hash")
    clock.on(**later)
    if again:
        assert await kept.answers.begin("acme", "k1", "hash") is None
        return
    with pytest.raises(Conflict, match="is being answered: try again later"):
        await kept.answers.begin("acme", "k1", "hash")


async def test_answers_are_forgotten_after_a_day(kept: Store, clock: Clock) -> None:
    await kept.answers.begin("acme", "k1", "hash")
    await kept.answers.end("acme", "k1", MADE)
    clock.on(hours=23)
    assert await kept.answers.begin("acme", "k1", "hash") == MADE
    clock.on(hours=2)
    assert await kept.answers.begin("acme", "k1", "another hash") is None


def a_deed(number: int, **fields: Any) -> AuditEntry:
    plain = {
        "id": f"deed-{number}",
        "organization_id": "acme",
        "at": NOON + timedelta(seconds=number // 2),
        "actor": "me",
        "action": "POST /rubrics",
        "subject": "/api/v1/rubrics",
        "status": 201,
        "request_id": f"r{number}",
    }
    return AuditEntry(**{**plain, **fields})


async def test_what_was_written_is_listed_newest_first(kept: Store) -> None:
    deeds = [a_deed(number) for number in range(5)]
    for deed in deeds:
        await kept.audit.add(deed)
    await kept.audit.add(a_deed(9, organization_id="other"))
    ours = AccessScope(organization_id="acme")
    first = await kept.audit.several(limit=2, within=ours)
    assert [entry.id for entry in first] == [deeds[4].id, deeds[3].id]
    rest = await kept.audit.several(before=next_cursor(first[-1]), within=ours)
    assert [entry.id for entry in rest] == [deed.id for deed in deeds[2::-1]]
    assert len(await kept.audit.several()) == 6
    assert await kept.audit.several(within=AccessScope(organization_id="nobody")) == []
