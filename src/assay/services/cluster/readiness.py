"""Looking a cluster over before anything is spent: every node that will work on a run is asked for all it needs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from assay.errors import PlanRefused
from assay.services.cluster.joining import Node, on, ray
from assay.services.cluster.site import Site
from assay.services.cluster.tasks import Found, look_around
from assay.store.lease import machine

LOOK_SECONDS = 300.0


class Hired(Struct, frozen=True, kw_only=True):
    """What a run has of the cluster: its desk, the site that every worker is told, and how a shard is asked for."""

    desk: Any
    site: Any
    token: str
    needs: dict[str, float]
    options: dict[str, Any]


async def look_over(hired: Hired, found: Sequence[Node], site: Site) -> None:
    """Every node is asked for what the run needs; everything that is missing anywhere is said at once."""
    look = ray.remote(look_around)
    asked = [
        look.options(**hired.options, scheduling_strategy=on(node), max_retries=1).remote(
            hired.site, hired.desk, hired.token
        )
        for node in found
    ]
    gathered = await asyncio.gather(*(_looked(ref, site) for ref in asked))
    problems = [f"{node}: {problem}" for node, each in zip(found, gathered, strict=True) for problem in each]
    if problems:
        raise PlanRefused("the cluster is not ready: " + "; ".join(problems) + ". Nothing was run.")


async def _looked(ref: Any, site: Site) -> Sequence[str]:
    try:
        found: Found = await asyncio.wait_for(awaited(ref), LOOK_SECONDS)
    except TimeoutError:
        return [f"no answer in {LOOK_SECONDS:g} s: it is busy, or gone"]
    except ray.exceptions.RayError as error:
        return [why(error)]
    if site.location and found.machine != machine():
        return [f"it cannot write to {site.location}: several machines need a PostgreSQL (ASSAY_DATABASE_URL)"]
    return found.problems


async def awaited(ref: Any) -> Any:
    return await ref


def why(error: Exception) -> str:
    """What Ray says of a failure, without its traceback: of one of ours, the last line of it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    return lines[-1] if isinstance(error, ray.exceptions.RayTaskError) else lines[0]
