"""The word lists and phrases of the offline judge: files under data/, read once, when they are first needed. A file has
sections (`[stopwords]`), comments (`#`), and lines that go on where the next one begins with a space. What the words
mean to the judge is decided where they are used.

phrases.txt: a section such as `[refusal]` lists alternatives, each of whole words; one such as `[/accepts/]` is one
regular expression over several lines; `{{person}}` stands for another such section."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Literal

from msgspec import Struct

WordList = Literal[
    "stopwords",
    "negators",
    "titles",
    "roles",
    "light",
    "framing",
    "around_dates",
    "counted_by_four_digits",
    "around_numbers",
    "around_places",
]
Words = tuple[str, ...]
PACKAGE = "howsure.judges.offline"
_REFERENCE = re.compile(r"\{\{(\w+)\}\}")


class AliasTable(Struct, frozen=True):
    """The one name that is compared, by every other name of the same thing; and the words of the longest name."""

    names: Mapping[Words, Words]
    longest: int


class Gazetteer(Struct, frozen=True):
    """Every place with the places that directly contain it, the regions of the world, and the words of the longest
    name."""

    containers: Mapping[Words, frozenset[Words]]
    regions: frozenset[Words]
    longest: int


class NumberWords(Struct, frozen=True):
    """The values of number words; `first` are the words that a number can begin with."""

    small: Mapping[str, int]
    tens: Mapping[str, int]
    large: Mapping[str, int]
    first: frozenset[str]


def word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


@cache
def word_list(name: WordList) -> frozenset[str]:
    """One of the lists in words.txt."""
    return word_set(" ".join(_sections("words")[name]))


@cache
def aliases() -> AliasTable:
    """Peoples and their countries, abbreviations, renamed places, spellings, everyday synonyms."""
    sections = _sections("aliases")
    names: dict[Words, Words] = {}
    for people, _, country in (pair.partition("/") for line in sections["peoples"] for pair in line.split()):
        names[_name(people)] = _name(country)
        if people.endswith(("an", "i", "ch", "k", "t", "ot")) and not people.endswith(("french", "dutch", "czech")):
            names[_name(people + "s")] = _name(country)
    for line in sections["names"]:
        known, _, others = line.partition(" = ")
        names |= {_name(other): _name(known) for other in others.split(",")}
    # The name that is compared is not renamed again in part: a Czech Republic stays one.
    names |= {name: name for name in list(names.values()) if len(name) > 1}
    whole = [_name(each) for each in " ".join(sections["whole"]).split(",")]
    names |= {name: name for name in whole}
    return AliasTable(names, max(map(len, names)))


@cache
def gazetteer() -> Gazetteer:
    """Which place lies in which."""
    sections = _sections("places")
    containers: dict[Words, set[Words]] = {}
    for line in (*sections["regions"], *sections["countries"], *sections["states"]):
        container, _, places = line.partition(": ")
        containers.setdefault(tuple(container.split()), set())
        for place in places.split(","):
            containers.setdefault(tuple(place.split()), set()).add(tuple(container.split()))
    regions = frozenset(tuple(line.partition(":")[0].split()) for line in sections["regions"])
    found = {place: frozenset(each) for place, each in containers.items()}
    return Gazetteer(found, regions, max(map(len, found)))


@cache
def postal_states() -> Mapping[str, str]:
    """The states of the USA by their postal codes."""
    entries = " ".join(_sections("places")["postal"]).split(",")
    return dict(entry.strip().split(maxsplit=1) for entry in entries)


@cache
def irregular_families() -> Mapping[str, int]:
    """The number of a word's family, for families that follow no rule."""
    return {word: number for number, line in enumerate(_sections("families")[""]) for word in line.split()}


@cache
def full_names() -> Mapping[str, frozenset[str]]:
    """The given names that a short form may stand for."""
    pairs = [line.partition(": ") for line in _sections("given_names")[""]]
    found: dict[str, frozenset[str]] = {}
    for name, _, short_forms in pairs:
        for short in short_forms.split():
            found[short] = found.get(short, frozenset()) | {name}
    return found


@cache
def units() -> Mapping[str, tuple[str, float]]:
    """What each unit measures, and its factor to a common unit."""
    found: dict[str, tuple[str, float]] = {}
    for line in _sections("units")[""]:
        kind, _, entries = line.partition(": ")
        for unit, _, factor in (entry.strip().rpartition(" ") for entry in entries.split(",")):
            found[unit] = (kind, float(factor))
    return found


@cache
def number_words() -> NumberWords:
    sections = {name: " ".join(lines) for name, lines in _sections("numbers").items()}
    small = {word: value for value, word in enumerate(sections["cardinals"].split())}
    small |= {word: value for value, word in enumerate(sections["ordinals"].split())}
    tens = {word: 20 + 10 * place for place, word in enumerate(sections["tens"].split())}
    tens |= {word[:-1] + "ieth": value for word, value in tens.items()}
    large = {word: int(value) for word, value in (entry.split() for entry in sections["large"].split(","))}
    return NumberWords(small, tens, large, frozenset({*small, *tens, "a", "an"}))


def _sections(file: str) -> Mapping[str, list[str]]:
    return read_sections(PACKAGE, file)


def _name(text: str) -> Words:
    return tuple(text.replace("_", " ").split())


@cache
def read_sections(package: str, file: str) -> Mapping[str, list[str]]:
    """The lines of a file in a package's data/ by section; lines before the first section are under the empty name."""
    found: dict[str, list[str]] = {"": []}
    lines = found[""]
    text = (files(package) / "data" / f"{file}.txt").read_text("utf-8")
    for line in text.splitlines():
        if line.startswith("["):
            lines = found.setdefault(line.strip("[]"), [])
        elif line.startswith(" "):
            lines[-1] += line
        elif line and not line.startswith("#"):
            lines.append(line)
    return found


def phrase(name: str) -> re.Pattern[str]:
    """One of the offline judge's phrases."""
    return re.compile(phrase_text(PACKAGE, name))


def phrase_text(package: str, name: str) -> str:
    """The regular expression of a section of a package's data/phrases.txt."""
    sections = read_sections(package, "phrases")
    whole = f"(?<!\\w)(?:{'|'.join(sections[name])})(?!\\w)" if name in sections else "".join(sections[f"/{name}/"])
    return expand(whole, sections)


def expand(pattern: str, sections: Mapping[str, Sequence[str]]) -> str:
    """The pattern with the section that each `{{name}}` stands for."""
    return _REFERENCE.sub(lambda found: expand("".join(sections[f"/{found[1]}/"]), sections), pattern)
