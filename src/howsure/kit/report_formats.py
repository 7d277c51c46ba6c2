"""The contract of a report format: how a run becomes a file. `howsure.reports.formats` has the built-in ones."""

from __future__ import annotations

from collections.abc import AsyncIterable
from pathlib import Path
from typing import Protocol, runtime_checkable

from howsure.model.comparison import Comparison
from howsure.model.result import Result
from howsure.model.summary import Summary


class ReportFormat(Protocol):
    """`--format NAME` selects it, or an ending of the file that `--output` names.

    `compares`: it shows the comparison with a baseline run, and `--baseline` may be used with it.
    """

    @property
    def name(self) -> str: ...

    @property
    def endings(self) -> tuple[str, ...]: ...

    @property
    def compares(self) -> bool: ...

    async def write(
        self, summary: Summary, results: AsyncIterable[Result], path: Path, comparison: Comparison | None = None
    ) -> None:
        """Write the run to `path`. The results come in the order of the run and can be read once."""


@runtime_checkable
class CheckedReportFormat(Protocol):
    """A report format that needs a program or a package may have `check` as well."""

    def check(self) -> None:
        """Raise an `InputError` where this machine cannot write the format. It is called before the run starts."""
