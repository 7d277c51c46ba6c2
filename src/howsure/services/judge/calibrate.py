"""`howsure judge calibrate`: the judge's grades, of a stored run or of one made now, against people's labels; or,
without labels, against quality bands that the cases name (`quality_band`): a good judge gives the better band the
higher value."""

from __future__ import annotations

from collections.abc import AsyncIterable, Sequence
from importlib import import_module
from math import isfinite
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from howsure.errors import PlanRefused
from howsure.model.calibration import Calibration, Figure, GradeBand, GradesByBand, LabelPin
from howsure.model.result import Result
from howsure.model.run import Run
from howsure.model.run_request import RunRequest
from howsure.model.score import UNIT, Direction, Scale, Score
from howsure.services.files import stored_path
from howsure.services.judge.agreement import agreement_groups, label_coverage, mean_figure
from howsure.services.judge.judge_records import CALIBRATIONS, run_judge_pin
from howsure.services.judge.labels import GradeWithLabels, LabelFile, pair_labels, read_graded_answers, read_labels
from howsure.services.judge.people_verdicts import people_verdicts
from howsure.services.run.execute import utc_now
from howsure.services.run.preflight import values_of
from howsure.services.run.start import ProgressFactory, start
from howsure.services.workspace import Workspace
from howsure.store.store import Store

QUALITY = ("poor", "mixed", "good", "excellent")
"""The bands of Explain datasets, worst first."""


class BandedGrade(Struct, frozen=True):
    """One judged grade and the band of its case. `value` None: the judge gave no value. `lower`: low values are
    good."""

    case_id: str
    grader: str
    band: str
    value: float | None
    scale: Scale = UNIT
    lower: bool = False


async def read_banded_grades(results: AsyncIterable[Result], key: str) -> list[BandedGrade]:
    """Every judged whole-case grade of the cases that have the key; `PlanRefused` when none has."""
    found: list[BandedGrade] = []
    seen = 0
    async for result in results:
        seen += 1
        bands = sorted(values_of(result.case, key))
        for grade in result.grades if bands else ():
            if grade.part is None and grade.judge:
                value = grade.value if isinstance(grade, Score) else None
                lower = isinstance(grade, Score) and grade.direction is Direction.LOWER
                found.append(BandedGrade(result.case.id, grade.name, ", ".join(bands), value, grade.scale, lower))
    if not found:
        raise PlanRefused(f"none of {seen} results has both `{key}` and a judged grade; --by needs them")
    return found


def grades_by_band(things: Sequence[BandedGrade], key: str) -> tuple[GradesByBand, ...]:
    """The bands of each grader."""
    order = _order({thing.band for thing in things})
    graders = dict.fromkeys(thing.grader for thing in things)
    return tuple(_bands([thing for thing in things if thing.grader == grader], key, order) for grader in graders)


def _order(bands: set[str]) -> dict[str, float] | None:
    """The rank of each band, worst first: the known words, or numbers. None: the bands have no known order."""
    if bands <= set(QUALITY):
        return {band: float(QUALITY.index(band)) for band in bands}
    try:
        places = {band: float(band) for band in bands}
    except ValueError:
        return None
    return places if all(map(isfinite, places.values())) else None


def _bands(things: Sequence[BandedGrade], key: str, order: dict[str, float] | None) -> GradesByBand:
    names = sorted({thing.band for thing in things}, key=lambda band: (order[band] if order else 0.0, band))
    bands = tuple(_band(name, [thing for thing in things if thing.band == name]) for name in names)
    grader = things[0].grader
    if order is None:
        return GradesByBand(grader=grader, key=key, bands=bands)
    # Where low is good, the sign is flipped, so that the better band has the higher value.
    known = [each for each in things if each.value is not None]
    # Imported by name: numpy is loaded only for bands.
    stats = import_module("howsure.stats.agreement_intervals")
    found = stats.band_agreement(
        [order[each.band] for each in known],
        [(-1 if each.lower else 1) * (each.value or 0.0) for each in known],
        [each.case_id for each in known],
    )
    return GradesByBand(
        grader=grader,
        key=key,
        bands=bands,
        spearman=Figure(value=found.spearman, interval=found.spearman_interval, n=len(known)),
        ordered=Figure(value=found.ordered, interval=found.ordered_interval, n=found.pairs),
    )


def _band(name: str, things: Sequence[BandedGrade]) -> GradeBand:
    known = [thing for thing in things if thing.value is not None]
    values = [thing.value or 0.0 for thing in known]
    mean = mean_figure(values, [thing.case_id for thing in known], things[0].scale.ends)
    return GradeBand(value=name, mean=mean, unscored=len(things) - len(values))


class CalibrationRequest(Struct, frozen=True, kw_only=True):
    """What to calibrate with: labels, if any; a stored run (`run`) or the options of a run to make now; the key to
    slice by; files of evals of the user's own, which the labels may be about."""

    labels: Path | None = None
    run: str = ""
    options: RunRequest | None = None
    by: str = ""
    evals: tuple[str, ...] = ()


class SavedCalibration(Struct, frozen=True):
    """The calibration, the file that it was saved in, and the warnings about the labels."""

    calibration: Calibration
    path: Path
    warnings: tuple[str, ...] = ()


async def choose_run(work: Workspace, request: CalibrationRequest, watch: ProgressFactory) -> str:
    """The id of the run to calibrate with: the stored one that was named, or one made now."""
    if request.labels is None and not request.by:
        raise PlanRefused("calibrating needs a file of labels, or --by a key that says how good the answers are")
    if bool(request.run) == (request.options is not None):
        raise PlanRefused("name either a stored run with --run, or the datasets to judge now")
    if (options := request.options) is None:
        return request.run
    # Only the graders that the labels name: nothing is spent on others.
    kit = work.with_evals(request.evals).kit
    graders = read_labels(request.labels, kit).graders if request.labels else options.graders
    options = replace(options, name=options.name or "calibration", graders=graders, evals=request.evals)
    return (await start(work, options, watch)).run.id


async def calibrate(work: Workspace, request: CalibrationRequest, run_name: str) -> SavedCalibration:
    """Measure how well the judge agrees, and save that as a calibration of this judge version."""
    work = work.with_evals(request.evals)
    if request.labels:
        read_labels(request.labels, work.kit, None)  # what is wrong with the file is said whatever the run is
    async with await work.store(read_only=True) as store:
        run = await store.find_run(run_name)
        scales = {each.name: each.scale for each in (await store.summary(run.id)).graders} if run.pins.imported else {}
        labels = read_labels(request.labels, work.kit, scales).about(run) if request.labels else None
        calibration = await _measured(store, run, labels, request.by)
    warnings = tuple(map(str, labels.warnings)) if labels else ()
    return SavedCalibration(calibration, CALIBRATIONS.append(work, calibration), warnings)


async def _measured(store: Store, run: Run, labels: LabelFile | None, by: str) -> Calibration:
    pin = run_judge_pin(run.pins)
    if not pin.spec:
        raise PlanRefused(f"run {run.name!r} had no judge: there is nothing to calibrate")
    if labels is None:
        bands = grades_by_band(await read_banded_grades(store.iterate(run.id), by), by)
        return Calibration(judge=pin, at=utc_now(), run=run.id, bands=bands)
    answers = await read_graded_answers(store.iterate(run.id), labels.graders, by)
    things = pair_labels(labels, answers)
    return Calibration(
        judge=pin,
        at=utc_now(),
        run=run.id,
        labels=label_pin(labels),
        coverage=label_coverage(things),
        groups=tuple(agreement_groups(things)),
        verdicts=tuple(people_verdicts(things, answers)),
    )


async def read_labelled_grades(store: Store, run: str, labels: LabelFile, *, by: str = "") -> list[GradeWithLabels]:
    """The grades of a run that the labels are about."""
    return pair_labels(labels, await read_graded_answers(store.iterate(run), labels.graders, by))


def label_pin(labels: LabelFile) -> LabelPin:
    return LabelPin(path=stored_path(Path(labels.path)), sha256=labels.sha256, labels=len(labels.labels))
