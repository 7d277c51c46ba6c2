"""Keys and who they stand for: what they open, for how long, and that their secrets are nowhere."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from howsure.errors import PlanRefused
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.services.hosting.callers import OWNER, holder_of, opened_by
from howsure.services.hosting.keys import KeyWanted, make_key
from howsure.store.service.keys import Scope
from howsure.store.store import Store


@pytest.fixture
async def store(database: str) -> AsyncIterator[Store]:
    async with await Store.open(database if "://" in database else Path(database)) as opened:
        yield opened


def wanted(*scopes: Scope, **more: object) -> KeyWanted:
    return KeyWanted(name="nightly", scopes=scopes or (Scope.READ,), **more)  # type: ignore[arg-type]


async def test_a_key_stands_for_its_holder(store: Store) -> None:
    key, secret = await make_key(store, wanted(Scope.READ, Scope.RUN, organization_id="acme", agent_ids=("a1", "a2")))
    caller = await opened_by(store, secret)
    assert caller is not None
    assert (caller.name, caller.id) == ("nightly", key.id)
    assert caller.within == AccessScope(organization_id="acme", agent_ids=("a1", "a2"))
    assert [caller.may(scope) for scope in (Scope.READ, Scope.RUN, Scope.WRITE, Scope.ADMIN)] == [
        True,
        True,
        False,
        False,
    ]
    assert await holder_of(store, key.id) == caller


async def test_an_admin_may_everything_and_so_may_whoever_sits_there(store: Store) -> None:
    _, secret = await make_key(store, wanted(Scope.ADMIN))
    caller = await opened_by(store, secret)
    assert caller is not None
    for each in (caller, OWNER):
        assert all(each.may(scope) for scope in Scope)
        assert each.within == EVERYWHERE


@pytest.mark.parametrize("secret", ["", "howsure_", "howsure_guessed", "x" * 10_000, "howsure_\x00"])
async def test_what_was_never_a_key_opens_nothing(store: Store, secret: str) -> None:
    await make_key(store, wanted())
    assert await opened_by(store, secret) is None
    assert await holder_of(store, "nobody") is None


async def test_a_key_that_was_revoked_opens_nothing(store: Store) -> None:
    key, secret = await make_key(store, wanted())
    await store.keys.revoke(key.id)
    assert await opened_by(store, secret) is None
    assert await holder_of(store, key.id) is None


async def test_a_key_opens_nothing_after_its_days(store: Store) -> None:
    key, secret = await make_key(store, wanted(days=1.0))
    assert key.expires_at is not None
    assert timedelta(hours=23) < key.expires_at - datetime.now(UTC) <= timedelta(days=1)
    assert await opened_by(store, secret) is not None
    old = replace(key, id="old", expires_at=datetime.now(UTC) - timedelta(seconds=1))
    await store.keys.add(old, "howsure_old")
    assert await opened_by(store, "howsure_old") is None


async def test_that_a_key_was_used_is_noted_once_a_minute(store: Store) -> None:
    key, secret = await make_key(store, wanted())
    assert key.used_at is None
    await opened_by(store, secret)
    first = await store.keys.by_id(key.id)
    await opened_by(store, secret)
    again = await store.keys.by_id(key.id)
    assert first is not None
    assert again is not None
    assert first.used_at is not None
    assert again.used_at == first.used_at


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (KeyWanted(name="x", scopes=()), "a key needs a scope: read, write, run, admin"),
        (KeyWanted(name="x", scopes=(Scope.READ,), agent_ids=("",)), "an agent's id is not empty"),
        (KeyWanted(name="x", scopes=(Scope.READ,), agent_ids=("a\nb",)), "has no line breaks"),
    ],
)
async def test_a_key_that_makes_no_sense_is_not_made(store: Store, asked: KeyWanted, told: str) -> None:
    with pytest.raises(PlanRefused, match=told):
        await make_key(store, asked)
    assert await store.keys.several() == []


async def test_scopes_are_kept_once_and_in_order(store: Store) -> None:
    key, _ = await make_key(store, wanted(Scope.WRITE, Scope.READ, Scope.WRITE))
    assert key.scopes == (Scope.WRITE, Scope.READ)
    (listed,) = await store.keys.several()
    assert listed == key


async def test_every_secret_is_another_and_none_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "howsure.db"
    async with await Store.open(path) as store:
        secrets = [(await make_key(store, wanted()))[1] for _ in range(5)]
    assert len(set(secrets)) == 5
    assert all(secret.startswith("howsure_") and len(secret) > 40 for secret in secrets)
    with closing(sqlite3.connect(path)) as connection:
        dump = "\n".join(connection.iterdump())
    assert not [secret for secret in secrets if secret in dump]
