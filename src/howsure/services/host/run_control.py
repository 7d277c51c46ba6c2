"""What can be done to a run that exists: pause, cancel, resume, retry what errored, grade again, delete. Every use case
sees only what its caller may see. A run is graded again from its pins: the files and versions that they name are read
again, the answers are the stored ones, and no agent is called."""

from __future__ import annotations

import asyncio
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from howsure.dialects.agent_files import rubric_document
from howsure.dialects.datasets import read_cases
from howsure.errors import Conflict
from howsure.model.access_scope import AccessScope
from howsure.model.case import World
from howsure.model.document import Document, DocumentKind
from howsure.model.job import JobState, JobTask, RequestedState
from howsure.model.run import Pins, Run, RunState
from howsure.model.run_request import OFFLINE, RunRequest
from howsure.services.files import native_path
from howsure.services.host.document_files import (
    DocumentReference,
    document_path,
    is_reference,
    read_reference,
    reference_to,
)
from howsure.services.host.documents import DocumentChange, add_document, find_document
from howsure.services.host.request_checks import RequestFaults, permanent_faults
from howsure.services.host.run_requests import QueuedRun, allowed_judge, queue_run, referenced_document
from howsure.services.run.execute import attempts_to_resume
from howsure.services.run.judges import judge_models
from howsure.services.run.plan import rules_for
from howsure.services.run.start import pinned_request, prepare, refuse_imported, regrade_request
from howsure.services.workspace import Host

RECORDED = "recorded:"
FREE = ("", "none", OFFLINE)
OMITTED = (
    "{number} of {total} items were not graded again: their input is another in version {version}, or they are new"
)


class OtherVersions(Struct, frozen=True):
    """The versions of test set and rubric to use; None: those of the run."""

    test_set: int | None = None
    rubric: int | None = None


SAME_VERSIONS = OtherVersions()


def _check_files(pins: Pins) -> None:
    """Refuse if a file of the run is gone; the message has only file names."""
    named = [pin.path for pin in (*pins.datasets, *pins.evals) if not is_reference(pin.path) and "://" not in pin.path]
    gone = [Path(native_path(path)).name for path in named if not Path(native_path(path)).exists()]
    if gone:
        raise Conflict(
            f"this run was made from files that are not on the service's machine (any more): {', '.join(gone)}; "
            "`howsure run --responses` grades its answers again where they are"
        )


def _judge(host: Host, pins: Pins, scope: AccessScope) -> str:
    """The judge of the run: a recording if the file still exists, a model if the operator offers it."""
    if not pins.request.judge.startswith(RECORDED):
        return pins.request.judge if pins.request.judge in FREE else allowed_judge(host, pins.request.judge, scope)
    path = Path(native_path(pins.request.judge.removeprefix(RECORDED)))
    if not path.is_file():
        raise Conflict(f"the recording that judged this run is not here any more: {path.name}; choose another judge")
    return f"{RECORDED}{path}"


def rubric_key(pins: Pins) -> str:
    """The id of the run's rubric in the library; a rubric without an id is identified by its content."""
    return (pins.rubric.id or pins.rubric_sha256[:32]) if pins.rubric else ""


async def library_rubric(host: Host, run: Run, scope: AccessScope) -> Document | None:
    """The current version of the run's rubric in the library; None where it has none."""
    return await find_document(host, DocumentKind.RUBRIC, rubric_key(run.pins), scope)


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
    """Queue a run that was paused, cancelled, interrupted, ran out of its budget, or stopped because it was sure."""
    run = await host.store.run(run_id, scope)
    if run.state is RunState.COMPLETED and not await attempts_to_resume(host.store, run):
        raise Conflict(f"run {run.id} is complete: there is nothing to resume")
    refuse_imported(run)
    await host.store.queue.again(run.id, JobTask.ATTEMPT)


async def retry(host: Host, run_id: str, scope: AccessScope) -> None:
    """Queue the attempts that errored."""
    run = await host.store.run(run_id, scope)
    if not run.counts.errored:
        raise Conflict(f"run {run.id} has no errored case to retry")
    refuse_imported(run)
    await host.store.queue.again(run.id, JobTask.RETRY)


async def regrade(
    host: Host,
    run_id: str,
    change: RunRequest,
    scope: AccessScope,
    new_id: str = "",
    versions: OtherVersions = SAME_VERSIONS,
) -> QueuedRun:
    """Queue a new run over the answers of an old one. What neither `change` nor `versions` names stays as it was
    pinned, even if it was edited or deleted since."""
    run, faults = await host.store.run(run_id, scope), RequestFaults()
    if not run.pins.imported:
        _check_files(run.pins)
    judge, rubric, (cases, notes) = await find_regrade_parts(host, run, change, versions, scope, faults)
    faults.refuse()
    request = regrade_request(
        run,
        cases,
        judge,
        rubric=str(reference_to(rubric)) if rubric else "",
        profile=change.profile or pinned_request(run).profile,
        engine=host.work.settings.engine.value,
        name=change.name or run.name,
    )
    own = AccessScope(organization_id=run.organization_id or None)
    with permanent_faults():
        handle = await prepare(host.work, host.store, request, own, run.pins)
    used = [each for each in run.pins.documents if rubric is None or read_reference(each).kind is not rubric.kind]
    documents = (*used, request.rubric) if rubric else tuple(used)
    pins = replace(handle.run.pins, documents=documents, notes=(*handle.run.pins.notes, *notes))
    handle = replace(handle, run=replace(handle.run, pins=pins))
    return await queue_run(host, handle, run.pins.agent_key, run.organization_id, new_id)


async def find_regrade_parts(
    host: Host, run: Run, change: RunRequest, versions: OtherVersions, scope: AccessScope, faults: RequestFaults
) -> tuple[str, Document | None, tuple[RunRequest, tuple[str, ...]]]:
    """The judge, the rubric if it is another, and the cases with what to note of them."""
    pinned, judge, rubric = pinned_request(run), "", None
    cases: tuple[RunRequest, tuple[str, ...]] = (pinned, ())
    with faults.of("eval_model"), permanent_faults():
        judge = allowed_judge(host, change.judge, scope) if change.judge else _judge(host, run.pins, scope)
        judge_models(host.work, replace(pinned, judge=judge))
    with faults.of("profile"):
        rules_for(change, host.work.kit)
    with faults.of("rubric_version" if versions.rubric else "rubric_id"):
        rubric = await _other_rubric(host, run, change, versions, scope)
    with faults.of("test_set_version"):
        cases = await _cases_to_regrade(host, run, pinned, versions.test_set, scope)
    return judge, rubric, cases


async def _other_rubric(
    host: Host, run: Run, change: RunRequest, versions: OtherVersions, scope: AccessScope
) -> Document | None:
    """The rubric that was asked for; None: the one of the run, as it is pinned."""
    if versions.rubric is not None and not change.rubric:
        if run.pins.rubric is None:
            raise Conflict(f"rubric_version: run {run.id} was graded without a rubric; name one with rubric_id")
        wanted = DocumentReference(DocumentKind.RUBRIC, rubric_key(run.pins), versions.rubric)
        return await referenced_document(host, str(wanted), scope)
    return await referenced_document(host, change.rubric, scope) if change.rubric else None


async def _cases_to_regrade(
    host: Host, run: Run, pinned: RunRequest, version: int | None, scope: AccessScope
) -> tuple[RunRequest, tuple[str, ...]]:
    """The request with the cases to grade, and what to note. Of another version of the test set only those are graded
    whose input is the one that was answered; of a run that did not get to its end, those that have a result."""
    named = pinned.criteria_from or next(iter(pinned.datasets), "")
    if version is None:
        if pinned.criteria_from or run.pins.imported or not run.counts.pending:
            return pinned, ()
        answered = tuple([case.id async for case in host.store.cases(run.id)])
        return replace(pinned, limit=None, filters={"id": answered}), ()
    reference = read_reference(named) if is_reference(named) else None
    if reference is None or reference.kind is not DocumentKind.TEST_SET:
        raise Conflict(f"test_set_version: run {run.id} was not made of a test set of this service")
    wanted = DocumentReference(reference.kind, reference.id, version)
    test_set = await referenced_document(host, str(wanted), scope)
    if pinned.criteria_from:
        return replace(pinned, criteria_from=str(wanted)), ()
    asked = {case.id: (case.input, case.state) async for case in host.store.cases(run.id)}
    path = await asyncio.to_thread(document_path, test_set, host.work.data_folder / "documents")
    cases = await asyncio.to_thread(lambda: list(read_cases(path, host.work.kit.dialects[World.TEST_SET])))
    same, total = tuple(each.id for each in cases if asked.get(each.id) == (each.input, each.state)), len(cases)
    if not same:
        raise Conflict(f"version {version} of the test set has no item whose input is the one that was answered")
    left_out = total - len(same)
    note = (OMITTED.format(number=left_out, total=total, version=version),) if left_out else ()
    return replace(pinned, datasets=(str(wanted),), limit=None, filters={"id": same}), note


async def delete(host: Host, run_id: str, scope: AccessScope) -> None:
    """Gone with all its results; one that waits or is worked on must be cancelled first."""
    run = await host.store.run(run_id, scope)
    job = await host.store.queue.job(run.id)
    if job is not None and job.state in (JobState.QUEUED, JobState.RUNNING):
        raise Conflict(f"run {run.id} is {job.state.value}: cancel it first")
    if job is None and run.state is RunState.RUNNING:
        raise Conflict(f"run {run.id} is being run: stop it first")
    await host.store.delete_run(run.id)
