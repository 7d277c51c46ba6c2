"""A conversation as judges and people count it: turns with numbers, the same in every view of one conversation, so that
evidence can name them. Also the part of an answer that a judge of language reads, and whether the quotations that a
judge gives as evidence occur in the conversation."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from howsure.judges.quotations import HIDDEN, NAMED, cut_middle, prefix_lines
from howsure.model.case import Case, SingleTurn, case_messages
from howsure.model.transcript import Message, Role, ToolCall, Transcript

OUTPUT_CAP = 4_000
"""Characters of one tool's output that are shown."""

_SPEAKERS = {Role.USER: "User", Role.ASSISTANT: "Agent", Role.SYSTEM: "System"}


class NumberedTurn(Struct, frozen=True, kw_only=True):
    """One message and its number. Text next to a tool call is thinking: the user does not see it."""

    number: int
    role: Role
    text: str
    agent: str = ""
    calls: tuple[ToolCall, ...] = ()

    @property
    def is_thinking(self) -> bool:
        return bool(self.calls)

    @property
    def speaker(self) -> str:
        return f"{_SPEAKERS[self.role]} ({quote_name(self.agent)})" if self.agent else _SPEAKERS[self.role]


def number_turns(case: Case, transcript: Transcript) -> tuple[NumberedTurn, ...]:
    """All messages in order. A recording without user messages gets the case's."""
    messages = list(transcript.messages)
    if not any(message.role is Role.USER for message in messages):
        messages = [*case_messages(case), *messages]
    if transcript.answer.strip() and not _ends_with(messages, transcript.answer):
        messages.append(Message(role=Role.ASSISTANT, content=transcript.answer))
    return tuple(
        NumberedTurn(number=number, role=each.role, text=each.content, agent=each.agent, calls=each.tool_calls)
        for number, each in enumerate(messages, start=1)
    )


def show_conversation(conversation: Iterable[NumberedTurn]) -> str:
    """The conversation as the user saw it: no tools, no thinking."""
    return "\n".join(
        f"[turn {turn.number}] {turn.speaker}:\n{prefix_lines(turn.text)}"
        for turn in conversation
        if turn.text.strip() and not turn.is_thinking
    )


def show_trace(conversation: Iterable[NumberedTurn]) -> str:
    """The conversation with tool calls and their results."""
    lines: list[str] = []
    for turn in conversation:
        if turn.text.strip():
            note = " (beside tool calls, not shown to the user)" if turn.is_thinking else ""
            lines.append(f"[turn {turn.number}] {turn.speaker}{note}:\n{prefix_lines(turn.text)}")
        lines += [f"[turn {turn.number}] tool call: {_call(call)}" for call in turn.calls]
    return "\n".join(lines)


def show_tool_calls(calls: Sequence[ToolCall]) -> str:
    """Tool calls alone, numbered."""
    return "\n".join(f"{number}. {_call(call)}" for number, call in enumerate(calls, start=1))


def one_line(value: Any) -> str:
    """JSON on one line, or the text itself."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)


def quote_name(name: str) -> str:
    """A name in quotes, on one line whatever it holds."""
    return json.dumps(name, ensure_ascii=False)


def _call(call: ToolCall) -> str:
    arguments = " ".join(cut_middle(one_line(call.arguments), OUTPUT_CAP).split("\n"))
    line = f"{quote_name(call.name)} with {arguments}"
    if call.result is None:
        return f"{line}\n| (no result was seen)"
    outcome = "failed with" if call.result.failed else "gave"
    return f"{line} {outcome}:\n{prefix_lines(cut_middle(one_line(call.result.content), OUTPUT_CAP))}"


def _ends_with(messages: Sequence[Message], answer: str) -> bool:
    """Whether the agent's last message to the user is the answer."""
    last = next((each for each in reversed(messages) if each.role is Role.ASSISTANT and each.content.strip()), None)
    return last is not None and last.content.strip() == answer.strip() and not last.tool_calls


_FENCED = re.compile(r"\A```\w*\s*\n(?P<inside>.*)\n\s*```\Z", re.DOTALL)
# Addresses, times and codes also stand in text fields, and nobody judges their style.
_NOT_TEXT = re.compile(
    r"\A(?:[a-z][a-z0-9+.-]*://\S+|[^\s@]++@[^\s.]++\.\S++|[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9:.]+\S*)?|[\W\d_]*)\Z"
)


def readable_text(answer: str) -> str:
    """The texts of a JSON answer, one on each line; any other answer as it is."""
    stripped = answer.strip()
    if fenced := _FENCED.match(stripped):
        stripped = fenced["inside"].strip()
    if stripped[:1] not in ("{", "["):
        return answer
    try:
        texts = list(_texts(json.loads(stripped, strict=False)))
    except (ValueError, RecursionError):
        return answer
    return "\n".join(texts) or answer


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if not _NOT_TEXT.match(value.strip()):
            yield value.strip()
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


_TURNS = re.compile(
    r"\[?turns?\s*+(?:#\s*+)?(?P<first>\d{1,6})(?:\s*(?:-|–|to|and|,)\s*(?P<last>\d{1,6}))?\]?", re.IGNORECASE
)
_TURN_THEN_QUOTE = re.compile(
    rf"{_TURNS.pattern}\s*(?:\([^()]*\)|[\w\s]{{0,20}})\s*[:,–-]?\s*(?P<quote>.*)", re.DOTALL | re.I
)
_NUMBER = re.compile(r"\d{1,4}")
_CUT = re.compile(r"\s{0,50}(?:\[\s*(?:\.\.\.|…)\s*\]|\.\.\.|…)\s*")
_WRAPPING = " \t\r\n\"'“”‘’«»„`*_"
_BETWEEN = re.compile(r"[\W_]+")


def find_missing_quotes(quotes: Sequence[str], case: Case, transcript: Transcript) -> list[str]:
    """The quotations that do not occur in the conversation."""
    if not quotes:
        return []
    conversation = number_turns(case, transcript)
    texts = list(dict.fromkeys(map(_fold, _quotable_texts(case, transcript, conversation))))
    return [quote for quote in quotes if not _is_there(quote, texts, len(conversation))]


def note_missing_quotes(reason: str, lost: Sequence[str]) -> str:
    """The reason, with a note about the quotations that are missing."""
    what = "a quote" if len(lost) == 1 else f"{len(lost)} quotes"
    note = f"[{what} of the judge's cannot be found in the conversation]"
    return f"{reason} {note}".strip()


def _is_there(quote: str, texts: Sequence[str], last: int) -> bool:
    text = quote.strip(_WRAPPING)
    if named := _TURNS.fullmatch(text):
        return _exists(named, last)
    if _NUMBER.fullmatch(text) and 1 <= int(text) <= last:
        return True
    if (both := _TURN_THEN_QUOTE.fullmatch(text)) and _exists(both, last) and _occurs(both["quote"], texts):
        return True
    return _occurs(text, texts)


def _exists(named: re.Match[str], last: int) -> bool:
    return all(1 <= int(number) <= last for number in (named["first"], named["last"]) if number)


def _occurs(quote: str, texts: Sequence[str]) -> bool:
    """Whether one text has these words in this order; dots in the quotation stand for anything."""
    pieces = [folded for piece in _CUT.split(quote) if (folded := _fold(piece)).strip()]
    return bool(pieces) and any(_has_in_order(text, pieces) for text in texts)


def _has_in_order(text: str, pieces: Sequence[str]) -> bool:
    position = 0
    for piece in pieces:
        found = text.find(piece, position)
        if found < 0:
            return False
        position = found + len(piece) - 1
    return True


def _quotable_texts(case: Case, transcript: Transcript, conversation: Sequence[NumberedTurn]) -> Iterator[str]:
    yield transcript.answer
    yield readable_text(transcript.answer)
    if isinstance(case.input, SingleTurn):
        yield case.input.message
        yield case.input.context
        yield from (message.content for message in case.input.history)
    for turn in conversation:
        yield turn.text
        for call in turn.calls:
            yield f"{call.name} {one_line(call.arguments)}"
            if call.result is not None:
                yield one_line(call.result.content)
    yield " ".join(step.name for step in transcript.trajectory)
    if transcript.state:
        yield one_line(transcript.state)


def _fold(text: str) -> str:
    """Only the words, between spaces: judges copy punctuation, capitals and line breaks carelessly. Hidden characters
    are left out, and so are the names under which the judge was shown them."""
    plain = unicodedata.normalize("NFKC", HIDDEN.sub("", NAMED.sub("", text)))
    return f" {_BETWEEN.sub(' ', plain.casefold()).strip()} "
