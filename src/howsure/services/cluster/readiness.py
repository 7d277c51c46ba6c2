"""Looking a cluster over before anything is spent: every node that will work on a run is asked for all it needs. A node
that dies meanwhile is no problem of the run's: the others work on it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any

from msgspec import Struct

from howsure.errors import PlanRefused
from howsure.services.cluster.joining import Node, nodes, on, ray
from howsure.services.cluster.site import Site
from howsure.services.cluster.tasks import Found, look_around
from howsure.store.lease import machine

LOOK_SECONDS = 300.0
GONE_SECONDS = 90.0
"""How long it is waited for Ray to call a node dead that did not answer. It asks five times before it does; a machine
without power lets it wait ten seconds each time."""
POLL_SECONDS = 0.5

Ask = Callable[[Node], Awaitable[Found]]
"""Looks around on one node."""


class Hired(Struct, frozen=True, kw_only=True):
    """What a run has of the cluster: its desk, the site that every worker is told, and how a shard is asked for."""

    desk: Any
    site: Any
    token: str
    needs: dict[str, float]
    options: dict[str, Any]


class Looked(Struct, frozen=True):
    """What is missing on a node. `silent`: it gave no answer, which is nobody's fault if it is dead."""

    problems: Sequence[str] = ()
    silent: bool = False


class Watch(Struct, frozen=True, kw_only=True):
    """Which nodes live, by their ids, and how long it is waited for a node to answer, or to be called dead."""

    living: Callable[[], Collection[str]] = lambda: {node.id for node in nodes()}
    answer: float = LOOK_SECONDS
    gone: float = GONE_SECONDS
    poll: float = POLL_SECONDS


def asking(hired: Hired) -> Ask:
    look = ray.remote(look_around)

    def ask(node: Node) -> Awaitable[Found]:
        there = look.options(**hired.options, scheduling_strategy=on(node), max_retries=1)
        return awaited(there.remote(hired.site, hired.desk, hired.token))

    return ask


async def look_over(ask: Ask, found: Sequence[Node], site: Site, watch: Watch | None = None) -> None:
    """Every node is asked for what the run needs; everything that is missing anywhere is said at once."""
    watch = watch or Watch()
    looked = list(zip(found, await asyncio.gather(*(_looked(ask, node, site, watch) for node in found)), strict=True))
    dead = await _dead([node.id for node, each in looked if each.silent], watch)
    left = [(node, each) for node, each in looked if node.id not in dead]
    if problems := [f"{node}: {problem}" for node, each in left for problem in each.problems]:
        raise PlanRefused("the cluster is not ready: " + "; ".join(problems) + ". Nothing was run.")
    if not left:
        lost = ", ".join(map(str, found))
        raise PlanRefused(
            f"every node that could hold a shard died while it was looked over ({lost}). Nothing was run."
        )


async def _looked(ask: Ask, node: Node, site: Site, watch: Watch) -> Looked:
    try:
        found = await asyncio.wait_for(ask(node), watch.answer)
    except TimeoutError:
        return Looked([f"no answer in {watch.answer:g} s: it is busy, or gone"], silent=True)
    except ray.exceptions.RayTaskError as error:
        return Looked([why(error)])
    except ray.exceptions.RayError as error:
        # Not our code: the node, or the process there, is lost.
        return Looked([why(error)], silent=True)
    if site.location and found.machine != machine():
        several = "several machines need a PostgreSQL (HOWSURE_DATABASE_URL)"
        return Looked([f"it cannot write to {site.location}: {several}"])
    return Looked(found.problems)


async def _dead(silent: Collection[str], watch: Watch) -> set[str]:
    """Which of the silent nodes Ray says are dead, now or soon."""
    loop = asyncio.get_running_loop()
    until = loop.time() + watch.gone
    while (living := set(silent) & set(watch.living())) and loop.time() < until:
        await asyncio.sleep(watch.poll)
    return set(silent) - living


async def awaited(ref: Any) -> Any:
    return await ref


def why(error: Exception) -> str:
    """What Ray says of a failure, without its traceback: of one of ours, the last line of it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    return lines[-1] if isinstance(error, ray.exceptions.RayTaskError) else lines[0]
