"""Plan steps as a person says them: `Say that you want the money.` becomes `I want the money.` Stage directions are
recognised in English; any other text is said as it stands. A direction about the manner has nothing to say."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache

from howsure.judges.offline.lexicon import expand, read_sections
from howsure.model.case import Fact
from howsure.users.speech import requested_facts, sentences
from howsure.users.words import PACKAGE


@cache
def _patterns(section: str) -> list[tuple[re.Pattern[str], str]]:
    """Each pattern of a section of directions.txt, with what stands after its `=>`."""
    sections = read_sections(PACKAGE, "directions")
    lines = (line.partition(" =>") for line in sections[section])
    return [(re.compile(expand(pattern, sections), re.I | re.DOTALL), said.strip()) for pattern, _, said in lines]


def _pattern(section: str) -> re.Pattern[str]:
    return _patterns(section)[0][0]


@lru_cache(maxsize=1024)
def spoken_step(text: str, facts: tuple[Fact, ...] = ()) -> str:
    """What a person says to follow this step of a plan; empty where there is nothing to say."""
    if quoted := _pattern("quoted").match(_pattern("before").sub("", text.strip())):
        return _capitalized((quoted["said"] or quoted["after"]).strip())
    written = sentences(text)
    spoken = tuple(_spoken_sentence(sentence, facts) for sentence in written)
    return text if spoken == written else " ".join(filter(None, spoken))


def _spoken_sentence(sentence: str, facts: tuple[Fact, ...]) -> str:
    direction = _pattern("before").sub("", sentence)
    if _pattern("first_person").search(direction) or "?" in direction:
        return sentence
    parts = [_spoken(part.strip(" .!"), facts) for part in _pattern("next").split(direction)]
    return sentence if None in parts else " ".join(part for part in parts if part)


def _spoken(direction: str, facts: Iterable[Fact]) -> str | None:
    """None for what is no stage direction."""
    for pattern, said in _patterns("forms"):
        if found := pattern.fullmatch(direction):
            what = _as_first_person(found.groupdict().get("x") or "")
            return _capitalized(said.format(x=what, do=what[:1].lower() + what[1:]))
    if (giving := _pattern("giving").fullmatch(direction)) is None:
        return None
    if re.search(r"\d", giving["x"]):
        return _capitalized(f"{_as_first_person(giving['x'])}.")
    if told := requested_facts(facts, f"Please tell me {giving['x']}."):
        return " ".join(f"My {fact.name.replace('_', ' ')} is {fact.value}." for fact in told)
    # What the scenario does not hold cannot be told.
    return "" if re.match(r"your\b", giving["x"], re.IGNORECASE) else None


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def _as_first_person(text: str) -> str:
    for pattern, said in _patterns("pronouns"):
        text = pattern.sub(said, text)
    return text
