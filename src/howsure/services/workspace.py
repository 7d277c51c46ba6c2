"""The workspace: settings, kit and store, put together for the folder someone works in; and evals of a user's own, from
a YAML file of custom evals or a JSON file of definitions for the golden world."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from howsure.config import DATABASE, FILE, ProfileSettings, ServiceSettings, Settings, load, profiles
from howsure.dialects.datasets import digest
from howsure.dialects.problems import did_you_mean
from howsure.errors import ConfigInvalid, Conflict
from howsure.graders.custom_evals import custom_evals
from howsure.graders.definition_graders import definition_graders
from howsure.graders.judged_evals import GoldenJudgedGrader
from howsure.kit import Kit, Registry
from howsure.kit.plugins import builtin_kit, installed_names, installed_plugins, plugin_file
from howsure.model.score import LIKERT
from howsure.policies.verdicts import COMPOSITE, builtin_profiles
from howsure.prices.table import PriceTable
from howsure.reports.formats import register as register_formats
from howsure.services.files import stored_path
from howsure.services.trust import TrustCheck

if TYPE_CHECKING:
    from howsure.store.store import Store

INTEGRITY_KEY = "HOWSURE_INTEGRITY_KEY"
"""The environment variable with the secret key of checksums."""


def add_evals(path: Path, kit: Kit) -> tuple[str, ...]:
    """Add the graders of the file to the kit; returns their names. A definition for the golden world may replace one of
    that world's own judged evals, and no other grader."""
    if not path.is_file():
        raise ConfigInvalid(f"{path}: no such file of evals")
    if path.suffix.lower() == ".json":
        graders = definition_graders(path)
        names = [grader.name for grader in graders if grader.name in kit.graders]
        taken = [name for name in names if not isinstance(kit.graders[name], GoldenJudgedGrader)]
        if taken:
            others = ", ".join(f"{name!r} ({type(kit.graders[name]).__name__})" for name in taken)
            known = ", ".join(grader.name for grader in kit.graders if isinstance(grader, GoldenJudgedGrader))
            raise Conflict(
                f"{path}: there are graders of these names already: {others}. Rename the definitions; only judged evals"
                f" of the golden world can be replaced: {known}"
            )
        for grader in graders:
            kit.graders.replace(grader)
    else:
        graders = custom_evals(path, kit.graders.names())
        for grader in graders:
            kit.graders.add(grader)
    return tuple(grader.name for grader in graders)


class Workspace:
    """What the commands work with. Nothing is opened or written before it is needed."""

    def __init__(
        self, settings: Settings, kit: Kit, folder: Path, beside: Path | None = None, plugins: Sequence[str] = ()
    ) -> None:
        self.settings = settings
        self.prices = PriceTable.load(settings.prices)
        self.kit = kit
        self.folder = folder
        self.beside = beside or folder
        self.plugins = tuple(plugins)
        self.trust: TrustCheck | None = None
        self.integrity_key = ""

    @classmethod
    def here(
        cls,
        *,
        database: str | None = None,
        config: str | None = None,
        plugins: Sequence[str] = (),
        environ: Mapping[str, str] = os.environ,
        trust: TrustCheck | None = None,
    ) -> Workspace:
        """The workspace of the current folder; what is passed in wins over environment and file. Without `trust` the
        settings are trusted: the caller is code that runs already."""
        folder = current_folder()
        environ = {**environ, "HOWSURE_DATABASE_URL": database} if database else environ
        settings = load(folder, environ, Path(config) if config else None, trust.check_settings if trust else None)
        # What the settings name lies beside them; what is typed, where it is typed.
        beside = Path(config).parent if config and config != os.devnull else folder
        work = cls.made(settings, folder, beside, plugins)
        work.trust, work.integrity_key = trust, environ.get(INTEGRITY_KEY, "")
        return work

    @classmethod
    def made(cls, settings: Settings, folder: Path, beside: Path, plugins: Sequence[str] = ()) -> Workspace:
        """With everything that the settings and `plugins` bring."""
        known = profiles(settings, {each.name: each for each in builtin_profiles()})
        kit = builtin_kit(known.values(), PriceTable.load(settings.prices))
        register_formats(kit)
        for name, schema in settings.contracts.items():
            kit.contracts[name] = schema if isinstance(schema, dict) else _schema_file(name, beside / schema)
        for id, policy in settings.policies.items():
            if id in kit.dataset_policies:
                raise ConfigInvalid(f"{FILE}: the policy `{id}` is built in; choose another id")
            kit.dataset_policies[id] = policy
        named = (*(beside / file for file in settings.plugins), *map(Path, plugins))
        for register in (*installed_plugins(), *map(plugin_file, named)):
            register(kit)
        for file in settings.evals:
            add_evals(beside / file, kit)
        files = (*named, *(beside / file for file in settings.evals))
        kit.plugin_versions += [*installed_names(), *(f"{stored_path(file)} {digest(file)}" for file in files)]
        return cls(settings, kit, folder, beside, plugins)

    def with_evals(self, files: Sequence[str]) -> Workspace:
        """This workspace with the graders of these files besides. The kit itself stays as it is: another run has other
        evals."""
        if not files:
            return self
        own = copy(self)
        own.kit = copy(self.kit)
        own.kit.graders = Registry(self.kit.graders.kind)
        for grader in self.kit.graders:
            own.kit.graders.add(grader)
        for file in files:
            add_evals(Path(file), own.kit)
        return own

    def check_profiles(self) -> None:
        """ConfigInvalid where a profile of the settings names a grader that nobody has, or a mark that is off its
        scale. A run checks this, and not who reads the settings: a run may bring evals of its own."""
        problems = (
            _profile_problems(f"profiles.{name}", each, self.kit) for name, each in self.settings.profiles.items()
        )
        if wrong := [problem for found in problems for problem in found]:
            raise ConfigInvalid(f"{FILE}: " + "; ".join(wrong))

    @property
    def data_folder(self) -> Path:
        """Where Howsure may write besides the database."""
        return self.folder / Path(DATABASE).parent

    @property
    def replies(self) -> Path:
        """The cache of model replies."""
        return self.data_folder / "replies.db"

    @property
    def location(self) -> str | Path:
        """Where runs are kept: a path, or an address."""
        return self.settings.database or self.folder / DATABASE

    async def store(self, *, read_only: bool = False) -> Store:
        # A third of the time in which a command starts, and many need none.
        store: type[Store] = import_module("howsure.store.store").Store
        return await store.open(self.location, read_only=read_only, integrity_key=self.integrity_key)


def current_folder() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        message = f"the current folder cannot be found ({error.strerror}): go to one that is there"
        raise ConfigInvalid(message) from error


def _profile_problems(place: str, profile: ProfileSettings, kit: Kit) -> Iterator[str]:
    scales = {grader.name: getattr(grader, "scale", None) for grader in kit.graders} | {COMPOSITE: LIKERT, "": LIKERT}
    for group, name, number in profile.numbers():
        where, scale = f"{place}.{group}.{name}".rstrip("."), None if group == "weights" else scales.get(name)
        if name not in scales:
            hint = did_you_mean(name, scales) or "evals of your own are named under `evals` or with --evals"
            yield f"`{where}`: no grader has this name ({hint})"
        elif scale is not None and number not in scale:
            yield f"`{where}`: expected a mark on its scale, {scale}, found {number:g}"


def _schema_file(name: str, path: Path) -> dict[str, Any]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except OSError as error:
        raise ConfigInvalid(f"contract `{name}`: {path} cannot be read: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise ConfigInvalid(f"contract `{name}`: {path} is not a JSON Schema: {error}") from error


class Host(Struct, frozen=True):
    """The workspace and the open store of a service or a worker."""

    work: Workspace
    store: Store

    @property
    def rules(self) -> ServiceSettings:
        return self.work.settings.service
