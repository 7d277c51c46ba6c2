"""Writing a stored run as files to read or to hand on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from assay.errors import PlanRefused
from assay.model.result import Result
from assay.model.summary import Summary
from assay.reports.formats import FORMATS
from assay.services.gating import gated
from assay.services.workplace import Workplace


def check_outputs(paths: Sequence[str]) -> None:
    """Refuse an ending nobody can write, or a folder that is not there, before a run and not after it."""
    for path in map(Path, paths):
        if path.suffix.lower() not in FORMATS:
            raise PlanRefused(f"--output {path}: the ending must be one of {', '.join(FORMATS)}")
        if not path.parent.is_dir():
            raise PlanRefused(f"--output {path}: there is no folder {path.parent}")


async def write_reports(work: Workplace, run: str, paths: Sequence[str], gates: Sequence[str] = ()) -> list[Path]:
    """Each path in the format of its ending; `gates` are decided besides those of the run itself."""
    check_outputs(paths)
    async with await work.store(read_only=True) as store:
        found = await store.find_run(run)
        summary = await gated(store, await store.summary(found.id), gates)
        for path in map(Path, paths):
            await _write(path, summary, store.iterate(found.id))
    return [Path(path) for path in paths]


async def _write(path: Path, summary: Summary, results: AsyncIterator[Result]) -> None:
    try:
        await FORMATS[path.suffix.lower()](summary, results, path)
    except OSError as error:
        raise PlanRefused(f"--output {path}: cannot be written: {error.strerror}") from error
