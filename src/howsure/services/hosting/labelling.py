"""Labelling: which grades of a run people are asked about, in which order; how far they agree with the judge and with
each other; and their labels as a file that judges are calibrated with."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct

from howsure.errors import PlanRefused
from howsure.model.label import HumanLabel, Opinion
from howsure.model.result import Result
from howsure.model.run import Run
from howsure.model.score import Grade, Score, Unscored, Why
from howsure.model.verdict import Verdict
from howsure.services.hosting.host import Host
from howsure.services.trust.calibrating import Calibrated, Wanted, calibrate
from howsure.services.trust.labels import Label
from howsure.services.trust.pairing import Thing
from howsure.store.store import Store

EACH = 20
"""Results of each verdict that a queue is made of."""
KINDS = (Verdict.FAILED, Verdict.PASSED, Verdict.ERRORED)
WORDS = {True: "pass", False: "fail"}
About = tuple[int, str, str]


class Question(Struct, frozen=True):
    """One grade of one result that somebody may speak about."""

    result: Result
    grade: Grade

    @property
    def about(self) -> About:
        return self.result.position, self.grade.name, self.grade.part.id if self.grade.part else ""

    @property
    def key(self) -> str:
        """Names it in a form: ids may hold anything, and a queue may grow while somebody reads."""
        return sha256(msgspec.json.encode(self.about)).hexdigest()[:16]


async def queue(store: Store, run: Run, position: int | None = None) -> list[Question]:
    """What people are asked about a run: failed and passed results alike, or one result alone."""
    if position is not None:
        return questions(run.id, await store.results(run.id, after=position - 1, limit=1))
    found = [await store.results(run.id, limit=EACH, verdict=verdict) for verdict in KINDS]
    return questions(run.id, [result for some in found for result in some])


def questions(run_id: str, results: Sequence[Result]) -> list[Question]:
    """Case by case, so that each is read once; the order of the cases says nothing of how they ended."""
    shuffled = sorted(results, key=lambda result: sha256(f"{run_id}\n{result.position}".encode()).digest())
    return [Question(result, grade) for result in shuffled for grade in labelled_grades(result.grades)]


def labelled_grades(grades: Sequence[Grade]) -> list[Grade]:
    """Criteria and rules one by one, and the evals that a judge was or should have been asked for. What a program
    measures, and what only sums up others, nobody need be asked about."""
    summed = {grade.name for grade in grades if grade.part is not None}
    return [
        grade
        for grade in grades
        if grade.part is not None or (grade.name not in summed and grade.pass_mark is not None and _judged(grade))
    ]


def _judged(grade: Grade) -> bool:
    return bool(grade.judge) or (isinstance(grade, Unscored) and grade.why is Why.NO_JUDGE)


def judge_word(grade: Grade | None) -> str:
    """What the judge said, in people's words; "none" where it said nothing."""
    if isinstance(grade, Score):
        return "none" if grade.passed is None else WORDS[grade.passed]
    if grade is not None and grade.why is Why.NOT_APPLICABLE:
        return Opinion.NOT_APPLICABLE.value
    return "none"


class Said(Struct, frozen=True):
    """What somebody says of a question."""

    opinion: Opinion
    why: str = ""
    blind: bool = True


def label_of(run: Run, question: Question, labeler: str, said: Said) -> HumanLabel:
    position, grader, part = question.about
    result = question.result
    return HumanLabel(
        run_id=run.id,
        position=position,
        grader=grader,
        part_id=part,
        labeler=labeler,
        opinion=said.opinion,
        case_id=result.case.id,
        candidate=result.candidate,
        repeat=result.repeat,
        created_at=datetime.now(UTC),
        organization_id=run.organization_id,
        agent_id=run.pins.agent_key,
        why=said.why,
        blind=said.blind,
    )


class Judged(Struct, frozen=True):
    """A grade that somebody spoke about, and whose it is."""

    position: int
    case_id: str
    grade: Grade


async def grades_about(store: Store, run: Run, labels: Sequence[HumanLabel]) -> dict[About, Judged]:
    """The grades of the results that these labels are about, as far as they are still there."""
    meant = {(each.position, each.case_id, each.candidate, each.repeat) for each in labels}
    found = await store.graded(run.id, sorted({position for position, *_ in meant}))
    there = [each for each in found if (each.position, each.case_id, each.candidate, each.repeat) in meant]
    return {
        (each.position, grade.name, grade.part.id if grade.part else ""): Judged(each.position, each.case_id, grade)
        for each in there
        for grade in each.grades
    }


def things(labels: Sequence[HumanLabel], asked: Mapping[About, Judged | Question]) -> list[Thing]:
    """Labels that pass or fail, beside the judge's grades, as calibrations compare them."""
    together: dict[About, list[HumanLabel]] = {}
    for label in labels:
        if label.opinion.passed is not None:
            together.setdefault(label.about, []).append(label)
    return [_thing(about, said, asked.get(about)) for about, said in together.items()]


def _thing(about: About, said: Sequence[HumanLabel], question: Judged | Question | None) -> Thing:
    first = said[0]
    return Thing(
        case_id=first.case_id,
        grader=about[1],
        criterion=about[2],
        candidate=first.candidate,
        repeat=first.repeat,
        grade=question.grade if question else None,
        labels=tuple(_plain(each) for each in said),
    )


def _plain(label: HumanLabel) -> Label:
    return Label(
        case_id=label.case_id,
        grader=label.grader,
        value=bool(label.opinion.passed),
        candidate=label.candidate,
        repeat=label.repeat,
        criterion=label.part_id,
        annotator=label.labeler,
    )


def as_lines(labels: Sequence[HumanLabel]) -> bytes:
    """The file that `howsure judge calibrate` reads. It knows pass and fail alone: other opinions are left out."""
    return b"".join(msgspec.json.encode(_line(label)) + b"\n" for label in labels if label.opinion.passed is not None)


def _line(label: HumanLabel) -> dict[str, object]:
    criterion = {"criterion_id": label.part_id} if label.part_id else {}
    return {
        "case_id": label.case_id,
        "candidate": label.candidate,
        "repeat": label.repeat,
        "grader": label.grader,
        **criterion,
        "label": label.opinion.value,
        "annotator": label.labeler or "nobody",
    }


async def calibrated(host: Host, run: Run, labels: Sequence[HumanLabel]) -> Calibrated:
    """The judge of a run measured against its labels; what was measured is kept."""
    content = as_lines(labels)
    if not content:
        raise PlanRefused("nobody has said pass or fail of this run yet: label some of it first")
    path = await asyncio.to_thread(_written, host.work.data_folder / "labels", run.id, content)
    # Seconds of work for a thousand labels: in a loop and a thread of its own, so that others are answered meanwhile.
    return await asyncio.to_thread(lambda: asyncio.run(calibrate(host.work, Wanted(labels=path, run=run.id), run.id)))


def _written(folder: Path, run_id: str, content: bytes) -> Path:
    """Named by its content: a calibration names the file that it was made with, and that must not change."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{run_id}-{sha256(content).hexdigest()[:12]}.jsonl"
    path.write_bytes(content)
    return path
