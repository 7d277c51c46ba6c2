"""Options that several commands share, and how the values of options are read: `key:value`, `5%`, `1,3,5`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import click
import msgspec

from howsure.dialects.plain_columns import check_map
from howsure.errors import ConfigInvalid
from howsure.model.expectation import AnswerMatch
from howsure.model.verdict import Normalization
from howsure.policies.gates import read_anytime_gate, read_gates
from howsure.services.files import clean_text

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
MAX_DAYS = 36_500
"""Days."""
MAX_LIMIT = 1_000_000_000
"""The largest number that a database takes."""
MAX_REPEATS = 100_000
"""Tries of one case: a plan of more would not fit into memory."""
ASK_ANEW = "Ask models again, without the cache."
no_cache_option = click.option("--no-cache", "cache", is_flag=True, default=True, flag_value=False, help=ASK_ANEW)


def option_callback(reader: Callable[[Any, str], Any]) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """A click callback that reads an option's text with `reader`; what it refuses is a usage error."""

    def callback(_: click.Context, parameter: click.Parameter, value: Any) -> Any:
        try:
            return reader(value, parameter.opts[0])
        except ConfigInvalid as error:
            raise click.UsageError(str(error)) from error

    return callback


def parsed_option(reader: Callable[[Any, str], Any], *names: str, **attributes: Any) -> Decorator:
    """`click.option` whose text is read with `reader`."""
    return click.option(*names, callback=option_callback(reader), **attributes)


def read_names(text: str | None, option: str) -> tuple[str, ...] | None:
    """`a,b`; None where the option was not given."""
    if text is None:
        return None
    found = tuple(name.strip() for name in text.split(",") if name.strip())
    if not found:
        raise ConfigInvalid(f"{option} expects names, not {text!r}")
    return found


def storable_text(text: str | None, option: str) -> str | None:
    """Text that can be stored, whatever bytes were typed. Not for paths: these must stay as they are."""
    return None if text is None else clean_text(text)


def read_target(values: tuple[str, ...], what: str) -> str | tuple[str, ...]:
    """One target as its text, several as they are."""
    return values if len(values) > 1 else "".join(values)


def storable_texts(texts: Iterable[str], option: str) -> tuple[str, ...]:
    return tuple(map(clean_text, texts))


def read_gate_expressions(given: Iterable[str], option: str) -> tuple[str, ...]:
    """Gates that can be read."""
    texts = storable_texts(given, option)
    return tuple(gate.expression for gate in read_gates(texts)) if texts else ()


def read_share(text: str | None, option: str) -> float | None:
    """`5%` or `0.05`."""
    if text is None:
        return None
    number = text.strip().removesuffix("%")
    try:
        return float(number) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        raise ConfigInvalid(f"{option} expects a share such as 5% or 0.05, not {text!r}") from None


def read_days(days: float | None, option: str) -> float | None:
    """How long something is valid; None: for ever. The end must be a day that the calendar has."""
    if days is not None and not 0 < days <= MAX_DAYS:
        raise ConfigInvalid(f"{option} expects a number of days, more than 0 and up to {MAX_DAYS}, not {days:g}")
    return days


def read_whole_numbers(text: str, option: str) -> tuple[int, ...]:
    """`1,3,5`."""
    try:
        return tuple(int(number) for number in text.split(","))
    except ValueError:
        raise ConfigInvalid(f"{option} expects whole numbers such as 1,3,5, not {text!r}") from None


def read_normalization(text: str | None, option: str) -> Normalization | None:
    known = {each.value: each for each in Normalization}
    if text is not None and text not in known:
        raise ConfigInvalid(f"{option} expects {' or '.join(known)}, not {text!r}")
    return None if text is None else known[text]


def read_match(text: str | None, option: str) -> AnswerMatch | None:
    known = {each.value: each for each in AnswerMatch}
    if text is not None and text not in known:
        raise ConfigInvalid(f"{option} expects {', '.join(known)}, not {text!r}")
    return None if text is None else known[text]


def read_map(texts: Iterable[str], option: str) -> dict[str, str]:
    """`input=question`."""
    pairs = [clean_text(text).partition("=") for text in texts]
    for role, sign, column in pairs:
        if not sign or not role.strip():
            raise ConfigInvalid(f"{option} expects ROLE=COLUMN such as input=question, not {role + sign + column!r}")
    found = {role.strip(): column.strip() for role, _, column in pairs}
    if found:
        check_map(found)
    return found


def map_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Which column of a plain table is what."""
    text = "For a plain table: this column is the input, expected, response, id … (repeatable; `expected=`: no column)."
    return parsed_option(read_map, "--map", "map", multiple=True, metavar="ROLE=COLUMN", help=text)(command)


SCOPES = ("app", "user", "temp")
SCOPED = re.compile(r"([A-Za-z_][\w.-]*)\s*:\s*(?!//)(.*)", re.DOTALL)
"""The rest of a key after a prefix, and the value; an address is a value."""


def split_pair(text: str, option: str) -> tuple[str, str]:
    key, colon, value = clean_text(text).partition(":")
    if not colon or not key.strip():
        raise ConfigInvalid(f"{option} expects KEY:VALUE, not {text!r}")
    return key.strip(), value.strip()


def read_pairs(texts: Iterable[str], option: str) -> dict[str, Any]:
    """`key:value`; a value that is JSON is read as such, any other is text. ADK's prefixes belong to the key:
    `app:season:winter`."""
    found: dict[str, Any] = {}
    for text in texts:
        key, value = split_pair(text, option)
        if key in SCOPES and (scoped := SCOPED.fullmatch(value)):
            key, value = f"{key}:{scoped[1]}", scoped[2]
        found[key] = _value(value)
    return found


def _value(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def read_values_by_key(texts: Iterable[str], option: str) -> dict[str, tuple[str, ...]]:
    """`key:a,b`: any of the values; the same key again adds to them."""
    found: dict[str, tuple[str, ...]] = {}
    for text in texts:
        key, values = split_pair(text, option)
        found[key] = found.get(key, ()) + tuple(value.strip() for value in values.split(","))
    return found


def judge_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """How the run is judged, at its start or when it is resumed."""
    for option in (
        click.option("--record-judge", default="", metavar="FILE", help="Append judge replies to FILE."),
        click.option("--trace", default="", metavar="FILE", help="Append every model call to FILE."),
        no_cache_option,
    ):
        command = option(command)
    return command


def engine_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--engine",
        type=click.Choice(["local", "ray"]),
        callback=lambda _, __, chosen: chosen or "",
        metavar="local|ray",
        help="Who makes the attempts: this machine (default), or a Ray cluster (docs/scale.md).",
    )(command)


def again_options(command: Callable[..., Any]) -> Callable[..., Any]:
    budget = click.option("--budget", default=None, metavar="AMOUNT", help="A new budget, for all of the run.")
    return gate_option(budget(engine_option(judge_options(command))))


def given_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """What was really said; the rest stays as the run has it pinned."""
    return {name: value for name, value in options.items() if value not in (None, "")}


def gate_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """The gates of a run."""
    text = "Hold the run to this (repeatable): pass_rate >= 0.9, p95_latency <= 3s, no_regression vs main by 2% …"
    option = parsed_option(read_gate_expressions, "--gate", "gates", multiple=True, metavar="EXPR", help=text)
    return option(command)


def labels_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """People's labels, which correct what the judge says."""
    text = "Correct the judge by people's labels: a file (repeatable), or `stored` for those of the database."
    return click.option("--labels", multiple=True, metavar="FILE|stored", help=text)(command)


def read_sure_gate(text: str | None, option: str) -> str:
    """A gate that can be decided by looking after every case."""
    return read_anytime_gate(clean_text(text)).expression if text else ""


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Where a run's results go."""
    quiet = click.option("--quiet", "-q", is_flag=True, help="No progress and no summary.")
    endings = "Also write .html .md .xml .csv .jsonl .parquet … (see `howsure report -h`)."
    output = click.option("--output", "-o", "outputs", multiple=True, metavar="FILE", help=endings)
    return output(quiet(command))


def worker_flags(context: click.Context) -> tuple[str, ...]:
    """The common options of this command that the processes which it starts need, too."""
    named = [(f"--{name}", context.params.get(name)) for name in ("database", "config")]
    plugins = [("--plugin", path) for path in context.params.get("plugins") or ()]
    flags = tuple(text for name, value in (*named, *plugins) if value for text in (name, str(value)))
    return flags + tuple(f"--{name.replace('_', '-')}" for name in ("no_config", "trust") if context.params.get(name))
