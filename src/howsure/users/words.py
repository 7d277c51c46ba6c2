"""Comparable words of the user's side: what carries meaning in a text, which words are of one family, which mean the
same when an agent asks for something, in which language a text is written, and the phrases of data/phrases.txt."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import TypeVar
from unicodedata import category, normalize

from howsure.judges.offline.lexicon import phrase_text, read_sections, word_list
from howsure.judges.offline.words import is_number, root, tokens

PACKAGE = "howsure.users"


@cache
def phrase(name: str) -> re.Pattern[str]:
    """The pattern of a section of phrases.txt."""
    return re.compile(phrase_text(PACKAGE, name))


@cache
def word_groups(name: str) -> tuple[tuple[str, ...], ...]:
    """The words of a section of words.txt, line by line."""
    return tuple(tuple(line.split()) for line in read_sections(PACKAGE, "words")[name])


@cache
def listed_words(name: str) -> frozenset[str]:
    """All words of a section of words.txt."""
    return frozenset(word for group in word_groups(name) for word in group)


@cache
def words_by_key(name: str) -> Mapping[str, frozenset[str]]:
    """The words of each line after its first word and a colon."""
    lines = (line.partition(": ") for line in read_sections(PACKAGE, "words")[name])
    return {key: frozenset(words.split()) for key, _, words in lines}


T = TypeVar("T")
SHORTEST = 4
"""Words with fewer letters are of one family only when they are equal."""

_APOSTROPHES = str.maketrans("’‘`´ʼ", "'''''")


@lru_cache(maxsize=4096)
def fold_case(text: str) -> str:
    """The text without case and accents, with one kind of apostrophe."""
    if text.isascii():
        return text.replace("`", "'").lower()
    text = normalize("NFKD", text.translate(_APOSTROPHES))
    return "".join(mark for mark in text if category(mark) != "Mn").casefold()


@lru_cache(maxsize=2048)
def content_words(text: str) -> tuple[str, ...]:
    """The words that carry meaning, in order."""
    small, stopwords = listed_words("small_words"), word_list("stopwords")
    words = (word for word in tokens(text.replace("_", " ")) if word not in small and word not in stopwords)
    return tuple(word for word in words if len(word) > 1 or is_number(word))


def by_line(gather: Callable[[str], frozenset[T]]) -> Callable[[str], frozenset[T]]:
    """The same function over the lines of a text, each cached: a conversation grows by a few lines in every turn, and
    only those are read."""
    remembered = lru_cache(maxsize=4096)(gather)

    def over_lines(text: str) -> frozenset[T]:
        lines = text.split("\n")
        return remembered(text) if len(lines) == 1 else frozenset().union(*map(remembered, lines))

    return over_lines


root_of = lru_cache(maxsize=8192)(root)


@by_line
def roots(text: str) -> frozenset[str]:
    """The roots of the words that carry meaning."""
    return frozenset(root_of(word) for word in content_words(text))


@by_line
def all_roots(text: str) -> frozenset[str]:
    """The roots of all words."""
    return frozenset(root_of(word) for word in tokens(text.replace("_", " ")))


def akin(one: str, other: str) -> bool:
    """Whether two roots are of one family: `arriva` (arrival) and `arriv` (arrive)."""
    if one == other:
        return True
    if is_number(one) or is_number(other) or min(len(one), len(other)) < SHORTEST:
        return False
    return one.startswith(other) or other.startswith(one)


def has_kin(word: str, others: frozenset[str]) -> bool:
    """Whether a root or one of its family is there."""
    return word in others or any(akin(word, other) for other in others)


def share(targets: frozenset[str], there: frozenset[str]) -> float:
    """The share of the wanted roots that are there; 1 when none is wanted."""
    return sum(has_kin(word, there) for word in targets) / len(targets) if targets else 1.0


@cache
def synonym_marks() -> Mapping[str, tuple[str, ...]]:
    """A mark for each group of synonyms that a word is in."""
    marks: dict[str, tuple[str, ...]] = {}
    for number, group in enumerate(word_groups("synonyms")):
        marks |= {word: (*marks.get(word, ()), f"={number}") for word in group}
    return marks


@by_line
def meanings(text: str) -> frozenset[str]:
    """The roots of a text, and a mark for each group of synonyms that it has a word of."""
    words = tokens(text.replace("_", " "))
    return frozenset(root(word) for word in words) | {mark for word in words for mark in synonym_marks().get(word, ())}


def means(word: str, there: frozenset[str]) -> bool:
    """Whether a word, one of its family or one of its synonyms is among `meanings`."""
    return any(mark in there for mark in synonym_marks().get(word, ())) or has_kin(root(word), there)


_SCRIPTS = {
    "ru": re.compile(r"[\u0400-\u04ff]"),
    "el": re.compile(r"[\u0370-\u03ff]"),
    "ar": re.compile(r"[\u0600-\u06ff]"),
    "he": re.compile(r"[\u0590-\u05ff]"),
    "hi": re.compile(r"[\u0900-\u097f]"),
    "ja": re.compile(r"[\u3040-\u30ff]"),
    "ko": re.compile(r"[\uac00-\ud7af]"),
    "zh": re.compile(r"[\u4e00-\u9fff]"),
    "th": re.compile(r"[\u0e00-\u0e7f]"),
}
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
LEAST = 3
"""A text with this many small words of a language is in that language."""


@lru_cache(maxsize=2048)
def language_of(text: str) -> str | None:
    """A code such as `de`, where the text makes it clear; else None."""
    letters = sum(mark.isalpha() for mark in text)
    for language, script in _SCRIPTS.items():
        if letters and len(script.findall(text)) / letters > 0.3:
            return language
    words = _WORD.findall(fold_case(text))
    languages = words_by_key("languages").items()
    counts = sorted(((sum(word in small for word in words), name) for name, small in languages), reverse=True)
    (most, language), (second, _) = counts[:2]
    return language if most >= LEAST and most >= second + 2 and most >= 0.2 * len(words) else None
