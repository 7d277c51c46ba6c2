"""A small scanner: takes what it expects from the front of a text, and says in which column it found something else."""

from __future__ import annotations

import re

from howsure.errors import ConfigInvalid

SPACE = re.compile(r"\s*")
NEXT = re.compile(r"\S+")


class Scanner:
    """`place` is where it has got to; spaces before what is taken do not count."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """What the pattern matches here, taken; None where it does not match."""
        found = pattern.match(self.text, self.here)
        if found is not None:
            self.place = found.end()
        return found

    def sees(self, sign: str) -> bool:
        return self.text.startswith(sign, self.here)

    def expect(self, pattern: re.Pattern[str], expected: str) -> re.Match[str]:
        found = self.take(pattern)
        if found is None:
            raise self.wrong(f"expected {expected}, found {self.rest()}")
        return found

    def rest(self) -> str:
        """The next word, for a message."""
        found = NEXT.match(self.text, self.here)
        return repr(found[0]) if found else "nothing more"

    def end(self) -> None:
        if self.here < len(self.text):
            raise self.wrong(f"expected the end, found {self.rest()}")

    def wrong(self, told: str, at: int | None = None) -> ConfigInvalid:
        """The error to raise, at the column reached unless another is named (both count from 1)."""
        column = (self.here if at is None else at) + 1
        return ConfigInvalid(f"gate {self.text!r}, column {column}: {told}")

    @property
    def here(self) -> int:
        """Where the next word begins."""
        found = SPACE.match(self.text, self.place)
        return found.end() if found else self.place
