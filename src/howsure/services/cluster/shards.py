"""Cutting a run into shards, and reading a shard's cases on the worker. A file with a case in each record (a line, or a
record of a table, whose cells may hold line breaks) is cut by byte range and read by the workers; of any other file the
driver reads the cases and sends them along. Positions are the same as in the local engine."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from howsure.dialects.base import Importer, RereadingDialect
from howsure.dialects.datasets import file_changed, read_cases, readable
from howsure.dialects.ids import SeenIds
from howsure.dialects.lines import LONGEST_CELL, RowDialect, is_table, line_groups
from howsure.dialects.plain_columns import TableDialect
from howsure.dialects.strict_json import BOM
from howsure.errors import Level
from howsure.model.case import Case
from howsure.model.run import DatasetPin
from howsure.services.files import is_address, read_part
from howsure.services.run.preflight import CaseSelection, CheckedDataset, matches
from howsure.store.codecs import encode

ALONE = ("explain", "legal")
"""Dialects that read a line without knowing the others."""
NUMBERED = "simulation"
"""The dialect that numbers the conversations about one question."""
QUESTION = "question_id"

Record = tuple[bytes, bool]
"""The bytes of a record, and whether it holds anything: blank lines are records too, but no cases."""


def is_cuttable(dataset: CheckedDataset) -> bool:
    """Whether workers read the file themselves."""
    if not is_table(dataset.path) and dataset.path.suffix.lower() not in (".jsonl", ".ndjson"):
        return False
    if dataset.dialect.name == NUMBERED:
        return True
    if dataset.dialect.name in ALONE:
        return not is_table(dataset.path)
    # An id that a plain table lacks depends on the rows before.
    if not isinstance(dataset.dialect, RowDialect) or isinstance(dataset.dialect, TableDialect):
        return False
    # A plug-in may have its own `read`: only a case for each record can be cut.
    return sum(full for _, full in read_records(dataset.path)[1]) == dataset.report.cases


def is_counted(dataset: CheckedDataset) -> bool:
    """Whether the id of a case depends on those before it: not if every conversation has an id of its own."""
    if dataset.dialect.name != NUMBERED:
        return False
    ids, number = SeenIds(), 0
    for number, found in enumerate(_questions(dataset.path), start=1):
        if not found.strip() or not ids.is_new(found, number):
            return True
    return number != dataset.report.cases


def read_records(path: Path) -> tuple[bytes, Iterator[Record]]:
    """The bytes that every part of the file must begin with (a table's header), and the records after that."""
    if not is_table(path):
        return b"", ((line, has_content(line)) for line in _lines(path))
    records = _table(path)
    header, _ = next(records, (b"", []))
    return header, ((record, any(cells)) for record, cells in records)


def has_content(line: bytes) -> bool:
    return not line.isspace() and bool(line.removeprefix(BOM).strip())


def _lines(path: Path) -> Iterator[bytes]:
    with readable(path):
        for group in line_groups(path):
            yield from group


def _table(path: Path) -> Iterator[tuple[bytes, list[str]]]:
    """The records of a table, read with the csv reader that dialects use: it says which lines make a record."""
    csv.field_size_limit(LONGEST_CELL)
    lines: list[bytes] = []

    def shown() -> Iterator[str]:
        for number, line in enumerate(_lines(path)):
            lines.append(line)
            yield (line if number else line.removeprefix(BOM)).decode("utf-8")

    for cells in csv.reader(shown(), strict=True):
        yield b"".join(lines), cells
        lines.clear()


def _questions(path: Path) -> Iterator[str]:
    """The question id of each record; "" where it has none."""
    if not is_table(path):
        return map(_question, filter(has_content, _lines(path)))
    records = _table(path)
    _, columns = next(records, (b"", []))
    place = columns.index(QUESTION) if QUESTION in columns else len(columns)
    return (cells[place] if place < len(cells) else "" for _, cells in records if any(cells))


class _QuestionId(Struct):
    question_id: str


_decode: Callable[[bytes], _QuestionId] = msgspec.json.Decoder(_QuestionId).decode


def _question(line: bytes) -> str:
    try:
        return _decode(line.removeprefix(BOM)).question_id
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""


FEWEST, MOST = 50, 2_000
MOST_BYTES = 32 << 20
"""Bytes of a file in one shard: a worker holds them in memory."""
PER_SLOT = 8
"""Shards for each slot: with several per slot, the last ones end at about the same time."""


class FileRange(Struct, frozen=True, kw_only=True, tag=True):
    """Some records of one of the run's files. `first` is the index of the first case in the run, `before` the number of
    cases of the file before it; `head` is the length of the header that goes before the records, and `sha256` is of
    both. `picks`: of the `read` cases only these are meant (None: all). `ids`: ids that depend on earlier cases, by
    index. `source`: the address to read from, if the file is not on this machine's disk."""

    file: int
    start: int
    end: int
    first: int
    cases: int
    sha256: str
    before: int = 0
    read: int = 0
    head: int = 0
    picks: tuple[int, ...] | None = None
    ids: dict[int, str] = field(default_factory=dict)
    source: str = ""


class CarriedCases(Struct, frozen=True, kw_only=True, tag=True):
    """Cases that are sent along, encoded."""

    first: int
    bodies: tuple[msgspec.Raw, ...]

    @property
    def cases(self) -> int:
        return len(self.bodies)


Shard = FileRange | CarriedCases


def shard_size(cases: int, candidates: int, slots: int, requested: int = 0) -> int:
    """Cases in a shard: every slot gets several shards, and no shard is so large that much is lost with it."""
    if requested:
        return max(1, requested // candidates)
    return max(1, min(MOST, max(FEWEST, cases * candidates // (max(1, slots) * PER_SLOT))) // candidates)


def cut_shards(selection: CaseSelection, size: int, sources: Sequence[str] = ()) -> Iterator[Shard]:
    """The shards of the whole run, in order; only the position in a file is held in memory. `sources`: for each file
    the address that workers read it from; "" where they have it on a disk."""
    first = 0
    for number, dataset in enumerate(selection.datasets):
        left = None if selection.limit is None else selection.limit - first
        if left is not None and left <= 0:
            return
        for cut in _cut(selection, number, dataset, size, left):
            yield replace(
                cut, first=first, **({"source": sources[cut.file]} if sources and isinstance(cut, FileRange) else {})
            )
            first += cut.cases


def shard_sources(pins: Sequence[DatasetPin]) -> tuple[str, ...]:
    """For each file the address that workers read it from; "" where they have it on a disk."""
    return tuple(pin.path if is_address(pin.path) else "" for pin in pins)


def _cut(
    selection: CaseSelection, number: int, dataset: CheckedDataset, size: int, limit: int | None
) -> Iterator[Shard]:
    """The shards of one file, as if it were the first."""
    if not is_cuttable(dataset):
        return _carried(replace(selection, datasets=(dataset,), limit=limit, shape=None), size)
    if selection.filters or is_counted(dataset):
        return _picked_ranges(number, dataset, selection, size, limit)
    return _ranges(number, dataset, size, limit)


def _carried(selection: CaseSelection, size: int) -> Iterator[CarriedCases]:
    # The worker's plan shapes the cases: they must be sent as they were read.
    bodies: list[msgspec.Raw] = []
    size_so_far = 0
    for case in selection.read():
        bodies.append(msgspec.Raw(encode(case)))
        size_so_far += len(bodies[-1])
        if len(bodies) == size or size_so_far >= MOST_BYTES:
            yield CarriedCases(first=0, bodies=tuple(bodies))
            bodies, size_so_far = [], 0
    if bodies:
        yield CarriedCases(first=0, bodies=tuple(bodies))


class _RangeBuilder:
    """A range that is still growing."""

    def __init__(self, file: int, header: bytes, start: int, before: int) -> None:
        self._file, self._head, self._before = file, len(header), before
        self.start = self.end = start
        self._hashed = sha256(header)
        self.read = 0
        self.picks: list[int] = []
        self.ids: dict[int, str] = {}

    def add(self, record: bytes, full: bool) -> None:
        self.end += len(record)
        self._hashed.update(record)
        self.read += full

    @property
    def is_large(self) -> bool:
        return self.end - self.start >= MOST_BYTES

    def pick(self, case: Case) -> None:
        """Choose the case that was added last."""
        place = self.read - 1
        self.picks.append(place)
        if case.labels.get("repeat", "1") != "1":
            self.ids[place] = case.id

    def whole(self) -> FileRange:
        """The range with all its cases."""
        return FileRange(
            file=self._file,
            start=self.start,
            end=self.end,
            first=0,
            cases=self.read,
            sha256=self._hashed.hexdigest(),
            before=self._before,
            read=self.read,
            head=self._head,
        )

    def picked(self) -> FileRange:
        """The range with the chosen cases only."""
        picks = None if len(self.picks) == self.read else tuple(self.picks)
        return replace(self.whole(), cases=len(self.picks), picks=picks, ids=self.ids)


def _ranges(number: int, dataset: CheckedDataset, size: int, limit: int | None) -> Iterator[FileRange]:
    """Cut by counting records; no record is parsed."""
    header, records = read_records(dataset.path)
    growing, cases = _RangeBuilder(number, header, len(header), 0), 0
    for record, full in records:
        if cases == limit:
            break
        growing.add(record, full)
        cases += full
        if full and (growing.read == size or growing.is_large):
            yield growing.whole()
            growing = _RangeBuilder(number, header, growing.end, cases)
    if growing.read:
        yield growing.whole()
    if limit is None and cases != dataset.report.cases:
        raise file_changed(dataset.path)


def _picked_ranges(
    number: int, dataset: CheckedDataset, selection: CaseSelection, size: int, limit: int | None
) -> Iterator[FileRange]:
    """Cut a file of which the driver reads every case, to filter or to count; no case is sent."""
    header = read_records(dataset.path)[0]
    growing, place, cases, taken = None, len(header), 0, 0
    for record, case in _read_along(dataset):
        chosen = case is not None and matches(case, selection.filters)
        if chosen and growing is None:
            growing = _RangeBuilder(number, header, place, cases)
        place += len(record)
        cases += case is not None
        if growing is None:
            continue
        growing.add(record, case is not None)
        if chosen and case is not None:
            growing.pick(case)
            taken += 1
        if len(growing.picks) == size or growing.read >= max(MOST, size) or growing.is_large or taken == limit:
            yield growing.picked()
            growing = None
        if taken == limit:
            return
    if growing is not None:
        yield growing.picked()


def _read_along(dataset: CheckedDataset) -> Iterator[tuple[bytes, Case | None]]:
    """Every record with its case; None where it is blank."""
    cases = read_cases(dataset.path, dataset.dialect, dataset.report)
    for record, full in read_records(dataset.path)[1]:
        case = next(cases, None) if full else None
        if full and case is None:
            raise file_changed(dataset.path)
        yield record, case
    if next(cases, None) is not None:
        raise file_changed(dataset.path)


def shard_positions(shard: Shard, candidates: int) -> tuple[int, int]:
    """The positions of the first and the last attempt of a shard."""
    return shard.first * candidates, (shard.first + shard.cases) * candidates - 1


def has_open_attempts(shard: Shard, candidates: int, done: set[int]) -> bool:
    """Whether any attempt of the shard is left; `done`: positions that have a result."""
    first, last = shard_positions(shard, candidates)
    return not all(position in done for position in range(first, last + 1))


def read_range(path: Path, shard: FileRange) -> bytes:
    """The header and the records; they must be those that the driver saw."""
    if shard.source:
        found = read_part(shard.source, 0, shard.head) if shard.head else b""
        found += read_part(shard.source, shard.start, shard.end)
    else:
        with readable(path), open(path, "rb") as file:
            found = file.read(shard.head)
            file.seek(shard.start)
            found += file.read(shard.end - shard.start)
    if sha256(found).hexdigest() != shard.sha256:
        raise file_changed(path)
    return found


_decode_case = msgspec.json.Decoder(Case).decode


def shard_cases(selection: CaseSelection, shard: Shard) -> list[Case]:
    """The cases of a shard, in order, shaped as the run shapes them. Records are given to the dialect in a small file
    of their own, so that any line dialect can be cut, a plug-in's too, without knowing it."""
    if isinstance(shard, CarriedCases):
        cases = [_decode_case(body) for body in shard.bodies]
    else:
        cases = _ranged(selection.datasets[shard.file], shard)
    return cases if selection.shape is None else list(map(selection.shape, cases))


def _ranged(dataset: CheckedDataset, shard: FileRange) -> list[Case]:
    records = read_range(dataset.path, shard)
    with TemporaryDirectory(prefix="howsure-shard-") as folder:
        part = Path(folder) / dataset.path.name
        part.write_bytes(records)
        cases = _read(part, dataset.dialect)
    if cases is None and not shard.source:
        # The dialect needs files beside the whole file: attachments, a catalog.
        whole = (each for each in dataset.dialect.read(dataset.path) if isinstance(each, Case))
        cases = list(islice(whole, shard.before, shard.before + shard.read))
    if cases is None or len(cases) != shard.read:
        raise file_changed(dataset.path)
    for place, id in shard.ids.items():
        # The id depends on earlier cases of the file: `q#3` is the third conversation about that question.
        if cases[place].id != id:
            labels = {**cases[place].labels, "repeat": id.rpartition("#")[2]}
            cases[place] = replace(cases[place], id=id, labels=labels)
    return cases if shard.picks is None else [cases[place] for place in shard.picks]


def _read(part: Path, dialect: Importer) -> list[Case] | None:
    """The cases of these records; None: they cannot be read without the files beside the original."""
    found = dialect.read_again(part, lambda _: None) if isinstance(dialect, RereadingDialect) else dialect.read(part)
    cases: list[Case] = []
    for each in found:
        if isinstance(each, Case):
            cases.append(each)
        elif each.level is Level.ERROR:
            return None
    return cases
