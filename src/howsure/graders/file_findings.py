"""What is wrong with a file of evals, gathered while it is read: all of it, each with its field and, if known, line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from howsure.errors import DatasetInvalid, Level, Problem

Path = tuple[str | int, ...]

SHOWN = 60


class Findings:
    """The problems of one file. `lines` are those on which the values at these paths start."""

    def __init__(self, file: str, lines: Mapping[Path, int] | None = None) -> None:
        self.file = file
        self.lines = lines or {}
        self.found: list[Problem] = []

    def add(
        self,
        code: str,
        path: Path,
        message: str,
        *,
        expected: str = "",
        found: str = "",
        hint: str = "",
        level: Level = Level.ERROR,
    ) -> None:
        self.found.append(
            Problem(
                code=code,
                message=message,
                file=self.file,
                line=self.line_of(path),
                field=field_at(path),
                expected=expected,
                found=found,
                hint=hint,
                level=level,
            )
        )

    def wrong(self, path: Path, expected: str, value: Any) -> None:
        """A value of the wrong kind."""
        self.add("wrong-type", path, f"must be {expected}", expected=expected, found=shown(value))

    def unknown(self, path: Path, known: Iterable[str], what: str, level: Level = Level.ERROR) -> None:
        """A field that nobody reads."""
        known = list(known)
        name = str(path[-1])
        self.add(
            "unknown-field",
            path,
            f"`{name}` is not a field of {what}",
            expected=", ".join(known),
            found=name,
            hint=close_to(name, known),
            level=level,
        )

    def line_of(self, path: Path) -> int | None:
        """The line of the value; of what holds it where it is not there itself."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path)

    @property
    def errors(self) -> list[Problem]:
        return [problem for problem in self.found if problem.level is Level.ERROR]

    @property
    def warnings(self) -> list[Problem]:
        return [problem for problem in self.found if problem.level is Level.WARNING]

    def refuse(self) -> None:
        """Every error at once, or nothing."""
        if self.errors:
            raise DatasetInvalid(self.file, self.errors)


def field_at(path: Path) -> str:
    """`evals[2].scale.max`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def close_to(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(name, list(known), n=1)
    return f"did you mean `{close[0]}`?" if close else ""
