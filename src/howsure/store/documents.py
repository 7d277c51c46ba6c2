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
from howsure.store.database import Database, not_idempotent
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


class _DocumentTarget(Struct, frozen=True):
    """The document to change, and the version that it is expected to have."""

    kind: DocumentKind
    key: str
    within: AccessScope
    expected: int | None


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
        number = await self._database.write(_revise, _DocumentTarget(kind, key, within, expected), draft, self._clock())
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
        wanted = _one(kind, key, within)
        if not deleted:
            wanted = wanted.where(documents.c.deleted_at.is_(None))
        found = await self._database.read(_load, _with_version(wanted, version))
        if not found:
            raise NotFound(await self._database.read(_missing, wanted, kind, key, version))
        return found[0]

    async def several(
        self, kind: DocumentKind, listing: DocumentQuery, within: AccessScope = EVERYWHERE
    ) -> list[Document]:
        """The newest versions, newest document first."""
        return await self._database.read(_load, _page(kind, listing, within))

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
        wanted = _one(kind, key, within)
        page = _with_every_version(wanted).order_by(document_versions.c.version.desc()).limit(limit)
        if before is not None:
            page = page.where(document_versions.c.version < before)
        found = await self._database.read(_load, page)
        if not found and before is None:
            raise NotFound(await self._database.read(_missing, wanted, kind, key, None))
        return found

    async def changes(
        self, document: Document, limit: int = CHANGELOG_LENGTH, before: int | None = None
    ) -> list[Revision]:
        """The versions of a document without their bodies, newest first; `before` is the last one already seen."""
        return await self._database.read(_changes, document, limit, before)

    async def previews(
        self, kind: DocumentKind, *, limit: int = 50, before: str | None = None, within: AccessScope = EVERYWHERE
    ) -> list[DocumentPreview]:
        """The documents of a kind, newest first, without their bodies."""
        return await self._database.read(_previews, kind, limit, before, within)

    async def labels(
        self, kind: DocumentKind, keys: Collection[str], within: AccessScope = EVERYWHERE
    ) -> dict[str, str]:
        """What these documents are called, "(deleted)" where they were; no body is read."""
        return await self._database.read(_labels, visible(_about(kind, keys), documents, within)) if keys else {}

    async def delete(
        self, kind: DocumentKind, key: str, *, expected: int | None = None, within: AccessScope = EVERYWHERE
    ) -> None:
        """It is no longer listed or found; runs that refer to a version can still read it."""
        await self._database.write(_delete, _DocumentTarget(kind, key, within, expected), self._clock())


def _changes(connection: Connection, document: Document, limit: int, before: int | None) -> list[Revision]:
    key, columns = (document.organization_id, document.kind.value, document.id), document_versions.c
    statement = select(*(columns[name] for name in Revision.__struct_fields__))
    statement = statement.where(*(columns[name] == value for name, value in zip(OWNED, key, strict=True)))
    if before is not None:
        statement = statement.where(columns.version < before)
    newest = connection.execute(statement.order_by(columns.version.desc()).limit(limit)).mappings()
    return [Revision(**row) for row in newest]


def _previews(
    connection: Connection, kind: DocumentKind, limit: int, before: str | None, within: AccessScope
) -> list[DocumentPreview]:
    same = (*(document_versions.c[name] == documents.c[name] for name in OWNED),)
    newest = document_versions.c.version == documents.c.version
    written = [document_versions.c[name] for name in ("author", "note", "dialect")]
    columns = [column for column in documents.c if column.name != "deleted_at"]
    statement = select(*columns, *written, func.length(document_versions.c.body).label("size"))
    statement = statement.select_from(documents.join(document_versions, and_(*same, newest)))
    statement = statement.where(documents.c.kind == kind.value, documents.c.deleted_at.is_(None))
    page = newest_first(visible(statement, documents, within), documents, limit, before)
    return [DocumentPreview(**{**row, "kind": kind}) for row in connection.execute(page).mappings()]


def _about(kind: DocumentKind, keys: Collection[str]) -> Select[Any]:
    named = select(documents.c.id, documents.c.name, documents.c.deleted_at)
    return named.where(documents.c.kind == kind.value, documents.c.id.in_(sorted(keys)))


def _labels(connection: Connection, statement: Select[Any]) -> dict[str, str]:
    return {each.id: document_label(each.name, each.deleted_at) for each in connection.execute(statement)}


def _one(kind: DocumentKind, key: str, within: AccessScope) -> Select[Any]:
    """Where several organisations have this id and the caller sees them all, the one without an organisation comes
    first."""
    wanted = select(documents).where(documents.c.kind == kind.value, documents.c.id == key)
    return visible(wanted.order_by(documents.c.organization_id), documents, within)


def _page(kind: DocumentKind, listing: DocumentQuery, within: AccessScope) -> Select[Any]:
    wanted = select(documents).where(documents.c.kind == kind.value, documents.c.deleted_at.is_(None))
    for column in ("agent_id", "name"):
        if (value := getattr(listing, column)) is not None:
            wanted = wanted.where(documents.c[column] == value)
    newest_versions = _with_version(visible(wanted, documents, within), None)
    return newest_first(newest_versions, documents, listing.limit, listing.before)


def _with_every_version(wanted: Select[Any]) -> Select[Any]:
    same = and_(*(document_versions.c[name] == documents.c[name] for name in OWNED))
    columns = [column.label(f"edition_{column.name}") for column in document_versions.c if column.name not in OWNED]
    return wanted.add_columns(*columns).join(document_versions, same)


def _with_version(wanted: Select[Any], version: int | None) -> Select[Any]:
    number = documents.c.version if version is None else version
    return _with_every_version(wanted).where(document_versions.c.version == number)


def _load(connection: Connection, statement: Select[Any]) -> list[Document]:
    return [_document(found) for found in connection.execute(statement)]


def _document(found: Any) -> Document:
    edition = DocumentVersion(
        version=found.edition_version,
        body=found.edition_body,
        sha256=found.edition_sha256,
        created_at=found.edition_created_at,
        author=found.edition_author,
        note=found.edition_note,
        dialect=found.edition_dialect,
    )
    return Document(
        id=found.id,
        kind=DocumentKind(found.kind),
        agent_id=found.agent_id,
        name=found.name,
        latest=found.version,
        created_at=found.created_at,
        updated_at=found.updated_at,
        edition=edition,
        organization_id=found.organization_id,
        deleted_at=found.deleted_at,
    )


def _is_created(
    connection: Connection, _: None, owned: tuple[str, str, str], draft: DocumentDraft, now: datetime
) -> bool:
    return _is_written(connection, owned, 1, draft, now)


def _is_revised(
    connection: Connection, number: int, wanted: _DocumentTarget, draft: DocumentDraft, now: datetime
) -> bool:
    found = connection.execute(_one(wanted.kind, wanted.key, wanted.within)).first()
    owned = tuple(getattr(found, name, "") for name in OWNED)
    return found is not None and _is_written(connection, owned, number, draft, now)


def _is_written(
    connection: Connection, owned: tuple[str, ...], number: int, draft: DocumentDraft, now: datetime
) -> bool:
    """Whether this version is there, and is the one that was written then."""
    values = {**dict(zip(OWNED, owned, strict=True)), "version": number, "created_at": now, "author": draft.author}
    here = and_(*(document_versions.c[name] == value for name, value in values.items()))
    found = connection.scalar(select(document_versions.c.sha256).where(here))
    return bool(found == sha256(draft.body).hexdigest())


@not_idempotent(_is_created)
def _create(connection: Connection, owned: tuple[str, str, str], draft: DocumentDraft, now: datetime) -> None:
    values = dict(zip(OWNED, owned, strict=True))
    about = {"agent_id": draft.agent_id or "", "name": draft.name or ""}
    times = {"created_at": now, "updated_at": now}
    try:
        connection.execute(insert(documents).values(**values, **about, **times, version=1))
    except IntegrityError as error:
        raise Conflict(f"there is a {_words(owned[1])} {owned[2]} already") from error
    _write_version(connection, values, 1, draft, now)


@not_idempotent(_is_revised)
def _revise(connection: Connection, wanted: _DocumentTarget, draft: DocumentDraft, now: datetime) -> int:
    found = _held(connection, wanted)
    values = {name: getattr(found, name) for name in OWNED}
    about = {name: value for name in ("agent_id", "name") if (value := getattr(draft, name)) is not None}
    here = and_(*(documents.c[name] == value for name, value in values.items()))
    moved = connection.execute(
        update(documents)
        .where(here, documents.c.version == found.version)
        .values(version=found.version + 1, updated_at=now, **about)
    )
    if not moved.rowcount:
        raise Conflict(f"the {_words(found.kind)} {found.id} was changed by somebody else just now: read it again")
    _write_version(connection, values, found.version + 1, draft, now)
    return int(found.version) + 1


def _delete(connection: Connection, wanted: _DocumentTarget, now: datetime) -> None:
    found = _held(connection, wanted)
    here = and_(*(documents.c[name] == getattr(found, name) for name in OWNED))
    connection.execute(update(documents).where(here).values(deleted_at=now))


def _held(connection: Connection, wanted: _DocumentTarget) -> Any:
    """The document, locked until the transaction ends."""
    statement = _one(wanted.kind, wanted.key, wanted.within)
    found = connection.execute(statement.where(documents.c.deleted_at.is_(None)).with_for_update()).first()
    if found is None:
        raise NotFound(_missing(connection, statement, wanted.kind, wanted.key, None))
    if wanted.expected is not None and wanted.expected != found.version:
        raise Conflict(
            f"the {_words(found.kind)} {found.id} is at version {found.version}, not {wanted.expected}: "
            "somebody else changed it; read it again"
        )
    return found


def _write_version(
    connection: Connection, values: dict[str, str], number: int, draft: DocumentDraft, now: datetime
) -> None:
    text = {"author": draft.author, "note": draft.note, "dialect": draft.dialect}
    content = {"body": draft.body, "sha256": sha256(draft.body).hexdigest()}
    connection.execute(insert(document_versions).values(**values, version=number, created_at=now, **text, **content))
    if values["kind"] == DocumentKind.DATASET.value:
        index_cases(connection, values["organization_id"], values["id"], draft.case_ids)


def _missing(connection: Connection, wanted: Select[Any], kind: DocumentKind, key: str, version: int | None) -> str:
    found = connection.execute(wanted).first()
    if found is None:
        return f"there is no {_words(kind.value)} {key}"
    if version is not None:
        return f"the {_words(kind.value)} {key} has no version {version}; the newest is {found.version}"
    return f"the {_words(kind.value)} {key} was deleted"


def _words(kind: str) -> str:
    return kind.replace("_", " ")
