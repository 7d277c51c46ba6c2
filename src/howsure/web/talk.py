"""A conversation as a script: who spoke, what they said with what judges quote marked in it, calls in place, calls that
were expected and never made as ghosts, and what of the state changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from howsure.model.expectation import ToolCalls
from howsure.model.result import Result
from howsure.reports.html.blocks import block
from howsure.reports.html.packing import ENCODER
from howsure.reports.inert import one_line
from howsure.web.evidence import Numbering, Piece

FOLDED_LINES = 12
FOLDED_LENGTH = 1200
PREVIEW = 160
LEVELS = ((20_000, 0), (4_000, 60), (1_000, 30), (300, 10), (120, 4))
"""How long a text may be, and how many messages of each end are shown: the first that fits is taken."""
LARGEST = 90_000
"""Bytes of what was said and graded, markup not counted."""


class Call(Struct, frozen=True, kw_only=True):
    """A tool call: its line, and what opens under it."""

    name: str
    brief: str
    said: str
    arguments: tuple[Piece, ...]
    result: tuple[Piece, ...]
    failed: bool
    is_open: bool
    cited: tuple[int, ...]


class Turn(Struct, frozen=True, kw_only=True):
    """One thing that was said, with the calls that were made beside it. `preview`: it is folded behind these words."""

    role: str
    agent: str
    pieces: tuple[Piece, ...]
    calls: tuple[Call, ...]
    preview: str = ""


class Change(Struct, frozen=True):
    """A field of the state, before and after."""

    field: str
    before: str
    after: str


def fitting(result: Result) -> dict[str, Any]:
    """The block of a case, cut until a page can hold it."""
    shown = block(result)
    for longest, ends in LEVELS[1:]:
        if weight(shown) <= LARGEST:
            break
        shown = block(result, longest, ends)
    return shown


def weight(shown: Mapping[str, Any]) -> int:
    """Bytes as a page holds them: some signs take five there."""
    data = ENCODER.encode(shown)
    return len(data) + 4 * sum(data.count(sign) for sign in (b"<", b">", b"&", b'"', b"'"))


def texts_of(shown: Mapping[str, Any]) -> list[str]:
    """Everywhere that quotes are looked for."""
    said = [each["text"] for each in shown["talk"]]
    called = [text for each in shown["talk"] for call in each["calls"] for text in (call["arguments"], call["result"])]
    return [*said, *called]


def turns(shown: Mapping[str, Any], numbering: Numbering) -> tuple[Turn, ...]:
    return tuple(_turn(each, numbering) for each in shown["talk"])


def _turn(shown: Mapping[str, Any], numbering: Numbering) -> Turn:
    calls = tuple(_call(call, numbering) for call in shown["calls"])
    pieces = numbering.pieces(shown["text"])
    cited = any(piece.numbers for piece in pieces)
    return Turn(
        role=shown["role"],
        agent=shown["agent"],
        pieces=pieces,
        calls=calls,
        preview="" if cited else _preview(shown["role"], shown["text"]),
    )


def _preview(role: str, text: str) -> str:
    long = len(text) > FOLDED_LENGTH or text.count("\n") >= FOLDED_LINES
    return one_line(text, PREVIEW) if long or (role == "system" and len(text) > PREVIEW) else ""


def _call(shown: Mapping[str, Any], numbering: Numbering) -> Call:
    arguments, result = numbering.pieces(shown["arguments"]), numbering.pieces(shown["result"])
    cited = tuple(sorted({number for piece in (*arguments, *result) for number in piece.numbers}))
    return Call(
        name=shown["name"],
        brief=shown["brief"],
        said=shown["said"],
        arguments=arguments,
        result=result,
        failed=shown["failed"],
        is_open=shown["failed"] or bool(cited),
        cited=cited,
    )


def ghosts(result: Result) -> tuple[str, ...]:
    """Tools that were to be called and never were."""
    made = {call.name for call in result.transcript.tool_calls} if result.transcript else set()
    wanted = [
        each.name for given in result.case.expectations if isinstance(given, ToolCalls) for each in given.expected
    ]
    return tuple(one_line(name, 200) for name in dict.fromkeys(wanted) if name not in made) if result.transcript else ()


def changes(result: Result) -> tuple[Change, ...]:
    """What of the state is not as it was; nothing where nobody recorded how it ended."""
    after = result.transcript.state if result.transcript else None
    return tuple(_changes(result.case.state, after)) if after is not None else ()


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    for field in dict.fromkeys((*before, *after)):
        if before.get(field) != after.get(field):
            yield Change(one_line(field, 100), _value(before, field), _value(after, field))


def _value(state: Mapping[str, Any], field: str) -> str:
    if field not in state:
        return "–"
    value = state[field]
    return one_line(value if isinstance(value, str) else ENCODER.encode(value).decode(), 300)
