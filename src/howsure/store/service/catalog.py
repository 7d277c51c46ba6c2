"""What lists need of documents and runs without reading any body: what is on a shelf, how a document's cases ended in
some runs, and how often its rules held."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, Select, Text, and_, func, select, tuple_

from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.document import DocumentKind
from howsure.store.database import Database
from howsure.store.schema import Moment, as_text, results, scores
from howsure.store.service.places import read_place
from howsure.store.service_schema import OWNED, document_versions, documents


class Card(Struct, frozen=True, kw_only=True):
    """A document, and who wrote its newest version; `size` in bytes."""

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


class Step(Struct, frozen=True, kw_only=True):
    """One version of a document: who wrote it, when, and why."""

    version: int
    created_at: datetime
    author: str
    note: str


class Ended(Struct, frozen=True):
    """How one case ended in one run, once for each repeat."""

    run_id: str
    case_id: str
    verdict: str


class PartTally(Struct, frozen=True):
    """How often one rule or criterion of one run ended so."""

    run_id: str
    part_id: str
    outcome: str
    number: int


def cursor(card: Card) -> str:
    return f"{as_text(card.created_at)}~{card.id}"


class Catalog:
    """Read alone; `within` says how much of it the caller may see."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def cards(
        self, kind: DocumentKind, *, limit: int = 50, before: str | None = None, within: AccessScope = EVERYWHERE
    ) -> list[Card]:
        """The documents of a kind, newest first."""
        return await self._database.read(_cards, _page(kind, limit, before, within))

    async def steps(
        self, kind: DocumentKind, key: str, organization_id: str, *, limit: int = 20, before: int | None = None
    ) -> list[Step]:
        """The versions of a document that the caller may see, newest first."""
        return await self._database.read(_steps, (organization_id, kind.value, key), limit, before)

    async def endings(self, run_ids: Sequence[str], case_ids: Sequence[str]) -> list[Ended]:
        """Verdicts of these cases in these runs."""
        return await self._database.read(_endings, run_ids, case_ids) if run_ids and case_ids else []

    async def tallies(self, run_ids: Sequence[str], part_ids: Sequence[str]) -> list[PartTally]:
        """How these rules or criteria ended, run by run."""
        return await self._database.read(_tallies, run_ids, part_ids) if run_ids and part_ids else []


def _page(kind: DocumentKind, limit: int, before: str | None, within: AccessScope) -> Select[Any]:
    same = and_(
        *(document_versions.c[name] == documents.c[name] for name in OWNED),
        document_versions.c.version == documents.c.version,
    )
    written = [document_versions.c[name] for name in ("author", "note", "dialect")]
    columns = [column for column in documents.c if column.name != "deleted_at"]
    wanted = select(*columns, *written, func.length(document_versions.c.body).label("size"))
    wanted = wanted.select_from(documents.join(document_versions, same))
    wanted = wanted.where(documents.c.kind == kind.value, documents.c.deleted_at.is_(None))
    if within.organization_id is not None:
        wanted = wanted.where(documents.c.organization_id == within.organization_id)
    if within.agent_ids is not None:
        wanted = wanted.where(documents.c.agent_id.in_(within.agent_ids))
    if before is not None:
        last = tuple_(*read_place(before), types=[Moment(), Text()])
        wanted = wanted.where(tuple_(documents.c.created_at, documents.c.id) < last)
    return wanted.order_by(documents.c.created_at.desc(), documents.c.id.desc()).limit(limit)


def _cards(connection: Connection, statement: Select[Any]) -> list[Card]:
    found = connection.execute(statement).mappings()
    return [Card(**{**each, "kind": DocumentKind(each["kind"])}) for each in found]


def _steps(connection: Connection, owned: tuple[str, str, str], limit: int, before: int | None) -> list[Step]:
    columns = document_versions.c
    wanted = select(*(columns[name] for name in Step.__struct_fields__))
    wanted = wanted.where(*(columns[name] == value for name, value in zip(OWNED, owned, strict=True)))
    if before is not None:
        wanted = wanted.where(columns.version < before)
    found = connection.execute(wanted.order_by(columns.version.desc()).limit(limit)).mappings()
    return [Step(**each) for each in found]


def _endings(connection: Connection, run_ids: Sequence[str], case_ids: Sequence[str]) -> list[Ended]:
    columns = results.c
    wanted = select(columns.run_id, columns.case_id, columns.verdict)
    wanted = wanted.where(columns.run_id.in_(run_ids), columns.case_id.in_(case_ids)).order_by(columns.position)
    return [Ended(*each) for each in connection.execute(wanted)]


def _tallies(connection: Connection, run_ids: Sequence[str], part_ids: Sequence[str]) -> list[PartTally]:
    place = (scores.c.run_id, scores.c.part_id, scores.c.outcome)
    wanted = select(*place, func.count()).where(scores.c.run_id.in_(run_ids), scores.c.part_id.in_(part_ids))
    return [PartTally(*each) for each in connection.execute(wanted.group_by(*place))]
