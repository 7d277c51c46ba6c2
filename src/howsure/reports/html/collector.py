"""One pass over the results of a run. Their entries and blocks go to a temporary file; in memory stay their offsets,
how often each cause occurs, and the matrix."""

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
from howsure.reports.html.case_data import CaseEntry, FailureCause, case_block_bytes, case_entry, failure_causes
from howsure.reports.html.matrix import Matrix

IN_MEMORY = 8_000_000
SHOWN_FAILURES = 12
SEVERITIES = ("high", "medium", "low", "")
WORST_FIRST = (Verdict.FAILED, Verdict.ERRORED, Verdict.SKIPPED, Verdict.PASSED)
RANKS = {verdict: rank for rank, verdict in enumerate(WORST_FIRST)}
ENCODER = json.Encoder()
DECODER = json.Decoder(CaseEntry)

Changes = Mapping[tuple[str, str], str]
"""By candidate and case: `worse` or `better` than in the baseline."""


class FrequentCause(Struct, frozen=True, kw_only=True):
    """A cause that `count` results share; `number` stands for it in their entries."""

    number: int
    wrong: FailureCause
    count: int


class ResultCollector:
    """What the page is made of. Results are added in the order of the run and read back worst first."""

    def __init__(self, changes: Changes | None = None) -> None:
        self.matrix = Matrix()
        self.bytes = 0
        self.tags: Counter[str] = Counter()
        self._changes = changes or {}
        # __exit__ closes it.
        self._file: SpooledTemporaryFile[bytes] = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115
        self._ranks = array("B")
        self._offsets, self._entries = array("Q"), array("L")
        self._numbers: dict[FailureCause, int] = {}
        self._causes: Counter[FailureCause] = Counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._file.close()

    def __len__(self) -> int:
        return len(self._ranks)

    def add(self, result: Result) -> None:
        causes = dict.fromkeys(failure_causes(result))
        self._causes.update(causes.keys())
        numbers = tuple(self._numbers.setdefault(each, len(self._numbers)) for each in causes)
        change = self._changes.get((result.candidate, result.case.id), "")
        entry, rank = case_entry(result, len(self), numbers, change), RANKS[result.verdict]
        self.tags.update(entry.tags)
        self.matrix.add(result, entry, rank)
        listed, block = ENCODER.encode(entry), case_block_bytes(result)
        self._ranks.append(rank)
        self._offsets.append(self.bytes)
        self._entries.append(len(listed))
        self._file.write(listed)
        self._file.write(block)
        self.bytes += len(listed) + len(block)

    def order(self) -> list[int]:
        """The places of all results, worst first and then as in the run."""
        return sorted(range(len(self)), key=self._ranks.__getitem__)

    def entry_bytes(self, places: list[int]) -> Iterator[bytes]:
        for place in places:
            yield self._read(self._offsets[place], self._entries[place])

    def entries(self, places: list[int]) -> list[CaseEntry]:
        return [DECODER.decode(data) for data in self.entry_bytes(places)]

    def blocks(self, places: list[int]) -> Iterator[bytes]:
        for place in places:
            end = self._offsets[place + 1] if place + 1 < len(self) else self.bytes
            start = self._offsets[place] + self._entries[place]
            yield self._read(start, end - start)

    def _read(self, offset: int, length: int) -> bytes:
        self._file.seek(offset)
        return self._file.read(length)

    def common(self) -> list[FrequentCause]:
        """The causes that most results share, the severe first among equals."""
        ranked = sorted(self._causes.items(), key=lambda pair: (-pair[1], SEVERITIES.index(pair[0].severity)))
        return [
            FrequentCause(number=self._numbers[each], wrong=each, count=count)
            for each, count in ranked[:SHOWN_FAILURES]
        ]
