"""A History: the runs of one agent or dataset over time, the rates they gave, where these changed, and where the runs
stopped being comparable."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct


class Standing(Struct, frozen=True, kw_only=True):
    """One run in a history. `unlike`: what it does not share with the run before it, besides who was under test."""

    run_id: str
    name: str
    at: datetime
    errored: int = 0
    skipped: int = 0
    unlike: tuple[str, ...] = ()


class Point(Struct, frozen=True, kw_only=True):
    """What one run says of one rate; `judged` 0: nothing."""

    passed: int
    judged: int
    rate: float | None = None
    interval: tuple[float, float] | None = None


class Turning(Struct, frozen=True, kw_only=True):
    """From the run at `index` on (counted from 0), another rate. `unlike`: what else changed between the last run
    before it and that one, so that the change may not be the agent's."""

    index: int
    before: float
    after: float
    p_value: float
    interval: tuple[float, float] | None = None
    unlike: tuple[str, ...] = ()


class Line(Struct, frozen=True, kw_only=True):
    """One rate over all runs: a point for each run, in their order."""

    name: str
    points: tuple[Point, ...]
    turnings: tuple[Turning, ...] = ()


class History(Struct, frozen=True, kw_only=True):
    """Oldest first. The first line is the pass rate; each grader that marks has one of its own."""

    whose: str
    runs: tuple[Standing, ...]
    lines: tuple[Line, ...]
    left_out: int = 0
