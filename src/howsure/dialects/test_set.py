"""The `test-set` dialect: JSON with `items`, each a single message, a scenario with a simulated user or a finished
conversation, and what is expected of the agent. docs/dialects/test-set.md describes every field; agent_files.py reads
what stands in files of its own. The conversation plan of a scenario may be one text: its lines (or the sentences of a
single line) are the steps; "If the agent …, …" is a condition.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from howsure.dialects import finished_items, reference_data
from howsure.dialects.base import Watch, WatchedDialect
from howsure.dialects.documents import UniqueIds, load_object
from howsure.dialects.extras import KEY as UNKNOWN
from howsure.dialects.extras import Extras, restore_unknown, separate_unknown
from howsure.dialects.finished_items import finished_script, finished_transcript
from howsure.dialects.lines import open_file
from howsure.dialects.problems import SchemaChecker, Spot, shown, unknown_fields
from howsure.dialects.reference_data import LOOSE, TEXT, TEXTS, read_reference, reference_document, reference_faults
from howsure.dialects.strict_json import BOM, Json, head_keys
from howsure.dialects.trace_files import is_codex
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
from howsure.model.adk_criteria import CRITERIA
from howsure.model.case import (
    FINISHED,
    Case,
    Fact,
    Input,
    PlanStep,
    Scenario,
    Script,
    SingleTurn,
    World,
    finished_transcript_of,
)
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

MAX_TURNS = 8
TURNS: Json = {"type": ["integer", "null"], "minimum": 1}
STATE: Json = {"type": ["object", "null"]}
_VALUE: Json = {"anyOf": [TEXT, {"type": "number"}]}
_FACT: Json = {
    "type": "object",
    "required": ["name", "value"],
    "properties": {"name": TEXT, "value": _VALUE, "asked_by": TEXTS},
    "additionalProperties": False,
}
FACTS: Json = {
    "anyOf": [{"type": "object", "additionalProperties": _VALUE}, {"type": "array", "items": _FACT}, {"type": "null"}]
}
_STEP: Json = {
    "type": "object",
    "required": ["say"],
    "properties": {"say": TEXT, "when": {"type": "string"}},
    "additionalProperties": False,
}
PLAN: Json = {"anyOf": [TEXT, {"type": "array", "items": {"anyOf": [TEXT, _STEP]}}, {"type": "null"}]}
FIELDS: Json = {
    "initial_message": LOOSE,
    "starting_prompt": LOOSE,
    "max_turns": TURNS,
    "goal": LOOSE,
    "facts": FACTS,
    "conversation_plan": PLAN,
}
NEEDED: Json = {
    # Either name of the opening will do; where both are missing, the first is the one to ask for.
    "if": {"properties": {"starting_prompt": {"type": "string"}}, "required": ["starting_prompt"]},
    "then": {"properties": {"starting_prompt": TEXT}},
    "else": {"properties": {"initial_message": TEXT}, "required": ["initial_message"]},
}
USED = ("persona", *FIELDS)

_MARK = re.compile(r"\A(?:[-*•–]|\(?\d+[.)]|[Ss]tep \d+[:.])\s+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[\"'“„«¿¡(]*[A-ZÄÖÜÉÀÁÍÓÚÑÇ])")
_CONDITION = re.compile(
    r"\A(?:if|when|whenever|once|after|as soon as|should|wenn|falls|sobald|si|quand|lorsque|cuando|se|quando|als|"
    r"wanneer)\s+"
    r"(?P<when>(?:(?:the|an?|your|der|die|das|le|la|l'|el|il|lo|o|de|het)\s+)?"
    r"(?:agent|assistant|bot|chatbot|support|representative|company|service|system|price|cost|fee|they|asked|offered|told|"
    r"refused|agenten?|assistent|assistente|preis|prix|precio|prezzo|prijs)\b.*?)[,:]\s+"
    r"(?:(?:then|dann|alors|entonces|allora)\s+)?(?P<say>\S.*)\Z",
    re.IGNORECASE | re.DOTALL,
)  # fmt: skip


def scenario_of(inputs: Mapping[str, Any]) -> Scenario:
    """The scenario that valid inputs describe."""
    turns, facts, plan = inputs.get("max_turns"), inputs.get("facts") or (), inputs.get("conversation_plan") or ()
    if isinstance(facts, dict):
        facts = [{"name": name, "value": value} for name, value in facts.items()]
    return Scenario(
        persona=inputs["persona"],
        initial_message=inputs.get("initial_message") or inputs["starting_prompt"],
        max_turns=MAX_TURNS if turns is None else int(turns),
        goal=inputs.get("goal") or "",
        facts=tuple(
            Fact(
                name=fact["name"],
                value=fact["value"] if isinstance(fact["value"], str) else json.dumps(fact["value"]),
                asked_by=tuple(fact.get("asked_by", ())),
            )
            for fact in facts
        ),
        plan=tuple(
            step_of(step) if isinstance(step, str) else PlanStep(say=step["say"], when=step.get("when", ""))
            for step in (split_plan(plan) if isinstance(plan, str) else plan)
        ),
    )


def split_plan(text: str) -> list[str]:
    """The steps of a plan that is one text: its lines, or the sentences of a single line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    pieces = lines if len(lines) > 1 else _SENTENCE.split(lines[0] if lines else text)
    return [step for piece in pieces if (step := _MARK.sub("", piece.strip()).strip())] or [text.strip()]


def step_of(text: str) -> PlanStep:
    """The step of a text. `If the agent offers a voucher, decline it.` has a condition; any other text has none."""
    match = _CONDITION.match(text)
    return PlanStep(say=match["say"], when=f"{match['when']}".strip()) if match else PlanStep(say=text)


def scenario_document(scenario: Scenario) -> Json:
    """The inputs of a scenario, without empty fields."""
    document: Json = {
        "persona": scenario.persona,
        "initial_message": scenario.initial_message,
        "max_turns": scenario.max_turns,
    }
    if scenario.goal:
        document["goal"] = scenario.goal
    if scenario.facts:
        document["facts"] = [
            {"name": fact.name, "value": fact.value, **({"asked_by": list(fact.asked_by)} if fact.asked_by else {})}
            for fact in scenario.facts
        ]
        if not any(fact.asked_by for fact in scenario.facts):
            document["facts"] = {fact.name: fact.value for fact in scenario.facts}
    if scenario.plan:
        # A step is plain text where reading that gives the same step.
        document["conversation_plan"] = [
            step.say if step_of(step.say) == step else {"say": step.say, **({"when": step.when} if step.when else {})}
            for step in scenario.plan
        ]
    return document


def scenario_faults(inputs: Any, spot: Spot) -> Iterator[Problem]:
    """What the schema cannot state: two openings, facts without a name or with a repeated one."""
    if not isinstance(inputs, dict):
        return
    one, other = inputs.get("initial_message"), inputs.get("starting_prompt")
    if isinstance(one, str) and isinstance(other, str) and one != other:
        yield spot.below("starting_prompt").problem(
            "contradiction",
            "`initial_message` and `starting_prompt` are two names of one thing, and differ",
            expected=shown(one),
            found=shown(other),
            hint="keep one of them",
        )
    facts = inputs.get("facts")
    if isinstance(facts, dict) and any(not name.strip() for name in facts):
        yield spot.below("facts").problem("empty", "a fact needs a name", expected="a text", found='""')
    names = [fact.get("name") for fact in facts if isinstance(fact, dict)] if isinstance(facts, list) else []
    for place, name in enumerate(names):
        if isinstance(name, str) and name in names[:place]:
            message = f"the fact {shown(name)} is listed already"
            yield spot.below("facts", place, "name").problem("duplicate-value", message, found=shown(name))


def unwritable_scenario(scenario: Scenario) -> Iterator[Reason]:
    """The reasons why these fields cannot hold the scenario."""
    names = [fact.name for fact in scenario.facts]
    if len(set(names)) < len(names):
        yield "input", "two facts of a scenario cannot have one name"
    if any(not text.strip() for fact in scenario.facts for text in (fact.name, fact.value, *fact.asked_by)):
        yield "input", "a fact of a scenario needs a name and a value, and no blank words it is asked by"
    if any(not step.say.strip() for step in scenario.plan):
        yield "input", "a step of a conversation plan needs words to say"


SINGLE_TURN, SCENARIO = "single_turn", "scenario"
REFERENCE = "reference_data"
"""The key, in `expected`, of what golden questions expect too."""
NO_REFERENCE = read_reference({})
HEADER = "test_set"
"""The metadata key with what the file says about the whole test set."""
_KINDS = (Criteria, ToolCalls, ForbiddenTools, Goal, Trajectory, FinalState)
BY_NAME = Matching(mode=MatchMode.SUPERSET, args=ArgumentMode.IGNORE)
"""How a tool that should be used is matched: called at least once, with any arguments."""


def labels_of(kind: str, priority: str | None) -> dict[str, str]:
    return {"type": kind, "priority": priority} if priority else {"type": kind}


def entry_document(case: Case) -> Json:
    """The case as an element of `items`, with every field of the evaluation API."""
    kind, inputs = (case.labels["type"], {}) if finished_transcript_of(case) else _inputs_document(case.input)
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
    finished = finished_transcript_of(case) is not None
    yield from fields_without_place(case, ("profile", "tools", *(() if finished else ("recorded",))), "test-set")
    kind, _ = (case.labels["type"], {}) if finished else _inputs_document(case.input)
    if case.labels != labels_of(kind, case.labels.get("priority")):
        yield "labels", "the labels of test set items are their type and priority"
    if isinstance(case.input, Script) and len(case.input.turns) > 1 and not finished:
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


_ODD = (LookupError, TypeError, ValueError, AttributeError)
"""Errors that a document of an unexpected form causes."""
_NAMES: Json = {"type": "array", "items": TEXT, "uniqueItems": True}


def _inputs(**needed: Json) -> Json:
    fields = {"message": LOOSE, "persona": LOOSE, **FIELDS, **finished_items.FIELDS, "state": STATE, "tau2": STATE}
    return {"type": "object", "required": list(needed), "properties": fields | needed}


def _when(kind: str, inputs: Json) -> Json:
    condition = {"properties": {"type": {"const": kind}}, "required": ["type"]}
    return {"if": condition, "then": {"properties": {"inputs": inputs}}}


_ENTRY: Json = {
    "type": "object",
    "required": ["item_id", "type", "inputs"],
    "properties": {
        "item_id": TEXT,
        "type": {"type": "string", "enum": [SINGLE_TURN, SCENARIO, *FINISHED]},
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
    "allOf": [
        _when(SINGLE_TURN, _inputs(message=TEXT)),
        _when(SCENARIO, {**_inputs(persona=TEXT), **NEEDED}),
        *(_when(kind, _inputs(messages=finished_items.MESSAGES)) for kind in FINISHED),
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
_SHAPE = SchemaChecker(_ENTRY)
_WHOLE = SchemaChecker({**SCHEMA, "properties": {**_HEADER, "items": {"type": "array"}}})


class TestSetDialect(WatchedDialect):
    """JSON with `items`."""

    name = "test-set"
    __test__ = False  # its name is no request to pytest

    def detect(self, path: Path, head: bytes) -> bool:
        keys = head_keys(head)
        return ("items" in keys and not is_codex(head)) or "test_set_id" in keys

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
    """What the schema cannot state: tools both wanted and forbidden, missing criteria."""
    required, forbidden = (_listed(entry, name) for name in ("should_use_tools", "should_not_use_tools"))
    for name in required:
        if name in forbidden:
            message = f"the tool {shown(name)} should be used and should not be used"
            yield spot.below("expected", "should_not_use_tools").problem(
                "contradiction", message, expected="each tool in one of the two lists", found=shown(name)
            )
    expected = entry.get("expected")
    reference = expected.get(REFERENCE) if isinstance(expected, dict) else None
    of_adk = isinstance(reference, dict) and reference.get(CRITERIA)
    if not _listed(entry, "success_criteria") and not of_adk:
        message = "there are no success criteria: nothing decides whether this passes, unless a rubric does"
        yield spot.below("expected", "success_criteria").warning("no-criteria", message)


def _listed(entry: Json, name: str) -> list[Any]:
    expected = entry.get("expected")
    names = expected.get(name) if isinstance(expected, dict) else None
    return names if isinstance(names, list) else []


def _case(entry: Json, header: Json, unknown: Json) -> Case:
    inputs = entry["inputs"]
    kind = entry["type"]
    used = () if kind in FINISHED else ("message",) if kind == SINGLE_TURN else USED
    unused = {key: value for key, value in inputs.items() if key not in used and value is not None}
    recorded = None
    if kind in FINISHED:
        recorded = finished_transcript(inputs["messages"], inputs.get("tool_calls") or (), inputs.get("state"))
    state = {} if recorded else unused.pop("state", {})
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
        input=_input(kind, inputs),
        expectations=(*_expectations(expected), *reference.expectations),
        world=World.TEST_SET,
        tags=tuple(entry.get("tags", ())),
        labels=labels_of(entry["type"], entry.get("priority")),
        metadata=metadata,
        state=state,
        recorded=recorded,
    )


def _input(kind: str, inputs: Json) -> Input:
    if kind in FINISHED:
        return finished_script(inputs)
    return SingleTurn(message=inputs["message"]) if kind == SINGLE_TURN else scenario_of(inputs)


def _expectations(expected: Json) -> Iterator[Expectation]:
    if criteria := expected.get("success_criteria"):
        yield Criteria(criteria=tuple(Criterion(id=text_id(text), text=text) for text in criteria))
    if required := expected.get("should_use_tools"):
        yield ToolCalls(expected=tuple(ExpectedCall(name=name) for name in required), match=BY_NAME)
    if forbidden := expected.get("should_not_use_tools"):
        yield ForbiddenTools(names=tuple(forbidden))
    if (outcome := expected.get("expected_outcome")) and outcome.strip():
        yield Goal(text=outcome)
