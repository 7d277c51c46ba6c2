"""The `legal` dialect: JSONL of `legal_eval_v1` rows (docs/dialects/legal.md describes every field and problem).

Lines are decoded straight into typed rows and checked cheaply, many at once (legal_rows.py, legal_bulk.py); one that
fails anything is read again slowly, by the schema, to name every problem and to keep the fields nobody knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from howsure.dialects import extras
from howsure.dialects.json_places import Spot
from howsure.dialects.legal_bulk import sound_rows, valid_row
from howsure.dialects.legal_checks import path_problems, row_problems
from howsure.dialects.legal_rows import AnyRow
from howsure.dialects.legal_schema import SCHEMA, VERSION
from howsure.dialects.legal_writing import legal_rows, sure_lines
from howsure.dialects.lines import Ids, Watch, line_groups, not_an_object, write_checked
from howsure.dialects.problems import Checker
from howsure.dialects.strict_json import BOM, parse
from howsure.errors import Level, Problem
from howsure.model.case import Case

T = TypeVar("T")

_CHECKER = Checker(SCHEMA)
_TASK_FIELDS = (VERSION.encode(), b'"choices"', b'"rubric"', b'"reference_answers"')


class LegalDialect:
    """JSONL of `legal_eval_v1` rows."""

    name = "legal"

    def schema(self) -> dict[str, Any]:
        return SCHEMA

    def detect(self, path: Path, head: bytes) -> bool:
        if not head.removeprefix(BOM).lstrip().startswith(b"{"):
            return False
        return b'"task_type"' in head and b'"prompt"' in head and any(name in head for name in _TASK_FIELDS)

    def read(self, path: Path) -> Iterator[Case | Problem]:
        return self.read_watched(path)

    def read_watched(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem]:
        return _read(path, watch, lambda row: row.case())

    def survey(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem | None]:
        """As `read_watched`, with None for most cases: nothing is built only to be thrown away."""
        return _read(path, watch, lambda row: None)

    def write(self, cases: Iterable[Case], path: Path) -> None:
        ids = Ids()
        write_checked(
            legal_rows(cases, path),
            path,
            lambda text, spot: _again(text, spot, ids, path.parent),
            lambda lines, first: _surely_sound(lines, first, ids),
            lambda rows, first: sure_lines(rows) and ids.all_new([str(getattr(row, "id", "")) for row in rows], first),
        )


def _read(path: Path, watch: Watch | None, built: Callable[[AnyRow], T]) -> Iterator[T | Case | Problem]:
    """What is `built` from each row where the fast path finds nothing wrong; else what the slow path gives."""
    ids, folder, line = Ids(), path.parent, 1
    for lines in line_groups(path, watch):
        rows = sound_rows(lines)
        astray = any(_astray(row, folder) for row in rows if row.attachments)
        if rows and not astray and ids.all_new([row.id for row in rows], line):
            yield from map(built, rows)
        else:
            for number, text in enumerate(lines, line):
                yield from _one(text, Spot(str(path), number), ids, built)
        line += len(lines)


def _one(text: bytes, spot: Spot, ids: Ids, built: Callable[[AnyRow], T]) -> Iterator[T | Case | Problem]:
    folder = Path(spot.file).parent
    rows = sound_rows([text])
    if rows and ids.is_new(rows[0].id, spot.line or 0) and not _astray(rows[0], folder):
        yield built(rows[0])
    elif text.removeprefix(BOM).strip():
        yield from _slow(text, spot, ids, folder)


def _again(text: bytes, spot: Spot, ids: Ids, folder: Path) -> Iterator[Case | Problem]:
    """What reading a line that is about to be written would give, where that is not simply its case."""
    rows = sound_rows([text])
    if not rows or rows[0].attachments or not ids.is_new(rows[0].id, spot.line or 0):
        yield from _slow(text, spot, ids, folder)


def _surely_sound(lines: Sequence[bytes], first: int, ids: Ids) -> bool:
    rows = sound_rows(lines)
    return bool(rows) and not any(row.attachments for row in rows) and ids.all_new([row.id for row in rows], first)


def _astray(row: AnyRow, folder: Path) -> bool:
    paths = [attachment.path for attachment in row.attachments or ()]
    return any(path_problems(paths, folder, Spot("")))


def _slow(text: bytes, spot: Spot, ids: Ids, folder: Path) -> Iterator[Case | Problem]:
    """Every problem of the line; the case too, where they are only warnings."""
    value, problems = parse(text, file=spot.file, line=spot.line)
    if not isinstance(value, dict):
        yield from problems or [not_an_object(value, spot)]
        return
    apart = extras.set_apart(value, SCHEMA, spot)
    row = valid_row(value)
    if row is None:
        problems += _CHECKER.problems(value, file=spot.file, line=spot.line)
    problems += [*row_problems(value, spot, ids, folder), *apart.warnings]
    if all(problem.level is Level.WARNING for problem in problems):
        yield row.case(apart.kept) if row else spot.problem("invalid", "cannot be read, though it fits the schema")
    yield from problems
