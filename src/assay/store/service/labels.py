"""Human labels. Saying something again about the same grade replaces what was said; a label outlives its run, for what
people said is dear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, Select, delete, func, select

from assay.model.label import HumanLabel, Opinion
from assay.model.within import EVERYWHERE, Within
from assay.store.database import Database, insert
from assay.store.service_schema import labels

KEY = ("run_id", "position", "grader", "part_id", "labeler")


class Labelled(Struct, frozen=True):
    """How much of a run one person has labelled."""

    run_id: str
    labeler: str
    number: int


class LabelBook:
    """The labels of a store; `within` says how much of them the caller may see."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, label: HumanLabel) -> None:
        await self._database.write(_put, label)

    async def take_back(self, run_id: str, labeler: str) -> HumanLabel | None:
        """The last label that somebody gave in a run, now gone; None: there was none."""
        return await self._database.write(_take_back, run_id, labeler)

    async def of_run(self, run_id: str, within: Within = EVERYWHERE) -> list[HumanLabel]:
        """In the order in which they were given."""
        wanted = select(labels).where(labels.c.run_id == run_id).order_by(labels.c.created_at)
        return await self._database.read(_several, _seen(wanted, within))

    async def counts(self, run_ids: Sequence[str], within: Within = EVERYWHERE) -> list[Labelled]:
        """Who has labelled how much of these runs."""
        place = (labels.c.run_id, labels.c.labeler)
        wanted = select(*place, func.count()).where(labels.c.run_id.in_(run_ids)).group_by(*place).order_by(*place)
        return await self._database.read(_counts, _seen(wanted, within)) if run_ids else []


def _seen(statement: Select[Any], within: Within) -> Select[Any]:
    if within.organization_id is not None:
        statement = statement.where(labels.c.organization_id == within.organization_id)
    if within.agent_ids is not None:
        statement = statement.where(labels.c.agent_id.in_(within.agent_ids))
    return statement


def _put(connection: Connection, label: HumanLabel) -> None:
    given = {name: getattr(label, name) for name in label.__struct_fields__}
    values = {**given, "opinion": label.opinion.value, "blind": int(label.blind)}
    changed = {name: value for name, value in values.items() if name not in KEY}
    statement = insert(connection.dialect.name, labels).values(values)
    connection.execute(statement.on_conflict_do_update(index_elements=list(KEY), set_=changed))


def _take_back(connection: Connection, run_id: str, labeler: str) -> HumanLabel | None:
    wanted = select(labels).where(labels.c.run_id == run_id, labels.c.labeler == labeler)
    newest = wanted.order_by(labels.c.created_at.desc(), labels.c.position.desc()).limit(1)
    found = _several(connection, newest.with_for_update())
    if not found:
        return None
    here = [labels.c[name] == getattr(found[0], name) for name in KEY]
    connection.execute(delete(labels).where(*here))
    return found[0]


def _several(connection: Connection, statement: Select[Any]) -> list[HumanLabel]:
    return [_label(each) for each in connection.execute(statement).mappings()]


def _label(found: Any) -> HumanLabel:
    return HumanLabel(**{**found, "opinion": Opinion(found["opinion"]), "blind": bool(found["blind"])})


def _counts(connection: Connection, statement: Select[Any]) -> list[Labelled]:
    return [Labelled(*each) for each in connection.execute(statement)]
