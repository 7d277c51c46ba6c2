"""Looking a cluster over while nodes die: what Ray itself says is lost is no problem, if the node is soon gone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from importlib import import_module
from typing import Any

import pytest

from howsure.errors import PlanRefused
from howsure.services.cluster.ray_cluster import ClusterNode, NodeWatch, check_nodes, error_text
from howsure.services.cluster.workers import MachineReport

lost: Any = import_module("ray.exceptions")

FIRST, SECOND, THIRD = (
    ClusterNode(id=f"{name}{name}", host=name, offers={"CPU": 1.0}) for name in ("one-", "two-", "six-")
)


class Site:
    """All that is asked of it here: whether one file must be written to by all."""

    location = ""


class Cluster:
    """Nodes that answer, or die. One that dies is called alive a few times more."""

    def __init__(
        self, answers: dict[str, MachineReport | Exception | None], dying: Collection[str] = (), lag: int = 0
    ) -> None:
        self._answers = answers
        self._dying = set(dying)
        self._lag = lag
        self.asked = 0

    def ask(self, node: ClusterNode) -> Awaitable[MachineReport]:
        return self._answer(node)

    async def _answer(self, node: ClusterNode) -> MachineReport:
        answer = self._answers[node.host]
        if answer is None:
            await asyncio.sleep(60)
        if isinstance(answer, Exception):
            raise answer
        assert answer is not None
        return answer

    def living(self) -> set[str]:
        self.asked += 1
        gone = self._dying if self.asked > self._lag else set()
        return {node.id for node in (FIRST, SECOND, THIRD) if node.host not in gone}


LOSSES: list[Callable[[], Exception]] = [
    lambda: lost.TaskUnschedulableError("the node affinity is hard and the node is not alive"),
    lost.WorkerCrashedError,
    lambda: lost.NodeDiedError("the node died"),
    lost.LocalRayletDiedError,
]


async def looked_over(cluster: Cluster, *found: ClusterNode, gone: float = 0.5, answer: float = 5.0) -> None:
    watch = NodeWatch(living=cluster.living, answer=answer, gone=gone, poll=0.01)
    await check_nodes(cluster.ask, found, Site(), watch)  # type: ignore[arg-type]


@pytest.mark.parametrize("loss", LOSSES, ids=["unschedulable", "worker crashed", "node died", "raylet died"])
@pytest.mark.parametrize("lag", [0, 3], ids=["already gone", "called alive for a while"])
async def test_a_node_that_dies_while_it_is_looked_over_is_left_out(loss: Callable[[], Exception], lag: int) -> None:
    cluster = Cluster({"one-": MachineReport(), "two-": loss()}, dying=["two-"], lag=lag)
    await looked_over(cluster, FIRST, SECOND)
    assert cluster.asked >= lag


async def test_a_node_that_falls_silent_and_dies_is_left_out() -> None:
    cluster = Cluster({"one-": MachineReport(), "two-": None}, dying=["two-"])
    await looked_over(cluster, FIRST, SECOND, answer=0.05)
    assert cluster.asked >= 1, "it was asked who lives before it was left out"


async def test_a_node_that_stays_and_does_not_answer_is_a_problem() -> None:
    cluster = Cluster({"one-": MachineReport(), "two-": lost.WorkerCrashedError()})
    with pytest.raises(PlanRefused, match=r"the cluster is not ready: node two- \(two-two-\): .*Nothing was run\.$"):
        await looked_over(cluster, FIRST, SECOND, gone=0.05)
    assert cluster.asked > 1, "it was waited for"


async def test_a_node_that_is_busy_for_too_long_is_a_problem() -> None:
    cluster = Cluster({"one-": None})
    with pytest.raises(PlanRefused, match=r"no answer in 0.05 s: it is busy, or gone"):
        await looked_over(cluster, FIRST, answer=0.05, gone=0.05)


async def test_what_the_living_lack_is_said_and_nothing_of_the_dead() -> None:
    short = MachineReport(problems=("no such file: /data/cases.jsonl", "openai needs a key"))
    cluster = Cluster(
        {"one-": MachineReport(), "two-": lost.NodeDiedError("the node died"), "six-": short}, dying=["two-"]
    )
    with pytest.raises(PlanRefused) as refused:
        await looked_over(cluster, FIRST, SECOND, THIRD)
    assert str(refused.value) == (
        "the cluster is not ready: node six- (six-six-): no such file: /data/cases.jsonl; "
        "node six- (six-six-): openai needs a key. Nothing was run."
    )


async def test_a_problem_is_said_even_where_the_node_died_right_after() -> None:
    cluster = Cluster({"one-": MachineReport(), "two-": MachineReport(problems=("no such file: x",))}, dying=["two-"])
    with pytest.raises(PlanRefused, match="no such file: x"):
        await looked_over(cluster, FIRST, SECOND)


async def test_nothing_is_run_where_no_node_is_left() -> None:
    cluster = Cluster({"one-": lost.WorkerCrashedError(), "two-": lost.WorkerCrashedError()}, dying=["one-", "two-"])
    with pytest.raises(PlanRefused) as refused:
        await looked_over(cluster, FIRST, SECOND)
    assert str(refused.value) == (
        "every node that could hold a shard died while it was looked over (node one- (one-one-), node two- (two-two-))."
        " Nothing was run."
    )


async def test_an_error_of_our_own_is_a_problem_at_once() -> None:
    ours = lost.RayTaskError("look_around", "Traceback:\n  File\nKeyError: 'surprise'", KeyError("surprise"))
    cluster = Cluster({"one-": ours}, dying=["one-"])
    with pytest.raises(PlanRefused, match="KeyError: 'surprise'"):
        await looked_over(cluster, FIRST)


async def test_one_file_cannot_be_written_from_another_machine() -> None:
    class Here(Site):
        location = "/home/me/.howsure/howsure.db"

    cluster = Cluster({"one-": MachineReport(machine="another")})
    with pytest.raises(PlanRefused, match=r"it cannot write to /home/me/\.howsure/howsure\.db: several machines need"):
        await check_nodes(cluster.ask, [FIRST], Here(), NodeWatch(living=cluster.living))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (lost.RayTaskError("work", "Traceback:\n  File\nValueError: bad\n", ValueError("bad")), "ValueError: bad"),
        (lost.NodeDiedError("the node died\n\tits log says more"), "the node died"),
    ],
    ids=["of ours the last line", "of Ray's the first"],
)
def test_a_failure_is_told_in_one_line(error: Exception, said: str) -> None:
    assert said in error_text(error)
    assert "\n" not in error_text(error)
