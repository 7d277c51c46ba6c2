"""Finds what is wrong in the rows of a database: damaged, changed, missing and surplus ones, by run and position. Every
row is read once, a chunk at a time. Only two functions change rows: `seal_rows` adds missing checksums, `mark_damaged`
makes damaged results count as such."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from heapq import merge
from itertools import groupby
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, RowMapping, Table, func, or_, select, update

from howsure.model.verdict import DECIDED, Verdict
from howsure.store.codecs import (
    CASE_COLUMNS,
    END_COLUMNS,
    RUN_COLUMNS,
    VERSION_COLUMNS,
    decode_case,
    decode_result,
    result_checksum,
    row_checksum,
)
from howsure.store.database import raw_rows
from howsure.store.result_batches import recount_verdicts
from howsure.store.schema import OWNED, VERDICTS, cases, document_versions, documents, results, runs, scores
from howsure.store.summaries import store_counts

UNREADABLE = (msgspec.DecodeError, UnicodeError, ValueError, TypeError, RecursionError)
DECIDED_NAMES = {verdict.value for verdict in DECIDED}
MakeChecksum = Callable[[Connection, RowMapping, Any], bytes]


class RowProblem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One row that is wrong. `kind`: damaged (cannot be read), altered, missing or surplus."""

    kind: str
    table: str
    run_id: str = ""
    position: int | None = None
    id: str = ""
    detail: str = ""

    def __str__(self) -> str:
        place = f"position {self.position}" if self.position is not None else ""
        where = ", ".join(filter(None, (self.run_id and f"run {self.run_id}", place, self.id)))
        return f"{self.kind} in {self.table}: {where}{self.detail and f' ({self.detail})'}"


class RowCheck:
    """A check of every row. `unchecked` counts rows of older versions, which have no checksum."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.unchecked = 0

    def problems(self) -> Iterator[RowProblem]:
        for run in raw_rows(self._connection, runs, order="id"):
            yield from self._check_run(run)
        yield from self._check_strays()
        yield from self._check_documents()

    def _check_run(self, run: RowMapping) -> Iterator[RowProblem]:
        """The run itself, its results with their scores, and its cases."""
        place: dict[str, Any] = {"run_id": run["id"]}
        sealed = run["checksum"] is not None
        if self._is_changed(run, row_checksum, RUN_COLUMNS):
            yield RowProblem(kind="altered", table="runs", **place, detail="what was pinned")
        if run["seal"] is not None and not self._fits(run, "seal", row_checksum, END_COLUMNS):
            yield RowProblem(kind="altered", table="runs", **place, detail="its state, times or counts")
        verdicts: dict[int, str] = {}
        for position, own, grades in _results_with_scores(self._connection, run["id"]):
            if not own:
                detail = "there is no result"
                yield RowProblem(kind="surplus", table="scores", **place, position=position, detail=detail)
            for row in own:
                verdicts[position] = row["verdict"]
                yield from self._check_result(row, grades, sealed)
        yield from _miscounted(run, verdicts)
        yield from self._check_cases(run["id"], sealed)

    def _is_changed(self, row: RowMapping, make: MakeChecksum, more: Any, sealed: bool = False) -> bool:
        """Whether its checksum does not fit. In a run that is `sealed` every row has one; others are only counted."""
        if row["checksum"] is None:
            self.unchecked += not sealed
            return sealed
        return not self._fits(row, "checksum", make, more)

    def _fits(self, row: RowMapping, column: str, make: MakeChecksum, more: Any) -> bool:
        try:
            return bool(row[column] == make(self._connection, row, more))
        except (UnicodeError, TypeError, OverflowError):
            return False

    def _check_result(self, row: RowMapping, grades: list[RowMapping], sealed: bool) -> Iterator[RowProblem]:
        place = {"table": "results", "run_id": row["run_id"], "position": row["position"], "id": row["id"]}
        changed = self._is_changed(row, result_checksum, grades, sealed)
        if problem := _unreadable(decode_result, row):
            yield RowProblem(kind="damaged", **place, detail=problem)
        elif row["verdict"] not in DECIDED_NAMES:
            yield RowProblem(kind="damaged", **place, detail=f"its verdict is {row['verdict']!r}")
        elif changed:
            what = "it, or one of its scores, is not what was stored"
            yield RowProblem(kind="altered", **place, detail="it has no checksum" if row["checksum"] is None else what)

    def _check_cases(self, run_id: str, sealed: bool) -> Iterator[RowProblem]:
        own = results.c.run_id == run_id
        first = select(results.c.case_id, func.min(results.c.position)).where(own).group_by(results.c.case_id)
        places: dict[str, int] = {row[0]: row[1] for row in self._connection.execute(first)}
        for row in raw_rows(self._connection, cases, cases.c.run_id == run_id, order="position"):
            place = {"table": "cases", "run_id": run_id, "position": row["position"], "id": f"case {row['case_id']!r}"}
            expected = places.pop(row["case_id"], None)
            if expected is None:
                yield RowProblem(kind="surplus", **place, detail="it has no result")
            changed = self._is_changed(row, row_checksum, CASE_COLUMNS, sealed)
            if problem := _unreadable(decode_case, row):
                yield RowProblem(kind="damaged", **place, detail=problem)
            elif changed:
                yield RowProblem(kind="altered", **place)
            elif expected not in (None, row["position"]):
                yield RowProblem(kind="altered", **place, detail=f"its first result is at {expected}")
        for case_id, position in places.items():
            named = f"case {case_id!r}"
            yield RowProblem(kind="missing", table="cases", run_id=run_id, position=position, id=named)

    def _check_strays(self) -> Iterator[RowProblem]:
        """Rows without their run."""
        for table in (results, cases, scores):
            gone = select(table.c.run_id, table.c.position).where(table.c.run_id.not_in(select(runs.c.id)))
            for run_id, position in self._connection.execute(gone.distinct()):
                place = {"table": str(table.name), "run_id": run_id, "position": position}
                yield RowProblem(kind="surplus", **place, detail="there is no such run")

    def _check_documents(self) -> Iterator[RowProblem]:
        every = raw_rows(self._connection, documents, order="id")
        expected = {tuple(row[name] for name in OWNED): row["version"] for row in every}
        numbers: dict[tuple[Any, ...], set[int]] = {key: set() for key in expected}
        for row in raw_rows(self._connection, document_versions, order="id"):
            named = f"{row['kind']} {row['id']} version {row['version']}"
            place: dict[str, Any] = {"table": "document_versions", "id": named}
            key, changed = tuple(row[name] for name in OWNED), self._is_changed(row, row_checksum, VERSION_COLUMNS)
            if changed or row["sha256"] != _sha256(row["body"]):
                yield RowProblem(kind="altered", **place)
            if row["version"] > expected.get(key, 0):
                yield RowProblem(kind="surplus", **place)
            numbers.setdefault(key, set()).add(row["version"])
        for key, newest in expected.items():
            for version in sorted(set(range(1, newest + 1)) - numbers[key]):
                named = f"{key[1]} {key[2]} version {version}"
                yield RowProblem(kind="missing", table="document_versions", id=named)


def _results_with_scores(
    connection: Connection, run_id: str
) -> Iterator[tuple[int, list[RowMapping], list[RowMapping]]]:
    """The results at each position, one or none, and their scores."""
    own = raw_rows(connection, results, results.c.run_id == run_id, order="position")
    graded = raw_rows(connection, scores, scores.c.run_id == run_id, order="position ordinal")
    for position, rows in groupby(merge(own, graded, key=_position), key=_position):
        here = list(rows)
        yield position, [row for row in here if "ordinal" not in row], [row for row in here if "ordinal" in row]


def _position(row: RowMapping) -> int:
    return int(row["position"])


def _sha256(body: Any) -> str:
    return sha256(body if isinstance(body, bytes) else str(body).encode("utf-8", "surrogateescape")).hexdigest()


def _unreadable(decode: Callable[[int, bytes], object], row: RowMapping) -> str:
    try:
        decode(row["format"], row["body"])
    except UNREADABLE as error:
        return f"it cannot be read: {error}"[:200]
    return ""


def _miscounted(run: RowMapping, verdicts: dict[int, str]) -> Iterator[RowProblem]:
    """The problems of a run whose counts differ from those of its results: what is missing, or too much."""
    run_id, counted, total = str(run["id"]), sum(run[verdict] for verdict in VERDICTS), run["total"]
    gaps = [place for place in range(max(total, counted)) if place not in verdicts]
    lost = counted - len(verdicts)
    if counted >= total or lost == len(gaps):
        yield from (RowProblem(kind="missing", table="results", run_id=run_id, position=place) for place in gaps)
    elif lost > 0:
        some = f"{lost} of the {len(gaps)} positions without a result had one"
        yield RowProblem(kind="missing", table="results", run_id=run_id, detail=some)
    beyond = (place for place in verdicts if not 0 <= place < max(total, counted))
    yield from (RowProblem(kind="surplus", table="results", run_id=run_id, position=place) for place in beyond)
    numbers = Counter(verdicts.values())
    wrong = [each for each in VERDICTS if run[each] != numbers[each]]
    # A result with some other text for its verdict lacks where it was counted, and is named as damaged already.
    other = len(verdicts) - sum(numbers[each] for each in VERDICTS)
    if wrong and (lost or not other or any(run[each] < numbers[each] for each in wrong)):
        listed = "; ".join(f"{run[each]:,} {each}, not {numbers[each]:,}" for each in wrong)
        detail = f"its counts are not those of its results: {listed}"
        yield RowProblem(kind="altered", table="runs", run_id=run_id, detail=detail)


def mark_damaged(connection: Connection, run_id: str, problems: list[RowProblem]) -> int:
    """Make the damaged results of a run, and those of its damaged cases, count as such. `problems` are all problems of
    the run: its counts and seal are recomputed only if there is no other problem, which that would hide."""
    marked = 0
    for problem in problems:
        if problem.kind == "damaged":
            here = (cases.c.run_id == run_id, cases.c.position == problem.position)
            same = results.c.position == problem.position
            if problem.table == "cases":
                same = or_(same, results.c.case_id.in_(select(cases.c.case_id).where(*here)))
            own = update(results).where(results.c.run_id == run_id, same, results.c.verdict != Verdict.DAMAGED.value)
            marked += connection.execute(own.values(verdict=Verdict.DAMAGED.value)).rowcount
    if marked and all(problem.kind == "damaged" for problem in problems):
        connection.execute(recount_verdicts(run_id))
        if connection.scalar(select(runs.c.groups).where(runs.c.id == run_id)) is not None:
            store_counts(connection, run_id)
    return marked


def seal_rows(connection: Connection, run_id: str) -> int:
    """Make the missing checksums of a run's rows from their current content, and return their number."""
    attempts = (
        (row, result_checksum(connection, row, grades))
        for _, own, grades in _results_with_scores(connection, run_id)
        for row in own
        if row["checksum"] is None
    )
    return (
        _seal(connection, results, attempts)
        + _seal_table(connection, cases, CASE_COLUMNS, cases.c.run_id == run_id)
        + _seal_table(connection, runs, RUN_COLUMNS, runs.c.id == run_id)
    )


def seal_versions(connection: Connection) -> int:
    """The same for versions of documents."""
    return _seal_table(connection, document_versions, VERSION_COLUMNS)


def _seal_table(connection: Connection, table: Table, columns: tuple[str, ...], *where: ColumnElement[bool]) -> int:
    order = "id" if "id" in table.c else "position"
    lacking = raw_rows(connection, table, *where, table.c.checksum.is_(None), order=order)
    return _seal(connection, table, ((row, row_checksum(connection, row, columns)) for row in lacking))


def _seal(connection: Connection, table: Table, made: Iterable[tuple[RowMapping, bytes]]) -> int:
    keys = list(table.primary_key.columns)
    lacking = [([row[key.name] for key in keys], value) for row, value in made]
    for values, value in lacking:
        here = (key == own for key, own in zip(keys, values, strict=True))
        connection.execute(update(table).where(*here).values(checksum=value))
    return len(lacking)
