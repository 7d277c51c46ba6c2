"""Writes to the audit log: who did what to what, by ids alone. Names and content are never logged: an id leads to them
while they are stored, and to nothing after they are erased."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from howsure.config import Settings
from howsure.errors import InputError
from howsure.services.workspace import Workspace
from howsure.store.audit import AuditEntry
from howsure.store.store import Store

T = TypeVar("T")
SERVICE = "service"
"""The actor of the service's own actions."""


def recording(
    action: str, do: Callable[[Store], Awaitable[T]], subject: Callable[[T], str]
) -> Callable[[Store], Awaitable[T]]:
    """The same callable, logged when it has finished; `subject` names what it was done to."""

    async def done(store: Store) -> T:
        result = await do(store)
        await store.audit.record_command(action, subject(result))
        return result

    return done


async def record_export(work: Workspace, store: Store, subject: str) -> None:
    """Log an export by a command, if the database belongs to a service (it has keys) and can be written to."""
    with suppress(InputError):
        if await store.keys.any():
            async with await work.store() as writable:
                await writable.audit.record_command("export", subject)


async def record_settings(store: Store, settings: Settings) -> None:
    """Log a hash of the settings that the service starts with, if they differ from those of its last start. The hash
    leaves out the address of the database, which may hold a password; settings only name other secrets."""
    text = msgspec.json.encode(replace(settings, database=""), order="deterministic")
    subject = f"sha256:{sha256(text).hexdigest()}"
    last = await store.audit.last("settings")
    if last is None or last.subject != subject:
        await store.audit.record("settings", actor=SERVICE, subject=subject)


async def with_key_names(store: Store, entries: Sequence[AuditEntry]) -> list[AuditEntry]:
    """The entries with the current names of their keys in place of the keys' ids."""
    names = await store.keys.names({entry.actor for entry in entries})
    return [replace(entry, actor=names.get(entry.actor, entry.actor)) for entry in entries]
