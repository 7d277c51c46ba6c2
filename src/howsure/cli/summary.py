"""Printing a run's summary on a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.console import Console

from howsure.cli.output import with_store
from howsure.model.result import Result
from howsure.model.summary import Summary
from howsure.model.verdict import Verdict
from howsure.reports.run_report import SHOWN_RESULTS, run_report
from howsure.services.workspace import Workspace

if TYPE_CHECKING:
    from howsure.store.store import Store


def console() -> Console:
    """Standard output; colour where it is a terminal and NO_COLOR is unset."""
    return Console(file=sys.stdout, highlight=False)


def print_summary(work: Workspace, summary: Summary, *, hints: bool = True, by: str = "") -> None:
    async def worst(store: Store) -> list[Result]:
        """The cases to look at first: what broke, then what failed."""
        broke = await store.results(summary.run.id, verdict=Verdict.ERRORED, limit=SHOWN_RESULTS // 2)
        failed = await store.results(summary.run.id, verdict=Verdict.FAILED, limit=SHOWN_RESULTS - len(broke))
        return [*failed, *broke]

    console().print(run_report(summary, with_store(work, worst, read_only=True), hints, by))
