"""`raw-logs`: a list of objects (or JSON lines) with `query` and optionally `expected_tool_use`, as conversations were
logged. One golden question for each conversation, or for each turn. Lines are decoded many at once into typed turns;
where one of them may be wrong or has unknown fields, they are read one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from operator import attrgetter, methodcaller
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from howsure.dialects.base import Watch, WatchedDialect
from howsure.dialects.importers.base import (
    HashIds,
    ImportOptions,
    OptionImporter,
    first_bytes,
    is_list,
    list_objects,
    load_file,
)
from howsure.dialects.importers.questions import (
    PREFIX,
    LoggedTurn,
    QuestionSource,
    hash_id,
    question,
    turn_of,
    turn_problems,
)
from howsure.dialects.lines import first_keys, line_groups, read_objects
from howsure.dialects.problems import Spot
from howsure.dialects.simulation_messages import arguments_of
from howsure.dialects.strict_json import BOM, CONTAINERS, Json, count_keys, head_keys
from howsure.errors import Level, Problem
from howsure.model.case import Case, Script
from howsure.model.expectation import ExpectedCall, ToolCalls

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

    @property
    def conversation(self) -> str:
        """The conversation of the turn; turns without a name belong to one."""
        named = (self.conversation_id, self.session_id)
        return next((str(name) for name in named if name is not UNSET and name not in (None, "")), "")


_decode = msgspec.json.Decoder(TurnRow).decode_lines
_encode = msgspec.json.Encoder().encode_lines


def sound_turns(lines: Sequence[bytes]) -> list[TurnRow]:
    """A turn for each line; none at all where something may be wrong with one of them."""
    piece = b"".join(lines)
    try:
        rows: list[TurnRow] = _decode(piece)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []
    one_each = len(lines) == len(rows) and all(map(_OPENS, lines)) and all(map(_CLOSES, lines))
    return rows if one_each and _is_sound(rows) and _nothing_lost(piece, rows) else []


def _is_sound(rows: Sequence[TurnRow]) -> bool:
    calls = list(chain.from_iterable(filter(None, map(_USE, rows))))
    nested = chain(map(_INPUT, calls), (row.expected_intermediate_agent_responses for row in rows))
    return (
        all(map(str.strip, map(_QUERY, rows)))
        and all(map(str.strip, map(_NAME, calls)))
        and all(_is_shallow(value) for value in nested if type(value) in CONTAINERS)
        and all(type(row.conversation_id) in _TALKS and type(row.session_id) in _TALKS for row in rows)
    )


def _is_shallow(value: Any) -> bool:
    inner = value.values() if type(value) is dict else value
    return CONTAINERS.isdisjoint(map(type, inner)) or count_keys(value, 4) >= 0


def _nothing_lost(piece: bytes, rows: Sequence[TurnRow]) -> bool:
    """Whether no key is repeated: a lost key leaves its colon behind. A colon that is written as an escape could make
    up for that, so such lines are never certain."""
    return piece.find(b"\\u003") < 0 and piece.count(b":") == _encode(rows).count(b":")


_OF_OTHERS = {"response", "ground_truth", "tool_definitions", "tool_calls", "context", "conversation", "answer"}
"""Fields of files that hold a query and its answer, which are no logs of questions."""
_COLUMNS = ("inputs.", "outputs.")
"""Prefixes of the columns of another program's results."""


class RawLogImporter(OptionImporter, WatchedDialect):
    """A list of objects with `query`."""

    name = "raw-logs"

    def detect(self, path: Path, head: bytes) -> bool:
        first = head.removeprefix(BOM).lstrip()
        keys = set(head_keys(first[1:].lstrip()) if is_list(head) else first_keys(head))
        return "query" in keys and not keys & _OF_OTHERS and not any(key.startswith(_COLUMNS) for key in keys)

    def read_watched(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem]:
        reading = _LogReader(path.name, self._options)
        for item in turns(path, watch):
            if isinstance(item, Problem):
                yield item
            elif self._options.per_turn:
                yield reading.question([item[1]])
            else:
                reading.take(*item)
        yield from reading.conversations()

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
    if is_list(first_bytes(path)):
        for spot, element in list_objects(load_file(path, watch)):
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
    calls = row.expected_tool_use
    expected = None if calls is None or calls is UNSET else tuple([_call(call) for call in calls])
    others = row.expected_intermediate_agent_responses or []
    return row.conversation, LoggedTurn(query=row.query, calls=expected, reference=row.reference or "", others=others)


def _call(call: CallRow) -> ExpectedCall:
    arguments = call.tool_input
    if type(arguments) is not dict:
        arguments = arguments_of(None if arguments is UNSET else arguments)
    return ExpectedCall(name=call.tool_name, arguments=arguments)


def _one(element: Json, spot: Spot) -> Iterator[tuple[str, LoggedTurn] | Problem]:
    problems = list(turn_problems(element, spot))
    yield from problems
    if not any(problem.level is Level.ERROR for problem in problems):
        yield _conversation_name(element), turn_of(element)


class _LogReader:
    """Makes questions of turns at once, or of conversations at the end."""

    def __init__(self, file: str, options: ImportOptions) -> None:
        self._options = options
        self._source = QuestionSource(file=file)
        self._ids = HashIds(options.prefix or PREFIX)
        self._talks: dict[str, list[LoggedTurn]] = {}
        self._plain = question("", [LoggedTurn(query="")], self._source, options)

    def take(self, conversation: str, turn: LoggedTurn) -> None:
        self._talks.setdefault(conversation, []).append(turn)

    def conversations(self) -> Iterator[Case]:
        for turns in self._talks.values():
            yield self.question(turns)

    def question(self, turns: list[LoggedTurn]) -> Case:
        id, turn = hash_id(self._ids, turns), turns[0]
        if len(turns) > 1 or turn.more or turn.others or turn.beside:
            return question(id, turns, self._source, self._options)
        return self._made(id, turn)

    def _made(self, id: str, turn: LoggedTurn) -> Case:
        """As `question`, for one turn that has only calls: such cases differ in nothing else."""
        plain = self._plain
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


def _conversation_name(element: Json) -> str:
    """The conversation of a turn; turns without a name belong to one."""
    named = (element.get(name) for name in ("conversation_id", "session_id"))
    return next((str(name) for name in named if name not in (None, "")), "")
