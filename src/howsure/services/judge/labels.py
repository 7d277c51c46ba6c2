"""Labels: what people say about answers, one JSON object a line, and how they are matched to the grades of a run. Every
problem of a file is reported at once; a label that could be about two answers is a problem, never a guess.
docs/trust.md describes the fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterable, Collection, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from statistics import fmean, median_low
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from howsure.dialects.datasets import STDIN, digest, readable
from howsure.dialects.lines import read_objects, split_lines
from howsure.dialects.problems import SchemaChecker, Spot, did_you_mean, shown
from howsure.errors import DatasetInvalid, Level, PlanRefused, Problem
from howsure.kit import Kit
from howsure.model.expectation import text_id
from howsure.model.result import Result
from howsure.model.run import Run
from howsure.model.score import Direction, Grade, Scale, Score, UnscoredReason
from howsure.reports.figures import pluralize
from howsure.services.run.preflight import values_of
from howsure.stats.draws import inclusion_probabilities

Value = bool | float

_NAME = {"type": "string", "minLength": 1}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["case_id", "grader", "label"],
    "properties": {
        "case_id": _NAME,
        "candidate": {"type": "string"},
        "repeat": {"type": "integer", "minimum": 1},
        "grader": _NAME,
        "criterion_id": {"type": ["string", "integer"]},
        "label": {"type": ["number", "boolean", "string"]},
        "annotator": _NAME,
        "run": _NAME,
        "drawn": {"type": "number", "minimum": 1e-9, "maximum": 1e9},
        **{name: {} for name in ("question", "input", "expected", "answer")},
    },
}
KNOWN = tuple(SCHEMA["properties"])
WORDS = {"pass": True, "fail": False}
HINT = 'a number on the grader\'s scale, true, false, "pass" or "fail"'
_CHECKER = SchemaChecker(SCHEMA)


class Label(Struct, frozen=True, kw_only=True):
    """One person's verdict or number for one grade. `candidate` and `repeat` None: the only one of the run; `run`
    empty: any run. `drawn`: how likely the answer was to be drawn; only ratios matter, None is unknown."""

    case_id: str
    grader: str
    value: Value
    candidate: str | None = None
    repeat: int | None = None
    criterion: str = ""
    annotator: str = ""
    line: int = 0
    run: str = ""
    drawn: float | None = None

    @property
    def key(self) -> tuple[Any, ...]:
        """What identifies a label: no two may share it."""
        return (self.run, self.case_id, self.candidate, self.repeat, self.grader, self.criterion, self.annotator)

    @property
    def is_verdict(self) -> bool:
        return isinstance(self.value, bool)


class LabelFile(Struct, frozen=True, kw_only=True):
    """Every label of a file, with the warnings about it."""

    path: str
    sha256: str
    labels: tuple[Label, ...]
    warnings: tuple[Problem, ...] = ()

    @property
    def graders(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(label.grader for label in self.labels))

    def about(self, run: Run) -> LabelFile:
        """The labels without those that name another run."""
        own = [each for each in self.labels if not each.run or each.run == run.name or run.id.startswith(each.run)]
        if not own:
            names = ", ".join(sorted({each.run for each in self.labels})[:3])
            raise PlanRefused(f"none of the labels in {self.path} is about run {run.name!r}: their `run` is {names}")
        return replace(self, labels=tuple(own))


NO_OTHERS: Mapping[str, Scale] = {}


def read_labels(path: Path, kit: Kit, scales: Mapping[str, Scale] | None = NO_OTHERS) -> LabelFile:
    """The labels, or `DatasetInvalid` with every problem: of single lines, and of labels that contradict each other.
    `scales` are those of graders besides ours: the scores of another tool. None: no name of a grader is checked."""
    sha256 = digest(path)
    labels: list[Label] = []
    found: list[Problem] = []
    with readable(path):
        for number, row in read_objects(split_lines(path), path.name):
            made = [row] if isinstance(row, Problem) else list(_read(row, Spot(path.name, number)))
            found += [each for each in made if isinstance(each, Problem)]
            labels += [each for each in made if isinstance(each, Label)]
    if not labels and all(problem.level is not Level.ERROR for problem in found):
        left = f": {pluralize(len(found), 'line')} without one" if found else ""
        found = [Problem(code="empty-file", message=f"there is no label in it{left}", file=path.name)]
    found += [
        *_duplicates(labels, path.name),
        *_mixed(labels, path.name),
        *(_off_scale(labels, path.name, kit, scales) if scales is not None else ()),
    ]
    if any(problem.level is Level.ERROR for problem in found):
        raise DatasetInvalid(str(path), sorted(found, key=lambda problem: problem.line or 0))
    return LabelFile(path=str(path), sha256=sha256, labels=tuple(labels), warnings=tuple(found))


def looks_like_labels(path: Path) -> bool:
    """Whether the first line has a grader and a label: no dialect has both. Folders and pipes hold datasets."""
    if path.is_dir() or str(path) == STDIN:
        return False
    with readable(path):
        _, first = next(read_objects(split_lines(path), path.name), (0, None))
    return isinstance(first, dict) and "label" in first and "grader" in first


def _read(row: dict[str, Any], spot: Spot) -> Iterator[Label | Problem]:
    problems = [*_CHECKER.problems(row, spot), *_unknown(row, spot)]
    word = row.get("label")
    if (isinstance(word, str) and word and word not in WORDS) or (isinstance(word, int) and word.bit_length() > 63):
        message = f"{shown(word)} is no label"
        problems.append(spot.below("label").problem("wrong-value", message, expected=HINT, found=shown(word)))
    if word == "":
        message = "not labelled yet: the line is not read"
        problems.append(spot.below("label").warning("no-label", message))
    yield from problems
    if word == "" or any(problem.level is Level.ERROR for problem in problems):
        return
    criterion = row.get("criterion_id", "")
    yield Label(
        case_id=row["case_id"],
        grader=row["grader"],
        value=WORDS[word] if isinstance(word, str) else word if isinstance(word, bool) else float(row["label"]),
        candidate=row.get("candidate"),
        repeat=row.get("repeat"),
        criterion=str(criterion),
        annotator=row.get("annotator", ""),
        line=spot.line or 0,
        run=row.get("run", ""),
        drawn=row.get("drawn"),
    )


def _unknown(row: dict[str, Any], spot: Spot) -> Iterator[Problem]:
    """A remark of the annotator is fine; a typo in the name of a field would change what the label is about."""
    for name in row:
        if name in KNOWN:
            continue
        if hint := did_you_mean(name, KNOWN):
            yield spot.below(name).problem("unknown-field", f"`{name}` is not a field of a label", hint=hint)
        else:
            yield spot.below(name).warning("unknown-field", f"`{name}` is not a field of a label; it is not read")


def _duplicates(labels: list[Label], file: str) -> Iterator[Problem]:
    first: dict[tuple[Any, ...], int] = {}
    for label in labels:
        if (earlier := first.setdefault(label.key, label.line)) != label.line:
            message = f"a second label for the same grade by the same person; the first is on line {earlier}"
            at, found = Spot(file, label.line, "annotator"), shown(label.annotator)
            hint = "give each person's labels their own `annotator`, or remove one"
            yield at.problem("duplicate-label", message, found=found, hint=hint)


def _mixed(labels: list[Label], file: str) -> Iterator[Problem]:
    """Numbers and verdicts about the same kind of grade cannot be put on one scale."""
    first: dict[tuple[str, bool], Label] = {}
    for label in labels:
        earlier = first.setdefault((label.grader, bool(label.criterion)), label)
        if earlier.is_verdict is not label.is_verdict:
            kinds = ("a verdict", "a number") if label.is_verdict else ("a number", "a verdict")
            message = f"{kinds[0]} where line {earlier.line} has {kinds[1]} for {label.grader}"
            at = Spot(file, label.line, "label")
            yield at.problem("mixed-labels", message, expected=kinds[1], found=shown(label.value))


def _off_scale(labels: list[Label], file: str, kit: Kit, scales: Mapping[str, Scale]) -> Iterator[Problem]:
    times = Counter(label.grader for label in labels)
    for label in labels:
        if label.grader not in kit.graders and label.grader not in scales:
            # Once for all lines that name it.
            if not (more := times.pop(label.grader, 0)):
                continue
            message = f"there is no grader {shown(label.grader)}" + (f" ({more - 1:,} more lines)" if more > 1 else "")
            hint = did_you_mean(label.grader, kit.graders.names()) or "--evals FILE brings evals of your own"
            yield Spot(file, label.line, "grader").problem("unknown-grader", message, hint=hint)
            continue
        known = label.grader in kit.graders
        scale = getattr(kit.graders[label.grader], "scale", None) if known else scales[label.grader]
        if isinstance(scale, Scale) and not label.is_verdict and label.value not in scale:
            message = f"{label.value:g} is not on the scale of {label.grader}"
            at = Spot(file, label.line, "label")
            yield at.problem("off-scale", message, expected=str(scale), found=shown(label.value))


Key = tuple[str, str, int, str, str]


class LabelOutcome(Enum):
    """What became of a labelled grade; the values are the fields of `LabelCoverage`."""

    COMPARED = "compared"
    UNREADABLE = "unreadable"
    NOT_APPLICABLE = "not_applicable"
    NO_JUDGE = "no_judge"
    MISSING = "missing"
    SPLIT = "split"
    UNMARKED = "unmarked"


_OF_WHY = {
    UnscoredReason.ERROR: LabelOutcome.UNREADABLE,
    UnscoredReason.NOT_APPLICABLE: LabelOutcome.NOT_APPLICABLE,
    UnscoredReason.NO_JUDGE: LabelOutcome.NO_JUDGE,
}


class GradeWithLabels(Struct, frozen=True, kw_only=True):
    """One grade that people labelled; `grade` None: the run has no such grade. `drawn`: the probability with which its
    answer came among the labels, None where that is not known."""

    case_id: str
    grader: str
    labels: tuple[Label, ...]
    candidate: str = ""
    repeat: int = 1
    criterion: str = ""
    grade: Grade | None = None
    where: str = ""
    drawn: float | None = None

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
        """A number that a person gave: the (lower) median."""
        return float(median_low([label.value for label in self.labels]))

    @property
    def passed(self) -> bool | None:
        """The judge's verdict."""
        return self.grade.passed if isinstance(self.grade, Score) else None

    @property
    def people_passed(self) -> bool | None:
        """People's verdict: the majority, or the side of the pass mark that their mean is on."""
        if self.by_verdict:
            yes = sum(bool(label.value) for label in self.labels)
            return None if 2 * yes == len(self.labels) else 2 * yes > len(self.labels)
        return would_pass(self.people_value, self.grade) if isinstance(self.grade, Score) else None

    @property
    def outcome(self) -> LabelOutcome:
        if self.grade is None:
            return LabelOutcome.MISSING
        if not isinstance(self.grade, Score):
            return _OF_WHY[self.grade.why]
        if not self.by_verdict:
            return LabelOutcome.COMPARED
        if self.people_passed is None:
            return LabelOutcome.SPLIT
        return LabelOutcome.UNMARKED if self.grade.passed is None else LabelOutcome.COMPARED


def would_pass(value: float, score: Score) -> bool | None:
    """Whether a value would pass by this score's mark; None: it has no pass mark."""
    if score.pass_mark is None:
        return None
    return value <= score.pass_mark if score.direction is Direction.LOWER else value >= score.pass_mark


class GradedAnswer(Struct, frozen=True, kw_only=True):
    """One answer of a run, with the grades that labels are about."""

    candidate: str
    repeat: int
    grades: tuple[Grade, ...]
    where: str = ""


async def read_graded_answers(
    results: AsyncIterable[Result], graders: Collection[str], by: str = ""
) -> dict[str, list[GradedAnswer]]:
    """The grades of these graders, by case. `by` names the label of the cases to slice by."""
    found: dict[str, list[GradedAnswer]] = {}
    async for result in results:
        grades = tuple(grade for grade in result.grades if grade.name in graders)
        where = ", ".join(sorted(values_of(result.case, by))) if by else ""
        answer = GradedAnswer(candidate=result.candidate, repeat=result.repeat, grades=grades, where=where)
        found.setdefault(result.case.id, []).append(answer)
    return found


def pair_labels(labels: LabelFile, answers: Mapping[str, Sequence[GradedAnswer]]) -> list[GradeWithLabels]:
    """Every labelled grade, in the order of the file, with the probability with which its answer was drawn.
    `DatasetInvalid`: labels that may be about several answers; `PlanRefused`: no label is about this run."""
    things: dict[Key, list[tuple[Label, Grade | None, str]]] = {}
    problems: list[Problem] = []
    for label in labels.labels:
        fitting = [
            answer
            for answer in answers.get(label.case_id, ())
            if label.candidate in (None, answer.candidate) and label.repeat in (None, answer.repeat)
        ]
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
    made = [
        GradeWithLabels(
            case_id=case_id,
            candidate=candidate,
            repeat=repeat,
            grader=grader,
            criterion=criterion,
            labels=tuple(label for label, _, _ in found),
            grade=found[0][1],
            where=found[0][2],
        )
        for (case_id, candidate, repeat, grader, criterion), found in things.items()
    ]
    if all(thing.outcome is LabelOutcome.MISSING for thing in made):
        first = labels.labels[0]
        about = f"criterion {first.criterion!r} of {first.grader}" if first.criterion else first.grader
        why = f"the case {first.case_id!r} has no grade for {about}"
        if not any(label.case_id in answers for label in labels.labels):
            why = f"there is no case {first.case_id!r}"
        count = len(labels.labels)
        raise PlanRefused(f"none of the {count} labels in {labels.path} is about a grade of this run: {why}, for one")
    every = (name for several in answers.values() for each in several for name in {one.name for one in each.grades})
    return weigh_draws(made, Counter(every))


def weigh_draws(things: Sequence[GradeWithLabels], answers: Mapping[str, int]) -> list[GradeWithLabels]:
    """With the probability of each answer to be labelled, from what its labels say of its chance beside others.
    `answers` counts those that have a grade by each grader: none of them is drawn more often than surely."""
    chances: dict[str, dict[tuple[str, str, int], float]] = {}
    for thing in things:
        if all(label.drawn is not None for label in thing.labels):
            own = chances.setdefault(thing.grader, {})
            own[thing.case_id, thing.candidate, thing.repeat] = thing.labels[0].drawn or 1.0
    drawn = {
        grader: dict(zip(own, inclusion_probabilities(list(own.values()), answers[grader]), strict=True))
        for grader, own in chances.items()
    }
    return [
        replace(thing, drawn=drawn[thing.grader][thing.case_id, thing.candidate, thing.repeat])
        if all(label.drawn is not None for label in thing.labels)
        else thing
        for thing in things
    ]


def _grade_for(label: Label, grades: Sequence[Grade]) -> Grade | None:
    """The whole-case grade; or the grade of the criterion with this id, text hash, text or position, in this order."""
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


def _twice(about: Sequence[Label], labels: LabelFile) -> Iterator[Problem]:
    """One person's two labels that name the same criterion in different ways."""
    first: dict[str, int] = {}
    for label in about:
        if (earlier := first.setdefault(label.annotator, label.line)) != label.line:
            message = f"a second label by the same person for the criterion of line {earlier}, by another name"
            at = Spot(labels.path, label.line, "criterion_id")
            yield at.problem("duplicate-label", message, found=label.criterion, hint="remove one of them")


def _ambiguous(label: Label, fitting: Sequence[GradedAnswer], path: str) -> Problem:
    who = Counter(answer.candidate for answer in fitting)
    field = "candidate" if len(who) > 1 else "repeat"
    known = ", ".join(who) if len(who) > 1 else ", ".join(str(answer.repeat) for answer in fitting)
    message = f"the case {label.case_id!r} has {len(fitting)} answers, and the label may be about any of them"
    expected, hint = f"one of {known}", f"say which with `{field}`"
    return Spot(path, label.line, field).problem("ambiguous-label", message, expected=expected, hint=hint)
