"""What came of a run's gates: on the terminal, and as the JSON of `gates` in an EvaluationRun."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import Any

from howsure.model.summary import GateOutcome, GateRuling, Summary, worst_outcome
from howsure.reports.document import BLANK, Block, Document, Paragraph, Sign, Span, line
from howsure.reports.figures import ERRORED, FAILED, PASSED, VerdictMark, pluralize
from howsure.reports.run_facts import short_id

OUTCOME_MARKS = {
    GateOutcome.HELD: VerdictMark(PASSED.sign, PASSED.plain, "held", PASSED.style),
    GateOutcome.FAILED: VerdictMark(FAILED.sign, FAILED.plain, "failed", FAILED.style),
    GateOutcome.INCONCLUSIVE: VerdictMark(ERRORED.sign, ERRORED.plain, "inconclusive", "bold yellow"),
}
OUTCOME_CLASSES = {GateOutcome.HELD: "passed", GateOutcome.FAILED: "failed", GateOutcome.INCONCLUSIVE: "errored"}
"""The shapes that a page already has, by outcome."""


def gate_report(summary: Summary) -> Document:
    """The run's name, and a sentence for each gate."""
    run = summary.run
    head = Paragraph((line(run.name or "run", style="bold"), "  ", Span(f"run {short_id(run)}", "dim")))
    return Document([head, *gate_blocks(summary)])


def gate_blocks(summary: Summary) -> Iterator[Block]:
    """Nothing where there is no gate."""
    if not summary.gates:
        return
    yield BLANK
    yield Paragraph(gates_conclusion(summary.gates), "bold")
    for ruling in summary.gates:
        mark = OUTCOME_MARKS[ruling.outcome]
        yield Paragraph((Sign(mark, mark.word), "  ", line(gate_name(ruling), style="bold")))
        yield Paragraph(ruling.reason, indent=4, fill=True)


def gate_name(ruling: GateRuling) -> str:
    return f"{ruling.expression} ({ruling.candidate})" if ruling.candidate else ruling.expression


def gates_conclusion(rulings: tuple[GateRuling, ...]) -> str:
    """All gates in one sentence; one that several candidates are held to is one gate."""
    count = len({each.expression for each in rulings})
    numbers = {
        outcome: len({each.expression for each in rulings if each.outcome is outcome}) for outcome in GateOutcome
    }
    match worst_outcome(rulings):
        case GateOutcome.HELD:
            return "The gate held." if count == 1 else f"All {count} gates held."
        case GateOutcome.FAILED:
            return f"{numbers[GateOutcome.FAILED]} of {pluralize(count, 'gate')} failed."
        case GateOutcome.INCONCLUSIVE:
            return f"No gate failed, but {numbers[GateOutcome.INCONCLUSIVE]} of {pluralize(count, 'gate')} cannot be decided."


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
