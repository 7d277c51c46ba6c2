"""Writes results: the hottest path of the store. Statements are compiled once; values go to the driver as plain tuples
in column order, which costs a fraction of SQLAlchemy's own binding and stores the same bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from hashlib import sha1
from math import isfinite
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Dialect, Table, Update, bindparam, delete, func, select, update
from sqlalchemy.exc import IntegrityError

from howsure.errors import NUL, Conflict
from howsure.model.case import Case
from howsure.model.result import FORMAT, Result, attempt_name
from howsure.model.score import Grade, Score
from howsure.model.verdict import DECIDED
from howsure.store.codecs import checksum, encode, encode_result, encode_tags
from howsure.store.database import insert
from howsure.store.runs import change_run
from howsure.store.schema import VERDICTS as COUNTED
from howsure.store.schema import UnstorableText, as_text, cases, results, runs, scores

Values = tuple[Any, ...]

VERDICTS = {verdict: verdict.value for verdict in DECIDED}
VARIANTS = {f"{digit:x}": f"{digit & 0x3 | 0x8:x}" for digit in range(16)}
"""The two highest bits of this digit say what kind of UUID it is."""

OUTCOMES: dict[bool | None, str] = {True: "passed", False: "failed", None: "unmarked"}
"""How a scored grade ended; `unmarked` was measured, not judged."""


class ResultBatch:
    """The values of some results, ready for the driver."""

    __slots__ = ("cases", "numbers", "positions", "results", "scores")

    def __init__(self, run_id: str, batch: Sequence[Result], key: bytes = b"") -> None:
        namespace = UUID(run_id).bytes
        self.cases: dict[str, Values] = {}
        self.results: list[Values] = []
        self.scores: list[Values] = []
        self.positions = [result.position for result in batch]
        self.numbers = Counter(VERDICTS[result.verdict] for result in batch)
        for result in batch:
            try:
                self._add(run_id, namespace, result, key)
            except (TypeError, ValueError, RecursionError) as error:
                error.add_note(f"while storing case {result.case.id!r} (position {result.position})")
                raise

    def _add(self, run_id: str, namespace: bytes, result: Result, key: bytes) -> None:
        case, candidate, position = result.case, result.candidate, result.position
        known = self.cases.get(case.id)
        if known is None or position < known[2]:
            content = known[4:] if known else _case_content(run_id, case, key)
            self.cases[case.id] = (run_id, case.id, position, FORMAT, *content)
        own = (
            result_key(namespace, case.id, candidate, result.repeat),
            run_id,
            case.id,
            candidate,
            result.repeat,
            position,
            VERDICTS[result.verdict],
            result.duration_ms + 0.0 if isfinite(result.duration_ms) else None,
            None if result.created_at is None else as_text(result.created_at),
            FORMAT,
            encode_result(result),
            None if result.fault is None else result.fault.party.value,
            " ".join(dict.fromkeys(flag.kind for flag in result.flags)) or None,
        )
        grades = [(ordinal, candidate, *_columns(grade)) for ordinal, grade in enumerate(result.grades)]
        # The driver of SQLite would take it, and these would be found by no one: see `CodePointText`.
        if "\0" in f"{case.id}{candidate}" + "".join([f"{each[2]}{each[3]}{each[4]}" for each in grades]):
            where = "its id, its candidate, or the name or part of a grade"
            raise UnstorableText(f"case {case.id!r}: {NUL} stands in {where}: take it out")
        self.results.append((*own, checksum((own, grades), key)))
        self.scores += [(run_id, position, *values) for values in grades]


def _case_content(run_id: str, case: Case, key: bytes) -> Values:
    body, face = encode(case), encode_tags(case)
    return body, face, checksum((run_id, case.id, FORMAT, body, face), key)


def _columns(grade: Grade) -> Values:
    """name, part_id, scope, outcome, value, scale_low, scale_high, direction, pass_mark. Numbers are floats as the
    database gives them back: a checksum tells 1 from 1.0, and -0.0 from 0.0."""
    part, scale = grade.part, grade.scale
    part_id, scope = (None, None) if part is None else (part.id, part.scope)
    low, high = scale.low + 0.0, None if scale.high is None else scale.high + 0.0
    mark = None if grade.pass_mark is None else grade.pass_mark + 0.0
    if isinstance(grade, Score):
        ended, direction = OUTCOMES[grade.passed], grade.direction.value
        return grade.name, part_id, scope, ended, grade.value + 0.0, low, high, direction, mark
    return grade.name, part_id, scope, grade.why.value, None, low, high, None, mark


def result_key(namespace: bytes, case_id: str, candidate: str, repeat: int) -> str:
    """`str(model.result.result_id(…))`, at a quarter of the cost of building UUIDs for every result."""
    text = attempt_name(case_id, candidate, repeat)
    digits = sha1(namespace + text.encode(), usedforsecurity=False).hexdigest()
    variant = VARIANTS[digits[16]]
    return f"{digits[:8]}-{digits[8:12]}-5{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:32]}"


def write_results(connection: Connection, run_id: str, batch: ResultBatch, now: datetime, owner: str = "") -> None:
    """Store a batch. Writing it twice changes nothing. With an owner, only while the run is theirs."""
    # First, and on the one row of the run: other writers of this run wait here until we are done.
    change_run(connection, run_id, {"heartbeat_at": now, "groups": None}, owner)
    dialect = connection.dialect
    # Most batches are new: one look between the first and the last is cheaper than one for each.
    near = (run_id, min(batch.positions), max(batch.positions))
    is_new = connection.exec_driver_sql(_first_written(dialect), near).scalar() is None
    connection.exec_driver_sql(_upsert(dialect, cases), list(batch.cases.values()))
    try:
        connection.exec_driver_sql(_upsert(dialect, results), batch.results)
    except IntegrityError as error:
        raise Conflict(f"run {run_id} has another result at one of these positions: its plan has changed") from error
    if not is_new:
        # Scores of an earlier attempt may be more in number than those of the new one.
        old = delete(scores).where(scores.c.run_id == run_id, scores.c.position == bindparam("old"))
        connection.execute(old, [{"old": position} for position in batch.positions])
    if batch.scores:
        connection.exec_driver_sql(_upsert(dialect, scores), batch.scores)
    more = {verdict: runs.c[verdict] + number for verdict, number in batch.numbers.items()}
    counted = update(runs).where(runs.c.id == run_id).values(more)
    connection.execute(counted if is_new else recount_verdicts(run_id))


@lru_cache
def _first_written(dialect: Dialect) -> str:
    """The first position of a run between two that has a result."""
    near = results.c.position.between(bindparam("low"), bindparam("high"))
    found = select(func.min(results.c.position)).where(results.c.run_id == bindparam("run"), near)
    return str(found.compile(dialect=dialect))


def recount_verdicts(run_id: str) -> Update:
    """Counts the results of the run again."""
    counted = {
        verdict: select(func.count()).where(results.c.run_id == run_id, results.c.verdict == verdict).scalar_subquery()
        for verdict in COUNTED
    }
    return update(runs).where(runs.c.id == run_id).values(counted)


@lru_cache
def _upsert(dialect: Dialect, table: Table) -> str:
    """The insert of all columns, in their order; what is there already is replaced."""
    statement = insert(dialect.name, table)
    new = statement.excluded
    if table is cases:
        # A case is the same in every result of a run; its place is that of its first result.
        replaced, where = {"position": new.position}, new.position < cases.c.position
    else:
        # The key holds the run's id, and writing a foreign key again doubles SQLite's work.
        kept = {"run_id", *table.primary_key.columns.keys()}
        replaced, where = {name: column for name, column in new.items() if name not in kept}, None
    statement = statement.on_conflict_do_update(
        index_elements=list(table.primary_key.columns), set_=replaced, where=where
    )
    return str(statement.compile(dialect=dialect, column_keys=[column.name for column in table.columns]))
