"""Trust in a folder: its settings may run code, or send secrets, only after the user has allowed it. The permission is
stored in the user's own configuration, never in the folder, with the path of the settings and a hash of every file that
they name; after a change the user is asked again."""

from __future__ import annotations

import ast
import os
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from howsure.config import FILE, Settings
from howsure.dialects.datasets import digest
from howsure.errors import ConfigInvalid, NotTrusted
from howsure.llm.specs import ADDRESS
from howsure.model.run import targets_of
from howsure.model.run_request import RunRequest
from howsure.store.private_files import open_private
from howsure.targets.settings import VARIABLE

ALLOW, REGISTER = "HOWSURE_TRUST", "HOWSURE_TRUST_FILE"
"""Environment variables: trust every folder (for CI, containers and services); remember in another file."""
YES, NO = ("1", "true", "yes", "on"), ("", "0", "false", "no", "off")
SENDING_KINDS = ("", "chat", "http", "https", "adk", "recorded")
"""Kinds of targets that run no code of the folder, but may send secrets."""

MOST_FILES = 1_000
"""How many files the code of a folder may be made of."""

Risk = tuple[str, str]
"""A setting that runs code or sends a secret: where it stands, and what it does."""


class CodeUse(Enum):
    """How a command uses the code and the addresses in a folder's settings: not at all, only if they are trusted, or it
    cannot work without them."""

    NONE = "none"
    OPTIONAL = "optional"
    NEEDED = "needed"


class FolderSettings(Struct, frozen=True, kw_only=True):
    """The settings file of a folder, with its risks. `hashes` are of the settings, of every file that they name, and of
    every Python file beside those that they import."""

    path: Path
    risks: tuple[Risk, ...]
    hashes: dict[str, str]

    @classmethod
    def examine(cls, settings: Settings, path: Path) -> FolderSettings:
        path = path.resolve()
        risks = tuple(_settings_risks(settings))
        named = (path.name, *settings.plugins, *_named_files(settings.targets.values()))
        files = {name: path.parent / name for name in sorted(named) if risks and os.path.isfile(path.parent / name)}
        for file in _imported_files([each for each in files.values() if each.suffix == ".py"], path.parent):
            files.setdefault(os.path.relpath(file, path.parent), file)
        return cls(path=path, risks=risks, hashes={name: digest(file) for name, file in files.items()})

    @property
    def command(self) -> str:
        """What to type."""
        shown = self.path.parent if self.path.name == FILE else self.path
        return "howsure trust" if shown == Path.cwd() else f"howsure trust {shlex.quote(str(shown))}"


def _settings_risks(settings: Settings) -> Iterator[Risk]:
    """Everything in the settings that runs code or sends a secret. Evals, contracts, profiles and prices are data."""
    yield from (("plugins", f"loads the Python file {file}") for file in settings.plugins)
    for name, block in settings.targets.items():
        yield from _target_risks(f"targets.{name}", block)
    service, cluster, panel = settings.service, settings.cluster, settings.panel
    models = {"judge": (settings.judge,), "simulator": (settings.simulator,), "service.judges": service.judges}
    models |= {f"candidates.{name}.model": (each.model,) for name, each in settings.candidates.items()}
    for place, specs in (models | {"panel.members": panel.members if panel else ()}).items():
        yield from _model_risks(place, specs)
    if service.bot_service_key:
        yield "service.bot_service", f"sends ${{{service.bot_service_key}}} to {service.bot_service}"
    if oidc := service.oidc:
        yield "service.oidc", f"sends {oidc.client_secret} to {oidc.issuer}, and lets in the users that it names"
    if cluster.address or cluster.env:
        names = "".join(f", with ${{{name}}}" for name in cluster.env)
        yield "cluster", f"sends runs to the Ray cluster {cluster.address or 'of this machine'}{names}"
    if "://" in settings.database:
        host = urlsplit(settings.database).hostname or "another machine"
        yield "database", f"keeps runs in the database at {host}, with your password for it"


def _target_risks(place: str, block: Mapping[str, Any]) -> Iterator[Risk]:
    kind, texts = str(block.get("kind", "")), list(_texts({**block, "kind": ""}))
    code = texts if kind not in SENDING_KINDS else [str(block.get("tool_functions", ""))]
    if any(code) or kind not in SENDING_KINDS:
        yield place, f"runs code ({kind}): {' '.join(filter(None, code))}"
    if names := ", ".join(sorted({match[0] for text in texts for match in VARIABLE.finditer(text)})):
        yield place, f"sends {names} to {block.get('url', 'its address')}"
    yield from _model_risks(place, [str(block.get("model", ""))])


def _model_risks(place: str, specs: Iterable[str]) -> Iterator[Risk]:
    parts = (ADDRESS.split(spec, maxsplit=1) for spec in specs)
    yield from ((place, f"sends the key for {part[0]} to {part[1]}") for part in parts if len(part) > 1)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping | list):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(each)
    elif isinstance(value, str):
        yield value


def _named_files(blocks: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """What may be a file: the words of a command, and those of `module:object` and `path/file.py:object`."""
    for block in blocks:
        words = {word for text in _texts(block) for word in text.split()}
        for place in words | {word.rpartition(":")[0] for word in words}:
            module = place.replace(".", "/")
            names = (place, f"{module}.py", f"{module}/__init__.py")
            yield from (os.path.join(str(block.get("cwd", "")), name) for name in names if not os.path.isabs(name))


def _imported_files(named: Sequence[Path], folder: Path) -> list[Path]:
    """The Python files that these import, and those that they import in turn, as far as they lie beside them or in the
    folder of the settings. What is installed, or imported by a name that is made at run time, is not among them."""
    found, waiting = dict.fromkeys(map(Path.resolve, named)), [each.resolve() for each in named]
    while waiting:
        file = waiting.pop()
        roots = (file.parent, folder, *(each.resolve().parent for each in named))
        for each in dict.fromkeys(_imports(file, roots)):
            if each not in found and each.is_file():
                found[each] = None
                waiting.append(each)
        if len(found) > MOST_FILES:
            raise ConfigInvalid(f"{named[0].name}: imports more than {MOST_FILES:,} files of its folder; install them")
    return [each for each in found if each not in {known.resolve() for known in named}]


def _imports(file: Path, roots: Iterable[Path]) -> Iterator[Path]:
    """Where the modules that a file imports would lie."""
    try:
        nodes = list(ast.walk(ast.parse(file.read_bytes())))
    except (SyntaxError, ValueError, OSError, RecursionError, MemoryError):
        return  # it cannot be imported, either
    for node in nodes:
        names: list[str] = []
        level, places = 0, list(roots)
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [".".join(filter(None, (node.module, each.name))) for each in node.names]
            level = min(node.level, len(file.parents))
            places = [file.parents[level - 1]] if level else places
        for name in names:
            parts = name.split(".")
            for place in places:
                for length in range(0 if level else 1, len(parts) + 1):
                    module = place.joinpath(*parts[:length])
                    yield from (module / "__init__.py", module.parent / f"{module.name}.py")


class TrustRegister:
    """The folders that this user trusts, in a file that nobody else can read or write: by the path of the settings, the
    hashes of their files."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        own = environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
        self.path = Path(environ.get(REGISTER) or Path(own, "howsure", "trusted.json"))

    def read(self) -> dict[str, dict[str, str]]:
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=dict[str, dict[str, str]])
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.DecodeError) as error:
            raise ConfigInvalid(f"{self.path}: {error}; remove this file, and trust your folders anew") from error

    def write(self, known: Mapping[str, Mapping[str, str]]) -> None:
        unfinished = self.path.with_name(f".{self.path.name}.{os.getpid()}.part")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with open_private(unfinished) as file:
                file.write(msgspec.json.format(msgspec.json.encode(known)))
            unfinished.replace(self.path)
        except OSError as error:
            raise ConfigInvalid(f"{self.path} cannot be written: {error.strerror}; set {ALLOW}=1 instead") from error

    def remember(self, found: FolderSettings) -> None:
        self.write({**self.read(), str(found.path): found.hashes})

    def changes(self, path: str) -> list[str]:
        """The files of these settings that are gone, or not what they were."""
        files = {name: Path(path).parent / name for name in self.read()[path]}
        now = {name: digest(file) if file.is_file() else "" for name, file in files.items()}
        return [name for name, before in self.read()[path].items() if now[name] != before]


class TrustCheck(Struct, frozen=True, kw_only=True):
    """How a command decides whether to trust the settings of a folder. `given`: --trust was typed. `ask` asks the user
    at a terminal; None: there is no terminal. `note` reports what is left out."""

    use: CodeUse
    stores: bool = False
    given: bool = False
    ask: Callable[[str], bool] | None = None
    note: Callable[[str], None] = print

    @property
    def allows_all(self) -> bool:
        value = os.environ.get(ALLOW, "").strip().lower()
        if value not in (*YES, *NO):
            raise ConfigInvalid(f"{ALLOW}: expected 1 or 0, found {value!r}")
        return self.given or value in YES

    def allows(self, settings: Settings, path: Path) -> bool:
        """Whether these settings are trusted already; the user is not asked."""
        found = FolderSettings.examine(settings, path)
        return self.allows_all or TrustRegister().read().get(str(found.path)) == found.hashes

    def check_settings(self, settings: Settings, path: Path) -> Settings:
        """The settings as far as the command may use them. `NotTrusted` if it needs what is not trusted."""
        found, register = FolderSettings.examine(settings, path), TrustRegister()
        places = {place for place, _ in found.risks}
        needed = self.use is CodeUse.NEEDED or (self.stores and "database" in places)
        if found.risks and (needed or self.use is CodeUse.OPTIONAL) and not self.allows_all:
            before = register.read().get(str(found.path))
            if before != found.hashes and needed:
                changed = [*register.changes(str(found.path)), *(found.hashes.keys() - before.keys())] if before else []
                since = f" (changed since you trusted it: {', '.join(changed)})" if changed else ""
                self._settle(
                    f"{found.path}{since}", found.risks, f"`{found.command}`, or --trust for this command alone"
                )
                register.remember(found)
            elif before != found.hashes:
                if left := sorted(places & {"plugins", "judge", "panel.members"}):
                    self.note(f"left out, for {path} is not trusted (`{found.command}`): {', '.join(left)}")
                settings = replace(settings, plugins=(), targets={}, candidates={}, judge="", simulator="", panel=None)
        return replace(settings, plugins=()) if self.use is CodeUse.NONE else settings

    def check_request(self, request: RunRequest, known: Collection[str]) -> None:
        """Check the request of a stored run, which may come from the database of an untrusted folder. `known` are the
        targets that settings and plug-ins define by name."""
        specs = [spec.removeprefix("replay:") for spec in targets_of(request)]
        code = [spec for spec in specs if spec not in known and spec.partition(":")[0] not in SENDING_KINDS]
        models = _model_risks("model", (*specs, *request.candidates, request.judge, request.simulator))
        risks = (*(("target", f"runs {spec}") for spec in code), *models)
        if risks and not self.allows_all:
            self._settle("The run as it is stored", risks, "the same command with --trust")

    def _settle(self, what: str, risks: tuple[Risk, ...], command: str) -> None:
        says = f"{what} would run code or send secrets:\n{risk_lines(risks)}"
        if self.ask is None:
            raise NotTrusted(f"{says}\nLook at it. If you trust it, type {command}")
        if not self.ask(says):
            raise NotTrusted("not trusted: nothing was run and nothing was sent")


def risk_lines(risks: Iterable[Risk]) -> str:
    return "\n".join(f"  {place}: {does}" for place, does in risks)
