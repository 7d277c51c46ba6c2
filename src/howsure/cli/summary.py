"""Printing a run's summary on a terminal."""

from __future__ import annotations

import asyncio
import sys

from rich.console import Console

from howsure.model.result import Result
from howsure.model.summary import Summary
from howsure.model.verdict import Verdict
from howsure.reports.run_report import SHOWN_RESULTS, run_report
from howsure.services.workspace import Workspace


def console() -> Console:
    """Standard output; colour where it is a terminal and NO_COLOR is unset."""
    return Console(file=sys.stdout, highlight=False)


def print_summary(work: Workspace, summary: Summary, *, hints: bool = True) -> None:
    console().print(run_report(summary, asyncio.run(_worst(work, summary.run.id)), hints))


async def _worst(work: Workspace, run: str) -> list[Result]:
    """The cases to look at first: what broke, then what failed."""
    async with await work.store(read_only=True) as store:
        broke = await store.results(run, verdict=Verdict.ERRORED, limit=SHOWN_RESULTS // 2)
        failed = await store.results(run, verdict=Verdict.FAILED, limit=SHOWN_RESULTS - len(broke))
        return [*failed, *broke]
