"""Human labels: which grades of a run people label and in which order, saving a label, comparing labels with the
judge's grades, and the label file that calibrates judges. How far people and judge agree is in `agreement.py`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct

from howsure.errors import PlanRefused
from howsure.model.label import HumanLabel, Opinion
from howsure.model.result import Result
from howsure.model.run import Counts, Run
from howsure.model.score import Grade, Score, Unscored, UnscoredReason
from howsure.reports.figures import iso_utc
from howsure.services.judge.calibrate import CalibrationRequest, SavedCalibration, calibrate
from howsure.services.judge.draw_labels import DrawKind, DrawnAnswer, draw_answers
from howsure.services.judge.labels import GradeWithLabels, Label, weigh_draws
from howsure.services.workspace import Host
from howsure.store.private_files import make_private_folder
from howsure.store.store import Store

QUEUE_LENGTH = 60
"""The most results in a queue."""
GradeKey = tuple[int, str, str]
"""The position of the result, the grader, and the id of the criterion or rule ("" for the case as a whole)."""
MAX_QUEUES = 50
_QUEUES: dict[tuple[str, Counts], list[DrawnAnswer]] = {}
"""The queues of the runs that are being labelled: drawing reads a whole run, and a page shows one question."""
MAX_NAMES = 10
"""How many of the possible names an error message lists."""


class LabelQuestion(Struct, frozen=True):
    """One grade of one result that a person can label. `drawn`: how likely the result was to be drawn for the queue;
    None: it was chosen."""

    result: Result
    grade: Grade
    drawn: float | None = None

    @property
    def about(self) -> GradeKey:
        return self.result.position, self.grade.name, self.grade.part.id if self.grade.part else ""

    @property
    def key(self) -> str:
        """Identifies the question in a form: ids can hold any character, and positions shift when the queue grows."""
        return sha256(msgspec.json.encode(self.about)).hexdigest()[:16]


async def label_queue(store: Store, run: Run, position: int | None = None) -> list[LabelQuestion]:
    """The questions about a run: over results that are drawn at random, failed and passed ones alike often; or over
    the one result at `position`. The queue of a run stays the same as long as its counts do."""
    if position is not None:
        return label_questions(await store.results(run.id, after=position - 1, limit=1))
    key = (run.id, run.counts)
    if key not in _QUEUES:
        drawn = await draw_answers(store, run, DrawKind.VERDICT, number=QUEUE_LENGTH)
        while len(_QUEUES) >= MAX_QUEUES:
            _QUEUES.pop(next(iter(_QUEUES)))
        _QUEUES[key] = drawn
    chances = {each.position: each.drawn for each in _QUEUES[key]}
    found = {
        result.position: result for _, result in await store.results_by_id([each.result_id for each in _QUEUES[key]])
    }
    return label_questions([found[place] for place in chances if place in found], chances)


def label_questions(results: Sequence[Result], drawn: Mapping[int, float] | None = None) -> list[LabelQuestion]:
    """Case by case, so that each is read once."""
    chances = drawn or {}
    return [
        LabelQuestion(result, grade, chances.get(result.position))
        for result in results
        for grade in grades_to_label(result.grades)
    ]


def grades_to_label(grades: Sequence[Grade]) -> list[Grade]:
    """Criteria and rules one by one, and the evals that need a judge. Grades that a program computes and sums of other
    grades need no label."""
    summed = {grade.name for grade in grades if grade.part is not None}
    return [
        grade
        for grade in grades
        if grade.part is not None
        or (
            (grade.name not in summed and grade.pass_mark is not None)
            and (grade.judge or (isinstance(grade, Unscored) and grade.why is UnscoredReason.NO_JUDGE))
        )
    ]


def judge_opinion(grade: Grade | None) -> str:
    """The judge's grade in the words of `Opinion`; "none" where it gave no verdict."""
    if isinstance(grade, Score):
        return "none" if grade.passed is None else "pass" if grade.passed else "fail"
    if grade is not None and grade.why is UnscoredReason.NOT_APPLICABLE:
        return Opinion.NOT_APPLICABLE.value
    return "none"


class LabelInput(Struct, frozen=True):
    """A person's answer to a question."""

    opinion: Opinion
    why: str = ""
    blind: bool = True
    drawn: float | None = None


def build_label(run: Run, question: LabelQuestion, labeler: str, answer: LabelInput) -> HumanLabel:
    position, grader, part = question.about
    result = question.result
    return HumanLabel(
        run_id=run.id,
        position=position,
        grader=grader,
        part_id=part,
        labeler=labeler,
        opinion=answer.opinion,
        case_id=result.case.id,
        candidate=result.candidate,
        repeat=result.repeat,
        created_at=datetime.now(UTC),
        organization_id=run.organization_id,
        agent_id=run.pins.agent_key,
        why=answer.why,
        blind=answer.blind,
        drawn=question.drawn if answer.drawn is None else answer.drawn,
    )


def label_shape(label: HumanLabel) -> dict[str, Any]:
    """A label as the API shows it."""
    return {
        "label_id": label.id,
        "run_id": label.run_id,
        "result_id": label.result_id,
        "test_case_id": label.case_id,
        "candidate": label.candidate,
        "repeat": label.repeat,
        "grader": label.grader,
        "criterion_id": label.part_id or None,
        "labeler": label.labeler,
        "opinion": label.opinion.value,
        "passed": label.opinion.passed,
        "why": label.why or None,
        "blind": label.blind,
        "agent_id": label.agent_id or None,
        "created_at": iso_utc(label.created_at),
        "drawn": label.drawn,
    }


class LabelledGrade(Struct, frozen=True):
    """A grade that has a label, and the case it belongs to."""

    position: int
    case_id: str
    grade: Grade


async def grades_for_labels(store: Store, run: Run, labels: Sequence[HumanLabel]) -> dict[GradeKey, LabelledGrade]:
    """The grades of the results that these labels are about, as far as the store still has them."""
    labelled = {(each.position, each.case_id, each.candidate, each.repeat) for each in labels}
    stored = await store.result_grades(run.id, sorted({position for position, *_ in labelled}))
    matching = [each for each in stored if (each.position, each.case_id, each.candidate, each.repeat) in labelled]
    return {
        (each.position, grade.name, grade.part.id if grade.part else ""): LabelledGrade(
            each.position, each.case_id, grade
        )
        for each in matching
        for grade in each.grades
    }


def label_comparisons(
    labels: Sequence[HumanLabel], grades: Mapping[GradeKey, LabelledGrade | LabelQuestion], counts: Counts
) -> list[GradeWithLabels]:
    """Labels that say pass or fail, beside the judge's grades, in the form that calibrations compare. `counts` are the
    answers of the run that could be drawn to be labelled."""
    by_grade: dict[GradeKey, list[HumanLabel]] = {}
    for label in labels:
        if label.opinion.passed is not None:
            by_grade.setdefault(label.about, []).append(label)
    made = [
        GradeWithLabels(
            case_id=own[0].case_id,
            grader=key[1],
            criterion=key[2],
            candidate=own[0].candidate,
            repeat=own[0].repeat,
            grade=grades[key].grade if key in grades else None,
            labels=tuple(
                Label(
                    case_id=label.case_id,
                    grader=label.grader,
                    value=bool(label.opinion.passed),
                    candidate=label.candidate,
                    repeat=label.repeat,
                    criterion=label.part_id,
                    annotator=label.labeler,
                    run=label.run_id,
                    drawn=label.drawn,
                )
                for label in own
            ),
        )
        for key, own in by_grade.items()
    ]
    answers = counts.passed + counts.failed + counts.errored
    return weigh_draws(made, {each.grader: answers for each in made})


def write_label_lines(labels: Sequence[HumanLabel]) -> bytes:
    """The file that `howsure judge calibrate` reads. It holds pass and fail only: other opinions are left out."""
    decided = [label for label in labels if label.opinion.passed is not None]
    lines = [
        {
            "case_id": label.case_id,
            "candidate": label.candidate,
            "repeat": label.repeat,
            "grader": label.grader,
            **({"criterion_id": label.part_id} if label.part_id else {}),
            "label": label.opinion.value,
            "annotator": label.labeler or "nobody",
            # Labels that were drawn can correct a comparison of two runs: they say which run they are about.
            **({"run": label.run_id, "drawn": label.drawn} if label.drawn is not None else {}),
        }
        for label in decided
    ]
    return b"".join(msgspec.json.encode(line) + b"\n" for line in lines)


async def calibrate_run(host: Host, run: Run, labels: Sequence[HumanLabel]) -> SavedCalibration:
    """Calibrate the judge of a run with the labels of that run, and save the calibration."""
    content = write_label_lines(labels)
    if not content:
        raise PlanRefused("this run has no labels of pass or fail yet: label some of it first")
    # The name holds a hash of the content: a calibration refers to the file, which must never change.
    path = host.work.data_folder / "labels" / f"{run.id}-{sha256(content).hexdigest()[:12]}.jsonl"

    def write_and_calibrate() -> SavedCalibration:
        make_private_folder(path.parent)
        path.write_bytes(content)
        return asyncio.run(calibrate(host.work, CalibrationRequest(labels=path, run=run.id), run.id))

    # A thousand labels take seconds: in a thread with its own event loop, so that other requests are answered.
    return await asyncio.to_thread(write_and_calibrate)


class GradeReference(Struct, frozen=True, kw_only=True):
    """The grade that a label is about. `result_id` is the id of a result, or of its case when the case has one result;
    `criterion_id` is the id or the exact text of a criterion or rule, "" for a grade of the case as a whole."""

    result_id: str
    grader: str
    criterion_id: str = ""


async def save_label(store: Store, run: Run, about: GradeReference, labeler: str, answer: LabelInput) -> HumanLabel:
    """Save a label. It replaces an earlier label by the same person about the same grade."""
    result = await store.result(run.id, about.result_id)
    label = build_label(run, LabelQuestion(result, find_grade(result, about)), labeler, answer)
    await store.labels.put(label)
    return label


def find_grade(result: Result, about: GradeReference) -> Grade:
    """The grade that `about` refers to; PlanRefused lists the grades that exist."""
    graders = list(dict.fromkeys(grade.name for grade in result.grades))
    if about.grader not in graders:
        raise PlanRefused(
            f"grader: {about.grader!r} gave nothing to case {result.case.id!r}; expected one of {_listed(graders)}"
        )
    own = [grade for grade in result.grades if grade.name == about.grader]
    for grade in own:
        if about.criterion_id in ((grade.part.id, grade.part.text) if grade.part else ("",)):
            return grade
    parts = [grade.part.id for grade in own if grade.part]
    if not parts:
        raise PlanRefused(f"criterion_id: {about.grader!r} has no criteria: leave it out")
    if not about.criterion_id:
        raise PlanRefused(f"criterion_id: {about.grader!r} gives grades one by one: expected one of {_listed(parts)}")
    raise PlanRefused(f"criterion_id: {about.grader!r} has no {about.criterion_id!r}; expected one of {_listed(parts)}")


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return (", ".join(names[:MAX_NAMES]) or "none: the case was not graded") + more
