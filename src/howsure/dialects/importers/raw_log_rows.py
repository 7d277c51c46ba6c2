"""Typed raw-log turns, decoded many lines at once: the fast path of `raw-logs`. Where something may be wrong with one
of the lines, or one says more than is known, there are no rows, and the lines are read one by one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import attrgetter, methodcaller
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from howsure.dialects.strict_json import CONTAINERS, count_keys

_QUERY, _USE, _NAME, _INPUT = map(attrgetter, ("query", "expected_tool_use", "tool_name", "tool_input"))
_OPENS, _CLOSES = methodcaller("startswith", b"{"), methodcaller("endswith", (b"}\n", b"}\r\n", b"}"))
_TALKS = (str, int, type(None), UnsetType)


class CallRow(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """One expected call."""

    tool_name: str
    tool_input: dict[str, Any] | str | UnsetType | None = UNSET


class TurnRow(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """What a user said, and what was expected then."""

    query: str
    expected_tool_use: tuple[CallRow, ...] | UnsetType | None = UNSET
    reference: str | UnsetType | None = UNSET
    expected_intermediate_agent_responses: list[Any] | UnsetType | None = UNSET
    conversation_id: Any = UNSET
    session_id: Any = UNSET

    @property
    def talk(self) -> str:
        """Which conversation the turn belongs to; those that do not say are one."""
        named = (self.conversation_id, self.session_id)
        return next((str(name) for name in named if name is not UNSET and name not in (None, "")), "")


_decode = msgspec.json.Decoder(TurnRow).decode_lines
_encode = msgspec.json.Encoder().encode_lines


def sound_turns(lines: Sequence[bytes]) -> list[TurnRow]:
    """A row for each of these lines; none at all, where something may be wrong with one of them."""
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
    """Whether no key stands twice: one that was lost leaves its colon behind. A colon may also be written as an escape,
    and make up for the colon of a lost key."""
    return piece.find(b"\\u003") < 0 and piece.count(b":") == _encode(rows).count(b":")
