"""Documents and their versions. A version is written once and never changed; making the next one and moving the
document on to it is one transaction, and whoever lost a race is told so."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from hashlib import sha256
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, Select, Text, and_, insert, select, tuple_, update
from sqlalchemy.exc import IntegrityError

from howsure.errors import Conflict, NotFound
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.document import Document, DocumentKind, Edition, labelled
from howsure.store.database import Database, once
from howsure.store.schema import Moment, as_text
from howsure.store.service.cases import place_cases
from howsure.store.service.places import read_place
from howsure.store.service_schema import OWNED, document_versions, documents


class Draft(Struct, frozen=True, kw_only=True):
    """A version to be written. `agent_id` and `name` None: as they were. `case_ids` are those of a dataset's cases."""

    body: bytes
    agent_id: str | None = None
    name: str | None = None
    author: str = ""
    note: str = ""
    dialect: str = ""
    case_ids: tuple[str, ...] = ()


class Listing(Struct, frozen=True, kw_only=True):
    """Which documents to list; None: any. `before` is the `cursor` of the last one already seen."""

    limit: int = 50
    before: str | None = None
    agent_id: str | None = None
    name: str | None = None


class _Wanted(Struct, frozen=True):
    """The document to be changed, and the version that it should be at."""

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


CHANGES = 100
"""Versions that a changelog tells of: the newest."""


def cursor(document: Document) -> str:
    """Where a list of documents goes on after this one."""
    return f"{as_text(document.created_at)}~{document.id}"


class Documents:
    """`within` says how much of them the caller may see; everything else is as if it were not there."""

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock

    async def create(self, kind: DocumentKind, key: str, draft: Draft, within: AccessScope = EVERYWHERE) -> Document:
        """Version 1; Conflict where there is one by this id."""
        await self._database.write(_create, (within.home, kind.value, key), draft, self._clock())
        return await self._written(kind, key, 1, within)

    async def revise(
        self,
        kind: DocumentKind,
        key: str,
        draft: Draft,
        *,
        expected: int | None = None,
        within: AccessScope = EVERYWHERE,
    ) -> Document:
        """The next version. `expected` is the version that the change was made to: Conflict where it is not the newest
        any more."""
        number = await self._database.write(_revise, _Wanted(kind, key, within, expected), draft, self._clock())
        return await self._written(kind, key, number, within)

    async def _written(self, kind: DocumentKind, key: str, version: int, within: AccessScope) -> Document:
        """What was just written, not what somebody else has made of it since: whoever wrote it is told its number."""
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

    async def several(self, kind: DocumentKind, listing: Listing, within: AccessScope = EVERYWHERE) -> list[Document]:
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

    async def changes(self, document: Document, limit: int = CHANGES) -> list[Revision]:
        """The newest versions, newest first; no body is read."""
        return await self._database.read(_changes, document, limit)

    async def labels(
        self, kind: DocumentKind, keys: Collection[str], within: AccessScope = EVERYWHERE
    ) -> dict[str, str]:
        """What these documents are called, "(deleted)" where they were; no body is read."""
        return await self._database.read(_labels, _seen(_about(kind, keys), within)) if keys else {}

    async def delete(
        self, kind: DocumentKind, key: str, *, expected: int | None = None, within: AccessScope = EVERYWHERE
    ) -> None:
        """It is no longer listed or found; what refers to a version of it can still read that."""
        await self._database.write(_delete, _Wanted(kind, key, within, expected), self._clock())


def _changes(connection: Connection, document: Document, limit: int) -> list[Revision]:
    owned = (document.organization_id, document.kind.value, document.id)
    wanted = select(*(document_versions.c[name] for name in Revision.__struct_fields__))
    wanted = wanted.where(*(document_versions.c[name] == value for name, value in zip(OWNED, owned, strict=True)))
    newest = wanted.order_by(document_versions.c.version.desc()).limit(limit)
    return [Revision(**each) for each in connection.execute(newest).mappings()]


def _about(kind: DocumentKind, keys: Collection[str]) -> Select[Any]:
    named = select(documents.c.id, documents.c.name, documents.c.deleted_at)
    return named.where(documents.c.kind == kind.value, documents.c.id.in_(sorted(keys)))


def _labels(connection: Connection, statement: Select[Any]) -> dict[str, str]:
    return {each.id: labelled(each.name, each.deleted_at) for each in connection.execute(statement)}


def _one(kind: DocumentKind, key: str, within: AccessScope) -> Select[Any]:
    """Where several organisations have one by this id and the caller sees them all, what is nobody's comes first."""
    wanted = select(documents).where(documents.c.kind == kind.value, documents.c.id == key)
    return _seen(wanted.order_by(documents.c.organization_id), within)


def _seen(statement: Select[Any], within: AccessScope) -> Select[Any]:
    if within.organization_id is not None:
        statement = statement.where(documents.c.organization_id == within.organization_id)
    if within.agent_ids is not None:
        statement = statement.where(documents.c.agent_id.in_(within.agent_ids))
    return statement


def _page(kind: DocumentKind, listing: Listing, within: AccessScope) -> Select[Any]:
    wanted = select(documents).where(documents.c.kind == kind.value, documents.c.deleted_at.is_(None))
    for column in ("agent_id", "name"):
        if (value := getattr(listing, column)) is not None:
            wanted = wanted.where(documents.c[column] == value)
    if listing.before is not None:
        last = tuple_(*read_place(listing.before), types=[Moment(), Text()])
        wanted = wanted.where(tuple_(documents.c.created_at, documents.c.id) < last)
    newest_first = (documents.c.created_at.desc(), documents.c.id.desc())
    return _with_version(_seen(wanted, within), None).order_by(*newest_first).limit(listing.limit)


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
    edition = Edition(
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


def _is_created(connection: Connection, _: None, owned: tuple[str, str, str], draft: Draft, now: datetime) -> bool:
    return _is_written(connection, owned, 1, draft, now)


def _is_revised(connection: Connection, number: int, wanted: _Wanted, draft: Draft, now: datetime) -> bool:
    found = connection.execute(_one(wanted.kind, wanted.key, wanted.within)).first()
    owned = tuple(getattr(found, name, "") for name in OWNED)
    return found is not None and _is_written(connection, owned, number, draft, now)


def _is_written(connection: Connection, owned: tuple[str, ...], number: int, draft: Draft, now: datetime) -> bool:
    """Whether this version is there, and is the one that was written then."""
    values = {**dict(zip(OWNED, owned, strict=True)), "version": number, "created_at": now, "author": draft.author}
    here = and_(*(document_versions.c[name] == value for name, value in values.items()))
    found = connection.scalar(select(document_versions.c.sha256).where(here))
    return bool(found == sha256(draft.body).hexdigest())


@once(_is_created)
def _create(connection: Connection, owned: tuple[str, str, str], draft: Draft, now: datetime) -> None:
    values = dict(zip(OWNED, owned, strict=True))
    about = {"agent_id": draft.agent_id or "", "name": draft.name or ""}
    times = {"created_at": now, "updated_at": now}
    try:
        connection.execute(insert(documents).values(**values, **about, **times, version=1))
    except IntegrityError as error:
        raise Conflict(f"there is a {_words(owned[1])} {owned[2]} already") from error
    _write_version(connection, values, 1, draft, now)


@once(_is_revised)
def _revise(connection: Connection, wanted: _Wanted, draft: Draft, now: datetime) -> int:
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


def _delete(connection: Connection, wanted: _Wanted, now: datetime) -> None:
    found = _held(connection, wanted)
    here = and_(*(documents.c[name] == getattr(found, name) for name in OWNED))
    connection.execute(update(documents).where(here).values(deleted_at=now))


def _held(connection: Connection, wanted: _Wanted) -> Any:
    """The document as it is, held until the transaction ends."""
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


def _write_version(connection: Connection, values: dict[str, str], number: int, draft: Draft, now: datetime) -> None:
    text = {"author": draft.author, "note": draft.note, "dialect": draft.dialect}
    content = {"body": draft.body, "sha256": sha256(draft.body).hexdigest()}
    connection.execute(insert(document_versions).values(**values, version=number, created_at=now, **text, **content))
    if values["kind"] == DocumentKind.DATASET.value:
        place_cases(connection, values["organization_id"], values["id"], draft.case_ids)


def _missing(connection: Connection, wanted: Select[Any], kind: DocumentKind, key: str, version: int | None) -> str:
    found = connection.execute(wanted).first()
    if found is None:
        return f"there is no {_words(kind.value)} {key}"
    if version is not None:
        return f"the {_words(kind.value)} {key} has no version {version}; the newest is {found.version}"
    return f"the {_words(kind.value)} {key} was deleted"


def _words(kind: str) -> str:
    return kind.replace("_", " ")
