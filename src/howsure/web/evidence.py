"""What judges quote, found again in what was said: every quote has a number, and the stretch of text that it is about
carries the same. Spaces and case may differ; what cannot be found is said to be missing, never dropped."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct

LONGEST = 2000
AROUND = "\"'“”‘’«»… "


class Piece(Struct, frozen=True):
    """A stretch of text; `numbers` are those of the quotes it is part of. `anchors`: of those that begin here first."""

    text: str
    numbers: tuple[int, ...] = ()
    anchors: tuple[int, ...] = ()


class Quote(Struct, frozen=True):
    """Words a judge points at; `found`: whether they are in the talk."""

    number: int
    text: str
    found: bool


class Numbering:
    """Gives every quote its number, once, and knows where in these texts it is."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._numbers: dict[str, int] = {}
        self._patterns: dict[int, re.Pattern[str]] = {}
        self._found: dict[int, bool] = {}
        self._placed: set[int] = set()

    def quote(self, text: str) -> Quote:
        known = self._numbers.get(text)
        if known is None:
            known = self._numbers[text] = len(self._numbers) + 1
            pattern = pattern_of(text)
            if pattern is not None and any(pattern.search(each) for each in self._texts):
                self._patterns[known] = pattern
        return Quote(known, text, known in self._patterns)

    def pieces(self, text: str) -> tuple[Piece, ...]:
        """The text in stretches, each with the numbers of the quotes over it."""
        spans = [
            (found.start(), found.end(), number)
            for number, pattern in self._patterns.items()
            for found in pattern.finditer(text)
            if found.end() > found.start()
        ]
        edges = sorted({0, len(text), *(edge for start, end, _ in spans for edge in (start, end))})
        return tuple(self._piece(text[start:end], start, end, spans) for start, end in pairwise(edges))

    def _piece(self, text: str, start: int, end: int, spans: Sequence[tuple[int, int, int]]) -> Piece:
        numbers = tuple(sorted({number for low, high, number in spans if low <= start and end <= high}))
        new = tuple(number for number in numbers if number not in self._placed)
        self._placed.update(new)
        return Piece(text, numbers, new)


def pattern_of(quote: str) -> re.Pattern[str] | None:
    """Finds the words of a quote, however they are spaced; None for a quote without words."""
    words = quote[:LONGEST].strip(AROUND).split()
    return re.compile(r"\s+".join(map(re.escape, words)), re.IGNORECASE) if words else None
