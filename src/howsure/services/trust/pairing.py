"""Putting labels beside grades: each thing that people labelled, with the grade that the judge gave it or the fact that
there is none. A label that could be about two answers is a problem, never a guess."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterable, Collection, Iterator, Mapping, Sequence
from enum import Enum
from statistics import fmean, median_low

from msgspec import Struct

from howsure.errors import DatasetInvalid, PlanRefused, Problem
from howsure.model.expectation import text_id
from howsure.model.result import Result
from howsure.model.score import Direction, Grade, Score, Why
from howsure.services.survey import values_of
from howsure.services.trust.labels import Label, Labels

Key = tuple[str, str, int, str, str]


class Outcome(Enum):
    """What became of a labelled thing; the values are the fields of `Coverage`."""

    COMPARED = "compared"
    UNREADABLE = "unreadable"
    NOT_APPLICABLE = "not_applicable"
    NO_JUDGE = "no_judge"
    MISSING = "missing"
    SPLIT = "split"
    UNMARKED = "unmarked"


_OF_WHY = {
    Why.ERROR: Outcome.UNREADABLE,
    Why.NOT_APPLICABLE: Outcome.NOT_APPLICABLE,
    Why.NO_JUDGE: Outcome.NO_JUDGE,
}


class Thing(Struct, frozen=True, kw_only=True):
    """One grade that people labelled."""

    case_id: str
    grader: str
    labels: tuple[Label, ...]
    candidate: str = ""
    repeat: int = 1
    criterion: str = ""
    grade: Grade | None = None
    where: str = ""

    @property
    def by_verdict(self) -> bool:
        return self.labels[0].is_verdict

    @property
    def value(self) -> float | None:
        """The judge's number."""
        return self.grade.value if isinstance(self.grade, Score) else None

    @property
    def people_value(self) -> float:
        """The mean of people's numbers."""
        return fmean(label.value for label in self.labels)

    @property
    def people_category(self) -> float:
        """A number that somebody gave: the (lower) middle one."""
        return float(median_low([label.value for label in self.labels]))

    @property
    def passed(self) -> bool | None:
        """The judge's verdict."""
        return self.grade.passed if isinstance(self.grade, Score) else None

    @property
    def people_passed(self) -> bool | None:
        """People's verdict: what more than half say, or which side of the pass mark their mean is on."""
        if self.by_verdict:
            yes = sum(bool(label.value) for label in self.labels)
            return None if 2 * yes == len(self.labels) else 2 * yes > len(self.labels)
        return passes(self.people_value, self.grade) if isinstance(self.grade, Score) else None

    @property
    def outcome(self) -> Outcome:
        if self.grade is None:
            return Outcome.MISSING
        if not isinstance(self.grade, Score):
            return _OF_WHY[self.grade.why]
        if not self.by_verdict:
            return Outcome.COMPARED
        if self.people_passed is None:
            return Outcome.SPLIT
        return Outcome.UNMARKED if self.grade.passed is None else Outcome.COMPARED


def passes(value: float, score: Score) -> bool | None:
    """Whether a value would pass where this score stands; None: it has no pass mark."""
    if score.pass_mark is None:
        return None
    return value <= score.pass_mark if score.direction is Direction.LOWER else value >= score.pass_mark


class Graded(Struct, frozen=True, kw_only=True):
    """One answer of a run, as far as labels speak of it."""

    candidate: str
    repeat: int
    grades: tuple[Grade, ...]
    where: str = ""


async def graded(results: AsyncIterable[Result], graders: Collection[str], by: str = "") -> dict[str, list[Graded]]:
    """The grades of these graders, by case. `by` names the label of the cases to slice by."""
    found: dict[str, list[Graded]] = {}
    async for result in results:
        grades = tuple(grade for grade in result.grades if grade.name in graders)
        where = ", ".join(sorted(values_of(result.case, by))) if by else ""
        answer = Graded(candidate=result.candidate, repeat=result.repeat, grades=grades, where=where)
        found.setdefault(result.case.id, []).append(answer)
    return found


def paired(labels: Labels, answers: Mapping[str, Sequence[Graded]]) -> list[Thing]:
    """Every labelled thing, in the order of the file. `DatasetInvalid`: labels that may be about several answers;
    `PlanRefused`: not one label is about this run."""
    things: dict[Key, list[tuple[Label, Grade | None, str]]] = {}
    problems: list[Problem] = []
    for label in labels.labels:
        fitting = list(_fitting(label, answers.get(label.case_id, ())))
        if len(fitting) > 1:
            problems.append(_ambiguous(label, fitting, labels.path))
            continue
        answer = fitting[0] if fitting else None
        grade = _grade_for(label, answer.grades) if answer else None
        candidate, repeat = (answer.candidate, answer.repeat) if answer else (label.candidate or "", label.repeat or 1)
        part = grade.part.id if grade is not None and grade.part else label.criterion
        key = (label.case_id, candidate, repeat, label.grader, part)
        things.setdefault(key, []).append((label, grade, answer.where if answer else ""))
    problems += [problem for found in things.values() for problem in _twice([label for label, _, _ in found], labels)]
    if problems:
        raise DatasetInvalid(labels.path, sorted(problems, key=lambda problem: problem.line or 0))
    made = [_thing(key, found) for key, found in things.items()]
    if all(thing.outcome is Outcome.MISSING for thing in made):
        raise PlanRefused(_nothing_met(labels, answers))
    return made


def _thing(key: Key, found: Sequence[tuple[Label, Grade | None, str]]) -> Thing:
    case_id, candidate, repeat, grader, criterion = key
    return Thing(
        case_id=case_id,
        candidate=candidate,
        repeat=repeat,
        grader=grader,
        criterion=criterion,
        labels=tuple(label for label, _, _ in found),
        grade=found[0][1],
        where=found[0][2],
    )


def _fitting(label: Label, answers: Sequence[Graded]) -> Iterator[Graded]:
    for answer in answers:
        if label.candidate in (None, answer.candidate) and label.repeat in (None, answer.repeat):
            yield answer


def _grade_for(label: Label, grades: Sequence[Grade]) -> Grade | None:
    """The whole-case grade; or that of the criterion with this id, text hash, text or position, in this order."""
    own = [grade for grade in grades if grade.name == label.grader]
    if not label.criterion:
        return next((grade for grade in own if grade.part is None), None)
    parts = [(grade, grade.part) for grade in own if grade.part is not None]
    for names in (
        {part.id: grade for grade, part in parts},
        {text_id(part.text): grade for grade, part in parts},
        {part.text: grade for grade, part in parts},
        {str(part.position): grade for grade, part in parts},
    ):
        if label.criterion in names:
            return names[label.criterion]
    return None


def _twice(about: Sequence[Label], labels: Labels) -> Iterator[Problem]:
    """One person's two labels that name the same criterion in different ways."""
    first: dict[str, int] = {}
    for label in about:
        if (earlier := first.setdefault(label.annotator, label.line)) != label.line:
            yield Problem(
                code="duplicate-label",
                message=f"a second label by the same person for the criterion of line {earlier}, by another name",
                file=labels.path,
                line=label.line,
                field="criterion_id",
                found=label.criterion,
                hint="remove one of them",
            )


def _ambiguous(label: Label, fitting: Sequence[Graded], path: str) -> Problem:
    who = Counter(answer.candidate for answer in fitting)
    field = "candidate" if len(who) > 1 else "repeat"
    known = ", ".join(who) if len(who) > 1 else ", ".join(str(answer.repeat) for answer in fitting)
    return Problem(
        code="ambiguous-label",
        message=f"the case {label.case_id!r} has {len(fitting)} answers, and the label may be about any of them",
        file=path,
        line=label.line,
        field=field,
        expected=f"one of {known}",
        hint=f"say which with `{field}`",
    )


def _nothing_met(labels: Labels, answers: Mapping[str, Sequence[Graded]]) -> str:
    first = labels.labels[0]
    said = f"none of the {len(labels.labels)} labels in {labels.path} is about a grade of this run"
    if not any(label.case_id in answers for label in labels.labels):
        return f"{said}: there is no case {first.case_id!r}, for one"
    about = f"criterion {first.criterion!r} of {first.grader}" if first.criterion else first.grader
    return f"{said}: the case {first.case_id!r} has no grade for {about}, for one"
