"""How far people and a judge agree about the labels of one run, and how far people agree with each other, for a page
and the API. `howsure judge calibrate` computes more: see `services/judge`."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Hashable, Sequence

from msgspec import Struct

from howsure.model.calibration import Figure, VerdictFigures
from howsure.model.label import HumanLabel
from howsure.model.run import Run
from howsure.services.host.labels import grades_for_labels, label_comparisons
from howsure.services.judge.agreement import FAIL, PASS, SILENT, verdict_figures
from howsure.services.judge.labels import GradeWithLabels
from howsure.stats.agreement import MeasurementLevel, krippendorff_alpha
from howsure.store.store import Store

MAX_LABELS = 5_000
"""The figures use at most this many labels, the newest ones."""


NOTHING_COMPARED = VerdictFigures(
    agreement=Figure(),
    with_silence=Figure(),
    kappa=Figure(),
    classes={},
    confusion={word: {PASS: 0, FAIL: 0, SILENT: 0} for word in (PASS, FAIL)},
)


class AnnotatorAgreement(Struct, frozen=True, kw_only=True):
    """Agreement of several people about the same grades: in how many all agree, and Krippendorff's alpha."""

    people: tuple[str, ...]
    grades: int
    agreed: int
    alpha: float | None


class RunAgreement(Struct, frozen=True, kw_only=True):
    """The agreement on a run. `compared` is the number of labels that the figures use; `overall` covers every
    grader."""

    labels: int
    compared: int
    people: dict[str, int]
    opinions: dict[str, int]
    overall: VerdictFigures
    graders: dict[str, VerdictFigures]
    together: AnnotatorAgreement | None


async def measure_agreement(store: Store, run: Run, labels: Sequence[HumanLabel]) -> RunAgreement:
    """`labels` are ordered by the time they were given."""
    newest = labels[-MAX_LABELS:]
    comparisons = label_comparisons(newest, await grades_for_labels(store, run, newest), run.counts)
    # That takes some tens of milliseconds: in a thread, so that the event loop goes on.
    overall, graders = await asyncio.to_thread(compare_verdicts, comparisons)
    return RunAgreement(
        labels=len(labels),
        compared=len(newest),
        people=dict(Counter(label.labeler for label in labels)),
        opinions=dict(Counter(label.opinion.value for label in labels)),
        overall=overall,
        graders=graders,
        together=annotator_agreement(comparisons),
    )


def compare_verdicts(grades: Sequence[GradeWithLabels]) -> tuple[VerdictFigures, dict[str, VerdictFigures]]:
    """The agreement on all grades, and that on those of each grader."""
    graders: dict[str, list[GradeWithLabels]] = {}
    for grade in grades:
        graders.setdefault(grade.grader, []).append(grade)
    figures = {name: verdict_figures(own) or NOTHING_COMPARED for name, own in graders.items()}
    return verdict_figures(grades) or NOTHING_COMPARED, figures


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
