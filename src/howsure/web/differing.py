"""Two conversations side by side: turns that match stand beside each other, and the words that differ are marked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest

from msgspec import Struct

WORDS = re.compile(r"\s+|[^\s]+")
LONGEST = 1500
"""So many words of a text are compared with another's; longer ones are marked whole."""
MOST = 400
"""So many turns of each side are shown."""


class Spoken(Struct, frozen=True):
    """One turn, as far as it is compared."""

    role: str
    text: str
    calls: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str, tuple[str, ...]]:
        return self.role, " ".join(self.text.split()), self.calls


class Stretch(Struct, frozen=True):
    """A piece of text; `differs`: the other side does not have it there."""

    text: str
    differs: bool = False


class Cell(Struct, frozen=True, kw_only=True):
    """A turn on one side."""

    role: str
    words: tuple[Stretch, ...]
    calls: tuple[Stretch, ...]


class Beside(Struct, frozen=True):
    """What stands side by side; None: nothing on that side."""

    first: Cell | None
    second: Cell | None

    @property
    def differs(self) -> bool:
        sides = [side for side in (self.first, self.second) if side]
        return len(sides) < 2 or any(each.differs for side in sides for each in (*side.words, *side.calls))


def side_by_side(first: Sequence[Spoken], second: Sequence[Spoken]) -> list[Beside]:
    ours, theirs = first[:MOST], second[:MOST]
    matcher = SequenceMatcher(None, [each.key for each in ours], [each.key for each in theirs], autojunk=False)
    return [
        beside for step in matcher.get_opcodes() for beside in _step(ours[step[1] : step[2]], theirs[step[3] : step[4]])
    ]


def _step(ours: Sequence[Spoken], theirs: Sequence[Spoken]) -> Iterator[Beside]:
    """Turns that are alike, or that stand where others stood: those of the same role beside each other."""
    for one, other in _paired(ours, theirs):
        if one is None or other is None:
            yield Beside(_alone(one), _alone(other))
            continue
        words = words_apart(one.text, other.text)
        calls = _calls(one.calls, other.calls), _calls(other.calls, one.calls)
        yield Beside(
            Cell(role=one.role, words=words[0], calls=calls[0]), Cell(role=other.role, words=words[1], calls=calls[1])
        )


def _paired(ours: Sequence[Spoken], theirs: Sequence[Spoken]) -> Iterator[tuple[Spoken | None, Spoken | None]]:
    for one, other in zip_longest(ours, theirs):
        if one is not None and other is not None and one.role != other.role:
            yield one, None
            yield None, other
        else:
            yield one, other


def _alone(spoken: Spoken | None) -> Cell | None:
    if spoken is None:
        return None
    words = (Stretch(spoken.text, True),) if spoken.text else ()
    return Cell(role=spoken.role, words=words, calls=tuple(Stretch(call, True) for call in spoken.calls))


def _calls(own: Sequence[str], others: Sequence[str]) -> tuple[Stretch, ...]:
    left = list(others)
    found = []
    for call in own:
        shared = call in left
        if shared:
            left.remove(call)
        found.append(Stretch(call, not shared))
    return tuple(found)


def words_apart(first: str, second: str) -> tuple[tuple[Stretch, ...], tuple[Stretch, ...]]:
    """Both texts in stretches; those that the other does not have are marked."""
    ours, theirs = WORDS.findall(first), WORDS.findall(second)
    if first == second or max(len(ours), len(theirs)) > LONGEST:
        apart = first != second
        return _whole(first, apart), _whole(second, apart)
    matcher = SequenceMatcher(None, ours, theirs, autojunk=False)
    steps = matcher.get_opcodes()
    return (
        tuple(Stretch("".join(ours[a:b]), word != "equal") for word, a, b, _, _ in steps if b > a),
        tuple(Stretch("".join(theirs[c:d]), word != "equal") for word, _, _, c, d in steps if d > c),
    )


def _whole(text: str, differs: bool) -> tuple[Stretch, ...]:
    return (Stretch(text, differs),) if text else ()
