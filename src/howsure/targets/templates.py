"""Request templates: any JSON value with placeholders in it. Filled in one pass, so that what a user says is never
taken for a placeholder itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct

PLACEHOLDERS = ("message", "session_id", "case_id", "history", "messages", "state", "turn", "candidate", "context")
"""What a bot may be sent; `conversations.Conversation.values` gives them."""
ADDRESS = "%/:?#[]@!$&'()*+,;="
SIMPLE = ("session_id", "case_id", "turn", "candidate")
"""Those that fit into an address or a header."""

# `${NAME}` is of the environment, `{{name}}` is the text `{name}`, `{name}` a placeholder. Other braces are themselves.
_MARK = re.compile(r"\$\{(?P<variable>\w+)\}|\{\{(?P<literal>\w+)\}\}|\{(?P<name>[A-Za-z_]\w*)\}")


class Slot(Struct, frozen=True):
    """The place of a value."""

    name: str


class Text(Struct, frozen=True, dict=True):
    """A text with slots in it; a single slot alone takes the value as it is."""

    parts: tuple[str | Slot, ...]

    def fill(self, values: Mapping[str, Any]) -> Any:
        return values[self._alone] if self._alone else self.written(values)

    @cached_property
    def _alone(self) -> str:
        """The name of the only part, where that is a slot."""
        return self.parts[0].name if len(self.parts) == 1 and isinstance(self.parts[0], Slot) else ""

    @cached_property
    def _fixed(self) -> str | None:
        """The whole address, where nothing is filled in."""
        return "".join(self._quoted({})) if all(isinstance(part, str) for part in self.parts) else None

    def written(self, values: Mapping[str, Any]) -> str:
        return "".join(part if isinstance(part, str) else as_text(values[part.name]) for part in self.parts)

    def address(self, values: Mapping[str, Any]) -> str:
        """An address: what is filled in cannot leave its place, and no sign is left that addresses may not have."""
        return "".join(self._quoted(values)) if self._fixed is None else self._fixed

    def _quoted(self, values: Mapping[str, Any]) -> Iterator[str]:
        for part in self.parts:
            yield quote(part, safe=ADDRESS) if isinstance(part, str) else quote(as_text(values[part.name]), safe="")


class Compiler:
    """Reads templates; what is wrong with them, and which secrets they hold, is collected."""

    def __init__(self, environ: Mapping[str, str], problem: Callable[[str, str], None]) -> None:
        self._environ = environ
        self._problem = problem
        self.secrets: list[str] = []

    def value(self, given: Any, field: str, allowed: Collection[str] = PLACEHOLDERS) -> Any:
        """The template of any JSON value: texts become `Text`, everything else stays."""
        match given:
            case str():
                text = self.text(given, field, allowed)
                # Nothing to fill in: the text itself, so that filling has less to do.
                return text.parts[0] if len(text.parts) == 1 and isinstance(text.parts[0], str) else text
            case dict():
                return {name: self.value(inner, f"{field}.{name}", allowed) for name, inner in given.items()}
            case list():
                return [self.value(inner, f"{field}[{place}]", allowed) for place, inner in enumerate(given)]
            case _:
                return given

    def text(self, given: str, field: str, allowed: Collection[str] = PLACEHOLDERS) -> Text:
        parts: list[str | Slot] = []
        end = 0
        for mark in _MARK.finditer(given):
            _append(parts, given[end : mark.start()])
            _append(parts, self._part(mark, field, allowed))
            end = mark.end()
        _append(parts, given[end:])
        return Text(tuple(parts) or ("",))

    def _part(self, mark: re.Match[str], field: str, allowed: Collection[str]) -> str | Slot:
        if mark["literal"]:
            return f"{{{mark['literal']}}}"
        if name := mark["variable"]:
            return self._secret(name, field)
        if mark["name"] not in allowed:
            known = ", ".join(f"{{{name}}}" for name in allowed)
            hint = f"write {{{{{mark['name']}}}}} for that text itself"
            self._problem(field, f"{{{mark['name']}}} is not known here; known: {known} ({hint})")
        return Slot(mark["name"])

    def _secret(self, name: str, field: str) -> str:
        value = self._environ.get(name, "")
        if not value.strip():
            self._problem(field, f"the environment variable {name} is not set; set it, or put it into .env")
            return ""
        self.secrets.append(value)
        return value


def filled(template: Any, values: Mapping[str, Any]) -> Any:
    """The template with these values in it."""
    kind = type(template)
    if kind is Text:
        return template.fill(values)
    if kind is dict:
        return {name: filled(inner, values) for name, inner in template.items()}
    return [filled(inner, values) for inner in template] if kind is list else template


def as_text(value: Any) -> str:
    """A value inside a longer text: lists and objects as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _append(parts: list[str | Slot], part: str | Slot) -> None:
    """Neighbouring texts become one."""
    if isinstance(part, str) and parts and isinstance(parts[-1], str):
        parts[-1] += part
    elif part != "":
        parts.append(part)
