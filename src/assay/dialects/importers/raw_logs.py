"""`raw-logs`: a list of objects (or JSON lines) with `query` and, if known, `expected_tool_use`, as conversations were
logged. One golden question for each conversation, or for each turn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from assay.dialects.documents import Json
from assay.dialects.importers.base import HashIds, Options
from assay.dialects.importers.loading import is_list, objects
from assay.dialects.importers.questions import PREFIX, Source, Turn, hashed, question, turn_of, turn_problems
from assay.dialects.json_places import Spot, head_keys
from assay.dialects.lines import Watch, first_keys
from assay.dialects.strict_json import BOM
from assay.errors import Level, Problem
from assay.model.case import Case

_OF_OTHERS = {"response", "ground_truth", "tool_definitions", "tool_calls", "context", "conversation", "answer"}
"""Fields of files that hold a query and its answer: nobody's logs of questions."""


class RawLogs:
    """A list of objects with `query`."""

    name = "raw-logs"

    def __init__(self, options: Options | None = None) -> None:
        self._options = options or Options()

    def chosen(self, options: Options) -> RawLogs:
        return RawLogs(options)

    def detect(self, path: Path, head: bytes) -> bool:
        first = head.removeprefix(BOM).lstrip()
        keys = set(head_keys(first[1:].lstrip()) if is_list(head) else first_keys(head))
        return "query" in keys and not keys & _OF_OTHERS

    def read(self, path: Path) -> Iterator[Case | Problem]:
        return self.read_watched(path)

    def read_watched(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem]:
        reading = _Reading(path.name, self._options)
        for spot, element in objects(path, watch):
            if isinstance(element, Problem):
                yield element
            else:
                yield from reading.take(element, spot)
        yield from reading.conversations()

    def survey(self, path: Path, watch: Watch | None = None) -> Iterator[Problem | None]:
        """As `read_watched`, with None for each case: nothing is built only to be thrown away."""
        talks: set[str] = set()
        for spot, element in objects(path, watch):
            problems = [element] if isinstance(element, Problem) else list(turn_problems(element, spot))
            yield from problems
            if isinstance(element, Problem) or any(problem.level is Level.ERROR for problem in problems):
                continue
            if self._options.per_turn:
                yield None
            else:
                talks.add(_talk(element))
        yield from (None for _ in talks)


class _Reading:
    """Turns as they come; conversations when all of them have."""

    def __init__(self, file: str, options: Options) -> None:
        self._options = options
        self._source = Source(file=file)
        self._ids = HashIds(options.prefix or PREFIX)
        self._talks: dict[str, list[Turn]] = {}

    def take(self, element: Json, spot: Spot) -> Iterator[Case | Problem]:
        problems = list(turn_problems(element, spot))
        yield from problems
        if any(problem.level is Level.ERROR for problem in problems):
            return
        turn = turn_of(element)
        if self._options.per_turn:
            yield self._question([turn])
        else:
            self._talks.setdefault(_talk(element), []).append(turn)

    def conversations(self) -> Iterator[Case]:
        for turns in self._talks.values():
            yield self._question(turns)

    def _question(self, turns: list[Turn]) -> Case:
        return question(hashed(self._ids, turns), turns, self._source, self._options)


def _talk(element: Json) -> str:
    """Which conversation a turn belongs to; those that do not say are one."""
    named = (element.get(name) for name in ("conversation_id", "session_id"))
    return next((str(name) for name in named if name not in (None, "")), "")
