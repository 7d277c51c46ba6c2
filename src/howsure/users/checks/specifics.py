"""Specifics in a turn that the user was never given: e-mail addresses, links, dates, codes, numbers, names, relatives,
professions. Numbers, codes and dates are known, restated in another form or derived from known ones, or not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from itertools import combinations_with_replacement

from msgspec import Struct

from howsure.judges.offline.dates import MONTHS, PartialDate, find_dates
from howsure.judges.offline.words import is_number, root, singular, tokens
from howsure.users.checks.conversations import SimulatedConversation, UserTurn
from howsure.users.speech import lacks, requests, said_words, sentences
from howsure.users.words import (
    all_roots,
    by_line,
    fold_case,
    has_kin,
    language_of,
    listed_words,
    phrase,
    word_groups,
    words_by_key,
)

_RUN = re.compile(r"(?<![^\W_])(?:[^\W\d_]+[-_/]){0,9}[^\W_]*\d[^\W_]*(?:[-_./:,'’][^\W_]+(?![^\W_]))*(?:[-_][^\W_]+)*")
_GROUPING = r"[.,'’]"
EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]+)+")
URL = re.compile(r"(?:https?://|www\.)\S+")
# `9.30` is a time or a price and `3-5` a range: without a year only a slash makes a date.
_SLASHED = re.compile(r"\b(\d{1,4})(?:/(\d{1,2})\b(?![./-]\d)|[./-](\d{1,2})[./-](\d{2,4})\b)")
_RANGE = re.compile(
    r"\b(\d{1,2})\.? ?(?:to|-|–|until|till|through|and|bis|und|au|et|al|a|hasta|y|tot|en|e) ?(?:the )?(?=\d{1,2})"
)
_ENGLISH = [name for name in MONTHS if len(name) > 4 or name in ("may", "june", "july")][:12]
_BY_MONTH = {place: name for name, place in MONTHS.items() if name in _ENGLISH}
_SUBTLE = frozenset({"sei", "six", "dix", "once", "sept", "elf", "tre", "null", "due", "un", "een", "ein", "eine"})
_ORDINAL = re.compile(
    r"(?i)\b(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|\w+teenth|\w+tieth|\w+ty-\w+th)\b"
)
SMALL = 12
"""Whole numbers up to this are often said in passing: `one more thing`, `give me 5 minutes`."""
LONGEST_SUM = 9999
MANY = 60
_FACTORS = (2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 12.0, 30.0, 52.0, 100.0, 0.5)


@cache
def foreign_months() -> Mapping[str, int]:
    """The number of a month by its name in other languages than English."""
    return {name: place for names in word_groups("months") for place, name in enumerate(names, start=1)}


@cache
def foreign_numbers() -> Mapping[str, int]:
    """The value of a small number by its word in other languages than English."""
    forms = ((value, form) for words in word_groups("numbers") for value, form in enumerate(words))
    return {word: value for value, form in forms for word in form.split("|")}


class WrittenFigure(Struct, frozen=True):
    """A run of letters and digits as it is written; `key` has no separators; `values` are the numbers it may mean."""

    text: str
    key: str
    values: tuple[float, ...]
    start: int

    @property
    def is_code(self) -> bool:
        return not self.key.isdigit()


@lru_cache(maxsize=2048)
def find_figures(text: str) -> tuple[WrittenFigure, ...]:
    """Every run with a digit, except in e-mail and web addresses."""
    rest = URL.sub(_blank, EMAIL.sub(_blank, text))
    return tuple(_figures(rest))


def _figures(text: str) -> Iterator[WrittenFigure]:
    for found in _RUN.finditer(text):
        run = found[0].rstrip(".,:-/'’")
        key = re.sub(r"[\W_]", "", run).casefold()
        ordinal = re.sub(r"(?<=\d)(?:st|nd|rd|th|er|e|o|a|\.|%|€|k)\Z", "", key)
        key = ordinal if ordinal.isdigit() else key
        yield WrittenFigure(run, key, figure_values(run), found.start())


def figure_values(run: str) -> tuple[float, ...]:
    """The numbers that a run of digits may mean: `1.150` is 1150 or 1.15; none for a code."""
    bare = re.sub(r"(?<=\d)(?:st|nd|rd|th|am|pm|h|%|k|kg|km|gb|mb|€|eur)\Z", "", run.casefold().strip("$€£# "))
    if not re.fullmatch(r"[\d.,'’]+", bare) or not any(map(str.isdigit, bare)):
        return ()
    made = {re.sub(_GROUPING, "", bare)}
    if match := re.fullmatch(r"([\d.,'’]*?)[.,](\d{1,2}|\d{3})", bare):
        made.add(f"{re.sub(_GROUPING, '', match[1]) or '0'}.{match[2]}")
        if len(match[2]) < 3:
            made.discard(re.sub(_GROUPING, "", bare))
    return tuple(sorted(float(one) for one in made))


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


@by_line
def numbers_in(text: str) -> frozenset[float]:
    """Every number in a text, in figures or in words, with the parts of longer ones (`11:20` has 11 and 20)."""
    values = {value for figure in find_figures(text) for value in figure.values}
    values |= {
        float(part) for figure in find_figures(text) for part in re.findall(r"\d+", figure.text) if len(part) < 10
    }
    words, numbers = tokens(text), foreign_numbers()
    values |= {float(word) for word in words if is_number(word) and len(word) < 12}
    return frozenset(values | {float(numbers[word]) for word in words if word in numbers})


@lru_cache(maxsize=4096)
def letters_and_digits(text: str) -> str:
    """The letters and digits of a text with nothing between them, so that numbers in groups are found."""
    return re.sub(r"[\W_]", "", text).casefold()


@by_line
def codes_in(text: str) -> frozenset[str]:
    """The codes and numbers of a text, whole and in parts."""
    whole = {figure.key for figure in find_figures(text)}
    parts = {part.casefold() for figure in find_figures(text) for part in re.findall(r"[^\W_]+", figure.text)}
    return frozenset(whole | parts)


def is_known(figure: WrittenFigure, text: str) -> bool:
    """Whether a figure occurs in the text in some form."""
    if figure.key in codes_in(text) or any(value in numbers_in(text) for value in figure.values):
        return True
    return len(figure.key) >= 4 and figure.key in letters_and_digits(text)


def is_derivable(values: tuple[float, ...], text: str, cue: bool) -> bool:
    """Whether a number can be made of two known ones: a sum, difference, product or share; after a word such as `so` or
    `in total`, also divided or multiplied once more."""
    known = sorted(value for value in numbers_in(text) if 0 < value <= LONGEST_SUM)[:MANY]
    targets = [value for value in values if value <= LONGEST_SUM]
    if not targets:
        return False
    made = _made_of(tuple(known))
    if any(_near(value, one) for value in targets for one in made):
        return True
    if not cue:
        return False
    more = [one * factor for one in made for factor in _FACTORS] + [one / factor for one in made for factor in _FACTORS]
    return any(_near(value, one) for value in targets for one in more)


@lru_cache(maxsize=256)
def _made_of(known: tuple[float, ...]) -> frozenset[float]:
    made: set[float] = set()
    for one, other in combinations_with_replacement(known, 2):
        made |= {one + other, abs(one - other), one * other, one * other / 100}
        made |= {one / other, other / one, other * (1 - one / 100), other * (1 + one / 100), one * (1 - other / 100)}
    return frozenset(made)


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= 0.005 * max(1.0, abs(one))


def find_days(text: str) -> tuple[PartialDate, ...]:
    """The dates with a day and a month, in words or in figures; both ends of a range (`12 to 14 June`)."""
    return tuple(day for line in text.split("\n") for day in _days(line))


@lru_cache(maxsize=4096)
def _days(text: str) -> tuple[PartialDate, ...]:
    if not any(map(str.isdigit, text)) and not _ORDINAL.search(text):
        return ()
    months = foreign_months()
    words = [_BY_MONTH[months[word]] if word in months else word for word in tokens(text)]
    words = ["of" if word in ("de", "di") else word for word in words]
    found = [day for day in find_dates(words) if day.month and day.day]
    for first in _RANGE.finditer(text):
        rest = find_days(text[first.end() : first.end() + 30])
        found += [PartialDate(month=rest[0].month, day=int(first[1]), year=rest[0].year)] if rest else []
    return tuple(found + list(_in_figures(text)))


def _in_figures(text: str) -> Iterator[PartialDate]:
    for match in _SLASHED.finditer(text):
        one, two = int(match[1]), int(match[2] or match[3])
        year = int(match[4]) if match[4] and len(match[4]) == 4 else None
        if one > 31:
            one, two, year = two, int(match[4] or 0), one
            yield from [PartialDate(month=one, day=two, year=year)] if 1 <= one <= 12 and 1 <= two <= 31 else []
            continue
        yield from (
            PartialDate(month=m, day=d, year=year) for d, m in ((one, two), (two, one)) if 1 <= m <= 12 and 1 <= d <= 31
        )


def same_day(one: PartialDate, other: PartialDate) -> bool:
    years_fit = one.year is None or other.year is None or one.year % 100 == other.year % 100
    return one.month == other.month and one.day == other.day and years_fit


def counted_nouns(text: str) -> list[tuple[float, str]]:
    """Every number with the word after it: `(2, night)`."""
    return [said for line in text.split("\n") for said in _counted_nouns(line)]


@lru_cache(maxsize=4096)
def _counted_nouns(text: str) -> list[tuple[float, str]]:
    words, numbers = tokens(text), foreign_numbers()
    made: list[tuple[float, str]] = []
    for place, word in enumerate(words):
        after = words[place + 1] if place + 1 < len(words) else ""
        if is_number(word) and len(word) < 12:
            made.append((float(word), after))
        elif word in numbers and word not in _SUBTLE:
            made.append((float(numbers[word]), after))
    return made


_MONEY = re.compile(r"[$€£¥]\s*\Z")
_MONEY_AFTER = re.compile(
    r"\s*(?:[$€£¥%]|euros?\b|dollars?\b|pounds?\b|bucks\b|usd\b|eur\b|chf\b|francs?\b|percent\b)", re.IGNORECASE
)
_IDIOM = re.compile(
    r"(?:100\s*%|24/7|50/50|1000 times|100 times|a? ?million times|101\b|\b9 to 5\b|\b10/10\b|\b1st\b)", re.IGNORECASE
)
_NO_DATE = re.compile(r"(?<!on )(?<!by )(?<!since )\b(?:24/7|10/10)\b(?![/.-]\d)", re.IGNORECASE)
"""`24/7` and `10/10` are no dates."""
_TIME = re.compile(r"(\d{1,2})[:.h](\d{2})")
_WHEN = re.compile(r"\b(?:when|since when|how long ago|what day|which day) (?:did|was|were|have|has|do you remember)\b")
_WHICH = re.compile(r"\b(?:colou?r|pay|paid|payment|brand|make)\b")
_PREFERS = re.compile(r"\b(?:would|like|prefer|want|choose|shall|should|will)\b")
_GROUPED = re.compile(r"(?<![^\W_])\+?[^\W\d_]*+\d[^\W_]*+(?:[ -][^\W\d_]*+\d[^\W_]*+)+")
"""A number written in groups: `77 120`."""
CLOSE_TIMES = 30


class UnknownSpecific(Struct, frozen=True):
    """Something specific that nobody gave the user: its kind, its text, and its sentence."""

    kind: str
    text: str
    sentence: str


def find_unknown_specifics(text: str, before: str, known: str) -> Iterator[UnknownSpecific]:
    """Every specific of a text that is neither known nor derived from what is known. A user who haggles may name
    prices."""
    for sentence in sentences(text):
        yield from _addresses(sentence, known)
        dates = list(_dates(sentence, known))
        yield from dates
        if not phrase("haggling").search(fold_case(known)):
            yield from _numbers(sentence, known, {number for odd in dates for number in re.findall(r"\d+", odd.text)})
        yield from _durations(sentence, known)
    if any(phrase("how_many").search(one) for one in requests(before)):
        yield from _counts(text, known)
    yield from _answers(text, before, known)


def _answers(text: str, before: str, known: str) -> Iterator[UnknownSpecific]:
    """Times, colours and payments that were asked for and answered without being known."""
    there, folded = letters_and_digits(fold_case(known)), fold_case(text)
    for asks, says, kind in ((_WHEN, phrase("past_time"), "time"), (_WHICH, phrase("colour_or_payment"), "detail")):
        questions = [one for one in requests(before) if asks.search(one) and not _PREFERS.search(one)]
        for found in says.finditer(folded) if questions else ():
            if not any(letters_and_digits(word) in there for word in (found[0], found[0].split()[-1])):
                yield UnknownSpecific(kind, found[0], text)


def _addresses(sentence: str, known: str) -> Iterator[UnknownSpecific]:
    there = known.casefold()
    for kind, pattern in (("e-mail address", EMAIL), ("link", URL)):
        for found in pattern.findall(sentence):
            if found.casefold().rstrip(".,") not in there:
                yield UnknownSpecific(kind, found, sentence)


def _dates(sentence: str, known: str) -> Iterator[UnknownSpecific]:
    """A date in figures has two readings: it is unknown when neither is known."""
    known_days = find_days(known)
    stated = find_days(_NO_DATE.sub(" ", sentence))
    if stated and not any(_is_known_day(day, known_days, known) for day in stated):
        yield UnknownSpecific("date", _as_said(stated[0], sentence), sentence)


def _is_known_day(day: PartialDate, known_days: tuple[PartialDate, ...], known: str) -> bool:
    if any(same_day(day, one) for one in known_days):
        return True
    steps = {int(value) for value in numbers_in(known) if value <= 31 and value == int(value)}
    near = [one for one in known_days if one.month == day.month and one.day and day.day]
    return any(abs((one.day or 0) - (day.day or 0)) in steps for one in near)


def _as_said(day: PartialDate, sentence: str) -> str:
    around = re.search(rf"(?:\w{{1,40}}\s+)?\b{day.day}\w*\b(?:[./-]\w+)*(?:\s+\w+)?", sentence)
    return around[0] if around else str(day.day)


def _numbers(sentence: str, known: str, dated: set[str]) -> Iterator[UnknownSpecific]:
    cue = bool(phrase("derivation").search(fold_case(sentence)))
    written = set(find_figures(sentence))
    grouped = [
        found.span()
        for found in _GROUPED.finditer(sentence)
        if letters_and_digits(found[0]) in letters_and_digits(known)
    ]
    for figure in find_figures(sentence):
        if any(start <= figure.start < end for start, end in grouped):
            continue
        if figure.text in dated or is_known(figure, known) or _IDIOM.search(sentence[max(0, figure.start - 1) :][:16]):
            continue
        if odd := _odd_figure(figure, sentence, known, cue):
            yield UnknownSpecific(odd, figure.text, sentence)
    in_figures = {value for figure in written for value in figure.values} | {
        float(part) for figure in written for part in re.findall(r"\d+", figure.text)[:4] if len(part) < 10
    }
    for value, _ in counted_nouns(sentence):
        said_in_words = value > SMALL and value not in in_figures and value not in (100, 1000, 10**6)
        if said_in_words and value not in numbers_in(known) and not is_derivable((value,), known, cue):
            yield UnknownSpecific("number", f"{value:g}", sentence)


def _odd_figure(figure: WrittenFigure, sentence: str, known: str, cue: bool) -> str:
    """The kind of a figure that is not known; empty when it is harmless."""
    if find_days(sentence) and len(figure.text) <= 10 and re.fullmatch(r"[\d./-]+", figure.text) and "/" in figure.text:
        return ""  # a date in figures, looked at as a date
    values = figure.values
    if unit := phrase("figure_with_unit").fullmatch(figure.text.casefold()):
        values = (float(unit["number"].replace(",", ".")),)
    elif _TIME.fullmatch(figure.text) and _is_near_a_time(figure.text, known):
        return ""
    elif _TIME.fullmatch(figure.text) and "." not in figure.text:
        return "time"
    elif figure.is_code:
        return "code"
    if any(value in numbers_in(known) for value in values):
        return ""
    after = sentence[figure.start + len(figure.text) :]
    money = _MONEY.search(sentence[: figure.start]) or _MONEY_AFTER.match(after)
    if max(values, default=0) <= SMALL and not money and len(figure.key) <= 2:
        return ""
    if len(figure.key) >= 5 and "." not in figure.text and "," not in figure.text:
        return "number"
    return "" if is_derivable(values, known, cue) else "amount" if money else "number"


def _is_near_a_time(text: str, known: str) -> bool:
    minutes = _minutes(text)
    return any(abs(_minutes(":".join(found)) - minutes) <= CLOSE_TIMES for found in _TIME.findall(known))


def _minutes(text: str) -> int:
    hours, minutes = re.split(r"[:.h]", text)[:2]
    return int(hours) * 60 + int(minutes)


def _durations(sentence: str, known: str) -> Iterator[UnknownSpecific]:
    """`three weeks ago`, `for two years`: small numbers that must still be known."""
    for found in phrase("duration").finditer(fold_case(sentence)):
        counted = counted_nouns(found["n"] or found["m"] or "")
        if counted and 1 < counted[0][0] <= SMALL and counted[0][0] not in numbers_in(known):
            yield UnknownSpecific("number", found[0], sentence)


def _counts(text: str, known: str) -> Iterator[UnknownSpecific]:
    """Small numbers where the agent asked how many: answers, not said in passing."""
    cue = bool(phrase("derivation").search(fold_case(text)))
    for value, after in counted_nouns(text):
        counted = 1 < value <= SMALL or (value == 1 and re.search(r"\b1\b", text))
        if counted and value not in numbers_in(known) and not is_derivable((value,), known, cue):
            yield UnknownSpecific("number", f"{value:g} {after}".strip(), text)


_WORD = r"[^\W\d_][\w'’-]*"
_CAPITAL = re.compile(r"[A-ZÄÖÜÉÈÁÍÓÚÑÇÅØŠŽŁ][a-zäöüßéèêáíóúñçåøšžłãõâîôûëïà'’-]+")
_INTRODUCES = re.compile(
    r"(?i:\b(?:my (?:full )?name(?:'s| is)|name is|this is|i am|i'm|call me|it's under|under the name(?: of)?|mein "
    r"name ist|"
    r"ich hei(?:ß|ss)e|ich bin|je m'appelle|mon nom est|je suis|me llamo|mi nombre es|soy|mi chiamo|sono|meu nome "
    r"é|me chamo|"
    rf"mijn naam is|ik ben|ik heet))\s+(?P<name>{_CAPITAL.pattern}(?:\s+(?:[a-z]{{1,3}}\s+)?{_CAPITAL.pattern}){{0,3}})"
)
SHORT_ANSWER = 4


def find_unknown_names(turn: UserTurn, known: str, conversation: SimulatedConversation) -> Iterator[UnknownSpecific]:
    """Every name, relative, profession or allergy of a turn that is not known."""
    text, before = turn.text, turn.last_reply
    there = all_roots(known)
    for found in _INTRODUCES.finditer(text):
        if any(_is_new(word, there) for word in found["name"].split()):
            yield UnknownSpecific("name", found["name"], text)
    if not _writes_nouns_large(f"{conversation.scenario.initial_message}\n{text}"):
        yield from _capitals(text, there)
    yield from _short_answer(text, before, there)
    folded = fold_case(text)
    for kind, pattern, cue in (("allergy", phrase("allergy"), ""), ("medicine", phrase("medicine"), "medi")):
        for found in pattern.finditer(folded):
            if not has_kin(root(found["what"]), there) and cue in fold_case(before):
                yield UnknownSpecific(kind, found[0], text)
    if not phrase("talkative").search(fold_case(conversation.scenario.persona)):
        yield from _relatives(folded, there)
    for found in phrase("customer_status").finditer(folded):
        if not has_kin(root(found[0].split()[0]), there):
            yield UnknownSpecific("status", found[0], text)
    for found in phrase("profession").finditer(folded):
        if not has_kin(root(found["what"].split()[-1]), there):
            yield UnknownSpecific("profession", found[0], text)


def _capitals(text: str, there: frozenset[str]) -> Iterator[UnknownSpecific]:
    """Capitalised words inside a sentence. German nouns, titles and shouting have capitals too."""
    for sentence in sentences(text):
        words = re.findall(_WORD, sentence)
        capital = [word for word in words if _CAPITAL.fullmatch(word)]
        if len(words) > SHORT_ANSWER and len(capital) > len(words) / 2:
            continue
        for found in re.finditer(_WORD, sentence):
            starts = (
                not sentence[: found.start()].strip(" \"'“‘(*-—–:…•¿¡")[-1:]
                or sentence[: found.start()].rstrip()[-1:] in ".!?:"
            )
            if not starts and _CAPITAL.fullmatch(found[0]) and _is_new(found[0], there):
                yield UnknownSpecific("name", found[0], sentence)


@lru_cache(maxsize=512)
def _writes_nouns_large(text: str) -> bool:
    return language_of(text) not in ("en", "fr", "es", "it", "pt", "nl", None) or bool(re.search(r"[äöüß]", text))


def _is_new(word: str, there: frozenset[str]) -> bool:
    bare = re.sub(r"['’]s?\Z", "", word)
    folded = fold_case(bare)
    if (
        folded in listed_words("common_capitals")
        or singular(folded) in listed_words("common_capitals")
        or bare.isupper()
        or len(folded) < 2
    ):
        return False
    return not all(has_kin(root(part), there) for part in said_words(bare))


def _short_answer(text: str, before: str, there: frozenset[str]) -> Iterator[UnknownSpecific]:
    """`sarah mitchell`, where a name was asked for."""
    words = said_words(text)
    name_asked = any(phrase("name_request").search(one) for one in requests(before))
    if (
        not name_asked
        or not 1 <= len(words) <= SHORT_ANSWER
        or lacks(text)
        or "?" in text
        or not all(map(str.isalpha, words))
    ):
        return
    if all(word not in listed_words("common_capitals") and not has_kin(root(word), there) for word in words):
        yield UnknownSpecific("name", text, text)


def _relatives(folded: str, there: frozenset[str]) -> Iterator[UnknownSpecific]:
    for found in phrase("relative").finditer(folded):
        related = words_by_key("relatives").get(found["who"], frozenset()) | {found["who"]}
        if not any(has_kin(root(word), there) for word in related):
            yield UnknownSpecific("person", found[0], found[0])
