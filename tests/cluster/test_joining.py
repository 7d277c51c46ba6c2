"""What a shard asks of a node, and which nodes have it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from assay.config import ClusterSettings
from assay.engine.plan import Lane
from assay.errors import ConfigInvalid
from assay.services.cluster.joining import Node, environ_for, needs_of, options_for


class Part:
    def __init__(self, name: str, resources: Mapping[str, float] | None = None) -> None:
        self.name = name
        if resources is not None:
            self.resources = resources


def lane(target: Any, *graders: Any) -> Lane:
    return Lane(target=target, graders=graders)


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
    settings: ClusterSettings, lanes: list[Lane], needs: dict[str, float]
) -> None:
    assert needs_of(settings, lanes) == needs


@pytest.mark.parametrize(
    ("needs", "fit"),
    [({"num_cpus": 1}, 4), ({"num_cpus": 3}, 1), ({"num_cpus": 0.1}, 40), ({"num_gpus": 1}, 0), ({"cage": 1}, 2)],
)
def test_a_node_holds_as_many_shards_as_fit(needs: dict[str, float], fit: int) -> None:
    node = Node(id="4f1c09ab77", host="worker-3", offers={"CPU": 4.0, "cage": 2.0})
    assert node.holds(needs) == fit
    assert str(node) == "node worker-3 (4f1c09ab)"


def test_ray_is_asked_in_its_own_words() -> None:
    assert options_for({"num_cpus": 2, "num_gpus": 1, "cage": 0.5}, {"KEY": "k"}) == {
        "num_cpus": 2,
        "num_gpus": 1,
        "resources": {"cage": 0.5},
        "runtime_env": {"env_vars": {"KEY": "k"}},
    }


def test_workers_get_the_variables_that_are_named_and_no_others() -> None:
    environ = {"KEY": "k", "OTHER": "o"}
    found = environ_for(ClusterSettings(env=("KEY",)), "postgresql://db/assay", environ)
    assert found == {"ASSAY_DATABASE_URL": "postgresql://db/assay", "KEY": "k"}
    assert environ_for(ClusterSettings(), "", environ) == {}


def test_a_variable_that_is_not_set_here_is_named() -> None:
    with pytest.raises(ConfigInvalid, match=r"`cluster.env` names NOT_SET"):
        environ_for(ClusterSettings(env=("NOT_SET",)), "", {})
