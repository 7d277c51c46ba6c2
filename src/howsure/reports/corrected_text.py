"""Pass rates corrected for the judge's errors, as a terminal shows them."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from howsure.reports.figures import percent
from howsure.reports.screen import Screen

WORDS = {
    "prediction_powered": "labels on some of this run's cases",
    "sensitivity_specificity": "how often the judge erred on labelled cases",
}


class CorrectedReport(Struct, frozen=True):
    """Something rich can print; `found` is a CorrectedRun."""

    found: Any

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        screen, found = Screen.of(options), self.found
        yield screen.text(f"Corrected for the errors of {found.judge}, by {WORDS[found.method.value]}.", "bold")
        yield screen.text(f"calibrated {found.calibrated[:16].replace('T', ' ')}", "dim")
        yield Text()
        table = screen.table(
            ("", "left"), ("the judge says", "right"), ("people would say", "left"), ("labels", "right"), ("", "left")
        )
        for each in found.rates:
            name = screen.line(each.text or each.criterion or each.grader, 60)
            if each.rate is None:
                table.add_row(name, "", "", "", screen.text(each.reason, "dim"))
                continue
            low, high = each.rate.interval
            said = f"{percent(each.rate.value)} [{100 * low:.0f}–{100 * high:.0f}]"
            table.add_row(name, percent(each.rate.judge_rate), screen.text(said), str(each.rate.labels), "")
        yield table
