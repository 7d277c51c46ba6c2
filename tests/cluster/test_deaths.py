"""A node dies, then the driver: the run goes on, and ends as if it had been made on one machine."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

import postgres
from cluster.clusters import Program, cluster, until
from dialect_rows import write_rows
from house import mcq
from live_files import MODEL_SERVER, fetched, serving

CASES = 10_000
PATIENCE = 600
"""Seconds: others may use this machine too."""


@pytest.mark.slow
def test_ten_thousand_live_cases_survive_a_node_and_the_driver(tmp_path: Path) -> None:
    dataset = write_rows(tmp_path / "house.jsonl", [mcq(number) for number in range(CASES)])
    database = postgres.new_store()
    with serving(MODEL_SERVER, tmp_path) as base, cluster(num_cpus=1) as nodes:
        env = {
            "HOWSURE_DATABASE_URL": database,
            "RAY_ADDRESS": nodes.address,
            "OPENAI_BASE_URL": f"{base}/v1",
            "OPENAI_API_KEY": "sk-not-a-real-key",
        }
        (tmp_path / "howsure.yaml").write_text(
            "cluster: {shard: 250, env: [OPENAI_API_KEY, OPENAI_BASE_URL]}\nmax_concurrency: 32\n", encoding="utf-8"
        )
        nodes.add(num_cpus=1)
        nodes.add(num_cpus=1)
        howsure = Program(tmp_path, env)
        words: list[str | Path] = [
            "run",
            dataset,
            "--target",
            "chat:openai:gpt-x",
            "--no-cache",
            "--name",
            "far",
            "--engine",
            "ray",
        ]
        driver = howsure.begin(*words)

        def stored() -> int:
            assert driver.poll() in (None, -signal.SIGKILL), howsure.said()
            (found,) = postgres.execute(database, "SELECT count(*) FROM results")
            return int(found[0])

        until(lambda: stored() >= 2_000, PATIENCE, "nothing came")
        nodes.kill(0)
        before = stored()
        until(lambda: stored() >= before + 2_000, PATIENCE, "it did not go on without the node")
        driver.kill()
        driver.wait()
        half = stored()
        assert 4_000 <= half < CASES
        far = howsure.json("resume", "far")
        assert (far["total"], far["completed"], far["pending"]) == (CASES, CASES, 0)
        counted = postgres.execute(
            database, "SELECT count(*), count(DISTINCT position), count(DISTINCT case_id) FROM results"
        )
        assert counted == [(CASES, CASES, CASES)]
        near = howsure.json("run", dataset, "--target", "chat:openai:gpt-x", "--no-cache", "--name", "near")
        assert near["completed"] == CASES
        exported = [howsure.run("results", name, "--canonical").stdout for name in ("far", "near")]
    assert exported[0].count("\n") >= CASES
    assert exported[0] == exported[1]


@pytest.mark.slow
def test_a_run_that_is_interrupted_stops_everywhere_and_goes_on_here(tmp_path: Path) -> None:
    dataset = write_rows(tmp_path / "house.jsonl", [mcq(number) for number in range(1_200)])
    (tmp_path / "howsure.yaml").write_text("cluster: {shard: 200}\nmax_concurrency: 10\n", encoding="utf-8")
    database = postgres.new_store()
    with serving(MODEL_SERVER, tmp_path, "slow") as base:
        key = {"OPENAI_BASE_URL": f"{base}/v1", "OPENAI_API_KEY": "sk-not-a-real-key"}
        with cluster(key, num_cpus=1) as nodes:
            nodes.add(num_cpus=1)
            howsure = Program(tmp_path, {**key, "HOWSURE_DATABASE_URL": database, "RAY_ADDRESS": nodes.address})
            driver = howsure.begin("run", dataset, "--target", "chat:openai:gpt-x", "--engine", "ray", "--name", "far")
            until(lambda: fetched(f"{base}/count")["calls"] >= 200, PATIENCE, "nothing was asked")
            driver.send_signal(signal.SIGINT)
            assert driver.wait(PATIENCE) == 130, howsure.said()
            asked = fetched(f"{base}/count")["calls"]
            time.sleep(2)
            assert fetched(f"{base}/count")["calls"] == asked, "somebody went on asking"
            shown = howsure.json("show", "far")
            assert shown["state"] == "interrupted"
            assert 0 < shown["completed"] < 1_200
            done = howsure.json("resume", "far", "--engine", "local")
            assert (done["passed"], done["pending"]) == (1_200, 0)
            assert fetched(f"{base}/count")["calls"] <= 1_200 + 200, "what was stored is not asked again"
