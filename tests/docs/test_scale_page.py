"""What docs/scale.md shows is what there is: its settings can be read, and its recipes are well-formed."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import yaml

from howsure.config import ClusterSettings, Engine, load
from howsure.services.cluster.shards import MOST_BYTES, PER_SLOT, shard_size
from howsure.services.cluster.workers import LARGE

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_settings_are_read_as_they_are_shown(tmp_path: Path) -> None:
    (tmp_path / "howsure.yaml").write_text(blocks("yaml")[0], encoding="utf-8")
    settings = load(tmp_path, {})
    assert settings.engine is Engine.RAY
    assert settings.cluster == ClusterSettings(
        address="auto",
        env=("OPENAI_API_KEY",),
        shard=500,
        resources={"num_cpus": 1},
        needs={"local-model": {"num_gpus": 1}, "sandboxed": {"sandbox": 1}},
    )


def test_the_recipe_for_kubernetes_has_what_a_ray_cluster_needs() -> None:
    cluster: dict[str, Any] = yaml.safe_load(blocks("yaml")[1])
    assert (cluster["apiVersion"], cluster["kind"]) == ("ray.io/v1", "RayCluster")
    head, (workers,) = cluster["spec"]["headGroupSpec"], cluster["spec"]["workerGroupSpecs"]
    assert head["rayStartParams"] == {"num-cpus": "0"}
    assert {"groupName", "replicas", "minReplicas", "maxReplicas", "rayStartParams", "template"} == set(workers)
    (container,) = workers["template"]["spec"]["containers"]
    assert {"name", "image", "envFrom", "resources", "volumeMounts"} == set(container)
    mounted = {each["name"] for each in container["volumeMounts"]}
    assert mounted == {each["name"] for each in workers["template"]["spec"]["volumes"]}


def test_the_recipe_for_slurm_is_a_script() -> None:
    (script,) = blocks("bash")
    checked = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")
    assert "howsure run" in script


def test_a_laptop_cluster_takes_three_commands() -> None:
    (commands,) = blocks("console")
    assert [line.split()[0] for line in commands.splitlines()] == ["pip", "ray", "howsure"]


def test_the_numbers_of_the_page_are_those_of_the_program() -> None:
    assert shard_size(10**9, 1, 1) == 2_000
    assert shard_size(1, 1, 1) == 50
    assert PER_SLOT == 8
    assert "eight shards for each place, 50 to 2,000 attempts each" in PAGE
    assert f"{MOST_BYTES >> 20} MB at most" in PAGE
    assert f"Files of {LARGE >> 30} GB and more" in PAGE


def test_the_commands_that_measured_its_figures_exist() -> None:
    assert set(re.findall(r"`python -m bench[. ](\w+)", PAGE)) == {"end_to_end", "clustering", "chatting"}
    assert all((ROOT / "bench" / f"{name}.py").is_file() for name in ("end_to_end", "clustering", "chatting"))
