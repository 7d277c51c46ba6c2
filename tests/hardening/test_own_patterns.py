"""The patterns in our own code meet text of agents, models, files and strangers with Python's `re`, which can take for
ever. Every one is tried, in the way our code uses it, on long texts that are made to be hard for it."""

from __future__ import annotations

import ast
import pkgutil
import re
import signal
from collections import deque
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

import howsure
from howsure.judges.offline.lexicon import read_sections
from howsure.users import directions, words

Use = Callable[[Any, Any], object]
USES: dict[str, Use] = {
    "search": lambda pattern, text: pattern.search(text),
    "match": lambda pattern, text: pattern.match(text),
    "fullmatch": lambda pattern, text: pattern.fullmatch(text),
    "finditer": lambda pattern, text: deque(pattern.finditer(text), maxlen=0),
    "findall": lambda pattern, text: pattern.findall(text),
    "sub": lambda pattern, text: pattern.sub(lambda found: text[:0], text),
    "subn": lambda pattern, text: pattern.subn(lambda found: text[:0], text),
    "split": lambda pattern, text: pattern.split(text),
}
PIECES = (
    *(
        "a",
        "A",
        "1",
        " ",
        "\n",
        "\t",
        "\r",
        "é",
        '"',
        "'",
        "`",
        "[",
        "{",
        "(",
        "<",
        "\\",
        "*",
        "-",
        ".",
        "_",
        "~",
        ",",
        ":",
    ),
    *(
        "$",
        "…",
        "=",
        "/",
        "ab ",
        "a.",
        "1,",
        "a\n",
        "\n ",
        '"\\',
        "[(",
        "(a)",
        ' "a"',
        "- a\n",
        "a-b-",
        "`a",
        "A. ",
        "Ab ",
    ),
    *("1.1", "1 ", "a'", "a@", "x_1 ", "?! ", "a: ", "\\u", "0-"),
)
"""What is repeated to make a text."""
WORDS = re.compile(r"(?<!\\)[A-Za-z]{2,}")
SHORT = {
    "howsure.matching.patterns._TOKEN": "a pattern has at most 1,000 characters",
    "howsure.judges.verdict_sentences.STATED": "it sees sentences, which have less than 1,000 characters",
    "howsure.judges.verdict_sentences.PICKED": "it sees sentences",
    "howsure.judges.verdict_sentences.TWIST": "it sees sentences",
    "howsure.graders.choice_statements._MAY_PRECEDE": "it sees a part of one line, cut to `_LONGEST_LIST`",
}
"""Patterns that never meet a long text, and why."""
WHOLE = ("howsure.judges.verdict_sentences.ONLY", "howsure.dialects.plain_columns._OTHERS")
"""Tables of patterns that are matched with a whole text."""
IN_PLACE = ("howsure.policies.gates",)
"""Their patterns are handed to a scanner, which matches them in one place."""


def modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(howsure.__path__, "howsure."):
        if found.name.endswith("__main__"):
            continue
        try:
            yield import_module(found.name)
        except ModuleNotFoundError as missing:  # An extra that is not installed here.
            assert not (missing.name or "").startswith("howsure"), missing


def inside(value: Any, depth: int = 3) -> Iterator[re.Pattern[Any]]:
    """The patterns that a constant is or holds."""
    if isinstance(value, re.Pattern):
        yield value
    elif depth and isinstance(value, msgspec.Struct):
        yield from inside([getattr(value, name) for name in value.__struct_fields__], depth)
    elif depth and isinstance(value, dict | list | tuple | set | frozenset):
        for each in value.values() if isinstance(value, dict) else value:
            yield from inside(each, depth - 1)


def uses_in(code: str) -> dict[str, set[str]]:
    """The methods of patterns that are called on each name."""
    found: dict[str, set[str]] = {}
    for name, use in re.findall(rf"\b(\w+)\.({'|'.join(USES)})\b", code):
        found.setdefault(name, set()).add(use)
    return found


@cache
def own_patterns() -> list[tuple[str, re.Pattern[Any], set[str]]]:
    """Each with the name of its constant, and how it is used."""
    found: dict[re.Pattern[Any], tuple[str, set[str]]] = {}
    package = "\n".join(path.read_text(encoding="utf-8") for path in Path(howsure.__file__).parent.rglob("*.py"))
    used = uses_in(package)
    for module in modules():
        assert module.__file__ is not None
        own = Path(module.__file__).read_text(encoding="utf-8")
        here = uses_in(own)
        for name, value in vars(module).items():
            for pattern in () if name.startswith("__") else inside(value):
                seen = {"match"} if module.__name__ in IN_PLACE else (here if name[0] == "_" else used).get(name)
                uses = seen or {"fullmatch" if f"{module.__name__}.{name}" in WHOLE else "finditer"}
                found.setdefault(pattern, (f"{module.__name__}.{name}", set()))[1].update(uses)
        for call in ast.walk(ast.parse(own)) if "re" in here else ():
            match call:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="re"), attr=use), args=[ast.Constant(value=str(written)), *_]
                ) if use in USES:
                    where = f"{module.__name__}, line {call.lineno}"
                    found.setdefault(re.compile(written), (where, set()))[1].add(use)
                case _:
                    pass
    for section in read_sections(words.PACKAGE, "phrases"):
        uses = set(re.findall(rf'phrase\("{section.strip("/")}"\)\.(\w+)', package)) or {"search"}
        found.setdefault(words.phrase(section.strip("/")), (f"phrases.txt [{section}]", uses))
    for section in read_sections(words.PACKAGE, "directions"):
        for pattern, _ in () if section.startswith("/") else directions._patterns(section):
            found.setdefault(pattern, (f"directions.txt [{section}]", {"fullmatch"}))
    return [(where, pattern, uses) for pattern, (where, uses) in found.items() if where not in SHORT]


def hostile_texts(pattern: re.Pattern[Any], size: int) -> Iterator[str]:
    """Of about `size` characters: pieces, and words of the pattern so that its later parts are reached, repeated."""
    for piece in PIECES:
        yield piece * (size // len(piece))
    for piece in (" ", "a", "1", "\n", " a"):
        yield "x" + piece * (size // len(piece)) + "!"
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    for word in list(dict.fromkeys(WORDS.findall(source)))[: min(8, size // 2_500)]:
        yield from (f"{word} " * (size // len(word)), word * (size // len(word)), word + " " * size, word + " a" * size)


class TooSlow(Exception):
    pass


@pytest.fixture
def limited() -> Iterator[Callable[[Use, re.Pattern[Any], Any, float], bool]]:
    """Whether something is done within some seconds of computing. `re` looks for signals now and then."""

    def stop(*_: object) -> None:
        raise TooSlow

    def done(use: Use, pattern: re.Pattern[Any], text: Any, seconds: float) -> bool:
        try:
            signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
            use(pattern, text)
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        except TooSlow:
            return False
        return True

    before = signal.signal(signal.SIGVTALRM, stop)
    yield done
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


# A pattern that takes the square of the length takes a fourth of a second or so for 10,000 characters.
@pytest.mark.thorough
@pytest.mark.parametrize(("size", "seconds"), [(10_000, 0.1), (100_000, 0.5)])
def test_our_own_patterns_take_no_long_time_on_any_text(
    size: int, seconds: float, limited: Callable[[Use, re.Pattern[Any], Any, float], bool]
) -> None:
    assert len(own_patterns()) > 300
    slow = {}
    for where, pattern, uses in own_patterns():
        for text in hostile_texts(pattern, size):
            given = text if isinstance(pattern.pattern, str) else text.encode()
            for use in sorted(uses):
                if where not in slow and not limited(USES[use], pattern, given, seconds):
                    slow[where] = f"{use} in {text[:12]!r}…"
    assert not slow, "\n".join(f"{where}: {what}" for where, what in slow.items())
