"""Human labels. A new label on the same grade by the same person replaces the old one; labels outlive their run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, Select, bindparam, delete, func, select

from howsure.errors import InputError, NotFound
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.label import HumanLabel, Opinion
from howsure.model.webhook import WebhookEvent
from howsure.store.database import StorePart, insert, not_idempotent, read_tuples
from howsure.store.pages import is_number, read_cursor, visible
from howsure.store.schema import as_text, labels
from howsure.store.webhooks import announce

KEY = ("run_id", "position", "grader", "part_id", "labeler")
OPINIONS = {opinion.value: opinion for opinion in Opinion}


class LabelCount(Struct, frozen=True):
    """How much of a run one person has labelled."""

    run_id: str
    labeler: str
    number: int


class LabelQuery(Struct, frozen=True, kw_only=True):
    """A part of a list; None: any. `before` is where the page before ended."""

    limit: int = 50
    before: str | None = None
    run_id: str | None = None
    agent_id: str | None = None
    labeler: str | None = None


def label_cursor(page: Sequence[HumanLabel], before: str | None) -> str:
    """Where a list continues: the time of its last label, and how many labels of that time were seen. Ids of graders
    and criteria may be longer than a cursor can be."""
    last = page[-1].created_at
    seen = sum(label.created_at == last for label in page)
    at, skipped = _read(before)
    return f"{as_text(last)}~{seen + (skipped if at == last else 0)}"


def _read(before: str | None) -> tuple[datetime | None, int]:
    if before is None:
        return None, 0
    at, seen = read_cursor(before)
    if not is_number(seen):
        raise InputError(f"{before!r} is not a place in this list: use the cursor of the page before")
    return at, int(seen)


class LabelStore(StorePart):
    """The labels of a store; `within` says how much of them the caller may see."""

    async def put(self, label: HumanLabel) -> None:
        await self._database.write(_put, label)

    async def take_back(self, run_id: str, labeler: str) -> HumanLabel | None:
        """Remove and return the last label of a person in a run; None: there is none."""
        return await self._database.write(_take_back, run_id, labeler)

    async def of_run(
        self, run_id: str, within: AccessScope = EVERYWHERE, positions: Collection[int] | None = None
    ) -> list[HumanLabel]:
        """In the order in which they were given; `positions`: of these results alone."""
        statement = select(labels).where(labels.c.run_id == run_id).order_by(labels.c.created_at)
        if positions is not None:
            statement = statement.where(labels.c.position.in_(sorted(positions)))
        return await self._database.read(_several, visible(statement, labels, within))

    async def newest(self, run_id: str, limit: int, within: AccessScope = EVERYWHERE) -> list[HumanLabel]:
        """The newest labels of a run, oldest first."""
        statement = select(labels).where(labels.c.run_id == run_id).order_by(labels.c.created_at.desc()).limit(limit)
        return (await self._database.read(_several, visible(statement, labels, within)))[::-1]

    async def several(self, listing: LabelQuery, within: AccessScope = EVERYWHERE) -> list[HumanLabel]:
        """Newest first, of all runs or of one."""
        statement = select(labels).order_by(labels.c.created_at.desc(), *(labels.c[name] for name in KEY))
        for name in ("run_id", "agent_id", "labeler"):
            if (value := getattr(listing, name)) is not None:
                statement = statement.where(labels.c[name] == value)
        at, seen = _read(listing.before)
        if at is not None:
            statement = statement.where(labels.c.created_at <= at).offset(seen)
        return await self._database.read(_several, visible(statement.limit(listing.limit), labels, within))

    async def one(self, run_id: str, label_id: str, within: AccessScope = EVERYWHERE) -> HumanLabel:
        """By its id; the run may be gone."""
        for label in await self.of_run(run_id, within):
            if label.id == label_id:
                return label
        raise NotFound(f"there is no label {label_id} of run {run_id}")

    async def remove(self, label: HumanLabel) -> None:
        await self._database.write(_remove, label)

    async def counts(self, run_ids: Sequence[str], within: AccessScope = EVERYWHERE) -> list[LabelCount]:
        """Who has labelled how much of these runs."""
        return await self._database.read(_counts, sorted(run_ids), within) if run_ids else []


def _put(connection: Connection, label: HumanLabel) -> None:
    fields = {name: getattr(label, name) for name in label.__struct_fields__}
    values = {**fields, "opinion": label.opinion.value, "blind": int(label.blind)}
    changed = {name: value for name, value in values.items() if name not in KEY}
    statement = insert(connection.dialect.name, labels).values(values)
    connection.execute(statement.on_conflict_do_update(index_elements=list(KEY), set_=changed))
    at, event = label.created_at, WebhookEvent.LABEL_ADDED
    announce(connection, label.organization_id, event, label.run_id, at, label.id)


def _is_taken_back(connection: Connection, label: HumanLabel, run_id: str, labeler: str) -> bool:
    """The same label may have been given again since."""
    same = [labels.c[name] == getattr(label, name) for name in (*KEY, "created_at")]
    return connection.execute(select(labels.c.run_id).where(*same)).first() is None


@not_idempotent(_is_taken_back)
def _take_back(connection: Connection, run_id: str, labeler: str) -> HumanLabel | None:
    statement = select(labels).where(labels.c.run_id == run_id, labels.c.labeler == labeler)
    newest = statement.order_by(labels.c.created_at.desc(), labels.c.position.desc()).limit(1)
    last = next(iter(_several(connection, newest.with_for_update())), None)
    if last is not None:
        _remove(connection, last)
    return last


def _remove(connection: Connection, label: HumanLabel) -> None:
    here = [labels.c[name] == getattr(label, name) for name in KEY]
    connection.execute(delete(labels).where(*here))


def _several(connection: Connection, statement: Select[Any]) -> list[HumanLabel]:
    """A page may count a thousand: as the driver gives them, they cost a third of SQLAlchemy's own."""
    names = [column.name for column in statement.selected_columns]
    page: list[HumanLabel] = []
    for values in read_tuples(connection, statement):
        row = dict(zip(names, values, strict=True))
        row["opinion"], row["blind"] = OPINIONS[row["opinion"]], bool(row["blind"])
        row["created_at"] = datetime.fromisoformat(row["created_at"])
        page.append(HumanLabel(**row))
    return page


def _counts(connection: Connection, run_ids: Sequence[str], within: AccessScope) -> list[LabelCount]:
    """Run by run: to sort the labels of each by themselves takes less time than all together."""
    people = select(labels.c.labeler, func.count()).where(labels.c.run_id == bindparam("run"))
    statement = visible(people.group_by(labels.c.labeler).order_by(labels.c.labeler), labels, within)
    counts = ((run_id, connection.execute(statement, {"run": run_id})) for run_id in run_ids)
    return [LabelCount(run_id, labeler, number) for run_id, rows in counts for labeler, number in rows]
