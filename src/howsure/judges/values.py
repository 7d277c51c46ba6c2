"""The value of one field or phrase of a reply: a number, yes, no, or not applicable. Nothing here knows objects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import Any

from msgspec import Struct

from howsure.judges.rulings import Unreadable
from howsure.model.score import UNIT, Scale


class Word(Enum):
    """What a verdict word means."""

    YES = "yes"
    NO = "no"
    NOT_APPLICABLE = "not applicable"


class Number(Struct, frozen=True):
    """A number, and the top of the scale where the judge named it (`4/5`)."""

    value: float
    out_of: float | None = None


Value = Number | Word

_WORDS = {
    **dict.fromkeys(("yes", "true", "met", "pass", "passed"), Word.YES),
    **dict.fromkeys(("no", "false", "not met", "unmet", "fail", "failed", "not passed"), Word.NO),
    **dict.fromkeys(("n/a", "na", "not applicable"), Word.NOT_APPLICABLE),
}
_NUMBER = r"(?P<number>(?>-?[0-9]+(?:\.[0-9]+)?))(?:\s*(?:/|out\s+of)\s*(?P<out_of>(?>[0-9]+(?:\.[0-9]+)?)))?"
_WORD = r"(?P<word>" + "|".join(re.escape(word).replace(r"\ ", "[ _-]") for word in sorted(_WORDS, reverse=True)) + ")"
# A number that goes on (`4-5`, `4 %`, `4,5`) is not that number; a word that goes on (`no doubt`) is not that word.
_NUMBER_ENDS = r"(?!\s*(?:[-–—/%]|to\b|or\b|out\s+of\b)|\s?[½⅓⅔¼¾]|[.,]?[0-9]|[A-Za-z])"
_WORD_ENDS = r"(?=\s*(?:$|[,.;:!)\n\"'”]|\s[-–—]))"
_NUMBER_ALONE = re.compile(_NUMBER)
_LABEL = r"(?<![\w-])(?P<label>{})[\"']?\s*(?:\([^()\n]{{0,40}}\))?\s*[:=]\s*[\"'“]?"
_LABELLED_NUMBER = re.compile(_LABEL.format("score|rating|grade") + _NUMBER + _NUMBER_ENDS, re.IGNORECASE)
_LABELLED_WORD = re.compile(
    _LABEL.format(
        "verdict|decision|result|judge?ment|final answer|criteri(?:a|on)[ _]met|met|passed|pass|score|rating|grade"
    )
    + _WORD
    + _WORD_ENDS,
    re.IGNORECASE | re.MULTILINE,
)
_RATED = re.compile(
    r"\b(?:rat|scor|grad|giv)(?:e|es|ed|ing)\b[^.\n]{0,60}?(?<![\w.-])" + _NUMBER + _NUMBER_ENDS, re.IGNORECASE
)
_FIRST_WORD = re.compile(r"\A" + _WORD + _WORD_ENDS, re.IGNORECASE)
_DECORATION = re.compile(r"[*`#]+")
_WRAPPING = " \t\r\n\"'“”*`.!_()[]"


def value_of(said: Any) -> Value | None:
    """What a field holds; None: nothing that is a value."""
    if isinstance(said, bool):
        return Word.YES if said else Word.NO
    if isinstance(said, int | float):
        return Number(_finite(said))
    if isinstance(said, str):
        return word_of(said) or _number_alone(said)
    return None


def word_of(text: str) -> Word | None:
    """The meaning of a text that is nothing but a verdict word."""
    return _WORDS.get(re.sub(r"[\s_-]+", " ", text.strip(_WRAPPING).lower()))


def values_in(prose: str) -> Iterator[Value]:
    """Every value that the prose states as its own: alone on the first or last line, after a label, as `rated 4/5`, or
    a verdict word that opens the text. Numbers and words merely mentioned are none."""
    if not prose:
        return
    plain = _DECORATION.sub("", prose).strip()
    lines = plain.splitlines()
    for line in dict.fromkeys((lines[0], lines[-1])) if lines else ():
        if (alone := word_of(line) or _number_alone(line)) is not None:
            yield alone
    if opening := _FIRST_WORD.match(plain):
        yield _said(opening)
    for pattern in (_LABELLED_NUMBER, _LABELLED_WORD, _RATED):
        for found in pattern.finditer(plain):
            value = _said(found)
            if pattern is not _RATED or (isinstance(value, Number) and value.out_of is not None):
                yield value


def on_scale(number: Number, scale: Scale, *, whole: bool) -> float:
    """The number, when it is one of the scale; never moved onto it."""
    if number.out_of is not None and number.out_of != scale.high:
        raise Unreadable(f"{number.value:g} out of {number.out_of:g} where the scale is {scale}")
    if number.value not in scale:
        raise Unreadable(f"{number.value:g} is not on the scale {scale}")
    if whole and not number.value.is_integer():
        raise Unreadable(f"{number.value:g} where a whole number is needed, {scale}")
    return number.value


def ends(word: Word, scale: Scale) -> float:
    """Yes and no as the ends of 0 to 1; on any other scale a number is needed."""
    if scale != UNIT:
        raise Unreadable(f"a {word.value!r} where a number is needed, {scale}")
    return 1.0 if word is Word.YES else 0.0


def _number_alone(text: str) -> Number | None:
    found = _NUMBER_ALONE.fullmatch(text.strip(_WRAPPING))
    return _as_number(found) if found else None


def _said(found: re.Match[str]) -> Value:
    groups = found.groupdict()
    if (word := groups.get("word")) and (meant := word_of(word)):
        return meant
    return _as_number(found)


def _as_number(found: re.Match[str]) -> Number:
    out_of = found["out_of"]
    return Number(float(found["number"]), None if out_of is None else float(out_of))


def _finite(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf")
