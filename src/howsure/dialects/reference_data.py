"""`reference_data`: what the golden world expects of an agent, with the matchers in expected arguments. Golden
questions and simulation rows carry the same object, so it is read, checked and written here. The user's own keys stay
as they are. What matchers match is in howsure.matching.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from msgspec import Struct, field, structs

from howsure.dialects.extras import separate_unknown
from howsure.dialects.problems import NOT_BLANK, Spot, did_you_mean, load_schema, shown, unknown_fields
from howsure.dialects.strict_json import Json, parse_json
from howsure.errors import Problem
from howsure.matching.matchers import MATCHERS
from howsure.model.expectation import (
    AgentsInvolved,
    ArgumentMode,
    Expectation,
    ExpectedCall,
    FinalState,
    Matching,
    MatchMode,
    ToolCalls,
    Trajectory,
)

_NESTING = ("$one_of", "$optional", "$contains")


def matcher_problems(value: Any, spot: Spot) -> Iterator[Problem]:
    """Every malformed matcher in an expected value, at any depth."""
    if isinstance(value, list):
        for place, inner in enumerate(value):
            yield from matcher_problems(inner, spot.below(place))
    elif isinstance(value, dict):
        name = next((key for key in value if key.startswith("$")), None)
        if name is not None:
            yield from _matcher(name, value, spot)
            return
        for key, inner in value.items():
            yield from matcher_problems(inner, spot.below(key))


def _matcher(name: str, value: dict[str, Any], spot: Spot) -> Iterator[Problem]:
    kind = MATCHERS.get(name)
    if kind is None:
        known, hint = ", ".join(MATCHERS), did_you_mean(name, MATCHERS)
        yield spot.below(name).problem(
            "bad-matcher", f"`{name}` is no matcher", expected=known, found=shown(value), hint=hint
        )
        return
    for other in value:
        if other not in kind.keys:
            message, hint = f"`{other}` cannot stand beside `{name}`", "put the matcher in an object of its own"
            yield spot.below(other).problem("bad-matcher", message, found=shown(value), hint=hint)
    # What is inside is looked at below, where its place is known.
    malformed = kind.check(value, name, lambda inner, path: [])
    for sentence in malformed:
        yield spot.below(name).problem("bad-matcher", sentence.partition(": ")[2] or sentence, found=shown(value))
    if name in _NESTING and not malformed:
        yield from matcher_problems(value[name], spot.below(name))


TEXT: Json = {"type": "string", "pattern": NOT_BLANK}
LOOSE: Json = {"type": ["string", "null"]}
TEXTS: Json = {"type": "array", "items": TEXT}
MODES = {mode.value: mode for mode in MatchMode} | {"strict": MatchMode.EXACT, "unordered": MatchMode.ANY_ORDER}
ARGUMENT_MODES = {mode.value: mode for mode in ArgumentMode}
_ARGUMENT_MODE: Json = {"enum": list(ARGUMENT_MODES)}
_MATCH: Json = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "mode": {"enum": list(MODES)},
        "args": _ARGUMENT_MODE,
        "args_for": {
            "type": "object",
            "additionalProperties": {"anyOf": [{"type": "string", **_ARGUMENT_MODE}, TEXTS]},
        },
        "only": TEXTS,
        "ignore": TEXTS,
    },
}
_CALL: Json = {
    "type": "object",
    "required": ["tool_name"],
    "properties": {
        "tool_name": TEXT,
        "input_arguments": {"type": ["object", "string", "null"]},
        "reason": {"type": "string"},
        "message": {"type": "integer", "minimum": 1},
        "turn": {"type": "integer", "minimum": 1},
    },
}
_ADK = load_schema("adk_criteria")["properties"]
"""Criteria of ADK are no expectations of ours: they are checked here, and kept as they are."""
SCHEMA: Json = {
    "type": "object",
    "additionalProperties": True,
    "properties": {
        "reference_tool_interactions": {"type": "array", "items": _CALL},
        "reference_trajectory": TEXTS,
        "reference_state_variables": {"type": "object"},
        "tool_match": _MATCH,
        "trajectory_match": _MATCH,
        **_ADK,
    },
}
STANDARD = {key: value for key, value in SCHEMA["properties"].items() if key not in _ADK}
_CALL_FIELDS = _CALL["properties"].keys()
_NOWHERE = Spot("")
INTERACTIONS = "/reference_data/reference_tool_interactions"
"""The JSON Pointer of reference calls in a golden question and in a simulation row."""
_MATCHED = {"tool_match": "reference_tool_interactions", "trajectory_match": "reference_trajectory"}
NEAR = 0.85
"""How alike a key must be to one of ours to be taken for a slip of the pen."""
TOOL_DEFAULT = Matching()
TRAJECTORY_DEFAULT = Matching(mode=MatchMode.IN_ORDER)


class ReferenceData(Struct, frozen=True, kw_only=True):
    """The expectations, and everything in `reference_data` that they do not hold:

    `custom` are the user's own keys; `unknown` are unknown fields of expected calls, by JSON Pointer.
    """

    expectations: tuple[Expectation, ...] = ()
    custom: Json = field(default_factory=dict)
    unknown: Json = field(default_factory=dict)


def reference_faults(data: Any, spot: Spot) -> list[Problem]:
    """What the schema cannot state: texts that are not JSON, malformed matchers, unknown fields of calls, misspelt
    keys, match settings with nothing to match. Parts of a wrong type are skipped. `spot` is the place of the object
    that holds `data`."""
    if not isinstance(data, dict):
        return []
    problems: list[Problem] = []
    for key in data:
        meant = "" if key in STANDARD else _near_miss(key)
        if meant and meant not in data:
            message = f"`{key}` is a key of your own, which no grader checks; it is kept"
            at, hint = spot.below("reference_data", key), f"did you mean `{meant}`?"
            problems.append(at.warning("misspelt-field", message, found=key, hint=hint))
    for name, needed in _MATCHED.items():
        if name in data and needed not in data:
            message = f"`{name}` has no effect without `{needed}`; it is kept"
            at = spot.below("reference_data", name)
            problems.append(at.warning("match-without-reference", message, found=shown(data[name])))
    calls = data.get("reference_tool_interactions")
    for place, call in enumerate(calls if isinstance(calls, list) else ()):
        if isinstance(call, dict) and not is_plain_call(call):
            problems += _call_faults(call, spot.below("reference_data", "reference_tool_interactions", place))
    return problems


@lru_cache(maxsize=1024)
def _near_miss(key: str) -> str:
    """The field that was probably meant by this key; empty for keys of the user's own."""
    near = get_close_matches(key.lower().replace("-", "_"), STANDARD, n=1, cutoff=NEAR)
    return near[0] if near else ""


def is_plain_call(call: Json) -> bool:
    """Whether a call certainly has no faults: known fields, and arguments with plain values only."""
    arguments = call.get("input_arguments")
    if not call.keys() <= _CALL_FIELDS or isinstance(arguments, str):
        return False
    if not isinstance(arguments, dict):
        return True
    nested = any(isinstance(value, dict | list) for value in arguments.values())
    return not nested and not any(key.startswith("$") for key in arguments)


def _call_faults(call: Json, spot: Spot) -> Iterator[Problem]:
    at = spot.below("input_arguments")
    arguments, problems = _arguments(call.get("input_arguments"), at)
    yield from problems
    for key, value in arguments.items():
        if key.startswith("$"):
            hint = "a matcher stands in the place of one argument's value; for any arguments, set args to ignore"
            yield at.below(key).problem("bad-matcher", f"`{key}` is not an argument", found=key, hint=hint)
        else:
            yield from matcher_problems(value, at.below(key))
    yield from unknown_fields(call, _CALL_FIELDS, spot)


def _arguments(raw: Any, spot: Spot) -> tuple[Json, list[Problem]]:
    """The expected arguments: an object, or the JSON text of one; none where nothing is written."""
    if isinstance(raw, str):
        raw, problems = parse_json(raw.encode("utf-8", "surrogatepass"), file=spot.file, line=None)
        if problems:
            return {}, [structs.replace(problem, line=spot.line, field=spot.prefix) for problem in problems]
        if not isinstance(raw, dict):
            text = "an object, or the JSON text of one"
            return {}, [spot.problem("wrong-type", f"must be {text}", expected=text, found=shown(raw))]
    return raw if isinstance(raw, dict) else {}, []


def read_reference(data: Json, agents: Iterable[str] = ()) -> ReferenceData:
    """The expectations in `data`, which fulfils SCHEMA and has no faults. `agents` should take part."""
    expectations: list[Expectation] = []
    calls = data.get("reference_tool_interactions")
    unknown_by_pointer: Json = {}
    if calls is not None and any(not call.keys() <= _CALL_FIELDS for call in calls):
        calls = [{**call} for call in calls]
        unknown_by_pointer = separate_unknown(calls, {"items": _CALL}, _NOWHERE).kept
    if calls is not None:
        match = _matching(data.get("tool_match"), TOOL_DEFAULT)
        expected = [
            ExpectedCall(
                name=call["tool_name"],
                arguments=_arguments(call.get("input_arguments"), _NOWHERE)[0],
                reason=call.get("reason", ""),
                message=call.get("message"),
                turn=call.get("turn"),
            )
            for call in calls
        ]
        expectations.append(ToolCalls(expected=tuple(expected), match=match))
    if "reference_trajectory" in data:
        match = _matching(data.get("trajectory_match"), TRAJECTORY_DEFAULT)
        expectations.append(Trajectory(steps=tuple(data["reference_trajectory"]), match=match))
    if data.get("reference_state_variables"):
        expectations.append(FinalState(variables=data["reference_state_variables"]))
    if involved := tuple(agents):
        expectations.append(AgentsInvolved(names=involved))
    custom = {key: value for key, value in data.items() if key not in STANDARD or _MATCHED.get(key, key) not in data}
    unknown = {f"{INTERACTIONS}{pointer}": value for pointer, value in unknown_by_pointer.items()}
    return ReferenceData(expectations=tuple(expectations), custom=custom, unknown=unknown)


def _matching(settings: Json | None, default: Matching) -> Matching:
    if not settings:
        return default
    return Matching(
        mode=MODES[settings["mode"]] if "mode" in settings else default.mode,
        args=ARGUMENT_MODES[settings["args"]] if "args" in settings else None,
        args_for={
            tool: ARGUMENT_MODES[how] if isinstance(how, str) else tuple(how)
            for tool, how in settings.get("args_for", {}).items()
        },
        only=tuple(settings["only"]) if "only" in settings else None,
        ignore=tuple(settings.get("ignore", ())),
    )


def reference_document(expectations: Iterable[Expectation], custom: Mapping[str, Any]) -> Json:
    """The `reference_data` of these expectations, without `AgentsInvolved`, which the format has elsewhere."""
    document: Json = {}
    for expectation in expectations:
        match expectation:
            case ToolCalls(expected=calls, match=matching):
                document["reference_tool_interactions"] = [
                    {"tool_name": call.name, "input_arguments": call.arguments}
                    | ({"reason": call.reason} if call.reason else {})
                    | ({} if call.message is None else {"message": call.message})
                    | ({} if call.turn is None else {"turn": call.turn})
                    for call in calls
                ]
                document |= _match_document("tool_match", matching, TOOL_DEFAULT)
            case Trajectory(steps=steps, match=matching):
                document["reference_trajectory"] = list(steps)
                document |= _match_document("trajectory_match", matching, TRAJECTORY_DEFAULT)
            case FinalState(variables=variables):
                document["reference_state_variables"] = variables
            case _:
                continue
    return {**document, **{key: value for key, value in custom.items() if key not in document}}


def _match_document(name: str, matching: Matching, default: Matching) -> Json:
    if matching == default:
        return {}
    document: Json = {"mode": matching.mode.value}
    if matching.args is not None:
        document["args"] = matching.args.value
    if matching.args_for:
        document["args_for"] = {
            tool: how.value if isinstance(how, ArgumentMode) else list(how) for tool, how in matching.args_for.items()
        }
    if matching.only is not None:
        document["only"] = list(matching.only)
    if matching.ignore:
        document["ignore"] = list(matching.ignore)
    return {name: document}


def is_restored(expectations: Iterable[Expectation], custom: Mapping[str, Any]) -> bool:
    """Whether reading the document of these expectations certainly gives them back: one of each kind, in reading order,
    with plain arguments and default match settings only."""
    last = -1
    for expectation in expectations:
        place = _ORDER.get(type(expectation), -1)
        if place <= last or not _is_plain(expectation):
            return False
        last = place
    return custom.keys().isdisjoint(STANDARD)


def _is_plain(expectation: Expectation) -> bool:
    match expectation:
        case ToolCalls(expected=calls, match=matching):
            return matching == TOOL_DEFAULT and all(
                call.name.strip()
                and (call.message is None or call.message > 0)
                and (call.turn is None or call.turn > 0)
                and is_plain_call({"input_arguments": call.arguments})
                for call in calls
            )
        case Trajectory(steps=steps, match=matching):
            return matching == TRAJECTORY_DEFAULT and all(map(str.strip, steps))
        case FinalState(variables=variables):
            return bool(variables)
        case AgentsInvolved(names=names):
            return bool(names)
        case _:
            return False


_ORDER: dict[type, int] = {ToolCalls: 0, Trajectory: 1, FinalState: 2, AgentsInvolved: 3}
