"""The Kit: one registry for each kind of thing that a run is made of. Built-ins and plug-ins add to it in the same way,
by a function `register(kit)`. Finding plug-ins is in plugins.py, the list of built-ins in builtins.py."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from howsure.dialects.base import CandidateDialect, Dialect, Importer
from howsure.dialects.lines import CaseLinesDialect
from howsure.dialects.plain_columns import TableDialect, TableOptions, check_map
from howsure.errors import NUL, ConfigInvalid, Conflict, UnknownName
from howsure.graders.base import BindableGrader, Grader
from howsure.kit.report_formats import ReportFormat
from howsure.llm.base import HttpProvider, Provider
from howsure.model.dataset_policy import DatasetPolicy
from howsure.model.verdict import Profile
from howsure.policies.verdicts import Policy
from howsure.targets.base import Target, TargetKind
from howsure.users.base import UserSimulator

if TYPE_CHECKING:
    # Its package lists all readers, which are loaded where a file of results is met.
    from howsure.dialects.tool_results.base import ResultsReader


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
            for item in (*added.values(), *load()):
                self.add(item)
        return self._items

    def add(self, item: T) -> None:
        if "\0" in item.name:
            raise ConfigInvalid(f"{NUL} stands in the name of the {self.kind} {item.name!r}")
        if item.name in self._items:
            raise Conflict(f"two {self.kind}s are named {item.name!r}")
        self._items[item.name] = item

    def replace(self, item: T) -> None:
        """Add the item, in place of the one that has its name."""
        self._loaded[item.name] = item

    @property
    def at_hand(self) -> tuple[T, ...]:
        """The items that are here without loading any."""
        return tuple(self._items.values())

    def __getitem__(self, name: str) -> T:
        try:
            return self._items[name] if name in self._items else self._loaded[name]
        except KeyError:
            raise UnknownName(self.kind, name, list(self._loaded)) from None

    def __contains__(self, name: str) -> bool:
        return name in self._items or name in self._loaded

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
        self.results_readers: Registry[ResultsReader] = Registry("results reader")
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

    def with_tables(self, options: TableOptions) -> Kit:
        """The same kit with dialects that read tables as the user wants them."""
        if not options:
            return self
        check_map(options.map)
        kit = copy(self)
        kit.dialects = Registry("dialect")
        for each in self.dialects:
            kit.dialects.add(each.with_table_options(options) if isinstance(each, TableDialect) else each)
        return kit

    def with_code(self, languages: Collection[str], grader: Grader) -> Kit:
        """The same kit for a file whose code may run: its dialect reads the checks, and the grader runs them."""
        kit = copy(self)
        kit.dialects, kit.graders = Registry("dialect"), Registry("grader")
        for each in self.dialects:
            kit.dialects.add(each.with_code(languages) if isinstance(each, CandidateDialect) else each)
        for other in (*self.graders, grader):
            kit.graders.add(other)
        return kit

    def reader(self, name: str) -> Importer:
        """The dialect or importer of that name."""
        if name in self.dialects:
            return self.dialects[name]
        if name in self.importers:
            return self.importers[name]
        if name == CaseLinesDialect.name:  # written by us and named in pins, never detected
            return CaseLinesDialect()
        raise UnknownName("dialect", name, [*self.dialects.names(), *self.importers.names()])
