"""The fields of an object that a judge gave, and the value of one field or phrase: a number, yes, no, or not
applicable. `criteriaMet`, `criteria_met` and `Criteria met` are one key; the reason has five names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import lru_cache
from typing import Any

from msgspec import Struct

from howsure.judges.rulings import UnparsableReply
from howsure.model.score import UNIT, Scale

NUMBERS = ("score", "rating", "grade", "result")
VERDICTS = ("verdict", "passed", "pass", "met", "criteriamet", "criterionmet")
REASONS = ("explanation", "rationale", "reasoning", "reason", "thoughtchain")
EVIDENCE = ("evidence", "quotes", "quote")

_NOT_PLAIN = re.compile(r"[^a-z0-9]")


@lru_cache(maxsize=4096)
def normalize_key(key: str) -> str:
    return _NOT_PLAIN.sub("", key.lower())


def normalize_fields(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The fields by normalized key; two values under one key cannot be read."""
    fields: dict[str, Any] = {}
    for key, value in raw.items():
        plain = normalize_key(key)
        if plain in fields and fields[plain] != value:
            raise UnparsableReply(f"the reply says two things under the key {key!r}")
        fields[plain] = value
    return fields


def find_reason(fields: Mapping[str, Any]) -> tuple[str, str]:
    """The reason and its key."""
    for key in REASONS:
        raw = fields.get(key)
        if isinstance(raw, str) and raw.strip():
            return raw.strip(), key
    return "", ""


def find_evidence(fields: Mapping[str, Any]) -> tuple[tuple[str, ...], str]:
    """What the judge quotes, and its key. A number is the number of a turn."""
    for key in EVIDENCE:
        raw = fields.get(key)
        if isinstance(raw, str) and raw.strip():
            return (raw,), key
        if isinstance(raw, list) and all(isinstance(each, str) or type(each) is int for each in raw):
            return tuple(each if isinstance(each, str) else f"turn {each}" for each in raw), key
    return (), ""


class VerdictWord(Enum):
    """What a verdict word means."""

    YES = "yes"
    NO = "no"
    NOT_APPLICABLE = "not applicable"


class StatedNumber(Struct, frozen=True):
    """A number, and the top of the scale where the judge named it (`4/5`)."""

    value: float
    out_of: float | None = None


Value = StatedNumber | VerdictWord

_WORDS = {
    **dict.fromkeys(("yes", "true", "met", "pass", "passed"), VerdictWord.YES),
    **dict.fromkeys(("no", "false", "not met", "unmet", "fail", "failed", "not passed"), VerdictWord.NO),
    **dict.fromkeys(("n/a", "na", "not applicable"), VerdictWord.NOT_APPLICABLE),
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


def parse_value(raw: Any) -> Value | None:
    """The value of a field; None: it is no value."""
    if isinstance(raw, bool):
        return VerdictWord.YES if raw else VerdictWord.NO
    if isinstance(raw, int | float):
        return StatedNumber(_finite(raw))
    if isinstance(raw, str):
        return parse_word(raw) or _number_alone(raw)
    return None


def parse_word(text: str) -> VerdictWord | None:
    """The meaning of a text that is only a verdict word."""
    return _WORDS.get(re.sub(r"[\s_-]+", " ", text.strip(_WRAPPING).lower()))


def find_values(prose: str) -> Iterator[Value]:
    """Every value that the prose states as its own: alone on the first or last line, after a label, as `rated 4/5`, or
    as a verdict word that opens the text. Numbers and words that are merely mentioned do not count."""
    if not prose:
        return
    plain = _DECORATION.sub("", prose).strip()
    lines = plain.splitlines()
    for line in dict.fromkeys((lines[0], lines[-1])) if lines else ():
        if (alone := parse_word(line) or _number_alone(line)) is not None:
            yield alone
    if opening := _FIRST_WORD.match(plain):
        yield _matched_value(opening)
    for pattern in (_LABELLED_NUMBER, _LABELLED_WORD, _RATED):
        for found in pattern.finditer(plain):
            value = _matched_value(found)
            if pattern is not _RATED or (isinstance(value, StatedNumber) and value.out_of is not None):
                yield value


def require_on_scale(number: StatedNumber, scale: Scale, *, whole: bool) -> float:
    """The number, if it is on the scale; it is never moved onto it."""
    if number.out_of is not None and number.out_of != scale.high:
        raise UnparsableReply(f"{number.value:g} out of {number.out_of:g} where the scale is {scale}")
    if number.value not in scale:
        raise UnparsableReply(f"{number.value:g} is not on the scale {scale}")
    if whole and not number.value.is_integer():
        raise UnparsableReply(f"{number.value:g} where a whole number is needed, {scale}")
    return number.value


def scale_end(word: VerdictWord, scale: Scale) -> float:
    """Yes and no as the ends of 0 to 1; on any other scale a number is needed."""
    if scale != UNIT:
        raise UnparsableReply(f"a {word.value!r} where a number is needed, {scale}")
    return 1.0 if word is VerdictWord.YES else 0.0


def _number_alone(text: str) -> StatedNumber | None:
    found = _NUMBER_ALONE.fullmatch(text.strip(_WRAPPING))
    return _as_number(found) if found else None


def _matched_value(found: re.Match[str]) -> Value:
    groups = found.groupdict()
    if (word := groups.get("word")) and (meant := parse_word(word)):
        return meant
    return _as_number(found)


def _as_number(found: re.Match[str]) -> StatedNumber:
    out_of = found["out_of"]
    return StatedNumber(float(found["number"]), None if out_of is None else float(out_of))


def _finite(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf")
