"""How a short answer can match an expected one: by date, number, name, acronym, place, fewer or overlapping words. Each
function gives a Match, or None where it has nothing to say; references.py decides which of them to try.

People and models repeat the question and add what nobody asked; the first clause that says something new is the bare
answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import Enum

from msgspec import Struct

from howsure.judges.offline.dates import (
    MONTHS,
    DateFit,
    PartialDate,
    compare_dates,
    find_dates,
    find_year_spans,
    is_dates,
    locate_dates,
)
from howsure.judges.offline.lexicon import Words, phrase, word_list
from howsure.judges.offline.places import PlaceRelation, asks_where, find_place, relate_places
from howsure.judges.offline.quantities import agrees, find_quantities, find_ranges, is_quantities, locate_quantities
from howsure.judges.offline.sentences import (
    Sentence,
    comparable_words,
    content_words,
    denies,
    find_run,
    is_negated,
    offered_with_another,
    split_sentences,
)
from howsure.judges.offline.word_forms import (
    PARTICLES,
    find_name,
    find_spelled_out,
    is_acronym_of,
    same_family,
    same_word,
    strip_titles,
)
from howsure.judges.offline.words import is_number, join_words, singular

_CLAUSE_END = phrase("clause_end")


def bare_answer(question: Words, sentences: Sequence[Sentence]) -> Words:
    """The words of the first clause that says something the question does not; () when no clause does."""
    for sentence in sentences[:2]:
        for clause in _CLAUSE_END.split(sentence.text):
            if words := tuple(word for word in comparable_words(clause) if not _is_frame(word, question)):
                return words
    return ()


def _is_frame(word: str, question: Words) -> bool:
    return (
        word in word_list("stopwords")
        or word in word_list("framing")
        or any(same_family(word, other) for other in question)
    )


class MatchKind(Enum):
    """How the answer agrees with the expected one, or how it fails to."""

    EQUAL = "the same"
    CONTAINED = "the same words"
    NAME = "the same name in another form"
    LAST_NAME = "the last name"
    ACRONYM = "its abbreviation"
    DATE = "the same date"
    COARSER_DATE = "the date, less exact"
    NUMBER = "the same number"
    WITHIN = "a place that lies in it"
    AROUND = "a place that it lies in"
    SHORTER = "a shorter form of it"
    OVERLAP = "mostly the same words"
    DENIED = "it is denied"
    ONE_OF_SEVERAL = "one of several guesses"
    OTHER_DATE = "another date"
    OTHER_NUMBER = "another number"
    OTHER = "something else"


class Match(Struct, frozen=True):
    """How they agree, how much of the expected answer is there, and the sentence that shows it."""

    kind: MatchKind
    share: float = 0.0
    quote: str = ""


class ShortAnswer(Struct, frozen=True):
    """An answer and the question it was answer to; `bare` is what the answer says beyond the question."""

    question: Words
    text: str
    sentences: tuple[Sentence, ...]
    words: Words
    bare: Words


def read_short_answer(question: str, answer: str) -> ShortAnswer:
    question_words, sentences = comparable_words(question), split_sentences(answer)
    return ShortAnswer(
        question_words, answer, sentences, comparable_words(answer), bare_answer(question_words, sentences)
    )


def match_in_sentence(kind: MatchKind, sentence: Sentence, start: int, end: int) -> Match:
    """The match, unless the words around it deny it or offer an alternative."""
    if is_negated(sentence.words, start, end):
        return Match(MatchKind.DENIED, 0.0, sentence.text)
    if offered_with_another(sentence.words, start, end):
        return Match(MatchKind.ONE_OF_SEVERAL, 0.5, sentence.text)
    return Match(kind, 1.0, sentence.text)


_LISTED = re.compile(r"[,;/\n|]+|\bor\b|\band\b")
_CAPITALS = re.compile(r"\b[A-Z]{3,6}\b")
_CAPITALISED = re.compile(r"[^\W\d_a-z][\w’'-]*\.?(?: [^\W\d_a-z][\w’'-]*)*")
LIGHT_WEIGHT = 0.3
HALF = 0.5
MANY = 8
"""A bare list of this many names is not an answer but a guess at random."""


def match_equal(expected: Words, answer: ShortAnswer) -> Match | None:
    """The order of two words does not matter (`Nguyen Anna`); that of three may (`dog bites man`)."""
    same = expected == answer.words or _singulars(expected) == _singulars(answer.words)
    turned = len(expected) == 2 and sorted(expected) == sorted(answer.words)
    if same or turned or join_words(expected) == join_words(answer.words):
        return Match(MatchKind.EQUAL, 1.0, answer.text)
    return None


def _singulars(words: Words) -> list[str]:
    return [singular(word) for word in words]


def match_contained(expected: Words, answer: ShortAnswer) -> Match | None:
    best: Match | None = None
    for sentence in answer.sentences:
        found = find_run(expected, sentence.words)
        if found is not None:
            best = match_in_sentence(MatchKind.CONTAINED, sentence, *found)
            if best.share == 1:
                break
    if best is not None and best.share:
        # In a bare list of many short names one is bound to be right.
        entries = [entry for entry in _LISTED.split(answer.text) if entry.strip()]
        if len(entries) >= MANY and all(len(entry.split()) <= 4 for entry in entries):
            return Match(MatchKind.ONE_OF_SEVERAL, 0.5, best.quote)
    return best


def match_name(expected: Words, answer: ShortAnswer) -> Match | None:
    for sentence in answer.sentences:
        start = find_name(expected, sentence.words)
        if start is not None:
            return match_in_sentence(MatchKind.NAME, sentence, start, start + 1)
    return None


def match_last_name(expected: Words, answer: ShortAnswer) -> Match | None:
    """`Einstein` in a sentence for Albert Einstein, `the Yankees` for the New York Yankees, where the question asks
    who: with a capital, and no other name next to it."""
    name = strip_titles(expected)
    if not 2 <= len(name) <= 4 or is_number(name[-1]) or name[-1] in word_list("light") or name[-1] in answer.question:
        return None
    for sentence in answer.sentences:
        found = find_run(name[-1:], sentence.words)
        if found and not denies(sentence.words) and _stands_alone(name[-1], sentence.text, answer.question):
            return match_in_sentence(MatchKind.LAST_NAME, sentence, *found)
    return None


def _stands_alone(name: str, text: str, question: Words) -> bool:
    """The first name in the text that the question does not hold is this one (`Ruby shot Oswald` names Ruby)."""
    known = word_list("titles") | word_list("stopwords") | frozenset(question)
    groups = (
        [word for word in comparable_words(found[0]) if word not in known] for found in _CAPITALISED.finditer(text)
    )
    first = next((group for group in groups if group), [])
    return len(first) == 1 and same_word(first[0], name)


def match_acronym(expected: Words, answer: ShortAnswer) -> Match | None:
    if is_acronym_of(answer.words, expected) or is_acronym_of(expected, answer.words):
        return Match(MatchKind.ACRONYM, 1.0, answer.text)
    if any(is_acronym_of((letters.casefold(),), expected) for letters in _CAPITALS.findall(answer.text)):
        return Match(MatchKind.ACRONYM, 1.0, answer.text) if not denies(answer.words) else None
    for sentence in answer.sentences if len(expected) == 1 else ():
        if (found := find_spelled_out(expected[0], sentence.words)) is not None:
            return match_in_sentence(MatchKind.ACRONYM, sentence, *found)
    return None


def match_place(expected: Words, answer: ShortAnswer) -> Match | None:
    """Where the question asks where: a place inside the expected one, or less exactly one around it."""
    if not asks_where(answer.question) or denies(answer.words) or "or" in answer.words:
        return None
    relation, stated = relate_places(expected, answer.words), answer.words
    if relation is None:
        relation, stated = relate_places(expected, answer.bare), answer.bare
    if relation in (PlaceRelation.SAME, PlaceRelation.WITHIN):
        return Match(MatchKind.WITHIN, 0.9, answer.text)
    if relation is PlaceRelation.AROUND and find_run(content_words(stated), answer.question) is None:
        return Match(MatchKind.AROUND, 0.8, answer.text)
    return None


def match_shorter(expected: Words, answer: ShortAnswer) -> Match | None:
    """Everything that the answer says, or says beyond the question, is in the expected one: `ARPANET` for `the ARPANET
    project`."""
    if denies(answer.words) != denies(expected) or _another_place(expected, answer.words):
        return None
    targets = content_words(strip_titles(expected))
    for stated in (content_words(strip_titles(answer.words)), _undated(answer.bare, targets)):
        words = (join_words(stated),) if join_words(stated) in targets else stated
        if not words or not _in_order(words, targets, "and" in expected) or _another_place(expected, words):
            continue
        if (share := _share(words, targets, answer.question)) >= HALF:
            return Match(MatchKind.SHORTER, share, answer.text)
    return None


def _undated(words: Words, targets: Words) -> Words:
    """The words without figures and months that accompany a name (`Michelangelo between 1508 and 1512`)."""
    if any(map(is_number, targets)):
        return words
    return tuple(word for word in words if not is_number(word) and word not in MONTHS)


def match_shorter_thing(expected: Words, answer: ShortAnswer) -> Match | None:
    """Words that are not a name keep the last word, which says what the thing is: hydrogen is not hydrogen peroxide."""
    found = match_shorter(expected, answer)
    if found is None:
        return None
    *_, head = content_words(expected)
    has_head = head in word_list("light") or _has_form_of(head, answer.words) or _has_form_of(head, answer.question)
    return found if has_head else None


def _share(words: Words, targets: Words, question: Words) -> float:
    """How much of what the question leaves open is said. Particles of names, and words that only classify a thing,
    count when there is nothing else."""
    new = [word for word in targets if word not in question] or list(targets)
    heavy = [word for word in new if word not in word_list("light") and word not in PARTICLES]
    telling = heavy if any(_has_form_of(word, words) for word in heavy) else new
    return _weight(word for word in telling if any(same_word(word, other) for other in words)) / _weight(telling)


def _another_place(expected: Words, stated: Words) -> bool:
    """Virginia is not West Virginia, although all its words are there."""
    return find_place(expected) is not None and relate_places(expected, stated) not in (None, PlaceRelation.SAME)


def _weight(words: Iterable[str]) -> float:
    """The weight of words: words that only place or classify a thing (`southern`, `river`) weigh little."""
    return sum(LIGHT_WEIGHT if word in word_list("light") else 1.0 for word in words)


def _in_order(words: Words, targets: Words, free: bool) -> bool:
    """Every word said is one of the expected ones, and three or more keep their order (`man bites dog` is another
    story) unless they are a list."""
    places = [next((at for at, other in enumerate(targets) if same_word(word, other)), None) for word in words]
    known = [place for place in places if place is not None]
    return len(known) == len(places) and (free or len(known) < 3 or known == sorted(known))


def match_overlap(expected: Words, answer: ShortAnswer) -> Match | None:
    """The share of the expected words that one sentence uses, in any form, beyond those of the question."""
    if _another_place(expected, answer.words) or _another_place(expected, answer.bare):
        return None
    targets = list(dict.fromkeys(content_words(expected)))
    new = [word for word in targets if not _has_form_of(word, answer.question)] or targets
    if any(map(is_number, new)) and not any(map(is_number, answer.words)):
        return None
    # The order of a list is free.
    free = "and" in expected
    best = max(
        (_shared(new, sentence, free) for sentence in answer.sentences), key=lambda each: each.share, default=None
    )
    if best is None or not best.share:
        return None
    denied = denies(comparable_words(best.quote)) != denies(expected)
    return Match(MatchKind.DENIED, 0.0, best.quote) if denied else best


def _has_form_of(word: str, words: Iterable[str]) -> bool:
    return any(_same_word_or_family(word, other) for other in words)


def _same_word_or_family(one: str, other: str) -> bool:
    return same_word(one, other) or same_family(one, other)


def _shared(targets: Sequence[str], sentence: Sentence, free: bool) -> Match:
    places = {
        word: at
        for word in targets
        for at, said in reversed(list(enumerate(sentence.words)))
        if _same_word_or_family(word, said)
    }
    share = _weight(places) / _weight(targets)
    # The same words in another order may say the opposite (who paid whom); another figure is another answer.
    ordered = free or len(places) < 3 or list(places.values()) == sorted(places.values())
    figures = all(word in places for word in targets if is_number(word))
    return Match(MatchKind.OVERLAP, share if ordered and figures else share * 0.6, sentence.text)


Dated = tuple[PartialDate, int, int]
_MANY = frozenset({"many", "much", "long", "old", "far", "tall", "high", "big", "large", "deep", "often"})
_ORDER = (DateFit.SAME, DateFit.FINER, DateFit.COARSER, DateFit.CONFLICT)


def match_date(expected: Words, answer: ShortAnswer) -> Match | None:
    """Where a date is expected, dates decide; an answer without a date is left to the other functions."""
    if not is_dates(expected):
        return None
    # The dates of the answer without those of the question, unless it has no others.
    found = [(dated, sentence) for sentence in answer.sentences for dated in locate_dates(sentence.words)]
    named = [day for day in find_dates(answer.question) if day not in find_dates(expected)]
    stated = [each for each in found if each[0][0] not in named] or found
    if not stated:
        return None
    return _match_span(expected, answer, stated) or _match_days(expected, stated)


def _match_days(expected: Words, stated: Sequence[tuple[Dated, Sentence]]) -> Match:
    fits: list[DateFit] = []
    matches: list[Match] = []
    for target in find_dates(expected):
        compared = [(compare_dates(target, dated[0]), dated, sentence) for dated, sentence in stated]
        best, (_, start, end), sentence = min(compared, key=lambda each: _ORDER.index(each[0]))
        fits.append(best)
        matches.append(match_in_sentence(MatchKind.DATE, sentence, start, end))
    if DateFit.CONFLICT in fits:
        return Match(MatchKind.OTHER_DATE)
    worst = min(matches, key=lambda each: each.share)
    return Match(MatchKind.COARSER_DATE, 0.8, worst.quote) if worst.share == 1 and DateFit.COARSER in fits else worst


def _match_span(expected: Words, answer: ShortAnswer, stated: Sequence[tuple[Dated, Sentence]]) -> Match | None:
    """A year inside the expected years, or stated years around the expected one, say it less exactly."""
    if spans := find_year_spans(expected):
        (first, last), (day, start, end), sentence = spans[0], stated[0][0], stated[0][1]
        if len(stated) == 1 and day.year is not None and first <= day.year <= last:
            found = match_in_sentence(MatchKind.COARSER_DATE, sentence, start, end)
            return Match(found.kind, min(found.share, 0.8), found.quote)
        return None
    days = find_dates(expected)
    around = [span for sentence in answer.sentences for span in find_year_spans(sentence.words)]
    if len(days) == len(around) == 1 and days[0].year is not None and len(stated) == 2:
        first, last = around[0]
        if first < days[0].year < last and last - first <= 10:
            return Match(MatchKind.COARSER_DATE, 0.8, stated[0][1].text)
    return None


def match_number(expected: Words, answer: ShortAnswer) -> Match | None:
    """Where a number is expected, numbers decide. Next to it may stand words of the question, and what is counted."""
    asks = "how" in answer.question and not _MANY.isdisjoint(answer.question)
    counted = expected[1:] if asks and is_number(expected[0]) and len(expected) <= 4 else ()
    beside = frozenset(answer.question) | frozenset(word for word in counted if not is_number(word))
    if not is_quantities(expected, beside):
        return None
    named = frozenset(answer.question) - frozenset(expected)
    if not any(map(is_number, answer.words)):
        return None
    targets, ranges = find_quantities(expected), find_ranges(expected)
    for sentence in answer.sentences:
        for quantity, place in locate_quantities(sentence.words):
            inside = any(low <= quantity.value <= high for low, high in ranges)
            if sentence.words[place] not in named and (inside or any(agrees(each, quantity) for each in targets)):
                return match_in_sentence(MatchKind.NUMBER, sentence, place, place + 1)
    return Match(MatchKind.OTHER_NUMBER)
