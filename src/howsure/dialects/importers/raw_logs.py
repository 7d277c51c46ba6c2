"""`raw-logs`: a list of objects (or JSON lines) with `query` and optionally `expected_tool_use`, as conversations were
logged. One golden question for each conversation, or for each turn. Lines are decoded many at once into typed turns;
where one of them may be wrong or has unknown fields, they are read one by one. `question` makes golden questions of
turns with expectations; ADK eval sets use it too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from operator import attrgetter, methodcaller
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType, field, structs

from howsure.dialects.base import Watch, WatchedDialect
from howsure.dialects.extras import KEY as UNKNOWN
from howsure.dialects.extras import separate_unknown
from howsure.dialects.golden import labels
from howsure.dialects.importers.base import HashIds, ImportOptions, OptionImporter, is_list, list_records
from howsure.dialects.lines import first_keys, line_groups, open_file, read_objects
from howsure.dialects.problems import SchemaChecker, Spot, load_schema, unknown_fields
from howsure.dialects.reference_data import INTERACTIONS
from howsure.dialects.simulation_messages import arguments_of
from howsure.dialects.strict_json import BOM, CONTAINERS, Json, count_keys, head_keys
from howsure.errors import Level, Problem
from howsure.model.adk_criteria import RUBRICS
from howsure.model.case import Case, Input, Script, World
from howsure.model.expectation import AgentsInvolved, Expectation, ExpectedCall, FinalState, ToolCalls, Trajectory

PREFIX = "q"
TURN = load_schema("logged_turn")
_CALL: Json = TURN["properties"]["expected_tool_use"]["items"]
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
    """What is known about a question besides its turns. `app` names what ran, which need not be the name of an
    agent; `reference` is more `reference_data`."""

    file: str = ""
    app: str = ""
    state: Json = field(default_factory=dict)
    final_state: Json = field(default_factory=dict)
    reference: Json = field(default_factory=dict)

    def of_turn(self, number: int) -> QuestionSource:
        """The same for a question of one turn: rubrics of other turns are not about it."""
        if RUBRICS not in self.reference:
            return self
        mine = [each for each in self.reference[RUBRICS] if each.get("turn", number) == number]
        alone = [{key: value for key, value in each.items() if key != "turn"} for each in mine]
        return structs.replace(self, reference=self.reference | {RUBRICS: alone})


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
    id: str, turns: Sequence[LoggedTurn], source: QuestionSource, options: ImportOptions, scenario: Input | None = None
) -> Case:
    """One golden question. `scenario` is the input where that is not the turns one after the other."""
    agent = options.agent or source.app
    more = [turn.more for turn in turns]
    metadata: Json = {"source_file": source.file} if source.file else {}
    metadata |= {"app_name": source.app} if source.app else {}
    metadata |= more[0] if len(more) == 1 else {"turns": more} if any(more) else {}
    metadata |= options.metadata
    reference, unknown = _reference(turns) | source.reference, _unknown(turns)
    expectations: list[Expectation] = []
    expected = calls_by_turn([turn.calls or () for turn in turns])
    # Where it is not stated what a turn calls, an empty list would mean that it calls nothing.
    if expected or (turns and all(turn.calls is not None for turn in turns)):
        expectations.append(ToolCalls(expected=expected))
    if options.agent:
        expectations.append(Trajectory(steps=(options.agent,)))
    if source.final_state:
        expectations.append(FinalState(variables=source.final_state))
    if options.agent:
        expectations.append(AgentsInvolved(names=(options.agent,)))
    return Case(
        id=id,
        input=scenario or Script(turns=tuple(turn.query for turn in turns)),
        expectations=tuple(expectations),
        world=World.GOLDEN,
        labels=labels(metadata, agent=agent),
        metadata={
            "metadata": metadata,
            **({"reference_data": reference} if reference else {}),
            **({UNKNOWN: unknown} if unknown else {}),
        },
        state=source.state,
    )


def calls_by_turn(turns: Sequence[Sequence[ExpectedCall]]) -> tuple[ExpectedCall, ...]:
    """The calls of all turns; where there are several, each call says in which turn it is expected."""
    return tuple(
        structs.replace(call, turn=number) if len(turns) > 1 else call
        for number, calls in enumerate(turns, start=1)
        for call in calls
    )


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


_QUERY, _USE, _NAME, _INPUT = map(attrgetter, ("query", "expected_tool_use", "tool_name", "tool_input"))
_OPENS, _CLOSES = methodcaller("startswith", b"{"), methodcaller("endswith", (b"}\n", b"}\r\n", b"}"))
_TALKS = (str, int, type(None), UnsetType)


class CallRow(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """One expected call."""

    tool_name: str
    tool_input: dict[str, Any] | str | UnsetType | None = UNSET


class TurnRow(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A user's turn and what is expected of the agent."""

    query: str
    expected_tool_use: tuple[CallRow, ...] | UnsetType | None = UNSET
    reference: str | UnsetType | None = UNSET
    expected_intermediate_agent_responses: list[Any] | UnsetType | None = UNSET
    conversation_id: Any = UNSET
    session_id: Any = UNSET


_decode = msgspec.json.Decoder(TurnRow).decode_lines
_encode = msgspec.json.Encoder().encode_lines


def sound_turns(lines: Sequence[bytes]) -> list[TurnRow]:
    """A turn for each line; none at all where something may be wrong with one of them."""
    piece = b"".join(lines)
    try:
        rows: list[TurnRow] = _decode(piece)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []
    calls = list(chain.from_iterable(filter(None, map(_USE, rows))))
    nested = chain(map(_INPUT, calls), (row.expected_intermediate_agent_responses for row in rows))
    sound = (
        (len(lines) == len(rows) and all(map(_OPENS, lines)) and all(map(_CLOSES, lines)))
        and all(map(str.strip, map(_QUERY, rows)))
        and all(map(str.strip, map(_NAME, calls)))
        and all(count_keys(value, 4) >= 0 for value in nested if type(value) in CONTAINERS)
        and all(type(row.conversation_id) in _TALKS and type(row.session_id) in _TALKS for row in rows)
        # A repeated key leaves its colon behind. A colon that is written as an escape could make up for that.
        and piece.find(b"\\u003") < 0
        and piece.count(b":") == _encode(rows).count(b":")
    )
    return rows if sound else []


_OF_OTHERS = {"response", "ground_truth", "tool_definitions", "tool_calls", "context", "conversation", "answer"}
"""Fields of files that hold a query and its answer, which are no logs of questions."""
ENDINGS = (".test.json", ".evalset.json")
"""Endings of ADK's eval sets, which may be lists of turns too."""
_COLUMNS = ("inputs.", "outputs.")
"""Prefixes of the columns of another program's results."""


class RawLogImporter(OptionImporter, WatchedDialect):
    """A list of objects with `query`."""

    name = "raw-logs"

    def detect(self, path: Path, head: bytes) -> bool:
        first = head.removeprefix(BOM).lstrip()
        keys = set(head_keys(first[1:].lstrip()) if is_list(head) else first_keys(head))
        if path.name.endswith(ENDINGS):
            return False
        return "query" in keys and not keys & _OF_OTHERS and not any(key.startswith(_COLUMNS) for key in keys)

    def read_watched(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem]:
        reader = _LogReader(path.name, self._options)
        conversations: dict[str, list[LoggedTurn]] = {}
        for item in turns(path, watch):
            if isinstance(item, Problem):
                yield item
            elif self._options.per_turn:
                yield reader.question([item[1]])
            else:
                conversations.setdefault(item[0], []).append(item[1])
        yield from map(reader.question, conversations.values())

    def scan(self, path: Path, watch: Watch | None = None) -> Iterator[Problem | None]:
        """As `read_watched`, with None for each case, which is not built."""
        talks: set[str] = set()
        for item in turns(path, watch):
            if isinstance(item, Problem):
                yield item
            elif self._options.per_turn:
                yield None
            else:
                talks.add(item[0])
        yield from (None for _ in talks)


def turns(path: Path, watch: Watch | None = None) -> Iterator[tuple[str, LoggedTurn] | Problem]:
    """Every turn with the name of its conversation, and every problem."""
    with open_file(path) as file:
        head = file.read(1 << 10)
    if is_list(head):
        for spot, element in list_records(path, watch):
            yield from [element] if isinstance(element, Problem) else _one(element, spot)
        return
    number = 1
    for lines in line_groups(path, watch):
        if rows := sound_turns(lines):
            yield from map(_typed, rows)
        else:
            for line, item in read_objects(lines, str(path), first=number):
                yield from [item] if isinstance(item, Problem) else _one(item, Spot(str(path), line))
        number += len(lines)


def _typed(row: TurnRow) -> tuple[str, LoggedTurn]:
    expected: list[ExpectedCall] = []
    for call in row.expected_tool_use or ():
        arguments = call.tool_input
        if type(arguments) is not dict:
            arguments = arguments_of(None if arguments is UNSET else arguments)
        expected.append(ExpectedCall(name=call.tool_name, arguments=arguments))
    calls = tuple(expected) if row.expected_tool_use not in (None, UNSET) else None
    others = row.expected_intermediate_agent_responses or []
    turn = LoggedTurn(query=row.query, calls=calls, reference=row.reference or "", others=others)
    return _conversation_name(row.conversation_id, row.session_id), turn


def _conversation_name(*names: Any) -> str:
    """The conversation of a turn; turns without a name belong to one."""
    return next((str(name) for name in names if name is not UNSET and name not in (None, "")), "")


def _one(element: Json, spot: Spot) -> Iterator[tuple[str, LoggedTurn] | Problem]:
    problems = list(turn_problems(element, spot))
    yield from problems
    if not any(problem.level is Level.ERROR for problem in problems):
        yield _conversation_name(element.get("conversation_id"), element.get("session_id")), turn_of(element)


class _LogReader:
    """Makes a question of the turns of a conversation, or of one turn."""

    def __init__(self, file: str, options: ImportOptions) -> None:
        self._options = options
        self._source = QuestionSource(file=file)
        self._ids = HashIds(options.prefix or PREFIX)
        self._plain = question("", [LoggedTurn(query="")], self._source, options)

    def question(self, turns: list[LoggedTurn]) -> Case:
        id, turn, plain = hash_id(self._ids, turns), turns[0], self._plain
        if len(turns) > 1 or turn.more or turn.others or turn.beside:
            return question(id, turns, self._source, self._options)
        # As `question`, for one turn that has only calls: such cases differ in nothing else.
        metadata: Json = {"metadata": dict(plain.metadata["metadata"])}
        if turn.reference:
            metadata["reference_data"] = {"expected_response": turn.reference}
        calls = () if turn.calls is None else (ToolCalls(expected=turn.calls),)
        return Case(
            id=id,
            input=Script(turns=(turn.query,)),
            expectations=calls + plain.expectations,
            world=plain.world,
            labels=dict(plain.labels),
            metadata=metadata,
        )
