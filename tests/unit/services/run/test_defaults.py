"""What a run is given where nobody said otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from howsure.config import Settings
from howsure.errors import ConfigInvalid
from howsure.model.run_request import RunRequest
from howsure.services.run.start import apply_settings
from unit.services.places import workplace

SAID = Settings(judge="openai:x", simulator="openai:y", max_concurrency=3, batch_criteria=True, gates=("errors <= 0",))


def test_without_settings_the_offline_judge_is_asked_eight_at_a_time(tmp_path: Path) -> None:
    found = apply_settings(workplace(tmp_path), RunRequest(datasets=("x",)))
    assert (found.judge, found.simulator, found.concurrency, found.gates) == ("offline", "", 8, ())


def test_settings_fill_what_the_options_leave_open(tmp_path: Path) -> None:
    found = apply_settings(workplace(tmp_path, settings=SAID), RunRequest(datasets=("x",)))
    assert (found.judge, found.simulator, found.concurrency) == ("openai:x", "openai:y", 3)
    assert (found.batch_criteria, found.gates) == (True, ("errors <= 0",))


def test_options_win_and_gates_are_added(tmp_path: Path) -> None:
    said = RunRequest(
        datasets=("x",), judge="none", simulator="offline", concurrency=1, gates=("pass_rate >= 0.5", "errors <= 0")
    )
    found = apply_settings(workplace(tmp_path, settings=SAID), said)
    assert (found.judge, found.simulator, found.concurrency) == ("none", "offline", 1)
    assert found.gates == ("errors <= 0", "pass_rate >= 0.5")


def test_a_gate_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match="nonsense"):
        apply_settings(workplace(tmp_path), RunRequest(datasets=("x",), gates=("nonsense",)))
