"""`howsure judge calibrate`: the judge's grades, of a stored run or of one made now, against people's labels or against
the bands that cases say they are in."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from howsure.errors import PlanRefused
from howsure.model.run import Run
from howsure.model.trust import Calibration, LabelPin
from howsure.services.options import RunOptions
from howsure.services.paths import stored
from howsure.services.running import utc_now
from howsure.services.runs import Watching, start
from howsure.services.trust.bands import banded, placed
from howsure.services.trust.calibrations import keep, pin_of_run
from howsure.services.trust.figures import coverage, groups
from howsure.services.trust.labels import Labels, read_labels
from howsure.services.trust.pairing import Thing, graded, paired
from howsure.services.workspace import Workspace
from howsure.store.store import Store


class Wanted(Struct, frozen=True, kw_only=True):
    """What to calibrate: the labels, if any; a stored run, or the options of one to make now; the key to slice by."""

    labels: Path | None = None
    run: str = ""
    options: RunOptions | None = None
    by: str = ""


class Calibrated(Struct, frozen=True):
    """The calibration, where it is kept, and what the labels' reader warns of."""

    calibration: Calibration
    path: Path
    warnings: tuple[str, ...] = ()


async def judged(work: Workspace, wanted: Wanted, watch: Watching) -> str:
    """The run to calibrate with: the stored one that was named, or one made now."""
    _check(wanted)
    if wanted.options is None:
        return wanted.run
    labels = read_labels(wanted.labels, work.kit) if wanted.labels else None
    return (await start(work, _asking(wanted.options, labels), watch)).run.id


async def calibrate(work: Workspace, wanted: Wanted, run_name: str) -> Calibrated:
    """Measure, and keep what was measured as a calibration of that judge version."""
    labels = read_labels(wanted.labels, work.kit) if wanted.labels else None
    async with await work.store(read_only=True) as store:
        run = await store.find_run(run_name)
        calibration = await _measured(store, run, labels, wanted.by)
    warnings = tuple(map(str, labels.warnings)) if labels else ()
    return Calibrated(calibration, keep(work, calibration), warnings)


def _check(wanted: Wanted) -> None:
    if wanted.labels is None and not wanted.by:
        raise PlanRefused("calibrating needs a file of labels, or --by a key that says how good the answers are")
    if bool(wanted.run) == (wanted.options is not None):
        raise PlanRefused("name either a stored run with --run, or the datasets to judge now")


def _asking(options: RunOptions, labels: Labels | None) -> RunOptions:
    """Only the graders that the labels name are asked for: nothing is spent on others."""
    named = options.name or "calibration"
    return replace(options, name=named, graders=labels.graders if labels else options.graders)


async def _measured(store: Store, run: Run, labels: Labels | None, by: str) -> Calibration:
    pin = pin_of_run(run.pins)
    if not pin.spec:
        raise PlanRefused(f"run {run.name!r} had no judge: there is nothing to calibrate")
    if labels is None:
        bands = banded(await placed(store.iterate(run.id), by), by)
        return Calibration(judge=pin, at=utc_now(), run=run.id, bands=bands)
    things = await labelled(store, run.id, labels, by=by)
    return Calibration(
        judge=pin,
        at=utc_now(),
        run=run.id,
        labels=label_pin(labels),
        coverage=coverage(things),
        groups=tuple(groups(things)),
    )


async def labelled(store: Store, run: str, labels: Labels, *, by: str = "") -> list[Thing]:
    """What the labels are about, with the grades of a run."""
    return paired(labels, await graded(store.iterate(run), labels.graders, by))


def label_pin(labels: Labels) -> LabelPin:
    return LabelPin(path=stored(Path(labels.path)), sha256=labels.sha256, labels=len(labels.labels))
