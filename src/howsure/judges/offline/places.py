"""Places as answers: where the question asks where, a city answers for its country, and the country for the city less
exactly. Only places in the gazetteer count; `northern` is not `southern`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from functools import lru_cache

from howsure.judges.offline.lexicon import Words, gazetteer, word_list, word_set

_ASKS_WHERE = word_set("where located location birthplace whereabouts")
_SIDES = word_set("north south east west northern southern eastern western northeast northwest southeast southwest")


class PlaceRelation(Enum):
    """How a stated place relates to the expected one."""

    SAME = "same"
    WITHIN = "within"
    AROUND = "around"
    ELSEWHERE = "elsewhere"


def asks_where(question: Sequence[str]) -> bool:
    return not _ASKS_WHERE.isdisjoint(question)


@lru_cache(maxsize=1024)
def find_place(words: Words) -> Words | None:
    """The smallest place that the words name, where they name places and nothing else (`Seattle, Washington`)."""
    pieces = list(_split_places(words))
    places = [each for each in pieces if isinstance(each, tuple)]
    if not places or any(isinstance(each, str) and not _is_light(each) for each in pieces):
        return None
    finest, *others = sorted(places, key=lambda name: len(enclosing_places(name)), reverse=True)
    return finest if all(other in enclosing_places(finest) or other == finest for other in others) else None


def _split_places(words: Words) -> Iterator[Words | str]:
    """The places among the words, longest first, and the words between them."""
    known = gazetteer()
    at = 0
    while at < len(words):
        sizes = range(min(known.longest, len(words) - at), 0, -1)
        name = next((words[at : at + size] for size in sizes if words[at : at + size] in known.containers), None)
        yield name or words[at]
        at += len(name) if name else 1


def _is_light(word: str) -> bool:
    return word in word_list("light") or word in word_list("stopwords") or word in word_list("around_places")


@lru_cache(maxsize=1024)
def enclosing_places(place: Words) -> frozenset[Words]:
    """Every place that contains this one."""
    direct = gazetteer().containers.get(place, frozenset())
    return direct.union(*(enclosing_places(each) for each in direct)) if direct else direct


def relate_places(expected: Words, stated: Words) -> PlaceRelation | None:
    """How the stated place relates to the expected one; None: one of them is unknown. For an unknown site (`Rose Bowl,
    Pasadena`) the place named last counts."""
    right, place = find_place(expected), find_place(stated)
    if place is None:
        return None
    if right is None:
        *_, last = _split_places(expected)
        site = last if isinstance(last, tuple) and len(last) < len(expected) else None
        return PlaceRelation.AROUND if site and (place == site or _is_around(place, site)) else None
    if _SIDES & set(expected) and _SIDES & set(stated) and not _SIDES & set(expected) & set(stated):
        return PlaceRelation.ELSEWHERE
    if right == place:
        same = _can_be_one_place(_other_places(expected, right), _other_places(stated, place))
        return PlaceRelation.SAME if same else PlaceRelation.ELSEWHERE
    if right in enclosing_places(place):
        return PlaceRelation.WITHIN
    return PlaceRelation.AROUND if _is_around(place, right) else PlaceRelation.ELSEWHERE


def _other_places(words: Words, place: Words) -> list[Words]:
    return [name for name in _split_places(words) if isinstance(name, tuple) and name != place]


def _can_be_one_place(ones: Sequence[Words], others: Sequence[Words]) -> bool:
    """Nothing contradicts that both are one place: Portland in Maine is not Portland in Oregon."""
    pairs = [(one, other) for one in ones for other in others]
    return not pairs or any(
        one == other or one in enclosing_places(other) or other in enclosing_places(one) for one, other in pairs
    )


def _is_around(whole: Words, place: Words) -> bool:
    """A continent is too wide to stand for anything smaller than a country."""
    known = gazetteer()
    wide = whole in known.regions and known.containers[place].isdisjoint(known.regions)
    return whole in enclosing_places(place) and not wide
