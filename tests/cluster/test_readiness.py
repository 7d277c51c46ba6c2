"""A worker that lacks something is named, with what it lacks, before any case is spent."""

from __future__ import annotations

from pathlib import Path

import pytest

import postgres
from cluster.clusters import Program, cluster
from dialect_rows import write_rows
from house import mcq
from live_files import MODEL_SERVER, serving

pytestmark = pytest.mark.slow

PLUGIN = """
import os
from howsure.targets.base import Reply, Stateless

if os.environ.get("LACKS_IT"):
    raise ModuleNotFoundError("No module named 'torch'")

class Parrot:
    name = "parrot"
    resources = {"cage": 1}

    async def open(self, case):
        return Stateless(lambda text: Reply.saying("Answer: A"))

def register(kit):
    kit.targets.add(Parrot())
"""


def test_what_is_missing_is_named_with_the_node_before_anything_is_spent(tmp_path: Path) -> None:
    dataset = write_rows(tmp_path / "house.jsonl", [mcq(number) for number in range(40)])
    plugin = tmp_path / "parrot.py"
    plugin.write_text(PLUGIN, encoding="utf-8")
    database = postgres.new_store()
    with serving(MODEL_SERVER, tmp_path) as base, cluster(num_cpus=0) as nodes:
        env = {
            "HOWSURE_DATABASE_URL": database,
            "RAY_ADDRESS": nodes.address,
            "OPENAI_BASE_URL": f"{base}/v1",
            "OPENAI_API_KEY": "sk-not-a-real-key",
        }
        nodes.add({"OPENAI_BASE_URL": f"{base}/v1", "OPENAI_API_KEY": "sk-not-a-real-key"}, num_cpus=1)
        nodes.add({"LACKS_IT": "1"}, num_cpus=1, resources={"cage": 1})
        howsure = Program(tmp_path, env)

        keyless = howsure.run("run", dataset, "--target", "chat:openai:gpt-x", "--engine", "ray")
        assert keyless.returncode == 2, keyless.stderr
        assert "the cluster is not ready: node " in keyless.stderr
        assert "OPENAI_API_KEY" in keyless.stderr
        assert "Nothing was run." in keyless.stderr
        assert "Traceback" not in keyless.stderr

        words: list[str | Path] = ["run", dataset, "--plugin", plugin, "--target", "parrot", "--engine", "ray"]
        bare = howsure.run(*words)
        assert bare.returncode == 2, bare.stderr
        assert "No module named 'torch'" in bare.stderr
        assert str(plugin) in bare.stderr
        assert "node " in bare.stderr

        assert postgres.execute(database, "SELECT count(*) FROM runs") == [(0,)]

        nodes.add(num_cpus=1, resources={"cage": 2})
        nodes.kill(1)
        done = howsure.json(*words)
        assert (done["total"], done["passed"]) == (40, 40)

        greedy = tmp_path / "greedy.yaml"
        greedy.write_text("cluster: {resources: {num_gpus: 8}}\n", encoding="utf-8")
        refused = howsure.run(
            "run", dataset, "--plugin", plugin, "--target", "parrot", "--engine", "ray", "--config", greedy
        )
        assert refused.returncode == 2
        assert "has what a shard needs: num_cpus 1, num_gpus 8, cage 1" in refused.stderr


def test_a_worker_without_the_dataset_file_is_named(tmp_path: Path) -> None:
    """Nodes on one machine see the same files: this one takes the file away when it looks around."""
    dataset = write_rows(tmp_path / "house.jsonl", [mcq(number) for number in range(4)])
    hook = tmp_path / "hidden.py"
    hook.write_text(
        "import os, pathlib\n"
        "def register(kit):\n"
        "    if os.environ.get('LACKS_IT'):\n"
        f"        pathlib.Path({str(dataset)!r}).unlink(missing_ok=True)\n",
        encoding="utf-8",
    )
    with cluster(num_cpus=0) as nodes:
        nodes.add({"LACKS_IT": "1"}, num_cpus=1)
        howsure = Program(tmp_path, {"HOWSURE_DATABASE_URL": postgres.new_store(), "RAY_ADDRESS": nodes.address})
        answers = write_rows(
            tmp_path / "answers.jsonl", [{"example_id": f"q{number}", "response_text": "A"} for number in range(4)]
        )
        words: list[str | Path] = ["run", dataset, "--responses", answers, "--plugin", hook, "--engine", "ray"]
        refused = howsure.run(*words)
        assert refused.returncode == 2, refused.stderr
        assert f"no such file: {dataset}" in refused.stderr
        assert "node " in refused.stderr
