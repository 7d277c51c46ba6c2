"""The `test-set` dialect: JSON with `items`, each a single message or a scenario with a simulated user, and what is
expected of the agent. docs/dialects/test-set.md describes every field; rubrics and agents are in files of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from howsure.dialects.documents import Document, Json, UniqueIds, checked, shared, write_json
from howsure.dialects.extras import KEY as UNKNOWN
from howsure.dialects.extras import Extras, set_apart
from howsure.dialects.json_places import Spot, head_keys
from howsure.dialects.lines import Watch, opened
from howsure.dialects.problems import unknown_fields
from howsure.dialects.reference_data import TEXT
from howsure.dialects.schema_fit import Shape
from howsure.dialects.strict_json import BOM
from howsure.dialects.test_set_scenarios import FIELDS, LOOSE, NEEDED, STATE, USED, scenario_faults, scenario_of
from howsure.dialects.test_set_writing import (
    BY_NAME,
    HEADER,
    SCENARIO,
    SINGLE_TURN,
    entry_document,
    labels_of,
    unwritable,
)
from howsure.dialects.wording import shown
from howsure.errors import Level, Problem
from howsure.model.case import Case, Input, SingleTurn, World
from howsure.model.expectation import (
    Criteria,
    Criterion,
    Expectation,
    ExpectedCall,
    ForbiddenTools,
    Goal,
    ToolCalls,
    text_id,
)

_NOT_RUN = {
    "transcript": "transcripts that exist already are graded with --responses",
    "voice_simulation": "calls by voice cannot be made here; write it as a scenario",
}
_ODD = (LookupError, TypeError, ValueError, AttributeError)
"""What comes of building cases from a document that nobody looked at."""
_NAMES: Json = {"type": "array", "items": TEXT, "uniqueItems": True}


def _inputs(**needed: Json) -> Json:
    fields = {"message": LOOSE, "persona": LOOSE, **FIELDS, "state": STATE, "tau2": STATE}
    return {"type": "object", "required": list(needed), "properties": fields | needed}


def _when(kind: str, inputs: Json) -> Json:
    condition = {"properties": {"type": {"const": kind}}, "required": ["type"]}
    return {"if": condition, "then": {"properties": {"inputs": inputs}}}


_ENTRY: Json = {
    "type": "object",
    "required": ["item_id", "type", "inputs"],
    "properties": {
        "item_id": TEXT,
        "type": {"type": "string", "enum": [SINGLE_TURN, SCENARIO, *_NOT_RUN]},
        "name": {"type": "string"},
        "inputs": _inputs(),
        "expected": {
            "type": "object",
            "properties": {
                "success_criteria": _NAMES,
                "should_use_tools": _NAMES,
                "should_not_use_tools": _NAMES,
                "expected_outcome": LOOSE,
            },
        },
        "tags": {"type": "array", "items": TEXT},
        "priority": LOOSE,
    },
    "allOf": [
        _when(SINGLE_TURN, _inputs(message=TEXT)),
        _when(SCENARIO, {**_inputs(persona=TEXT), **NEEDED}),
    ],
}
_HEADER: Json = {
    "test_set_id": {"type": "string"},
    "agent_id": {"type": "string"},
    "version": {"type": "integer", "minimum": 1},
    "name": {"type": "string"},
    "description": LOOSE,
    "created_at": LOOSE,
    "updated_at": LOOSE,
}
SCHEMA: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "A test set",
    "type": "object",
    "required": ["items"],
    "properties": {**_HEADER, "items": {"type": "array", "items": _ENTRY}},
}
_SHAPE = Shape(_ENTRY)
_WHOLE = Shape({**SCHEMA, "properties": {**_HEADER, "items": {"type": "array"}}})


class TestSetDialect:
    """JSON with `items`."""

    name = "test-set"
    __test__ = False  # its name is no request to pytest

    def detect(self, path: Path, head: bytes) -> bool:
        keys = head_keys(head)
        return "items" in keys or "test_set_id" in keys

    def read(self, path: Path) -> Iterator[Case | Problem]:
        return self.read_watched(path)

    def read_watched(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem]:
        document = Document(path, watch)
        yield from document.problems
        if document.value is None:
            return
        yield from _WHOLE.problems(document.value, document.spot)
        yield from unknown_fields(document.value, SCHEMA["properties"], file=str(path), line=1)
        header = {key: value for key, value in document.value.items() if key != "items"}
        ids = UniqueIds("item_id")
        for spot, entry in document.elements("items"):
            yield from _entry(entry, spot, [*_SHAPE.problems(entry, spot), *ids.problems(entry, spot)], header)

    def read_again(self, path: Path, watch: Watch) -> Iterator[Case | Problem]:
        """The cases of a file that was found valid, and is hashed to be the same."""
        with opened(path, watch) as file:
            text = file.read()
        spot = Spot(str(path), 1)
        try:
            document = msgspec.json.decode(text.removeprefix(BOM))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            yield from self.read_watched(path)
            return
        try:
            header = {key: value for key, value in document.items() if key != "items"}
            for entry in document["items"]:
                yield _case(entry, header, {} if _is_plain(entry) else set_apart(entry, _ENTRY, spot).kept)
        except _ODD as error:
            yield spot.problem("changed", f"is no longer what it was: {error}")

    def write(self, cases: Iterable[Case], path: Path) -> None:
        given = checked(cases, path, unwritable)
        header = shared(given, HEADER, path)
        write_json({**header, "items": [entry_document(case) for case in given]}, path)

    def schema(self) -> Json:
        return SCHEMA


def _entry(entry: Any, spot: Spot, problems: list[Problem], header: Json) -> Iterator[Case | Problem]:
    if isinstance(entry, dict):
        problems += _contradictions(entry, spot)
        problems += scenario_faults(entry.get("inputs"), spot.below("inputs"))
    sound = not any(problem.level is Level.ERROR for problem in problems)
    apart = Extras({}, []) if sound and _is_plain(entry) else set_apart(entry, _ENTRY, spot)
    yield from problems
    yield from apart.warnings
    if sound:
        yield _case(entry, header, apart.kept)


def _is_plain(entry: Json) -> bool:
    """Whether there is nothing in it that we do not know."""
    fields = _ENTRY["properties"]
    inside = all(entry.get(name, {}).keys() <= fields[name]["properties"].keys() for name in ("inputs", "expected"))
    return inside and entry.keys() <= fields.keys()


def _contradictions(entry: Json, spot: Spot) -> Iterator[Problem]:
    """What the schema cannot see."""
    kind = entry.get("type")
    if isinstance(kind, str) and kind in _NOT_RUN:
        yield spot.below("type").problem(
            "unsupported-type",
            f"items of type {kind} cannot be run",
            expected=f"{SINGLE_TURN} or {SCENARIO}",
            found=shown(kind),
            hint=_NOT_RUN[kind],
        )
    wanted, refused = (_listed(entry, name) for name in ("should_use_tools", "should_not_use_tools"))
    for name in wanted:
        if name in refused:
            message = f"the tool {shown(name)} should be used and should not be used"
            yield spot.below("expected", "should_not_use_tools").problem(
                "contradiction", message, expected="each tool in one of the two lists", found=shown(name)
            )
    if not _listed(entry, "success_criteria"):
        message = "there are no success criteria: nothing decides whether this passes, unless a rubric does"
        yield spot.below("expected", "success_criteria").warning("no-criteria", message)


def _listed(entry: Json, name: str) -> list[Any]:
    expected = entry.get("expected")
    listed = expected.get(name) if isinstance(expected, dict) else None
    return listed if isinstance(listed, list) else []


def _case(entry: Json, header: Json, unknown: Json) -> Case:
    given, used = _given(entry)
    unused = {key: value for key, value in entry["inputs"].items() if key not in used and value is not None}
    state = unused.pop("state", {})
    metadata: Json = {HEADER: header} if header else {}
    if unused:
        metadata["inputs"] = unused
    if unknown:
        metadata[UNKNOWN] = unknown
    return Case(
        id=entry["item_id"],
        name=entry.get("name", ""),
        input=given,
        expectations=tuple(_expectations(entry.get("expected", {}))),
        world=World.TEST_SET,
        tags=tuple(entry.get("tags", ())),
        labels=labels_of(entry["type"], entry.get("priority")),
        metadata=metadata,
        state=state,
    )


def _given(entry: Json) -> tuple[Input, tuple[str, ...]]:
    """What is put to the agent, and the fields it is made of."""
    inputs = entry["inputs"]
    if entry["type"] == SINGLE_TURN:
        return SingleTurn(message=inputs["message"]), ("message",)
    return scenario_of(inputs), USED


def _expectations(expected: Json) -> Iterator[Expectation]:
    if criteria := expected.get("success_criteria"):
        yield Criteria(criteria=tuple(Criterion(id=text_id(text), text=text) for text in criteria))
    if wanted := expected.get("should_use_tools"):
        yield ToolCalls(expected=tuple(ExpectedCall(name=name) for name in wanted), match=BY_NAME)
    if refused := expected.get("should_not_use_tools"):
        yield ForbiddenTools(names=tuple(refused))
    if (outcome := expected.get("expected_outcome")) and outcome.strip():
        yield Goal(text=outcome)
