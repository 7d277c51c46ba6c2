"""Reading the small languages of options: `key:value` and the like."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click
import msgspec

from howsure.errors import ConfigInvalid
from howsure.model.profile import Normalization
from howsure.policies.gate_reading import read_gates
from howsure.services.paths import lasting

LONGEST = 36_500
"""Days."""
MOST = 1_000_000_000
"""What can be asked for at once: a larger number is no number of a database."""
MOST_REPEATS = 100_000
"""Tries of one case. A plan of more would not fit into memory before anybody is told."""


def read(reader: Callable[[Any, str], Any]) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """A click callback that reads an option's text with `reader`; what it refuses is a usage error."""

    def callback(_: click.Context, parameter: click.Parameter, value: Any) -> Any:
        try:
            return reader(value, parameter.opts[0])
        except ConfigInvalid as error:
            raise click.UsageError(str(error)) from error

    return callback


def names(text: str | None, option: str) -> tuple[str, ...] | None:
    """`a,b`; None: not said."""
    if text is None:
        return None
    found = tuple(name.strip() for name in text.split(",") if name.strip())
    if not found:
        raise ConfigInvalid(f"{option} expects names, not {text!r}")
    return found


def text(given: str | None, option: str) -> str | None:
    """Text that can be stored, whatever bytes were typed. Not for paths: these must stay as they are."""
    return None if given is None else lasting(given)


def texts(given: Iterable[str], option: str) -> tuple[str, ...]:
    return tuple(map(lasting, given))


def gates(given: Iterable[str], option: str) -> tuple[str, ...]:
    """Gates that can be read."""
    return tuple(gate.expression for gate in read_gates(texts(given, option)))


def share(text: str | None, option: str) -> float | None:
    """`5%` or `0.05`."""
    if text is None:
        return None
    number = text.strip().removesuffix("%")
    try:
        return float(number) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        raise ConfigInvalid(f"{option} expects a share such as 5% or 0.05, not {text!r}") from None


def days(given: float | None, option: str) -> float | None:
    """How long something holds; None: for ever. What ends after the last day that a calendar has is refused."""
    if given is not None and not 0 < given <= LONGEST:
        raise ConfigInvalid(f"{option} expects a number of days, more than 0 and up to {LONGEST}, not {given:g}")
    return given


def whole_numbers(text: str, option: str) -> tuple[int, ...]:
    """`1,3,5`."""
    try:
        return tuple(int(number) for number in text.split(","))
    except ValueError:
        raise ConfigInvalid(f"{option} expects whole numbers such as 1,3,5, not {text!r}") from None


def normalization(text: str | None, option: str) -> Normalization | None:
    known = {each.value: each for each in Normalization}
    if text is not None and text not in known:
        raise ConfigInvalid(f"{option} expects {' or '.join(known)}, not {text!r}")
    return None if text is None else known[text]


def split(text: str, option: str) -> tuple[str, str]:
    key, colon, value = lasting(text).partition(":")
    if not colon or not key.strip():
        raise ConfigInvalid(f"{option} expects KEY:VALUE, not {text!r}")
    return key.strip(), value.strip()


def pairs(texts: Iterable[str], option: str) -> dict[str, Any]:
    """`key:value`; a value that is JSON is read as such, any other is text."""
    return {key: _value(value) for key, value in (split(text, option) for text in texts)}


def _value(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def values_by_key(texts: Iterable[str], option: str) -> dict[str, tuple[str, ...]]:
    """`key:a,b`: any of the values; the same key again adds to them."""
    wanted: dict[str, tuple[str, ...]] = {}
    for text in texts:
        key, values = split(text, option)
        wanted[key] = wanted.get(key, ()) + tuple(value.strip() for value in values.split(","))
    return wanted
