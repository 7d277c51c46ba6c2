"""The fields of one benchmark record, taken out one by one. Problems are noted with their place; what is not taken is
kept as metadata, so nothing is lost.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from msgspec import UNSET, UnsetType

from howsure.dialects.attachments import attachment_problems
from howsure.dialects.problems import Spot, kind_of, shown, with_article
from howsure.dialects.strict_json import parse_json
from howsure.errors import Level, Problem
from howsure.model.case import Attachment
from howsure.model.expectation import Choice

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class RecordFields:
    """The fields of a record; `left` has those that were not taken yet."""

    def __init__(self, row: Mapping[str, Any], spot: Spot) -> None:
        self.left: dict[str, Any] = dict(row)
        self.spot = spot
        self.problems: list[Problem] = []

    @property
    def sound(self) -> bool:
        return not any(problem.level is Level.ERROR for problem in self.problems)

    def wrong(
        self, field: str, code: str, message: str, *, expected: str = "", found: str = "", hint: str = ""
    ) -> None:
        self.wrong_at((field,) if field else (), code, message, expected=expected, found=found, hint=hint)

    def wrong_at(self, path: tuple[str | int, ...], code: str, message: str, **details: str) -> None:
        self.problems.append(self.spot.below(*path).problem(code, message, **details))

    def text(self, name: str) -> str:
        """A required text."""
        if name not in self.left:
            self.wrong(name, "missing-field", f"`{name}` is required", expected=name, found=", ".join(self.left))
            return ""
        text = self.optional(name)
        if not text and (not self.problems or self.problems[-1].field != self.spot.below(name).prefix):
            self.wrong(name, "empty", "must not be empty", expected="a text", found=shown(text))
        return text

    def optional(self, name: str) -> str:
        """An optional text or number, stripped."""
        raw = self.left.pop(name, None)
        if raw is None or isinstance(raw, str):
            return (raw or "").strip()
        if isinstance(raw, int | float) and not isinstance(raw, bool):
            return str(int(raw) if isinstance(raw, float) and raw.is_integer() else raw)
        self.wrong(
            name,
            "wrong-type",
            f"must be a text, not {with_article(kind_of(raw))}",
            expected="string",
            found=shown(raw),
        )
        return ""

    def structured(self, name: str, kind: type) -> Any:
        """An object or a list: as it is, as JSON text, or as Python prints it. None, and a problem, where it is
        neither."""
        expected_kind = kind_of(kind())
        if name not in self.left:
            self.wrong(
                name, "missing-field", f"`{name}` is required", expected=expected_kind, found=", ".join(self.left)
            )
            return None
        raw = self.left.pop(name)
        value = self._read(name, raw) if isinstance(raw, str) else raw
        if value is not None and not isinstance(value, kind):
            message = f"must be {with_article(expected_kind)}, not {with_article(kind_of(value))}"
            self.wrong(name, "wrong-type", message, expected=expected_kind, found=shown(raw))
        elif raw is None:
            self.wrong(
                name,
                "wrong-type",
                f"must be {with_article(expected_kind)}, not null",
                expected=expected_kind,
                found="null",
            )
        return value if isinstance(value, kind) else None

    def _read(self, name: str, text: str) -> Any:
        stripped = text.strip()
        printed = _printed(stripped) if stripped.startswith(("['", "{'")) else None
        if printed is not None:
            return printed
        value, problems = parse_json(stripped.encode("utf-8", "surrogatepass"), file=self.spot.file, line=None)
        if not problems:
            return value
        printed = _printed(stripped)
        if printed is None:
            expected, hint = "JSON, or a Python literal", problems[0].hint
            message = f"cannot be read: {problems[0].message}"
            self.wrong(name, problems[0].code, message, expected=expected, found=shown(text), hint=hint)
        return printed

    def place(self, name: str, count: int) -> int | None:
        """A position in a list of `count`, counted from 0."""
        if name not in self.left:
            self.wrong(name, "missing-field", f"`{name}` is required", expected=f"0 to {count - 1}")
            return None
        raw = self.left.pop(name)
        number = whole(raw)
        if number is None or not 0 <= number < count:
            message = "points at no choice" if number is not None else "must be a whole number"
            code = "unknown-correct-id" if number is not None else "wrong-type"
            self.wrong(name, code, message, expected=f"0 to {count - 1}", found=shown(raw))
            return None
        return number

    def weight(self, name: str = "weight") -> float | UnsetType:
        """A number, also as text. A weight in words stays among the notes, because its size is unknown."""
        raw = self.left.get(name)
        if is_empty(raw):
            return UNSET
        number = _number(raw)
        if number is None:
            message = "the weight is no number; the criterion counts as one without a weight"
            self.problems.append(self.spot.below(name).warning("weight-in-words", message, found=shown(raw)))
            return UNSET
        del self.left[name]
        return number

    def attachments(self, names: Iterable[str]) -> tuple[Attachment, ...]:
        """Documents by their paths, which must be inside the folder of the file."""
        attachments: list[Attachment] = []
        for name in names:
            for path in _paths(self.left.pop(name, None)):
                spot = self.spot.below(name)
                self.problems += attachment_problems(path, Path(self.spot.file).parent, spot)
                attachments.append(Attachment(path=path, kind="pdf" if path.lower().endswith(".pdf") else "file"))
        return tuple(attachments)

    def metadata(self, policy: str = "", **ours: Any) -> dict[str, Any]:
        """What is left, and `ours`, without empty values."""
        remaining = {name: value for name, value in self.left.items() if not is_empty(value)}
        added = {name: value for name, value in ours.items() if not is_empty(value)}
        return {**remaining, **added, **({"policy_id": policy} if policy else {})}


def is_empty(value: Any) -> bool:
    return value is None or value in ("", [], {}) or (isinstance(value, float) and not isfinite(value))


def _number(raw: Any) -> float | None:
    try:
        number = float(raw) if isinstance(raw, str | int | float) and not isinstance(raw, bool) else None
    except (ValueError, OverflowError):
        return None
    return number if number is not None and isfinite(number) else None


def whole(raw: Any) -> int | None:
    """A whole number, also as text or as a float; None where it is not one."""
    number = _number(raw)
    return int(number) if number is not None and number.is_integer() else None


def lettered(texts: Sequence[str]) -> tuple[Choice, ...]:
    """A to Z, then CHOICE_26 and so on."""
    return tuple(Choice(id=choice_id(place), text=text) for place, text in enumerate(texts))


def choice_id(place: int) -> str:
    return LETTERS[place] if place < len(LETTERS) else f"CHOICE_{place}"


def _printed(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _paths(raw: Any) -> list[str]:
    """One path, several on lines of their own, or a list of them."""
    paths = raw if isinstance(raw, list) else str(raw or "").splitlines()
    return [path.strip() for path in paths if isinstance(path, str) and path.strip()]
