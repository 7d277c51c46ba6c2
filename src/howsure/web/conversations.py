"""A conversation as the page of a case shows it: turns with their tool calls, expected calls that were never made,
state changes, and the judges' quotes. Every quote has a number, and the text that it quotes carries the same number.
Spaces and case may differ; a quote that is not found is shown as missing, never dropped. Also the spans as a waterfall:
one bar each on a shared time axis, child spans indented below their parents."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from msgspec import Struct

from howsure.model.expectation import ToolCalls
from howsure.model.result import Result
from howsure.model.transcript import Span, Transcript
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
            # The words of the quote, with any spaces between them.
            words = text[:MAX_QUOTE].strip(QUOTE_MARKS).split()
            pattern = re.compile(r"\s+".join(map(re.escape, words)), re.IGNORECASE)
            if words and any(pattern.search(each) for each in self._texts):
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
        pieces = []
        for start, end in pairwise(edges):
            numbers = tuple(sorted({number for low, high, number in spans if low <= start and end <= high}))
            new = tuple(number for number in numbers if number not in self._anchored)
            self._anchored.update(new)
            pieces.append(MarkedText(text[start:end], numbers, new))
        return tuple(pieces)


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
    turns = []
    for message in shown["talk"]:
        role, text = message["role"], message["text"]
        calls = tuple(_call_view(call, quotes) for call in message["calls"])
        pieces = quotes.pieces(text)
        long = len(text) > FOLDED_LENGTH or text.count("\n") >= FOLDED_LINES
        folded = (long or (role == "system" and len(text) > PREVIEW)) and not any(piece.numbers for piece in pieces)
        preview = one_line(text, PREVIEW) if folded else ""
        turns.append(TurnView(role=role, agent=message["agent"], pieces=pieces, calls=calls, preview=preview))
    return tuple(turns)


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
    before, after = result.case.state, result.transcript.state if result.transcript else None
    if after is None:
        return ()
    return tuple(
        StateChange(one_line(field, 100), _value(before, field), _value(after, field))
        for field in dict.fromkeys((*before, *after))
        if before.get(field) != after.get(field)
    )


def _value(state: Mapping[str, Any], field: str) -> str:
    if field not in state:
        return "–"
    value = state[field]
    return one_line(value if isinstance(value, str) else ENCODER.encode(value).decode(), 300)


MAX_SPANS = 200
MAX_DEPTH = 8


class SpanBar(Struct, frozen=True, kw_only=True):
    """One span: the start and the width of its bar, in percent of the axis."""

    name: str
    depth: int
    start: float
    width: float
    took: str


class Waterfall(Struct, frozen=True, kw_only=True):
    """All spans that have times. `invented`: the times come from a converter and say nothing about latency."""

    falls: tuple[SpanBar, ...]
    whole: str
    half: str
    untimed: int
    left_out: int
    invented: bool


def waterfall(transcript: Transcript | None) -> Waterfall | None:
    spans = transcript.spans if transcript and transcript.spans else ()
    timed = [
        (span.start_ns, span.end_ns, span) for span in spans if span.start_ns is not None and span.end_ns is not None
    ]
    if transcript is None or not timed:
        return None
    begin, end = min(start for start, _, _ in timed), max(stop for _, stop, _ in timed)
    known = {span.span_id: span for span in spans if span.span_id}
    length = max(end - begin, 1)
    return Waterfall(
        falls=tuple(
            SpanBar(
                name=one_line(span.name, 80),
                depth=_depth(span, known),
                start=round(100 * (start - begin) / length, 2),
                width=round(max(100 * (stop - start) / length, 0.3), 2),
                took=milliseconds(stop - start),
            )
            for start, stop, span in sorted(timed, key=lambda each: (each[0], -each[1]))[:MAX_SPANS]
        ),
        whole=milliseconds(end - begin),
        half=milliseconds((end - begin) // 2),
        untimed=len(spans) - len(timed),
        left_out=max(len(timed) - MAX_SPANS, 0),
        invented=transcript.invented_times,
    )


def _depth(span: Span, known: Mapping[str, Span]) -> int:
    depth, seen = 0, {span.span_id}
    while (parent := known.get(span.parent_id)) is not None and parent.span_id not in seen and depth < MAX_DEPTH:
        depth, span = depth + 1, parent
        seen.add(span.span_id)
    return depth


def milliseconds(nanoseconds: int) -> str:
    value = nanoseconds / 1e6
    return f"{value / 1000:,.2f} s" if value >= 1000 else f"{value:,.0f} ms"
