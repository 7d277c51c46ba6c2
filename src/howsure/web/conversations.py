"""A conversation as the page of a case shows it: turns with their tool calls, expected calls that were never made,
state changes, and the judges' quotes. Every quote has a number, and the text that it quotes carries the same number.
Spaces and case may differ; a quote that is not found is shown as missing, never dropped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from msgspec import Struct

from howsure.model.expectation import ToolCalls
from howsure.model.result import Result
from howsure.reports.html.case_data import ENCODER, case_block
from howsure.reports.safe_text import one_line

MAX_QUOTE = 2000
QUOTE_MARKS = "\"'“”‘’«»… "
FOLDED_LINES = 12
FOLDED_LENGTH = 1200
PREVIEW = 160
CUT_LEVELS = ((20_000, 0), (4_000, 60), (1_000, 30), (300, 10), (120, 4))
"""The maximum length of a text, and how many messages at each end are shown. The first level that fits is used."""
MAX_BYTES = 90_000
"""The size of messages and grades on a page, without markup."""


class MarkedText(Struct, frozen=True):
    """A piece of text with the `numbers` of the quotes that cover it. `anchors`: the quotes that begin here for the
    first time."""

    text: str
    numbers: tuple[int, ...] = ()
    anchors: tuple[int, ...] = ()


class Quote(Struct, frozen=True):
    """A judge's quote; `found`: whether it occurs in the conversation."""

    number: int
    text: str
    found: bool


class QuoteNumbers:
    """Numbers the quotes and finds them in these texts."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._numbers: dict[str, int] = {}
        self._patterns: dict[int, re.Pattern[str]] = {}
        self._anchored: set[int] = set()

    def quote(self, text: str) -> Quote:
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self._numbers) + 1
            pattern = quote_pattern(text)
            if pattern is not None and any(pattern.search(each) for each in self._texts):
                self._patterns[number] = pattern
        return Quote(number, text, number in self._patterns)

    def pieces(self, text: str) -> tuple[MarkedText, ...]:
        """The text in pieces, each with the numbers of the quotes that cover it."""
        spans = [
            (match.start(), match.end(), number)
            for number, pattern in self._patterns.items()
            for match in pattern.finditer(text)
            if match.end() > match.start()
        ]
        edges = sorted({0, len(text), *(edge for start, end, _ in spans for edge in (start, end))})
        return tuple(self._piece(text[start:end], start, end, spans) for start, end in pairwise(edges))

    def _piece(self, text: str, start: int, end: int, spans: Sequence[tuple[int, int, int]]) -> MarkedText:
        numbers = tuple(sorted({number for low, high, number in spans if low <= start and end <= high}))
        new = tuple(number for number in numbers if number not in self._anchored)
        self._anchored.update(new)
        return MarkedText(text, numbers, new)


def quote_pattern(quote: str) -> re.Pattern[str] | None:
    """Matches the words of a quote with any spaces between them; None for a quote without words."""
    words = quote[:MAX_QUOTE].strip(QUOTE_MARKS).split()
    return re.compile(r"\s+".join(map(re.escape, words)), re.IGNORECASE) if words else None


class ToolCallView(Struct, frozen=True, kw_only=True):
    """A tool call: one line, with arguments and result folded below it."""

    name: str
    brief: str
    said: str
    arguments: tuple[MarkedText, ...]
    result: tuple[MarkedText, ...]
    failed: bool
    is_open: bool
    cited: tuple[int, ...]


class TurnView(Struct, frozen=True, kw_only=True):
    """One message with its tool calls. A message with a `preview` is folded behind it."""

    role: str
    agent: str
    pieces: tuple[MarkedText, ...]
    calls: tuple[ToolCallView, ...]
    preview: str = ""


class StateChange(Struct, frozen=True):
    """A field of the state, before and after."""

    field: str
    before: str
    after: str


def fit_case_block(result: Result) -> dict[str, Any]:
    """The block of a case, cut until it fits on a page."""
    shown = case_block(result)
    for longest, ends in CUT_LEVELS[1:]:
        if page_weight(shown) <= MAX_BYTES:
            break
        shown = case_block(result, longest, ends)
    return shown


def page_weight(shown: Mapping[str, Any]) -> int:
    """The size on a page, where escaping makes some characters five bytes long."""
    data = ENCODER.encode(shown)
    return len(data) + 4 * sum(data.count(char) for char in (b"<", b">", b"&", b'"', b"'"))


def conversation_texts(shown: Mapping[str, Any]) -> list[str]:
    """The texts in which quotes are searched."""
    messages = [each["text"] for each in shown["talk"]]
    calls = [call for each in shown["talk"] for call in each["calls"]]
    return [*messages, *(text for call in calls for text in (call["arguments"], call["result"]))]


def turn_views(shown: Mapping[str, Any], quotes: QuoteNumbers) -> tuple[TurnView, ...]:
    return tuple(_turn_view(each, quotes) for each in shown["talk"])


def _turn_view(shown: Mapping[str, Any], quotes: QuoteNumbers) -> TurnView:
    calls = tuple(_call_view(call, quotes) for call in shown["calls"])
    pieces = quotes.pieces(shown["text"])
    cited = any(piece.numbers for piece in pieces)
    return TurnView(
        role=shown["role"],
        agent=shown["agent"],
        pieces=pieces,
        calls=calls,
        preview="" if cited else _preview(shown["role"], shown["text"]),
    )


def _preview(role: str, text: str) -> str:
    long = len(text) > FOLDED_LENGTH or text.count("\n") >= FOLDED_LINES
    return one_line(text, PREVIEW) if long or (role == "system" and len(text) > PREVIEW) else ""


def _call_view(shown: Mapping[str, Any], quotes: QuoteNumbers) -> ToolCallView:
    arguments, result = quotes.pieces(shown["arguments"]), quotes.pieces(shown["result"])
    cited = tuple(sorted({number for piece in (*arguments, *result) for number in piece.numbers}))
    return ToolCallView(
        name=shown["name"],
        brief=shown["brief"],
        said=shown["said"],
        arguments=arguments,
        result=result,
        failed=shown["failed"],
        is_open=shown["failed"] or bool(cited),
        cited=cited,
    )


def missing_calls(result: Result) -> tuple[str, ...]:
    """The names of expected tools that were never called."""
    if result.transcript is None:
        return ()
    called = {call.name for call in result.transcript.tool_calls}
    expectations = [each for each in result.case.expectations if isinstance(each, ToolCalls)]
    expected = dict.fromkeys(call.name for each in expectations for call in each.expected)
    return tuple(one_line(name, 200) for name in expected if name not in called)


def state_changes(result: Result) -> tuple[StateChange, ...]:
    """The fields of the state that changed; nothing where the final state was not recorded."""
    after = result.transcript.state if result.transcript else None
    return tuple(_changes(result.case.state, after)) if after is not None else ()


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[StateChange]:
    for field in dict.fromkeys((*before, *after)):
        if before.get(field) != after.get(field):
            yield StateChange(one_line(field, 100), _value(before, field), _value(after, field))


def _value(state: Mapping[str, Any], field: str) -> str:
    if field not in state:
        return "–"
    value = state[field]
    return one_line(value if isinstance(value, str) else ENCODER.encode(value).decode(), 300)
