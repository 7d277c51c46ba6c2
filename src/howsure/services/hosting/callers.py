"""Who asks the service for something, and what they may do. Without keys it serves its own machine alone, and whoever
sits at it may do everything; with them, a key opens what its scopes say, within its organisation and agents."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec import Struct

from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.store.service.keys import ApiKey, Scope
from howsure.store.store import Store

USED_EVERY = 60.0
"""Seconds between two notes that a key was used."""


class Caller(Struct, frozen=True):
    """Who asks: their name for the log, what they may do, and where. `id` is their key's; "": they need none."""

    name: str
    scopes: frozenset[Scope]
    within: AccessScope
    id: str = ""

    def may(self, scope: Scope) -> bool:
        """`admin` may everything."""
        return scope in self.scopes or Scope.ADMIN in self.scopes


OWNER = Caller("local", frozenset(Scope), EVERYWHERE)
"""Whoever sits at the machine that the service runs on, where no key is needed."""


async def opened_by(store: Store, secret: str) -> Caller | None:
    """The caller that a secret stands for; None where it opens nothing."""
    return await _caller(store, await store.keys.by_secret(secret))


async def holder_of(store: Store, key_id: str) -> Caller | None:
    """The caller that a key, known by its id, stands for; None where it opens nothing any more."""
    return await _caller(store, await store.keys.by_id(key_id))


async def _caller(store: Store, key: ApiKey | None) -> Caller | None:
    now = datetime.now(UTC)
    if key is None or not key.is_open(now):
        return None
    if key.used_at is None or (now - key.used_at).total_seconds() > USED_EVERY:
        await store.keys.used(key.id)
    return Caller(key.name or key.id, frozenset(key.scopes), key.within, key.id)
