"""A History: the runs of one agent or dataset over time, their rates, where the rates changed, and where the runs
stopped being comparable."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct


class HistoryRun(Struct, frozen=True, kw_only=True):
    """One run in a history. `unlike`: what differs from the run before it, apart from the agent under test."""

    run_id: str
    name: str
    at: datetime
    errored: int = 0
    skipped: int = 0
    unlike: tuple[str, ...] = ()


class HistoryPoint(Struct, frozen=True, kw_only=True):
    """One rate in one run. `judged` 0: the run says nothing about it."""

    passed: int
    judged: int
    rate: float | None = None
    interval: tuple[float, float] | None = None


class RateChange(Struct, frozen=True, kw_only=True):
    """The rate changed with the run at `index` (from 0). `unlike`: what else changed with that run, so that the agent
    may not be the cause."""

    index: int
    before: float
    after: float
    p_value: float
    interval: tuple[float, float] | None = None
    unlike: tuple[str, ...] = ()


class HistoryLine(Struct, frozen=True, kw_only=True):
    """One rate over all runs, with one point for each run, in their order."""

    name: str
    points: tuple[HistoryPoint, ...]
    turnings: tuple[RateChange, ...] = ()


class History(Struct, frozen=True, kw_only=True):
    """The runs, oldest first. The first line is the pass rate; then comes one line for each grader with a pass mark."""

    whose: str
    runs: tuple[HistoryRun, ...]
    lines: tuple[HistoryLine, ...]
    left_out: int = 0
