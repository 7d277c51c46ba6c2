"""Which facts an agent asks for: those whose name, or other words they are asked by, stand in what it requests."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from howsure.model.case import Fact
from howsure.users.phrases import either
from howsure.users.speech import requests, sentences
from howsure.users.words import GENERIC, content, meanings, means, plain

LONG_NAME = 3
MOST = 0.6
"""Of the words of a long name, the share that must be asked for."""

DETAILS = either(
    r"(?:personal |contact |more |some |further |your |the )*details", r"(?:more |some |further )?information",
    r"(?:verify|confirm|check) (?:your )?identity", r"verification", r"identify (?:you|yourself)", r"verify you",
    r"(?:ihre )?(?:daten|angaben)", r"(?:vos )?(?:coordonnees|informations)", r"(?:sus )?datos", r"(?:i suoi )?dati",
    r"gegevens", r"authenticate",
)  # fmt: skip
"""Requests for everything and nothing."""
_BARE = re.compile(
    r"(?<!\w)(?:the|your|that|this|die|ihre|le|votre|el|su|il|de|uw) "
    r"(number|id|code|reference|nummer|numero|address)(?= ?(?:[?.,;:!]|and|again|please|once|for me|\Z))"
)
_YES_NO = re.compile(r"(?<!\w)(?:do|does|did|have|has|are|is|was|were|would|could|can|shall|should)(?!\w)")


@lru_cache(maxsize=4096)
def is_asked(fact: Fact, text: str) -> bool:
    """Whether the agent asks for this fact by its name, or for `the code` and this is one."""
    return any(_names(fact, sentence) or _bare_kind(fact, sentence) for sentence in requests(text))


def _bare_kind(fact: Fact, sentence: str) -> bool:
    """`the code`, where the fact is a game code; `the order code` is another one."""
    kinds = [word for word in content(fact.name) if word in GENERIC]
    return any(found in kinds for found in _BARE.findall(sentence))


def _names(fact: Fact, sentence: str) -> bool:
    there = meanings(sentence)
    return any(_covered(words, there) for words in phrasings(fact))


@lru_cache(maxsize=4096)
def phrasings(fact: Fact) -> tuple[tuple[str, ...], ...]:
    """The words of the fact's name, and of each other way to ask for it."""
    named = (content(phrase) or tuple(plain(phrase).split()) for phrase in (fact.name, *fact.asked_by))
    return tuple(words for words in named if words)


def _covered(words: tuple[str, ...], there: frozenset[str]) -> bool:
    found = [word for word in words if means(word, there)]
    if len(words) >= LONG_NAME:
        return len(found) / len(words) >= MOST
    telling = [word for word in words if word not in GENERIC]
    if telling:
        return all(word in found for word in telling)
    return bool(found) and words[-1] in found


def is_touched(fact: Fact, text: str) -> bool:
    """Whether anything in the text may be about this fact: far more lenient than `is_asked`."""
    there = meanings(text)
    if _bare_kind(fact, plain(text)):
        return True
    words = {word for phrase in phrasings(fact) for word in phrase}
    telling = {word for word in words if word not in GENERIC} or words
    return any(means(word, there) for word in telling)


def wants_details(text: str) -> bool:
    """The agent asks for information without saying which."""
    return any(DETAILS.search(sentence) for sentence in requests(text))


def facts_asked(facts: Iterable[Fact], text: str) -> tuple[Fact, ...]:
    """The facts asked for, in the order the scenario lists them."""
    return tuple(fact for fact in facts if is_asked(fact, text))


def asks_beyond(facts: Iterable[Fact], text: str) -> tuple[str, ...]:
    """The requests that none of the facts answers."""
    held = tuple(facts)
    return tuple(one for one in requests(text) if not any(_names(fact, one) or _bare_kind(fact, one) for fact in held))


def is_yes_or_no(text: str) -> bool:
    """The last thing asked can be answered with yes: `Shall I go ahead?`"""
    asked = [plain(one) for one in sentences(text) if "?" in one]
    return bool(asked) and bool(_YES_NO.match(asked[-1].lstrip("\"'( "))) and " or " not in asked[-1]
