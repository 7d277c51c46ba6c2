"""Reasons that say the same in other words. A text is a set of words, and two are alike when they share half of all
their words (Jaccard). The first of a kind leads its group, and a later text joins the leader that it is most like, so
that no chain of small steps joins what is unlike. A text is compared only with leaders that share one of its rarest
words (prefix filtering), and for a word that very many lead, with some of them: ten thousand reasons take seconds. The
same texts always give the same groups."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import ceil

ALIKE = 0.5
BUSY = 20
"""Leaders that a text is compared with for one word that they share."""
MOST_WORDS = 60
"""Words of one text that are looked at."""

Words = frozenset[str]

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_NUMBER = re.compile(r"\d+")
_COMMON = frozenset(
    _WORD.findall(
        "a an and are as at be been but by can could did do does for from had has have in into is it its of on or so"
        " that the their them there these they this to was were which while who will with would attempt"
    )
)


def words_of(text: str) -> Words:
    """The words that carry meaning, numbers all alike."""
    said = (_NUMBER.sub("#", word.lower()) for word in _WORD.findall(text))
    telling = frozenset(word for word in said if word not in _COMMON and (len(word) > 1 or word == "#"))
    return telling or frozenset((text.strip().lower(),))


def alike(texts: Sequence[str]) -> list[list[int]]:
    """The places of texts that are alike, by group: the largest first, then by first place. Every text is in one."""
    places: dict[Words, list[int]] = {}
    for place, text in enumerate(texts):
        places.setdefault(words_of(text), []).append(place)
    groups: dict[Words, list[int]] = {}
    for kind, leader in _led(places):
        groups.setdefault(leader, []).extend(places[kind])
    return sorted((sorted(group) for group in groups.values()), key=lambda group: (-len(group), group[0]))


def _led(kinds: Iterable[Words]) -> Iterator[tuple[Words, Words]]:
    """Every kind of text with the one that leads its group, which may be itself."""
    kinds = tuple(kinds)
    known = Counter(word for kind in kinds for word in kind)
    leaders: dict[str, list[Words]] = {}
    for kind in kinds:
        rarest = sorted(kind, key=lambda word: (known[word], word))[:MOST_WORDS]
        # Two sets that share half of their words share one of these, whichever of the two is asked.
        prefix = rarest[: len(rarest) - ceil(ALIKE * len(rarest)) + 1]
        leader = _nearest(kind, (near for word in prefix for near in leaders.get(word, ())))
        if leader is None:
            leader = kind
            for word in prefix:
                if len(same := leaders.setdefault(word, [])) < BUSY:
                    same.append(kind)
        yield kind, leader


def _nearest(kind: Words, leaders: Iterable[Words]) -> Words | None:
    best, nearest = 0.0, None
    size = len(kind)
    for leader in leaders:
        # Sets of very different sizes cannot share half of their words.
        if not ALIKE <= size / len(leader) <= 1 / ALIKE:
            continue
        shared = len(kind & leader)
        share = shared / (size + len(leader) - shared)
        if share >= ALIKE and share > best:
            best, nearest = share, leader
    return nearest


def spokesman(texts: Iterable[str]) -> str:
    """The text that stands for a group: the most frequent one, the shortest of these."""
    counted = Counter(texts)
    return min(counted, key=lambda text: (-counted[text], len(text), text))
