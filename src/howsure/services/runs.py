"""The use cases of a run: start it, go on with it, try it again, look at it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from howsure.errors import Conflict, PlanRefused
from howsure.llm.guard import Guard
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.run import Pins, Run, RunState, Spent
from howsure.model.summary import Summary
from howsure.services.aiming import Ground, aim_of, chat_models, simulator_model
from howsure.services.answers import Answers, earlier_answers, read_answers
from howsure.services.engines import Manner, hands
from howsure.services.gating import gated
from howsure.services.hosting.addresses import guard_of
from howsure.services.hosting.materials import Materials, written_down
from howsure.services.judging import Judging, Wanted, judging
from howsure.services.options import RunOptions, options_of
from howsure.services.piped import kept
from howsure.services.planning import CONCURRENCY, Given, Plan, plan, read_given
from howsure.services.pooling import Pool, conversations, stored_conversations
from howsure.services.running import Progress, Work, check_same, errored, left_out, new_run, utc_now
from howsure.services.survey import Survey
from howsure.services.way import Among
from howsure.services.workspace import Workspace
from howsure.store.store import Store

EARLIER_RUN = "run:"

Watching = Callable[["Started"], Progress]
"""Given the run that starts, gives the function that is told of its Results."""
Preparing = Callable[[Store, Run, Plan], Awaitable[int]]
"""What is done with a run after it was made and before its first attempt; how many Results it has then."""


class Started(Struct, frozen=True):
    """A run that is about to work: what it is, how much is done, what the plan warns of."""

    run: Run
    done: int
    warnings: tuple[str, ...]


async def start(work: Workspace, options: RunOptions, watch: Watching, before: Preparing | None = None) -> Summary:
    """Plan, create and execute a run. Nothing is stored when the plan is refused. `before` may give the run results
    before any attempt is made, and says how many."""
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(await work.store())
        began = utc_now()
        made, judge, name = await planned(work, store, options, began, stack)
        run = new_run(made, name, began)
        execute = await stack.enter_async_context(hands(work, made, run, Manner.of(options, run.pins.engine)))
        await store.create_run(run)
        done = await before(store, run, made) if before else 0
        progress = watch(Started(run, done, made.warnings))
        await execute(store, run, Work(plan=made, progress=progress, spent=judge.spent))
        return await gated(store, await store.summary(run.id))


async def prepare(
    work: Workspace, store: Store, options: RunOptions, within: AccessScope = EVERYWHERE, like: Pins | None = None
) -> Started:
    """Plan a run that somebody else will carry out. Nothing is stored, and nobody was asked anything. A rubric and an
    agent that the options do not name are those that `like` has pinned."""
    async with AsyncExitStack() as stack:
        began = utc_now()
        made, _, name = await planned(work, store, options, began, stack, within, like)
        return Started(new_run(made, name, began), 0, made.warnings)


async def planned(
    work: Workspace,
    store: Store,
    options: RunOptions,
    began: datetime,
    stack: AsyncExitStack,
    within: AccessScope = EVERYWHERE,
    like: Pins | None = None,
) -> tuple[Plan, Judging, str]:
    """The plan, its judge, which is open as long as `stack` is, and the name of the run. Documents of the service are
    those that can be seen `within`."""
    lasting, materials = await _lasting(work, store, options, within)
    judge = await stack.enter_async_context(judging(wanted(work, lasting)))
    record = stack.enter_context(Recording(lasting.record_judge))
    answers = await _answers(work, store, lasting)
    given = replace(read_given(lasting, answers), judging=judge, record=record, now=lambda: began)
    given = replace(given, ground=ground(work), pool=_pool(work, lasting))
    if like is not None:
        given = replace(given, rubric=given.rubric or like.rubric, agent=given.agent or like.agent)
    made = await asyncio.to_thread(plan, lasting, work.kit, given)
    return replace(made, pins=materials.referred(made.pins)), judge, lasting.name


async def _lasting(
    work: Workspace, store: Store, options: RunOptions, within: AccessScope
) -> tuple[RunOptions, Materials]:
    """With files that can be read again: the datasets themselves, or what came through a pipe, from an earlier run or
    from the service's documents. A run over what was said in another is named after that one."""
    simulation, folder = work.kit.dialects["simulation"], work.data_folder / "conversations"
    options, materials = await written_down(store, options, work.data_folder / "documents", within)
    lasting: list[str] = []
    named: list[str] = []
    for path in options.datasets:
        if path.startswith(EARLIER_RUN):
            earlier = await store.find_run(path.removeprefix(EARLIER_RUN))
            named.append(f"conversations of {earlier.name or earlier.id}")
            lasting.append(await stored_conversations(store.iterate(earlier.id), simulation, folder, earlier.name))
        else:
            path = kept(path, work.data_folder / "piped")
            lasting.append(conversations(path, simulation, folder) if options.criteria_from else path)
    name = options.name or (named[0] if len(named) == len(lasting) == 1 else "")
    return replace(options, datasets=tuple(lasting), name=name), materials


def _pool(work: Workspace, options: RunOptions) -> Pool | None:
    return Pool.of(Path(options.criteria_from), work.kit) if options.criteria_from else None


def ground(work: Workspace, guard: Guard | None = None) -> Ground:
    """What the settings say of targets."""
    settings = work.settings
    return Ground(
        blocks=settings.targets,
        folder=work.beside,
        turn_seconds=settings.turn_seconds,
        case_seconds=settings.case_seconds,
        guard=guard,
    )


def wanted(work: Workspace, options: RunOptions, before: Spent | None = None) -> Wanted:
    """What the options say of judging, with what the run has spent before."""
    aim = aim_of(options.target, work.kit, work.settings.targets)
    return Wanted(
        judge=options.judge,
        concurrency=options.concurrency or CONCURRENCY,
        cache=work.replies if options.cache else None,
        trace=options.trace,
        budget=options.budget,
        before=before,
        prices=work.prices,
        panel=work.settings.panel,
        models=chat_models(aim, options),
        simulator=simulator_model(options.simulator, aim, work.kit),
        simulator_settings=work.settings.simulator_settings,
        folders=tuple(Path(path) if Path(path).is_dir() else Path(path).parent for path in options.datasets),
        attempt_seconds=work.settings.attempt_seconds,
        judge_settings=work.settings.judge_settings,
        target_settings=work.settings.target_settings,
        batch=options.batch_criteria,
        images=work.settings.images,
        rates=work.settings.rates,
        retry=work.settings.retry,
    )


class Again(Struct, frozen=True, kw_only=True):
    """How a run goes on: what may be said anew, all else is pinned."""

    budget: str | None = None
    cache: bool = True
    trace: Path | None = None
    record_judge: Path | None = None
    gates: tuple[str, ...] = ()
    engine: str = ""
    owner: str = ""


async def go_on(work: Workspace, name: str, watch: Watching, again: Again | None = None) -> Summary:
    """Resume: make the attempts that have no Result yet, and those that the budget did not reach."""
    async with await work.store() as store:
        run = await store.find_run(name)
        if run.state is RunState.COMPLETED:
            raise PlanRefused(f"run {run.name!r} ({run.id}) is complete: there is nothing to resume")
        return await _once_more(work, store, run, watch, again or Again(), await left_out(store, run))


async def retry(work: Workspace, name: str, watch: Watching, again: Again | None = None) -> Summary:
    """Make the attempts again that errored."""
    async with await work.store() as store:
        run = await store.find_run(name)
        return await _once_more(work, store, run, watch, again or Again(), await errored(store, run))


async def carry_out(
    work: Workspace, store: Store, run: Run, owner: str, positions: set[int], watch: Watching
) -> Summary:
    """What a worker does with a run that it has taken: the attempts that have no Result, and those at `positions`."""
    return await _once_more(work, store, run, watch, Again(owner=owner), positions)


async def _once_more(
    work: Workspace, store: Store, run: Run, watch: Watching, again: Again, positions: set[int]
) -> Summary:
    async with AsyncExitStack() as stack:
        made, judge = await replanned(work, store, run, again, stack)
        if made.total != run.counts.total:
            raise Conflict(f"run {run.id} has {run.counts.total} attempts, its files now give {made.total}")
        manner = Manner.of(again, again.engine or run.pins.engine)
        execute = await stack.enter_async_context(hands(work, made, run, manner))
        done = len(await store.finished(run.id)) - len(positions)
        progress = watch(Started(run, done, made.warnings))
        doing = Work(plan=made, progress=progress, spent=judge.spent, again=positions, owner=again.owner)
        await execute(store, run, doing)
    return await gated(store, await store.summary(run.id), again.gates)


class Elsewhere(Struct, frozen=True, kw_only=True):
    """What another process that works on the run has found and holds: the survey of its files, budget and limits."""

    found: Survey
    among: Among


async def replanned(
    work: Workspace, store: Store, run: Run, again: Again, stack: AsyncExitStack, elsewhere: Elsewhere | None = None
) -> tuple[Plan, Judging]:
    """The plan of a run, made once more from its pins, here or on another machine. A run that goes on keeps its rubric
    and agent: they are pinned whole."""
    pinned = options_of(run.pins, run.name)
    budget = pinned.budget if again.budget is None else again.budget
    options = replace(pinned, budget=budget, cache=again.cache, trace=again.trace)
    whose = AccessScope(organization_id=run.organization_id or None)
    documents = work.data_folder / "documents"
    options, materials = await written_down(store, options, documents, whose, fetch=elsewhere is None)
    asked = replace(wanted(work, options, run.spent), among=elsewhere.among if elsewhere else None)
    judge = await stack.enter_async_context(judging(asked))
    given = Given(
        rubric=run.pins.rubric,
        agent=run.pins.agent,
        answers=await _answers(work, store, options),
        judging=judge,
        record=stack.enter_context(Recording(again.record_judge)),
        now=lambda: run.created_at,
        ground=ground(work, await _guard(work, store, run)),
        pool=_pool(work, options),
        found=elsewhere.found if elsewhere else None,
        simulated=bool(run.pins.simulator),
    )
    made = await asyncio.to_thread(plan, options, work.kit, given)
    check_same(run, materials.referred(made.pins))
    return made, judge


async def _guard(work: Workspace, store: Store, run: Run) -> Guard | None:
    """Where the target of a run may be reached that somebody asked the service for."""
    ordered = await store.queue.job(run.id) is not None
    return guard_of(work.settings.service.hosts, run.pins.target, work.settings.targets) if ordered else None


async def _answers(work: Workspace, store: Store, options: RunOptions) -> Answers | None:
    if not options.responses:
        return None
    if options.responses[0].startswith(EARLIER_RUN):
        if len(options.responses) > 1:
            raise PlanRefused("answers come from one earlier run, or from files; not from both")
        earlier = await store.find_run(options.responses[0].removeprefix(EARLIER_RUN))
        recordings = await earlier_answers(store.iterate(earlier.id))
        pin = replace(
            earlier.pins.datasets[0], path=f"{EARLIER_RUN}{earlier.id}", sha256=earlier.id, dialect="", cases=0
        )
        return Answers(recordings, (pin,))
    return read_answers(options.responses, work.kit.dialects["simulation"])


class Recording:
    """A file that judge replies are appended to, line by line; nothing when no path was given."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: Any = None

    def __enter__(self) -> Callable[[bytes], None] | None:
        if self._path is None:
            return None
        try:
            self._file = self._path.open("ab")
        except OSError as error:
            raise PlanRefused(f"--record-judge {self._path}: cannot be written: {error.strerror}") from error
        return self._write

    def _write(self, line: bytes) -> None:
        self._file.write(line if line.endswith(b"\n") else line + b"\n")
        self._file.flush()

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()
