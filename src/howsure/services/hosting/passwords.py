"""Passwords, for people who sign in to the pages. One is a key whose secret a person can remember: it has scopes, an
organisation and an end, and can be revoked like any other; it opens the pages, and never the API. What is kept of it is
slow to guess from."""

from __future__ import annotations

import asyncio
import hmac
from base64 import b64decode, b64encode
from datetime import UTC, datetime
from hashlib import scrypt
from secrets import token_bytes

from howsure.errors import PlanRefused
from howsure.services.hosting.keys import KeyWanted, new_key
from howsure.store.service.keys import PASSWORD, ApiKey
from howsure.store.store import Store

SHORTEST, LONGEST = 10, 1024
COST, BLOCK, LANES = 2**15, 8, 1
MEMORY = 64 * 1024 * 1024
NOBODYS = f"{PASSWORD}{COST}$8$1$AAAAAAAAAAAAAAAAAAAAAA==$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
"""Compared with where nobody has that name, so that it takes as long."""


def kept_of(password: str) -> str:
    """What is stored: how it was hashed, the salt, the hash."""
    salt = token_bytes(16)
    parts = (str(COST), str(BLOCK), str(LANES), _text(salt), _text(_hash(password, salt, (COST, BLOCK, LANES))))
    return PASSWORD + "$".join(parts)


def is_kept(password: str, kept: str) -> bool:
    """Whether this is the password of which that was stored."""
    cost, block, lanes, salt, found = kept.removeprefix(PASSWORD).split("$")
    made = _hash(password, b64decode(salt), (int(cost), int(block), int(lanes)))
    return hmac.compare_digest(made, b64decode(found))


def _hash(password: str, salt: bytes, how: tuple[int, int, int]) -> bytes:
    cost, block, lanes = how
    return scrypt(password.encode(), salt=salt, n=cost, r=block, p=lanes, maxmem=MEMORY, dklen=32)


def _text(data: bytes) -> str:
    return b64encode(data).decode()


async def make_password(store: Store, wanted: KeyWanted, password: str) -> ApiKey:
    """From now on this name has this password; the one it had opens nothing any more."""
    if not wanted.name.strip():
        raise PlanRefused("a password needs the name of who signs in with it")
    if not SHORTEST <= len(password) <= LONGEST:
        raise PlanRefused(f"a password has {SHORTEST} to {LONGEST:,} characters, this one {len(password):,}")
    key = new_key(wanted)
    earlier = await store.keys.with_password(key.name)
    if any(each.organization_id != key.organization_id for each, _ in earlier if each.is_open(key.created_at)):
        raise PlanRefused(f"somebody of another organisation signs in as {key.name!r}: choose another name")
    await store.keys.add_password(key, await asyncio.to_thread(kept_of, password))
    for each, _ in earlier:
        await store.keys.revoke(each.id)
    return key


async def known_by(store: Store, name: str, password: str) -> ApiKey | None:
    """Whose name and password these are; None where they are nobody's, or open nothing any more."""
    now = datetime.now(UTC)
    found = [(key, kept) for key, kept in await store.keys.with_password(name) if key.is_open(now)]
    key, kept = found[0] if found else (None, NOBODYS)
    fits = await asyncio.to_thread(is_kept, password[:LONGEST], kept)
    return key if fits else None
