"""One pass over the results of a run: their entries and blocks go to a file aside, and what is left in memory is where
they lie, what goes wrong how often, and the matrix."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from tempfile import SpooledTemporaryFile
from types import TracebackType
from typing import Self

from msgspec import Struct, json

from howsure.model.result import Result
from howsure.model.verdict import Verdict
from howsure.reports.html.blocks import block_bytes
from howsure.reports.html.entries import Entry, Wrong, entry, wrong
from howsure.reports.html.matrix import Matrix

IN_MEMORY = 8_000_000
COMMON = 12
SEVERITIES = ("high", "medium", "low", "")
WORST_FIRST = (Verdict.FAILED, Verdict.ERRORED, Verdict.SKIPPED, Verdict.PASSED)
RANKS = {verdict: rank for rank, verdict in enumerate(WORST_FIRST)}
ENCODER = json.Encoder()
DECODER = json.Decoder(Entry)

Changes = Mapping[tuple[str, str], str]
"""By candidate and case: `worse` or `better` than in the baseline."""


class Common(Struct, frozen=True, kw_only=True):
    """Something that went wrong in `count` results; `number` stands for it in their entries."""

    number: int
    wrong: Wrong
    count: int


class Gathered:
    """What the page is made of. Results are seen in the order of the run and given back worst first."""

    def __init__(self, changes: Changes | None = None) -> None:
        self.matrix = Matrix()
        self.bytes = 0
        self.tags: Counter[str] = Counter()
        self._changes = changes or {}
        # It lives as long as this does: __exit__ closes it.
        self._file: SpooledTemporaryFile[bytes] = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115
        self._ranks = array("B")
        self._offsets, self._entries = array("Q"), array("L")
        self._numbers: dict[Wrong, int] = {}
        self._wrong: Counter[Wrong] = Counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._file.close()

    def __len__(self) -> int:
        return len(self._ranks)

    def see(self, result: Result) -> None:
        found = dict.fromkeys(wrong(result))
        self._wrong.update(found.keys())
        numbers = tuple(self._numbers.setdefault(each, len(self._numbers)) for each in found)
        change = self._changes.get((result.candidate, result.case.id), "")
        listed = entry(result, len(self), numbers, change)
        self.tags.update(listed.tags)
        self.matrix.see(result, listed, RANKS[result.verdict])
        self._keep(RANKS[result.verdict], ENCODER.encode(listed), block_bytes(result))

    def _keep(self, rank: int, listed: bytes, shown: bytes) -> None:
        self._ranks.append(rank)
        self._offsets.append(self.bytes)
        self._entries.append(len(listed))
        self._file.write(listed)
        self._file.write(shown)
        self.bytes += len(listed) + len(shown)

    def order(self) -> list[int]:
        """The places of all results, worst first and then as in the run."""
        return sorted(range(len(self)), key=self._ranks.__getitem__)

    def entry_bytes(self, places: list[int]) -> Iterator[bytes]:
        for place in places:
            yield self._read(self._offsets[place], self._entries[place])

    def entries(self, places: list[int]) -> list[Entry]:
        return [DECODER.decode(data) for data in self.entry_bytes(places)]

    def blocks(self, places: list[int]) -> Iterator[bytes]:
        for place in places:
            end = self._offsets[place + 1] if place + 1 < len(self) else self.bytes
            start = self._offsets[place] + self._entries[place]
            yield self._read(start, end - start)

    def _read(self, offset: int, length: int) -> bytes:
        self._file.seek(offset)
        return self._file.read(length)

    def common(self) -> list[Common]:
        """What failed or broke in most results, the severe first among equals."""
        ranked = sorted(self._wrong.items(), key=lambda pair: (-pair[1], SEVERITIES.index(pair[0].severity)))
        return [Common(number=self._numbers[each], wrong=each, count=count) for each, count in ranked[:COMMON]]
