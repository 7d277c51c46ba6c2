"""The `golden` dialect: JSON with `golden_questions`, each a list of user turns and the tools, trajectory, state and
agents expected of them. docs/dialects/golden.md describes every field. A file is written one question after the other,
so a large one needs little memory; a case that the format cannot hold is refused, never cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from howsure.dialects import reference_data
from howsure.dialects.base import Watch, WatchedDialect
from howsure.dialects.documents import UniqueIds, load_object
from howsure.dialects.extras import KEY as UNKNOWN
from howsure.dialects.extras import restore_unknown, separate_unknown
from howsure.dialects.problems import SchemaChecker, Spot, shown, unknown_fields
from howsure.dialects.reference_data import (
    TEXT,
    TEXTS,
    is_restored,
    read_reference,
    reference_document,
    reference_faults,
)
from howsure.dialects.strict_json import Json, head_keys
from howsure.dialects.writers import (
    AtomicFile,
    Reason,
    SharedMetadata,
    fields_without_place,
    foreign_expectations,
    indented,
    iter_writable,
    metadata_without_place,
    raise_problems,
)
from howsure.errors import Level, Problem
from howsure.model.case import Case, Scenario, Script, SingleTurn, World, user_turns
from howsure.model.expectation import AgentsInvolved, FinalState, ToolCalls, Trajectory

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
SHAPE = SchemaChecker(_QUESTION)
_QUESTIONS: Json = {"type": "array", "items": _QUESTION}
SCHEMA: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "A golden dataset",
    "type": "object",
    "properties": dict.fromkeys(LISTS, _QUESTIONS),
    "oneOf": [{"required": [name]} for name in LISTS],
}
_NAMED = re.compile(r"(?P<agent>.+)_golden\.json", re.IGNORECASE)
FIELDS = _QUESTION["properties"]
FILE_FIELDS = "file_fields"
"""The metadata key with the fields beside the list of questions."""
KEPT = ("metadata", "updated_datetime")


def agent_of(path: Path) -> str:
    """`billing_golden.json` holds questions for the agent `billing`."""
    named = _NAMED.fullmatch(path.name)
    return named["agent"] if named else ""


def labels(metadata: Mapping[str, Any], **ours: str) -> dict[str, str]:
    """The labels of a case: the plain values of its metadata, and `ours`, which win."""
    plain: dict[str, str] = {}
    for key, value in metadata.items():
        if type(value) is str:
            plain[key] = value
        elif isinstance(value, str | int | float):
            plain[key] = str(value).lower() if isinstance(value, bool) else str(value)
    plain |= {key: value for key, value in ours.items() if value}
    return plain


_NOWHERE = Spot("")


def question_document(case: Case, agent: str) -> Json:
    """The case as a question of a file that is named after `agent`."""
    metadata = case.metadata
    document: Json = {
        "id": case.id,
        "user_inputs": list(user_turns(case.input)),
        "agents_evaluated": involved_agents(case),
        **{key: metadata[key] for key in KEPT if key in metadata},
        "reference_data": reference_document(case.expectations, metadata.get("reference_data", {})),
    }
    if case.state:
        document["initial_state"] = case.state
    if labels(metadata.get("metadata", {}), agent=agent) != case.labels:
        document["agent"] = case.labels.get("agent", "")
    restore_unknown(document, metadata.get(UNKNOWN, {}))
    return document


def involved_agents(case: Case) -> list[str]:
    """The names of the agents that should take part."""
    return [name for one in case.expectations if isinstance(one, AgentsInvolved) for name in one.names]


class _Questions:
    """The pieces of a golden file, and whether all its questions can certainly (`sure`) be read again."""

    def __init__(self, cases: SharedMetadata, agent: str) -> None:
        self._cases = cases
        self._agent = agent
        self._ids: set[str] = set()
        self.sure = True

    def pieces(self) -> Iterator[bytes]:
        between = b""
        for case in self._cases:
            yield between or self._opening()
            between = b",\n    "
            question = question_document(case, self._agent)
            new = case.id not in self._ids
            self._ids.add(case.id)
            self.sure = self.sure and new and question.keys() <= FIELDS.keys() and _is_sound(case, question)
            yield indented(question, 2)
        yield b"\n  ]\n}\n" if between else self._opening().rstrip() + b"]\n}\n"

    def _opening(self) -> bytes:
        """The fields beside the list, and the start of the list."""
        file_fields = self._cases.shared
        self.sure = self.sure and file_fields.keys().isdisjoint(LISTS)
        return indented({**file_fields, LISTS[0]: []}, 0).removesuffix(b"]\n}") + b"\n    "


def _is_sound(case: Case, question: Json) -> bool:
    """Whether the question of a case is certainly valid; a usual one is not checked by the schema."""
    metadata = case.metadata
    return (
        type(metadata.get("metadata", {})) is dict
        and "updated_datetime" not in metadata
        and case.id.strip() != ""
        and all(map(str.strip, user_turns(case.input)))
        and all(map(str.strip, involved_agents(case)))
        and is_restored(case.expectations, metadata.get("reference_data", {}))
    ) or (SHAPE.fits(question) and not reference_faults(question["reference_data"], _NOWHERE))


def unwritable(case: Case) -> Iterator[Reason]:
    """The reasons why the format cannot hold the case."""
    yield from foreign_expectations(case, (ToolCalls, Trajectory, FinalState, AgentsInvolved), "golden")
    yield from metadata_without_place(case, (*KEPT, "reference_data", FILE_FIELDS, UNKNOWN), "golden")
    yield from fields_without_place(case, ("name", "profile", "tags", "tools", "recorded"), "golden")
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


class GoldenDialect(WatchedDialect):
    """JSON with `golden_questions` (or `questions`)."""

    name = "golden"

    def detect(self, path: Path, head: bytes) -> bool:
        keys = head_keys(head)
        return any(name in keys for name in LISTS)

    def read_watched(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem]:
        document, agent = load_object(path, watch), agent_of(path)
        yield from document.problems
        if document.value is None:
            return
        yield from _list_problems(document.value, document.spot)
        file_fields = {key: inner for key, inner in document.value.items() if key not in LISTS}
        ids = UniqueIds("id")
        for name in LISTS:
            for spot, question in document.elements(name):
                problems = [*SHAPE.problems(question, spot), *ids.problems(question, spot)]
                if isinstance(question, dict):
                    problems += reference_faults(question.get("reference_data"), spot)
                    problems += _beyond_the_schema(question, spot)
                yield from problems
                if not any(problem.level is Level.ERROR for problem in problems):
                    yield _case(question, agent, {FILE_FIELDS: file_fields} if file_fields else {})

    def write(self, cases: Iterable[Case], path: Path) -> None:
        """Writes one question after the other. What the dialect could not read again is refused."""
        writable = SharedMetadata(iter_writable(cases, path, unwritable), FILE_FIELDS, path)
        questions = _Questions(writable, agent_of(path))
        with AtomicFile(path) as unfinished:
            with open(unfinished, "wb") as file:
                file.writelines(questions.pieces())
            if not questions.sure:
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
    yield from unknown_fields(value, LISTS, spot)


def _case(question: Json, agent: str, metadata: Json) -> Case:
    reference = read_reference(question["reference_data"], question["agents_evaluated"])
    own = {key: question[key] for key in KEPT if key in question}
    if reference.custom:
        own["reference_data"] = reference.custom
    odd = not question.keys() <= FIELDS.keys()
    unknown = (separate_unknown(question, _TOP, _NOWHERE).kept if odd else {}) | reference.unknown
    if unknown:
        own[UNKNOWN] = unknown
    return Case(
        id=question["id"],
        input=Script(turns=tuple(question["user_inputs"])),
        expectations=reference.expectations,
        world=World.GOLDEN,
        labels=labels(question.get("metadata", {}), agent=question.get("agent", agent)),
        metadata=own | metadata,
        state=question.get("initial_state", {}),
    )


_TOP: Json = {"properties": {key: {} for key in FIELDS}}
_MISPLACED = tuple(reference_data.SCHEMA["properties"])


def _beyond_the_schema(question: Json, spot: Spot) -> Iterator[Problem]:
    """Warnings for unknown fields, and errors for fields that belong inside `reference_data`."""
    if question.keys() <= FIELDS.keys():
        return
    yield from unknown_fields(question, [*FIELDS, *_MISPLACED], spot)
    for name in _MISPLACED:
        if name in question:
            yield spot.below(name).problem(
                "misplaced-field",
                f"`{name}` is not a field of a question",
                expected=f"reference_data.{name}",
                found=shown(question[name]),
                hint="move it into `reference_data`",
            )
