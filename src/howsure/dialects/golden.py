"""The `golden` dialect: JSON with `golden_questions`, each a list of user turns and the tools, trajectory, state and
agents expected of them. docs/dialects/golden.md describes every field.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from howsure.dialects import reference_data
from howsure.dialects.documents import Document, Json, UniqueIds, raise_problems
from howsure.dialects.extras import KEY as UNKNOWN
from howsure.dialects.extras import set_apart
from howsure.dialects.golden_schema import FIELDS, FILE_FIELDS, KEPT, LISTS, SCHEMA, SHAPE, agent_of, labels
from howsure.dialects.golden_writing import write_questions
from howsure.dialects.json_places import Spot, head_keys
from howsure.dialects.lines import Watch
from howsure.dialects.problems import unknown_fields
from howsure.dialects.reference_data import read_reference, reference_faults
from howsure.dialects.wording import shown
from howsure.dialects.writing import Unfinished
from howsure.errors import Level, Problem
from howsure.model.case import Case, Script, World


class GoldenDialect:
    """JSON with `golden_questions` (or `questions`)."""

    name = "golden"

    def detect(self, path: Path, head: bytes) -> bool:
        keys = head_keys(head)
        return any(name in keys for name in LISTS)

    def read(self, path: Path) -> Iterator[Case | Problem]:
        return self.read_watched(path)

    def read_watched(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem]:
        document = Document(path, watch)
        yield from document.problems
        if document.value is not None:
            yield from _list_problems(document.value, document.spot)
            yield from _questions(document, agent_of(path))

    def write(self, cases: Iterable[Case], path: Path) -> None:
        """One question after the other. What the dialect itself would refuse to read is not written."""
        with Unfinished(path) as unfinished:
            if not write_questions(cases, path, unfinished):
                raise_problems(self.read(unfinished), path)

    def schema(self) -> Json:
        return SCHEMA


def _list_problems(value: Json, spot: Spot) -> Iterator[Problem]:
    present = [name for name in LISTS if name in value]
    if not present:
        expected, found = f"`{LISTS[0]}` (or `{LISTS[1]}`)", ", ".join(value) or "an empty object"
        yield spot.below(LISTS[0]).problem("missing-field", f"`{LISTS[0]}` is required", expected=expected, found=found)
    if len(present) > 1:
        yield spot.below(LISTS[1]).problem(
            "both-lists",
            f"`{LISTS[0]}` and `{LISTS[1]}` stand in one file",
            expected="one of them",
            found="both",
            hint=f"`{LISTS[1]}` is another name for `{LISTS[0]}`; put all questions into one list",
        )
    for name in present:
        if not isinstance(value[name], list):
            yield spot.below(name).problem("wrong-type", "must be a list", expected="array", found=shown(value[name]))
    yield from unknown_fields(value, LISTS, file=spot.file, line=spot.line)


def _questions(document: Document, agent: str) -> Iterator[Case | Problem]:
    beside = {key: inner for key, inner in (document.value or {}).items() if key not in LISTS}
    ids = UniqueIds("id")
    for name in LISTS:
        for spot, question in document.elements(name):
            problems = [*SHAPE.problems(question, spot), *ids.problems(question, spot)]
            if isinstance(question, dict):
                problems += reference_faults(question.get("reference_data"), spot)
                problems += _beyond_the_schema(question, spot)
            yield from problems
            if not any(problem.level is Level.ERROR for problem in problems):
                yield _case(question, agent, {FILE_FIELDS: beside} if beside else {})


def _case(question: Json, agent: str, metadata: Json) -> Case:
    reference = read_reference(question["reference_data"], question["agents_evaluated"])
    kept = {key: question[key] for key in KEPT if key in question}
    if reference.custom:
        kept["reference_data"] = reference.custom
    odd = not question.keys() <= FIELDS.keys()
    unknown = (set_apart(question, _TOP, _NOWHERE).kept if odd else {}) | reference.unknown
    if unknown:
        kept[UNKNOWN] = unknown
    return Case(
        id=question["id"],
        input=Script(turns=tuple(question["user_inputs"])),
        expectations=reference.expectations,
        world=World.GOLDEN,
        labels=labels(question.get("metadata", {}), agent=question.get("agent", agent)),
        metadata=kept | metadata,
        state=question.get("initial_state", {}),
    )


_TOP: Json = {"properties": {key: {} for key in FIELDS}}
_NOWHERE = Spot("")
_MISPLACED = tuple(reference_data.SCHEMA["properties"])


def _beyond_the_schema(question: Json, spot: Spot) -> Iterator[Problem]:
    """Unknown fields are kept and warned about; what belongs inside `reference_data` would go unchecked beside it."""
    if question.keys() <= FIELDS.keys():
        return
    yield from unknown_fields(question, [*FIELDS, *_MISPLACED], file=spot.file, line=spot.line, prefix=spot.prefix)
    for name in _MISPLACED:
        if name in question:
            yield spot.below(name).problem(
                "misplaced-field",
                f"`{name}` is not a field of a question",
                expected=f"reference_data.{name}",
                found=shown(question[name]),
                hint="move it into `reference_data`",
            )
