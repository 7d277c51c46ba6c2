"""Runs that bring their processes down, and a service that is told to stop."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from service.battered import PATIENCE, Service, Watch, results, service_at

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
def test_a_case_that_brings_its_process_down_is_errored_and_all_others_go_on(tmp_path: Path) -> None:
    with service_at(tmp_path, str(tmp_path / "howsure.db"), workers=1) as service:
        (tmp_path / "slow_bot.py").write_text(POISON)
        poisoned, harmless = service.order(40, concurrency=2), service.order(5)
        run = ended(service, harmless)
        assert (run["state"], run["errored"]) == ("completed", 0)
        run = ended(service, poisoned)
        assert (run["state"], run["passed"], run["errored"]) == ("completed", 39, 1)
        broken = results(service, poisoned)["case:7"]
        assert "it ended the process that worked on it (exit code 139)" in str(broken["error"])
        # Retried when it is cured, it passes.
        (tmp_path / "cured").touch()
        service("POST", f"/runs/{poisoned}/retry")
        watch = Watch(service, poisoned, 40)
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
