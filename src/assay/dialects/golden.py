"""The `golden` dialect: JSON with `golden_questions`, each a list of user turns and the tools, trajectory, state and
agents expected of them. docs/dialects/golden.md describes every field.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.dialects import reference_data
from assay.dialects.documents import (
    Document,
    Json,
    Reason,
    UniqueIds,
    beyond,
    checked,
    foreign_expectations,
    shared,
    unplaced,
    write_json,
)
from assay.dialects.extras import KEY as UNKNOWN
from assay.dialects.extras import put_back, set_apart
from assay.dialects.json_places import Spot, head_keys
from assay.dialects.lines import Watch
from assay.dialects.problems import unknown_fields
from assay.dialects.reference_data import TEXT, TEXTS, read_reference, reference_document, reference_faults
from assay.dialects.schema_fit import Shape
from assay.dialects.wording import shown
from assay.errors import Level, Problem
from assay.model.case import Case, Scenario, Script, SingleTurn, World, user_turns
from assay.model.expectation import AgentsInvolved, FinalState, ToolCalls, Trajectory

LISTS = ("golden_questions", "questions")
_QUESTION: Json = {
    "type": "object",
    "required": ["id", "user_inputs", "agents_evaluated", "reference_data"],
    "properties": {
        "id": TEXT,
        "user_inputs": {**TEXTS, "minItems": 1},
        "agents_evaluated": TEXTS,
        "metadata": {"type": "object"},
        "reference_data": reference_data.SCHEMA,
        "updated_datetime": {"type": "string"},
        "agent": {"type": "string"},
        "initial_state": {"type": "object"},
    },
}
_SHAPE = Shape(_QUESTION)
_QUESTIONS: Json = {"type": "array", "items": _QUESTION}
SCHEMA: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "A golden dataset",
    "type": "object",
    "properties": dict.fromkeys(LISTS, _QUESTIONS),
    "oneOf": [{"required": [name]} for name in LISTS],
}
_NAMED = re.compile(r"(?P<agent>.+)_golden\.json", re.IGNORECASE)
FILE_FIELDS = "file_fields"
"""Where a case's metadata keeps the fields that stand beside the list of questions."""
_KEPT = ("metadata", "updated_datetime")


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
        given = checked(cases, path, unwritable)
        beside = shared(given, FILE_FIELDS, path)
        questions = [question_document(case, agent_of(path)) for case in given]
        write_json({**beside, LISTS[0]: questions}, path)

    def schema(self) -> Json:
        return SCHEMA


def agent_of(path: Path) -> str:
    """`billing_golden.json` holds questions for the agent `billing`."""
    named = _NAMED.fullmatch(path.name)
    return named["agent"] if named else ""


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
            problems = [*_SHAPE.problems(question, spot), *ids.problems(question, spot)]
            if isinstance(question, dict):
                problems += reference_faults(question.get("reference_data"), spot)
                problems += _beyond_the_schema(question, spot)
            yield from problems
            if not any(problem.level is Level.ERROR for problem in problems):
                yield _case(question, agent, {FILE_FIELDS: beside} if beside else {})


def _case(question: Json, agent: str, metadata: Json) -> Case:
    reference = read_reference(question["reference_data"], question["agents_evaluated"])
    kept = {key: question[key] for key in _KEPT if key in question}
    if reference.custom:
        kept["reference_data"] = reference.custom
    odd = not question.keys() <= _FIELDS.keys()
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


_FIELDS = _QUESTION["properties"]
_TOP: Json = {"properties": {key: {} for key in _FIELDS}}
_NOWHERE = Spot("")
_MISPLACED = tuple(reference_data.SCHEMA["properties"])


def _beyond_the_schema(question: Json, spot: Spot) -> Iterator[Problem]:
    """Unknown fields are kept and warned about; what belongs inside `reference_data` would go unchecked beside it."""
    if question.keys() <= _FIELDS.keys():
        return
    yield from unknown_fields(question, [*_FIELDS, *_MISPLACED], file=spot.file, line=spot.line, prefix=spot.prefix)
    for name in _MISPLACED:
        if name in question:
            yield spot.below(name).problem(
                "misplaced-field",
                f"`{name}` is not a field of a question",
                expected=f"reference_data.{name}",
                found=shown(question[name]),
                hint="move it into `reference_data`",
            )


def labels(metadata: Mapping[str, Any], **ours: str) -> dict[str, str]:
    """What a case can be filtered by: the plain values of its metadata, and ours, which win over equal names."""
    plain = {key: label(value) for key, value in metadata.items() if isinstance(value, str | int | float)}
    return {**plain, **{key: value for key, value in ours.items() if value}}


def label(value: str | float) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def question_document(case: Case, agent: str) -> Json:
    """The case as a question of a file whose name says `agent`."""
    given = case.metadata
    document: Json = {
        "id": case.id,
        "user_inputs": list(user_turns(case.input)),
        "agents_evaluated": involved(case),
        **{key: given[key] for key in _KEPT if key in given},
        "reference_data": reference_document(case.expectations, given.get("reference_data", {})),
    }
    if case.state:
        document["initial_state"] = case.state
    if labels(given.get("metadata", {}), agent=agent) != case.labels:
        document["agent"] = case.labels.get("agent", "")
    put_back(document, given.get(UNKNOWN, {}))
    return document


def involved(case: Case) -> list[str]:
    """The agents that should take part."""
    return [name for one in case.expectations if isinstance(one, AgentsInvolved) for name in one.names]


def unwritable(case: Case) -> Iterator[Reason]:
    """Why the format cannot hold the case; nothing where it can."""
    yield from foreign_expectations(case, (ToolCalls, Trajectory, FinalState, AgentsInvolved), "golden")
    yield from unplaced(case, (*_KEPT, "reference_data", FILE_FIELDS, UNKNOWN), "golden")
    yield from beyond(case, ("name", "profile", "tags", "tools", "recorded"), "golden")
    plain = labels(case.metadata.get("metadata", {}), agent=case.labels.get("agent", ""))
    if plain != case.labels:
        yield "labels", "the labels of golden questions are the plain values of their metadata"
    match case.input:
        case Scenario():
            yield "input", "golden questions are fixed turns, not a simulated user"
        case SingleTurn(message=message):
            if case.input != SingleTurn(message=message):
                yield "input", "golden questions have no context, history or attachments"
        case Script():
            return
