"""Expected words and names: the ways in which an answer may say them. Each gives a Match, or None where it has nothing
to say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from howsure.judges.offline.dates import MONTHS
from howsure.judges.offline.families import same_family
from howsure.judges.offline.folding import is_number, singular, squeezed
from howsure.judges.offline.matches import Asked, Match, Way, spoken
from howsure.judges.offline.names import PARTICLES, bare_name, is_acronym_of, name_at, same_word, spelled_out
from howsure.judges.offline.passages import Passage, Words, comparable, content, find_run
from howsure.judges.offline.places import Lies, asks_where, lies, place_of
from howsure.judges.offline.polarity import denies
from howsure.judges.offline.vocabulary import LIGHT, STOPWORDS, TITLES

_LISTED = re.compile(r"[,;/\n|]+|\bor\b|\band\b")
_CAPITALS = re.compile(r"\b[A-Z]{3,6}\b")
_CAPITALISED = re.compile(r"[^\W\d_a-z][\w’'-]*\.?(?: [^\W\d_a-z][\w’'-]*)*")
LIGHT_WEIGHT = 0.3
HALF = 0.5
MANY = 8
"""So many names in a bare list are no answer but a net."""


def equal(expected: Words, given: Asked) -> Match | None:
    """The order of two words does not matter (`Nguyen Anna`); that of three may (`dog bites man`)."""
    same = expected == given.words or _singulars(expected) == _singulars(given.words)
    turned = len(expected) == 2 and sorted(expected) == sorted(given.words)
    if same or turned or squeezed(expected) == squeezed(given.words):
        return Match(Way.EQUAL, 1.0, given.answer)
    return None


def _singulars(words: Words) -> list[str]:
    return [singular(word) for word in words]


def contained(expected: Words, given: Asked) -> Match | None:
    said: Match | None = None
    for sentence in given.sentences:
        found = find_run(expected, sentence.words)
        if found is not None:
            said = spoken(Way.CONTAINED, sentence, *found)
            if said.share == 1:
                break
    if said is not None and said.share and _scattered(given):
        return Match(Way.ONE_OF_SEVERAL, 0.5, said.quote)
    return said


def _scattered(given: Asked) -> bool:
    """A bare list of many short names, one of which was bound to be right."""
    entries = [entry for entry in _LISTED.split(given.answer) if entry.strip()]
    return len(entries) >= MANY and all(len(entry.split()) <= 4 for entry in entries)


def named(expected: Words, given: Asked) -> Match | None:
    for sentence in given.sentences:
        start = name_at(expected, sentence.words)
        if start is not None:
            return spoken(Way.NAME, sentence, start, start + 1)
    return None


def by_last_name(expected: Words, given: Asked) -> Match | None:
    """`Einstein` inside a sentence for Albert Einstein, `the Yankees` for the New York ones, where the question asks
    who: with a capital, and no other name before or after it."""
    name = bare_name(expected)
    if not 2 <= len(name) <= 4 or is_number(name[-1]) or name[-1] in LIGHT or name[-1] in given.question:
        return None
    for sentence in given.sentences:
        found = find_run(name[-1:], sentence.words)
        if found and not denies(sentence.words) and _stands_alone(name[-1], sentence.text, given.question):
            return spoken(Way.LAST_NAME, sentence, *found)
    return None


def _stands_alone(name: str, text: str, question: Words) -> bool:
    """The first name in the text that the question does not hold is this one (`Ruby shot Oswald` names Ruby)."""
    known = TITLES | STOPWORDS | frozenset(question)
    groups = ([word for word in comparable(found[0]) if word not in known] for found in _CAPITALISED.finditer(text))
    first = next((group for group in groups if group), [])
    return len(first) == 1 and same_word(first[0], name)


def abbreviated(expected: Words, given: Asked) -> Match | None:
    if is_acronym_of(given.words, expected) or is_acronym_of(expected, given.words):
        return Match(Way.ACRONYM, 1.0, given.answer)
    if any(is_acronym_of((short.casefold(),), expected) for short in _CAPITALS.findall(given.answer)):
        return Match(Way.ACRONYM, 1.0, given.answer) if not denies(given.words) else None
    for sentence in given.sentences if len(expected) == 1 else ():
        if (found := spelled_out(expected[0], sentence.words)) is not None:
            return spoken(Way.ACRONYM, sentence, *found)
    return None


def placed(expected: Words, given: Asked) -> Match | None:
    """Where the question asks where: a place inside the expected one, or less exactly one around it."""
    if not asks_where(given.question) or denies(given.words) or "or" in given.words:
        return None
    how, stated = lies(expected, given.words), given.words
    if how is None:
        how, stated = lies(expected, given.bare), given.bare
    if how in (Lies.SAME, Lies.WITHIN):
        return Match(Way.WITHIN, 0.9, given.answer)
    if how is Lies.AROUND and find_run(content(stated), given.question) is None:
        return Match(Way.AROUND, 0.8, given.answer)
    return None


def shorter(expected: Words, given: Asked) -> Match | None:
    """Everything the answer says, or says beyond the question, is in the expected one: `ARPANET` for `the ARPANET
    project`."""
    if denies(given.words) != denies(expected) or _another_place(expected, given.words):
        return None
    wanted = content(bare_name(expected))
    for stated in (content(bare_name(given.words)), _undated(given.bare, wanted)):
        said = (squeezed(stated),) if squeezed(stated) in wanted else stated
        if not said or not _in_order(said, wanted, "and" in expected) or _another_place(expected, said):
            continue
        if (share := _share(said, wanted, given.question)) >= HALF:
            return Match(Way.SHORTER, share, given.answer)
    return None


def _undated(said: Words, wanted: Words) -> Words:
    """Without the figures and months that a name is given with (`Michelangelo between 1508 and 1512`)."""
    if any(map(is_number, wanted)):
        return said
    return tuple(word for word in said if not is_number(word) and word not in MONTHS)


def shorter_thing(expected: Words, given: Asked) -> Match | None:
    """What is no name keeps its last word, which says what it is: hydrogen is no hydrogen peroxide."""
    found = shorter(expected, given)
    if found is None:
        return None
    *_, head = content(expected)
    kept = head in LIGHT or _among(head, given.words) or _among(head, given.question)
    return found if kept else None


def _share(said: Words, wanted: Words, question: Words) -> float:
    """How much of what the question leaves open is said. Particles of names, and words that only class a thing, count
    only when there is nothing else."""
    new = [word for word in wanted if word not in question] or list(wanted)
    heavy = [word for word in new if word not in LIGHT and word not in PARTICLES]
    telling = heavy if any(_among(word, said) for word in heavy) else new
    return _weight(word for word in telling if any(same_word(word, other) for other in said)) / _weight(telling)


def _another_place(expected: Words, stated: Words) -> bool:
    """Virginia is not West Virginia, though all its words are there."""
    return place_of(expected) is not None and lies(expected, stated) not in (None, Lies.SAME)


def _weight(words: Iterable[str]) -> float:
    """What words weigh: those that only place or class a thing (`southern`, `river`) next to nothing."""
    return sum(LIGHT_WEIGHT if word in LIGHT else 1.0 for word in words)


def _in_order(said: Words, wanted: Words, free: bool) -> bool:
    """Every word said is one of the wanted; three or more stand in their order (`man bites dog` is another story),
    unless it is a list."""
    places = [next((at for at, other in enumerate(wanted) if same_word(word, other)), None) for word in said]
    known = [place for place in places if place is not None]
    return len(known) == len(places) and (free or len(known) < 3 or known == sorted(known))


def overlapping(expected: Words, given: Asked) -> Match | None:
    """The share of the expected words that one sentence uses, in any form, beyond those of the question."""
    if _another_place(expected, given.words) or _another_place(expected, given.bare):
        return None
    wanted = list(dict.fromkeys(content(expected)))
    new = [word for word in wanted if not _among(word, given.question)] or wanted
    if any(map(is_number, new)) and not any(map(is_number, given.words)):
        return None
    # Of a list the order is free.
    free = "and" in expected
    best = max(
        (_shared(new, sentence, free) for sentence in given.sentences), key=lambda each: each.share, default=None
    )
    if best is None or not best.share:
        return None
    return Match(Way.DENIED, 0.0, best.quote) if denies(comparable(best.quote)) != denies(expected) else best


def _among(word: str, words: Iterable[str]) -> bool:
    return any(_akin(word, other) for other in words)


def _akin(one: str, other: str) -> bool:
    return same_word(one, other) or same_family(one, other)


def _shared(wanted: Sequence[str], sentence: Passage, free: bool) -> Match:
    places = {
        word: at for word in wanted for at, said in reversed(list(enumerate(sentence.words))) if _akin(word, said)
    }
    share = _weight(places) / _weight(wanted)
    # The same words in another order may say the opposite (who paid whom); another figure is another answer.
    ordered = free or len(places) < 3 or list(places.values()) == sorted(places.values())
    figures = all(word in places for word in wanted if is_number(word))
    return Match(Way.OVERLAP, share if ordered and figures else share * 0.6, sentence.text)
