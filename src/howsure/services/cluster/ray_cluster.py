"""Ray: joining a cluster, the nodes that can be used, and the check of every node before anything is spent. A node that
dies during the check is no problem of the run: the others take over. The only module that imports Ray."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from importlib import import_module
from signal import SIGTERM, getsignal, signal
from socket import create_connection
from threading import current_thread, main_thread
from typing import Any

from msgspec import Struct

from howsure.config import ClusterSettings
from howsure.engine.candidates import CandidateRepeat
from howsure.errors import ConfigInvalid, PlanRefused
from howsure.services.cluster.workers import ADDRESS, MachineReport, WorkerConfig, check_machine
from howsure.store.leases import machine_id

ray: Any = import_module("ray")
scheduling: Any = import_module("ray.util.scheduling_strategies")

NAMESPACE = "howsure"
KNOCK_SECONDS = 10.0
OWN = ("num_cpus", "num_gpus", "memory")
"""Resources that Ray knows by these names; others are custom ones."""
OFFERED = {"num_cpus": "CPU", "num_gpus": "GPU"}


class _Membership:
    """How many runs of this process use the cluster, and what to do when the last has ended: a service has several at a
    time."""

    runs = 0
    leaving = ExitStack()


@contextmanager
def join_cluster(settings: ClusterSettings) -> Iterator[None]:
    """Inside this block the process is a Ray driver; one that was a driver before stays one."""
    if not ray.is_initialized():
        with ExitStack() as stack:
            # Ray reports dead nodes and workers on stdout, where our results go.
            stack.enter_context(redirect_stdout(sys.stderr))
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            main = current_thread() is main_thread()
            before = getsignal(SIGTERM)
            where = settings.address or os.environ.get("RAY_ADDRESS") or "this machine"
            try:
                # Check that the address can be reached: Ray itself would try for minutes.
                host, _, port = where.removeprefix("ray://").rpartition(":")
                if host and port.isdecimal():
                    create_connection((host, int(port)), timeout=KNOCK_SECONDS).close()
                ray.init(
                    address=settings.address or None, namespace=NAMESPACE, log_to_driver=False, logging_level="ERROR"
                )
            except (ray.exceptions.RayError, ValueError, RuntimeError, OSError) as error:
                raise ConfigInvalid(f"no Ray cluster at {where}: {error}; `ray start --head` starts one") from error
            if main:
                # Ray's handler would end the program at once; ours stops its runs first.
                signal(SIGTERM, before)
            stack.callback(ray.shutdown)
            _Membership.leaving = stack.pop_all()
    _Membership.runs += 1
    try:
        yield
    finally:
        _Membership.runs -= 1
        if not _Membership.runs:
            _Membership.leaving.close()


class ClusterNode(Struct, frozen=True, kw_only=True):
    """A machine of the cluster, or what stands for one."""

    id: str
    host: str
    offers: Mapping[str, float]

    def __str__(self) -> str:
        return f"node {self.host} ({self.id[:8]})"

    def holds(self, needs: Mapping[str, float]) -> int:
        """How many shards fit on it at once."""
        needed = {name: amount for name, amount in needs.items() if amount > 0}
        fits = [self.offers.get(OFFERED.get(name, name), 0.0) / amount for name, amount in needed.items()]
        return int(min(fits) + 1e-9) if fits else 1


def living_nodes() -> list[ClusterNode]:
    """The nodes that are alive."""
    return [
        ClusterNode(id=each["NodeID"], host=each["NodeManagerHostname"], offers=each["Resources"])
        for each in ray.nodes()
        if each["Alive"]
    ]


def usable_nodes(needs: Mapping[str, float]) -> list[ClusterNode]:
    """The nodes that can hold a shard; refused where there is none."""
    found = living_nodes()
    fitting = [node for node in found if node.holds(needs)]
    if not fitting:
        asked = ", ".join(f"{name} {amount:g}" for name, amount in needs.items())
        known = sorted({name for node in found for name in node.offers if not name.startswith("node:")})
        raise PlanRefused(
            f"none of the {len(found)} nodes of the cluster has what a shard needs: {asked}; they offer"
            f" {', '.join(known) or 'nothing'}. See `cluster` in howsure.yaml. Nothing was run."
        )
    return fitting


def shard_needs(settings: ClusterSettings, candidates: Sequence[CandidateRepeat]) -> dict[str, float]:
    """The resources that a shard needs: the most that the settings, its target or one of its graders ask for."""
    requests: list[Mapping[str, float]] = [{"num_cpus": 1.0}] if "num_cpus" not in settings.resources else []
    requests.append(settings.resources)
    parts: list[Any] = [each for one in candidates for each in (one.target, *one.graders)]
    for part in parts:
        requests += [settings.needs.get(part.name, {}), getattr(part, "resources", None) or {}]
    needs: dict[str, float] = {}
    for each in requests:
        for name, amount in each.items():
            needs[name] = max(needs.get(name, 0.0), amount)
    return needs


def task_options(needs: Mapping[str, float], environ: Mapping[str, str]) -> dict[str, Any]:
    """The options of a Ray task: its resources and its environment."""
    options: dict[str, Any] = {name: amount for name, amount in needs.items() if name in OWN}
    if custom := {name: amount for name, amount in needs.items() if name not in OWN}:
        options["resources"] = custom
    if environ:
        options["runtime_env"] = {"env_vars": dict(environ)}
    return options


def worker_environ(settings: ClusterSettings, server: str, environ: Mapping[str, str]) -> dict[str, str]:
    """The environment variables of workers: those that the settings name, and the address of the database."""
    if missing := [name for name in settings.env if name not in environ]:
        raise ConfigInvalid(f"`cluster.env` names {', '.join(missing)}, which the environment does not have here")
    return {**({ADDRESS: server} if server else {}), **{name: environ[name] for name in settings.env}}


def on_node(node_id: str) -> Any:
    """Schedule on this node or not at all."""
    return scheduling.NodeAffinitySchedulingStrategy(node_id=node_id, soft=False)


LOOK_SECONDS = 300.0
GONE_SECONDS = 90.0
"""How long to wait until Ray declares a silent node dead. Ray asks five times before it does; a machine without power
takes ten seconds each time."""
POLL_SECONDS = 0.5

CheckOneNode = Callable[[ClusterNode], Awaitable[MachineReport]]
"""Checks one node."""


class ClusterHandle(Struct, frozen=True, kw_only=True):
    """What a run uses of the cluster: its coordinator, the configuration of its workers, and the options of a shard's
    task."""

    coordinator: Any
    config: Any
    token: str
    needs: dict[str, float]
    options: dict[str, Any]


class NodeWatch(Struct, frozen=True, kw_only=True):
    """Which nodes live, and how long to wait for an answer or for a node to be declared dead."""

    living: Callable[[], Collection[str]] = lambda: {node.id for node in living_nodes()}
    answer: float = LOOK_SECONDS
    gone: float = GONE_SECONDS
    poll: float = POLL_SECONDS


def node_checker(cluster: ClusterHandle) -> CheckOneNode:
    look = ray.remote(check_machine)

    def ask(node: ClusterNode) -> Awaitable[MachineReport]:
        there = look.options(**cluster.options, scheduling_strategy=on_node(node.id), max_retries=1)
        return await_ref(there.remote(cluster.config, cluster.coordinator, cluster.token))

    return ask


async def check_nodes(
    ask: CheckOneNode, found: Sequence[ClusterNode], config: WorkerConfig, watch: NodeWatch | None = None
) -> None:
    """Check on every node what the run needs; everything that is missing anywhere is reported at once."""
    watch = watch or NodeWatch()
    checks = list(
        zip(found, await asyncio.gather(*(_check_node(ask, node, config, watch) for node in found)), strict=True)
    )
    # The silent nodes that Ray declares dead, now or soon.
    silent = [node.id for node, each in checks if each.silent]
    loop = asyncio.get_running_loop()
    until = loop.time() + watch.gone
    while (living := set(silent) & set(watch.living())) and loop.time() < until:
        await asyncio.sleep(watch.poll)
    dead = set(silent) - living
    left = [(node, each) for node, each in checks if node.id not in dead]
    if problems := [f"{node}: {problem}" for node, each in left for problem in each.problems]:
        raise PlanRefused("the cluster is not ready: " + "; ".join(problems) + ". Nothing was run.")
    if not left:
        lost = ", ".join(map(str, found))
        raise PlanRefused(
            f"every node that could hold a shard died while it was looked over ({lost}). Nothing was run."
        )


async def _check_node(ask: CheckOneNode, node: ClusterNode, config: WorkerConfig, watch: NodeWatch) -> MachineReport:
    try:
        async with asyncio.timeout(watch.answer):
            found = await ask(node)
    except TimeoutError:
        return MachineReport(problems=(f"no answer in {watch.answer:g} s: it is busy, or gone",), silent=True)
    except ray.exceptions.RayTaskError as error:
        return MachineReport(problems=(error_text(error),))
    except ray.exceptions.RayError as error:
        # Not our code: the node, or its process, is lost.
        return MachineReport(problems=(error_text(error),), silent=True)
    if config.location and found.machine != machine_id():
        several = "several machines need a PostgreSQL (HOWSURE_DATABASE_URL)"
        return MachineReport(problems=(f"it cannot write to {config.location}: {several}",))
    return found


async def await_ref(ref: Any) -> Any:
    return await ref


def error_text(error: Exception) -> str:
    """What Ray says about a failure, without its traceback; for an error of ours, its last line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    return lines[-1] if isinstance(error, ray.exceptions.RayTaskError) else lines[0]
