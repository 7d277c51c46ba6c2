"""The Kit: one registry for each kind of thing that a run is made of. Built-ins and plug-ins add to it in the same way,
by a function `register(kit)`. Finding plug-ins is in plugins.py, the list of built-ins in builtins.py."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, Protocol, TypeVar

from howsure.dialects.base import Dialect, Importer
from howsure.errors import Conflict, UnknownName
from howsure.graders.base import BindableGrader, Grader
from howsure.kit.report_formats import ReportFormat
from howsure.llm.base import HttpProvider, Provider
from howsure.model.dataset_policy import DatasetPolicy
from howsure.model.verdict import Profile
from howsure.policies.verdicts import Policy
from howsure.targets.base import Target, TargetKind
from howsure.users.base import UserSimulator


class NamedItem(Protocol):
    """Anything that can be registered."""

    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=NamedItem)


class Registry(Generic[T]):
    """Items of one kind, by name, in the order in which they were added."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._items: dict[str, T] = {}
        self._load: Callable[[], Iterable[T]] | None = None

    def load_lazily(self, load: Callable[[], Iterable[T]]) -> None:
        """`load` is called when an item is first looked up. Most commands never look one up."""
        self._load = load

    @property
    def _loaded(self) -> dict[str, T]:
        if self._load is not None:
            load, self._load = self._load, None
            added, self._items = self._items, {}
            for item in (*load(), *added.values()):
                self.add(item)
        return self._items

    def add(self, item: T) -> None:
        if item.name in self._items:
            raise Conflict(f"two {self.kind}s are named {item.name!r}")
        self._items[item.name] = item

    def replace(self, item: T) -> None:
        """Add the item, in place of the one that has its name."""
        self._loaded[item.name] = item

    def __getitem__(self, name: str) -> T:
        try:
            return self._loaded[name]
        except KeyError:
            raise UnknownName(self.kind, name, list(self._loaded)) from None

    def __contains__(self, name: str) -> bool:
        return name in self._loaded

    def __iter__(self) -> Iterator[T]:
        return iter(self._loaded.values())

    def names(self) -> list[str]:
        return list(self._loaded)

    def by_name(self) -> Mapping[str, T]:
        return self._loaded


class Kit:
    """Everything a run can be made of."""

    def __init__(self) -> None:
        self.dialects: Registry[Dialect] = Registry("dialect")
        self.importers: Registry[Importer] = Registry("importer")
        self.targets: Registry[Target] = Registry("target")
        self.kinds: Registry[TargetKind] = Registry("kind of target")
        self.users: Registry[UserSimulator] = Registry("simulated user")
        self.graders: Registry[Grader | BindableGrader] = Registry("grader")
        self.providers: Registry[Provider | HttpProvider] = Registry("model provider")
        self.report_formats: Registry[ReportFormat] = Registry("report format")
        self.profiles: Registry[Profile] = Registry("profile")
        self.policies: dict[str, Policy] = {}
        self.contracts: dict[str, dict[str, Any]] = {}
        self.dataset_policies: dict[str, DatasetPolicy] = {}
        self.plugin_versions: list[str] = []
        """The plug-ins that added to it, each with its version or hash. A run pins them."""

    def reader(self, name: str) -> Importer:
        """The dialect or importer of that name."""
        if name in self.dialects:
            return self.dialects[name]
        if name in self.importers:
            return self.importers[name]
        raise UnknownName("dialect", name, [*self.dialects.names(), *self.importers.names()])
