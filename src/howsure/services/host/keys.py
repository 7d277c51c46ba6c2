"""API keys, passwords and sessions, and the callers they stand for. The secret of a key is shown once; only its hash is
stored. A password is a key with a secret that a person can remember: it has scopes, an organisation and an expiry date,
can be revoked, and opens the pages but never the API. Signing in to the pages begins a session, which is in the store.
Without keys the service serves its own machine only, and every user of that machine may do everything."""

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
from msgspec.structs import replace

from howsure.errors import PlanRefused
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.services.host.roles import Permission, missing_words, permits
from howsure.services.workspace import Host
from howsure.store.keys import PASSWORD, ApiKey, KeyScope
from howsure.store.sessions import SignInSession
from howsure.store.store import Store

PREFIX = "howsure_"
MIN_PASSWORD, MAX_PASSWORD = 10, 1024
COST, BLOCK, LANES = 2**15, 8, 1
MEMORY = 64 * 1024 * 1024
DUMMY_HASH = f"{PASSWORD}{COST}$8$1$AAAAAAAAAAAAAAAAAAAAAA==$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
"""Verified against for an unknown name, so that the answer takes as long as for a known one."""
USE_NOTED_EVERY_SECONDS = 60.0
MAX_BROWSER_TEXT = 200


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
        raise PlanRefused(f"the name {key.name!r} is taken in another organisation: choose another one")
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
    their key or of their identity at a sign-in provider, "" where no key is needed; `session_id` that of their
    session on the pages."""

    name: str
    scopes: frozenset[KeyScope]
    within: AccessScope
    id: str = ""
    session_id: str = ""

    def may(self, permission: Permission) -> bool:
        return permits(self.scopes, self.within, permission)

    def lacks(self, permission: Permission) -> str:
        """Why the caller may not do this, for the refusal."""
        return missing_words(self.scopes, self.within, permission)


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


def key_limits_problem(request: KeyRequest, maker: Caller) -> str:
    """Why this caller may not make this key: nobody can make a key with more rights than their own. "": they may."""
    home, own = maker.within.organization_id, maker.within.agent_ids
    if home is not None and request.organization_id != home:
        return "this key may make keys for its own organisation only"
    if own is not None and (request.agent_ids is None or not set(request.agent_ids) <= set(own)):
        return f"this key may make keys for the agents {', '.join(own)} only"
    return ""


async def begin_session(
    host: Host, caller: Caller, address: str, browser: str, issuer: str = ""
) -> tuple[SignInSession, str]:
    """Store the session of somebody who has just signed in. Returns it with the token for their browser's cookie."""
    now, token = datetime.now(UTC), secrets.token_urlsafe(32)
    session = SignInSession(
        id=str(uuid4()),
        owner=caller.id,
        name=caller.name,
        created_at=now,
        used_at=now,
        ends_at=now + timedelta(hours=host.rules.session_hours),
        key_id="" if issuer else caller.id,
        issuer=issuer,
        scopes=tuple(caller.scopes) if issuer else (),
        within=caller.within,
        address=address,
        browser="".join(filter(str.isprintable, browser))[:MAX_BROWSER_TEXT],
    )
    await host.store.sessions.add(session, token)
    return session, token


async def caller_by_session(host: Host, token: str) -> Caller | None:
    """The caller whose browser has this token; None where it is unknown, or the session or its key has ended."""
    return await _session_caller(host, await host.store.sessions.by_token(token))


async def caller_still_valid(host: Host, caller: Caller) -> bool:
    """Whether the caller of a long request may still continue: their key may have been revoked, or their session
    ended."""
    if caller.session_id:
        return await _session_caller(host, await host.store.sessions.by_id(caller.session_id)) is not None
    return not caller.id or await caller_by_key_id(host.store, caller.id) is not None


async def _session_caller(host: Host, session: SignInSession | None) -> Caller | None:
    now, provider = datetime.now(UTC), host.rules.oidc
    if session is None or not session.is_open(now, timedelta(minutes=host.rules.session_idle_minutes)):
        return None
    if session.key_id:
        caller = await caller_by_key_id(host.store, session.key_id)
    elif provider is not None and provider.issuer == session.issuer:
        caller = Caller(session.name, frozenset(session.scopes), session.within, session.owner)
    else:
        caller = None
    if caller is None:
        return None
    if (now - session.used_at).total_seconds() > USE_NOTED_EVERY_SECONDS:
        await host.store.sessions.used(session.id)
    return replace(caller, session_id=session.id)
