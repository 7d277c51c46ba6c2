"""Specifics that a turn states and nobody gave the user: e-mail addresses, links, dates, codes, numbers, names,
relatives, professions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

from howsure.judges.offline.dates import PartialDate
from howsure.judges.offline.words import root, singular
from howsure.users.checks.conversations import SimulatedConversation, UserTurn
from howsure.users.checks.figures import (
    EMAIL,
    SMALL,
    URL,
    WrittenFigure,
    counted_nouns,
    find_days,
    find_figures,
    is_derivable,
    is_known,
    letters_and_digits,
    numbers_in,
    same_day,
)
from howsure.users.phrases import listed_words, phrase, words_by_key
from howsure.users.speech import lacks, requests, said_words, sentences
from howsure.users.words import all_roots, fold_case, has_kin, language_of

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
_GROUPED = re.compile(r"\+?[^\W_]*\d[^\W_]*(?:[ -][^\W_]*\d[^\W_]*)+")
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
    around = re.search(rf"(?:\w+\s+)?\b{day.day}\w*\b(?:[./-]\w+)*(?:\s+\w+)?", sentence)
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
