"""Cutting a run into shards. A file that has a case on each line is cut by byte range, and read where it is worked on;
of any other the driver reads the cases and sends them along. Positions are those that the local engine gives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import islice
from pathlib import Path

import msgspec
from msgspec import Struct

from assay.dialects.finding import readable
from assay.dialects.lines import RowDialect, is_table, line_groups
from assay.dialects.reading import changed
from assay.dialects.strict_json import BOM
from assay.model.case import Case
from assay.services.survey import Dataset, Survey
from assay.store.bodies import encode

ALONE = ("explain", "legal")
"""Dialects that read a line without knowing the others."""
NUMBERED = "simulation"
"""The dialect that tells conversations about one question apart by counting them: safe where no id comes twice."""
FEWEST, MOST = 50, 2_000
PER_SLOT = 8
"""Shards for each place where one can be worked on: the last ones then end at about the same time."""


class Range(Struct, frozen=True, kw_only=True, tag=True):
    """Some lines of one of the run's files. `first` is the place of the first case among all, `sha256` of the bytes."""

    file: int
    start: int
    end: int
    first: int
    cases: int
    sha256: str


class Carried(Struct, frozen=True, kw_only=True, tag=True):
    """Cases that are sent along, encoded."""

    first: int
    bodies: tuple[msgspec.Raw, ...]

    @property
    def cases(self) -> int:
        return len(self.bodies)


Shard = Range | Carried


def shard_size(cases: int, lanes: int, slots: int, wished: int = 0) -> int:
    """Cases in a shard: so many that every slot gets several, and none so many that much is lost with it."""
    if wished:
        return max(1, wished // lanes)
    return max(1, min(MOST, max(FEWEST, cases * lanes // (max(1, slots) * PER_SLOT))) // lanes)


def shards(survey: Survey, size: int) -> Iterator[Shard]:
    """The whole run, in order. Nothing but the place in a file is held in memory."""
    if survey.filters or not all(map(is_cuttable, survey.datasets)):
        yield from _carried(survey, size)
        return
    first = 0
    for number, dataset in enumerate(survey.datasets):
        left = None if survey.limit is None else survey.limit - first
        for cut in _ranges(number, dataset, first, size, left):
            first += cut.cases
            yield cut


def _carried(survey: Survey, size: int) -> Iterator[Carried]:
    # The plan on the worker shapes cases where the run does: these must be as they were read.
    cases = msgspec.structs.replace(survey, shape=None).cases()
    first = 0
    while bodies := tuple(msgspec.Raw(encode(case)) for case in islice(cases, size)):
        yield Carried(first=first, bodies=bodies)
        first += len(bodies)


def is_cuttable(dataset: Dataset) -> bool:
    """Whether every line is a case of its own, whatever the others are."""
    if is_table(dataset.path) or dataset.path.suffix.lower() not in (".jsonl", ".ndjson"):
        return False
    lines = _lines(dataset.path)
    if dataset.dialect.name == NUMBERED:
        return _told_apart(lines, dataset.report.cases)
    known = dataset.dialect.name in ALONE or isinstance(dataset.dialect, RowDialect)
    return known and sum(map(_is_full, lines)) == dataset.report.cases


def _told_apart(lines: Iterable[bytes], cases: int) -> bool:
    seen: set[str] = set()
    for line in filter(_is_full, lines):
        try:
            seen.add(_ID(line.removeprefix(BOM)).question_id)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return False
    return len(seen) == cases


class _Named(Struct):
    question_id: str


_ID = msgspec.json.Decoder(_Named).decode


def _lines(path: Path) -> Iterator[bytes]:
    with readable(path):
        for group in line_groups(path):
            yield from group


def _is_full(line: bytes) -> bool:
    return not line.isspace() and bool(line.removeprefix(BOM).strip())


def _ranges(number: int, dataset: Dataset, first: int, size: int, limit: int | None) -> Iterator[Range]:
    start = end = cases = 0
    hashed = sha256()
    for line in _lines(dataset.path):
        if limit is not None and limit <= 0:
            break
        end += len(line)
        hashed.update(line)
        if not _is_full(line):
            continue
        cases += 1
        limit = None if limit is None else limit - 1
        if cases == size:
            yield _range(number, (start, end), first, cases, hashed.hexdigest())
            start, first, cases, hashed = end, first + cases, 0, sha256()
    if cases:
        yield _range(number, (start, end), first, cases, hashed.hexdigest())


def _range(file: int, between: tuple[int, int], first: int, cases: int, digest: str) -> Range:
    return Range(file=file, start=between[0], end=between[1], first=first, cases=cases, sha256=digest)


def positions(shard: Shard, lanes: int) -> tuple[int, int]:
    """The first and the last attempt of a shard."""
    return shard.first * lanes, (shard.first + shard.cases) * lanes - 1


def still_open(shard: Shard, lanes: int, done: set[int]) -> bool:
    """Whether anything of it is left to do; `done`: positions that have a result."""
    first, last = positions(shard, lanes)
    return not all(position in done for position in range(first, last + 1))


def read_bytes(path: Path, shard: Range) -> bytes:
    """The lines, which must be those that were surveyed."""
    with readable(path), open(path, "rb") as file:
        file.seek(shard.start)
        found = file.read(shard.end - shard.start)
    if sha256(found).hexdigest() != shard.sha256:
        raise changed(path)
    return found


def carried_cases(shard: Carried) -> list[Case]:
    return [_case(body) for body in shard.bodies]


_case = msgspec.json.Decoder(Case).decode
