"""Which results of a run are like this or that, as conditions of statements: the database decides, by its indexes where
it can, and no body is read."""

from __future__ import annotations

from enum import Enum
from typing import Any

from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, Select, false, func, or_, select, tuple_, union_all

from howsure.store.bodies import lines_saying
from howsure.store.queries.faces import faces
from howsure.store.schema import cases, results, scores

BAD = ("failed", "error")
Conditions = list[ColumnElement[bool]]


class Order(Enum):
    """How results are listed."""

    WORST = "worst"
    FILE = "file"
    SLOWEST = "slowest"


class Chosen(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which results of a run; what is not said is not asked. `grader` failed or broke, in `part` (the id of a criterion
    or rule) or `component`, where one is named; `text` is found in the question, the answer, the reasons."""

    verdicts: tuple[str, ...] = ()
    candidate: str | None = None
    grader: str = ""
    part: str = ""
    component: str | None = None
    fault: str = ""
    tag: str = ""
    flaky: bool = False
    text: str = ""
    order: Order = Order.WORST


def conditions(connection: Connection, run_id: str, chosen: Chosen) -> Conditions:
    columns, wanted = results.c, Conditions()
    if chosen.verdicts:
        wanted.append(columns.verdict.in_(chosen.verdicts))
    if chosen.candidate is not None:
        wanted.append(columns.candidate == chosen.candidate)
    if chosen.fault:
        wanted.append(columns.fault == chosen.fault)
    if chosen.grader or chosen.component is not None:
        wanted.append(_failed_by(connection, run_id, chosen))
    if chosen.tag:
        wanted.append(columns.case_id.in_(_tagged(connection, run_id, chosen.tag)))
    if chosen.flaky:
        wanted.append(tuple_(columns.case_id, columns.candidate).in_(flaky(run_id)))
    return wanted


def _failed_by(connection: Connection, run_id: str, chosen: Chosen) -> ColumnElement[bool]:
    """Candidate, grader and component are named one by one, so that the index of the summary leads to what failed."""
    own, failed = scores.c, list[Select[Any]]()
    for candidate in _distinct(connection, own.candidate, own.run_id == run_id):
        of_candidate = (own.run_id == run_id, own.candidate == candidate)
        for name in [chosen.grader] if chosen.grader else _distinct(connection, own.name, *of_candidate):
            here = (*of_candidate, own.name == name)
            part = [own.part_id == chosen.part] if chosen.part else []
            failed += [
                select(own.position).where(*here, scope, own.outcome.in_(BAD), *part)
                for scope in _scopes(connection, chosen.component, *here)
            ]
    return results.c.position.in_(union_all(*failed)) if failed else false()


def _scopes(connection: Connection, component: str | None, *here: ColumnElement[bool]) -> Conditions:
    own = scores.c
    if component is not None:
        return [own.scope == component]
    # The grade of a whole case has none.
    return [own.scope.is_(None), *(own.scope == each for each in _distinct(connection, own.scope, *here))]


def _distinct(connection: Connection, column: ColumnElement[str], *where: ColumnElement[bool]) -> list[str]:
    """The values of a column that an index is ordered by: one look for each, however many have the same."""
    found: list[str] = []
    while True:
        behind = [column > found[-1]] if found else []
        least = connection.scalar(select(func.min(column)).where(*where, *behind))
        if least is None:
            return found
        found.append(least)


def _tagged(connection: Connection, run_id: str, tag: str) -> Select[Any] | list[str]:
    """The cases that have the tag or label; of older cases, which have none in a column, by their bodies."""
    older = select(cases.c.run_id).where(cases.c.run_id == run_id, cases.c.face.is_(None)).limit(1)
    if connection.execute(older).first() is not None:
        return [face.id for face in faces(connection, run_id) if tag in said(face.tags, face.labels)]
    wanted = or_(*(_has_line(connection, line) for line in lines_saying(tag)))
    return select(cases.c.case_id).where(cases.c.run_id == run_id, wanted)


def _has_line(connection: Connection, line: bytes) -> ColumnElement[bool]:
    if connection.dialect.name == "postgresql":
        return func.strpos(func.convert_from(cases.c.face, "UTF8"), line.decode()) > 0
    return func.instr(cases.c.face, line) > 0


def said(tags: tuple[str, ...], labels: dict[str, str]) -> tuple[str, ...]:
    """Tags and labels as they can be chosen by."""
    return (*tags, *(f"{name}: {value}" for name, value in labels.items()))


def flaky(run_id: str) -> Select[Any]:
    """Case and candidate, where the repeats did not all end alike."""
    columns = results.c
    alike = (columns.case_id, columns.candidate)
    wanted = select(*alike).where(columns.run_id == run_id).group_by(*alike)
    return wanted.having(func.count(columns.verdict.distinct()) > 1)
