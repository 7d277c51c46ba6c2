"""Which engine executes a run, and its targets while it lasts. Targets that hold connections or processes are started
before the run and stopped after it, whatever happens; those that can be checked are checked first, so that nothing is
spent in vain."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module

from howsure.engine.candidates import CandidateRepeat
from howsure.errors import CaseFailure, ConfigInvalid, PlanRefused, TargetFailed, boundary
from howsure.model.run import Run
from howsure.services.run.execute import Progress, RunHandle, execute
from howsure.services.run.plan import RAY, Plan
from howsure.services.workspace import Workspace
from howsure.store.store import Store
from howsure.targets.base import CheckableTarget, StartableTarget, Target


@asynccontextmanager
async def open_targets(candidates: Sequence[CandidateRepeat]) -> AsyncIterator[None]:
    """Inside this block the targets of all candidates are open. The first is asked whether it is there."""
    targets = list({id(each.target): each.target for each in candidates}.values())
    async with AsyncExitStack() as stack:
        for target in targets:
            await _started(target, stack)
        try:
            await check(targets[0])
        except CaseFailure as failure:
            raise _refused(targets[0], failure) from failure
        yield


async def _started(target: Target, stack: AsyncExitStack) -> None:
    if not isinstance(target, StartableTarget):
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
    if not isinstance(target, CheckableTarget):
        return ""
    with boundary(TargetFailed, _who(target)):
        return await target.check()


def _refused(target: Target, failure: CaseFailure) -> PlanRefused:
    reason = str(failure).removeprefix(f"{_who(target)}: ").rstrip()
    end = "" if reason.endswith((".", "?", "!")) else "."
    return PlanRefused(f"{_who(target)} is not ready: {reason}{end} Nothing was run.")


def _who(target: Target) -> str:
    return f"target {target.name!r}"


Execute = Callable[[Store, RunHandle, Progress], Awaitable[Run]]


@asynccontextmanager
async def open_engine(work: Workspace, plan: Plan, run: Run) -> AsyncIterator[Execute]:
    """Who makes the attempts: this process, with the targets open, or a Ray cluster whose nodes were checked."""
    if plan.request.engine != RAY:
        async with open_targets(plan.candidates):
            yield execute
        return
    try:
        driver = import_module("howsure.services.cluster.driver")
    except ModuleNotFoundError as missing:
        if missing.name != "ray":
            raise
        raise ConfigInvalid("--engine ray needs Ray, on every machine: pip install 'howsure[ray]'") from missing
    async with driver.open_cluster(work, plan, run) as execute_there:
        yield execute_there
