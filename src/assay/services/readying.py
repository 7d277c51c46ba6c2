"""Targets while a run lasts: those that hold connections or processes are started before it and stopped after it,
whatever happens; those that can be asked whether they are there are asked first, so that nothing is spent in vain."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from assay.engine.plan import Lane
from assay.errors import PlanRefused, TargetFailed, boundary
from assay.targets.base import Target
from assay.targets.making import Checked, Held


@asynccontextmanager
async def ready(lanes: Sequence[Lane]) -> AsyncIterator[None]:
    """Inside this block the targets of all lanes are open. The first is asked whether it is there."""
    targets = list({id(lane.target): lane.target for lane in lanes}.values())
    async with AsyncExitStack() as stack:
        for target in targets:
            if isinstance(target, Held):
                await target.start()
                stack.push_async_callback(target.stop)
        try:
            await check(targets[0])
        except TargetFailed as failure:
            raise PlanRefused(f"{str(failure).rstrip('.')} Nothing was run.") from failure
        yield


async def check(target: Target) -> str:
    """What it says of itself; nothing where it cannot be asked."""
    if not isinstance(target, Checked):
        return ""
    with boundary(TargetFailed, f"target {target.name!r}"):
        return await target.check()
