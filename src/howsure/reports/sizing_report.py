"""What `howsure plan` says: a sentence, a small table, and what was assumed."""

from __future__ import annotations

from typing import Any

from msgspec import to_builtins

from howsure.model.comparison import SampleSizePlan
from howsure.reports.document import BLANK, Paragraph, ReportDocument, Table
from howsure.reports.figures import NOTHING, format_percent, pluralize


def sizing_report(sizing: SampleSizePlan) -> ReportDocument:
    rows = [
        (f"{size.repeats}", *(NOTHING if count is None else f"{count:,}" for count in (size.cases, size.attempts)))
        for size in sizing.sizes
    ]
    heading = "cases:" if sizing.paired else "cases in each run:"
    return ReportDocument(
        [
            Paragraph(sizing_sentence(sizing), "bold"),
            BLANK,
            Table(("tries of each case:", heading, "attempts in a run:"), rows),
            BLANK,
            *(Paragraph(text, "dim") for text in _known(sizing)),
            *(Paragraph(f"Assumed: {text}.", "dim") for text in sizing.assumed),
        ]
    )


def sizing_sentence(sizing: SampleSizePlan) -> str:
    """The first size in words, and what repeats save."""
    first = sizing.sizes[0]
    how = "on the same cases in both runs" if sizing.paired else "on different cases in each run"
    purpose = f"To see a difference of {_points(sizing.difference)} with a chance of {sizing.power:.0%}, {how}"
    if first.cases is None:
        return f"{purpose}: not even ten million cases would do."
    tries = f", each tried {first.repeats} times" if first.repeats > 1 else ""
    sentence = f"{purpose}: {pluralize(first.cases, 'case')}{tries}."
    last = sizing.sizes[-1]
    if last.cases is None or last.cases >= first.cases:
        return sentence
    return f"{sentence} With {last.repeats} tries of each, {last.cases:,} would do."


def _points(share: float) -> str:
    return f"{100 * share:g} points"


def _known(sizing: SampleSizePlan) -> list[str]:
    assumption = f"Pass rate {format_percent(sizing.rate)}"
    if sizing.discordance is not None:
        assumption += f"; the runs differ on {format_percent(sizing.discordance)} of cases"
    lines = [f"{assumption}; two tries of one case correlate by {sizing.correlation:.2f}."]
    if sizing.cases is not None and sizing.detectable is not None:
        lines.append(
            f"The {pluralize(sizing.cases, 'case')} of run {sizing.run[:8]} show a difference of"
            f" {_points(round(sizing.detectable, 4))} or more."
        )
    return lines


def sizing_shape(sizing: SampleSizePlan) -> dict[str, Any]:
    """As `howsure plan --json` prints it."""
    shape: dict[str, Any] = to_builtins(sizing)
    shape["sizes"] = [{**to_builtins(size), "attempts": size.attempts} for size in sizing.sizes]
    return {"sentence": sizing_sentence(sizing), **shape, "run": sizing.run or None}
