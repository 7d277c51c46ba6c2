"""What came of a run's gates: on the terminal, and as the JSON of `gates` in an EvaluationRun."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import Any

from msgspec import Struct
from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.text import Text

from howsure.model.gate import GateRuling, Outcome, worst
from howsure.model.summary import Summary
from howsure.reports.figures import counted
from howsure.reports.header import short_id
from howsure.reports.marks import ERRORED, FAILED, PASSED, Mark
from howsure.reports.screen import Screen

OF_OUTCOME = {
    Outcome.HELD: Mark(PASSED.sign, PASSED.plain, "held", PASSED.style),
    Outcome.FAILED: Mark(FAILED.sign, FAILED.plain, "failed", FAILED.style),
    Outcome.INCONCLUSIVE: Mark(ERRORED.sign, ERRORED.plain, "inconclusive", "bold yellow"),
}
LOOKS = {Outcome.HELD: "passed", Outcome.FAILED: "failed", Outcome.INCONCLUSIVE: "errored"}
"""The shapes that a page already has, by outcome."""


class GateReport(Struct, frozen=True):
    """Something rich can print: the run's name, and a sentence for each gate."""

    summary: Summary

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        screen, run = Screen.of(options), self.summary.run
        yield Text.assemble(screen.line(run.name or "run", style="bold"), "  ", (f"run {short_id(run)}", "dim"))
        yield from gate_lines(screen, self.summary)


def gate_lines(screen: Screen, summary: Summary) -> Iterator[Text | Padding]:
    """Nothing where there is no gate."""
    if not summary.gates:
        return
    yield Text()
    yield screen.text(conclusion(summary.gates), "bold")
    for ruling in summary.gates:
        mark = OF_OUTCOME[ruling.outcome]
        yield Text.assemble(screen.mark(mark, mark.word), "  ", screen.line(gate_name(ruling), style="bold"))
        yield Padding(screen.text(ruling.reason), (0, 0, 0, 4))


def gate_name(ruling: GateRuling) -> str:
    return f"{ruling.expression} ({ruling.candidate})" if ruling.candidate else ruling.expression


def conclusion(rulings: tuple[GateRuling, ...]) -> str:
    """All gates in one sentence; one that several candidates are held to is one gate."""
    count = len({each.expression for each in rulings})
    numbers = {outcome: len({each.expression for each in rulings if each.outcome is outcome}) for outcome in Outcome}
    match worst(rulings):
        case Outcome.HELD:
            return "The gate held." if count == 1 else f"All {count} gates held."
        case Outcome.FAILED:
            return f"{numbers[Outcome.FAILED]} of {counted(count, 'gate')} failed."
        case Outcome.INCONCLUSIVE:
            return f"No gate failed, but {numbers[Outcome.INCONCLUSIVE]} of {counted(count, 'gate')} cannot be decided."


def gate_shape(ruling: GateRuling) -> dict[str, Any]:
    """One entry of `gates`. An end of an interval that the values cannot give is null."""
    shape: dict[str, Any] = {
        "expression": ruling.expression,
        "outcome": ruling.outcome.value,
        "value": _known(ruling.value),
        "interval": None if ruling.interval is None else [_known(end) for end in ruling.interval],
        "n": ruling.n,
        "unjudged": ruling.unjudged,
        "reason": ruling.reason,
        "needed_cases": ruling.needed_cases,
    }
    return shape | ({"candidate": ruling.candidate} if ruling.candidate else {})


def _known(value: float | None) -> float | None:
    return value if value is not None and isfinite(value) else None
