"""Documents and their versions. A version is written once and never changed; making the next one and moving the
document on to it is one transaction, and the loser of a race gets a Conflict. Also the index of cases in uploaded
datasets, so that a case is found by its id alone: it holds only newest versions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid5

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import ColumnElement, Connection, Select, Table, and_, delete, func, insert, select, tuple_, update
from sqlalchemy.exc import IntegrityError

from howsure.errors import Conflict, NotFound
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.document import Document, DocumentKind, DocumentVersion, document_label
from howsure.store.codecs import VERSION_COLUMNS, row_checksum
from howsure.store.database import StorePart, chunks, fetch_rows, not_idempotent
from howsure.store.pages import newest_first, visible
from howsure.store.schema import OWNED, as_text, dataset_cases, document_versions, documents


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
    """Which documents to list; None: any. `before` is the `cursor` of the last one already seen; `deleted`: those that
    were deleted and can be brought back, and no others."""

    limit: int = 50
    before: str | None = None
    agent_id: str | None = None
    name: str | None = None
    deleted: bool = False


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


PURGED = "purged"
"""The note of a version whose content is gone."""
CHANGELOG_LENGTH = 100
"""Versions that a changelog tells of: the newest."""
CASES = UUID("5b6f2f2e-3f0c-5d43-9a59-6f5d4c1f9d11")
INSERTED_AT_ONCE = 1000


class DocumentStore(StorePart):
    """`within` is what the caller may see; everything else is treated as missing."""

    async def create(
        self, kind: DocumentKind, key: str, draft: DocumentDraft, within: AccessScope = EVERYWHERE
    ) -> Document:
        """Version 1; Conflict where there is one by this id."""
        await self._database.write(_create, (within.home, kind.value, key), draft, self._clock())
        return await self.get(kind, key, 1, within=within, deleted=True)

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
        within = await self._owner(kind, key, within)
        number = await self._database.write(
            _revise, _one(kind, key, within), draft, self._clock(), _name(kind.value, key), expected
        )
        # The one that was just written, even if there is a newer one by now.
        return await self.get(kind, key, number, within=within, deleted=True)

    async def _owner(self, kind: DocumentKind, key: str, within: AccessScope) -> AccessScope:
        """The scope of the one organisation that has this document. Organisations may use the same id: a caller who
        sees several of them must say which one is meant, or one organisation could pass off its document as another's.
        A document without an organisation is such a caller's own, and comes first."""
        if within.organization_id is not None:
            return within
        found = await self._database.read(fetch_rows, _one(kind, key, within))
        owners = sorted(row.organization_id for row in found)
        if len(owners) > 1 and owners[0]:
            raise Conflict(
                f"several organisations have {_name(kind.value, key)}: {', '.join(owners)}; say which one is meant: "
                "send X-Organization, or use a key of that organisation"
            )
        return replace(within, organization_id=owners[0]) if owners else within

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
        one = _one(kind, key, await self._owner(kind, key, within))
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
        statement = select(documents).where(documents.c.kind == kind.value)
        if listing.deleted:
            statement = statement.where(documents.c.deleted_at.is_not(None), document_versions.c.note != PURGED)
        else:
            statement = statement.where(documents.c.deleted_at.is_(None))
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
        one = _one(kind, key, await self._owner(kind, key, within))
        page = (
            _with_every_version(one.where(documents.c.deleted_at.is_(None)))
            .order_by(document_versions.c.version.desc())
            .limit(limit)
        )
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
        statement = statement.where(of_document(document_versions, key))
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
        """What these documents are called, "(deleted)" where they were; no body is read. An id that several
        organisations have has no name here: it could be another's."""
        if not keys:
            return {}
        columns = documents.c
        named: Select[Any] = select(columns.id, columns.name, columns.deleted_at)
        named = visible(named.where(columns.kind == kind.value, columns.id.in_(sorted(keys))), documents, within)
        rows = await self._database.read(fetch_rows, named)
        owners = Counter(row.id for row in rows)
        return {row.id: document_label(row.name, row.deleted_at) for row in rows if owners[row.id] == 1}

    async def delete(
        self, kind: DocumentKind, key: str, *, expected: int | None = None, within: AccessScope = EVERYWHERE
    ) -> None:
        """It is no longer listed or found. Until its content is purged `undelete` brings it back, and runs that wait in
        the queue can read their version."""
        name = _name(kind.value, key)
        one = _one(kind, key, await self._owner(kind, key, within))
        await self._database.write(_delete, one, self._clock(), name, expected)

    async def undelete(self, kind: DocumentKind, key: str, within: AccessScope = EVERYWHERE) -> Document:
        """Conflict where it was not deleted, NotFound where its content is gone."""
        one = _one(kind, key, await self._owner(kind, key, within))
        await self._database.write(_undelete, one, _name(kind.value, key))
        return await self.get(kind, key, within=within)


DocumentKey = tuple[str, str, str]
"""The values of OWNED."""


def of_document(table: Table, key: DocumentKey) -> ColumnElement[bool]:
    """The rows of a table that belong to one document."""
    return and_(*(table.c[name] == value for name, value in zip(OWNED, key, strict=True)))


def _key(row: Any) -> DocumentKey:
    return row.organization_id, row.kind, row.id


def _one(kind: DocumentKind, key: str, within: AccessScope) -> Select[Any]:
    return visible(select(documents).where(documents.c.kind == kind.value, documents.c.id == key), documents, within)


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
    edition = {name: getattr(row, f"edition_{name}") for name in DocumentVersion.__struct_fields__}
    own = {name: getattr(row, name) for name in Document.__struct_fields__ if name in documents.c}
    # As they were then.
    own |= {name: value for name in ("name", "agent_id") if (value := getattr(row, f"edition_{name}")) is not None}
    own |= {"kind": DocumentKind(row.kind), "latest": row.version, "edition": DocumentVersion(**edition)}
    return Document(**own)


def _is_revised(
    connection: Connection, number: int, statement: Select[Any], draft: DocumentDraft, now: datetime, *_: object
) -> bool:
    document = connection.execute(statement).first()
    return document is not None and _is_written(connection, _key(document), number, draft, now)


def _is_written(connection: Connection, owned: DocumentKey, number: int, draft: DocumentDraft, now: datetime) -> bool:
    """Whether this version is there, and is the one that was written then."""
    values = {"version": number, "created_at": now, "author": draft.author}
    here = (document_versions.c[name] == value for name, value in values.items())
    found = connection.scalar(select(document_versions.c.sha256).where(of_document(document_versions, owned), *here))
    return bool(found == sha256(draft.body).hexdigest())


@not_idempotent(lambda connection, _, owned, draft, now: _is_written(connection, owned, 1, draft, now))
def _create(connection: Connection, owned: DocumentKey, draft: DocumentDraft, now: datetime) -> None:
    values = dict(zip(OWNED, owned, strict=True))
    about = {"agent_id": draft.agent_id or "", "name": draft.name or ""}
    times = {"created_at": now, "updated_at": now}
    try:
        connection.execute(insert(documents).values(**values, **about, **times, version=1))
    except IntegrityError as error:
        raise Conflict(f"the {_name(*owned[1:])} is there already") from error
    _write_version(connection, owned, 1, draft, now, about)


@not_idempotent(_is_revised)
def _revise(
    connection: Connection, one: Select[Any], draft: DocumentDraft, now: datetime, name: str, expected: int | None
) -> int:
    document = _lock_document(connection, one, name, expected)
    about = {column: value for column in ("agent_id", "name") if (value := getattr(draft, column)) is not None}
    here = update(documents).where(of_document(documents, _key(document)), documents.c.version == document.version)
    moved = connection.execute(here.values(version=document.version + 1, updated_at=now, **about))
    if not moved.rowcount:
        raise Conflict(f"the {name} was changed by somebody else just now: read it again")
    named = {"agent_id": document.agent_id, "name": document.name, **about}
    _write_version(connection, _key(document), document.version + 1, draft, now, named)
    return int(document.version) + 1


def _delete(connection: Connection, one: Select[Any], now: datetime, name: str, expected: int | None) -> None:
    document = _lock_document(connection, one, name, expected)
    here = of_document(documents, _key(document))
    connection.execute(update(documents).where(here).values(deleted_at=now))


def _undelete(connection: Connection, one: Select[Any], name: str) -> None:
    document = connection.execute(one.with_for_update()).first()
    if document is None:
        raise NotFound(f"there is no {name}")
    if document.deleted_at is None:
        raise Conflict(f"the {name} is not deleted")
    kept = select(document_versions.c.note).where(of_document(document_versions, _key(document)))
    if connection.scalar(kept.where(document_versions.c.version == document.version)) == PURGED:
        raise NotFound(f"the content of the {name} is gone: it was deleted too long ago")
    here = of_document(documents, _key(document))
    connection.execute(update(documents).where(here).values(deleted_at=None))


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
    connection: Connection,
    owned: DocumentKey,
    number: int,
    draft: DocumentDraft,
    now: datetime,
    named: Mapping[str, str],
) -> None:
    text = {"author": draft.author, "note": draft.note, "dialect": draft.dialect}
    content = {"body": draft.body, "sha256": sha256(draft.body).hexdigest()}
    row = {**dict(zip(OWNED, owned, strict=True)), "version": number, **text, **content}
    own = row_checksum(connection, {**row, "created_at": as_text(now)}, VERSION_COLUMNS)
    connection.execute(insert(document_versions).values(**row, **named, created_at=now, checksum=own))
    if owned[1] == DocumentKind.DATASET.value:
        index_cases(connection, owned[0], owned[2], draft.case_ids)


def _missing(connection: Connection, one: Select[Any], name: str, version: int | None) -> str:
    document = connection.execute(one).first()
    if document is None:
        return f"there is no {name}"
    if version is not None:
        return f"the {name} has no version {version}; the newest is {document.version}"
    return f"the {name} was deleted"


def _name(kind: str, key: str) -> str:
    """The document in the words of a message."""
    kind = "evaluator config" if kind == DocumentKind.GRADERS.value else kind.replace("_", " ")
    return f"{kind} {key}"


class CaseAddress(Struct, frozen=True):
    """A case of a dataset: its address, its id in the file, and how many stand before it."""

    id: str
    dataset_id: str
    case_id: str
    position: int


def case_address(dataset_id: str, case_id: str) -> str:
    """The id of a case among those of all datasets."""
    return str(uuid5(CASES, f"{dataset_id}\n{case_id}"))


class DatasetCaseIndex(StorePart):
    """The cases of uploaded datasets, by their addresses."""

    async def find(self, id: str, within: AccessScope = EVERYWHERE) -> CaseAddress:
        """Whose dataset it is in must still be asked: an agent's boundary is the dataset's."""
        statement = visible(select(dataset_cases).where(dataset_cases.c.id == id), dataset_cases, within)
        rows = await self._database.read(fetch_rows, statement.limit(1))
        if not rows:
            raise NotFound(f"there is no test case {id}")
        return CaseAddress(rows[0].id, rows[0].dataset_id, rows[0].case_id, rows[0].position)

    async def count(self, datasets: Sequence[Document | DocumentPreview]) -> dict[tuple[str, str], int]:
        """How many cases the newest versions have, by organisation and id: two organisations may keep the same cases
        under the same id."""
        if not datasets:
            return {}
        place = (dataset_cases.c.organization_id, dataset_cases.c.dataset_id)
        keys = [(dataset.organization_id, dataset.id) for dataset in datasets]
        counts = select(*place, func.count()).where(tuple_(*place).in_(keys)).group_by(*place)
        return {(row[0], row[1]): row[2] for row in await self._database.read(fetch_rows, counts)}


def index_cases(connection: Connection, organization_id: str, dataset_id: str, case_ids: Sequence[str]) -> None:
    """Note down the cases of a new version, in place of those of the one before."""
    here = (dataset_cases.c.organization_id == organization_id, dataset_cases.c.dataset_id == dataset_id)
    connection.execute(delete(dataset_cases).where(*here))
    values = [
        {
            "organization_id": organization_id,
            "id": case_address(dataset_id, case_id),
            "dataset_id": dataset_id,
            "case_id": case_id,
            "position": position,
        }
        for position, case_id in enumerate(case_ids)
    ]
    for some in chunks(values, INSERTED_AT_ONCE):
        connection.execute(insert(dataset_cases), some)
