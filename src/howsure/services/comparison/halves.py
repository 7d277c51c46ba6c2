"""One side of a comparison in columns of numbers: which unit (a case, or the cases of one value of a label) each result
belongs to, and the mean of a grader, of a rule or of the verdict over each unit's results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from howsure.model.comparison import Side
from howsure.model.run import Run
from howsure.model.verdict import Verdict
from howsure.store.queries.columns import OUTCOMES, VERDICTS, Attempts, Face, Measured

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
    """A run as it was read. `faces` are its cases' tags and labels, by id; `unread`, by candidate, the number of cases
    that the other run lacks, where only those that it has were read."""

    run: Run
    attempts: Attempts
    measured: Sequence[Measured]
    faces: Mapping[str, Face]
    unread: Mapping[str, int] = {}


class Half(Struct, frozen=True, kw_only=True):
    """One side. `units` has the place in `keys` of each result; `cases` its case's place in `columns.attempts`;
    `measured` the side's own grades by grader and rule; `unread` the number of units that the other side lacks and that
    were not read."""

    side: Side
    columns: RunColumns
    keys: Sequence[str]
    places: Whole
    positions: Whole
    units: Whole
    cases: Whole
    verdicts: Whole
    measured: Mapping[Key, Measured]
    unread: int = 0

    def case_id(self, case: int) -> str:
        return self.columns.attempts.case_ids[case]

    def first_cases(self) -> Whole:
        """For each unit, the place of its first case."""
        first = np.zeros(len(self.keys), np.int64)
        first[self.units[::-1]] = self.cases[::-1]
        return first


class Means(Struct, frozen=True, kw_only=True):
    """Something measured over a half: sums and counts of values by unit, and why a unit has none (a place in `reasons`;
    -1: nobody tried to measure it)."""

    sums: Floats
    counts: Floats
    why: Whole
    reasons: Sequence[str]

    @property
    def known(self) -> Flags:
        known: Flags = self.counts > 0
        return known


def half(columns: RunColumns, side: Side, *, group_by: str = "", pair_by: str = "") -> Half:
    """The results of one candidate; with `group_by`, of the cases whose label has the side's value, paired by another
    label. Cases without that label cannot be paired and are left out."""
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
    return Half(
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


def verdict_means(own: Half) -> Means:
    """1 for passed, 0 for failed; errored and skipped have no value."""
    judged = (own.verdicts == PASSED) | (own.verdicts == FAILED)
    values = np.where(judged, (own.verdicts == PASSED).astype(np.float64), np.nan)
    return _means(own, own.units, values, own.verdicts, [each.value for each in VERDICTS])


def grade_means(own: Half, key: Key) -> Means:
    """The values of a grader; of a rule, 1 where it held and 0 where it was broken."""
    return joined_means(own, [key])


def joined_means(own: Half, keys: Sequence[Key]) -> Means:
    """Of several rules together: a unit's mean is over all of them."""
    parts = [_placed(own, own.measured[key]) for key in keys if key in own.measured]
    units = np.concatenate([part[0] for part in parts]) if parts else np.empty(0, np.int64)
    values = np.concatenate([part[1] for part in parts]) if parts else np.empty(0, np.float64)
    codes = np.concatenate([part[2] for part in parts]) if parts else np.empty(0, np.int64)
    return _means(own, units, values, codes, [REASONS.get(each, each) for each in OUTCOMES])


def _placed(own: Half, measured: Measured) -> tuple[Whole, Floats, Whole]:
    """Units, values and outcomes of the grades that belong to this half."""
    positions = np.asarray(measured.positions, dtype=np.int64)
    places = np.searchsorted(own.positions, positions)
    places[places == len(own.positions)] = 0
    mine = own.positions[places] == positions if len(own.positions) else np.zeros(len(positions), np.bool_)
    codes = np.asarray(measured.outcomes, dtype=np.int64)[mine]
    values = np.asarray(measured.values, dtype=np.float64)[mine]
    if measured.part_id is not None:
        values = np.where(codes == HELD, 1.0, np.where(codes == BROKEN, 0.0, np.nan))
    return own.units[places[mine]], values, codes


def _means(own: Half, units: Whole, values: Floats, codes: Whole, reasons: Sequence[str]) -> Means:
    count = len(own.keys)
    known = ~np.isnan(values)
    why = np.full(count, -1, dtype=np.int64)
    # Where the tries of a unit lack a value for several reasons, the gravest is told: errors come before the others.
    np.maximum.at(why, units[~known], -codes[~known] + len(reasons))
    return Means(
        sums=np.bincount(units[known], weights=values[known], minlength=count).astype(np.float64),
        counts=np.bincount(units[known], minlength=count).astype(np.float64),
        why=np.where(why < 0, -1, len(reasons) - why),
        reasons=reasons,
    )
