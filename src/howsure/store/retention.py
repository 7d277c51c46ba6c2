"""Removes what is older than it may be kept: runs, conversations, labels, sessions, documents, entries of the audit
log. Deleted documents lose their content when they can no longer be brought back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, and_, delete, func, select, update

from howsure.model.document import DocumentKind
from howsure.store.audit import AuditLog
from howsure.store.codecs import VERSION_COLUMNS, row_checksum
from howsure.store.database import StorePart, raw_rows
from howsure.store.documents import PURGED, DocumentKey, index_cases, of_document
from howsure.store.erasure import erase_conversations, has_conversations
from howsure.store.runs import delete_run
from howsure.store.schema import OWNED, answered, document_versions, documents, labels, runs, sessions

KINDS = ("runs", "transcripts", "documents", "labels", "audit", "sessions", "answered")
"""What can be kept for a limited time."""
LIVE = ("pending", "running")


class Retention(StorePart):
    """Retention for everything in a store."""

    async def purge(self, ages: Mapping[str, int], undelete_days: int, *, dry_run: bool = False) -> dict[str, int]:
        """Remove what is too old, and return how many of each kind were, or would be, removed. `ages` says how many
        days each kind is kept; one that is not named is kept for ever. A deleted document can be brought back for
        `undelete_days`."""
        now = self._clock()
        before = {kind: now - timedelta(days=days) for kind, days in ages.items()}
        done = {"deleted_documents": await self._purge_documents(now - timedelta(days=undelete_days), None, dry_run)}
        if "documents" in before:
            done["documents"] = await self._purge_documents(None, before["documents"], dry_run)
        if "runs" in before:
            done["runs"] = await self._each_run(before["runs"], dry_run, delete_run)
        if "transcripts" in before:
            done["transcripts"] = await self._each_run(before["transcripts"], dry_run, erase_conversations)
        for kind, (table, column) in _ROWS.items():
            if kind in before:
                done[kind] = await self._delete_rows(table, table.c[column] < before[kind], dry_run)
        if "audit" in before:
            done["audit"] = await AuditLog(self._database, self._clock).trim(before["audit"], now, dry_run=dry_run)
        return done

    async def _delete_rows(self, table: Table, older: ColumnElement[bool], dry_run: bool) -> int:
        if dry_run:
            counted = select(func.count()).select_from(table).where(older)
            return await self._database.read(lambda connection: connection.scalar(counted) or 0)
        return await self._database.write(lambda connection: connection.execute(delete(table).where(older)).rowcount)

    async def _each_run(self, before: datetime, dry_run: bool, do: Callable[[Connection, str], object]) -> int:
        """Runs that are over. One transaction each: others write meanwhile."""
        older = select(runs.c.id).where(runs.c.created_at < before, runs.c.state.not_in(LIVE))
        ids = await self._database.read(lambda connection: list(connection.scalars(older)))
        if do is erase_conversations:
            ids = [run_id for run_id in ids if await self._database.read(has_conversations, run_id)]
        for run_id in () if dry_run else ids:
            await self._database.write(do, run_id)
        return len(ids)

    async def _purge_documents(self, deleted: datetime | None, updated: datetime | None, dry_run: bool) -> int:
        """Those that were deleted before a time, or were last changed before one."""
        old = documents.c.deleted_at < deleted if deleted else documents.c.updated_at < updated
        here = and_(*(document_versions.c[name] == documents.c[name] for name in OWNED))
        has_content = select(document_versions.c.id).where(here, document_versions.c.note != PURGED).exists()
        chosen = select(*(documents.c[name] for name in OWNED)).where(old, has_content)
        keys = await self._database.read(lambda connection: [tuple(row) for row in connection.execute(chosen)])
        for key in () if dry_run else keys:
            await self._database.write(_purge_document, key, self._clock())
        return len(keys)


_ROWS: dict[str, tuple[Table, str]] = {
    "labels": (labels, "created_at"),
    "sessions": (sessions, "ends_at"),
    "answered": (answered, "created_at"),
}


def _purge_document(connection: Connection, key: DocumentKey, now: datetime) -> None:
    """Every version loses its content, its author and its note; that there was one stays."""
    own = of_document(document_versions, key)
    for row in list(raw_rows(connection, document_versions, own, order="version")):
        blank: dict[str, Any] = {"body": b"", "sha256": sha256(b"").hexdigest(), "author": "", "note": PURGED}
        blank["checksum"] = row_checksum(connection, {**row, **blank}, VERSION_COLUMNS)
        here = update(document_versions).where(own, document_versions.c.version == row["version"])
        connection.execute(here.values(blank))
    undeleted = (of_document(documents, key), documents.c.deleted_at.is_(None))
    connection.execute(update(documents).where(*undeleted).values(deleted_at=now))
    if key[1] == DocumentKind.DATASET.value:
        index_cases(connection, key[0], key[2], ())
