"""The phrases and word lists of the user's side, read from data/ when they are first needed. What a phrase means is
decided where it is used.

phrases.txt: a section such as `[refusal]` lists alternatives, each of whole words; one such as `[/accepts/]` is one
regular expression over several lines; `{{person}}` stands for another such section. words.txt: a section is a list of
words, or a list of groups, one to a line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from howsure.judges.offline.lexicon import read_sections

PACKAGE = "howsure.users"
_REFERENCE = re.compile(r"\{\{(\w+)\}\}")


@cache
def phrase(name: str) -> re.Pattern[str]:
    """The pattern of a section of phrases.txt."""
    sections = read_sections(PACKAGE, "phrases")
    whole = f"(?<!\\w)(?:{'|'.join(sections[name])})(?!\\w)" if name in sections else "".join(sections[f"/{name}/"])
    return re.compile(expand(whole, sections))


def expand(pattern: str, sections: Mapping[str, Sequence[str]]) -> str:
    """The pattern with the section that each `{{name}}` stands for."""
    return _REFERENCE.sub(lambda found: expand("".join(sections[f"/{found[1]}/"]), sections), pattern)


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
