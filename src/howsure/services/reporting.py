"""Writing a stored run as files to read or to hand on, and as the folders of files that other systems read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path

from howsure.errors import InputError, PlanRefused, UnknownName
from howsure.model.comparison import Comparison
from howsure.model.result import Result
from howsure.model.run import Run
from howsure.model.summary import Summary
from howsure.reports.artifacts import artifact_set
from howsure.reports.formats import FORMATS, Format, endings, format_for, named_format
from howsure.services.gating import gated
from howsure.services.workspace import Workspace
from howsure.store.store import Store


def check_outputs(paths: Sequence[str], form: str = "", *, baseline: bool = False) -> list[Format]:
    """Refuse an ending nobody can write, or a folder that is not there, before a run and not after it."""
    formats = [_format(Path(path), form) for path in paths]
    for each in formats:
        each.check()
    for path in map(Path, paths):
        if not path.parent.is_dir():
            raise PlanRefused(f"--output {path}: there is no folder {path.parent}")
    if baseline and not any(each.compares for each in formats):
        able = ", ".join(each.endings[0] for each in FORMATS if each.compares)
        raise PlanRefused(f"--baseline: none of the files shows a comparison; those that do end in {able}")
    return formats


def _format(path: Path, form: str) -> Format:
    try:
        return format_for(path, form)
    except UnknownName as unknown:
        if form:
            raise
        known = ", ".join(endings())
        raise PlanRefused(
            f"--output {path}: the ending must be one of {known}; or say --format "
            f"{'|'.join(each.name for each in FORMATS)}"
        ) from unknown


def default_output(form: str) -> str:
    """Where a format is written to when nobody says."""
    return f"report{named_format(form).endings[0] if form else '.html'}"


async def write_reports(
    work: Workspace, run: str, paths: Sequence[str], gates: Sequence[str] = (), *, form: str = "", baseline: str = ""
) -> list[Path]:
    """Each path in the format of its ending, or all in `form`; `gates` are decided besides those of the run itself, and
    `baseline` is the run it is held against."""
    formats = check_outputs(paths, form, baseline=bool(baseline))
    async with await work.store(read_only=True) as store:
        found = await store.find_run(run)
        summary = await gated(store, await store.summary(found.id), gates)
        comparison = await _compared(store, baseline, found) if baseline else None
        for path, each in zip(map(Path, paths), formats, strict=True):
            await _write(path, each, summary, store.iterate(found.id), comparison)
    return [Path(path) for path in paths]


async def _compared(store: Store, baseline: str, run: Run) -> Comparison:
    """The run against the baseline, which is an earlier one where a name could mean both. Needs numpy and scipy, which
    take as long to import as a small report to write."""
    comparing = import_module("howsure.services.comparing")
    before = await store.earlier_run(baseline, run)
    found: Comparison = await comparing.compared(store, comparing.Wanted(runs=(before.id, run.id)))
    return found


async def _write(
    path: Path, form: Format, summary: Summary, results: AsyncIterator[Result], comparison: Comparison | None
) -> None:
    try:
        await form.write(summary, results, path, comparison)
    except OSError as error:
        raise PlanRefused(f"--output {path}: cannot be written: {error.strerror}") from error


async def write_artifacts(work: Workspace, run: str, name: str, folder: Path) -> list[Path]:
    """The files of an artifact set, in a folder that is made where it is not there."""
    chosen = artifact_set(name)
    async with await work.store(read_only=True) as store:
        found = await store.find_run(run)
        summary = await gated(store, await store.summary(found.id))
        try:
            with _made(folder):
                return await chosen.write(summary, store.iterate(found.id), folder)
        except OSError as error:
            raise PlanRefused(f"--output {folder}: cannot be written: {error.strerror}") from error


@contextmanager
def _made(folder: Path) -> Iterator[None]:
    """A folder that was not there is not left behind empty."""
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
