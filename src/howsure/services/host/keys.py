"""API keys and passwords, and the callers they stand for. The secret of a key is shown once; only its hash is stored. A
password is a key with a secret that a person can remember: it has scopes, an organisation and an expiry date, can be
revoked, and opens the pages but never the API. Without keys the service serves its own machine only, and whoever uses
that machine may do everything."""

from __future__ import annotations

import asyncio
import hmac
import secrets
from base64 import b64decode, b64encode
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from hashlib import scrypt
from secrets import token_bytes
from uuid import uuid4

from msgspec import Struct

from howsure.errors import PlanRefused
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.store.keys import PASSWORD, ApiKey, KeyScope
from howsure.store.store import Store

PREFIX = "howsure_"
MIN_PASSWORD, MAX_PASSWORD = 10, 1024
COST, BLOCK, LANES = 2**15, 8, 1
MEMORY = 64 * 1024 * 1024
DUMMY_HASH = f"{PASSWORD}{COST}$8$1$AAAAAAAAAAAAAAAAAAAAAA==$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
"""Verified against for an unknown name, so that the answer takes as long as for a known one."""
USE_NOTED_EVERY_SECONDS = 60.0


class KeyRequest(Struct, frozen=True, kw_only=True):
    """The key to make. `organization_id` None: it is valid for every organisation."""

    name: str
    scopes: Sequence[KeyScope]
    organization_id: str | None = None
    agent_ids: tuple[str, ...] | None = None
    days: float | None = None


async def make_key(store: Store, request: KeyRequest) -> tuple[ApiKey, str]:
    """Store a new key. Returns it with its secret, which cannot be read again."""
    key, secret = build_key(request), PREFIX + secrets.token_urlsafe(32)
    await store.keys.add(key, secret)
    return key, secret


def build_key(request: KeyRequest) -> ApiKey:
    """The key with a new id; nothing is stored."""
    if not request.scopes:
        raise PlanRefused(f"a key needs a scope: {', '.join(scope.value for scope in KeyScope)}")
    if any(not agent or "\n" in agent for agent in request.agent_ids or ()):
        raise PlanRefused("an agent's id is not empty and has no line breaks")
    now = datetime.now(UTC)
    return ApiKey(
        id=str(uuid4()),
        name=request.name,
        scopes=tuple(dict.fromkeys(request.scopes)),
        created_at=now,
        organization_id=request.organization_id,
        agent_ids=request.agent_ids,
        expires_at=None if request.days is None else now + timedelta(days=request.days),
    )


def hash_password(password: str) -> str:
    """The text to store: the hash parameters, the salt and the hash."""
    salt = token_bytes(16)
    hashed = _scrypt(password, salt, COST, BLOCK, LANES)
    parts = (str(COST), str(BLOCK), str(LANES), b64encode(salt).decode(), b64encode(hashed).decode())
    return PASSWORD + "$".join(parts)


def verify_password(password: str, stored: str) -> bool:
    """Whether `stored` was made from this password by `hash_password`."""
    cost, block, lanes, salt, expected = stored.removeprefix(PASSWORD).split("$")
    actual = _scrypt(password, b64decode(salt), int(cost), int(block), int(lanes))
    return hmac.compare_digest(actual, b64decode(expected))


def _scrypt(password: str, salt: bytes, cost: int, block: int, lanes: int) -> bytes:
    return scrypt(password.encode(), salt=salt, n=cost, r=block, p=lanes, maxmem=MEMORY, dklen=32)


async def set_password(store: Store, request: KeyRequest, password: str) -> ApiKey:
    """Give this name a password. An earlier password of the same name is revoked."""
    if not request.name.strip():
        raise PlanRefused("a password needs the name of who signs in with it")
    if not MIN_PASSWORD <= len(password) <= MAX_PASSWORD:
        raise PlanRefused(f"a password has {MIN_PASSWORD} to {MAX_PASSWORD:,} characters, this one {len(password):,}")
    key = build_key(request)
    earlier = await store.keys.with_password(key.name)
    if any(each.organization_id != key.organization_id for each, _ in earlier if each.is_open(key.created_at)):
        raise PlanRefused(f"somebody of another organisation signs in as {key.name!r}: choose another name")
    await store.keys.add_password(key, await asyncio.to_thread(hash_password, password))
    for each, _ in earlier:
        await store.keys.revoke(each.id)
    return key


async def key_for_password(store: Store, name: str, password: str) -> ApiKey | None:
    """The key of this name and password; None where they do not match, or the key was revoked or has expired."""
    now = datetime.now(UTC)
    open_keys = [(key, stored) for key, stored in await store.keys.with_password(name) if key.is_open(now)]
    key, stored = open_keys[0] if open_keys else (None, DUMMY_HASH)
    matches = await asyncio.to_thread(verify_password, password[:MAX_PASSWORD], stored)
    return key if matches else None


class Caller(Struct, frozen=True):
    """Who makes a request: a name for the log, what they may do, and in which organisation and agents. `id` is that of
    their key, "" where no key is needed."""

    name: str
    scopes: frozenset[KeyScope]
    within: AccessScope
    id: str = ""

    def may(self, scope: KeyScope) -> bool:
        """A caller with `admin` may do everything."""
        return scope in self.scopes or KeyScope.ADMIN in self.scopes


OWNER = Caller("local", frozenset(KeyScope), EVERYWHERE)
"""The user of the machine that the service runs on, where no key is needed."""


async def caller_by_secret(store: Store, secret: str) -> Caller | None:
    """The caller with this secret; None where it is unknown, revoked or expired."""
    return await _caller(store, await store.keys.by_secret(secret))


async def caller_by_key_id(store: Store, key_id: str) -> Caller | None:
    """The caller with this key; None where it is unknown, revoked or expired."""
    return await _caller(store, await store.keys.by_id(key_id))


async def _caller(store: Store, key: ApiKey | None) -> Caller | None:
    now = datetime.now(UTC)
    if key is None or not key.is_open(now):
        return None
    if key.used_at is None or (now - key.used_at).total_seconds() > USE_NOTED_EVERY_SECONDS:
        await store.keys.used(key.id)
    return Caller(key.name or key.id, frozenset(key.scopes), key.within, key.id)
