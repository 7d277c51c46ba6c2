"""Making API keys. The secret is shown once, and nobody can read it again: a hash of it is kept."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from msgspec import Struct

from howsure.errors import PlanRefused
from howsure.store.service.keys import ApiKey, Scope
from howsure.store.store import Store

PREFIX = "howsure_"


class KeyWanted(Struct, frozen=True, kw_only=True):
    """A key as somebody asks for it. `organization_id` None: of every organisation."""

    name: str
    scopes: Sequence[Scope]
    organization_id: str | None = None
    agent_ids: tuple[str, ...] | None = None
    days: float | None = None


async def make_key(store: Store, wanted: KeyWanted) -> tuple[ApiKey, str]:
    """The key, and its secret: shown once."""
    key, secret = new_key(wanted), PREFIX + secrets.token_urlsafe(32)
    await store.keys.add(key, secret)
    return key, secret


def new_key(wanted: KeyWanted) -> ApiKey:
    """As it is asked for, with an id of its own; nothing is stored."""
    if not wanted.scopes:
        raise PlanRefused(f"a key needs a scope: {', '.join(scope.value for scope in Scope)}")
    if any(not agent or "\n" in agent for agent in wanted.agent_ids or ()):
        raise PlanRefused("an agent's id is not empty and has no line breaks")
    now = datetime.now(UTC)
    return ApiKey(
        id=str(uuid4()),
        name=wanted.name,
        scopes=tuple(dict.fromkeys(wanted.scopes)),
        created_at=now,
        organization_id=wanted.organization_id,
        agent_ids=wanted.agent_ids,
        expires_at=None if wanted.days is None else now + timedelta(days=wanted.days),
    )
