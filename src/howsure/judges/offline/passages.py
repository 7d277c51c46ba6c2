"""A text in sentences, each with its folded words; and where one run of words lies in another."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from msgspec import Struct

from howsure.judges.offline.aliases import ALIASES, LONGEST_ALIAS
from howsure.judges.offline.folding import is_number, squeezed, tokens
from howsure.judges.offline.gazetteer import POSTAL
from howsure.judges.offline.names import LONG_WORD, same_word
from howsure.judges.offline.vocabulary import STOPWORDS, word_set

Words = tuple[str, ...]

_ABBREVIATED = (
    r"(?<!\b[A-Za-z]\.)(?<!\b(?:Dr|Mr|Ms|St|vs|No|Jr|Sr|Mt|ca)\.)(?<!\b(?:Mrs|Inc|Gen|Col|Art|Abs|e\.g|i\.e)\.)"
)
_SENTENCE_END = re.compile(r"(?<=[.!?])" + _ABBREVIATED + r"[\"'”’)]*\s+(?=[\"'“‘(*]*[A-Z0-9ÄÖÜ])|\s*\n+\s*|;\s+")

_COUNTED = word_set("season episode chapter book volume grade act scene verse amendment round")
_US = re.compile(r"\bUS\b")
"""Without its capitals it is a pronoun, unless it is all that is said."""
_POSTAL = re.compile(r"(\w,) ([A-Z]{2})\b(?!\.\w)")


class Passage(Struct, frozen=True):
    """One sentence as it stands, and its words as they are compared."""

    text: str
    words: Words


@lru_cache(maxsize=256)
def passages(text: str) -> tuple[Passage, ...]:
    """The sentences, lines and list entries of a text; those without a word are left out."""
    pieces = (piece.strip() for piece in _SENTENCE_END.split(text))
    return tuple(Passage(piece, words) for piece in pieces if (words := comparable(piece)))


@lru_cache(maxsize=4096)
def comparable(text: str) -> Words:
    """The folded words, with one name for what has several."""
    words = _numbered(tuple(_renamed(tokens(_POSTAL.sub(_state, _US.sub("USA", text))))))
    return ("usa",) if words == ("us",) else words


def _numbered(words: Words) -> Words:
    """`the third season` is season 3."""
    if _COUNTED.isdisjoint(words):
        return words
    turned = list(words)
    for at, (one, other) in enumerate(pairwise(words)):
        if is_number(one) and other in _COUNTED and (at == 0 or turned[at - 1] not in _COUNTED):
            turned[at : at + 2] = other, one
    return tuple(turned)


def _state(found: re.Match[str]) -> str:
    """`Pittsburgh, PA` is in Pennsylvania; other capitals stay as they are."""
    return f"{found[1]} {POSTAL.get(found[2], found[2])}"


def content(words: Sequence[str]) -> Words:
    """The words that carry meaning; all of them when none does (`The Who`)."""
    return tuple(word for word in words if word not in STOPWORDS) or tuple(words)


def find_run(wanted: Sequence[str], words: Sequence[str]) -> tuple[int, int] | None:
    """Where `wanted` stands as one run in `words`: plurals, a letter mistyped and word breaks set aside."""
    if not wanted:
        return None
    size = len(wanted)
    for start in range(len(words) - size + 1):
        if all(map(same_word, wanted, words[start : start + size])):
            return start, start + size
    return _unbroken(squeezed(tuple(wanted)), words)


def _unbroken(wanted: str, words: Sequence[str]) -> tuple[int, int] | None:
    """`spiderman` where `spider man` stands."""
    if len(wanted) < LONG_WORD:
        return None
    for start in range(len(words)):
        run = ""
        for end in range(start, len(words)):
            run += words[end]
            if run == wanted:
                return start, end + 1
            if not wanted.startswith(run):
                break
    return None


def _renamed(words: Words) -> Iterator[str]:
    place = 0
    while place < len(words):
        for size in range(min(LONGEST_ALIAS, len(words) - place), 0, -1):
            if (known := ALIASES.get(words[place : place + size])) is not None:
                yield from known
                place += size
                break
        else:
            yield words[place]
            place += 1
