"""Settings: `howsure.yaml`, then the environment, then flags; the later wins. Every config-time check is here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from enum import Enum
from math import isfinite
from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec import Struct, field
from msgspec.structs import fields, replace

from howsure.errors import ConfigInvalid
from howsure.model.llm_settings import CallSettings, RateLimits, RetryLimits, rate_problems
from howsure.model.verdict import Normalization, Profile

FILE = "howsure.yaml"
DATABASE = ".howsure/howsure.db"
FORMER_FILES = {"assay.yaml": FILE, ".assay": ".howsure"}
"""What the files of a folder were called under the product's former name."""


class ProfileSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One profile under `profiles:`; `extends` takes over what is not set here from another one."""

    extends: str = ""
    marks: dict[str, float] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)
    hard_fails: dict[str, float] = field(default_factory=dict)
    composite_mark: float | None = None
    normalization: Normalization | None = None


class PanelRule(Enum):
    """How the rulings of a panel become one. `ROUND_ROBIN` is no ensemble: one member rules on each criterion."""

    MAJORITY = "majority"
    MEAN = "mean"
    UNANIMOUS = "unanimous"
    ROUND_ROBIN = "round_robin"


class PanelSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`panel:`, the judge of `--judge panel`. Members are judges as `--judge` takes them. Each is asked `votes` times
    where its first value is within `near` of the pass mark; without `near`, always. `settings` are those of a member,
    by its name in `members`, in place of `judge_settings`."""

    members: tuple[str, ...]
    rule: PanelRule = PanelRule.MAJORITY
    votes: int = 1
    near: float | None = None
    settings: dict[str, CallSettings] = field(default_factory=dict)


class Engine(Enum):
    """Who makes the attempts of a run: this machine, or a Ray cluster."""

    LOCAL = "local"
    RAY = "ray"


class ClusterSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`cluster:`, for `engine: ray`. Without an `address` (`auto`, `host:port`, `ray://…`) RAY_ADDRESS is used, or a
    cluster on this machine. `env` names variables that go to the workers in Ray's runtime environment. A shard has
    `shard` attempts (0: what fits the run) and asks for `resources` (num_cpus, num_gpus, memory, or your own), and for
    those that `needs` says of its target and graders, by name."""

    address: str = ""
    env: tuple[str, ...] = ()
    shard: int = 0
    resources: dict[str, float] = field(default_factory=dict)
    needs: dict[str, dict[str, float]] = field(default_factory=dict)


class ServiceSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`service:`, what `howsure serve` and `howsure worker` may do for those who ask. `target` is used where a request
    names none, `bots` says which target reaches which agent; both are names under `targets:`. `judges` may be asked for
    besides the default; `hosts` are those that requests may send the service to (names, addresses or networks).
    `bot_service` is where descriptions of agents are fetched that nobody wrote here, with `{id}` in its place. `https`:
    people reach the pages over TLS alone, so that their cookies travel no other way."""

    target: str = ""
    bots: dict[str, str] = field(default_factory=dict)
    judges: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    bot_service: str = ""
    bot_service_key: str = ""
    runs: int = 4
    runs_per_agent: int = 2
    largest_body: int = 64 * 1024 * 1024
    origins: tuple[str, ...] = ()
    host_names: tuple[str, ...] = ()
    https: bool = False


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `howsure.yaml` may say. Paths in it are relative to its folder; a contract is a JSON Schema or its path;
    prices are in USD for a million tokens."""

    database: str = ""
    judge: str = ""
    max_concurrency: int = 8
    attempt_seconds: float = 120.0
    plugins: tuple[str, ...] = ()
    profiles: dict[str, ProfileSettings] = field(default_factory=dict)
    contracts: dict[str, dict[str, Any] | str] = field(default_factory=dict)
    evals: tuple[str, ...] = ()
    prices: dict[str, dict[str, float]] = field(default_factory=dict)
    panel: PanelSettings | None = None
    targets: dict[str, dict[str, Any]] = field(default_factory=dict)
    simulator: str = ""
    simulator_settings: CallSettings = CallSettings()
    turn_seconds: float | None = None
    case_seconds: float | None = None
    judge_settings: CallSettings = CallSettings()
    target_settings: CallSettings = CallSettings()
    batch_criteria: bool = False
    images: bool = True
    rates: dict[str, RateLimits] = field(default_factory=dict)
    retry: RetryLimits = RetryLimits()
    gates: tuple[str, ...] = ()
    service: ServiceSettings = ServiceSettings()
    engine: Engine = Engine.LOCAL
    cluster: ClusterSettings = ClusterSettings()


def load(folder: Path, environ: Mapping[str, str], file: Path | None = None) -> Settings:
    """The settings that hold in `folder`. An explicit `file` must exist; `howsure.yaml` need not."""
    path = file or folder / FILE
    there = _is_there(path)
    if file is not None and not there:
        raise ConfigInvalid(f"{path}: no such configuration file")
    settings = _checked(_read(path), path) if there else Settings()
    if url := environ.get("HOWSURE_DATABASE_URL"):
        settings = replace(settings, database=url)
    if judge := environ.get("HOWSURE_JUDGE"):
        settings = replace(settings, judge=judge)
    return settings


def former_files(folder: Path) -> str:
    """One sentence where a folder holds files of the product's former name, which are not read; "" where it does
    not."""
    moves = [f"{old} to {new}" for old, new in FORMER_FILES.items() if (folder / old).exists()]
    return f"Files of the product's former name are not read: rename {' and '.join(moves)}." if moves else ""


def _is_there(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError as error:
        raise ConfigInvalid(
            f"{path.parent} cannot be looked into ({error.strerror}): work in a folder that you may read and enter"
        ) from error


def _read(path: Path) -> dict[str, Any]:
    try:
        value = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except yaml.YAMLError as error:
        raise ConfigInvalid(f"{path}: not readable as YAML: {error}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigInvalid(f"{path}: cannot be read: {error}") from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ConfigInvalid(f"{path}: expected settings by name, found {type(value).__name__}")
    return value


def _checked(given: dict[str, Any], path: Path) -> Settings:
    """Every wrong setting in one error, not the first only."""
    wrong: list[str] = []
    right: dict[str, Any] = {}
    known = {each.name: each.type for each in fields(Settings)}
    for name, value in given.items():
        if name not in known:
            wrong.append(f"`{name}` is not a setting; known: {', '.join(known)}")
            continue
        try:
            right[name] = msgspec.convert(value, known[name])
        except msgspec.ValidationError as error:
            wrong.append(f"`{name}`: {error}")
    if right.get("max_concurrency", 1) < 1:
        wrong.append(f"`max_concurrency`: expected 1 or more, found {right['max_concurrency']}")
    wrong += [
        f"`{name}`: expected more than 0, found {seconds}"
        for name in ("attempt_seconds", "turn_seconds", "case_seconds")
        if (seconds := right.get(name)) is not None and not seconds > 0
    ]
    for name, profile in right.get("profiles", {}).items():
        wrong += _endless(name, profile)
    if panel := right.get("panel"):
        wrong += _panel_problems(panel)
    wrong += _call_problems(right)
    wrong += _cluster_problems(right.get("cluster", ClusterSettings()))
    wrong += [
        f"`targets.{name}`: the name has a meaning of its own in --target; choose another"
        for name in right.get("targets", ())
        if name in ("", "recorded", "replay") or name.startswith("replay:")
    ]
    if wrong:
        raise ConfigInvalid(f"{path}: " + "; ".join(wrong))
    return Settings(**right)


def _endless(name: str, profile: ProfileSettings) -> Iterator[str]:
    """Marks and weights must be numbers that something can be held to."""
    groups = {"marks": profile.marks, "weights": profile.weights, "hard_fails": profile.hard_fails}
    groups["composite_mark"] = {"": profile.composite_mark or 0.0}
    for group, numbers in groups.items():
        for grader, number in numbers.items():
            if not isfinite(number):
                place = ".".join(part for part in ("profiles", name, group, grader) if part)
                yield f"`{place}`: expected a finite number, found {number}"


def _panel_problems(panel: PanelSettings) -> Iterator[str]:
    named = [member.strip() for member in panel.members]
    if not named:
        yield "`panel.members`: expected one judge or more, found none"
    for member in named:
        if member.partition(":")[0] in ("", "none", "panel"):
            yield f"`panel.members`: {member!r} cannot be a member; expected provider:model, recorded:FILE or offline"
    for member, count in Counter(named).items():
        if count > 1:
            yield f"`panel.members`: {member!r} is named {count} times; to ask it several times, set `votes`"
    if panel.votes < 1 or panel.votes % 2 == 0:
        yield f"`panel.votes`: expected an odd number from 1, found {panel.votes}"
    if panel.near is not None and not (isfinite(panel.near) and panel.near >= 0):
        yield f"`panel.near`: expected a distance from 0, found {panel.near}"
    if panel.near is not None and panel.votes == 1:
        yield "`panel.near`: says when to vote, and `votes` is 1; set it to 3 or 5"
    for name in panel.settings.keys() - set(named):
        yield f"`panel.settings`: {name!r} is not among the members {', '.join(named)}"


def _cluster_problems(cluster: ClusterSettings) -> Iterator[str]:
    if cluster.shard < 0:
        yield f"`cluster.shard`: expected 0 or more attempts, found {cluster.shard}"
    given = {"resources": cluster.resources, **{f"needs.{name}": each for name, each in cluster.needs.items()}}
    for place, amounts in given.items():
        for name, amount in amounts.items():
            if not (isfinite(amount) and amount >= 0):
                yield f"`cluster.{place}.{name}`: expected an amount from 0, found {amount}"


def _call_problems(right: Mapping[str, Any]) -> Iterator[str]:
    """Of what says how models are called."""
    panel: PanelSettings | None = right.get("panel")
    given = {f"panel.settings.{name}": each for name, each in (panel.settings if panel else {}).items()}
    given |= {
        name: right[name]
        for name in ("judge_settings", "target_settings", "simulator_settings", "retry")
        if name in right
    }
    for place, each in given.items():
        yield from (f"`{place}`: {problem}" for problem in each.problems())
    for pattern in right.get("rates", ()):
        yield from (f"`rates`: {pattern!r}: {problem}" for problem in rate_problems(pattern))


def profiles(settings: Settings, builtin: Mapping[str, Profile]) -> dict[str, Profile]:
    """The built-in profiles and those of the settings, each on top of the one it extends."""
    known = dict(builtin)
    for name, given in settings.profiles.items():
        if given.extends and given.extends not in known:
            raise ConfigInvalid(
                f"{FILE}: profile `{name}` extends `{given.extends}`, which is not defined before it;"
                f" known: {', '.join(known)}"
            )
        base = known.get(given.extends) or Profile(name=name)
        known[name] = Profile(
            name=name,
            marks={**base.marks, **given.marks},
            weights={**base.weights, **given.weights},
            hard_fails={**base.hard_fails, **given.hard_fails},
            composite_mark=base.composite_mark if given.composite_mark is None else given.composite_mark,
            normalization=given.normalization or base.normalization,
        )
    return known
