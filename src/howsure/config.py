"""Settings: `howsure.yaml`, then the environment, then flags; the later wins. Every config-time check is here."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from ipaddress import ip_network
from math import isfinite
from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec import Struct, field
from msgspec.structs import asdict, fields, replace

from howsure.errors import ConfigInvalid
from howsure.model.access_scope import AccessRole
from howsure.model.dataset_policy import DatasetPolicy
from howsure.model.llm_settings import CallSettings, RateLimits, RetryLimits, rate_problems
from howsure.model.verdict import Normalization, Profile

FILE = "howsure.yaml"
DATABASE = ".howsure/howsure.db"
MAX_SESSION = 10_000
MAX_YAML_VALUES = 100_000
ALWAYS = ("PATH", "HOME", "USER", "LANG", "TMPDIR", "TZ", "VIRTUAL_ENV", "SYSTEMROOT")
"""The variables that every program gets, beside `LC_…`. All others, keys above all, must be listed."""
PYTHON = {"PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1"}
"""Without these a Python program keeps its answers in a buffer, and both sides wait."""
"""Values that a YAML file may hold, its aliases written out."""
FORMER_FILES = {"assay.yaml": FILE, ".assay": ".howsure"}
"""What the files of a folder were called under the product's former name."""


class ProfileSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One profile under `profiles:`, by its name: pass marks and weights for `--profile NAME`, or for the cases that
    name it."""

    extends: str = ""
    """The profile whose values hold where this one sets none: a built-in one, or one that stands before it."""
    marks: dict[str, float] = field(default_factory=dict)
    """The pass mark of each grader, by its name. A measure (cost, latency, counts) gates only with a mark."""
    weights: dict[str, float] = field(default_factory=dict)
    """How much each eval counts in the composite, by its name."""
    hard_fails: dict[str, float] = field(default_factory=dict)
    """By grader: a value below this fails the case, whatever else it reached."""
    composite_mark: float | None = None
    """The pass mark of the weighted composite, on the scale of the evals."""
    normalization: Normalization | None = None
    """How weighted criteria become a value from 0 to 1: earned points of the possible ones, or min–max."""

    def numbers(self) -> Iterator[tuple[str, str, float]]:
        """Every number that is set: the field it stands in, the grader that it is for ("": the composite), itself."""
        for group in ("marks", "weights", "hard_fails"):
            yield from ((group, name, number) for name, number in getattr(self, group).items())
        if self.composite_mark is not None:
            yield "composite_mark", "", self.composite_mark


class PanelRule(Enum):
    """How the rulings of a panel become one. `ROUND_ROBIN` is no ensemble: one member rules on each criterion."""

    MAJORITY = "majority"
    MEAN = "mean"
    UNANIMOUS = "unanimous"
    ROUND_ROBIN = "round_robin"


class PanelSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`panel:`, the judge of `--judge panel`."""

    members: tuple[str, ...]
    """Judges as `--judge` takes them; needed."""
    rule: PanelRule = PanelRule.MAJORITY
    """How their rulings become one; with `round_robin` one member rules on each criterion."""
    votes: int = 1
    """How often each member is asked: an odd number."""
    near: float | None = None
    """Votes are taken only where a member's first value is within this distance of the pass mark."""
    settings: dict[str, CallSettings] = field(default_factory=dict)
    """The settings of a member, by its name in `members`, in place of `judge_settings`."""


class AnswerRendering(Enum):
    """How a judge is shown an answer that is JSON: with its keys, numbers and links, or only its texts, one on each
    line."""

    AS_IS = "as_is"
    READABLE = "readable"


class CandidateSettings(CallSettings, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One model under test under `candidates:`, by its short name. What it does not set holds from `target_settings`.

    `--target chat` runs all of them, `--target chat --candidate NAME` those that are named.
    """

    model: str
    """`provider:model`; needed."""
    system_prompt: str = ""
    """What this model is told before the case's messages, in place of the target's and the agent's prompt."""

    def call_settings(self, usual: CallSettings) -> CallSettings:
        """How the model is called: `usual`, and on top of it what is set here."""
        own = msgspec.to_builtins(self)
        own = {name: value for name, value in own.items() if name not in ("model", "system_prompt")}
        return msgspec.convert({**msgspec.to_builtins(usual), **own}, CallSettings)


class Engine(Enum):
    """Who makes the attempts of a run: this machine, or a Ray cluster."""

    LOCAL = "local"
    RAY = "ray"


class ClusterSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`cluster:`, for `engine: ray`."""

    address: str = ""
    """`auto`, `host:port` or `ray://…`; without it RAY_ADDRESS is used, or a cluster on this machine."""
    env: tuple[str, ...] = ()
    """Names of the environment variables that go to the workers."""
    shard: int = 0
    """Attempts in one shard; 0: what fits the run."""
    resources: dict[str, float] = field(default_factory=dict)
    """What a shard asks for: `num_cpus`, `num_gpus`, `memory`, or resources of your own."""
    needs: dict[str, dict[str, float]] = field(default_factory=dict)
    """Resources that a target or a grader asks for besides, by its name."""


class OrganizationSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One organisation under `service.organizations`, by its id: what its runs may use."""

    targets: tuple[str, ...] = ()
    """Names under `targets:` that it may use; without it, all of them."""
    judges: tuple[str, ...] = ()
    """Judges that it may ask for, of those that the service offers; without it, all of them."""
    budget: str = ""
    """Most that its runs may spend on models in a calendar month (UTC): `200USD`, `50Mtok`."""
    runs: int | None = None
    """Runs of it at a time, in place of `runs_per_organization`."""
    memory_mb: int | None = None
    """Memory that each of its runs may use, in place of `run_memory_mb`."""


class GroupRole(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One group under `service.oidc.roles`, by its name: what its members may do here."""

    role: AccessRole
    """`viewer`, `labeller`, `editor`, `runner` or `admin`; needed."""
    organization: str | None = None
    """Only in this organisation; without it, in every one."""
    agents: tuple[str, ...] | None = None
    """Only for these agents; without it, for every one."""


class OidcSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`service.oidc:`, the provider where people sign in to the pages (OpenID Connect)."""

    issuer: str
    """Its address, exactly as it names itself; needed."""
    client_id: str
    """The name under which this service is registered there; needed."""
    client_secret: str = ""
    """`${NAME}`: the environment variable with the secret of that registration; without it, a public client."""
    name: str = "single sign-on"
    """What the button on the sign-in page calls it."""
    scopes: tuple[str, ...] = ("openid", "profile", "groups")
    """What is asked for; `openid` always is."""
    groups_claim: str = "groups"
    """The claim of the ID token that lists the groups of a person."""
    roles: dict[str, GroupRole] = field(default_factory=dict)
    """What the members of a group may do, by the name of the group; whoever is in none is refused."""
    logout: bool = True
    """Signing out here also leads to signing out there, where the provider has a page for it."""


class RetentionSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`service.retention:`, how long each kind is kept, in days: `365d`. A kind that is not named is kept for ever."""

    runs: str = ""
    """Runs that are over, with their results, from the time they were started."""
    transcripts: str = ""
    """What was asked and said in runs that are over; verdicts, scores and counts stay."""
    documents: str = ""
    """Rubrics, test sets, datasets and the like, from their last change."""
    labels: str = ""
    """What people said of results."""
    audit: str = ""
    """Entries of the audit log; a checkpoint is left in their place."""
    sessions: str = ""
    """Sessions of people who signed in, from their end."""
    answered: str = ""
    """Answers to requests with an `Idempotency-Key`; they are never given again after a day."""


class ServiceSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`service:`, what `howsure serve` and `howsure worker` may do for those who ask."""

    target: str = ""
    """The name under `targets:` that is used where a request names none."""
    bots: dict[str, str] = field(default_factory=dict)
    """Which target reaches which agent: names under `targets:`, by the id of the agent."""
    judges: tuple[str, ...] = ()
    """Judges that may be asked for besides the default."""
    hosts: tuple[str, ...] = ()
    """Where requests may send the service: names, addresses or networks."""
    unknown_bots: bool = False
    """Whether runs may name agents that nobody has described, that `bots` does not list, and that the cases are not
    for."""
    bot_service: str = ""
    """Where descriptions of agents are fetched that nobody wrote here, with `{id}` for the agent."""
    bot_service_key: str = ""
    """The environment variable with the key for `bot_service`."""
    runs: int = 4
    """Runs at a time."""
    runs_per_agent: int = 2
    """Runs of one agent at a time."""
    runs_per_organization: int = 3
    """Runs of one organisation at a time; runs without an organisation are not counted."""
    run_memory_mb: int = 2048
    """Memory that one run may use, in MB: a case that needs more is errored; 0: no limit."""
    compute_seconds: float = 30.0
    """How long a case may compute without letting the other cases of its run go on, before it is stopped; on the
    command line, too."""
    organizations: dict[str, OrganizationSettings] = field(default_factory=dict)
    """Limits of single organisations, by their id."""
    largest_body: int = 64 * 1024 * 1024
    """The largest request that is read, in bytes: a dataset that is uploaded, or documents that are imported."""
    largest_json: int = 8 * 1024 * 1024
    """The largest request that is not a file, in bytes. Forms may have 64 KiB, and those of the library 1 MB."""
    connections: int = 1_000
    """Connections at a time; further ones are answered 503."""
    requests_per_minute: int = 0
    """Requests that each key may send in a minute; further ones are answered 429; 0: no limit."""
    origins: tuple[str, ...] = ()
    """Pages of other origins that may ask: `https://pages.example`."""
    host_names: tuple[str, ...] = ()
    """The names by which the service may be asked for."""
    https: bool = False
    """People reach the pages over TLS alone, so that their cookies travel no other way."""
    proxies: tuple[str, ...] = ()
    """Addresses or networks of your reverse proxies: only they may say, in `X-Forwarded-For`, who is asking."""
    session_idle_minutes: float = 60.0
    """After this many minutes without a request, users must sign in again."""
    session_hours: float = 12.0
    """After this many hours, users must sign in again in any case."""
    retention: RetentionSettings = RetentionSettings()
    """How long each kind of data is kept. The service removes what is older once a day; `howsure db purge` does so at
    once."""
    undelete_days: int = 30
    """For this many days a deleted document can be brought back; then its content is gone."""
    oidc: OidcSettings | None = None
    """The provider at which people sign in, besides keys and passwords."""

    def runs_of(self, organization_id: str) -> int:
        """How many runs of an organisation may be worked on at a time."""
        own = self.organizations.get(organization_id)
        return self.runs_per_organization if own is None or own.runs is None else own.runs

    def memory_of(self, organization_id: str) -> int:
        """How much memory, in MB, each run of an organisation may use; 0: no limit."""
        own = self.organizations.get(organization_id)
        return self.run_memory_mb if own is None or own.memory_mb is None else own.memory_mb


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `howsure.yaml` may say. Paths in it are relative to its folder."""

    database: str = ""
    """Where runs are kept: a file (default `.howsure/howsure.db`), or the address of a PostgreSQL."""
    judge: str = ""
    """Who judges where `--judge` does not say: `offline` (default), `recorded:FILE`, `provider:model`, `panel`."""
    max_concurrency: int = 8
    """Cases at a time."""
    attempt_seconds: float = 120.0
    """How long one attempt of a call to a model may take."""
    plugins: tuple[str, ...] = ()
    """Files with `register(kit)`."""
    profiles: dict[str, ProfileSettings] = field(default_factory=dict)
    """Pass marks and weights of your own, by name."""
    contracts: dict[str, dict[str, Any] | str] = field(default_factory=dict)
    """Output contracts, by the name that cases expect: a JSON Schema, or the path of one."""
    require_contracts: bool = False
    """Refuse a run whose cases expect a contract that nobody has; otherwise they are flagged as not checked."""
    policies: dict[str, DatasetPolicy] = field(default_factory=dict)
    """How the questions of a dataset are asked and judged, by the `policy_id` that legal cases name."""
    evals: tuple[str, ...] = ()
    """Files of evals of your own."""
    prices: dict[str, dict[str, float]] = field(default_factory=dict)
    """Prices by model, in USD for a million tokens: `prompt`, `completion`, `cached`."""
    panel: PanelSettings | None = None
    """Several judges that rule together."""
    targets: dict[str, dict[str, Any]] = field(default_factory=dict)
    """How agents are reached, by the name for `--target`: a `kind`, and the settings of that kind."""
    candidates: dict[str, CandidateSettings] = field(default_factory=dict)
    """Models under test with settings of their own, by the short name for `--candidate`; for `--target chat`."""
    simulator: str = ""
    """Who plays the user of scenarios where `--simulator` does not say: `offline` (default), `provider:model`."""
    simulator_settings: CallSettings = CallSettings()
    """How the model is called that plays the user."""
    turn_seconds: float | None = None
    """How long a turn of a conversation may take; without it, as the kind of target says."""
    case_seconds: float | None = None
    """How long a whole conversation may take."""
    judge_settings: CallSettings = CallSettings()
    """How judges are called."""
    answer_rendering: AnswerRendering = AnswerRendering.AS_IS
    """How judges of Explain evals see an answer that is JSON: `as_is`, or `readable` (its texts without keys, numbers
    and links). Task adherence and tool calls are always judged by the answer as it is."""
    target_settings: CallSettings = CallSettings()
    """How models under test are called."""
    batch_criteria: bool = False
    """One call of a live judge for all criteria of a case."""
    images: bool = True
    """Show pictures to models; `false`: only name them."""
    document_characters: int = 40_000
    """How many characters of one document are shown to models and judges; a longer one loses its middle."""
    rates: dict[str, RateLimits] = field(default_factory=dict)
    """What a provider allows, for `provider:model`, `provider:*` or `*`."""
    retry: RetryLimits = RetryLimits()
    """How long calls to models are tried again."""
    gates: tuple[str, ...] = ()
    """What every run is held to, besides what `--gate` says."""
    until_sure: str = ""
    """The gate of which every run is to be sure: it stops when it is, where `--until-sure` does not say."""
    anchors: str = ""
    """A stored run whose answers are judged again after every run, to tell a changed judge from a changed agent. The
    judge costs that again; runs of the service and of the offline judge do without."""
    service: ServiceSettings = ServiceSettings()
    """What `howsure serve` may do for those who ask."""
    engine: Engine = Engine.LOCAL
    """Who makes the attempts of a run: this machine, or a Ray cluster."""
    cluster: ClusterSettings = ClusterSettings()
    """The Ray cluster."""


def load(
    folder: Path,
    environ: Mapping[str, str],
    file: Path | None = None,
    check: Callable[[Settings, Path], Settings] | None = None,
) -> Settings:
    """The settings that hold in `folder`. An explicit `file` must exist (/dev/null: no settings); `howsure.yaml` need
    not. `check` is given what the file says, without what the environment says in its place."""
    path = file or folder / FILE
    named = {"database": environ.get("HOWSURE_DATABASE_URL"), "judge": environ.get("HOWSURE_JUDGE")}
    given: dict[str, Any] = {name: value for name, value in named.items() if value}
    if str(path) == os.devnull:
        return replace(Settings(), **given)
    there = _is_there(path)
    if file is not None and not there:
        raise ConfigInvalid(f"{path}: no such configuration file")
    settings = _checked(_read(path), path) if there else Settings()
    if there and check is not None:
        settings = check(replace(settings, **dict.fromkeys(given, "")), path)
    return replace(settings, **given)


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


def program_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What a program that is started gets of the environment, beside what settings list for it."""
    usual = {name: value for name, value in environ.items() if name in ALWAYS or name.startswith("LC_")}
    return {**PYTHON, **usual}


def load_yaml(
    text: str, kind: type[Any] = yaml.SafeLoader, most: int = MAX_YAML_VALUES
) -> tuple[yaml.Node | None, Any]:
    """The document and its value. YAMLError also where it is nested too deep, or where its aliases stand for more than
    `most` values: each may name others that name others."""
    loader = kind(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return None, None
        _count_values(root, {}, most)
        return root, loader.construct_document(root)
    except RecursionError:
        raise yaml.YAMLError("it is nested too deep") from None
    except ValueError as error:
        raise yaml.YAMLError(str(error)) from error
    finally:
        loader.dispose()


def _count_values(node: yaml.Node, known: dict[int, int], most: int) -> int:
    if id(node) in known:
        return known[id(node)]
    known[id(node)] = most  # what holds itself never ends
    if isinstance(node, yaml.ScalarNode):
        node.value.encode()  # refuses half characters, which an escape may name
    inner = node.value if isinstance(node, yaml.SequenceNode) else ()
    if isinstance(node, yaml.MappingNode):
        inner = [each for pair in node.value for each in pair]
    count = known[id(node)] = 1 + sum(_count_values(each, known, most) for each in inner)
    if count > most:
        raise yaml.YAMLError(f"with its aliases written out it holds more than {most:,} values")
    return count


def _read(path: Path) -> dict[str, Any]:
    try:
        _, value = load_yaml(path.read_text(encoding="utf-8-sig"))
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
    service = right.get("service", ServiceSettings())
    wrong += _number_problems(right, service)
    for name, profile in right.get("profiles", {}).items():
        wrong += _endless(name, profile)
    if panel := right.get("panel"):
        wrong += _panel_problems(panel)
    wrong += _call_problems(right)
    wrong += _cluster_problems(right.get("cluster", ClusterSettings()))
    wrong += _service_problems(service)
    wrong += [
        f"`targets.{name}`: the name has a meaning of its own in --target; choose another"
        for name in right.get("targets", ())
        if name in ("", "recorded", "replay") or name.startswith("replay:")
    ]
    if wrong:
        raise ConfigInvalid(f"{path}: " + "; ".join(wrong))
    return Settings(**right)


def _number_problems(right: Mapping[str, Any], service: ServiceSettings) -> Iterator[str]:
    least = {"runs": 1, "runs_per_agent": 1, "runs_per_organization": 1}
    least |= {"run_memory_mb": 0, "requests_per_minute": 0, "undelete_days": 0}
    counts = [(name, 1, right.get(name)) for name in ("max_concurrency", "document_characters")]
    counts += [(f"service.{name}", number, getattr(service, name)) for name, number in least.items()]
    for name, own in service.organizations.items():
        place = f"service.organizations.{name}"
        counts += [(f"{place}.runs", 1, own.runs), (f"{place}.memory_mb", 0, own.memory_mb)]
    for place, smallest, number in counts:
        if number is not None and number < smallest:
            yield f"`{place}`: expected {smallest} or more, found {number}"
    limits = {name: right.get(name) for name in ("attempt_seconds", "turn_seconds", "case_seconds")}
    for place, seconds in {**limits, "service.compute_seconds": service.compute_seconds}.items():
        if seconds is not None and not seconds > 0:
            yield f"`{place}`: expected more than 0, found {seconds}"


def _service_problems(service: ServiceSettings) -> Iterator[str]:
    for kind, age in asdict(service.retention).items():
        if not re.fullmatch(r"(\d{1,5}d)?", age):
            yield f"`service.retention.{kind}`: expected days such as 365d, found {age!r}"
    for name in ("session_idle_minutes", "session_hours"):
        if not 0 < getattr(service, name) <= MAX_SESSION:
            yield f"`service.{name}`: expected more than 0 and at most {MAX_SESSION:,}, found {getattr(service, name)}"
    for proxy in service.proxies:
        try:
            ip_network(proxy, strict=False)
        except ValueError:
            yield f"`service.proxies`: expected an address or a network such as 10.0.0.0/8, found {proxy!r}"
    if (oidc := service.oidc) is None:
        return
    if not re.fullmatch(r"https://[^/?#\s]+[^?#\s]*|http://(127\.0\.0\.1|localhost)(:\d+)?(/[^?#\s]*)?", oidc.issuer):
        yield f"`service.oidc.issuer`: expected an https address, found {oidc.issuer!r}"
    if oidc.client_secret and not re.fullmatch(r"\$\{\w+\}", oidc.client_secret):
        yield "`service.oidc.client_secret`: a secret may not stand in a file; write ${NAME} of an environment variable"
    if not oidc.roles:
        yield "`service.oidc.roles`: expected one group or more, found none: nobody could sign in"


def _endless(name: str, profile: ProfileSettings) -> Iterator[str]:
    """Marks and weights must be numbers that something can be held to; weights cannot be negative."""
    for group, grader, number in profile.numbers():
        place = f"profiles.{name}.{group}.{grader}".rstrip(".")
        if not isfinite(number):
            yield f"`{place}`: expected a finite number, found {number}"
        elif group == "weights" and number < 0:
            yield f"`{place}`: expected a weight from 0, found {number:g}"


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
    candidates: Mapping[str, CandidateSettings] = right.get("candidates", {})
    for name, candidate in candidates.items():
        if not all(candidate.model.partition(":")) or not name.strip():
            yield f"`candidates.{name}.model`: expected provider:model under a short name, found {candidate.model!r}"
    given = {f"panel.settings.{name}": each for name, each in (panel.settings if panel else {}).items()}
    given |= {f"candidates.{name}": each for name, each in candidates.items()}
    others = ("judge_settings", "target_settings", "simulator_settings", "retry")
    given |= {name: right[name] for name in others if name in right}
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
