"""Exit codes: what each means, and which one counts where several apply."""

from __future__ import annotations

from collections.abc import Sequence

from howsure.model.run import RunState
from howsure.model.summary import GateOutcome, GateRuling, Summary

DONE = 0
CRASHED = 1
USER_MUST_ACT = 2
"""Wrong options, settings or data, or a budget that was reached."""
CASES_ERRORED = 3
GATE_FAILED = 100
GATE_INCONCLUSIVE = 101
INTERRUPTED = 130
WORST_FIRST = (INTERRUPTED, CRASHED, USER_MUST_ACT, GATE_FAILED, GATE_INCONCLUSIVE, CASES_ERRORED)
"""Where several exit codes apply, the first of these counts."""


def worst_exit_code(*codes: int) -> int:
    """The one that counts."""
    return next((code for code in WORST_FIRST if code in codes), DONE)


def gate_exit_code(rulings: Sequence[GateRuling]) -> int:
    """The exit code for the gates alone."""
    codes = {GateOutcome.HELD: DONE, GateOutcome.FAILED: GATE_FAILED, GateOutcome.INCONCLUSIVE: GATE_INCONCLUSIVE}
    return worst_exit_code(*(codes[ruling.outcome] for ruling in rulings))


def run_exit_code(summary: Summary) -> int:
    """The exit code for a run that has ended."""
    # A run that was to be sure ends with its budget, too: it is undecided then.
    stopped = summary.run.state is RunState.OUT_OF_BUDGET and not summary.run.pins.request.until_sure
    budget = USER_MUST_ACT if stopped else DONE
    return worst_exit_code(budget, gate_exit_code(summary.gates), CASES_ERRORED if summary.run.counts.errored else DONE)
