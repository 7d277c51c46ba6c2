"""The use cases of a run: start it, go on with it, try it again, look at it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from assay.errors import Conflict, PlanRefused
from assay.model.run import Run, RunState
from assay.model.summary import Summary
from assay.services.answers import Answers, earlier_answers, read_answers
from assay.services.options import RunOptions, options_of
from assay.services.piped import kept
from assay.services.planning import Given, Plan, plan, read_given
from assay.services.running import Progress, check_same, errored, execute, new_run, utc_now
from assay.services.workplace import Workplace
from assay.store.store import Store

EARLIER_RUN = "run:"

Watching = Callable[["Started"], Progress]
"""Given the run that starts, gives the function that is told of its Results."""


class Started(Struct, frozen=True):
    """A run that is about to work: what it is, how much is done, what the plan warns of."""

    run: Run
    done: int
    warnings: tuple[str, ...]


async def start(work: Workplace, options: RunOptions, watch: Watching) -> Summary:
    """Plan, create and execute a run. Nothing is stored when the plan is refused."""
    async with await work.store() as store:
        with Recording(options.record_judge) as record:
            lasting = tuple(kept(path, work.data_folder / "piped") for path in options.datasets)
            made = await planned(work, store, replace(options, datasets=lasting), record)
            run = new_run(made, options.name, utc_now())
            await store.create_run(run)
            await execute(store, run, made, watch(Started(run, 0, made.warnings)))
        return await store.summary(run.id)


async def go_on(work: Workplace, name: str, watch: Watching, record_to: Path | None = None) -> Summary:
    """Resume: make the attempts that have no Result yet."""
    async with await work.store() as store:
        run = await store.find_run(name)
        if run.state is RunState.COMPLETED:
            raise PlanRefused(f"run {run.name!r} ({run.id}) is complete: there is nothing to resume")
        return await _again(work, store, run, watch, (), record_to)


async def retry(work: Workplace, name: str, watch: Watching, record_to: Path | None = None) -> Summary:
    """Make the attempts again that errored."""
    async with await work.store() as store:
        run = await store.find_run(name)
        return await _again(work, store, run, watch, (await errored(store, run)).positions, record_to)


async def _again(
    work: Workplace, store: Store, run: Run, watch: Watching, positions: tuple[int, ...], record_to: Path | None
) -> Summary:
    options = options_of(run.pins, run.name)
    with Recording(record_to) as record:
        made = await planned(work, store, options, record, pinned=run)
        check_same(run, made.pins)
        if made.total != run.counts.total:
            raise Conflict(f"run {run.id} has {run.counts.total} attempts, its files now give {made.total}")
        done = len(await store.finished(run.id)) - len(positions)
        await execute(store, run, made, watch(Started(run, done, made.warnings)), positions)
    return await store.summary(run.id)


async def planned(
    work: Workplace,
    store: Store,
    options: RunOptions,
    record: Callable[[bytes], None] | None,
    pinned: Run | None = None,
) -> Plan:
    """The plan for the options. A run that goes on keeps its rubric and agent: they are pinned whole."""
    answers = await _answers(work, store, options)
    if pinned is None:
        given = read_given(options, answers)
    else:
        given = Given(rubric=pinned.pins.rubric, agent=pinned.pins.agent, answers=answers)
    return plan(options, work.kit, Given(rubric=given.rubric, agent=given.agent, answers=answers, record=record))


async def _answers(work: Workplace, store: Store, options: RunOptions) -> Answers | None:
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
