"""Text as comparable words: one spelling for letters, marks, initials and numbers (`nine`, `twenty-one`, `75 million`
and `XXI` become figures). Everything that the offline judge compares has passed through `tokens`; nothing here knows
what is compared with what."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import isfinite
from unicodedata import category, normalize

from howsure.judges.offline.lexicon import number_words

_MOJIBAKE = re.compile(r"[ÃÂ][\x80-\xbf\xa0-\xff]|â€")
_ROMAN = re.compile(r"\b(?=[IVXL]{2})(?:XL|L?X{0,3})(?:IX|IV|V?I{0,3})(?<=[IVXL])\b")
# `Elizabeth I`, `Henry V`; before other words an I may be a person who speaks.
_ONE_LETTER = re.compile(r"\b([A-Z][a-z]+ )([IVX])\b(?=\s*(?:[.,;:)\]]|$)|\s+(?:of|began|ended|started|broke)\b)")
_POSSESSIVE = re.compile(r"['’`´]s\b")
_APOSTROPHE = re.compile(r"(?<=\w)['’`´](?=\w)")
_POINT = re.compile(r"(?<=\d) \. (?=\d)")
_EPISODE = re.compile(r"\bs0*(\d{1,2}) ?[ex]0*(\d{1,3})\b")
_HALF_DAY = re.compile(r"(?<=\d)(?::00)?\s*([ap])\.?\s?m\b\.?")
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
CODE = "⌗"
"""Stands before a code, which is one word whatever figures it holds."""
_CODED = re.compile(
    r"(?<![^\W_])(?:[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
    r"|(?=[A-Za-z]*[0-9])(?=[0-9]*[A-Za-z])[A-Za-z0-9]{10,})(?![^\W_])"
)
_SWITCH = re.compile(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")
SWITCHES = 3
"""A long run of letters and figures that switches between them this often is a hash, a key or encoded text."""
_TOKEN = re.compile(rf"{CODE}[a-z0-9]+|(?<![\w.)])-?\d+(?:\.\d+)?|\d+(?:\.\d+)?|[^\W\d_]+|[%$€£°]")
_NUMERALS = {"I": 1, "V": 5, "X": 10, "L": 50}
_INVISIBLE = ("Mn", "Cf")
"""Accents, and marks of no width that hide a word from a search."""
ARTICLES = frozenset({"a", "an", "the"})


@lru_cache(maxsize=4096)
def tokens(text: str) -> tuple[str, ...]:
    """The words and numbers of a text in one spelling: no case, accents, articles or punctuation; `twenty-one`, `21st`
    and `XXI` are all `21`; `B.R.` is two initials; a hash or a key is one word and not a number."""
    words = replace_number_words(_TOKEN.findall(fold_text(text)))
    return tuple(_without_articles(words)) or tuple(words)


def fold_text(text: str) -> str:
    """One spelling for letters and figures; the words stay where they were."""
    text = _ROMAN.sub(_arabic, _ONE_LETTER.sub(lambda match: match[1] + str(_NUMERALS[match[2]]), _repair(text)))
    if not text.isascii():
        text = "".join(mark for mark in normalize("NFKD", text) if category(mark) not in _INVISIBLE)
    text = _CODED.sub(_join_code, text)
    text = _APOSTROPHE.sub("", _POSSESSIVE.sub("", text.casefold())).replace("&", " and ").replace("−", "-")
    text = _POINT.sub(".", text)
    text = _EPISODE.sub(r"season \1 episode \2", text)
    return _ORDINAL.sub("", _THOUSANDS.sub("", _HALF_DAY.sub(r" \1m", text)))


def join_words(words: tuple[str, ...]) -> str:
    """The words without their breaks: `steam ship` is `steamship`, `u s a` is `usa`."""
    return "".join(words)


def is_number(token: str) -> bool:
    return token[0].isdigit() or (token[0] == "-" and len(token) > 1)


def is_code(token: str) -> bool:
    return token[0] == CODE


def coded_share(text: str) -> float:
    """The share of a text's characters that are codes."""
    length = sum(len(match[0]) for match in _CODED.finditer(text) if _looks_coded(match[0]))
    return length / max(1, len("".join(text.split())))


def singular(word: str) -> str:
    """The word without a plural ending, roughly."""
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("xes", "ches", "shes", "sses", "zes")):
        return word[:-2]
    return word[:-1]


def root(word: str) -> str:
    """What words of one family share, roughly: `environment` and `environmental`, `refund` and `refunded`."""
    if is_number(word) or is_code(word):
        return word
    word = singular(word)
    for ending in ("ing", "ed", "ly", "er", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            word = word[: -len(ending)]
            break
    return word[:6]


def replace_number_words(words: Sequence[str]) -> list[str]:
    """The words, with every run of number words replaced by its figures."""
    first = number_words().first
    replaced: list[str] = []
    place = 0
    while place < len(words):
        word = words[place]
        if word in first or word[0].isdigit():
            value, length = _number_at(words, place)
            if length and isfinite(value):
                replaced.append(str(int(value)) if value == int(value) else repr(value))
                place += length
                continue
        replaced.append(word)
        place += 1
    return replaced


def _number_at(words: Sequence[str], start: int) -> tuple[float, int]:
    """The number that begins here and how many words it takes; a bare figure is left alone."""
    lexicon = number_words()
    total, current, place = 0.0, 0.0, start
    seen = ""
    if words[start] in ("a", "an"):  # `a hundred` is one hundred
        if "".join(words[start + 1 : start + 2]) not in lexicon.large:
            return 0.0, 0
        place, current, seen = start + 1, 1.0, "unit"
    while place < len(words):
        word = words[place]
        if word in lexicon.large and (seen or place > start):
            current = max(current, 1) * lexicon.large[word]
            if lexicon.large[word] >= 1000:
                total, current = total + current, 0.0
            seen = "large"
        elif (value := _addend(word, seen)) is not None:
            current += value
            seen = "ten" if word in lexicon.tens else "unit"
        elif not (word == "and" and seen == "large" and _continues(words, place + 1)):
            break
        place += 1
    if place - start == 1 and words[start][0].isdigit():
        return 0.0, 0
    return total + current, place - start


def _addend(word: str, seen: str) -> float | None:
    """What a word adds, where it may follow what was seen: `twenty one` is one number, `one two` are two."""
    lexicon = number_words()
    if word[0].isdigit():
        return float(word) if not seen else None
    if word in lexicon.tens:
        return lexicon.tens[word] if seen in ("", "large") else None
    if (value := lexicon.small.get(word)) is not None:
        return value if seen in ("", "large") or (seen == "ten" and 0 < value < 10) else None
    return None


def _continues(words: Sequence[str], place: int) -> bool:
    return place < len(words) and (words[place] in number_words().small or words[place] in number_words().tens)


def _join_code(match: re.Match[str]) -> str:
    return CODE + match[0].replace("-", "") if _looks_coded(match[0]) else match[0]


def _looks_coded(run: str) -> bool:
    return len(_SWITCH.findall(run)) >= SWITCHES or "-" in run


def _without_articles(words: list[str]) -> Iterator[str]:
    for place, word in enumerate(words):
        # Next to another letter an `a` is an initial: U.S.A.
        is_initial = word == "a" and any(len(near) == 1 for near in words[max(0, place - 1) : place])
        if word not in ARTICLES or is_initial:
            yield word


def _repair(text: str) -> str:
    """UTF-8 that was read as Latin-1 is read again; a text that does not decode stays as it is."""
    if not _MOJIBAKE.search(text):
        return text
    try:
        return text.encode("cp1252").decode("utf-8")
    except UnicodeError:
        return text.replace("Â\xa0", " ")


def _arabic(match: re.Match[str]) -> str:
    values = [_NUMERALS[letter] for letter in match[0]]
    signed = (-one if one < two else one for one, two in zip(values, [*values[1:], 0], strict=True))
    return str(sum(signed))
