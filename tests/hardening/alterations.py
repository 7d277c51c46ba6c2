"""Alterations of a stored run by SQL, past everything of ours: bytes flipped in any column, rows deleted, swapped and
added. Each says what `howsure db check` must name."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from random import Random
from typing import Any

from msgspec import Struct

import postgres
from howsure.store.maintenance import DatabaseHealth

RESULT_TEXTS = ("candidate", "created_at", "case_id", "fault", "flags", "verdict", "id")
SCORE_COLUMNS = {"name": "'otHer'", "outcome": "'unmarked'", "value": "value + 0.25", "scale_low": "-1.0",
                 "scale_high": "9.0", "pass_mark": "0.0", "direction": "'lower'", "scope": "'x'", "part_id": "'x'",
                 "candidate": "'x'"}  # fmt: skip


class Alteration(Struct, frozen=True):
    """What is done, and the tables and positions one of which must be named."""

    what: str
    statements: tuple[str, ...]
    position: int | None
    tables: tuple[str, ...] = ("results",)


class Vandal:
    """Alterations of one completed run, each at positions that no other one touches."""

    def __init__(self, location: str, run_id: str, total: int, seed: int) -> None:
        self._location = location
        self._run = run_id
        self._total = total
        self._random = Random(seed)
        self._places = iter(self._random.sample(range(total), total))
        self._beyond = total
        self._kinds: Sequence[Callable[[], Alteration]] = (
            self._flip_body,
            self._flip_text,
            self._change_number,
            self._change_score,
            self._delete_score,
            self._add_score,
            self._delete_result,
            self._swap_bodies,
            self._swap_positions,
            self._add_result,
            self._flip_case,
            self._delete_case,
            self._forget_checksum,
        )

    def some(self, number: int) -> Iterator[Alteration]:
        return (self._kinds[place % len(self._kinds)]() for place in range(number))

    def apply(self, alterations: Sequence[Alteration]) -> None:
        execute(self._location, [statement for each in alterations for statement in each.statements])

    def _at(self, place: int, table: str = "results") -> str:
        return f"UPDATE {table} SET {{}} WHERE run_id = '{self._run}' AND position = {place}"

    def _read(self, place: int, column: str, table: str = "results") -> Any:
        query = f"SELECT {column} FROM {table} WHERE run_id = '{self._run}' AND position = {place}"
        return execute(self._location, [query])[0][0]

    def _flipped(self, body: bytes) -> str:
        place = self._random.randrange(len(body))
        changed = bytes([*body[:place], body[place] ^ (1 << self._random.randrange(8)), *body[place + 1 :]])
        return self._literal(changed)

    def _literal(self, value: bytes) -> str:
        return f"'\\x{value.hex()}'::bytea" if "://" in self._location else f"X'{value.hex()}'"

    def _flip_body(self) -> Alteration:
        place = next(self._places)
        body = self._flipped(self._read(place, "body"))
        return Alteration("body", (self._at(place).format(f"body = {body}"),), place)

    def _flip_text(self) -> Alteration:
        place, column = next(self._places), self._random.choice(RESULT_TEXTS)
        value = self._read(place, column) or ""
        # A letter beyond ASCII, or where the database takes them bytes that are no text at all.
        no_text = "://" not in self._location and self._random.random() < 0.3
        odd = f"CAST(X'c328{place:08x}' AS TEXT)" if no_text else f"'{value}é'"
        return Alteration(f"text {column}", (self._at(place).format(f"{column} = {odd}"),), place)

    def _change_number(self) -> Alteration:
        place = next(self._places)
        column = self._random.choice(("repeat = repeat + 1", "duration_ms = duration_ms + 0.5", "format = 0"))
        return Alteration(column, (self._at(place).format(column),), place)

    def _change_score(self) -> Alteration:
        place, column = next(self._places), self._random.choice(sorted(SCORE_COLUMNS))
        changed = self._at(place, "scores").format(f"{column} = {SCORE_COLUMNS[column]}") + " AND ordinal = 0"
        return Alteration(f"score {column}", (changed,), place)

    def _delete_score(self) -> Alteration:
        place = next(self._places)
        gone = f"DELETE FROM scores WHERE run_id = '{self._run}' AND position = {place} AND ordinal = 0"
        return Alteration("score deleted", (gone,), place)

    def _add_score(self) -> Alteration:
        place = next(self._places)
        copied = "candidate, name, part_id, scope, outcome, value, scale_low, scale_high, direction, pass_mark"
        added = (
            f"INSERT INTO scores (run_id, position, ordinal, {copied}) SELECT run_id, position, 9, {copied} FROM scores"
            f" WHERE run_id = '{self._run}' AND position = {place} AND ordinal = 0"
        )
        return Alteration("score added", (added,), place)

    def _delete_result(self) -> Alteration:
        place = next(self._places)
        gone = f"DELETE FROM results WHERE run_id = '{self._run}' AND position = {place}"
        return Alteration("deleted", (gone,), place)

    def _swap_bodies(self) -> Alteration:
        one, other = next(self._places), next(self._places)
        steps = tuple(
            self._at(here).format(f"body = {self._literal(self._read(there, 'body'))}")
            for here, there in ((one, other), (other, one))
        )
        return Alteration("bodies swapped", steps, self._random.choice((one, other)))

    def _swap_positions(self) -> Alteration:
        one, other = next(self._places), next(self._places)
        steps = tuple(
            self._at(here).format(f"position = {there}") for here, there in ((one, -1), (other, one), (-1, other))
        )
        return Alteration("positions swapped", steps, self._random.choice((one, other)))

    def _add_result(self) -> Alteration:
        place, self._beyond = next(self._places), self._beyond + 1
        columns = "run_id, case_id, candidate, repeat, verdict, duration_ms, created_at, format, body, checksum"
        added = (
            f"INSERT INTO results (id, position, {columns}) SELECT 'added-{self._beyond}', {self._beyond}, {columns}"
            f" FROM results WHERE run_id = '{self._run}' AND position = {place}"
        )
        return Alteration("added", (added,), self._beyond)

    def _flip_case(self) -> Alteration:
        place = next(self._places)
        column = self._random.choice(("body", "face"))
        value = self._flipped(self._read(place, column, "cases"))
        return Alteration(
            f"case {column}", (self._at(place, "cases").format(f"{column} = {value}"),), place, ("cases",)
        )

    def _delete_case(self) -> Alteration:
        place = next(self._places)
        gone = f"DELETE FROM cases WHERE run_id = '{self._run}' AND position = {place}"
        return Alteration("case deleted", (gone,), place, ("cases",))

    def _forget_checksum(self) -> Alteration:
        place = next(self._places)
        return Alteration("checksum", (self._at(place).format("checksum = NULL"),), place)


def execute(location: str, statements: Sequence[str]) -> list[tuple[Any, ...]]:
    """What the last statement finds."""
    if "://" in location:
        return postgres.execute(location, *statements)
    with closing(sqlite3.connect(location)) as connection, connection:
        connection.text_factory = lambda text: text.decode("utf-8", "replace")
        return [connection.execute(statement).fetchall() for statement in statements][-1]


def unnamed(alterations: Sequence[Alteration], found: DatabaseHealth) -> list[Alteration]:
    """Those that a check does not name."""
    named = {(row.table, row.position) for row in found.rows}
    return [each for each in alterations if not any((table, each.position) in named for table in each.tables)]
