"""Passwords are hashed slowly, belong to one name, replace one another, and open nothing but the pages."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from howsure.errors import PlanRefused
from howsure.services.hosting.callers import holder_of, opened_by
from howsure.services.hosting.keys import KeyWanted, make_key
from howsure.services.hosting.passwords import is_kept, kept_of, known_by, make_password
from howsure.store.service.keys import PASSWORD, Scope
from howsure.store.store import Store

ANA = KeyWanted(name="ana", scopes=[Scope.READ, Scope.WRITE], organization_id="acme")
GOOD, OTHER = "correct horse battery", "another horse battery"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with await Store.open(str(tmp_path / "howsure.db")) as opened:
        yield opened


def test_what_is_kept_says_how_it_was_hashed_and_is_never_the_same_twice() -> None:
    first, second = kept_of(GOOD), kept_of(GOOD)
    assert first != second
    assert first.startswith("scrypt$32768$8$1$")
    assert GOOD not in first
    assert is_kept(GOOD, first) and is_kept(GOOD, second)
    assert not is_kept(OTHER, first)
    assert not is_kept("", first)


def test_any_character_may_be_in_it() -> None:
    assert is_kept("pässwörd \u202e 🔑 $$$", kept_of("pässwörd \u202e 🔑 $$$"))


async def test_a_name_and_its_password_are_known(store: Store) -> None:
    made = await make_password(store, ANA, GOOD)
    found = await known_by(store, "ana", GOOD)
    assert found is not None
    assert (found.id, found.is_password, found.organization_id) == (made.id, True, "acme")
    assert found.scopes == (Scope.READ, Scope.WRITE)
    for name, password in (("ana", OTHER), ("bo", GOOD), ("ANA", GOOD), ("ana", ""), ("", GOOD)):
        assert await known_by(store, name, password) is None, (name, password)


async def test_a_new_password_takes_the_place_of_the_old_one(store: Store) -> None:
    old = await make_password(store, ANA, GOOD)
    new = await make_password(store, ANA, OTHER)
    assert await known_by(store, "ana", GOOD) is None
    found = await known_by(store, "ana", OTHER)
    assert found is not None and found.id == new.id
    assert await holder_of(store, old.id) is None


async def test_a_revoked_one_opens_nothing(store: Store) -> None:
    made = await make_password(store, ANA, GOOD)
    await store.keys.revoke(made.id)
    assert await known_by(store, "ana", GOOD) is None


async def test_it_is_no_secret_of_the_api(store: Store) -> None:
    await make_password(store, ANA, GOOD)
    ((_, kept),) = await store.keys.with_password("ana")
    for secret in (GOOD, "ana", kept, f"ana:{GOOD}"):
        assert await opened_by(store, secret) is None


async def test_a_key_of_the_same_name_is_no_password(store: Store) -> None:
    key, secret = await make_key(store, KeyWanted(name="ana", scopes=[Scope.READ]))
    assert await known_by(store, "ana", secret) is None
    await make_password(store, ANA, GOOD)
    assert await opened_by(store, secret) is not None
    assert not key.is_password


async def test_nobody_takes_the_name_of_somebody_elsewhere(store: Store) -> None:
    await make_password(store, ANA, GOOD)
    with pytest.raises(PlanRefused, match="somebody of another organisation signs in as 'ana'"):
        await make_password(store, KeyWanted(name="ana", scopes=[Scope.READ], organization_id="others"), OTHER)
    assert await known_by(store, "ana", GOOD) is not None


@pytest.mark.parametrize(
    ("wanted", "password", "said"),
    [
        (ANA, "short", "10 to 1,024 characters, this one 5"),
        (ANA, "x" * 1025, "10 to 1,024 characters, this one 1,025"),
        (KeyWanted(name="ana", scopes=[]), GOOD, "a key needs a scope"),
        (KeyWanted(name=" ", scopes=[Scope.READ]), GOOD, "needs the name"),
    ],
)
async def test_what_cannot_be_a_password(store: Store, wanted: KeyWanted, password: str, said: str) -> None:
    with pytest.raises(PlanRefused, match=said):
        await make_password(store, wanted, password)
    assert await store.keys.several() == []


async def test_the_list_of_keys_tells_them_apart(store: Store) -> None:
    await make_password(store, ANA, GOOD)
    await make_key(store, KeyWanted(name="nightly", scopes=[Scope.RUN]))
    assert {key.name: key.is_password for key in await store.keys.several()} == {"ana": True, "nightly": False}
    assert PASSWORD == "scrypt$"
