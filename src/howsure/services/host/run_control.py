"""What can be done to a run that exists: pause, cancel, resume, retry what errored, grade again, delete. Every use case
sees only what its caller may see. A run that the service did not queue (one of `howsure run`, or of the demo) is graded
again from its pins: the files that they name are read again, the answers are the stored ones, and no agent is
called."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec.structs import replace

from howsure.dialects.rubric_files import rubric_document
from howsure.errors import Conflict, NotFound
from howsure.model.access_scope import AccessScope
from howsure.model.document import Document, DocumentKind
from howsure.model.job import JobState, JobTask, RequestedState
from howsure.model.run import Pins, Run, RunState
from howsure.model.run_request import OFFLINE, RUN_PREFIX, RunRequest
from howsure.services.files import native_path
from howsure.services.host.context import Host
from howsure.services.host.document_files import is_reference, reference_to
from howsure.services.host.documents import DocumentChange, add_document
from howsure.services.host.run_requests import QueuedRun, allowed_judge, referenced_document, submit_run
from howsure.services.run.start import pinned_request, prepare

RECORDED = "recorded:"
FREE = ("", "none", OFFLINE)


async def regrade_from_pins(
    host: Host, run: Run, change: RunRequest, scope: AccessScope, new_id: str = ""
) -> QueuedRun:
    """Queue a new run over the answers of this one. The pins say what `change` leaves open."""
    _check_files(run.pins)
    judge = allowed_judge(host, change.judge) if change.judge else _judge(host, run.pins)
    chosen = await referenced_document(host, change.rubric, scope) if change.rubric else None
    # Else the newest version of the run's own rubric; where the library has none, it stays as it is pinned.
    rubric = chosen or await library_rubric(host, run, scope)
    request = replace(
        pinned_request(run),
        responses=(f"{RUN_PREFIX}{run.id}",),
        target="",
        candidates=(),
        judge=judge,
        rubric=str(reference_to(rubric)) if rubric else "",
        profile=change.profile or run.pins.request.profile,
        engine=host.work.settings.engine.value,
        name=change.name or run.name,
    )
    handle = await prepare(host.work, host.store, request, scope, run.pins)
    pins = handle.run.pins if handle.run.pins.agent else replace(handle.run.pins, agent_id=run.pins.agent_id)
    made = replace(handle.run, pins=pins, organization_id=run.organization_id, **({"id": new_id} if new_id else {}))
    await host.store.queue.add(made)
    return QueuedRun(made, handle.plan.warnings)


def _check_files(pins: Pins) -> None:
    """Refuse if a file of the run is gone; the message has only file names."""
    named = [pin.path for pin in (*pins.datasets, *pins.evals) if not is_reference(pin.path) and "://" not in pin.path]
    gone = [Path(native_path(path)).name for path in named if not Path(native_path(path)).exists()]
    if gone:
        raise Conflict(
            f"this run was made from files that are not on the service's machine (any more): {', '.join(gone)}; "
            "`howsure run --responses` grades its answers again where they are"
        )


def _judge(host: Host, pins: Pins) -> str:
    """The judge of the run: a recording if the file still exists, a model if the operator offers it."""
    if not pins.request.judge.startswith(RECORDED):
        return pins.request.judge if pins.request.judge in FREE else allowed_judge(host, pins.request.judge)
    path = Path(native_path(pins.request.judge.removeprefix(RECORDED)))
    if not path.is_file():
        raise Conflict(f"the recording that judged this run is not here any more: {path.name}; choose another judge")
    return f"{RECORDED}{path}"


def rubric_key(pins: Pins) -> str:
    """The id of the run's rubric in the library; a rubric without an id is identified by its content."""
    return (pins.rubric.id or pins.rubric_sha256[:32]) if pins.rubric else ""


async def library_rubric(host: Host, run: Run, scope: AccessScope) -> Document | None:
    """The current version of the run's rubric in the library; None where it has none."""
    key = rubric_key(run.pins)
    try:
        return await host.store.documents.get(DocumentKind.RUBRIC, key, within=scope) if key else None
    except NotFound:
        return None


async def save_rubric(host: Host, run: Run, author: str, scope: AccessScope) -> Document:
    """The run's rubric in the library. If it is not there, it is stored as the run used it, at version 1."""
    saved = await library_rubric(host, run, scope)
    if saved is not None:
        return saved
    if run.pins.rubric is None:
        raise Conflict(f"run {run.id} was graded without a rubric")
    note = f"as the run {run.name or run.id} used it (its version {run.pins.rubric.version})"
    change = DocumentChange(body=rubric_document(run.pins.rubric), author=author, note=note)
    return await add_document(host, DocumentKind.RUBRIC, change, scope, rubric_key(run.pins))


async def stop(host: Host, run_id: str, wish: RequestedState, scope: AccessScope) -> RunState:
    """Pause or cancel. A run that is being worked on stops within seconds; what is finished stays finished."""
    run = await host.store.run(run_id, scope)
    return await host.store.queue.wish(run.id, wish)


async def resume(host: Host, run_id: str, scope: AccessScope) -> None:
    """Queue a run that was paused, cancelled, interrupted or ran out of its budget."""
    run = await host.store.run(run_id, scope)
    if run.state is RunState.COMPLETED:
        raise Conflict(f"run {run.id} is complete: there is nothing to resume")
    await host.store.queue.again(run.id, JobTask.ATTEMPT)


async def retry(host: Host, run_id: str, scope: AccessScope) -> None:
    """Queue the attempts that errored."""
    run = await host.store.run(run_id, scope)
    if not run.counts.errored:
        raise Conflict(f"run {run.id} has no errored case to retry")
    await host.store.queue.again(run.id, JobTask.RETRY)


async def regrade(host: Host, run_id: str, change: RunRequest, scope: AccessScope, new_id: str = "") -> QueuedRun:
    """A new run over the answers of an old one. What `change` does not say is as it was."""
    run = await host.store.run(run_id, scope)
    job = await host.store.queue.job(run.id)
    before = msgspec.json.decode(job.request, type=RunRequest) if job else RunRequest()
    if not before.datasets:
        return await regrade_from_pins(host, run, change, scope, new_id)
    changes = {name: value for name in ("rubric", "judge", "profile", "name") if (value := getattr(change, name))}
    # Finished conversations stand against pooled criteria: their answers are graded by the test set itself.
    datasets = (before.criteria_from,) if before.criteria_from else before.datasets
    answers = (f"{RUN_PREFIX}{run.id}",)
    request = replace(before, **changes, datasets=datasets, criteria_from="", responses=answers, target="")
    return await submit_run(host, request, scope, new_id)


async def delete(host: Host, run_id: str, scope: AccessScope) -> None:
    """Gone with all its results; one that waits or is worked on must be cancelled first."""
    run = await host.store.run(run_id, scope)
    job = await host.store.queue.job(run.id)
    if job is not None and job.state in (JobState.QUEUED, JobState.RUNNING):
        raise Conflict(f"run {run.id} is {job.state.value}: cancel it first")
    if job is None and run.state is RunState.RUNNING:
        raise Conflict(f"run {run.id} is being run: stop it first")
    await host.store.delete_run(run.id)
