"""`howsure sample --by information`: chooses the cases that represent a file, from the verdicts of stored candidates.
With about thirty candidates or more, a two-parameter item model competes with strata of equal difficulty, and the
better predictor of held-out candidates wins; with fewer, strata are used. Also the rates of small slices. Loads
numpy."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import sqrt
from pathlib import Path

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray
from scipy.stats import t as student

from howsure.errors import InputError, PlanRefused
from howsure.model.leaderboard import ShrunkenSlice
from howsure.model.run import Run
from howsure.model.score import Interval
from howsure.model.summary import Summary
from howsure.reports.figures import format_percent, pluralize
from howsure.services.convert.subsets import sample_chosen
from howsure.services.judge.pairs import RankedSide
from howsure.services.rank import case_values
from howsure.services.workspace import Workspace
from howsure.stats.intervals import rate_interval
from howsure.stats.items import (
    ItemModel,
    ability_chances,
    choose_items,
    fit_items,
    held_out_errors,
    predict_by_items,
    predict_by_strata,
    shrink_rates,
    strata_by_difficulty,
)
from howsure.store.store import Store

ENOUGH_CANDIDATES, FEWEST_CANDIDATES, FOLDS = 30, 3, 5
FEWEST_SLICES = 3
MOST_RUNS = 500
NEARLY_ALL = 0.9
"""A candidate that tried a smaller share of the file is not used."""
ITEMS, STRATA = "item model", "strata of equal difficulty"
Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


class SampleRequest(Struct, frozen=True, kw_only=True):
    """How many cases to choose, from the verdicts of which runs (none: all stored ones), and the run whose rate over
    all cases is predicted."""

    count: int
    runs: tuple[str, ...] = ()
    predict: str = ""
    seed: int = 0


class PredictedRate(Struct, frozen=True, kw_only=True):
    """The predicted rate of a candidate over all cases, from the `known` ones that it tried."""

    candidate: str
    known: int
    rate: float
    interval: Interval


class InformativeSample(Struct, frozen=True, kw_only=True):
    """The chosen cases, and how they were chosen. `error` is the error of the predicted rate over all cases for
    held-out candidates (root mean square), `newest_error` that for the newest of them, `random_error` that of as many
    cases drawn at random. `tell_nothing`: cases that all candidates pass, or all fail."""

    path: str
    cases: int
    of: int
    candidates: int
    method: str
    error: float
    newest_error: float
    random_error: float
    tell_nothing: tuple[str, ...]
    predictions: tuple[PredictedRate, ...] = ()
    notes: tuple[str, ...] = ()


class CaseVerdicts(Struct, frozen=True):
    """The candidates, oldest first, and the verdict of each on each case."""

    names: list[str]
    values: list[Mapping[str, float]]

    def table(self, ids: Sequence[str]) -> Floats:
        return np.array([[own.get(id, np.nan) for id in ids] for own in self.values]).reshape(-1, len(ids))


async def sample_by_information(
    work: Workspace, file: Path, output: Path, request: SampleRequest, *, force: bool = False
) -> InformativeSample:
    """Write the chosen cases to `output`."""
    async with await work.store(read_only=True) as store:
        asked = [await store.find_run(request.predict)] if request.predict else []
        known = [await store.find_run(name) for name in request.runs] or await store.runs(limit=MOST_RUNS)
        earlier = await _verdicts(store, [run for run in known if run.id not in {each.id for each in asked}])
        new = await _verdicts(store, asked)
    found: list[InformativeSample] = []

    def choose(ids: Sequence[str]) -> Collection[str]:
        sample, chosen = choose_cases(ids, earlier, new, request)
        found.append(sample)
        return chosen

    part = sample_chosen(file, work.kit, output, choose, force=force)
    return replace(found[0], path=part.path)


async def _verdicts(store: Store, runs: Sequence[Run]) -> CaseVerdicts:
    done = sorted((run for run in runs if run.counts.completed), key=lambda run: run.created_at)
    sides = [
        RankedSide("/".join(filter(None, (run.name, candidate))), run, candidate)
        for run in done
        for candidate in (await store.columns(run.id))[0].candidate_names
    ]
    return CaseVerdicts([side.name for side in sides], await case_values(store, sides, ""))


def choose_cases(
    ids: Sequence[str], earlier: CaseVerdicts, new: CaseVerdicts, request: SampleRequest
) -> tuple[InformativeSample, set[str]]:
    """The ids of the representative cases, and how well they predict."""
    every = earlier.table(ids)
    tried: list[int] = np.flatnonzero(~np.isnan(every).all(axis=0)).tolist() if len(every) else []
    table = every[:, tried]
    table = table[(~np.isnan(table)).mean(axis=1) >= NEARLY_ALL] if tried else table
    if len(table) < FEWEST_CANDIDATES:
        raise PlanRefused(
            f"{pluralize(len(table), 'stored candidate')} tried nearly all of these cases; it takes {FEWEST_CANDIDATES}"
            " to tell which cases stand for the others: `howsure sample` without --by information draws by chance"
        )
    if not 0 < request.count <= len(tried):
        raise InputError(f"-n {request.count}: {len(tried)} cases of the file have been tried")
    plans: list[CasePlan] = [_StrataPlan(request.seed), *([_ItemPlan()] if len(table) >= ENOUGH_CANDIDATES else [])]
    errors = {plan: _errors(plan, table, request.count) for plan in plans}
    best = min(plans, key=lambda plan: _size(np.concatenate(errors[plan])))
    chosen = best.choose(table, request.count)
    rates, part = np.nanmean(table, axis=0), request.count
    spread = np.sqrt(np.nanmean(np.nanvar(table, axis=1)) / part * max(len(tried) - part, 0) / max(len(tried) - 1, 1))
    sample = InformativeSample(
        path="",
        cases=part,
        of=len(ids),
        candidates=len(table),
        method=best.name,
        error=_size(np.concatenate(errors[best])),
        newest_error=_size(errors[best][-1]),
        random_error=float(spread),
        tell_nothing=tuple(ids[tried[place]] for place in np.flatnonzero((rates == 0) | (rates == 1)).tolist()),
        predictions=tuple(_predictions(best, table, new, [ids[place] for place in tried])),
        notes=tuple(_notes(len(ids) - len(tried), errors[best])),
    )
    return sample, {ids[tried[place]] for place in chosen.tolist()}


class _StrataPlan:
    """One case from each stratum of equal difficulty, by chance."""

    name = STRATA

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def choose(self, table: Floats, count: int) -> Whole:
        strata, random = strata_by_difficulty(table, count), np.random.default_rng(self._seed)
        return np.array([random.choice(np.flatnonzero(strata == one)) for one in range(count)], dtype=np.int64)

    def predict(self, earlier: Floats, own: Floats, known: Whole) -> Floats:
        return predict_by_strata(strata_by_difficulty(earlier, len(known)), _only(own, known))


class _ItemPlan:
    """The cases that say most about ability, by the two-parameter model."""

    name = ITEMS

    def __init__(self) -> None:
        self._models: dict[bytes, ItemModel] = {}

    def choose(self, table: Floats, count: int) -> Whole:
        model = self._fit(table)
        return choose_items(model, ability_chances(model, table).mean(axis=0), count)

    def predict(self, earlier: Floats, own: Floats, known: Whole) -> Floats:
        return predict_by_items(self._fit(earlier), _only(own, known))

    def _fit(self, table: Floats) -> ItemModel:
        """Cached for each table: choosing cases and predicting use the same fit."""
        key = table.tobytes()
        if key not in self._models:
            self._models[key] = fit_items(table)
        return self._models[key]


CasePlan = _StrataPlan | _ItemPlan


def _errors(plan: CasePlan, table: Floats, cases: int | Whole) -> list[Floats]:
    """The errors of predictions from this number of chosen cases, or from these cases."""

    def predict(rest: Floats, own: Floats) -> Floats:
        return plan.predict(rest, own, plan.choose(rest, cases) if isinstance(cases, int) else cases)

    return held_out_errors(table, FOLDS, predict)


def _only(table: Floats, places: Whole) -> Floats:
    part = np.full(table.shape, np.nan)
    part[:, places] = table[:, places]
    return part


def _size(errors: Floats) -> float:
    """The root mean square."""
    return float(np.sqrt(np.mean(errors**2)))


def _predictions(plan: CasePlan, table: Floats, new: CaseVerdicts, ids: Sequence[str]) -> Iterator[PredictedRate]:
    """The rate of each new candidate over all cases; the error is measured anew for the cases that it tried."""
    for name, row in zip(new.names, new.table(ids), strict=True):
        known = np.flatnonzero(~np.isnan(row))
        if not len(known):
            raise PlanRefused(f"{name!r} tried none of these cases: there is nothing to predict from")
        missed = np.concatenate(_errors(plan, table, known))
        rate = float(plan.predict(table, row[None, :], known)[0])
        half = float(student.ppf(0.975, len(missed) - 1)) * _size(missed) * sqrt(1 + 1 / len(missed))
        interval = max(rate - half, 0.0), min(rate + half, 1.0)
        yield PredictedRate(candidate=name, known=len(known), rate=rate, interval=interval)


def _notes(untried: int, errors: Sequence[Floats]) -> Iterator[str]:
    if untried:
        yield f"{pluralize(untried, 'case')} of the file were never tried: they are neither chosen nor predicted"
    older, newest = _size(np.concatenate(errors[:-1])), _size(errors[-1])
    if newest > 2 * older and newest > 0.02:
        yield "the newest candidates are predicted worse than older ones: cases that told much may no longer do so"


def sample_sentences(sample: InformativeSample) -> Iterator[str]:
    """What was written, in sentences."""
    yield f"wrote {sample.path}: {sample.cases:,} of {sample.of:,} cases that stand for all, by {sample.method}"
    yield f"from {sample.candidates:,} stored candidates; of those held out, the rate over all is missed by"
    missed = (("", sample.error), ("the newest ", sample.newest_error), ("by chance ", sample.random_error))
    yield "; ".join(f"{which}{100 * error:.1f} points" for which, error in missed)
    count = len(sample.tell_nothing)
    yield f"{pluralize(count, 'case')} tell{'s' if count == 1 else ''} nothing: all candidates pass, or all fail"
    for each in sample.predictions:
        low, high = (f"{100 * end:.0f}" for end in each.interval)
        known = f"from {pluralize(each.known, 'case')}"
        yield f"{each.candidate}: {format_percent(each.rate)} [{low}–{high}] over all cases, predicted {known}"
    yield from (f"note: {note}" for note in sample.notes)


def shrink_slices(summary: Summary, label: str) -> list[ShrunkenSlice]:
    """The slices of a run by this label, shrunk towards the candidate's whole; none where there are fewer than 3."""
    found: list[ShrunkenSlice] = []
    for candidate in summary.candidates:
        own = [each for each in summary.slices if each.label == label and each.candidate == candidate]
        counts = [(each.value, each.counts.passed, each.counts.passed + each.counts.failed) for each in own]
        judged = [each for each in counts if each[2]]
        if len(judged) < FEWEST_SLICES:
            continue
        shrunk = shrink_rates(
            np.array([each[1] for each in judged], float), np.array([each[2] for each in judged], float)
        )
        for (value, passed, n), (rate, interval) in zip(judged, shrunk, strict=True):
            raw = rate_interval(passed, n)
            assert raw is not None
            found.append(
                ShrunkenSlice(
                    value=value,
                    candidate=candidate,
                    judged=n,
                    rate=passed / n,
                    interval=raw,
                    shrunken=rate,
                    shrunken_interval=interval,
                )
            )
    return found
