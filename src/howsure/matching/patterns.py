r"""Patterns that users write: the meaning of Python's `re`, in time that grows no faster than pattern times text.

RE2 searches without backtracking, but its `\w`, `\b`, `$` and letter case are not those of `re`. So RE2 never sees a
character of the text. The parts of a pattern that stand for one character (`x`, `[a-z]`, `\w`, `.`) are its atoms. `re`
says which atoms match a character; all characters that the same atoms match get the same code; RE2 searches the codes.
What RE2 cannot do is refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from string import ascii_letters, digits
from threading import Lock
from typing import Any

import re2

LONGEST_PATTERN = 1_000
MOST_CLASSES = 50
MOST_STEPS = 2_000
"""The longest program that RE2 may make of a pattern. At worst it takes each step at each character of a text."""
_MEMORY = 2 << 20

# What is part of a word for RE2's `\b`, and what is not. The newline is left for RE2's `$`.
_WORD_CODES = ascii_letters + digits + "_"
_OTHER_CODES = (range(10), range(11, 48), range(128, 0xD800))
_NOTHING = r"[^\x00-\x{10ffff}]"

_TOKEN = re.compile(
    r"""(?P<refused>\(\?(?:<?[=!]|[>(]|P=|[a-z]*-?[a-z]+:)|\\(?![1-7][0-7]{2})[1-9]|\\B)
    |(?P<dropped>\(\?(?:\#[^)]*|[a-zA-Z]+)\))
    |(?P<group>\((?:\?:|\?P<\w+>)?)
    |(?P<repeat>[*+?]|\{(?:[0-9]+|(?=,))(?:,[0-9]*)?\})(?P<greed>[?+]?)
    |(?P<plain>[)|$^]|\\[AZbz])
    |(?P<atom>\[\^?\]?(?:\\.|[^]\\])*\]
        |\\(?:0[0-7]{0,2}|[1-7][0-7]{2}|x..|u.{4}|U.{8}|N\{[^}]*\}|.)
        |.)""",
    re.VERBOSE | re.DOTALL,
)
_REFUSED = {
    "(?=": "looks ahead with `(?=`; write what follows into the pattern itself",
    "(?!": "looks ahead with `(?!`; write what is allowed, not what is forbidden",
    "(?<=": "looks behind with `(?<=`; write what stands before into the pattern itself",
    "(?<!": "looks behind with `(?<!`; write what is allowed, not what is forbidden",
    "(?>": "has an atomic group `(?>`; write a plain group `(?:`",
    "(?(": "asks with `(?(` whether a group matched; write both cases with `|` between them",
    "\\B": "has `\\B`; write which characters may stand there, such as `\\w`",
}
_PLAIN = {")": ")", "|": "|", "^": r"\A", "$": "(?m:$)", r"\A": r"\A", r"\Z": r"\z", r"\z": r"\z", r"\b": r"\b"}


class PatternRefused(ValueError):
    """A pattern that is malformed or too large, or that cannot be searched for in linear time."""


def _refusal(written: str, reason: str) -> PatternRefused:
    shown = written if len(written) <= 100 else f"{written[:100]}…"
    return PatternRefused(f"{shown!r} {reason}")


class UserPattern:
    """A pattern that is checked and ready: `compile_pattern("L-[0-9]+").search("order L-17")` is `(6, 10)`."""

    def __init__(self, written: str) -> None:
        self.written = written
        flags = _read_flags(written)
        self._multiline = bool(flags & re.MULTILINE)
        self._atoms = {re.compile("\n"): 0}
        self._parts = list(self._read(flags))
        self._word = self._number(r"\w", flags & re.ASCII) if r"\b" in self._parts else None
        self._new_codes = map(chr, chain(*_OTHER_CODES)), iter(_WORD_CODES)
        self._codes: dict[int, str] = {}
        self._lock, self._compiled = Lock(), 0
        self._ascii = self._codes_of("".join(map(chr, range(128))))
        self._codes_of("".join(set(written)))
        if (steps := self._engine.programsize) > MOST_STEPS:
            raise _refusal(written, f"is too large: {steps:,} steps, at most {MOST_STEPS:,} are allowed; repeat less")

    def search(self, text: str) -> tuple[int, int] | None:
        """The first place that matches, as `re.search` finds it."""
        codes = self._encode(text)
        found: re.Match[str] | None = self._engine.search(codes)
        return found and found.span()

    def fullmatch(self, text: str) -> tuple[int, int] | None:
        """The whole text, if all of it matches."""
        codes = self._encode(text)
        found: re.Match[str] | None = self._engine.fullmatch(codes)
        return found and found.span()

    def _encode(self, text: str) -> str:
        codes = text.translate(self._ascii if text.isascii() else self._codes_of("".join(set(text))))
        # Before a last newline `$` matches too: RE2 looks for it in every line, and sees no other newline.
        return codes[:-1] + "\n" if text.endswith("\n") else codes

    def _codes_of(self, characters: str) -> dict[int, str]:
        """The code of each character, by its number. Makes an engine that knows them all."""
        kinds = dict.fromkeys(characters, 0)
        for atom, number in self._atoms.items():
            for each in atom.findall(characters):
                kinds[each] |= 1 << number
        with self._lock:
            codes = {ord(each): self._code(kind) for each, kind in kinds.items()}
            if len(self._codes) > self._compiled:
                self._engine, self._compiled = self._compile(), len(self._codes)
        return codes

    def _code(self, kind: int) -> str:
        """The code of all characters of a kind, a number with one bit for each atom that matches them."""
        if kind not in self._codes:
            in_word = self._word is not None and kind >> self._word & 1
            code = "\n" if kind & 1 and self._multiline else next(self._new_codes[in_word], None)
            if code is None:
                raise _refusal(self.written, f"has `\\b` and more than {len(_WORD_CODES)} kinds of letters")
            self._codes[kind] = code
        return self._codes[kind]

    def _compile(self) -> Any:
        members = [""] * len(self._atoms)
        for kind, code in self._codes.items():
            escaped = f"\\x{{{ord(code):x}}}" + (r"\n" if kind & 1 else "")
            for number in range(len(members)):
                members[number] += escaped if kind >> number & 1 else ""
        classes = [f"[{each}]" if each else _NOTHING for each in members]
        options = re2.Options()
        options.log_errors, options.never_capture, options.max_mem = False, True, _MEMORY
        try:
            return re2.compile("".join(p if isinstance(p, str) else classes[p] for p in self._parts), options)
        except re2.error as error:
            reason = "is too large: at most 1,000 repetitions are allowed, multiplied where they nest"
            raise _refusal(self.written, reason) from error

    def _read(self, flags: int) -> Iterator[str | int]:
        """The pattern for RE2, with a number in place of each atom."""
        for token in _TOKEN.finditer(self.written):
            text = token[0]
            match token.lastgroup:
                case "refused":
                    part = f"sets flags for a part with `{text}`; set them for all of it, as in `(?i)`"
                    back = f"refers back to a group with `{text}`; write what may stand there"
                    raise _refusal(self.written, _REFUSED.get(text, part if text[-1] == ":" else back))
                case "group":
                    yield "(?:"
                case "greed" if token["greed"] == "+":
                    raise _refusal(self.written, f"has a possessive repetition `{text}`; write `{text[:-1]}`")
                case "greed":
                    yield text.replace("{,", "{0,")
                case "plain":
                    yield "(?m:^)" if text == "^" and self._multiline else _PLAIN[text]
                case "atom":
                    yield self._number(text, flags & (re.IGNORECASE | re.DOTALL | re.ASCII))
                case _:
                    pass  # A comment, or flags.

    def _number(self, atom: str, flags: int) -> int:
        return self._atoms.setdefault(re.compile(atom, flags), len(self._atoms))


def _read_flags(written: str) -> int:
    """The flags of the whole pattern, if `re` accepts it."""
    if len(written) > LONGEST_PATTERN:
        raise _refusal(written, f"has {len(written):,} characters; at most {LONGEST_PATTERN:,} are allowed")
    if written.count("[") > MOST_CLASSES:
        raise _refusal(written, f"has {written.count('[')} `[`; at most {MOST_CLASSES} are allowed")
    try:
        flags = re.compile(written).flags
    except (re.error, ValueError, OverflowError, RecursionError) as error:
        raise _refusal(written, f"is not a regular expression: {error}") from error
    if flags & re.VERBOSE:
        raise _refusal(written, "has the flag `x`; write it without the spaces and comments")
    return flags


@lru_cache(maxsize=128)
def compile_pattern(written: str) -> UserPattern:
    """Raises PatternRefused."""
    return UserPattern(written)


def pattern_fault(written: str) -> str:
    """What is wrong with a pattern; empty if nothing is."""
    try:
        compile_pattern(written)
    except PatternRefused as error:
        return str(error)
    return ""
