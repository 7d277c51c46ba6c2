"""The use cases of a run: start it, resume it, retry what errored, and carry it out for the service. A new run of an
edited dataset may carry over the earlier results of every case that is still the same."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from howsure.dialects.datasets import bytes_added, is_of_others
from howsure.dialects.lines import CaseLinesDialect
from howsure.errors import Conflict, PlanRefused
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.result import Result
from howsure.model.run import Pins, Run, RunState, targets_of
from howsure.model.run_request import OFFLINE, RUN_PREFIX, RunRequest
from howsure.model.summary import Summary
from howsure.model.verdict import Verdict
from howsure.services.files import keep_piped, native_path
from howsure.services.gate.gate import combine_gates, rule_on_gates
from howsure.services.host.allowed_hosts import guard_for
from howsure.services.host.document_files import DocumentFiles, write_documents
from howsure.services.run.execute import (
    UNCLAIMED,
    Progress,
    RunClaim,
    RunHandle,
    attempts_to_resume,
    check_unchanged,
    errored_attempts,
    new_run,
    open_budget,
    open_engine,
    utc_now,
)
from howsure.services.run.file_candidates import add_file_targets, use_file_candidates
from howsure.services.run.judges import open_models
from howsure.services.run.model_access import SharedAccess, open_to_append
from howsure.services.run.plan import Plan, RunMaterials, plan_run, read_materials, read_pool, rubric_to_ask
from howsure.services.run.preflight import pinned_cases
from howsure.services.run.recorded_answers import (
    RecordedAnswers,
    conversation_dataset,
    earlier_answers,
    read_answers,
    stored_cases,
    stored_conversations,
)
from howsure.services.workspace import Workspace
from howsure.store.store import Store

ProgressFactory = Callable[[RunHandle], Progress]
"""Given the run that starts, gives the function that is told of its Results."""
BeforeRun = Callable[[Store, Run, Plan], Awaitable[int]]
"""What is done with a run after it was made and before its first attempt; how many Results it has then."""


async def start(
    work: Workspace, request: RunRequest, watch: ProgressFactory, before: BeforeRun | None = None
) -> Summary:
    """Plan, create and execute a run. Nothing is stored when the plan is refused. `before` may give the run results
    before any attempt is made, and says how many. A dataset may say itself who answers."""
    if _may_name_candidates(work, request):
        work, request = use_file_candidates(work, request)
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(await work.store())
        began = utc_now()
        if request.anchors:
            request = replace(request, anchors=(await store.find_run(request.anchors)).id)
        plan = await plan_request(work, store, request, began, stack)
        run = new_run(plan, began)
        execute = await stack.enter_async_context(open_engine(work, plan, run))
        await store.create_run(run)
        await store.audit.record_command("run", run.id)
        handle = RunHandle(run=run, plan=plan, done=await before(store, run, plan) if before else 0)
        await execute(store, handle, watch(handle))
        summary = await rule_on_gates(store, await store.summary(run.id))
    return await _with_drift(work, summary, watch)


async def _with_drift(work: Workspace, summary: Summary, watch: ProgressFactory) -> Summary:
    """The summary, with the drift of the judge if the run has anchors."""
    run = summary.run
    if not run.pins.request.anchors or run.state is not RunState.COMPLETED or run.pins.request.judge == OFFLINE:
        return summary
    # Loads numpy: only for runs with anchors.
    drift = await import_module("howsure.services.judge.drift").add_drift(work, run, watch)
    return replace(summary, run=replace(run, pins=replace(run.pins, drift=drift)))


async def prepare(
    work: Workspace, store: Store, request: RunRequest, scope: AccessScope = EVERYWHERE, like: Pins | None = None
) -> RunHandle:
    """Plan a run that a worker will carry out. Nothing is stored, and no model is asked. A rubric and an agent that the
    request does not name are those that `like` has pinned."""
    async with AsyncExitStack() as stack:
        began = utc_now()
        plan = await plan_request(work, store, request, began, stack, scope, like)
        return RunHandle(run=new_run(plan, began), plan=plan)


async def plan_request(
    work: Workspace,
    store: Store,
    request: RunRequest,
    began: datetime,
    stack: AsyncExitStack,
    scope: AccessScope = EVERYWHERE,
    like: Pins | None = None,
) -> Plan:
    """The plan of a new run; its models are open as long as `stack` is. Documents of the service are those that can be
    seen within `scope`."""
    request, documents = await _files_that_last(work, store, request, scope)
    models = await stack.enter_async_context(open_models(work, request))
    log_reply = stack.enter_context(open_reply_log(request.record_judge))
    answers = await _recorded_answers(work, store, request)
    materials = replace(read_materials(request, work.kit, answers), log_reply=log_reply)
    if like is not None:
        rubric, notes = (materials.rubric, materials.notes) if request.rubric else rubric_to_ask(like.rubric, request)
        materials = replace(materials, rubric=rubric, notes=notes, agent=materials.agent or like.agent)
    plan = await asyncio.to_thread(plan_run, work, request, materials, models, now=lambda: began)
    return replace(plan, pins=documents.with_references(plan.pins))


async def _files_that_last(
    work: Workspace, store: Store, request: RunRequest, scope: AccessScope
) -> tuple[RunRequest, DocumentFiles]:
    """The request with files that can be read again in place of pipes, earlier runs and documents of the service. A run
    over the conversations of another is named after that one."""
    simulation, folder = work.kit.dialects["simulation"], work.data_folder / "conversations"
    request, documents = await write_documents(store, request, work.data_folder / "documents", scope)
    datasets: list[str] = []
    names: list[str] = []
    for path in request.datasets:
        if path.startswith(RUN_PREFIX):
            earlier = await store.find_run(path.removeprefix(RUN_PREFIX))
            names.append(f"conversations of {earlier.name or earlier.id}")
            if earlier.pins.imported and not request.criteria_from:
                # Its cases say what was expected, and its answers are graded anew, candidate by candidate.
                datasets.append(await stored_cases(store.cases(earlier.id), folder, earlier.name))
                repeat = max(request.repeat, earlier.pins.request.repeat)
                answers = request.responses or (path,)
                request = replace(request, dialect=CaseLinesDialect.name, responses=answers, repeat=repeat)
                continue
            datasets.append(await stored_conversations(store.iterate(earlier.id), simulation, folder, earlier.name))
        else:
            path = keep_piped(path, work.data_folder / "piped")
            datasets.append(conversation_dataset(path, simulation, folder) if request.criteria_from else path)
    name = request.name or (names[0] if len(names) == len(datasets) == 1 else "")
    return replace(request, datasets=tuple(datasets), name=name), documents


async def resume(
    work: Workspace, name: str, watch: ProgressFactory, *, gates: tuple[str, ...] = (), **changes: Any
) -> Summary:
    """Make the attempts that have no Result yet, that the budget did not reach, or that were not asked because the run
    was sure. `changes` are new values for fields of the request: budget, cache, trace, record_judge, engine."""
    async with await work.store() as store:
        run = await store.find_run(name)
        again = await attempts_to_resume(store, run)
        if run.state is RunState.COMPLETED and not again:
            raise PlanRefused(f"run {run.name!r} ({run.id}) is complete: there is nothing to resume")
        await store.audit.record_command("resume", run.id)
        request = pinned_request(run, **changes)
        return await carry_out(work, store, run, UNCLAIMED, again, watch, request=request, gates=gates)


async def retry(
    work: Workspace, name: str, watch: ProgressFactory, *, gates: tuple[str, ...] = (), **changes: Any
) -> Summary:
    """Make the attempts again that errored."""
    async with await work.store() as store:
        run = await store.find_run(name)
        again = await errored_attempts(store, run)
        await store.audit.record_command("retry", run.id)
        request = pinned_request(run, asks_anew=True, **changes)
        return await carry_out(work, store, run, UNCLAIMED, again, watch, request=request, gates=gates)


async def carry_out(
    work: Workspace,
    store: Store,
    run: Run,
    claim: RunClaim,
    again: set[int],
    watch: ProgressFactory,
    *,
    request: RunRequest | None = None,
    gates: tuple[str, ...] = (),
) -> Summary:
    """Make the attempts that have no Result, and those to make `again`. For a worker that has claimed the run, the pins
    are not computed a second time, unless a file has changed."""
    request = request or pinned_request(run)
    refuse_imported(run)
    work = add_file_targets(work, request) if _may_name_candidates(work, request) else work
    if work.trust is not None and not claim.owner:
        work.trust.check_request(request, {*work.settings.targets, *work.kit.targets.names()})
    async with AsyncExitStack() as stack:
        plan = await replan(work, store, run, request, stack, trust_pins=bool(claim.owner))
        if plan.total != run.counts.total:
            raise Conflict(f"run {run.id} has {run.counts.total} attempts, its files now give {plan.total}")
        execute = await stack.enter_async_context(open_engine(work, plan, run))
        done = len(await store.finished_positions(run.id)) - len(again)
        handle = RunHandle(run=run, plan=plan, done=done, again=again, claim=claim)
        await execute(store, handle, watch(handle))
    return await _with_drift(work, await rule_on_gates(store, await store.summary(run.id), gates), watch)


def refuse_imported(run: Run) -> None:
    """Conflict for an imported run: its attempts cannot be made here."""
    if run.pins.imported:
        how = f"grade its answers anew with `howsure run {RUN_PREFIX}{run.id[:8]}`"
        raise Conflict(f"run {run.name!r} was imported from {run.pins.imported.tool}: it is not made here; {how}")


def pinned_request(run: Run, **changes: Any) -> RunRequest:
    """The request that makes the same run again, with these changes."""
    pinned = run.pins.request
    return replace(
        pinned,
        datasets=tuple(map(native_path, pinned.datasets)),
        responses=tuple(map(native_path, pinned.responses)),
        evals=tuple(map(native_path, pinned.evals)),
        criteria_from=native_path(pinned.criteria_from),
        judge=native_path(pinned.judge),
        name=run.name,
        **changes,
    )


def regrade_request(run: Run, cases: RunRequest, judge: str, **changes: Any) -> RunRequest:
    """The request that grades the answers of a run again. `cases` is its pinned request, or one with other cases."""
    answers = (f"{RUN_PREFIX}{run.id}",)
    return replace(
        cases,
        datasets=answers if run.pins.imported else cases.datasets,
        # Finished conversations bring their answers along.
        responses=() if cases.criteria_from else answers,
        target="",
        candidates=(),
        judge=judge,
        until_sure="",
        anchors="",
        **changes,
    )


async def replan(
    work: Workspace,
    store: Store,
    run: Run,
    request: RunRequest,
    stack: AsyncExitStack,
    *,
    trust_pins: bool = False,
    known_cases: int = 0,
    shared: SharedAccess | None = None,
) -> Plan:
    """The plan of a run, made once more from its pins, here or on another machine. A run that goes on keeps its rubric
    and agent: they are pinned whole. With `trust_pins` the cases are not checked again while the files are the same.
    Where a file has only grown, the run goes on with the part that it began with.
    Another process that works on the run too says how many cases there are, and what all of them share."""
    scope = AccessScope(organization_id=run.organization_id or None)
    work = add_file_targets(work, request) if _may_name_candidates(work, request) else work
    folder = work.data_folder / "documents"
    request, documents = await write_documents(store, request, folder, scope, fetch=not known_cases)
    budget = await open_budget(work.settings.service, store, run.organization_id, run.id, stack)
    models = await stack.enter_async_context(open_models(work, request, before=run.spent, shared=shared, budget=budget))
    materials = RunMaterials(
        rubric=run.pins.rubric,
        agent=run.pins.agent,
        answers=await _recorded_answers(work, store, request),
        pool=read_pool(request, work.kit),
        log_reply=stack.enter_context(open_reply_log(request.record_judge)),
    )
    added = await asyncio.to_thread(_bytes_added, run, request)
    if added is not None and (trust_pins or added):
        known_cases = run.counts.total // (run.pins.request.repeat * len(run.pins.request.candidates))
    cases = pinned_cases(run.pins, request, work.kit, known_cases) if known_cases else None
    # A run that somebody asked the service for may reach the allowed hosts only.
    queued = await store.queue.job(run.id) is not None
    hosts, targets = work.settings.service.hosts, targets_of(run.pins.request)
    guard = guard_for(hosts, targets, work.settings.targets) if queued else None
    began = run.created_at
    plan = await asyncio.to_thread(
        plan_run, work, request, materials, models, now=lambda: began, cases=cases, guard=guard
    )
    check_unchanged(run, documents.with_references(plan.pins))
    return plan


def _bytes_added(run: Run, request: RunRequest) -> int | None:
    """How many bytes were added to the datasets since the run was planned; None, where one of them has changed."""
    files = list(zip(run.pins.datasets, map(Path, request.datasets), strict=False))
    if len(request.datasets) != len(run.pins.datasets) or not all(path.is_file() for _, path in files):
        return None
    added = [bytes_added(path, pin.sha256, pin.size or path.stat().st_size) for pin, path in files]
    return sum(each for each in added if each is not None) if None not in added else None


async def _recorded_answers(work: Workspace, store: Store, request: RunRequest) -> RecordedAnswers | None:
    if not request.responses:
        return None
    if not request.responses[0].startswith(RUN_PREFIX):
        return read_answers(request.responses, work.kit.dialects["simulation"])
    if len(request.responses) > 1:
        raise PlanRefused("answers come from one earlier run, or from files; not from both")
    earlier = await store.find_run(request.responses[0].removeprefix(RUN_PREFIX))
    recordings = await earlier_answers(store.iterate(earlier.id))
    pin = replace(earlier.pins.datasets[0], path=f"{RUN_PREFIX}{earlier.id}", sha256=earlier.id, dialect="", cases=0)
    return RecordedAnswers(recordings, (pin,))


@contextmanager
def open_reply_log(path: str) -> Iterator[Callable[[bytes], None] | None]:
    """A file that judge replies are appended to, line by line; nothing when no path was given."""
    if not path:
        yield None
        return
    with open_to_append("--record-judge", path) as file:

        def write(line: bytes) -> None:
            file.write(line if line.endswith(b"\n") else line + b"\n")
            file.flush()

        yield write


def apply_settings(work: Workspace, request: RunRequest) -> RunRequest:
    """The request, with the settings for what it leaves open. Gates are added to those of the settings."""
    settings = work.settings
    return replace(
        request,
        judge=request.judge or settings.judge or OFFLINE,
        simulator=request.simulator or settings.simulator,
        engine=request.engine or settings.engine.value,
        concurrency=settings.max_concurrency if request.concurrency is None else request.concurrency,
        batch_criteria=request.batch_criteria or settings.batch_criteria,
        gates=combine_gates(work, request.gates),
        until_sure=request.until_sure or settings.until_sure,
        anchors=request.anchors or settings.anchors,
    )


RECENT_RUNS = 20
"""How many runs are searched for one that is like the new one."""
BATCH = 500

AttemptKey = tuple[str, str, int]
"""Case, candidate and repeat."""


async def carry_over(store: Store, run: Run, plan: Plan) -> int:
    """Copy the results that still hold into a new run; returns how many they are."""
    recent = await store.runs(limit=RECENT_RUNS, states=(RunState.COMPLETED,))
    earlier = next((each for each in recent if each.id != run.id and alike(each.pins, run.pins)), None)
    if earlier is None:
        return 0
    known: dict[AttemptKey, Result] = {}
    async for result in store.iterate(earlier.id):
        if result.verdict is not Verdict.ERRORED:
            known[result.case.id, result.candidate, result.repeat] = result
    unchanged: list[Result] = []
    for place, case in enumerate(plan.cases.read()):
        for at, each in enumerate(plan.candidates):
            before = known.get((case.id, each.candidate, each.repeat))
            if before is not None and before.case == case:
                unchanged.append(replace(before, position=place * len(plan.candidates) + at))
    for begin in range(0, len(unchanged), BATCH):
        await store.save(run.id, unchanged[begin : begin + BATCH])
    return len(unchanged)


def alike(first: Pins, second: Pins) -> bool:
    """Whether two runs differ in nothing but what their files hold."""
    first, second = (
        replace(each, datasets=(), notes=(), order_seed=None, sure=(), drift=None) for each in (first, second)
    )
    return first == second


def _may_name_candidates(work: Workspace, request: RunRequest) -> bool:
    """Only files of other tools may name candidates."""
    return any(is_of_others(Path(each), work.kit.dialects) for each in request.datasets)
