"""One expected short answer against what was said: which way they agree, if any, and where. Every way is a function
that gives a Match or None; the first that speaks decides."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum

from msgspec import Struct

from assay.judges.offline.dates import Day, Fit, dates_at, dates_in, fit, is_dates
from assay.judges.offline.folding import is_number, root, singular, squeezed
from assay.judges.offline.names import bare_name, is_acronym_of, name_at, same_word, spelled_out
from assay.judges.offline.passages import Passage, Words, comparable, content, find_run, passages
from assay.judges.offline.polarity import denies, negated, offered_with_another
from assay.judges.offline.quantities import agrees, is_quantities, quantities_at, quantities_in
from assay.judges.offline.vocabulary import LIGHT

_BRACKETS = re.compile(r"\s*\(([^()]*)\)\s*")
_LISTED = re.compile(r"[,;/\n|]+|\bor\b|\band\b")
LIGHT_WEIGHT = 0.3
MANY = 8
"""So many names in a bare list are no answer but a net."""
_TURNED_NAME = re.compile(r"\A\s*([^\W\d]+), ([^\W\d]+(?: [^\W\d]+)?)\s*\Z")


class Way(Enum):
    """How the answer agrees with the expected one, or how it fails to."""

    EQUAL = "the same"
    CONTAINED = "the same words"
    NAME = "the same name in another form"
    ACRONYM = "its abbreviation"
    DATE = "the same date"
    COARSER_DATE = "the date, less exact"
    NUMBER = "the same number"
    SHORTER = "a shorter form of it"
    OVERLAP = "mostly the same words"
    DENIED = "it is denied"
    ONE_OF_SEVERAL = "one of several guesses"
    OTHER_DATE = "another date"
    OTHER_NUMBER = "another number"
    OTHER = "something else"


class Match(Struct, frozen=True):
    """How they agree, how much of the expected answer is there, and the sentence that shows it."""

    way: Way
    share: float = 0.0
    quote: str = ""


class Asked(Struct, frozen=True):
    """An answer and the question it was given to."""

    question: Words
    answer: str
    sentences: tuple[Passage, ...]
    words: Words


def asked(question: str, answer: str) -> Asked:
    return Asked(comparable(question), answer, passages(answer), comparable(answer))


def best_match(references: Sequence[str], given: Asked) -> Match:
    """The match of the reference that the answer agrees with best. A day inside an expected year is still wrong when
    another reference names the day."""
    matches = [(match(expected, given), expected) for expected in references]
    best, by = max(matches, key=lambda pair: pair[0].share, default=(Match(Way.OTHER), ""))
    if best.way is Way.DATE and any(_more_exact(by, other) for one, other in matches if one.way is Way.OTHER_DATE):
        return Match(Way.OTHER_DATE)
    return best


def _more_exact(reference: str, other: str) -> bool:
    days, others = dates_in(comparable(reference)), dates_in(comparable(other))
    return any(fit(day, each) is Fit.FINER for day in days for each in others)


def match(expected: str, given: Asked) -> Match:
    """The first way that speaks, over every form of the expected answer."""
    forms = [words for form in forms_of(expected) if (words := comparable(form))]
    found = [way for words in forms if (way := _first(words, given)) is not None]
    return max(found, key=lambda way: way.share, default=Match(Way.OTHER))


def forms_of(expected: str) -> Iterator[str]:
    """The answer as it is written, and the forms it stands for: brackets are additions or other names, `Wilt` may
    stand before `Chamberlain`."""
    yield expected
    if inside := _BRACKETS.findall(expected):
        yield _BRACKETS.sub(" ", expected)
        yield from (form for form in inside if not form.strip().isdigit())
    if turned := _TURNED_NAME.match(expected):
        yield f"{turned[2]} {turned[1]}"


def _first(expected: Words, given: Asked) -> Match | None:
    for way in (_equal, _date, _number, _contained, _name, _acronym, _shorter, _overlap):
        if (found := way(expected, given)) is not None:
            return found
    return None


def _equal(expected: Words, given: Asked) -> Match | None:
    """The order of two words does not matter (`Nguyen Anna`); that of three may (`dog bites man`)."""
    same = expected == given.words or _singulars(expected) == _singulars(given.words)
    turned = len(expected) == 2 and sorted(expected) == sorted(given.words)
    if same or turned or squeezed(expected) == squeezed(given.words):
        return Match(Way.EQUAL, 1.0, given.answer)
    return None


def _singulars(words: Words) -> list[str]:
    return [singular(word) for word in words]


def _date(expected: Words, given: Asked) -> Match | None:
    """Where a date is expected, dates decide; an answer without one is left to the other ways."""
    if not is_dates(expected):
        return None
    stated = [(found, sentence) for sentence in given.sentences for found in dates_at(sentence.words)]
    if not stated:
        return None
    fits: list[Fit] = []
    spoken: list[Match] = []
    for wanted in dates_in(expected):
        best, (_, start, end), sentence = _best_date(wanted, stated)
        fits.append(best)
        spoken.append(_spoken(Way.DATE, sentence, start, end))
    if Fit.CONFLICT in fits:
        return Match(Way.OTHER_DATE)
    worst = min(spoken, key=lambda each: each.share)
    return Match(Way.COARSER_DATE, 0.8, worst.quote) if worst.share == 1 and Fit.COARSER in fits else worst


Dated = tuple[Day, int, int]


def _best_date(wanted: Day, stated: Sequence[tuple[Dated, Passage]]) -> tuple[Fit, Dated, Passage]:
    order = (Fit.SAME, Fit.FINER, Fit.COARSER, Fit.CONFLICT)
    fits = [(fit(wanted, found[0]), found, sentence) for found, sentence in stated]
    return min(fits, key=lambda each: order.index(each[0]))


def _number(expected: Words, given: Asked) -> Match | None:
    """Where a number is expected, numbers decide; those that the question names are no answers."""
    if not is_quantities(expected, frozenset(given.question)):
        return None
    named = frozenset(given.question) - frozenset(expected)
    stated = [
        (quantity, place, sentence)
        for sentence in given.sentences
        for quantity, place in quantities_at(sentence.words)
        if sentence.words[place] not in named
    ]
    if not any(map(is_number, given.words)):
        return None
    wanted = quantities_in(expected)
    for quantity, place, sentence in stated:
        if any(agrees(each, quantity) for each in wanted):
            return _spoken(Way.NUMBER, sentence, place, place + 1)
    return Match(Way.OTHER_NUMBER)


def _contained(expected: Words, given: Asked) -> Match | None:
    spoken: Match | None = None
    for sentence in given.sentences:
        found = find_run(expected, sentence.words)
        if found is not None:
            spoken = _spoken(Way.CONTAINED, sentence, *found)
            if spoken.share == 1:
                break
    if spoken is not None and spoken.share and _scattered(given):
        return Match(Way.ONE_OF_SEVERAL, 0.5, spoken.quote)
    return spoken


def _scattered(given: Asked) -> bool:
    """A bare list of many short names, one of which was bound to be right."""
    entries = [entry for entry in _LISTED.split(given.answer) if entry.strip()]
    return len(entries) >= MANY and all(len(entry.split()) <= 4 for entry in entries)


def _name(expected: Words, given: Asked) -> Match | None:
    for sentence in given.sentences:
        start = name_at(expected, sentence.words)
        if start is not None:
            return _spoken(Way.NAME, sentence, start, start + 1)
    return None


def _spoken(way: Way, sentence: Passage, start: int, end: int) -> Match:
    if negated(sentence.words, start, end):
        return Match(Way.DENIED, 0.0, sentence.text)
    if offered_with_another(sentence.words, start, end):
        return Match(Way.ONE_OF_SEVERAL, 0.5, sentence.text)
    return Match(way, 1.0, sentence.text)


def _acronym(expected: Words, given: Asked) -> Match | None:
    if is_acronym_of(given.words, expected) or is_acronym_of(expected, given.words):
        return Match(Way.ACRONYM, 1.0, given.answer)
    for sentence in given.sentences if len(expected) == 1 else ():
        if (found := spelled_out(expected[0], sentence.words)) is not None:
            return _spoken(Way.ACRONYM, sentence, *found)
    return None


def _shorter(expected: Words, given: Asked) -> Match | None:
    """Everything the answer says is in the expected one: `ARPANET` for `the ARPANET project`."""
    said = content(bare_name(given.words))
    wanted = content(bare_name(expected))
    if any(squeezed(said) == word for word in wanted):
        said = (squeezed(said),)
    if denies(given.words) != denies(expected):
        return None
    if not _in_order(said, wanted):
        return None
    new = [word for word in wanted if word not in given.question] or list(wanted)
    share = _weight(word for word in new if any(same_word(word, other) for other in said)) / _weight(new)
    return Match(Way.SHORTER, share, given.answer) if share else None


def _weight(words: Iterable[str]) -> float:
    """What words weigh: those that only place or class a thing (`southern`, `river`) next to nothing."""
    return sum(LIGHT_WEIGHT if word in LIGHT else 1.0 for word in words)


def _in_order(said: Words, wanted: Words) -> bool:
    """Every word said is one of the wanted; three or more stand in their order (`man bites dog` is another story)."""
    places = [next((at for at, other in enumerate(wanted) if same_word(word, other)), None) for word in said]
    known = [place for place in places if place is not None]
    return len(known) == len(places) and (len(known) < 3 or known == sorted(known))


def _overlap(expected: Words, given: Asked) -> Match | None:
    """The share of the expected words that one sentence uses, in any form, beyond those of the question."""
    wanted = list(dict.fromkeys(content(expected)))
    asked_for = set(map(root, given.question))
    new = [word for word in wanted if root(word) not in asked_for] or wanted
    if any(map(is_number, new)) and not any(map(is_number, given.words)):
        return None
    best = max((_shared(new, sentence) for sentence in given.sentences), key=lambda each: each.share, default=None)
    if best is None or not best.share:
        return None
    return Match(Way.DENIED, 0.0, best.quote) if denies(comparable(best.quote)) != denies(expected) else best


def _shared(wanted: Sequence[str], sentence: Passage) -> Match:
    said = list(map(root, sentence.words))
    shared = [word for word in wanted if root(word) in said]
    places = [said.index(root(word)) for word in shared]
    share = _weight(shared) / _weight(wanted)
    # The same words in another order may say the opposite (who paid whom); another figure is another answer.
    ordered = len(places) < 3 or places == sorted(places)
    figures = all(word in shared for word in wanted if is_number(word))
    return Match(Way.OVERLAP, share if ordered and figures else share * 0.6, sentence.text)
