"""Joining a Ray cluster, and what of it can be used. The one place that imports Ray."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from importlib import import_module
from signal import SIGTERM, getsignal, signal
from socket import create_connection
from threading import current_thread, main_thread
from typing import Any

from msgspec import Struct

from howsure.config import ClusterSettings
from howsure.engine.plan import CandidateRepeat
from howsure.errors import ConfigInvalid, PlanRefused
from howsure.services.cluster.site import ADDRESS

ray: Any = import_module("ray")
scheduling: Any = import_module("ray.util.scheduling_strategies")

NAMESPACE = "howsure"
KNOCK_SECONDS = 10.0
OWN = ("num_cpus", "num_gpus", "memory")
"""Resources that Ray knows by these names; others are custom ones."""
OFFERED = {"num_cpus": "CPU", "num_gpus": "GPU"}


class _Membership:
    """For how many runs we joined, and what is to be done when the last has ended: a service has several at a time in
    one process."""

    runs = 0
    leaving = ExitStack()


@contextmanager
def joined(settings: ClusterSettings) -> Iterator[None]:
    """Inside this block this process is a driver. One that was a driver already stays it."""
    if not ray.is_initialized():
        with ExitStack() as stack:
            # Ray tells of nodes and workers that died on stdout, where results go.
            stack.enter_context(redirect_stdout(sys.stderr))
            _join(settings)
            stack.callback(ray.shutdown)
            _Membership.leaving = stack.pop_all()
    _Membership.runs += 1
    try:
        yield
    finally:
        _Membership.runs -= 1
        if not _Membership.runs:
            _Membership.leaving.close()


def _join(settings: ClusterSettings) -> None:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    main = current_thread() is main_thread()
    before = getsignal(SIGTERM)
    where = settings.address or os.environ.get("RAY_ADDRESS") or "this machine"
    try:
        _knock(where)
        ray.init(address=settings.address or None, namespace=NAMESPACE, log_to_driver=False, logging_level="ERROR")
    except (ray.exceptions.RayError, ValueError, RuntimeError, OSError) as error:
        raise ConfigInvalid(f"no Ray cluster at {where}: {error}; `ray start --head` starts one") from error
    if main:
        # Ray would end the program there and then; ours stops its runs first.
        signal(SIGTERM, before)


def _knock(where: str) -> None:
    """Whether anybody is there at all: Ray itself asks for minutes."""
    host, _, port = where.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        create_connection((host, int(port)), timeout=KNOCK_SECONDS).close()


class Node(Struct, frozen=True, kw_only=True):
    """A machine of the cluster, or what stands for one."""

    id: str
    host: str
    offers: Mapping[str, float]

    def __str__(self) -> str:
        return f"node {self.host} ({self.id[:8]})"

    def holds(self, needs: Mapping[str, float]) -> int:
        """How many shards fit on it at once."""
        asked = {name: amount for name, amount in needs.items() if amount > 0}
        fits = [self.offers.get(OFFERED.get(name, name), 0.0) / amount for name, amount in asked.items()]
        return int(min(fits) + 1e-9) if fits else 1


def nodes() -> list[Node]:
    """Those that are alive."""
    return [
        Node(id=each["NodeID"], host=each["NodeManagerHostname"], offers=each["Resources"])
        for each in ray.nodes()
        if each["Alive"]
    ]


def usable_nodes(needs: Mapping[str, float]) -> list[Node]:
    """Those that can hold a shard; refused where there is none."""
    found = nodes()
    fitting = [node for node in found if node.holds(needs)]
    if not fitting:
        asked = ", ".join(f"{name} {amount:g}" for name, amount in needs.items())
        known = sorted({name for node in found for name in node.offers if not name.startswith("node:")})
        raise PlanRefused(
            f"none of the {len(found)} nodes of the cluster has what a shard needs: {asked}; they offer"
            f" {', '.join(known) or 'nothing'}. See `cluster` in howsure.yaml. Nothing was run."
        )
    return fitting


def needs_of(settings: ClusterSettings, lanes: Sequence[CandidateRepeat]) -> dict[str, float]:
    """What a shard asks of a node: the most that the settings, its target or one of its graders says."""
    said: list[Mapping[str, float]] = [{"num_cpus": 1.0}] if "num_cpus" not in settings.resources else []
    said.append(settings.resources)
    parts: list[Any] = [each for lane in lanes for each in (lane.target, *lane.graders)]
    for part in parts:
        said += [settings.needs.get(part.name, {}), getattr(part, "resources", None) or {}]
    needs: dict[str, float] = {}
    for each in said:
        for name, amount in each.items():
            needs[name] = max(needs.get(name, 0.0), amount)
    return needs


def options_for(needs: Mapping[str, float], environ: Mapping[str, str]) -> dict[str, Any]:
    """Of a Ray task: what it needs, and the environment it gets."""
    options: dict[str, Any] = {name: amount for name, amount in needs.items() if name in OWN}
    if custom := {name: amount for name, amount in needs.items() if name not in OWN}:
        options["resources"] = custom
    if environ:
        options["runtime_env"] = {"env_vars": dict(environ)}
    return options


def environ_for(settings: ClusterSettings, server: str, environ: Mapping[str, str]) -> dict[str, str]:
    """What workers get in Ray's runtime environment: the variables that the settings name, and where runs are kept."""
    if missing := [name for name in settings.env if name not in environ]:
        raise ConfigInvalid(f"`cluster.env` names {', '.join(missing)}, which the environment does not have here")
    return {**({ADDRESS: server} if server else {}), **{name: environ[name] for name in settings.env}}


def on(node: Node) -> Any:
    """There, or nowhere."""
    return scheduling.NodeAffinitySchedulingStrategy(node_id=node.id, soft=False)


def here() -> Any:
    """On the driver's node."""
    own = ray.get_runtime_context().get_node_id()
    return scheduling.NodeAffinitySchedulingStrategy(node_id=own, soft=False)
