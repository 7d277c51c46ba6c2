"""What `howsure plan` says: a sentence, a small table, and what was assumed."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, to_builtins
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from howsure.model.sizing import Size, Sizing
from howsure.reports.figures import NOTHING, counted, percent
from howsure.reports.screen import Screen


class SizingReport(Struct, frozen=True):
    """Something rich can print."""

    sizing: Sizing

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        screen, sizing = Screen.of(options), self.sizing
        yield screen.text(sizing_sentence(sizing), "bold")
        heading = "cases" if sizing.paired else "cases in each run"
        table = screen.table(("tries of each case", "right"), (heading, "right"), ("attempts in a run", "right"))
        for size in sizing.sizes:
            cells = [NOTHING if number is None else f"{number:,}" for number in (size.cases, size.attempts)]
            table.add_row(f"{size.repeats}", *map(screen.text, cells))
        yield Text()
        yield table
        yield Text()
        for line in (*_known(sizing), *(f"Assumed: {each}." for each in sizing.assumed)):
            yield screen.text(line, "dim")


def sizing_sentence(sizing: Sizing) -> str:
    """The first size in words, and what repeats save."""
    first = sizing.sizes[0]
    how = "on the same cases in both runs" if sizing.paired else "on different cases in each run"
    wanted = f"To see a difference of {_points(sizing.difference)} with a chance of {sizing.power:.0%}, {how}"
    if first.cases is None:
        return f"{wanted}: not even ten million cases would do."
    tries = f", each tried {first.repeats} times" if first.repeats > 1 else ""
    return f"{wanted}: {_cases(first)}{tries}.{_fewer(sizing)}"


def _fewer(sizing: Sizing) -> str:
    first, last = sizing.sizes[0], sizing.sizes[-1]
    if first.cases is None or last.cases is None or last.cases >= first.cases:
        return ""
    return f" With {last.repeats} tries of each, {last.cases:,} would do."


def _cases(size: Size) -> str:
    return counted(size.cases or 0, "case")


def _points(share: float) -> str:
    return f"{100 * share:g} points"


def _known(sizing: Sizing) -> list[str]:
    told = f"Pass rate {percent(sizing.rate)}"
    if sizing.discordance is not None:
        told += f"; the runs differ on {percent(sizing.discordance)} of cases"
    lines = [f"{told}; two tries of one case correlate by {sizing.correlation:.2f}."]
    if sizing.cases is not None and sizing.detectable is not None:
        lines.append(
            f"The {counted(sizing.cases, 'case')} of run {sizing.run[:8]} show a difference of"
            f" {_points(round(sizing.detectable, 4))} or more."
        )
    return lines


def sizing_shape(sizing: Sizing) -> dict[str, Any]:
    """As `howsure plan --json` prints it."""
    shape: dict[str, Any] = to_builtins(sizing)
    shape["sizes"] = [{**to_builtins(size), "attempts": size.attempts} for size in sizing.sizes]
    return {"sentence": sizing_sentence(sizing), **shape, "run": sizing.run or None}
