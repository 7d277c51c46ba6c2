"""Break 2 and its kin: work of one run cannot stop another's. Real services with real processes; a bot and a grader
that misbehave as the text of a question says."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.request import HTTPCookieProcessor, Request, build_opener, urlopen

import pytest

from databases import database as database
from howsure.config import OrganizationSettings, ServiceSettings
from howsure.services.host.run_processes import RunProcesses
from howsure.services.processes import descendants
from howsure.store.store import Store
from store.making import a_run

Json = dict[str, Any]
PATIENCE = 180.0
HOSTILE = """
import asyncio, os, re, time

async def misbehave(text):
    if "spins" in text:
        while True:
            pass
    if "sleeps" in text:
        time.sleep(1000)
    if "backtracks" in text:
        re.match("(a|aa)+$", "a" * 60 + "!")
    if "exits" in text:
        os._exit(7)
    if "devours" in text:
        return bytearray(3_000_000_000)
    if "hoards" in text:
        found = []
        while True:
            found.append([object() for _ in range(10_000)])

async def answer(text: str) -> str:
    if "bot" in text:
        await misbehave(text)
    await asyncio.sleep(0.01)
    return "Answer: A"

def spin(text: str) -> str:
    while "spins" in text:
        pass
    return "Answer: A"

class Hostile:
    name = "hostile"

    def wants(self, case):
        return True

    async def grade(self, case, transcript):
        if "grader" in case.input.message:
            await misbehave(case.input.message)
        return []

def register(kit):
    kit.graders.add(Hostile())
"""
SETTINGS = """
targets:
  bot: {kind: function, function: "hostile.py:answer"}
  blocking: {kind: function, function: "hostile.py:spin", turn_seconds: 600}
plugins: [hostile.py]
service:
  target: bot
  compute_seconds: COMPUTE
  run_memory_mb: 600
  runs: 6
  runs_per_organization: 1
  organizations:
    big: {runs: 2}
"""


class Service:
    """`howsure serve` with one worker, in a folder of its own."""

    def __init__(self, folder: Path, database: str, compute_seconds: float) -> None:
        (folder / "hostile.py").write_text(HOSTILE)
        (folder / "howsure.yaml").write_text(SETTINGS.replace("COMPUTE", str(compute_seconds)))
        self._log = folder / "serve.log"
        environ = {name: value for name, value in os.environ.items() if not name.startswith("HOWSURE_")}
        command = [sys.executable, "-m", "howsure", "serve", "--port", "0", "--database", database]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                cwd=folder,
                env={**environ, "HOWSURE_TRUST": "1"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._base = ""

    def wait_until_ready(self) -> None:
        until = time.monotonic() + PATIENCE
        while not (found := re.search(rb"serving (http://127[^\"\s]+)", self._log.read_bytes())):
            assert self.process.poll() is None and time.monotonic() < until, self._log.read_text()
            time.sleep(0.05)
        self._base = found[1].decode()

    def ask(self, method: str, path: str, body: Json | bytes | None = None) -> Any:
        raw = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        kind = "application/x-ndjson" if isinstance(body, bytes) else "application/json"
        with urlopen(Request(self._base + path, raw, {"Content-Type": kind}, method=method), timeout=PATIENCE) as reply:
            return json.loads(reply.read() or b"null")

    def order(self, *questions: str, **fields: Any) -> str:
        rows = b"".join(json.dumps(question(number, text)).encode() + b"\n" for number, text in enumerate(questions))
        made = self.ask("POST", f"/datasets/upload?name=d{hash(questions)}.jsonl&dialect=legal", rows)
        run = self.ask("POST", "/runs", {"dataset_id": made["dataset_id"], "concurrency": 4, **fields})
        return str(run["run_id"])

    def page(self, run_id: str, action: str) -> None:
        """Press a button on the page of a run."""
        visitor = build_opener(HTTPCookieProcessor())
        page = f"{self._base.removesuffix('/api/v1')}/runs/{run_id}"
        found = re.search(r'name="csrf" value="([0-9a-f]+)"', visitor.open(page, timeout=PATIENCE).read().decode())
        assert found is not None
        visitor.open(f"{page}/{action}", f"csrf={found[1]}".encode(), timeout=PATIENCE).read()

    def wait(self, run_id: str, *states: str, seconds: float = PATIENCE) -> Json:
        until = time.monotonic() + seconds
        while (run := self.ask("GET", f"/runs/{run_id}"))["state"] not in (states or ("completed",)):
            assert run["state"] != "failed" and time.monotonic() < until, (run, self.log())
            time.sleep(0.2)
        return dict(run)

    def log(self) -> str:
        """What went wrong, and what the worker did."""
        return "\n".join(line for line in self._log.read_text().splitlines() if "howsure.requests" not in line)[-4000:]

    def verdicts(self, run_id: str) -> dict[str, tuple[str, str]]:
        found = self.ask("GET", f"/runs/{run_id}/results?limit=500")
        by_case = {each["test_case_id"]: (each["verdict"], each["error"] or "") for each in found}
        assert len(by_case) == len(found), "a case has two results"
        return by_case

    def end(self) -> None:
        left = descendants(self.process.pid)
        for pid in (*left, self.process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()


def question(number: int, text: str) -> Json:
    choices = [{"id": "A", "text": "yes"}, {"id": "B", "text": "no"}]
    row = {"prompt": text, "choices": choices, "correct_choice_ids": ["A"], "task_type": "mcq", "dataset": "d"}
    return {"schema_version": "legal_eval_v1", "id": f"q{number}", **row}


@contextmanager
def serving(folder: Path, database: str, compute_seconds: float = 1.5) -> Iterator[Service]:
    service = Service(folder, database, compute_seconds)
    try:
        service.wait_until_ready()
        yield service
    finally:
        service.end()


HARMLESS = [f"harmless {number}" for number in range(8)]


@pytest.mark.thorough
def test_2_a_grader_that_computes_for_ever_errors_its_own_case_alone(tmp_path: Path) -> None:
    with serving(tmp_path, str(tmp_path / "howsure.db")) as service:
        hostile = service.order(*HARMLESS[:3], "the grader spins", *HARMLESS[3:])
        other = service.order("harmless", "harmless too")
        assert service.wait(other)["passed"] == 2
        run = service.wait(hostile)
        assert (run["total"], run["passed"], run["errored"], run["pending"]) == (9, 8, 1, 0)
        verdict, error = service.verdicts(hostile)["q3"]
        assert verdict == "errored"
        assert "it blocked other cases for 1.5 s" in error


@pytest.mark.thorough
def test_2_whatever_a_case_does_the_others_of_its_run_are_finished(tmp_path: Path, database: str) -> None:
    deeds = ["bot spins", "grader sleeps", "grader backtracks", "bot backtracks", "bot exits", "grader exits"]
    with serving(tmp_path, database) as service:
        run = service.wait(service.order(*HARMLESS, *deeds, *HARMLESS))
        assert (run["total"], run["passed"], run["errored"], run["pending"]) == (22, 16, 6, 0)
        verdicts = service.verdicts(run["run_id"])
        errors = [verdicts[f"q{8 + number}"][1] for number in range(len(deeds))]
        assert all("the case was stopped: it " in error for error in errors), errors
        assert [("exit code 7" in error) for error in errors] == [False] * 4 + [True] * 2
        # What was finished is not tried again, and a retry errors in the same way.
        service.ask("POST", f"/runs/{run['run_id']}/retry")
        again = service.wait(run["run_id"])
        assert (again["passed"], again["errored"], again["pending"]) == (16, 6, 0)


@pytest.mark.thorough
def test_2_a_case_that_devours_memory_errors_and_others_are_untouched(tmp_path: Path) -> None:
    with serving(tmp_path, str(tmp_path / "howsure.db"), compute_seconds=30) as service:
        run = service.wait(service.order(*HARMLESS[:4], "the bot devours", "the grader hoards", *HARMLESS[4:]))
        assert (run["total"], run["passed"], run["errored"], run["pending"]) == (10, 8, 2, 0)
        for case in ("q4", "q5"):
            assert "it needed more memory than this process may use" in service.verdicts(run["run_id"])[case][1]


@pytest.mark.thorough
@pytest.mark.thorough
@pytest.mark.alone
def test_2_cancel_takes_effect_within_5_seconds_whatever_the_case_does(tmp_path: Path) -> None:
    with serving(tmp_path, str(tmp_path / "howsure.db"), compute_seconds=600) as service:
        deeds = {"the grader backtracks": "", "the bot spins": "", "spins in a thread": "blocking"}
        runs = [service.order(text, *HARMLESS, target=target) for text, target in deeds.items()]
        for run_id in runs:
            service.wait(run_id, "running")
        time.sleep(3)
        other = service.order(*HARMLESS)
        for run_id in runs:
            began = time.monotonic()
            if run_id == runs[0]:
                service.page(run_id, "cancel")
            else:
                service.ask("POST", f"/runs/{run_id}/cancel")
            service.wait(run_id, "cancelled")
            assert time.monotonic() - began < 5
        assert service.wait(other)["passed"] == 8
        # Those processes are gone: the worker is left, the process that is ready, and the one that is kept.
        until = time.monotonic() + 10
        while len(descendants(service.process.pid)) > 3:
            assert time.monotonic() < until, descendants(service.process.pid)
            time.sleep(0.1)


async def test_a_process_is_used_again_for_the_same_organisation_alone() -> None:
    processes = RunProcesses(ServiceSettings())
    first = await processes._take("acme")
    assert processes._keep("acme", first) is None
    other = await processes._take("other")
    again = await processes._take("acme")
    assert other is not first
    assert again is first
    assert processes._keep("other", other) is None
    assert processes._keep("acme", first) is other
    await first.end()
    new = await processes._take("acme")
    assert new is not first
    for each in (other, new):
        await each.end()
    await processes.close()


@pytest.mark.thorough
def test_2_a_worker_that_is_killed_leaves_no_process_behind(tmp_path: Path) -> None:
    with serving(tmp_path, str(tmp_path / "howsure.db"), compute_seconds=1.5) as service:
        service.wait(service.order("the bot spins", *HARMLESS), "running")
        left = descendants(service.process.pid)
        service.process.kill()
        service.process.wait()
        until = time.monotonic() + 15
        while any(Path(f"/proc/{pid}").exists() for pid in left):
            assert time.monotonic() < until, left
            time.sleep(0.1)


async def test_no_more_runs_of_an_organisation_are_taken_than_it_may_have(database: str) -> None:
    rules = ServiceSettings(
        runs_per_organization=1,
        run_memory_mb=600,
        organizations={"big": OrganizationSettings(runs=2), "small": OrganizationSettings(memory_mb=100)},
    )
    assert (rules.memory_of("big"), rules.memory_of("small")) == (600, 100)
    async with await Store.open(database) as store:
        wanted = ["acme", "acme", "big", "big", "big", "small", ""]
        for at, organization in enumerate(wanted):
            await store.queue.add(a_run(f"00000000-0000-4000-8000-00000000000{at}", organization_id=organization))
        taken: list[str] = []
        while job := await store.queue.claim("me", per_agent=9, overall=9, per_organization=rules.runs_of):
            taken.append(job.organization_id)
        assert sorted(taken) == ["", "acme", "big", "big", "small"]
