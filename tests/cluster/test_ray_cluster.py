"""What a shard asks of a node, and which nodes have it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import pytest

from cluster.clusters import cluster
from howsure.config import ClusterSettings
from howsure.engine.candidates import CandidateRepeat
from howsure.errors import ConfigInvalid
from howsure.services.cluster.ray_cluster import (
    ClusterNode,
    join_cluster,
    ray,
    shard_needs,
    task_options,
    worker_environ,
)


class Part:
    def __init__(self, name: str, resources: Mapping[str, float] | None = None) -> None:
        self.name = name
        if resources is not None:
            self.resources = resources


def lane(target: Any, *graders: Any) -> CandidateRepeat:
    return CandidateRepeat(target=target, graders=graders)


@pytest.mark.parametrize(
    ("settings", "lanes", "needs"),
    [
        (ClusterSettings(), [lane(Part("bot"))], {"num_cpus": 1.0}),
        (ClusterSettings(resources={"num_cpus": 0.5}), [lane(Part("bot"))], {"num_cpus": 0.5}),
        (ClusterSettings(), [lane(Part("bot", {"num_gpus": 1}), Part("judge"))], {"num_cpus": 1.0, "num_gpus": 1}),
        (
            ClusterSettings(needs={"judge": {"num_gpus": 0.5, "num_cpus": 2}, "other": {"cage": 1}}),
            [lane(Part("bot", {"num_gpus": 0.25}), Part("judge"))],
            {"num_cpus": 2, "num_gpus": 0.5},
        ),
    ],
    ids=["one processor", "as the settings say", "a plug-in's own word", "the most that anyone asks for"],
)
def test_a_shard_needs_the_most_that_anyone_asks_for(
    settings: ClusterSettings, lanes: list[CandidateRepeat], needs: dict[str, float]
) -> None:
    assert shard_needs(settings, lanes) == needs


@pytest.mark.parametrize(
    ("needs", "fit"),
    [({"num_cpus": 1}, 4), ({"num_cpus": 3}, 1), ({"num_cpus": 0.1}, 40), ({"num_gpus": 1}, 0), ({"cage": 1}, 2)],
)
def test_a_node_holds_as_many_shards_as_fit(needs: dict[str, float], fit: int) -> None:
    node = ClusterNode(id="4f1c09ab77", host="worker-3", offers={"CPU": 4.0, "cage": 2.0})
    assert node.holds(needs) == fit
    assert str(node) == "node worker-3 (4f1c09ab)"


def test_ray_is_asked_in_its_own_words() -> None:
    assert task_options({"num_cpus": 2, "num_gpus": 1, "cage": 0.5}, {"KEY": "k"}) == {
        "num_cpus": 2,
        "num_gpus": 1,
        "resources": {"cage": 0.5},
        "runtime_env": {"env_vars": {"KEY": "k"}},
    }


def test_workers_get_the_variables_that_are_named_and_no_others() -> None:
    environ = {"KEY": "k", "OTHER": "o"}
    found = worker_environ(ClusterSettings(env=("KEY",)), "postgresql://db/howsure", environ)
    assert found == {"HOWSURE_DATABASE_URL": "postgresql://db/howsure", "KEY": "k"}
    assert worker_environ(ClusterSettings(), "", environ) == {}


@pytest.mark.slow
def test_what_ray_says_goes_where_results_do_not(capsys: pytest.CaptureFixture[str]) -> None:
    """It tells of dead nodes on stdout, which `--json` must have for itself."""
    with cluster(num_cpus=1) as nodes:
        settings = ClusterSettings(address=nodes.address)
        with join_cluster(settings), join_cluster(settings):
            print("(raylet) a node died")
        capture = capsys.readouterr()
        assert "a node died" not in capture.out
        assert "a node died" in capture.err
        assert not ray.is_initialized(), "the last to leave shuts the door"
        print("results")
        assert "results" in capsys.readouterr().out
        ray.init(address=nodes.address, log_to_driver=False)
        with join_cluster(settings):
            print("mine")
        assert "mine" in capsys.readouterr().out
        assert ray.is_initialized(), "who was a driver before stays one"
        ray.shutdown()


def test_where_there_is_no_cluster_it_is_said_how_to_start_one(capsys: pytest.CaptureFixture[str]) -> None:
    began = time.monotonic()
    with (
        pytest.raises(ConfigInvalid, match=r"no Ray cluster at 127\.0\.0\.1:1: .*`ray start --head` starts one"),
        join_cluster(ClusterSettings(address="127.0.0.1:1")),
    ):
        raise AssertionError("there is none")
    assert time.monotonic() - began < 15, "Ray itself would have looked for it for minutes"
    print("results")
    assert "results" in capsys.readouterr().out


def test_a_variable_that_is_not_set_here_is_named() -> None:
    with pytest.raises(ConfigInvalid, match=r"`cluster.env` names NOT_SET"):
        worker_environ(ClusterSettings(env=("NOT_SET",)), "", {})
