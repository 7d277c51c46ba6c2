"""What can be done with a run: by its state, and whether it is the service's own."""

from __future__ import annotations

import pytest

from howsure.model.run import RunState
from howsure.web.pages.steering import deeds


@pytest.mark.parametrize(
    ("state", "errored", "own", "others"),
    [
        (RunState.PENDING, 0, "pause cancel", ""),
        (RunState.RUNNING, 3, "pause cancel", ""),
        (RunState.COMPLETED, 0, "regrade delete", "regrade delete"),
        (RunState.COMPLETED, 2, "retry regrade delete", "regrade delete"),
        (RunState.INTERRUPTED, 0, "resume regrade delete", "regrade delete"),
        (RunState.OUT_OF_BUDGET, 1, "resume retry regrade delete", "regrade delete"),
    ],
)
def test_only_own_runs_are_stopped_and_gone_on_with(state: RunState, errored: int, own: str, others: str) -> None:
    assert " ".join(deeds(state, errored)) == own
    assert " ".join(deeds(state, errored, is_own=False)) == others
