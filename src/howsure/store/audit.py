"""The audit log: who did what to what, by ids alone. Its entries are a chain: each has a number, the hash of the entry
before it and its own, so that a changed, missing or added entry is detected. Retention leaves a checkpoint in place of
what it removes. Missing entries at the end are detected by a head that was exported earlier."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from uuid import uuid4

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection, delete, func, insert, select

from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.store.database import StorePart, fetch_rows, inserted_into, not_idempotent, raw_rows, take_lock
from howsure.store.pages import newest_first, visible
from howsure.store.schema import as_text, audit

AUDIT_LOCK = 1
COMMAND_LINE = "command-line"
"""The actor of actions by a command; its address is the number of the system's user."""
CHECKPOINT = "audit-checkpoint"
"""The action of the entry that retention leaves; its subject is the number and the hash of the last entry it took."""
CHUNK = 1000
LONGEST_SUBJECT = 300
CHAINED = ("sequence", "previous", "id", "organization_id", "at", "actor", "action", "subject", "status", "request_id",
           "address", "repeats")  # fmt: skip
"""The fields that a hash is made of, in this order, as a JSON array without spaces."""


class AuditEntry(Struct, frozen=True, kw_only=True):
    """One action: who did what to what, and how it ended. `actor` is the id of a key, `repeats` the number of equal
    refusals that it stands for."""

    id: str
    at: datetime
    action: str
    organization_id: str = ""
    actor: str = ""
    subject: str = ""
    status: int = 200
    request_id: str = ""
    address: str = ""
    repeats: int = 1
    sequence: int = 0
    previous: str = ""
    hash: str = ""

    @property
    def created_at(self) -> datetime:
        return self.at


class AuditHead(Struct, frozen=True):
    """The newest entry of a log, to be kept elsewhere; number 0: the log was empty."""

    sequence: int
    hash: str


class AuditReport(Struct, frozen=True, kw_only=True):
    """What verifying a log found. `first` and `last` are the numbers of its first and last entry."""

    entries: int
    first: int
    last: int
    head: AuditHead
    checkpoints: tuple[str, ...]
    problems: tuple[str, ...]


class AuditLog(StorePart):
    """Has every write, refusal and export of the service, and every write of the command line."""

    async def add(self, entry: AuditEntry) -> None:
        await self._database.write(append_entry, entry)

    async def record(self, action: str, **known: Any) -> None:
        """`record("sign-in", actor=key.id, address="10.0.0.7")`; `known` are fields of the entry."""
        await self.add(AuditEntry(id=str(uuid4()), at=datetime.now(UTC), action=action, **known))

    async def record_command(self, action: str, subject: str = "") -> None:
        """What a command changed."""
        number = os.getuid() if hasattr(os, "getuid") else ""
        await self.record(action, actor=COMMAND_LINE, subject=subject, address=f"uid:{number}")

    async def several(
        self, *, limit: int = 50, before: str | None = None, within: AccessScope = EVERYWHERE
    ) -> list[AuditEntry]:
        """Newest first."""
        page = newest_first(visible(select(audit), audit, within), audit, limit, before, at="at")
        return [AuditEntry(**row._mapping) for row in await self._database.read(fetch_rows, page)]

    async def entries(self) -> AsyncIterator[AuditEntry]:
        """All of them, oldest first, a page at a time."""
        after = -1
        while True:
            page = select(audit).where(audit.c.sequence > after).order_by(audit.c.sequence).limit(CHUNK)
            rows = await self._database.read(fetch_rows, page)
            for row in rows:
                yield AuditEntry(**row._mapping)
            if len(rows) < CHUNK:
                return
            after = rows[-1].sequence

    async def last(self, action: str) -> AuditEntry | None:
        """The newest entry of an action."""
        newest = select(audit).where(audit.c.action == action).order_by(audit.c.sequence.desc()).limit(1)
        return next((AuditEntry(**row._mapping) for row in await self._database.read(fetch_rows, newest)), None)

    async def head(self) -> AuditHead:
        return await self._database.read(read_head)

    async def verify(self, head: AuditHead | None = None) -> AuditReport:
        """Read and check every entry. `head` is one that was exported earlier."""
        return await self._database.read(verify_chain, head)

    async def trim(self, before: datetime, now: datetime, *, dry_run: bool = False) -> int:
        """Remove entries older than a time, leave a checkpoint, and return the number of removed entries."""
        if dry_run:
            older = select(func.count()).where(audit.c.at < before)
            return await self._database.read(lambda connection: connection.scalar(older) or 0)
        return await self._database.write(_trim, before, now)


def read_head(connection: Connection) -> AuditHead:
    newest = select(audit.c.sequence, audit.c.hash).order_by(audit.c.sequence.desc()).limit(1)
    return AuditHead(*(connection.execute(newest).first() or (0, "")))


def chain_hash(values: Iterable[Any]) -> str:
    """The hash of the values of CHAINED, with times as they are stored."""
    return sha256(msgspec.json.encode(list(values))).hexdigest()


@not_idempotent(inserted_into(audit))
def append_entry(connection: Connection, entry: AuditEntry) -> None:
    # The next number and the insert are one step for all processes.
    take_lock(connection, AUDIT_LOCK)
    last = read_head(connection)
    subject = entry.subject[:LONGEST_SUBJECT]
    linked = replace(entry, sequence=last.sequence + 1, previous=last.hash, subject=subject)
    values = {name: getattr(linked, name) for name in CHAINED}
    made = chain_hash({**values, "at": as_text(linked.at)}.values())
    connection.execute(insert(audit).values({**values, "hash": made}))


def _trim(connection: Connection, before: datetime, now: datetime) -> int:
    take_lock(connection, AUDIT_LOCK)
    # Up to the last entry before which all are older, too: numbers are in order, clocks may not be.
    kept = connection.scalar(select(func.min(audit.c.sequence)).where(audit.c.at >= before))
    older = select(audit.c.sequence, audit.c.hash).order_by(audit.c.sequence.desc()).limit(1)
    last = connection.execute(older if kept is None else older.where(audit.c.sequence < kept)).first()
    if last is None:
        return 0
    subject = f"{last.sequence}:{last.hash}"
    append_entry(connection, AuditEntry(id=str(uuid4()), at=now, action=CHECKPOINT, subject=subject))
    return connection.execute(delete(audit).where(audit.c.sequence <= last.sequence)).rowcount


def verify_chain(connection: Connection, head: AuditHead | None = None) -> AuditReport:
    first: tuple[int, str] | None = None
    entries, last, checkpoints, problems = 0, AuditHead(0, ""), list[str](), list[str]()
    head_found = head is None or head.sequence == 0
    for entry in raw_rows(connection, audit, order="sequence"):
        sequence, previous, own = entry["sequence"], entry["previous"], entry["hash"]
        if first is None:
            first = (sequence, previous)
        else:
            problems += _break_between(last, sequence, previous)
        if chain_hash(entry[name] for name in CHAINED) != own:
            problems.append(f"entry {sequence} was changed: its hash does not fit")
        if entry["action"] == CHECKPOINT:
            checkpoints.append(entry["subject"])
        if head is not None and sequence == head.sequence:
            head_found = True
            if own != head.hash:
                problems.append(f"entry {sequence} is not the one of the exported head: the log was written anew")
        entries, last = entries + 1, AuditHead(sequence, own)
    begin = first or (1, "")
    problems += _beginning(begin, checkpoints)
    if head is not None and not head_found:
        problems.append(_without_head(head, begin[0], last, checkpoints))
    return AuditReport(
        entries=entries,
        first=begin[0] if first else 0,
        last=last.sequence,
        head=last,
        checkpoints=tuple(checkpoints),
        problems=tuple(each for each in problems if each),
    )


def _break_between(last: AuditHead, sequence: int, previous: str) -> list[str]:
    if sequence == last.sequence:
        return [f"entry {sequence} is there twice"]
    if sequence > last.sequence + 1:
        gone = f"{last.sequence + 1}" if sequence == last.sequence + 2 else f"{last.sequence + 1} to {sequence - 1}"
        return [f"entry {gone} is missing"]
    return [] if previous == last.hash else [f"entry {sequence} does not follow entry {last.sequence}"]


def _beginning(first: tuple[int, str], checkpoints: list[str]) -> list[str]:
    sequence, previous = first
    if (sequence, previous) == (1, "") or f"{sequence - 1}:{previous}" in checkpoints:
        return []
    return [f"the log begins with entry {sequence}, and there is no checkpoint for the entries before it"]


def _without_head(head: AuditHead, first: int, last: AuditHead, checkpoints: list[str]) -> str:
    if head.sequence > last.sequence:
        return f"the log ends with entry {last.sequence} and the exported head is {head.sequence}: its end was cut off"
    if f"{head.sequence}:{head.hash}" in checkpoints:
        return ""
    if head.sequence < first:
        return f"the exported head is entry {head.sequence}, which retention removed: export a newer one"
    return f"entry {head.sequence}, the exported head, is missing"
