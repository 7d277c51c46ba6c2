"""What a turn states that nobody gave the user: e-mail addresses, links, dates, codes, numbers. Names are in
names.py."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from howsure.judges.offline.dates import Day
from howsure.users.checks.figures import (
    CUE,
    EMAIL,
    SMALL,
    URL,
    Figure,
    days,
    figures,
    is_known,
    is_worked_out,
    known_values,
    numbers_said,
    same_day,
    stream,
)
from howsure.users.phrases import either
from howsure.users.speech import requests, sentences
from howsure.users.words import plain

_UNIT = re.compile(
    r"(?P<number>\d+(?:[.,]\d+)?)(?:st|nd|rd|th|am|pm|x|min|mins|h|hr|hrs|kg|km|gb|mb|mbps|s|sec|k|cm|mm|m|ml|mg|g|"
    r"%|€|eur|usd|chf|er|e|o|a|ers)"
)
_MONEY = re.compile(r"[$€£¥]\s*\Z")
_MONEY_AFTER = re.compile(
    r"\s*(?:[$€£¥%]|euros?\b|dollars?\b|pounds?\b|bucks\b|usd\b|eur\b|chf\b|francs?\b|percent\b)", re.IGNORECASE
)
_IDIOM = re.compile(
    r"(?:100\s*%|24/7|50/50|1000 times|100 times|a? ?million times|101\b|\b9 to 5\b|\b10/10\b|\b1st\b)", re.IGNORECASE
)
_NO_DATE = re.compile(r"(?<!on )(?<!by )(?<!since )\b(?:24/7|10/10)\b(?![/.-]\d)", re.IGNORECASE)
"""Said of round the clock and of full marks."""
_TIME = re.compile(r"(\d{1,2})[:.h](\d{2})")
HOW_MANY = either(
    r"how (?:many|much|long|old|often|far|big|large|high|tall)", r"number of", r"wie ?viele?",
    r"wie (?:lange|oft|alt|hoch|gross)", r"combien",
    r"cuant[oa]s?", r"quant[oaie]s?", r"hoe ?(?:veel|lang|oud|vaak)", r"what age", r"quel age",
)  # fmt: skip
_SINCE = re.compile(
    r"\b(?:(?P<n>\w+) (?P<unit>day|week|month|year)s? ago|for (?:the (?:last|past) )?(?P<m>\w+) (?P<unit2>month|"
    r"year)s?)\b",
)
_HAGGLES = re.compile(
    r"\b(?:haggl\w+|bargain\w*|negotiat\w+ (?:the |a )?(?:price|discount|rate)|feilsch\w+|marchand\w+|regate\w+)\b"
)
_WHEN = re.compile(r"\b(?:when|since when|how long ago|what day|which day) (?:did|was|were|have|has|do you remember)\b")
_PAST = re.compile(
    r"\b(?:yesterday|last (?:night|week|month|year|summer|winter|spring|monday|tuesday|wednesday|thursday|friday|"
    r"saturday|"
    r"sunday)|this morning|on (?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)|(?:a|one) (?:week|month|"
    r"year) ago)\b"
)
_WHICH = re.compile(r"\b(?:colou?r|pay|paid|payment|brand|make)\b")
_PREFERS = re.compile(r"\b(?:would|like|prefer|want|choose|shall|should|will)\b")
_KINDS = re.compile(
    r"\b(?:red|blue|green|black|white|yellow|gr[ea]y|brown|pink|purple|orange|silver|visa|mastercard|paypal|amex|cash|"
    r"credit card|debit card|bank transfer|apple pay|google pay|invoice)\b"
)
_GROUPED = re.compile(r"\+?[^\W_]*\d[^\W_]*(?:[ -][^\W_]*\d[^\W_]*)+")
"""A number told in groups: `77 120`."""
CLOSE_TIMES = 30


class Odd(Struct, frozen=True):
    """Something specific that nobody gave the user: its kind, itself, and the sentence it stands in."""

    kind: str
    text: str
    sentence: str


def odd_ones(text: str, before: str, known: str) -> Iterator[Odd]:
    """Every specific of a text that is neither known nor made of what is known. Who haggles makes up prices."""
    for sentence in sentences(text):
        yield from _addresses(sentence, known)
        dates = list(_dates(sentence, known))
        yield from dates
        if not _HAGGLES.search(plain(known)):
            yield from _numbers(sentence, known, {number for odd in dates for number in re.findall(r"\d+", odd.text)})
        yield from _durations(sentence, known)
    if any(HOW_MANY.search(one) for one in requests(before)):
        yield from _counts(text, known)
    yield from _answers(text, before, known)


def _answers(text: str, before: str, known: str) -> Iterator[Odd]:
    """When it was, what colour it has, how it was paid: asked for, and told without being known."""
    there, folded = stream(plain(known)), plain(text)
    for asks, says, kind in ((_WHEN, _PAST, "time"), (_WHICH, _KINDS, "detail")):
        asked = [one for one in requests(before) if asks.search(one) and not _PREFERS.search(one)]
        for found in says.finditer(folded) if asked else ():
            if not any(stream(word) in there for word in (found[0], found[0].split()[-1])):
                yield Odd(kind, found[0], text)


def _addresses(sentence: str, known: str) -> Iterator[Odd]:
    there = known.casefold()
    for kind, pattern in (("e-mail address", EMAIL), ("link", URL)):
        for found in pattern.findall(sentence):
            if found.casefold().rstrip(".,") not in there:
                yield Odd(kind, found, sentence)


def _dates(sentence: str, known: str) -> Iterator[Odd]:
    """A date in figures has two readings: it is odd when neither is known."""
    held = days(known)
    said = days(_NO_DATE.sub(" ", sentence))
    if said and not any(_is_known_day(day, held, known) for day in said):
        yield Odd("date", _as_said(said[0], sentence), sentence)


def _is_known_day(day: Day, held: tuple[Day, ...], known: str) -> bool:
    if any(same_day(day, one) for one in held):
        return True
    steps = {int(value) for value in known_values(known) if value <= 31 and value == int(value)}
    near = [one for one in held if one.month == day.month and one.day and day.day]
    return any(abs((one.day or 0) - (day.day or 0)) in steps for one in near)


def _as_said(day: Day, sentence: str) -> str:
    around = re.search(rf"(?:\w+\s+)?\b{day.day}\w*\b(?:[./-]\w+)*(?:\s+\w+)?", sentence)
    return around[0] if around else str(day.day)


def _numbers(sentence: str, known: str, dated: set[str]) -> Iterator[Odd]:
    cue = bool(CUE.search(plain(sentence)))
    written = set(figures(sentence))
    grouped = [found.span() for found in _GROUPED.finditer(sentence) if stream(found[0]) in stream(known)]
    for figure in figures(sentence):
        if any(start <= figure.start < end for start, end in grouped):
            continue
        if figure.text in dated or is_known(figure, known) or _IDIOM.search(sentence[max(0, figure.start - 1) :][:16]):
            continue
        if odd := _odd_figure(figure, sentence, known, cue):
            yield Odd(odd, figure.text, sentence)
    in_figures = {value for figure in written for value in figure.values} | {
        float(part) for figure in written for part in re.findall(r"\d+", figure.text)[:4] if len(part) < 10
    }
    for value, _ in numbers_said(sentence):
        said_in_words = value > SMALL and value not in in_figures and value not in (100, 1000, 10**6)
        if said_in_words and value not in known_values(known) and not is_worked_out((value,), known, cue):
            yield Odd("number", f"{value:g}", sentence)


def _odd_figure(figure: Figure, sentence: str, known: str, cue: bool) -> str:
    """The kind of a figure that is not known; empty when it is harmless."""
    if days(sentence) and len(figure.text) <= 10 and re.fullmatch(r"[\d./-]+", figure.text) and "/" in figure.text:
        return ""  # a date in figures, looked at as a date
    values = figure.values
    if unit := _UNIT.fullmatch(figure.text.casefold()):
        values = (float(unit["number"].replace(",", ".")),)
    elif _TIME.fullmatch(figure.text) and _is_near_a_time(figure.text, known):
        return ""
    elif _TIME.fullmatch(figure.text) and "." not in figure.text:
        return "time"
    elif figure.is_code:
        return "code"
    if any(value in known_values(known) for value in values):
        return ""
    after = sentence[figure.start + len(figure.text) :]
    money = _MONEY.search(sentence[: figure.start]) or _MONEY_AFTER.match(after)
    if max(values, default=0) <= SMALL and not money and len(figure.key) <= 2:
        return ""
    if len(figure.key) >= 5 and "." not in figure.text and "," not in figure.text:
        return "number"
    return "" if is_worked_out(values, known, cue) else "amount" if money else "number"


def _is_near_a_time(text: str, known: str) -> bool:
    said = _minutes(text)
    return any(abs(_minutes(":".join(found)) - said) <= CLOSE_TIMES for found in _TIME.findall(known))


def _minutes(text: str) -> int:
    hours, minutes = re.split(r"[:.h]", text)[:2]
    return int(hours) * 60 + int(minutes)


def _durations(sentence: str, known: str) -> Iterator[Odd]:
    """`three weeks ago`, `for two years`: a small number, and still something to be known."""
    for found in _SINCE.finditer(plain(sentence)):
        said = numbers_said(found["n"] or found["m"] or "")
        if said and 1 < said[0][0] <= SMALL and said[0][0] not in known_values(known):
            yield Odd("number", found[0], sentence)


def _counts(text: str, known: str) -> Iterator[Odd]:
    """Small numbers, where the agent asked how many: answers, not said in passing."""
    cue = bool(CUE.search(plain(text)))
    for value, after in numbers_said(text):
        counted = 1 < value <= SMALL or (value == 1 and re.search(r"\b1\b", text))
        if counted and value not in known_values(known) and not is_worked_out((value,), known, cue):
            yield Odd("number", f"{value:g} {after}".strip(), text)
