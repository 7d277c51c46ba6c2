"""Runs that bring their workers down, and a service that is told to stop."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from service.battered import PATIENCE, Service, Watch, service_at

POISON = """
import asyncio, os

async def answer(text: str) -> str:
    await asyncio.sleep(0.01)
    if text.startswith("Is 7?") and not os.path.exists("cured"):
        os._exit(139)
    return "Answer: A"
"""


def ended(service: Service, run_id: str) -> dict[str, object]:
    until = time.monotonic() + PATIENCE
    while (run := service("GET", f"/runs/{run_id}"))["status"] not in ("completed", "failed"):
        assert time.monotonic() < until, run
        time.sleep(0.1)
    return dict(run)


@pytest.mark.slow
def test_a_run_that_brings_its_workers_down_fails_and_others_go_on(tmp_path: Path) -> None:
    with service_at(tmp_path, str(tmp_path / "howsure.db"), workers=1) as service:
        (tmp_path / "slow_bot.py").write_text(POISON)
        poisoned, harmless = service.order(40, concurrency=2), service.order(5)
        assert ended(service, harmless)["state"] == "completed"
        run = ended(service, poisoned)
        assert run["state"] == "failed"
        assert str(run["error"]).startswith("whoever worked on this run went down, 5 times in a row")
        # What could be finished was, and is kept; resumed when it is cured, it is finished to the end.
        assert 0 < int(str(run["completed"])) < 40
        (tmp_path / "cured").touch()
        service("POST", f"/runs/{poisoned}/resume")
        watch = Watch(service, poisoned, 40)
        watch.completed = int(str(run["completed"]))
        assert watch.to_the_end()["passed"] == 40


@pytest.mark.slow
def test_a_service_that_is_told_to_stop_waits_for_its_workers(tmp_path: Path) -> None:
    with service_at(tmp_path, str(tmp_path / "howsure.db"), workers=2) as service:
        run_id = service.order(1_000)
        watch = Watch(service, run_id, 1_000)
        watch.until(20)
        assert service.stop() == 0
        assert service.left() == []
        service.start()
        assert watch.look()["status"] in ("pending", "running")
        watch.to_the_end()
        service.stop()
        service.alone()
