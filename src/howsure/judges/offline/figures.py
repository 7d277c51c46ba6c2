"""Expected dates and numbers: where one is expected, those that are stated decide; those that the question names are
no answers."""

from __future__ import annotations

from collections.abc import Sequence

from howsure.judges.offline.dates import Day, Fit, dates_at, dates_in, fit, is_dates, spans_in
from howsure.judges.offline.folding import is_number
from howsure.judges.offline.matches import Asked, Match, Way, spoken
from howsure.judges.offline.passages import Passage, Words
from howsure.judges.offline.quantities import agrees, is_quantities, quantities_at, quantities_in, ranges_in

Dated = tuple[Day, int, int]
_MANY = frozenset({"many", "much", "long", "old", "far", "tall", "high", "big", "large", "deep", "often"})
_ORDER = (Fit.SAME, Fit.FINER, Fit.COARSER, Fit.CONFLICT)


def by_date(expected: Words, given: Asked) -> Match | None:
    """Where a date is expected, dates decide; an answer without one is left to the other ways."""
    if not is_dates(expected):
        return None
    stated = _stated_dates(expected, given)
    if not stated:
        return None
    return _by_span(expected, given, stated) or _by_days(expected, stated)


def _by_days(expected: Words, stated: Sequence[tuple[Dated, Passage]]) -> Match:
    fits: list[Fit] = []
    said: list[Match] = []
    for wanted in dates_in(expected):
        best, (_, start, end), sentence = _best_date(wanted, stated)
        fits.append(best)
        said.append(spoken(Way.DATE, sentence, start, end))
    if Fit.CONFLICT in fits:
        return Match(Way.OTHER_DATE)
    worst = min(said, key=lambda each: each.share)
    return Match(Way.COARSER_DATE, 0.8, worst.quote) if worst.share == 1 and Fit.COARSER in fits else worst


def _by_span(expected: Words, given: Asked, stated: Sequence[tuple[Dated, Passage]]) -> Match | None:
    """A year inside the expected years, or stated years around the expected one, say it less exactly."""
    if spans := spans_in(expected):
        (first, last), (day, start, end), sentence = spans[0], stated[0][0], stated[0][1]
        if len(stated) == 1 and day.year is not None and first <= day.year <= last:
            found = spoken(Way.COARSER_DATE, sentence, start, end)
            return Match(found.way, min(found.share, 0.8), found.quote)
        return None
    days = dates_in(expected)
    around = [span for sentence in given.sentences for span in spans_in(sentence.words)]
    if len(days) == len(around) == 1 and days[0].year is not None and len(stated) == 2:
        first, last = around[0]
        if first < days[0].year < last and last - first <= 10:
            return Match(Way.COARSER_DATE, 0.8, stated[0][1].text)
    return None


def _stated_dates(expected: Words, given: Asked) -> list[tuple[Dated, Passage]]:
    """The dates of the answer without those of the question, unless it has no others."""
    found = [(dated, sentence) for sentence in given.sentences for dated in dates_at(sentence.words)]
    named = [day for day in dates_in(given.question) if day not in dates_in(expected)]
    return [each for each in found if each[0][0] not in named] or found


def _best_date(wanted: Day, stated: Sequence[tuple[Dated, Passage]]) -> tuple[Fit, Dated, Passage]:
    fits = [(fit(wanted, found[0]), found, sentence) for found, sentence in stated]
    return min(fits, key=lambda each: _ORDER.index(each[0]))


def _counted(expected: Words, question: Words) -> frozenset[str]:
    """What may stand beside the number: what the question names; where it asks how many, whatever is counted."""
    asks = "how" in question and not _MANY.isdisjoint(question)
    counted = expected[1:] if asks and is_number(expected[0]) and len(expected) <= 4 else ()
    return frozenset(question) | frozenset(word for word in counted if not is_number(word))


def by_number(expected: Words, given: Asked) -> Match | None:
    """Where a number is expected, numbers decide."""
    if not is_quantities(expected, _counted(expected, given.question)):
        return None
    named = frozenset(given.question) - frozenset(expected)
    if not any(map(is_number, given.words)):
        return None
    wanted, ranges = quantities_in(expected), ranges_in(expected)
    for sentence in given.sentences:
        for quantity, place in quantities_at(sentence.words):
            inside = any(low <= quantity.value <= high for low, high in ranges)
            if sentence.words[place] not in named and (inside or any(agrees(each, quantity) for each in wanted)):
                return spoken(Way.NUMBER, sentence, place, place + 1)
    return Match(Way.OTHER_NUMBER)
