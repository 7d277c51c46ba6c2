"""What may be done to a run that exists: stop it for a while or for good, go on, try again what errored, grade it
again, delete it. Every use case sees only what its caller may see."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from howsure.errors import Conflict
from howsure.model.access_scope import AccessScope
from howsure.model.job import JobState, Task, Wish
from howsure.model.run import Run, RunState
from howsure.services.hosting.host import Host
from howsure.services.hosting.ordering import Order, Ordered, order_run
from howsure.services.hosting.regrading import graded_as_pinned


async def stop(host: Host, run_id: str, wish: Wish, within: AccessScope) -> RunState:
    """Pause or cancel. A run that is being worked on stops within seconds; what is finished stays finished."""
    run = await host.store.run(run_id, within)
    return await host.store.queue.wish(run.id, wish)


async def go_on(host: Host, run_id: str, within: AccessScope) -> None:
    """Queue a run that was paused, cancelled, interrupted or ran out of its budget."""
    run = await host.store.run(run_id, within)
    if run.state is RunState.COMPLETED:
        raise Conflict(f"run {run.id} is complete: there is nothing to resume")
    await host.store.queue.again(run.id, Task.ATTEMPT)


async def retry(host: Host, run_id: str, within: AccessScope) -> None:
    """Queue the attempts that errored."""
    run = await host.store.run(run_id, within)
    if not run.counts.errored:
        raise Conflict(f"run {run.id} has no errored case to retry")
    await host.store.queue.again(run.id, Task.RETRY)


async def regrade(host: Host, run_id: str, change: Order, within: AccessScope, new_id: str = "") -> Ordered:
    """A new run over the answers of an old one. What `change` does not say is as it was."""
    run = await host.store.run(run_id, within)
    before = await _order(host, run)
    if before is None:
        return await graded_as_pinned(host, run, change, within, new_id)
    said = {name: value for name in change.__struct_fields__ if (value := getattr(change, name))}
    said.pop("repeat", None)
    order = replace(before, **said, answers_of=run.id, target="", conversations_id="")
    return await order_run(host, order, within, new_id)


async def _order(host: Host, run: Run) -> Order | None:
    """How the run was ordered; None for one that the command line or the demo made."""
    job = await host.store.queue.job(run.id)
    order = msgspec.json.decode(job.request, type=Order) if job else Order()
    return order if order.test_set_id or order.dataset_id or order.question_set_id else None


async def delete(host: Host, run_id: str, within: AccessScope) -> None:
    """Gone with all its results; one that waits or is worked on must be cancelled first."""
    run = await host.store.run(run_id, within)
    job = await host.store.queue.job(run.id)
    if job is not None and job.state in (JobState.QUEUED, JobState.RUNNING):
        raise Conflict(f"run {run.id} is {job.state.value}: cancel it first")
    if job is None and run.state is RunState.RUNNING:
        raise Conflict(f"run {run.id} is being run: stop it first")
    await host.store.delete_run(run.id)
