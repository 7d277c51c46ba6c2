"""Two sides of a comparison, side by side. A side is a set of numpy columns: the unit of each result (a case, or all
cases with one value of a label), and the mean of a grader, a rule or the verdict over each unit. Pairing keeps the
units that both sides tried, and counts what could not be paired and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from howsure.model.comparison import MissingValues, PairCounts, Side
from howsure.model.run import Run
from howsure.model.verdict import Verdict
from howsure.store.run_columns import OUTCOMES, VERDICTS, AttemptColumns, CasePreview, GradeColumn

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]

PASSED, FAILED = VERDICTS.index(Verdict.PASSED), VERDICTS.index(Verdict.FAILED)
HELD, BROKEN = OUTCOMES.index("passed"), OUTCOMES.index("failed")
REASONS = {"error": "errored", "not_applicable": "not applicable", "no_judge": "no judge"}
NOT_GRADED = "not graded"
GENERAL = "general"

Key = tuple[str, str | None]
"""A grader and, for a rule, its id."""


class RunColumns(Struct, frozen=True, kw_only=True):
    """A run as it was read. `faces` are the tags and labels of its cases, by id. `unread`: the number of cases of each
    candidate that the other run lacks, where only the shared ones were read."""

    run: Run
    attempts: AttemptColumns
    measured: Sequence[GradeColumn]
    faces: Mapping[str, CasePreview]
    unread: Mapping[str, int] = {}


class SideColumns(Struct, frozen=True, kw_only=True):
    """One side. `units` has the index in `keys` of each result; `cases` the index of its case in `columns.attempts`;
    `measured` the side's grades by grader and rule; `unread` the number of units that were not read because the other
    side lacks them."""

    side: Side
    columns: RunColumns
    keys: Sequence[str]
    places: Whole
    positions: Whole
    units: Whole
    cases: Whole
    verdicts: Whole
    measured: Mapping[Key, GradeColumn]
    unread: int = 0

    def case_id(self, case: int) -> str:
        return self.columns.attempts.case_ids[case]

    def first_cases(self) -> Whole:
        """For each unit, the place of its first case."""
        first = np.zeros(len(self.keys), np.int64)
        first[self.units[::-1]] = self.cases[::-1]
        return first


class UnitMeans(Struct, frozen=True, kw_only=True):
    """A measure over one side: sums and counts of values by unit, and why a unit has no value (an index into `reasons`;
    -1: not graded)."""

    sums: Floats
    counts: Floats
    why: Whole
    reasons: Sequence[str]

    @property
    def known(self) -> Flags:
        known: Flags = self.counts > 0
        return known


def side_columns(columns: RunColumns, side: Side, *, group_by: str = "", pair_by: str = "") -> SideColumns:
    """The results of one candidate; with `group_by`, only of the cases whose label has the side's value, paired by the
    label `pair_by`. Cases without that label cannot be paired and are left out."""
    attempts = columns.attempts
    names = attempts.candidate_names
    chosen = np.asarray(attempts.candidates) == (names.index(side.candidate) if side.candidate in names else -1)
    keys, unit_of_case = _units(columns, side, group_by, pair_by)
    cases = np.asarray(attempts.cases, dtype=np.int64)
    chosen &= unit_of_case[cases] >= 0
    places = np.flatnonzero(chosen).astype(np.int64)
    units = unit_of_case[cases[places]]
    used = np.bincount(units, minlength=len(keys)) > 0
    renumbered = np.cumsum(used) - 1
    return SideColumns(
        side=side,
        columns=columns,
        keys=[keys[place] for place in np.flatnonzero(used).tolist()],
        places=places,
        positions=np.asarray(attempts.positions, dtype=np.int64)[places],
        units=renumbered[units].astype(np.int64),
        cases=cases[places],
        verdicts=np.asarray(attempts.verdicts, dtype=np.int64)[places],
        measured={(each.name, each.part_id): each for each in columns.measured if each.candidate == side.candidate},
        unread=columns.unread.get(side.candidate, 0),
    )


def _units(columns: RunColumns, side: Side, group_by: str, pair_by: str) -> tuple[list[str], Whole]:
    """The names of the units, and the unit of each case (-1: none)."""
    ids = columns.attempts.case_ids
    if not group_by:
        return ids, np.arange(len(ids), dtype=np.int64)
    places: dict[str, int] = {}
    units = []
    for case in ids:
        labels = columns.faces[case].labels if case in columns.faces else {}
        mine = labels.get(group_by) == side.group and pair_by in labels
        units.append(places.setdefault(labels[pair_by], len(places)) if mine else -1)
    return list(places), np.array(units, dtype=np.int64)


def verdict_means(own: SideColumns) -> UnitMeans:
    """1 for passed, 0 for failed; errored and skipped have no value."""
    judged = (own.verdicts == PASSED) | (own.verdicts == FAILED)
    values = np.where(judged, (own.verdicts == PASSED).astype(np.float64), np.nan)
    return _means(own, own.units, values, own.verdicts, [each.value for each in VERDICTS])


def grade_means(own: SideColumns, keys: Sequence[Key]) -> UnitMeans:
    """The values of a grader; of rules, 1 where one held and 0 where it was broken, as one mean over all of them."""
    parts = [_placed(own, own.measured[key]) for key in keys if key in own.measured]
    units = np.concatenate([part[0] for part in parts]) if parts else np.empty(0, np.int64)
    values = np.concatenate([part[1] for part in parts]) if parts else np.empty(0, np.float64)
    codes = np.concatenate([part[2] for part in parts]) if parts else np.empty(0, np.int64)
    return _means(own, units, values, codes, [REASONS.get(each, each) for each in OUTCOMES])


def _placed(own: SideColumns, measured: GradeColumn) -> tuple[Whole, Floats, Whole]:
    """Units, values and outcomes of the grades that belong to this side."""
    positions = np.asarray(measured.positions, dtype=np.int64)
    places = np.searchsorted(own.positions, positions)
    places[places == len(own.positions)] = 0
    mine = own.positions[places] == positions if len(own.positions) else np.zeros(len(positions), np.bool_)
    codes = np.asarray(measured.outcomes, dtype=np.int64)[mine]
    values = np.asarray(measured.values, dtype=np.float64)[mine]
    if measured.part_id is not None:
        values = np.where(codes == HELD, 1.0, np.where(codes == BROKEN, 0.0, np.nan))
    return own.units[places[mine]], values, codes


def _means(own: SideColumns, units: Whole, values: Floats, codes: Whole, reasons: Sequence[str]) -> UnitMeans:
    count = len(own.keys)
    known = ~np.isnan(values)
    why = np.full(count, -1, dtype=np.int64)
    # If the tries of a unit lack a value for several reasons, the gravest is reported: errors come before the others.
    np.maximum.at(why, units[~known], -codes[~known] + len(reasons))
    return UnitMeans(
        sums=np.bincount(units[known], weights=values[known], minlength=count).astype(np.float64),
        counts=np.bincount(units[known], minlength=count).astype(np.float64),
        why=np.where(why < 0, -1, len(reasons) - why),
        reasons=reasons,
    )


UnitMeasure = Callable[[SideColumns], UnitMeans]


class PairedUnits(Struct, frozen=True, kw_only=True):
    """Pair i is the unit `in_first[i]` of the first side and `in_second[i]` of the second, in the first side's order.
    `changed` counts the pairs that were taken out because their case is not the same on both sides."""

    first: SideColumns
    second: SideColumns
    in_first: Whole
    in_second: Whole
    changed: int = 0

    @property
    def only_first(self) -> int:
        return len(self.first.keys) + self.first.unread - len(self.in_first) - self.changed

    @property
    def only_second(self) -> int:
        return len(self.second.keys) + self.second.unread - len(self.in_second) - self.changed


class PairedValues(Struct, frozen=True, kw_only=True):
    """The values of the pairs that have one on both sides; `pairs` says which pairs these are."""

    before: Floats
    after: Floats
    pairs: Whole
    pairing: PairCounts


def pair_units(first: SideColumns, second: SideColumns) -> PairedUnits:
    known = {key: place for place, key in enumerate(first.keys)}
    found = np.fromiter((known.get(key, -1) for key in second.keys), np.int64, len(second.keys))
    in_second = np.flatnonzero(found >= 0).astype(np.int64)
    order = np.argsort(found[in_second], kind="stable")
    return PairedUnits(first=first, second=second, in_first=found[in_second][order], in_second=in_second[order])


def paired_values(aligned: PairedUnits, measuring: UnitMeasure, among: Flags | None = None) -> PairedValues:
    """The values that were measured on both sides. `among` selects some of the pairs; then units that one side lacks
    are not counted, because it is unknown whether they belong to the slice."""
    before, after = measuring(aligned.first), measuring(aligned.second)
    chosen = np.ones(len(aligned.in_first), np.bool_) if among is None else among
    ones, others = before.known[aligned.in_first], after.known[aligned.in_second]
    pairs = np.flatnonzero(chosen & ones & others).astype(np.int64)
    lacking = np.flatnonzero(chosen & ~(ones & others))
    return PairedValues(
        before=_mean(before, aligned.in_first[pairs]),
        after=_mean(after, aligned.in_second[pairs]),
        pairs=pairs,
        pairing=PairCounts(
            paired=len(pairs),
            only_first=aligned.only_first if among is None else 0,
            only_second=aligned.only_second if among is None else 0,
            without=len(lacking),
            changed=aligned.changed if among is None else 0,
            absences=(
                *_absences(before, aligned.in_first[lacking], second=False),
                *_absences(after, aligned.in_second[lacking], second=True),
            ),
        ),
    )


def _mean(means: UnitMeans, units: Whole) -> Floats:
    found: Floats = means.sums[units] / means.counts[units]
    return found


def _absences(means: UnitMeans, units: Whole, *, second: bool) -> list[MissingValues]:
    without = units[~means.known[units]]
    codes = Counter(means.why[without].tolist())
    named = {code: NOT_GRADED if code < 0 else means.reasons[code] for code in codes}
    return [MissingValues(second=second, why=named[code], count=codes[code]) for code in sorted(codes)]


def pair_faces(aligned: PairedUnits) -> list[CasePreview]:
    """The tags and labels of each pair: those of the first side's case."""
    own = aligned.first
    known, empty = own.columns.faces, CasePreview(id="")
    first_cases = own.first_cases()
    return [known.get(own.case_id(case), empty) for case in first_cases[aligned.in_first].tolist()]


def pair_clusters(aligned: PairedUnits, seen: Sequence[CasePreview], label: str) -> list[str] | None:
    """The cluster of each pair: the value of the label; a case without one is a cluster of its own. None: no label is
    given, or no two pairs share a value."""
    if not label:
        return None
    keys = aligned.first.keys
    named = [
        f"={value}" if (value := face.labels.get(label)) is not None else f"#{keys[place]}"
        for face, place in zip(seen, aligned.in_first.tolist(), strict=True)
    ]
    return named if len(set(named)) < len(named) else None
