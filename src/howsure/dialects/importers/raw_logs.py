"""`raw-logs`: a list of objects (or JSON lines) with `query` and, if known, `expected_tool_use`, as conversations were
logged. One golden question for each conversation, or for each turn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import UNSET

from howsure.dialects.documents import Json
from howsure.dialects.importers.base import HashIds, Options, WithOptions
from howsure.dialects.importers.loading import first_bytes, is_list, load, objects_of_list
from howsure.dialects.importers.questions import PREFIX, Source, Turn, hashed, question, turn_of, turn_problems
from howsure.dialects.importers.raw_log_rows import CallRow, TurnRow, sound_turns
from howsure.dialects.json_places import Spot, head_keys
from howsure.dialects.lines import Watch, first_keys, line_groups, read_objects
from howsure.dialects.simulation_talk import arguments_of
from howsure.dialects.strict_json import BOM
from howsure.errors import Level, Problem
from howsure.model.case import Case, Script
from howsure.model.expectation import ExpectedCall, ToolCalls

_OF_OTHERS = {"response", "ground_truth", "tool_definitions", "tool_calls", "context", "conversation", "answer"}
"""Fields of files that hold a query and its answer: nobody's logs of questions."""
_COLUMNS = ("inputs.", "outputs.")
"""What the columns of results of another program's run begin with."""


class RawLogs(WithOptions):
    """A list of objects with `query`."""

    name = "raw-logs"

    def detect(self, path: Path, head: bytes) -> bool:
        first = head.removeprefix(BOM).lstrip()
        keys = set(head_keys(first[1:].lstrip()) if is_list(head) else first_keys(head))
        return "query" in keys and not keys & _OF_OTHERS and not any(key.startswith(_COLUMNS) for key in keys)

    def read(self, path: Path) -> Iterator[Case | Problem]:
        return self.read_watched(path)

    def read_watched(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem]:
        reading = _Reading(path.name, self._options)
        for found in turns(path, watch):
            if isinstance(found, Problem):
                yield found
            elif self._options.per_turn:
                yield reading.question([found[1]])
            else:
                reading.take(*found)
        yield from reading.conversations()

    def survey(self, path: Path, watch: Watch | None = None) -> Iterator[Problem | None]:
        """As `read_watched`, with None for each case: nothing is built only to be thrown away."""
        talks: set[str] = set()
        for found in turns(path, watch):
            if isinstance(found, Problem):
                yield found
            elif self._options.per_turn:
                yield None
            else:
                talks.add(found[0])
        yield from (None for _ in talks)


def turns(path: Path, watch: Watch | None = None) -> Iterator[tuple[str, Turn] | Problem]:
    """Every turn with the name of its conversation, and every problem."""
    if is_list(first_bytes(path)):
        for spot, element in objects_of_list(load(path, watch)):
            yield from [element] if isinstance(element, Problem) else _one(element, spot)
        return
    number = 1
    for lines in line_groups(path, watch):
        if rows := sound_turns(lines):
            yield from map(_typed, rows)
        else:
            for line, found in read_objects(lines, str(path), first=number):
                yield from [found] if isinstance(found, Problem) else _one(found, Spot(str(path), line))
        number += len(lines)


def _typed(row: TurnRow) -> tuple[str, Turn]:
    calls = row.expected_tool_use
    expected = None if calls is None or calls is UNSET else tuple([_call(call) for call in calls])
    others = row.expected_intermediate_agent_responses or []
    return row.talk, Turn(query=row.query, calls=expected, reference=row.reference or "", others=others)


def _call(call: CallRow) -> ExpectedCall:
    given = call.tool_input
    if type(given) is not dict:
        given = arguments_of(None if given is UNSET else given)
    return ExpectedCall(name=call.tool_name, arguments=given)


def _one(element: Json, spot: Spot) -> Iterator[tuple[str, Turn] | Problem]:
    problems = list(turn_problems(element, spot))
    yield from problems
    if not any(problem.level is Level.ERROR for problem in problems):
        yield _talk(element), turn_of(element)


class _Reading:
    """Questions of turns as they come; of conversations when all of them have."""

    def __init__(self, file: str, options: Options) -> None:
        self._options = options
        self._source = Source(file=file)
        self._ids = HashIds(options.prefix or PREFIX)
        self._talks: dict[str, list[Turn]] = {}
        self._plain = question("", [Turn(query="")], self._source, options)

    def take(self, talk: str, turn: Turn) -> None:
        self._talks.setdefault(talk, []).append(turn)

    def conversations(self) -> Iterator[Case]:
        for turns in self._talks.values():
            yield self.question(turns)

    def question(self, turns: list[Turn]) -> Case:
        id, turn = hashed(self._ids, turns), turns[0]
        if len(turns) > 1 or turn.more or turn.others or turn.beside:
            return question(id, turns, self._source, self._options)
        return self._made(id, turn)

    def _made(self, id: str, turn: Turn) -> Case:
        """As `question`, of one turn that says nothing beyond its calls: all such cases are alike but for those."""
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


def _talk(element: Json) -> str:
    """Which conversation a turn belongs to; those that do not say are one."""
    named = (element.get(name) for name in ("conversation_id", "session_id"))
    return next((str(name) for name in named if name not in (None, "")), "")
