"""A conversation as the page of a case shows it: turns with their tool calls, expected calls that were never made,
state changes, and the judges' quotes. Every quote has a number, and the text that it quotes carries the same number.
Spaces and case may differ; a quote that is not found is shown as missing, never dropped. Also the spans as a waterfall:
one bar each on a shared time axis, child spans indented below their parents."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from markupsafe import Markup, escape
from msgspec import Struct

from howsure.model.expectation import ToolCalls
from howsure.model.result import Result
from howsure.model.transcript import Span, Transcript
from howsure.reports.figures import format_seconds
from howsure.reports.html.case_data import ENCODER, MAX_TEXT, case_block, final_answer
from howsure.reports.markdown import Tree, flat_text, read_markdown, tree_html
from howsure.reports.safe_text import one_line

MAX_QUOTE = 2000
MARKDOWN_SIGNS = " *_`~|#>()!:[]-"
LIST_NUMBER = re.compile(r"^[ \t]*\d{1,9}[.)]\s", re.MULTILINE)
QUOTE_MARKS = "\"'“”‘’«»… "
FOLDED_LINES = 12
FOLDED_LENGTH = 1200
PREVIEW = 160
CUT_LEVELS = ((20_000, 0), (4_000, 60), (1_000, 30), (300, 10), (120, 4))
"""The maximum length of a text, and how many messages at each end are shown. The first level that fits is used."""
MAX_BYTES = 90_000
"""The size of messages and grades on a page, without markup."""
RENDERED_BYTES = 40_000
"""The most markup that one writer renders on a page; further texts are shown as they were written."""


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


def _fold(text: str, dropped: str = "") -> tuple[str, list[int]]:
    """The text as it is compared with quotes: in small letters, with one space for any of them and without the signs
    `dropped`; and the place of each of its characters."""
    folded: list[str] = []
    places: list[int] = []
    for place, sign in enumerate(text):
        small = " " if sign.isspace() else sign.lower()[:1]
        if small not in dropped and not (small == " " and folded[-1:] == [" "]):
            folded.append(small)
            places.append(place)
    return "".join(folded), places


class QuoteNumbers:
    """Numbers the quotes and finds them in these texts, in time that grows with the texts alone."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = tuple(_fold(text)[0] for text in texts)
        self._numbers: dict[str, int] = {}
        self._words: dict[int, str] = {}
        self._loose: dict[int, str] = {}
        self._anchored: set[int] = set()

    def quote(self, text: str) -> Quote:
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self._numbers) + 1
            written = text[:MAX_QUOTE].strip(QUOTE_MARKS)
            words = _fold(written)[0].strip()
            if words and any(words in each for each in self._texts):
                self._words[number] = words
                # In rendered text, where signs of Markdown are gone.
                self._loose[number] = _fold(LIST_NUMBER.sub(" ", written), MARKDOWN_SIGNS)[0]
        return Quote(number, text, number in self._words)

    def rendered(self, text: str, tree: Tree) -> tuple[MarkedText, ...] | None:
        """The words of a tree in pieces; None where one of the quotes in the text is not found in them."""
        flat, folded = flat_text(tree), _fold(text)[0]
        quoted = {number: self._loose[number] for number, words in self._words.items() if words in folded}
        loose = _fold(flat, MARKDOWN_SIGNS)
        return self._pieces(flat, *loose, quoted) if all(each in loose[0] for each in quoted.values()) else None

    def pieces(self, text: str) -> tuple[MarkedText, ...]:
        """The text in pieces, each with the numbers of the quotes that cover it."""
        return self._pieces(text, *_fold(text), self._words)

    def _pieces(
        self, text: str, folded: str, places: Sequence[int], quotes: Mapping[int, str]
    ) -> tuple[MarkedText, ...]:
        begins: dict[int, list[int]] = {}
        ends: dict[int, list[int]] = {}
        for number, words in quotes.items():
            at = folded.find(words) if words else -1
            while at >= 0:
                begins.setdefault(places[at], []).append(number)
                ends.setdefault(places[at + len(words) - 1] + 1, []).append(number)
                at = folded.find(words, at + len(words))
        covering: set[int] = set()
        pieces = []
        for start, end in pairwise(sorted({0, len(text), *begins, *ends})):
            # One quote never covers a place twice.
            covering = (covering - set(ends.get(start, ()))) | set(begins.get(start, ()))
            numbers = tuple(sorted(covering))
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
    """One message with its tool calls. A message with a `preview` is folded behind it; `html` is its Markdown."""

    role: str
    agent: str
    pieces: tuple[MarkedText, ...]
    calls: tuple[ToolCallView, ...]
    preview: str = ""
    html: Markup = Markup()


class StateChange(Struct, frozen=True):
    """A field of the state, before and after."""

    field: str
    before: str
    after: str


def fit_case_block(result: Result, most: int = MAX_BYTES) -> dict[str, Any]:
    """The block of a case, cut until it has `most` bytes, half of the final answer not counted: this keeps 20,000
    characters, or half of that where two such would not fit."""
    shown = case_block(result)
    weight = page_weight(final_answer(shown) or {})
    for longest, ends in CUT_LEVELS[1:]:
        if page_weight(shown) <= most + weight // 2:
            break
        shown = case_block(result, longest, ends, MAX_TEXT if weight <= 2 * most else MAX_TEXT // 2)
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


class MarkdownWriter:
    """Renders texts until their markup has `RENDERED_BYTES`. `raw`: none is rendered."""

    def __init__(self, *, raw: bool = False) -> None:
        self._left = 0 if raw else RENDERED_BYTES

    def tree(self, text: str) -> Tree | None:
        tree = read_markdown(text) if self._left > 0 else None
        self._left -= len(_plain_html(tree)) - len(escape(flat_text(tree))) if tree else 0
        return tree if self._left > 0 else None

    def __call__(self, text: str) -> Markup:
        """The text as HTML; nothing where it is plain."""
        return _plain_html(self.tree(text) or ())


def _plain_html(tree: Tree) -> Markup:
    return tree_html(tree, [(flat_text(tree), None)], lambda text, *_: escape(text))


def _mark(text: str, piece: MarkedText, begins: bool) -> Markup:
    if not piece.numbers:
        return escape(text)
    anchors = piece.anchors if begins else ()
    targets = "".join(f'<a id="quote-{number}" class="anchor"></a>' for number in anchors)
    signs = "".join(f"<sup>{number}</sup>" for number in anchors)
    return Markup(f'{targets}<mark data-number="{piece.numbers[0]}">{escape(text)}{signs}</mark>')


def turn_views(shown: Mapping[str, Any], quotes: QuoteNumbers, *, raw: bool = False) -> tuple[TurnView, ...]:
    writer, answer = MarkdownWriter(raw=raw), final_answer(shown)
    # The answer is rendered first, then the others as far as the page has room.
    ordered = sorted(shown["talk"], key=lambda each: each is not answer)
    trees = {id(each): writer.tree(each["text"]) for each in ordered}
    turns = []
    for message in shown["talk"]:
        role, text, tree = message["role"], message["text"], trees[id(message)]
        calls = tuple(_call_view(call, quotes) for call in message["calls"])
        rendered = quotes.rendered(text, tree) if tree is not None else None
        pieces = quotes.pieces(text) if rendered is None else rendered
        long = len(text) > FOLDED_LENGTH or text.count("\n") >= FOLDED_LINES
        long = long or (role == "system" and len(text) > PREVIEW)
        folded = long and message is not answer and not any(piece.numbers for piece in pieces)
        preview = one_line(text if tree is None else flat_text(tree), PREVIEW) if folded else ""
        html = tree_html(tree, [(each.text, each) for each in rendered], _mark) if tree and rendered else Markup()
        fields = {"role": role, "agent": message["agent"], "pieces": pieces, "calls": calls}
        turns.append(TurnView(**fields, preview=preview, html=html))
    return tuple(turns)


def _call_view(shown: Mapping[str, Any], quotes: QuoteNumbers) -> ToolCallView:
    arguments, result = quotes.pieces(shown["arguments"]), quotes.pieces(shown["result"])
    cited = tuple(sorted({number for piece in (*arguments, *result) for number in piece.numbers}))
    marked = {**shown, "arguments": arguments, "result": result}
    return ToolCallView(**marked, is_open=shown["failed"] or bool(cited), cited=cited)


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
NANOSECONDS = 1e9


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
                took=format_seconds((stop - start) / NANOSECONDS),
            )
            for start, stop, span in sorted(timed, key=lambda each: (each[0], -each[1]))[:MAX_SPANS]
        ),
        whole=format_seconds((end - begin) / NANOSECONDS),
        half=format_seconds((end - begin) / 2 / NANOSECONDS),
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
