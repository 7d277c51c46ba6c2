"""Cutting a run into shards. A file that has a case in each record is cut by byte range, and read where it is worked
on; of any other the driver reads the cases and sends them along. Positions are those that the local engine gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct, field

from howsure.dialects.finding import readable
from howsure.dialects.reading import changed, read_cases
from howsure.model.case import Case
from howsure.model.run import DatasetPin
from howsure.services.cluster.records import Cut, body, cut_of
from howsure.services.remote import is_address
from howsure.services.survey import Dataset, Survey, matches
from howsure.store.bodies import encode

FEWEST, MOST = 50, 2_000
MOST_BYTES = 32 << 20
"""Of a file, in one shard: a worker holds them in memory."""
PER_SLOT = 8
"""Shards for each place where one can be worked on: the last ones then end at about the same time."""


class Range(Struct, frozen=True, kw_only=True, tag=True):
    """Some records of one of the run's files. `first` is the place of the first case among all, `before` how many cases
    of the file come before; `head` are the bytes at the start of the file that go before the others, and `sha256` is of
    both. `picks`: of the `read` cases in them only these are meant (None: all). `ids`: those that depend on what comes
    before, by place. `source`: the address to read them from, where the file is not on this machine's disk."""

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


def shards(survey: Survey, size: int, sources: Sequence[str] = ()) -> Iterator[Shard]:
    """The whole run, in order. Nothing but the place in a file is held in memory. `sources`: for each file the address
    that workers read it from; "" where they have it on a disk."""
    first = 0
    for number, dataset in enumerate(survey.datasets):
        left = None if survey.limit is None else survey.limit - first
        if left is not None and left <= 0:
            return
        for cut in _cut(survey, number, dataset, size, left):
            yield msgspec.structs.replace(
                cut, first=first, **({"source": sources[cut.file]} if sources and isinstance(cut, Range) else {})
            )
            first += cut.cases


def sources_of(pins: Sequence[DatasetPin]) -> tuple[str, ...]:
    """For each file the address that workers read it from; "" where they have it on a disk."""
    return tuple(pin.path if is_address(pin.path) else "" for pin in pins)


def _cut(survey: Survey, number: int, dataset: Dataset, size: int, limit: int | None) -> Iterator[Shard]:
    """The shards of one file, as if it were the first."""
    way = cut_of(dataset)
    if way is Cut.NOT:
        return _carried(msgspec.structs.replace(survey, datasets=(dataset,), limit=limit, shape=None), size)
    if survey.filters or way is Cut.COUNTED:
        return _picked(number, dataset, survey, size, limit)
    return _ranges(number, dataset, size, limit)


def _carried(survey: Survey, size: int) -> Iterator[Carried]:
    # The plan on the worker shapes cases where the run does: these must be as they were read.
    bodies: list[msgspec.Raw] = []
    held = 0
    for case in survey.cases():
        bodies.append(msgspec.Raw(encode(case)))
        held += len(bodies[-1])
        if len(bodies) == size or held >= MOST_BYTES:
            yield Carried(first=0, bodies=tuple(bodies))
            bodies, held = [], 0
    if bodies:
        yield Carried(first=0, bodies=tuple(bodies))


class _Growing:
    """A range that is not complete yet."""

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
        """The case that was added last."""
        place = self.read - 1
        self.picks.append(place)
        if case.labels.get("repeat", "1") != "1":
            self.ids[place] = case.id

    def whole(self) -> Range:
        return self._range(self.read)

    def picked(self) -> Range:
        picks = None if len(self.picks) == self.read else tuple(self.picks)
        return msgspec.structs.replace(self._range(len(self.picks)), picks=picks, ids=self.ids)

    def _range(self, cases: int) -> Range:
        return Range(
            file=self._file,
            start=self.start,
            end=self.end,
            first=0,
            cases=cases,
            sha256=self._hashed.hexdigest(),
            before=self._before,
            read=self.read,
            head=self._head,
        )


def _ranges(number: int, dataset: Dataset, size: int, limit: int | None) -> Iterator[Range]:
    """By counting records: none is read."""
    header, records = body(dataset.path)
    growing, cases = _Growing(number, header, len(header), 0), 0
    for record, full in records:
        if cases == limit:
            break
        growing.add(record, full)
        cases += full
        if full and (growing.read == size or growing.is_large):
            yield growing.whole()
            growing = _Growing(number, header, growing.end, cases)
    if growing.read:
        yield growing.whole()
    if limit is None and cases != dataset.report.cases:
        raise changed(dataset.path)


def _picked(number: int, dataset: Dataset, survey: Survey, size: int, limit: int | None) -> Iterator[Range]:
    """The driver reads every case, to choose or to count, and sends none."""
    header = body(dataset.path)[0]
    growing, place, cases, taken = None, len(header), 0, 0
    for record, case in _read_along(dataset):
        wanted = case is not None and matches(case, survey.filters)
        if wanted and growing is None:
            growing = _Growing(number, header, place, cases)
        place += len(record)
        cases += case is not None
        if growing is None:
            continue
        growing.add(record, case is not None)
        if wanted and case is not None:
            growing.pick(case)
            taken += 1
        if len(growing.picks) == size or growing.read >= max(MOST, size) or growing.is_large or taken == limit:
            yield growing.picked()
            growing = None
        if taken == limit:
            return
    if growing is not None:
        yield growing.picked()


def _read_along(dataset: Dataset) -> Iterator[tuple[bytes, Case | None]]:
    """Every record with its case; None, where it is blank."""
    cases = read_cases(dataset.path, dataset.dialect, dataset.report)
    for record, full in body(dataset.path)[1]:
        case = next(cases, None) if full else None
        if full and case is None:
            raise changed(dataset.path)
        yield record, case
    if next(cases, None) is not None:
        raise changed(dataset.path)


def positions(shard: Shard, lanes: int) -> tuple[int, int]:
    """The first and the last attempt of a shard."""
    return shard.first * lanes, (shard.first + shard.cases) * lanes - 1


def still_open(shard: Shard, lanes: int, done: set[int]) -> bool:
    """Whether anything of it is left to do; `done`: positions that have a result."""
    first, last = positions(shard, lanes)
    return not all(position in done for position in range(first, last + 1))


def read_bytes(path: Path, shard: Range) -> bytes:
    """The records, after what the file begins with; they must be those that were surveyed."""
    with readable(path), open(path, "rb") as file:
        found = file.read(shard.head)
        file.seek(shard.start)
        found += file.read(shard.end - shard.start)
    return checked(found, shard, path)


def checked(found: bytes, shard: Range, path: Path) -> bytes:
    if sha256(found).hexdigest() != shard.sha256:
        raise changed(path)
    return found


def carried_cases(shard: Carried) -> list[Case]:
    return [_case(body) for body in shard.bodies]


_case = msgspec.json.Decoder(Case).decode
