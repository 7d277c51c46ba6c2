"""Labels: what people say of answers, one JSON object a line. Every label, or every problem of the file. docs/trust.md
describes the fields."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from howsure.dialects.finding import STDIN, digest, readable
from howsure.dialects.json_places import Spot
from howsure.dialects.lines import read_objects, split_lines
from howsure.dialects.problems import Checker
from howsure.dialects.wording import did_you_mean, shown
from howsure.errors import DatasetInvalid, Level, Problem
from howsure.kit import Kit
from howsure.model.score import Scale

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
    },
}
KNOWN = tuple(SCHEMA["properties"])
WORDS = {"pass": True, "fail": False}
HINT = 'a number on the grader\'s scale, true, false, "pass" or "fail"'
_CHECKER = Checker(SCHEMA)


class Label(Struct, frozen=True, kw_only=True):
    """One person's word on one grade. `candidate` and `repeat` None: the only one there is."""

    case_id: str
    grader: str
    value: Value
    candidate: str | None = None
    repeat: int | None = None
    criterion: str = ""
    annotator: str = ""
    line: int = 0

    @property
    def key(self) -> tuple[Any, ...]:
        """What two labels may not have in common."""
        return (self.case_id, self.candidate, self.repeat, self.grader, self.criterion, self.annotator)

    @property
    def is_verdict(self) -> bool:
        return isinstance(self.value, bool)


class Labels(Struct, frozen=True, kw_only=True):
    """Every label of a file, and what its reader should know."""

    path: str
    sha256: str
    labels: tuple[Label, ...]
    warnings: tuple[Problem, ...] = ()

    @property
    def graders(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(label.grader for label in self.labels))


def read_labels(path: Path, kit: Kit) -> Labels:
    """The labels, or `DatasetInvalid` with every problem: of the lines, and of each label among the others."""
    sha256 = digest(path)
    labels: list[Label] = []
    found: list[Problem] = []
    with readable(path):
        for number, given in read_objects(split_lines(path), path.name):
            made = [given] if isinstance(given, Problem) else list(_read(given, Spot(path.name, number)))
            found += [each for each in made if isinstance(each, Problem)]
            labels += [each for each in made if isinstance(each, Label)]
    if not labels and not found:
        found.append(Problem(code="empty-file", message="there is no label in it", file=path.name))
    found += [*_twice(labels, path.name), *_mixed(labels, path.name), *_off_scale(labels, path.name, kit)]
    if any(problem.level is Level.ERROR for problem in found):
        raise DatasetInvalid(str(path), sorted(found, key=lambda problem: problem.line or 0))
    return Labels(path=str(path), sha256=sha256, labels=tuple(labels), warnings=tuple(found))


def looks_like_labels(path: Path) -> bool:
    """Whether the first line has a grader and a label: no dialect has both. Folders and pipes hold datasets."""
    if path.is_dir() or str(path) == STDIN:
        return False
    with readable(path):
        _, first = next(read_objects(split_lines(path), path.name), (0, None))
    return isinstance(first, dict) and "label" in first and "grader" in first


def _read(given: dict[str, Any], spot: Spot) -> Iterator[Label | Problem]:
    problems = [*_CHECKER.problems(given, file=spot.file, line=spot.line), *_unknown(given, spot)]
    word = given.get("label")
    if isinstance(word, str) and word not in WORDS:
        message = f"{shown(word)} is no label"
        problems.append(spot.below("label").problem("wrong-value", message, expected=HINT, found=shown(word)))
    yield from problems
    if any(problem.level is Level.ERROR for problem in problems):
        return
    criterion = given.get("criterion_id", "")
    yield Label(
        case_id=given["case_id"],
        grader=given["grader"],
        value=WORDS[word] if isinstance(word, str) else word if isinstance(word, bool) else float(given["label"]),
        candidate=given.get("candidate"),
        repeat=given.get("repeat"),
        criterion=str(criterion),
        annotator=given.get("annotator", ""),
        line=spot.line or 0,
    )


def _unknown(given: dict[str, Any], spot: Spot) -> Iterator[Problem]:
    """A remark of the annotator's is welcome; a slip in the name of a field would change what the label is about."""
    for name in given:
        if name in KNOWN:
            continue
        if hint := did_you_mean(name, KNOWN):
            yield spot.below(name).problem("unknown-field", f"`{name}` is not a field of a label", hint=hint)
        else:
            yield spot.below(name).warning("unknown-field", f"`{name}` is not a field of a label; it is not read")


def _twice(labels: list[Label], file: str) -> Iterator[Problem]:
    first: dict[tuple[Any, ...], int] = {}
    for label in labels:
        if (earlier := first.setdefault(label.key, label.line)) != label.line:
            yield Problem(
                code="duplicate-label",
                message=f"a second label for the same grade by the same person; the first is on line {earlier}",
                file=file,
                line=label.line,
                field="annotator",
                found=shown(label.annotator),
                hint="give each person's labels their own `annotator`, or remove one",
            )


def _mixed(labels: list[Label], file: str) -> Iterator[Problem]:
    """Numbers and verdicts about the same kind of grade cannot be put on one scale."""
    first: dict[tuple[str, bool], Label] = {}
    for label in labels:
        earlier = first.setdefault((label.grader, bool(label.criterion)), label)
        if earlier.is_verdict is not label.is_verdict:
            kinds = ("a verdict", "a number") if label.is_verdict else ("a number", "a verdict")
            yield Problem(
                code="mixed-labels",
                message=f"{kinds[0]} where line {earlier.line} has {kinds[1]} for {label.grader}",
                file=file,
                line=label.line,
                field="label",
                expected=kinds[1],
                found=shown(label.value),
            )


def _off_scale(labels: list[Label], file: str, kit: Kit) -> Iterator[Problem]:
    for label in labels:
        if label.grader not in kit.graders:
            message = f"there is no grader {shown(label.grader)}"
            hint = did_you_mean(label.grader, kit.graders.names())
            yield Problem(code="unknown-grader", message=message, file=file, line=label.line, field="grader", hint=hint)
            continue
        scale = getattr(kit.graders[label.grader], "scale", None)
        if isinstance(scale, Scale) and not label.is_verdict and label.value not in scale:
            message = f"{label.value:g} is not on the scale of {label.grader}"
            yield Problem(
                code="off-scale",
                message=message,
                file=file,
                line=label.line,
                field="label",
                expected=str(scale),
                found=shown(label.value),
            )
