"""Text made comparable: one spelling for letters, marks, initials and numbers. Everything that the offline judge
compares has passed through `tokens`; nothing here knows what is compared with what."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from unicodedata import category, normalize

from howsure.judges.offline.number_words import spelled_numbers

_MOJIBAKE = re.compile(r"[ÃÂ][\x80-\xbf\xa0-\xff]|â€")
_ROMAN = re.compile(r"\b(?=[IVXL]{2})(?:XL|L?X{0,3})(?:IX|IV|V?I{0,3})(?<=[IVXL])\b")
_ONE_LETTER = re.compile(r"\b([A-Z][a-z]+ )([IVX])\b(?=\s*(?:[.,;:)\]]|$)|\s+(?:of|began|ended|started|broke)\b)")
"""`Elizabeth I`, `Henry V`; before anything else an I may be a person who speaks."""
_POSSESSIVE = re.compile(r"['’`´]s\b")
_APOSTROPHE = re.compile(r"(?<=\w)['’`´](?=\w)")
_POINT = re.compile(r"(?<=\d) \. (?=\d)")
_EPISODE = re.compile(r"\bs0*(\d{1,2}) ?[ex]0*(\d{1,3})\b")
_HALF_DAY = re.compile(r"(?<=\d)(?::00)?\s*([ap])\.?\s?m\b\.?")
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
CODE = "⌗"
"""Stands before a code, which is one word whatever figures are in it."""
_CODED = re.compile(
    r"(?<![^\W_])(?:[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
    r"|(?=[A-Za-z]*[0-9])(?=[0-9]*[A-Za-z])[A-Za-z0-9]{10,})(?![^\W_])"
)
_SWITCH = re.compile(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")
SWITCHES = 3
"""A long run of letters and figures that changes between them this often is a hash, a key or encoded text."""
_TOKEN = re.compile(rf"{CODE}[a-z0-9]+|(?<![\w.)])-?\d+(?:\.\d+)?|\d+(?:\.\d+)?|[^\W\d_]+|[%$€£°]")
_NUMERALS = {"I": 1, "V": 5, "X": 10, "L": 50}

_UNSEEN = ("Mn", "Cf")
"""Accents, and marks of no width that hide a word from a search."""
ARTICLES = frozenset({"a", "an", "the"})


@lru_cache(maxsize=4096)
def tokens(text: str) -> tuple[str, ...]:
    """The words and numbers of a text in one spelling: no case, accents, articles or punctuation; `twenty-one`, `21st`
    and `XXI` are all `21`; `B.R.` is two initials; a hash or a key is one word, and its figures are none."""
    folded = folded_text(text)
    found = spelled_numbers(_TOKEN.findall(folded))
    return tuple(_without_articles(found)) or tuple(found)


def folded_text(text: str) -> str:
    """One spelling for letters and figures; the words are still where they were."""
    text = _ROMAN.sub(_arabic, _ONE_LETTER.sub(lambda found: found[1] + str(_NUMERALS[found[2]]), _repaired(text)))
    if not text.isascii():
        text = "".join(mark for mark in normalize("NFKD", text) if category(mark) not in _UNSEEN)
    text = _CODED.sub(_as_one, text)
    text = _APOSTROPHE.sub("", _POSSESSIVE.sub("", text.casefold())).replace("&", " and ").replace("−", "-")
    text = _POINT.sub(".", text)
    text = _EPISODE.sub(r"season \1 episode \2", text)
    return _ORDINAL.sub("", _THOUSANDS.sub("", _HALF_DAY.sub(r" \1m", text)))


def squeezed(words: tuple[str, ...]) -> str:
    """The words without their breaks: `steam ship` is `steamship`, `u s a` is `usa`."""
    return "".join(words)


def is_number(token: str) -> bool:
    return token[0].isdigit() or (token[0] == "-" and len(token) > 1)


def is_code(token: str) -> bool:
    return token[0] == CODE


def coded_share(text: str) -> float:
    """How much of a text's characters are codes."""
    length = sum(len(found[0]) for found in _CODED.finditer(text) if _is_coded(found[0]))
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


def _as_one(found: re.Match[str]) -> str:
    return CODE + found[0].replace("-", "") if _is_coded(found[0]) else found[0]


def _is_coded(run: str) -> bool:
    return len(_SWITCH.findall(run)) >= SWITCHES or "-" in run


def _without_articles(words: list[str]) -> Iterator[str]:
    for place, word in enumerate(words):
        # Beside another letter an `a` is an initial: U.S.A.
        lettered = word == "a" and any(len(near) == 1 for near in words[max(0, place - 1) : place])
        if word not in ARTICLES or lettered:
            yield word


def _repaired(text: str) -> str:
    """UTF-8 that somebody read as Latin-1 is read again; a text that does not decode stays as it is."""
    if not _MOJIBAKE.search(text):
        return text
    try:
        return text.encode("cp1252").decode("utf-8")
    except UnicodeError:
        return text.replace("Â\xa0", " ")


def _arabic(found: re.Match[str]) -> str:
    letters = found[0]
    values = [_NUMERALS[letter] for letter in letters]
    signed = (-one if one < two else one for one, two in zip(values, [*values[1:], 0], strict=True))
    return str(sum(signed))
