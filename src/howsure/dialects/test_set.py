"""The `test-set` dialect: JSON with `items`, each a single message or a scenario with a simulated user, and what is
expected of the agent. docs/dialects/test-set.md describes every field; rubric_files.py and agent_files.py read what
stands in files of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from howsure.dialects import reference_data
from howsure.dialects.base import Watch, WatchedDialect
from howsure.dialects.documents import UniqueIds, load_object
from howsure.dialects.extras import KEY as UNKNOWN
from howsure.dialects.extras import Extras, restore_unknown, separate_unknown
from howsure.dialects.lines import open_file
from howsure.dialects.problems import SchemaChecker, Spot, shown, unknown_fields
from howsure.dialects.reference_data import LOOSE, TEXT, read_reference, reference_document, reference_faults
from howsure.dialects.strict_json import BOM, Json, head_keys
from howsure.dialects.test_set_scenarios import (
    FIELDS,
    NEEDED,
    STATE,
    USED,
    scenario_document,
    scenario_faults,
    scenario_of,
    unwritable_scenario,
)
from howsure.dialects.writers import (
    Reason,
    SharedMetadata,
    fields_without_place,
    foreign_expectations,
    iter_writable,
    metadata_without_place,
    write_json,
)
from howsure.errors import Level, Problem
from howsure.model.case import Case, Input, Scenario, Script, SingleTurn, World
from howsure.model.expectation import (
    ArgumentMode,
    Criteria,
    Criterion,
    Expectation,
    ExpectedCall,
    FinalState,
    ForbiddenTools,
    Goal,
    Matching,
    MatchMode,
    ToolCalls,
    Trajectory,
    text_id,
)

SINGLE_TURN, SCENARIO = "single_turn", "scenario"
REFERENCE = "reference_data"
NO_REFERENCE = read_reference({})
"""The key, in `expected`, of what golden questions expect too."""
HEADER = "test_set"
"""The metadata key with what the file says about the whole test set."""
_KINDS = (Criteria, ToolCalls, ForbiddenTools, Goal, Trajectory, FinalState)
BY_NAME = Matching(mode=MatchMode.SUPERSET, args=ArgumentMode.IGNORE)
"""How a tool that should be used is matched: called at least once, with any arguments."""


def labels_of(kind: str, priority: str | None) -> dict[str, str]:
    return {"type": kind, "priority": priority} if priority else {"type": kind}


def entry_document(case: Case) -> Json:
    """The case as an element of `items`, with every field of the evaluation API."""
    kind, inputs = _inputs_document(case.input)
    document: Json = {
        "item_id": case.id,
        "type": kind,
        "name": case.name,
        "inputs": {**inputs, **({"state": case.state} if case.state else {}), **case.metadata.get("inputs", {})},
        "expected": _expected_document(case),
        "tags": list(case.tags),
    }
    if "priority" in case.labels:
        document["priority"] = case.labels["priority"]
    restore_unknown(document, case.metadata.get(UNKNOWN, {}))
    return document


def _inputs_document(case_input: Input) -> tuple[str, Json]:
    match case_input:
        case SingleTurn(message=message):
            return SINGLE_TURN, {"message": message}
        case Scenario():
            return SCENARIO, scenario_document(case_input)
        case Script(turns=turns):
            return SINGLE_TURN, {"message": turns[0]}


def _expected_document(case: Case) -> Json:
    document: Json = {"success_criteria": [], "should_use_tools": [], "should_not_use_tools": []}
    by_name = _tools_by_name(case)
    referred = [one for one in case.expectations if one is not by_name]
    if reference := reference_document(referred, case.metadata.get(REFERENCE, {})):
        document[REFERENCE] = reference
    for expectation in case.expectations:
        match expectation:
            case Criteria(criteria=criteria):
                document["success_criteria"] = [criterion.text for criterion in criteria]
            case ToolCalls(expected=calls) if expectation is by_name:
                document["should_use_tools"] = [call.name for call in calls]
            case ForbiddenTools(names=names):
                document["should_not_use_tools"] = list(names)
            case Goal(text=text):
                document["expected_outcome"] = text
            case _:
                continue
    return document


def is_by_name(calls: ToolCalls) -> bool:
    """Whether `should_use_tools` holds these calls: different names alone. Others stand in `reference_data`."""
    names = {call.name for call in calls.expected}
    plain = all(call == ExpectedCall(name=call.name) for call in calls.expected)
    return plain and calls.match == BY_NAME and 0 < len(calls.expected) == len(names)


def _tools_by_name(case: Case) -> ToolCalls | None:
    calls = next((one for one in case.expectations if isinstance(one, ToolCalls)), None)
    return calls if calls and is_by_name(calls) else None


def unwritable(case: Case) -> Iterator[Reason]:
    by_name = _tools_by_name(case)
    once = structs.replace(case, expectations=tuple(one for one in case.expectations if one is not by_name))
    yield from foreign_expectations(once, _KINDS, "test-set")
    yield from metadata_without_place(case, (HEADER, "inputs", REFERENCE, UNKNOWN), "test-set")
    yield from fields_without_place(case, ("profile", "tools", "recorded"), "test-set")
    kind, _ = _inputs_document(case.input)
    if case.labels != labels_of(kind, case.labels.get("priority")):
        yield "labels", "the labels of test set items are their type and priority"
    if isinstance(case.input, Script) and len(case.input.turns) > 1:
        yield "input", "fixed turns after the first one have no place in a test set"
    if isinstance(case.input, SingleTurn) and case.input != SingleTurn(message=case.input.message):
        yield "input", "context, history and attachments have no place in a test set"
    if isinstance(case.input, Scenario):
        yield from unwritable_scenario(case.input)
    for expectation in case.expectations:
        if isinstance(expectation, Criteria) and any(
            one != Criterion(id=text_id(one.text), text=one.text) for one in expectation.criteria
        ):
            yield "expectations", "success criteria have a text, and no id, description or weight of their own"


_NOT_RUN = {
    "transcript": "transcripts that exist already are graded with --responses",
    "voice_simulation": "calls by voice cannot be made here; write it as a scenario",
}
_ODD = (LookupError, TypeError, ValueError, AttributeError)
"""Errors that a document of an unexpected form causes."""
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
                REFERENCE: reference_data.SCHEMA,
            },
        },
        "tags": {"type": "array", "items": TEXT},
        "priority": LOOSE,
    },
    "allOf": [_when(SINGLE_TURN, _inputs(message=TEXT)), _when(SCENARIO, {**_inputs(persona=TEXT), **NEEDED})],
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
_SHAPE = SchemaChecker(_ENTRY)
_WHOLE = SchemaChecker({**SCHEMA, "properties": {**_HEADER, "items": {"type": "array"}}})


class TestSetDialect(WatchedDialect):
    """JSON with `items`."""

    name = "test-set"
    __test__ = False  # its name is no request to pytest

    def detect(self, path: Path, head: bytes) -> bool:
        keys = head_keys(head)
        return "items" in keys or "test_set_id" in keys

    def read_watched(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem]:
        document = load_object(path, watch)
        yield from document.problems
        if document.value is None:
            return
        yield from _WHOLE.problems(document.value, document.spot)
        yield from unknown_fields(document.value, SCHEMA["properties"], document.spot)
        header = {key: value for key, value in document.value.items() if key != "items"}
        ids = UniqueIds("item_id")
        for spot, entry in document.elements("items"):
            problems = [*_SHAPE.problems(entry, spot), *ids.problems(entry, spot)]
            if isinstance(entry, dict):
                problems += _contradictions(entry, spot)
                problems += scenario_faults(entry.get("inputs"), spot.below("inputs"))
                expected = entry.get("expected")
                if isinstance(expected, dict) and REFERENCE in expected:
                    problems += reference_faults(expected[REFERENCE], spot.below("expected"))
            sound = not any(problem.level is Level.ERROR for problem in problems)
            unknown = Extras({}, []) if sound and _is_plain(entry) else separate_unknown(entry, _ENTRY, spot)
            yield from problems
            yield from unknown.warnings
            if sound:
                yield _case(entry, header, unknown.kept)

    def read_again(self, path: Path, watch: Watch) -> Iterator[Case | Problem]:
        """The cases of a file that was found valid and has the same hash."""
        with open_file(path, watch) as file:
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
                yield _case(entry, header, {} if _is_plain(entry) else separate_unknown(entry, _ENTRY, spot).kept)
        except _ODD as error:
            yield spot.problem("changed", f"is no longer what it was: {error}")

    def write(self, cases: Iterable[Case], path: Path) -> None:
        writable = SharedMetadata(iter_writable(cases, path, unwritable), HEADER, path)
        entries = [entry_document(case) for case in writable]
        write_json({**writable.shared, "items": entries}, path)

    def schema(self) -> Json:
        return SCHEMA


def _is_plain(entry: Json) -> bool:
    """Whether the entry has no unknown field."""
    fields = _ENTRY["properties"]
    inside = all(entry.get(name, {}).keys() <= fields[name]["properties"].keys() for name in ("inputs", "expected"))
    return inside and entry.keys() <= fields.keys()


def _contradictions(entry: Json, spot: Spot) -> Iterator[Problem]:
    """What the schema cannot state: types that cannot be run, tools both wanted and forbidden, missing criteria."""
    kind = entry.get("type")
    if isinstance(kind, str) and kind in _NOT_RUN:
        yield spot.below("type").problem(
            "unsupported-type",
            f"items of type {kind} cannot be run",
            expected=f"{SINGLE_TURN} or {SCENARIO}",
            found=shown(kind),
            hint=_NOT_RUN[kind],
        )
    required, forbidden = (_listed(entry, name) for name in ("should_use_tools", "should_not_use_tools"))
    for name in required:
        if name in forbidden:
            message = f"the tool {shown(name)} should be used and should not be used"
            yield spot.below("expected", "should_not_use_tools").problem(
                "contradiction", message, expected="each tool in one of the two lists", found=shown(name)
            )
    if not _listed(entry, "success_criteria"):
        message = "there are no success criteria: nothing decides whether this passes, unless a rubric does"
        yield spot.below("expected", "success_criteria").warning("no-criteria", message)


def _listed(entry: Json, name: str) -> list[Any]:
    expected = entry.get("expected")
    names = expected.get(name) if isinstance(expected, dict) else None
    return names if isinstance(names, list) else []


def _case(entry: Json, header: Json, unknown: Json) -> Case:
    inputs = entry["inputs"]
    single = entry["type"] == SINGLE_TURN
    used = ("message",) if single else USED
    unused = {key: value for key, value in inputs.items() if key not in used and value is not None}
    state = unused.pop("state", {})
    metadata: Json = {HEADER: header} if header else {}
    if unused:
        metadata["inputs"] = unused
    expected = entry.get("expected", {})
    reference = read_reference(expected[REFERENCE]) if REFERENCE in expected else NO_REFERENCE
    if reference.custom:
        metadata[REFERENCE] = reference.custom
    unknown = unknown | {f"/expected{pointer}": value for pointer, value in reference.unknown.items()}
    if unknown:
        metadata[UNKNOWN] = unknown
    return Case(
        id=entry["item_id"],
        name=entry.get("name", ""),
        input=SingleTurn(message=inputs["message"]) if single else scenario_of(inputs),
        expectations=(*_expectations(expected), *reference.expectations),
        world=World.TEST_SET,
        tags=tuple(entry.get("tags", ())),
        labels=labels_of(entry["type"], entry.get("priority")),
        metadata=metadata,
        state=state,
    )


def _expectations(expected: Json) -> Iterator[Expectation]:
    if criteria := expected.get("success_criteria"):
        yield Criteria(criteria=tuple(Criterion(id=text_id(text), text=text) for text in criteria))
    if required := expected.get("should_use_tools"):
        yield ToolCalls(expected=tuple(ExpectedCall(name=name) for name in required), match=BY_NAME)
    if forbidden := expected.get("should_not_use_tools"):
        yield ForbiddenTools(names=tuple(forbidden))
    if (outcome := expected.get("expected_outcome")) and outcome.strip():
        yield Goal(text=outcome)
