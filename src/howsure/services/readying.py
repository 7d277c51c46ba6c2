"""Targets while a run lasts: those that hold connections or processes are started before it and stopped after it,
whatever happens; those that can be asked whether they are there are asked first, so that nothing is spent in vain."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from howsure.engine.plan import CandidateRepeat
from howsure.errors import CaseFailure, PlanRefused, TargetFailed, boundary
from howsure.targets.base import Target
from howsure.targets.making import Checked, Held


@asynccontextmanager
async def ready(lanes: Sequence[CandidateRepeat]) -> AsyncIterator[None]:
    """Inside this block the targets of all lanes are open. The first is asked whether it is there."""
    targets = list({id(lane.target): lane.target for lane in lanes}.values())
    async with AsyncExitStack() as stack:
        for target in targets:
            await _started(target, stack)
        try:
            await check(targets[0])
        except CaseFailure as failure:
            raise _refused(targets[0], failure) from failure
        yield


async def _started(target: Target, stack: AsyncExitStack) -> None:
    if not isinstance(target, Held):
        return
    try:
        with boundary(TargetFailed, _who(target)):
            await target.start()
    except CaseFailure as failure:
        raise _refused(target, failure) from failure
    stack.push_async_callback(target.stop)


async def visit(target: Target) -> str:
    """Started, asked whether it is there, and stopped."""
    async with AsyncExitStack() as stack:
        await _started(target, stack)
        return await check(target)


async def check(target: Target) -> str:
    """What it says of itself; nothing where it cannot be asked."""
    if not isinstance(target, Checked):
        return ""
    with boundary(TargetFailed, _who(target)):
        return await target.check()


def _refused(target: Target, failure: CaseFailure) -> PlanRefused:
    said = str(failure).removeprefix(f"{_who(target)}: ").rstrip()
    end = "" if said.endswith((".", "?", "!")) else "."
    return PlanRefused(f"{_who(target)} is not ready: {said}{end} Nothing was run.")


def _who(target: Target) -> str:
    return f"target {target.name!r}"
