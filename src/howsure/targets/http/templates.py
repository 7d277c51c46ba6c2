"""Request templates and JSON paths of an HTTP target's settings.

A template is any JSON value with placeholders in it, filled in one pass, so that a user's text is never taken for a
placeholder. A path is `choices[0].message.content`, `events[*].text`, `data['odd key'].value`, or `$` for the whole;
one that ends in `?` may lead nowhere, any other that does is an error that says what was there instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from enum import Enum
from functools import cached_property
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct

from howsure.errors import TargetFailed
from howsure.targets.answer_parts import describe_value, list_names

PARTS = ("context", "documents", "choices")
"""What belongs to the user's words. A part that a template places itself is left out of the message."""
CANDIDATE, STATE = "candidate", "state"
PLACEHOLDERS = ("message", "prompt", *PARTS, "session_id", "case_id", "history", "messages", STATE, "turn", CANDIDATE)
"""What a bot may be sent; `ConversationState.next_turn` gives them."""
ADDRESS = "%/:?#[]@!$&'()*+,;="
SIMPLE = ("session_id", "case_id", "turn", CANDIDATE)
"""The placeholders that fit into an address or a header."""

# `${NAME}` is of the environment, `{{name}}` is the text `{name}`, `{name}` a placeholder, and `{state.key}` one value
# of it. Other braces are themselves.
_MARK = re.compile(r"\$\{(?P<variable>\w+)\}|\{\{(?P<literal>\w+)\}\}|\{(?P<name>[A-Za-z_]\w*(?:\.\w+)?)\}")


class Slot(Struct, frozen=True):
    """The place of a value."""

    name: str


class TextTemplate(Struct, frozen=True, dict=True):
    """A text with slots in it. A text that is one slot takes the value as it is, of any type."""

    parts: tuple[str | Slot, ...]

    def fill(self, values: Mapping[str, Any]) -> Any:
        return placed_value(values, self._alone) if self._alone else self.render(values)

    @cached_property
    def _alone(self) -> str:
        """The name of the slot, where the text is one slot."""
        return self.parts[0].name if len(self.parts) == 1 and isinstance(self.parts[0], Slot) else ""

    @cached_property
    def _fixed(self) -> str | None:
        """The whole address, where it has no slots."""
        return "".join(self._quoted({})) if all(isinstance(part, str) for part in self.parts) else None

    def render(self, values: Mapping[str, Any]) -> str:
        return "".join(
            part if isinstance(part, str) else as_text(placed_value(values, part.name)) for part in self.parts
        )

    def address(self, values: Mapping[str, Any]) -> str:
        """The text as an address: values are quoted, so that they cannot leave their place."""
        return "".join(self._quoted(values)) if self._fixed is None else self._fixed

    def _quoted(self, values: Mapping[str, Any]) -> Iterator[str]:
        for part in self.parts:
            yield (
                quote(part, safe=ADDRESS)
                if isinstance(part, str)
                else quote(as_text(placed_value(values, part.name)), safe="")
            )


class TemplateCompiler:
    """Compiles templates, and collects their problems, their secrets and the placeholders that they have."""

    def __init__(self, environ: Mapping[str, str], problem: Callable[[str, str], None]) -> None:
        self._environ = environ
        self._problem = problem
        self.secrets: list[str] = []
        self.placed: set[str] = set()

    def value(self, given: Any, field: str, allowed: Collection[str] = PLACEHOLDERS) -> Any:
        """The template of any JSON value: texts become `TextTemplate`, everything else stays."""
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

    def text(self, given: str, field: str, allowed: Collection[str] = PLACEHOLDERS) -> TextTemplate:
        parts: list[str | Slot] = []
        end = 0
        for mark in _MARK.finditer(given):
            _append(parts, given[end : mark.start()])
            _append(parts, self._part(mark, field, allowed))
            end = mark.end()
        _append(parts, given[end:])
        return TextTemplate(tuple(parts) or ("",))

    def _part(self, mark: re.Match[str], field: str, allowed: Collection[str]) -> str | Slot:
        if mark["literal"]:
            return f"{{{mark['literal']}}}"
        if name := mark["variable"]:
            value = self._environ.get(name, "")
            if not value.strip():
                self._problem(field, f"the environment variable {name} is not set")
                return ""
            self.secrets.append(value)
            return value
        whole, _, key = mark["name"].partition(".")
        if whole not in allowed or (key and whole != STATE):
            known = ", ".join(f"{{{name}}}" for name in allowed)
            hint = f"write {{{{{mark['name']}}}}} for that text itself"
            self._problem(field, f"{{{mark['name']}}} is not known here; known: {known} ({hint})")
        self.placed.add(whole)
        return Slot(mark["name"])


def placed_value(values: Mapping[str, Any], name: str) -> Any:
    """The value of a placeholder; of `state.key` one value of the state."""
    whole, _, key = name.partition(".")
    if not key:
        return values[name]
    if key not in values[whole]:
        raise TargetFailed(f"{{{name}}}: the state has no {key!r}; it has: {', '.join(values[whole]) or 'nothing'}")
    return values[whole][key]


def fill_template(template: Any, values: Mapping[str, Any]) -> Any:
    """The template with these values in it."""
    kind = type(template)
    if kind is TextTemplate:
        return template.fill(values)
    if kind is dict:
        return {name: fill_template(inner, values) for name, inner in template.items()}
    return [fill_template(inner, values) for inner in template] if kind is list else template


def as_text(value: Any) -> str:
    """A value inside a longer text: lists and objects as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _append(parts: list[str | Slot], part: str | Slot) -> None:
    """Neighbouring texts become one."""
    if isinstance(part, str) and parts and isinstance(parts[-1], str):
        parts[-1] += part
    elif part != "":
        parts.append(part)


class PathNotFound(ValueError):
    """The value has nothing at this path."""


class Every(Enum):
    """The step to every entry of a list."""

    ENTRY = "*"


Step = str | int | Every

_STEP = re.compile(
    r"""\[(?P<index>-?\d+)\] | \[(?P<every>\*)\] | \[(?P<quote>['"])(?P<quoted>.+?)(?P=quote)\]
    | \.?(?P<key>[^.\[\]'"\s?*][^.\[\]'"?*]*)""",
    re.VERBOSE,
)


class JsonPath(Struct, frozen=True):
    """A parsed path."""

    text: str
    steps: tuple[Step, ...]
    optional: bool = False

    @property
    def several(self) -> bool:
        return Every.ENTRY in self.steps

    def find(self, value: Any) -> Any:
        """The value at the path; a list where the path has a `[*]`; None where it is optional and leads nowhere."""
        try:
            return self.follow(value)
        except PathNotFound:
            if self.optional:
                return None
            raise

    def follow(self, value: Any) -> Any:
        """The value at the path; raises `PathNotFound` for optional paths, too."""
        return _follow_steps(value, self.steps, 0, self)


def parse_path(text: str) -> JsonPath:
    """Parse a path; `ValueError` says what is wrong with it."""
    stripped = text.strip()
    optional = stripped.endswith("?")
    rest = stripped.removesuffix("?").strip()
    rest = rest.removeprefix("$") if rest[:2] in ("$", "$.", "$[") else rest
    steps: list[Step] = []
    place = 0
    while place < len(rest):
        match = _STEP.match(rest, place)
        if match is None:
            raise ValueError(f"not a path: {text!r} breaks off at {rest[place:]!r}; expected one such as a.b[0].c")
        if match["index"] is not None:
            steps.append(int(match["index"]))
        elif match["every"] is not None:
            steps.append(Every.ENTRY)
        else:
            steps.append(match["quoted"] if match["quoted"] is not None else match["key"].strip())
        place = match.end()
    if not stripped.startswith("$") and not steps:
        raise ValueError("an empty path; write `$` for the whole")
    return JsonPath(stripped, tuple(steps), optional)


def _follow_steps(value: Any, steps: tuple[Step, ...], at: int, path: JsonPath) -> Any:
    for place in range(at, len(steps)):
        step = steps[place]
        match step:
            case Every():
                return _every(value, steps, place, path)
            case str() if isinstance(value, Mapping) and step in value:
                value = value[step]
            case int() if isinstance(value, list) and -len(value) <= step < len(value):
                value = value[step]
            case _:
                raise PathNotFound(_not_found_message(value, steps, place, path))
    return value


def _every(value: Any, steps: tuple[Step, ...], place: int, path: JsonPath) -> list[Any]:
    """The values of every entry that has the rest of the path: entries of a list may differ in kind."""
    if not isinstance(value, list):
        raise PathNotFound(_not_found_message(value, steps, place, path))
    values: list[Any] = []
    missed: PathNotFound | None = None
    for entry in value:
        try:
            one = _follow_steps(entry, steps, place + 1, path)
        except PathNotFound as error:
            missed = missed or error
            continue
        values += one if Every.ENTRY in steps[place + 1 :] else [one]
    if missed is not None and not values:
        raise missed
    return values


def _not_found_message(value: Any, steps: tuple[Step, ...], place: int, path: JsonPath) -> str:
    until = "".join(map(_written, steps[:place]))
    where = f"under `{until.lstrip('.')}`" if until else "at the top"
    there = f"a list of {len(value)}" if isinstance(value, list) else describe_value(value)
    if isinstance(value, Mapping):
        there = f"an object with the keys {list_names(list(value))}"
    return f"`{path.text}` leads nowhere: {where} there is {there}, and no `{_written(steps[place]).lstrip('.')}`"


def _written(step: Step) -> str:
    if isinstance(step, str):
        return f".{step}"
    return "[*]" if step is Every.ENTRY else f"[{step}]"
