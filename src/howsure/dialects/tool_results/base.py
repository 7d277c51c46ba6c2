"""The contract of a results reader: it reads the results file of one other tool, a sample at a time, and knows neither
graders nor the store. The shared readers of JSON, archives and messages are beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from msgspec import Struct

from howsure.model.case import Case
from howsure.model.score import Grade
from howsure.model.tool_runs import ToolRun
from howsure.model.transcript import Transcript


class SampleResult(Struct, frozen=True, kw_only=True):
    """One sample as the tool left it. `grades` are its scores under their own names and scales, with the giver as
    `judge`; those with a pass mark decide where `passed`, the tool's own verdict, is None. `error`: why the tool could
    not try or score it; it is then errored, whatever else it has."""

    case: Case
    transcript: Transcript | None = None
    grades: tuple[Grade, ...] = ()
    passed: bool | None = None
    reason: str = ""
    error: str = ""
    candidate: str = ""
    repeat: int = 1


class UnreadableRecord(Struct, frozen=True, kw_only=True):
    """A record that is no sample: it becomes an errored result. `place` says where it stands (`samples[3]`)."""

    place: str
    reason: str
    id: str = ""


ResultsRecord = ToolRun | SampleResult | UnreadableRecord


class ResultsReader(Protocol):
    """Reads one tool's results, and never holds all samples. `read` yields a ToolRun when all is known that the file
    says of the whole: before, between or after the samples (the last one counts). A fault of the file as a whole
    raises DatasetInvalid (`streams.container_fault`): nothing of it is then stored."""

    name: str

    def detect(self, path: Path, head: bytes) -> bool:
        """Whether the file is one of this tool, judged by its first 64 KiB (none for a folder)."""
        ...

    def read(self, path: Path) -> Iterator[ResultsRecord]: ...


@runtime_checkable
class CompanionReader(Protocol):
    """A results reader whose run lies in several files: `companions` names all of them, for any one of them."""

    def companions(self, path: Path) -> Sequence[Path]: ...
