"""API keys and passwords, and the callers they stand for."""

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
from howsure.services.host.keys import (
    OWNER,
    KeyRequest,
    caller_by_key_id,
    caller_by_secret,
    hash_password,
    key_for_password,
    make_key,
    set_password,
    verify_password,
)
from howsure.services.host.roles import Permission
from howsure.store.keys import PASSWORD, KeyScope
from howsure.store.store import Store


@pytest.fixture
async def store(database: str) -> AsyncIterator[Store]:
    async with await Store.open(database if "://" in database else Path(database)) as opened:
        yield opened


def wanted(*scopes: KeyScope, **more: object) -> KeyRequest:
    return KeyRequest(name="nightly", scopes=scopes or (KeyScope.READ,), **more)  # type: ignore[arg-type]


async def test_a_key_stands_for_its_holder(store: Store) -> None:
    key, secret = await make_key(
        store, wanted(KeyScope.READ, KeyScope.RUN, organization_id="acme", agent_ids=("a1", "a2"))
    )
    caller = await caller_by_secret(store, secret)
    assert caller is not None
    assert (caller.name, caller.id) == ("nightly", key.id)
    assert caller.within == AccessScope(organization_id="acme", agent_ids=("a1", "a2"))
    asked = (Permission.READ, Permission.RUN, Permission.EDIT, Permission.MAKE_KEYS)
    assert [caller.may(each) for each in asked] == [True, True, False, False]
    assert await caller_by_key_id(store, key.id) == caller


async def test_an_admin_may_everything_and_so_may_whoever_sits_there(store: Store) -> None:
    _, secret = await make_key(store, wanted(KeyScope.ADMIN))
    caller = await caller_by_secret(store, secret)
    assert caller is not None
    for each in (caller, OWNER):
        assert all(each.may(permission) for permission in Permission)
        assert each.within == EVERYWHERE


@pytest.mark.parametrize("secret", ["", "howsure_", "howsure_guessed", "x" * 10_000, "howsure_\x00"])
async def test_what_was_never_a_key_opens_nothing(store: Store, secret: str) -> None:
    await make_key(store, wanted())
    assert await caller_by_secret(store, secret) is None
    assert await caller_by_key_id(store, "nobody") is None


async def test_a_key_that_was_revoked_opens_nothing(store: Store) -> None:
    key, secret = await make_key(store, wanted())
    await store.keys.revoke(key.id)
    assert await caller_by_secret(store, secret) is None
    assert await caller_by_key_id(store, key.id) is None


async def test_a_key_opens_nothing_after_its_days(store: Store) -> None:
    key, secret = await make_key(store, wanted(days=1.0))
    assert key.expires_at is not None
    assert timedelta(hours=23) < key.expires_at - datetime.now(UTC) <= timedelta(days=1)
    assert await caller_by_secret(store, secret) is not None
    old = replace(key, id="old", expires_at=datetime.now(UTC) - timedelta(seconds=1))
    await store.keys.add(old, "howsure_old")
    assert await caller_by_secret(store, "howsure_old") is None


async def test_that_a_key_was_used_is_noted_once_a_minute(store: Store) -> None:
    key, secret = await make_key(store, wanted())
    assert key.used_at is None
    await caller_by_secret(store, secret)
    first = await store.keys.by_id(key.id)
    await caller_by_secret(store, secret)
    again = await store.keys.by_id(key.id)
    assert first is not None
    assert again is not None
    assert first.used_at is not None
    assert again.used_at == first.used_at


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (KeyRequest(name="x", scopes=()), "a key needs a scope: read, label, write, run, admin"),
        (KeyRequest(name="x", scopes=(KeyScope.READ,), agent_ids=("",)), "an agent's id is not empty"),
        (KeyRequest(name="x", scopes=(KeyScope.READ,), agent_ids=("a\nb",)), "has no line breaks"),
    ],
)
async def test_a_key_that_makes_no_sense_is_not_made(store: Store, asked: KeyRequest, told: str) -> None:
    with pytest.raises(PlanRefused, match=told):
        await make_key(store, asked)
    assert await store.keys.several() == []


async def test_scopes_are_kept_once_and_in_order(store: Store) -> None:
    key, _ = await make_key(store, wanted(KeyScope.WRITE, KeyScope.READ, KeyScope.WRITE))
    assert key.scopes == (KeyScope.WRITE, KeyScope.READ)
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


ANA = KeyRequest(name="ana", scopes=[KeyScope.READ, KeyScope.WRITE], organization_id="acme")
GOOD, OTHER = "correct horse battery", "another horse battery"


@pytest.fixture
async def password_store(tmp_path: Path) -> AsyncIterator[Store]:
    async with await Store.open(str(tmp_path / "howsure.db")) as opened:
        yield opened


def test_what_is_kept_says_how_it_was_hashed_and_is_never_the_same_twice() -> None:
    first, second = hash_password(GOOD), hash_password(GOOD)
    assert first != second
    assert first.startswith("scrypt$32768$8$1$")
    assert GOOD not in first
    assert verify_password(GOOD, first) and verify_password(GOOD, second)
    assert not verify_password(OTHER, first)
    assert not verify_password("", first)


def test_any_character_may_be_in_it() -> None:
    assert verify_password("pässwörd \u202e 🔑 $$$", hash_password("pässwörd \u202e 🔑 $$$"))


async def test_a_name_and_its_password_are_known(password_store: Store) -> None:
    made = await set_password(password_store, ANA, GOOD)
    found = await key_for_password(password_store, "ana", GOOD)
    assert found is not None
    assert (found.id, found.is_password, found.organization_id) == (made.id, True, "acme")
    assert found.scopes == (KeyScope.READ, KeyScope.WRITE)
    for name, password in (("ana", OTHER), ("bo", GOOD), ("ANA", GOOD), ("ana", ""), ("", GOOD)):
        assert await key_for_password(password_store, name, password) is None, (name, password)


async def test_a_new_password_takes_the_place_of_the_old_one(password_store: Store) -> None:
    old = await set_password(password_store, ANA, GOOD)
    new = await set_password(password_store, ANA, OTHER)
    assert await key_for_password(password_store, "ana", GOOD) is None
    found = await key_for_password(password_store, "ana", OTHER)
    assert found is not None and found.id == new.id
    assert await caller_by_key_id(password_store, old.id) is None


async def test_a_revoked_one_opens_nothing(password_store: Store) -> None:
    made = await set_password(password_store, ANA, GOOD)
    await password_store.keys.revoke(made.id)
    assert await key_for_password(password_store, "ana", GOOD) is None


async def test_it_is_no_secret_of_the_api(password_store: Store) -> None:
    await set_password(password_store, ANA, GOOD)
    ((_, kept),) = await password_store.keys.with_password("ana")
    for secret in (GOOD, "ana", kept, f"ana:{GOOD}"):
        assert await caller_by_secret(password_store, secret) is None


async def test_a_key_of_the_same_name_is_no_password(password_store: Store) -> None:
    key, secret = await make_key(password_store, KeyRequest(name="ana", scopes=[KeyScope.READ]))
    assert await key_for_password(password_store, "ana", secret) is None
    await set_password(password_store, ANA, GOOD)
    assert await caller_by_secret(password_store, secret) is not None
    assert not key.is_password


async def test_nobody_takes_the_name_of_somebody_elsewhere(password_store: Store) -> None:
    await set_password(password_store, ANA, GOOD)
    with pytest.raises(PlanRefused, match="the name 'ana' is taken in another organisation"):
        await set_password(
            password_store, KeyRequest(name="ana", scopes=[KeyScope.READ], organization_id="others"), OTHER
        )
    assert await key_for_password(password_store, "ana", GOOD) is not None


@pytest.mark.parametrize(
    ("wanted", "password", "said"),
    [
        (ANA, "short", "10 to 1,024 characters, this one 5"),
        (ANA, "x" * 1025, "10 to 1,024 characters, this one 1,025"),
        (KeyRequest(name="ana", scopes=[]), GOOD, "a key needs a scope"),
        (KeyRequest(name=" ", scopes=[KeyScope.READ]), GOOD, "needs the name"),
    ],
)
async def test_what_cannot_be_a_password(password_store: Store, wanted: KeyRequest, password: str, said: str) -> None:
    with pytest.raises(PlanRefused, match=said):
        await set_password(password_store, wanted, password)
    assert await password_store.keys.several() == []


async def test_the_list_of_keys_tells_them_apart(password_store: Store) -> None:
    await set_password(password_store, ANA, GOOD)
    await make_key(password_store, KeyRequest(name="nightly", scopes=[KeyScope.RUN]))
    assert {key.name: key.is_password for key in await password_store.keys.several()} == {
        "ana": True,
        "nightly": False,
    }
    assert PASSWORD == "scrypt$"
