"""Paths into JSON: `choices[0].message.content`, `events[*].text`, `data['odd key'].value`, `$` for the whole. A path
that ends in `?` may lead nowhere; any other that does is an error which tells what was there instead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import Any

from msgspec import Struct

from howsure.targets.answers.fields import found, listed


class PathNotFound(ValueError):
    """The path leads nowhere in this value."""


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
    """A path, read once and followed often."""

    text: str
    steps: tuple[Step, ...]
    optional: bool = False

    @property
    def several(self) -> bool:
        return Every.ENTRY in self.steps

    def find(self, value: Any) -> Any:
        """What is there: a list where the path has a `[*]`. None where it may lead nowhere, and does."""
        try:
            return self.follow(value)
        except PathNotFound:
            if self.optional:
                return None
            raise

    def follow(self, value: Any) -> Any:
        """What is there; `PathNotFound` also for paths that may lead nowhere."""
        return _walked(value, self.steps, 0, self)


def parse_path(text: str) -> JsonPath:
    """The path in `text`; `ValueError` saying what is wrong with it."""
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
        steps.append(_step(match))
        place = match.end()
    if not stripped.startswith("$") and not steps:
        raise ValueError("an empty path; write `$` for the whole")
    return JsonPath(stripped, tuple(steps), optional)


def _step(match: re.Match[str]) -> Step:
    if match["index"] is not None:
        return int(match["index"])
    if match["every"] is not None:
        return Every.ENTRY
    return match["quoted"] if match["quoted"] is not None else match["key"].strip()


def _walked(value: Any, steps: tuple[Step, ...], at: int, path: JsonPath) -> Any:
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
                raise PathNotFound(_nowhere(value, steps, place, path))
    return value


def _every(value: Any, steps: tuple[Step, ...], place: int, path: JsonPath) -> list[Any]:
    """From every entry that has the rest of the path; entries of a list differ in kind, so that some lack it."""
    if not isinstance(value, list):
        raise PathNotFound(_nowhere(value, steps, place, path))
    given: list[Any] = []
    missed: PathNotFound | None = None
    for entry in value:
        try:
            one = _walked(entry, steps, place + 1, path)
        except PathNotFound as error:
            missed = missed or error
            continue
        given += one if Every.ENTRY in steps[place + 1 :] else [one]
    if missed is not None and not given:
        raise missed
    return given


def _nowhere(value: Any, steps: tuple[Step, ...], place: int, path: JsonPath) -> str:
    until = "".join(f"[{step.value}]" if isinstance(step, Every) else _written(step) for step in steps[:place])
    where = f"under `{until.lstrip('.')}`" if until else "at the top"
    there = f"an object with the keys {listed(list(value))}" if isinstance(value, Mapping) else _there(value)
    return f"`{path.text}` leads nowhere: {where} there is {there}, and no `{_written(steps[place]).lstrip('.')}`"


def _there(value: Any) -> str:
    return f"a list of {len(value)}" if isinstance(value, list) else found(value)


def _written(step: Step) -> str:
    match step:
        case Every():
            return "[*]"
        case int():
            return f"[{step}]"
        case str():
            return f".{step}"
