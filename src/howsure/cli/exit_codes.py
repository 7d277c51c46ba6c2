"""Exit codes: what each means, and which one counts where several apply."""

from __future__ import annotations

from collections.abc import Sequence

from howsure.model.run import RunState
from howsure.model.summary import GateOutcome, GateRuling, Summary

DONE = 0
USER_MUST_ACT = 2
CASES_ERRORED = 3
GATE_FAILED = 100
GATE_INCONCLUSIVE = 101
INTERRUPTED = 130
CRASHED = 1
WORST_FIRST = (INTERRUPTED, CRASHED, USER_MUST_ACT, GATE_FAILED, GATE_INCONCLUSIVE, CASES_ERRORED)
"""Where several exit codes apply, the first of these is the one."""


def worst_exit_code(*codes: int) -> int:
    """The exit code of all that happened together."""
    return next((code for code in WORST_FIRST if code in codes), DONE)


def gate_exit_code(rulings: Sequence[GateRuling]) -> int:
    """What the gates alone say."""
    codes = {GateOutcome.HELD: DONE, GateOutcome.FAILED: GATE_FAILED, GateOutcome.INCONCLUSIVE: GATE_INCONCLUSIVE}
    return worst_exit_code(*(codes[ruling.outcome] for ruling in rulings))


def run_exit_code(summary: Summary) -> int:
    """How a run that has ended ends the program."""
    budget = USER_MUST_ACT if summary.run.state is RunState.OUT_OF_BUDGET else DONE
    return worst_exit_code(budget, gate_exit_code(summary.gates), CASES_ERRORED if summary.run.counts.errored else DONE)
