"""Documents and their versions. A version is written once and never changed; making the next one and moving the
document on to it is one transaction, and the loser of a race gets a Conflict."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from hashlib import sha256
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, Select, and_, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from howsure.errors import Conflict, NotFound
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.document import Document, DocumentKind, DocumentVersion, document_label
from howsure.store.database import Database, fetch_rows, not_idempotent
from howsure.store.dataset_cases import index_cases
from howsure.store.pages import newest_first, visible
from howsure.store.schema import OWNED, document_versions, documents


class DocumentDraft(Struct, frozen=True, kw_only=True):
    """A version to be written. `agent_id` and `name` None: as they were. `case_ids` are those of a dataset's cases."""

    body: bytes
    agent_id: str | None = None
    name: str | None = None
    author: str = ""
    note: str = ""
    dialect: str = ""
    case_ids: tuple[str, ...] = ()


class DocumentQuery(Struct, frozen=True, kw_only=True):
    """Which documents to list; None: any. `before` is the `cursor` of the last one already seen."""

    limit: int = 50
    before: str | None = None
    agent_id: str | None = None
    name: str | None = None


class Revision(Struct, frozen=True, kw_only=True):
    """One version without its body: who wrote it, when and why."""

    version: int
    created_at: datetime
    author: str
    note: str


class DocumentPreview(Struct, frozen=True, kw_only=True):
    """A document without its body, and who wrote its newest version; `size` is in bytes."""

    id: str
    kind: DocumentKind
    organization_id: str
    agent_id: str
    name: str
    version: int
    created_at: datetime
    updated_at: datetime
    author: str
    note: str
    dialect: str
    size: int


CHANGELOG_LENGTH = 100
"""Versions that a changelog tells of: the newest."""


class DocumentStore:
    """`within` is what the caller may see; everything else is treated as missing."""

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock

    async def create(
        self, kind: DocumentKind, key: str, draft: DocumentDraft, within: AccessScope = EVERYWHERE
    ) -> Document:
        """Version 1; Conflict where there is one by this id."""
        await self._database.write(_create, (within.home, kind.value, key), draft, self._clock())
        return await self._written(kind, key, 1, within)

    async def revise(
        self,
        kind: DocumentKind,
        key: str,
        draft: DocumentDraft,
        *,
        expected: int | None = None,
        within: AccessScope = EVERYWHERE,
    ) -> Document:
        """The next version. `expected` is the version that the change was made to: Conflict where it is not the newest
        any more."""
        number = await self._database.write(
            _revise, _one(kind, key, within), draft, self._clock(), _name(kind.value, key), expected
        )
        return await self._written(kind, key, number, within)

    async def _written(self, kind: DocumentKind, key: str, version: int, within: AccessScope) -> Document:
        """The version that was just written, even if there is a newer one by now."""
        return await self.get(kind, key, version, within=within, deleted=True)

    async def get(
        self,
        kind: DocumentKind,
        key: str,
        version: int | None = None,
        *,
        within: AccessScope = EVERYWHERE,
        deleted: bool = False,
    ) -> Document:
        """The newest version, or the one asked for. One that was deleted is found only when that is asked for."""
        one = _one(kind, key, within)
        if not deleted:
            one = one.where(documents.c.deleted_at.is_(None))
        read = await self._database.read(_load, _with_version(one, version))
        if not read:
            raise NotFound(await self._database.read(_missing, one, _name(kind.value, key), version))
        return read[0]

    async def several(
        self, kind: DocumentKind, listing: DocumentQuery, within: AccessScope = EVERYWHERE
    ) -> list[Document]:
        """The newest versions, newest document first."""
        statement = select(documents).where(documents.c.kind == kind.value, documents.c.deleted_at.is_(None))
        for column in ("agent_id", "name"):
            if (value := getattr(listing, column)) is not None:
                statement = statement.where(documents.c[column] == value)
        newest_versions = _with_version(visible(statement, documents, within), None)
        page = newest_first(newest_versions, documents, listing.limit, listing.before)
        return await self._database.read(_load, page)

    async def versions(
        self,
        kind: DocumentKind,
        key: str,
        *,
        limit: int = 50,
        before: int | None = None,
        within: AccessScope = EVERYWHERE,
    ) -> list[Document]:
        """Every version, newest first; `before` is the number of the last one already seen."""
        one = _one(kind, key, within)
        page = _with_every_version(one).order_by(document_versions.c.version.desc()).limit(limit)
        if before is not None:
            page = page.where(document_versions.c.version < before)
        versions = await self._database.read(_load, page)
        if not versions and before is None:
            raise NotFound(await self._database.read(_missing, one, _name(kind.value, key), None))
        return versions

    async def changes(
        self, document: Document, limit: int = CHANGELOG_LENGTH, before: int | None = None
    ) -> list[Revision]:
        """The versions of a document without their bodies, newest first; `before` is the last one already seen."""
        key, columns = (document.organization_id, document.kind.value, document.id), document_versions.c
        statement: Select[Any] = select(*(columns[name] for name in Revision.__struct_fields__))
        statement = statement.where(*(columns[name] == value for name, value in zip(OWNED, key, strict=True)))
        if before is not None:
            statement = statement.where(columns.version < before)
        newest = statement.order_by(columns.version.desc()).limit(limit)
        return [Revision(**row._mapping) for row in await self._database.read(fetch_rows, newest)]

    async def previews(
        self, kind: DocumentKind, *, limit: int = 50, before: str | None = None, within: AccessScope = EVERYWHERE
    ) -> list[DocumentPreview]:
        """The documents of a kind, newest first, without their bodies."""
        same = (document_versions.c[name] == documents.c[name] for name in (*OWNED, "version"))
        written = [document_versions.c[name] for name in ("author", "note", "dialect")]
        columns = [column for column in documents.c if column.name != "deleted_at"]
        statement = select(*columns, *written, func.length(document_versions.c.body).label("size"))
        statement = statement.select_from(documents.join(document_versions, and_(*same)))
        statement = statement.where(documents.c.kind == kind.value, documents.c.deleted_at.is_(None))
        page = newest_first(visible(statement, documents, within), documents, limit, before)
        rows = await self._database.read(fetch_rows, page)
        return [DocumentPreview(**{**row._mapping, "kind": kind}) for row in rows]

    async def labels(
        self, kind: DocumentKind, keys: Collection[str], within: AccessScope = EVERYWHERE
    ) -> dict[str, str]:
        """What these documents are called, "(deleted)" where they were; no body is read."""
        if not keys:
            return {}
        columns = documents.c
        named: Select[Any] = select(columns.id, columns.name, columns.deleted_at)
        named = visible(named.where(columns.kind == kind.value, columns.id.in_(sorted(keys))), documents, within)
        rows = await self._database.read(fetch_rows, named)
        return {row.id: document_label(row.name, row.deleted_at) for row in rows}

    async def delete(
        self, kind: DocumentKind, key: str, *, expected: int | None = None, within: AccessScope = EVERYWHERE
    ) -> None:
        """It is no longer listed or found; runs that refer to a version can still read it."""
        name = _name(kind.value, key)
        await self._database.write(_delete, _one(kind, key, within), self._clock(), name, expected)


def _one(kind: DocumentKind, key: str, within: AccessScope) -> Select[Any]:
    """Where several organisations have this id and the caller sees them all, the one without an organisation comes
    first."""
    statement = select(documents).where(documents.c.kind == kind.value, documents.c.id == key)
    return visible(statement.order_by(documents.c.organization_id), documents, within)


def _with_every_version(statement: Select[Any]) -> Select[Any]:
    same = and_(*(document_versions.c[name] == documents.c[name] for name in OWNED))
    columns = [column.label(f"edition_{column.name}") for column in document_versions.c if column.name not in OWNED]
    return statement.add_columns(*columns).join(document_versions, same)


def _with_version(statement: Select[Any], version: int | None) -> Select[Any]:
    number = documents.c.version if version is None else version
    return _with_every_version(statement).where(document_versions.c.version == number)


def _load(connection: Connection, statement: Select[Any]) -> list[Document]:
    return [_document(row) for row in connection.execute(statement)]


def _document(row: Any) -> Document:
    edition = DocumentVersion(
        version=row.edition_version,
        body=row.edition_body,
        sha256=row.edition_sha256,
        created_at=row.edition_created_at,
        author=row.edition_author,
        note=row.edition_note,
        dialect=row.edition_dialect,
    )
    return Document(
        id=row.id,
        kind=DocumentKind(row.kind),
        agent_id=row.agent_id,
        name=row.name,
        latest=row.version,
        created_at=row.created_at,
        updated_at=row.updated_at,
        edition=edition,
        organization_id=row.organization_id,
        deleted_at=row.deleted_at,
    )


def _is_revised(
    connection: Connection, number: int, statement: Select[Any], draft: DocumentDraft, now: datetime, *_: object
) -> bool:
    document = connection.execute(statement).first()
    owned = tuple(getattr(document, name, "") for name in OWNED)
    return document is not None and _is_written(connection, owned, number, draft, now)


def _is_written(
    connection: Connection, owned: tuple[str, ...], number: int, draft: DocumentDraft, now: datetime
) -> bool:
    """Whether this version is there, and is the one that was written then."""
    values = {**dict(zip(OWNED, owned, strict=True)), "version": number, "created_at": now, "author": draft.author}
    here = and_(*(document_versions.c[name] == value for name, value in values.items()))
    found = connection.scalar(select(document_versions.c.sha256).where(here))
    return bool(found == sha256(draft.body).hexdigest())


@not_idempotent(lambda connection, _, owned, draft, now: _is_written(connection, owned, 1, draft, now))
def _create(connection: Connection, owned: tuple[str, str, str], draft: DocumentDraft, now: datetime) -> None:
    values = dict(zip(OWNED, owned, strict=True))
    about = {"agent_id": draft.agent_id or "", "name": draft.name or ""}
    times = {"created_at": now, "updated_at": now}
    try:
        connection.execute(insert(documents).values(**values, **about, **times, version=1))
    except IntegrityError as error:
        raise Conflict(f"there is a {_name(*owned[1:])} already") from error
    _write_version(connection, values, 1, draft, now)


@not_idempotent(_is_revised)
def _revise(
    connection: Connection, one: Select[Any], draft: DocumentDraft, now: datetime, name: str, expected: int | None
) -> int:
    document = _lock_document(connection, one, name, expected)
    key = {column: getattr(document, column) for column in OWNED}
    about = {column: value for column in ("agent_id", "name") if (value := getattr(draft, column)) is not None}
    here = and_(*(documents.c[column] == value for column, value in key.items()))
    moved = connection.execute(
        update(documents)
        .where(here, documents.c.version == document.version)
        .values(version=document.version + 1, updated_at=now, **about)
    )
    if not moved.rowcount:
        raise Conflict(f"the {name} was changed by somebody else just now: read it again")
    _write_version(connection, key, document.version + 1, draft, now)
    return int(document.version) + 1


def _delete(connection: Connection, one: Select[Any], now: datetime, name: str, expected: int | None) -> None:
    document = _lock_document(connection, one, name, expected)
    here = and_(*(documents.c[column] == getattr(document, column) for column in OWNED))
    connection.execute(update(documents).where(here).values(deleted_at=now))


def _lock_document(connection: Connection, one: Select[Any], name: str, expected: int | None) -> Any:
    """The document at the expected version, locked until the transaction ends."""
    document = connection.execute(one.where(documents.c.deleted_at.is_(None)).with_for_update()).first()
    if document is None:
        raise NotFound(_missing(connection, one, name, None))
    if expected is not None and expected != document.version:
        raise Conflict(
            f"the {name} is at version {document.version}, not {expected}: somebody else changed it; read it again"
        )
    return document


def _write_version(
    connection: Connection, values: dict[str, str], number: int, draft: DocumentDraft, now: datetime
) -> None:
    text = {"author": draft.author, "note": draft.note, "dialect": draft.dialect}
    content = {"body": draft.body, "sha256": sha256(draft.body).hexdigest()}
    connection.execute(insert(document_versions).values(**values, version=number, created_at=now, **text, **content))
    if values["kind"] == DocumentKind.DATASET.value:
        index_cases(connection, values["organization_id"], values["id"], draft.case_ids)


def _missing(connection: Connection, one: Select[Any], name: str, version: int | None) -> str:
    document = connection.execute(one).first()
    if document is None:
        return f"there is no {name}"
    if version is not None:
        return f"the {name} has no version {version}; the newest is {document.version}"
    return f"the {name} was deleted"


def _name(kind: str, key: str) -> str:
    """The document in the words of a message."""
    return f"{kind.replace('_', ' ')} {key}"
