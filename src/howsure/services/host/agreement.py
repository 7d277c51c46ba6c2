"""How far people and a judge agree, and how far people agree with each other, fast enough for a page: the verdicts of
each case are counted once into a 2 x 2 table, and the interval only adds tables. `howsure judge calibrate` computes
more and takes longer: see `services/judge`."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Hashable, Sequence
from importlib import import_module

from msgspec import Struct

from howsure.model.label import HumanLabel
from howsure.model.run import Run
from howsure.model.score import Interval
from howsure.services.host.labels import grades_for_labels, label_comparisons
from howsure.services.judge.labels import GradeWithLabels, LabelOutcome
from howsure.stats.agreement import MeasurementLevel, krippendorff_alpha
from howsure.store.store import Store

Table = tuple[int, int, int, int]
"""People pass and judge pass, people pass and judge fail, people fail and judge pass, people fail and judge fail."""
MAX_LABELS = 5_000
"""The figures use at most this many labels, the newest ones."""


class Agreement(Struct, frozen=True, kw_only=True):
    """Agreement over the verdicts that both people and the judge gave. `silent` counts the verdicts of people, passes
    first, where the judge could not tell."""

    table: Table
    silent: tuple[int, int]
    kappa: float | None
    interval: Interval | None

    @property
    def n(self) -> int:
        return sum(self.table)

    @property
    def agreed(self) -> int:
        return self.table[0] + self.table[3]


class AnnotatorAgreement(Struct, frozen=True, kw_only=True):
    """Agreement of several people about the same grades: in how many all agree, and Krippendorff's alpha."""

    people: tuple[str, ...]
    grades: int
    agreed: int
    alpha: float | None


class ConfusionCell(Struct, frozen=True):
    """Where one labelled grade belongs: its index in a `Table` when both gave a verdict; else, where the judge could
    not tell, the verdict of people."""

    case_id: str
    grader: str
    index: int | None
    people_alone: bool | None


class RunAgreement(Struct, frozen=True, kw_only=True):
    """The agreement on a run. `compared` is the number of labels that the figures use; `overall` covers every
    grader."""

    labels: int
    compared: int
    people: dict[str, int]
    opinions: dict[str, int]
    overall: Agreement
    graders: dict[str, Agreement]
    together: AnnotatorAgreement | None


async def measure_agreement(store: Store, run: Run, labels: Sequence[HumanLabel]) -> RunAgreement:
    """`labels` are ordered by the time they were given."""
    newest = labels[-MAX_LABELS:]
    comparisons = label_comparisons(newest, await grades_for_labels(store, run, newest))
    # The bootstrap takes some tens of milliseconds: in a thread, so that the event loop goes on.
    overall, graders, together = await asyncio.to_thread(_measure, comparisons)
    return RunAgreement(
        labels=len(labels),
        compared=len(newest),
        people=dict(Counter(label.labeler for label in labels)),
        opinions=dict(Counter(label.opinion.value for label in labels)),
        overall=overall,
        graders=graders,
        together=together,
    )


def _measure(grades: Sequence[GradeWithLabels]) -> tuple[Agreement, dict[str, Agreement], AnnotatorAgreement | None]:
    cells = confusion_cells(grades)
    names = list(dict.fromkeys(cell.grader for cell in cells))
    graders = {name: agreement_from_cells([cell for cell in cells if cell.grader == name]) for name in names}
    return agreement_from_cells(cells), graders, annotator_agreement(grades)


def confusion_cells(grades: Sequence[GradeWithLabels]) -> list[ConfusionCell]:
    cells = []
    for grade in grades:
        people, judge = grade.people_passed, grade.passed
        known = people is not None and judge is not None
        index = (0 if people else 2) + (0 if judge else 1) if known else None
        silent = judge is None and people is not None and grade.outcome is LabelOutcome.UNREADABLE
        cells.append(ConfusionCell(grade.case_id, grade.grader, index, people if silent else None))
    return cells


def agreement_from_cells(cells: Sequence[ConfusionCell]) -> Agreement:
    tables: dict[str, list[int]] = {}
    for cell in cells:
        if cell.index is not None:
            tables.setdefault(cell.case_id, [0, 0, 0, 0])[cell.index] += 1
    clusters = [(both, people, judge, neither) for both, people, judge, neither in tables.values()]
    both, people, judge, neither = map(sum, zip(*clusters, strict=True)) if clusters else (0, 0, 0, 0)
    total = (both, people, judge, neither)
    silent = [cell.people_alone for cell in cells]
    return Agreement(
        table=total,
        silent=(silent.count(True), silent.count(False)),
        kappa=kappa_from_table(total),
        interval=_kappa_interval(clusters),
    )


def kappa_from_table(table: Table) -> float | None:
    """Cohen's kappa; None where agreement by chance is already complete."""
    both, only_people, only_judge, neither = table
    n = sum(table)
    chance = (both + only_people) * (both + only_judge) + (only_judge + neither) * (only_people + neither)
    return (n * (both + neither) - chance) / (n * n - chance) if n * n != chance else None


def _kappa_interval(clusters: Sequence[Table]) -> Interval | None:
    """Over whole cases: answers to one case are not independent observations."""
    if not clusters:
        return None
    # Imported by name: only those who look at an agreement wait for numpy.
    tables = import_module("numpy").array(clusters, dtype=float)
    found: Interval | None = import_module("howsure.stats.agreement_intervals").case_kappa_interval(tables)
    return found


def annotator_agreement(grades: Sequence[GradeWithLabels]) -> AnnotatorAgreement | None:
    """None where no grade was labelled by two people."""
    shared = [grade for grade in grades if len(grade.labels) > 1]
    if not shared:
        return None
    opinions: list[list[Hashable | None]] = [[label.value for label in grade.labels] for grade in shared]
    return AnnotatorAgreement(
        people=tuple(dict.fromkeys(label.annotator for grade in shared for label in grade.labels)),
        grades=len(shared),
        agreed=sum(len(set(values)) == 1 for values in opinions),
        alpha=krippendorff_alpha(opinions, MeasurementLevel.NOMINAL),
    )
