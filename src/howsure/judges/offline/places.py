"""Places as answers: a city answers for its country where the question asks where, and the country for the city less
exactly. Only what the gazetteer knows counts; `northern` is not `southern`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from functools import lru_cache

from howsure.judges.offline.gazetteer import LONGEST_PLACE, REGIONS, WHOLES, Name
from howsure.judges.offline.vocabulary import LIGHT, STOPWORDS, word_set

_ASKS_WHERE = word_set("where located location birthplace whereabouts")
_AROUND_PLACES = word_set(
    "located near around within inside outside continent primarily mainly mostly region found today "
    "republic kingdom federation federal democratic commonwealth territory mt lake"
)
_SIDES = word_set("north south east west northern southern eastern western northeast northwest southeast southwest")


class Lies(Enum):
    """How a stated place lies to the expected one."""

    SAME = "same"
    WITHIN = "within"
    AROUND = "around"
    ELSEWHERE = "elsewhere"


def asks_where(question: Sequence[str]) -> bool:
    return not _ASKS_WHERE.isdisjoint(question)


@lru_cache(maxsize=1024)
def place_of(words: tuple[str, ...]) -> Name | None:
    """The smallest place that the words name, where they name places and nothing else (`Seattle, Washington`)."""
    found = list(_named(words))
    named = [each for each in found if isinstance(each, tuple)]
    if not named or any(isinstance(each, str) and not _is_light(each) for each in found):
        return None
    finest, *others = sorted(named, key=lambda name: len(wholes_of(name)), reverse=True)
    return finest if all(other in wholes_of(finest) or other == finest for other in others) else None


def _named(words: tuple[str, ...]) -> Iterator[Name | str]:
    """The places among the words, longest first, and the words between them."""
    at = 0
    while at < len(words):
        sizes = range(min(LONGEST_PLACE, len(words) - at), 0, -1)
        name = next((words[at : at + size] for size in sizes if words[at : at + size] in WHOLES), None)
        yield name or words[at]
        at += len(name) if name else 1


def _is_light(word: str) -> bool:
    return word in LIGHT or word in STOPWORDS or word in _AROUND_PLACES


@lru_cache(maxsize=1024)
def wholes_of(place: Name) -> frozenset[Name]:
    """Everything the place lies in."""
    direct = WHOLES.get(place, frozenset())
    return direct.union(*(wholes_of(whole) for whole in direct)) if direct else direct


def lies(expected: tuple[str, ...], stated: tuple[str, ...]) -> Lies | None:
    """How the stated place lies to the expected one; None: not both are known places. Of a site that is not known
    (`Rose Bowl, Pasadena`) the place named last is."""
    wanted, said = place_of(expected), place_of(stated)
    if said is None:
        return None
    if wanted is None:
        site = _last_place(expected)
        return Lies.AROUND if site and (said == site or _is_around(said, site)) else None
    if _SIDES & set(expected) and _SIDES & set(stated) and not _SIDES & set(expected) & set(stated):
        return Lies.ELSEWHERE
    if wanted == said:
        return Lies.SAME if _agree(_wholes_named(expected, wanted), _wholes_named(stated, said)) else Lies.ELSEWHERE
    if wanted in wholes_of(said):
        return Lies.WITHIN
    return Lies.AROUND if _is_around(said, wanted) else Lies.ELSEWHERE


def _wholes_named(words: tuple[str, ...], place: Name) -> list[Name]:
    return [name for name in _named(words) if isinstance(name, tuple) and name != place]


def _agree(ones: Sequence[Name], others: Sequence[Name]) -> bool:
    """Nothing against it being one place: Portland in Maine is not Portland in Oregon."""
    pairs = [(one, other) for one in ones for other in others]
    return not pairs or any(one == other or one in wholes_of(other) or other in wholes_of(one) for one, other in pairs)


def _is_around(whole: Name, place: Name) -> bool:
    """A continent is too wide to stand for anything smaller than a country."""
    wide = whole in REGIONS and WHOLES[place].isdisjoint(REGIONS)
    return whole in wholes_of(place) and not wide


def _last_place(words: tuple[str, ...]) -> Name | None:
    *_, last = _named(words)
    return last if isinstance(last, tuple) and len(last) < len(words) else None
