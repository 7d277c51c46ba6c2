"""`howsure report` and `howsure card`: a stored run as files to read or pass on, as the folders of files that other
systems read; and the card of an agent, with its latest runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path

from msgspec import json
from msgspec.structs import replace

from howsure.dialects.agent_files import read_agent
from howsure.dialects.writers import check_place
from howsure.errors import CaseFailure, HowsureError, InputError, NotFound, PlanRefused, UnknownName, boundary
from howsure.kit import Kit
from howsure.kit.report_formats import CheckedReportFormat, ReportFormat
from howsure.model.comparison import Comparison
from howsure.model.run import Run, RunState
from howsure.model.summary import Summary
from howsure.reports.agent_card import AgentCard, card_markdown, card_shape
from howsure.reports.atomic_files import atomic_bytes
from howsure.reports.formats import artifact_set, find_format, format_endings
from howsure.services.gate.gate import rule_on_gates
from howsure.services.host.audit import record_export
from howsure.services.workspace import Workspace
from howsure.store.store import Store


def check_outputs(kit: Kit, paths: Sequence[str], form: str = "", *, baseline: bool = False) -> list[ReportFormat]:
    """Refuse an unknown ending, or a folder that does not exist, before a run and not after it."""
    formats = [_format(kit, Path(path), form) for path in paths]
    for each in formats:
        if isinstance(each, CheckedReportFormat):
            each.check()
    for path in map(Path, paths):
        if not path.parent.is_dir():
            raise PlanRefused(f"--output {path}: there is no folder {path.parent}")
        check_place(path)
    if baseline and not any(each.compares for each in formats):
        able = ", ".join(each.endings[0] for each in kit.report_formats if each.compares)
        raise PlanRefused(f"--baseline: none of the files shows a comparison; those that do end in {able}")
    return formats


def _format(kit: Kit, path: Path, form: str) -> ReportFormat:
    try:
        return find_format(kit, path, form)
    except UnknownName as unknown:
        if form:
            raise
        known, names = ", ".join(format_endings(kit)), "|".join(kit.report_formats.names())
        raise PlanRefused(f"--output {path}: the ending must be one of {known}; or say --format {names}") from unknown


def default_output(kit: Kit, form: str) -> str:
    """The file that a format is written to when none is named."""
    return f"report{kit.report_formats[form.lower()].endings[0] if form else '.html'}"


async def write_reports(
    work: Workspace,
    run: str,
    paths: Sequence[str],
    gates: Sequence[str] = (),
    *,
    form: str = "",
    baseline: str = "",
    candidate: str = "",
) -> list[Path]:
    """Write each path in the format of its ending, or all in `form`. `gates` are decided besides those of the run
    itself; `baseline` is the run to compare with; with a `candidate`, only what that one did is written."""
    formats = check_outputs(work.kit, paths, form, baseline=bool(baseline))
    async with await work.store(read_only=True) as store:
        found = await store.find_run(run)
        summary = await rule_on_gates(store, await store.summary(found.id), gates)
        summary = _narrow(summary, candidate) if candidate else summary
        comparison = await _compare_with(store, baseline, found) if baseline else None
        for path, each in zip(map(Path, paths), formats, strict=True):
            results = store.iterate(found.id)
            if candidate:
                results = (result async for result in results if result.candidate == candidate)
            with _naming_format(each, path):
                await each.write(summary, results, path, comparison)
        await record_export(work, store, found.id)
    return [Path(path) for path in paths]


def _narrow(summary: Summary, candidate: str) -> Summary:
    """The summary of the run with this candidate only."""
    if candidate not in summary.candidates:
        raise UnknownName("candidate", candidate, list(summary.candidates))
    counts = summary.candidates[candidate]
    own = {
        "graders": tuple(each for each in summary.graders if each.candidate == candidate),
        "slices": tuple(each for each in summary.slices if each.candidate == candidate),
    }
    return replace(summary, run=replace(summary.run, counts=counts), candidates={candidate: counts}, **own)


@contextmanager
def _naming_format(form: ReportFormat, path: Path) -> Iterator[None]:
    """Turn whatever a report format raises into an error that says which format and which file."""
    try:
        with boundary(CaseFailure, f"report format {form.name!r}"):
            yield
    except CaseFailure as failure:
        cause = failure.__cause__
        if isinstance(cause, OSError):
            raise PlanRefused(f"--output {path}: cannot be written: {cause.strerror}") from cause
        if isinstance(cause, HowsureError):
            raise cause from None
        raise PlanRefused(f"--output {path}: {failure}") from failure


async def _compare_with(store: Store, baseline: str, run: Run) -> Comparison:
    """The comparison with the baseline: an earlier run where the name could mean both. Needs numpy and scipy, which
    take as long to import as a small report takes to write."""
    comparing = import_module("howsure.services.compare.compare")
    before = await store.earlier_run(baseline, run)
    found: Comparison = await comparing.compare_stored(store, comparing.CompareRequest(runs=(before.id, run.id)))
    return found


async def write_artifacts(work: Workspace, run: str, name: str, folder: Path) -> list[Path]:
    """Write the files of an artifact set to a folder, which is created if necessary."""
    chosen = artifact_set(name)
    async with await work.store(read_only=True) as store:
        found = await store.find_run(run)
        summary = await rule_on_gates(store, await store.summary(found.id))
        try:
            with _new_folder(folder):
                written = await chosen.write(summary, store.iterate(found.id), folder)
        except OSError as error:
            raise PlanRefused(f"--output {folder}: cannot be written: {error.strerror}") from error
        await record_export(work, store, found.id)
    return written


@contextmanager
def _new_folder(folder: Path) -> Iterator[None]:
    """Create the folder; remove it again if writing is refused."""
    was_there = folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except InputError:
        if not was_there:
            for place in sorted([folder, *(each for each in folder.rglob("*") if each.is_dir())], reverse=True):
                with suppress(OSError):
                    place.rmdir()
        raise


SHOWN_RUNS = 10
LOOKED_AT = 5000
"""The newest runs that are searched for a name."""
COMPLETED = (RunState.COMPLETED,)
ENDINGS = (".md", ".json")


async def agent_card(work: Workspace, whose: str, file: str = "") -> AgentCard:
    """The card of the agent with this id or name, or of the one that a file describes."""
    if bool(whose) == bool(file):
        raise PlanRefused("a card is that of one agent: AGENT (its id or name), or --agent FILE")
    if file and not Path(file).is_file():
        raise NotFound(f"{Path(file)}: no such agent file")
    described = read_agent(Path(file)) if file else None
    try:
        found, summaries = await _runs(work, described.id if described else whose)
    except NotFound:
        # There is no database yet. An agent can have a card before its first run.
        if described is None:
            raise
        found, summaries = [], ()
    agent = described or next((run.pins.agent for run in found), None)
    if agent is None:
        raise NotFound(
            f"no completed run of the agent {whose!r} is known; `howsure runs` lists them, --agent names a file"
        )
    return AgentCard(agent=agent, runs=summaries, more=len(found) > SHOWN_RUNS)


async def _runs(work: Workspace, whose: str) -> tuple[list[Run], tuple[Summary, ...]]:
    """The newest completed runs of the agent with this id or name, one more than is shown, and their summaries."""
    async with await work.store(read_only=True) as store:
        found = await store.runs(limit=SHOWN_RUNS + 1, agent_id=whose, states=COMPLETED)
        if not found:
            newest = await store.runs(limit=LOOKED_AT, states=COMPLETED)
            found = [run for run in newest if run.pins.agent and run.pins.agent.name == whose]
            ids = list(dict.fromkeys(run.pins.agent.id for run in found if run.pins.agent))
            if len(ids) > 1:
                raise PlanRefused(f"several agents are called {whose!r}: say which id, {', '.join(ids)}")
            found = found[: SHOWN_RUNS + 1]
        return found, tuple([await store.summary(run.id) for run in found[:SHOWN_RUNS]])


def check_card_outputs(paths: tuple[str, ...]) -> None:
    for path in map(Path, paths):
        if path.suffix.lower() not in ENDINGS:
            raise PlanRefused(f"--output {path}: the ending must be one of {', '.join(ENDINGS)}")
        if not path.parent.is_dir():
            raise PlanRefused(f"--output {path}: there is no folder {path.parent}")


def write_card(card: AgentCard, path: Path) -> None:
    """Write the card as Markdown or JSON, by the file's ending."""
    as_json = path.suffix.lower() == ".json"
    text = json.format(json.encode(card_shape(card)), indent=2) + b"\n" if as_json else card_markdown(card).encode()
    try:
        with atomic_bytes(path) as file:
            file.write(text)
    except OSError as error:
        raise PlanRefused(f"--output {path}: cannot be written: {error.strerror}") from error
