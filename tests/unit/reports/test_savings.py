"""What a run that stopped early says of what it saved."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from howsure.model.result import DECIDED_EARLY
from howsure.model.run import Counts, ModelSpending, Pins, Run, RunState
from howsure.model.summary import AnswerTotals, Summary
from howsure.reports.run_facts import run_notes

COUNTS = Counts(total=300, passed=90, failed=10, skipped=200)


@pytest.mark.parametrize(
    ("spent", "answers", "saved"),
    [
        (ModelSpending(usd=0.5, tokens=900), None, ", which saved about 1.0000 USD"),
        (ModelSpending(usd=0.5), AnswerTotals(answers=100, usd=0.25, priced=100), ", which saved about 1.5000 USD"),
        (ModelSpending(tokens=900), None, ", which saved about 1,800 tokens"),
        (None, None, ""),
    ],
    ids=["judges", "judges and agent", "tokens", "nothing known"],
)
def test_a_run_that_stopped_early_says_what_that_saved(
    spent: ModelSpending | None, answers: AnswerTotals | None, saved: str
) -> None:
    """A hundred attempts were made, and two hundred were not."""
    now = datetime(2026, 11, 18, tzinfo=UTC)
    run = Run(id="r", name="n", state=RunState.COMPLETED, pins=Pins(), counts=COUNTS, created_at=now, spent=spent)
    summary = Summary(run=run, candidates={}, graders=(), flags={DECIDED_EARLY: 200}, answers=answers)
    assert list(run_notes(summary)) == [f"Stopped early: 200 of 300 attempts were not asked{saved}."]
