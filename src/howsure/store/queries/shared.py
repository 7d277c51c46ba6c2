"""Of a large run, what another has too: the attempts at the cases that both have, their grades, tags and labels. Held
against a small run, a large one costs no more than the small one does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, and_, func, or_, select

from howsure.store.counting import RULES
from howsure.store.queries.columns import Attempts, Column, Face, Measured, attempts, rule, tuples
from howsure.store.queries.faces import faces
from howsure.store.schema import cases, results, scores

CHUNK = 500
"""Positions asked for in one statement."""


class Shared(Struct, frozen=True, kw_only=True):
    """`others` is the number of cases of each candidate that the other run has not, and that were not read."""

    attempts: Attempts
    measured: list[Measured]
    faces: list[Face]
    others: dict[str, int]


def shared(connection: Connection, run_id: str, other_id: str) -> Shared:
    """Where no case is in both, the first attempt alone: so it can be said what there is."""
    theirs = select(cases.c.case_id).where(cases.c.run_id == other_id)
    found = attempts(connection, run_id, results.c.case_id.in_(theirs))
    if not found.positions:
        first = select(func.min(results.c.position)).where(results.c.run_id == run_id).scalar_subquery()
        found = attempts(connection, run_id, results.c.position == first)
    return Shared(
        attempts=found,
        measured=_measured(connection, run_id, list(found.positions)),
        faces=faces(connection, run_id, cases.c.case_id.in_(theirs)),
        others=_others(connection, run_id, found),
    )


def _others(connection: Connection, run_id: str, found: Attempts) -> dict[str, int]:
    columns = results.c
    wanted = select(columns.candidate, func.count(columns.case_id.distinct())).where(columns.run_id == run_id)
    known: dict[str, set[int]] = {}
    for candidate, case in zip(found.candidates, found.cases, strict=True):
        known.setdefault(found.candidate_names[candidate], set()).add(case)
    every = tuples(connection, wanted.group_by(columns.candidate))
    return {candidate: number - len(known.get(candidate, ())) for candidate, number in every}


def _measured(connection: Connection, run_id: str, positions: Sequence[int]) -> list[Measured]:
    """As `columns.measures` has them, of these positions."""
    graders: dict[tuple[str, str], Column] = {}
    rules: dict[tuple[str, str, str | None], list[tuple[int, str, float | None]]] = {}
    for found in _grades(connection, run_id, positions):
        candidate, name, part_id, scope, position, outcome, value, low, high, direction = found
        if part_id is not None:
            rules.setdefault((candidate, part_id, scope), []).append((position, outcome, value))
            continue
        column = graders.setdefault((candidate, name), Column(low, high))
        column.widen(low, high, direction)
        column.add_each([(position, outcome, value)])
    whole = [column.done(*key, None, None) for key, column in sorted(graders.items())]
    return [*whole, *(rule(*key, grades) for key, grades in rules.items())]


def _grades(connection: Connection, run_id: str, positions: Sequence[int]) -> list[tuple[Any, ...]]:
    own = scores.c
    told = (own.candidate, own.name, own.part_id, own.scope, own.position, own.outcome, own.value)
    wanted: ColumnElement[bool] = or_(own.scope.is_(None), and_(own.name == RULES, own.part_id.is_not(None)))
    some = select(*told, own.scale_low, own.scale_high, own.direction).where(own.run_id == run_id, wanted)
    found: list[tuple[Any, ...]] = []
    for start in range(0, len(positions), CHUNK):
        chunk = some.where(own.position.in_(positions[start : start + CHUNK]))
        found += tuples(connection, chunk.order_by(own.position, own.ordinal))
    return found
