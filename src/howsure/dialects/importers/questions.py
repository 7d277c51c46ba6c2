"""Golden questions made from turns with expectations: what raw logs and ADK eval sets have in common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct, field

from howsure.dialects.extras import KEY as UNKNOWN
from howsure.dialects.extras import separate_unknown
from howsure.dialects.golden import labels
from howsure.dialects.importers.base import HashIds, ImportOptions
from howsure.dialects.problems import SchemaChecker, Spot, unknown_fields
from howsure.dialects.reference_data import INTERACTIONS, TEXT
from howsure.dialects.simulation_messages import arguments_of
from howsure.dialects.strict_json import Json
from howsure.errors import Problem
from howsure.model.case import Case, Input, Script, World
from howsure.model.expectation import AgentsInvolved, Expectation, ExpectedCall, FinalState, ToolCalls, Trajectory

PREFIX = "q"
_CALL: Json = {
    "type": "object",
    "required": ["tool_name"],
    "properties": {"tool_name": TEXT, "tool_input": {"type": ["object", "string", "null"]}},
}
TURN: Json = {
    "type": "object",
    "required": ["query"],
    "properties": {
        "query": TEXT,
        "expected_tool_use": {"type": ["array", "null"], "items": _CALL},
        "reference": {"type": ["string", "null"]},
        "expected_intermediate_agent_responses": {"type": ["array", "null"]},
        "conversation_id": {"type": ["string", "integer", "null"]},
        "session_id": {"type": ["string", "integer", "null"]},
    },
}
TURN_SHAPE = SchemaChecker(TURN)
_FIELDS, _CALL_FIELDS = TURN["properties"], _CALL["properties"]
_NOWHERE = Spot("")


class LoggedTurn(Struct, frozen=True, kw_only=True):
    """A user's turn and what is expected of the agent. `calls` None: not stated. `more` are unknown fields; `beside`
    are unknown fields of its calls, by JSON Pointer."""

    query: str
    calls: tuple[ExpectedCall, ...] | None = None
    reference: str = ""
    others: list[Any] = field(default_factory=list)
    more: Json = field(default_factory=dict)
    beside: Json = field(default_factory=dict)


class QuestionSource(Struct, frozen=True, kw_only=True):
    """What is known about a question besides its turns."""

    file: str = ""
    agent: str = ""
    state: Json = field(default_factory=dict)
    final_state: Json = field(default_factory=dict)
    metadata: Json = field(default_factory=dict)


def turn_of(element: Json) -> LoggedTurn:
    """The turn of an element that fits TURN."""
    calls = element.get("expected_tool_use")
    return LoggedTurn(
        query=element["query"],
        calls=None
        if calls is None
        else tuple(
            ExpectedCall(name=call["tool_name"], arguments=arguments_of(call.get("tool_input"))) for call in calls
        ),
        reference=element.get("reference") or "",
        others=element.get("expected_intermediate_agent_responses") or [],
        more={key: value for key, value in element.items() if key not in _FIELDS},
        beside={
            f"/{place}{pointer}": value
            for place, call in enumerate(calls or ())
            for pointer, value in (
                {} if call.keys() <= _CALL_FIELDS.keys() else separate_unknown({**call}, _CALL, _NOWHERE).kept
            ).items()
        },
    )


def turn_problems(element: Any, spot: Spot) -> Iterator[Problem]:
    """Why an element is not a turn, and warnings for unknown fields."""
    if not TURN_SHAPE.fits(element):
        yield from TURN_SHAPE.problems(element, spot)
    if isinstance(element, dict) and not element.keys() <= _FIELDS.keys():
        yield from unknown_fields(element, list(_FIELDS), spot)
    calls = element.get("expected_tool_use") if isinstance(element, dict) else None
    for place, call in enumerate(calls if isinstance(calls, list) else ()):
        if isinstance(call, dict) and not call.keys() <= _CALL_FIELDS.keys():
            at = spot.below("expected_tool_use", place)
            yield from unknown_fields(call, list(_CALL_FIELDS), at)


def question(
    id: str, turns: Sequence[LoggedTurn], source: QuestionSource, options: ImportOptions, given: Input | None = None
) -> Case:
    """One golden question. `given` is the input where that is not the turns one after the other."""
    agent = options.agent or source.agent
    metadata: Json = {**source.metadata, **_more(turns), **options.metadata}
    if source.file:
        metadata = {"source_file": source.file, **metadata}
    reference = _reference(turns)
    unknown = _unknown(turns)
    return Case(
        id=id,
        input=given or Script(turns=tuple(turn.query for turn in turns)),
        expectations=tuple(_expectations(turns, source, agent if options.agent else "", agent)),
        world=World.GOLDEN,
        labels=labels(metadata, agent=agent),
        metadata={
            "metadata": metadata,
            **({"reference_data": reference} if reference else {}),
            **({UNKNOWN: unknown} if unknown else {}),
        },
        state=source.state,
    )


def _expectations(
    turns: Sequence[LoggedTurn], source: QuestionSource, routed: str, agent: str
) -> Iterator[Expectation]:
    if any(turn.calls is not None for turn in turns):
        yield ToolCalls(expected=tuple(call for turn in turns for call in turn.calls or ()))
    if routed:
        yield Trajectory(steps=(routed,))
    if source.final_state:
        yield FinalState(variables=source.final_state)
    if agent:
        yield AgentsInvolved(names=(agent,))


def _reference(turns: Sequence[LoggedTurn]) -> Json:
    """Reference data that no program grades; judged evals may map it."""
    if len(turns) == 1 and not turns[0].others:
        return {"expected_response": turns[0].reference} if turns[0].reference else {}
    responses = [turn.reference for turn in turns]
    reference: Json = {}
    if responses and responses[-1]:
        reference["expected_response"] = responses[-1]
    if len(responses) > 1 and any(responses):
        reference["expected_responses"] = responses
    if any(turn.others for turn in turns):
        reference["expected_intermediate_agent_responses"] = [turn.others for turn in turns]
    return reference


def _more(turns: Sequence[LoggedTurn]) -> Json:
    if len(turns) == 1:
        return turns[0].more
    return {"turns": [turn.more for turn in turns]} if any(turn.more for turn in turns) else {}


def _unknown(turns: Sequence[LoggedTurn]) -> Json:
    """Unknown fields of calls, at their places in the golden format."""
    unknown: Json = {}
    before = 0
    for turn in turns:
        for pointer, value in turn.beside.items():
            _, place, inner = pointer.split("/", 2)
            unknown[f"{INTERACTIONS}/{before + int(place)}/{inner}"] = value
        before += len(turn.calls or ())
    return unknown


def hash_id(ids: HashIds, turns: Sequence[LoggedTurn]) -> str:
    return ids.of(*(turn.query for turn in turns))
