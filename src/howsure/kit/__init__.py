"""The Kit: names → instances. Built-ins enter by the same door as plug-ins: a function `register(kit)`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, Protocol, TypeVar

from howsure.dialects.base import Dialect, Importer
from howsure.errors import Conflict, UnknownName
from howsure.graders.base import Binding, Grader
from howsure.model.profile import Profile
from howsure.policies.base import Policy
from howsure.targets.base import Target
from howsure.targets.making import Making
from howsure.users.base import UserSide


class Named(Protocol):
    """Anything that can be registered."""

    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=Named)


class Registry(Generic[T]):
    """Things of one kind, by name, in the order they came."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._here: dict[str, T] = {}
        self._later: Callable[[], Iterable[T]] | None = None

    def later(self, load: Callable[[], Iterable[T]]) -> None:
        """Things that are loaded when somebody asks for the first time: most commands never do."""
        self._later = load

    @property
    def _known(self) -> dict[str, T]:
        if self._later is not None:
            load, self._later = self._later, None
            own, self._here = self._here, {}
            for thing in (*load(), *own.values()):
                self.add(thing)
        return self._here

    def add(self, thing: T) -> None:
        if thing.name in self._here:
            raise Conflict(f"two {self.kind}s are named {thing.name!r}")
        self._here[thing.name] = thing

    def put(self, thing: T) -> None:
        """Add it, in the place of whatever has its name."""
        self._known[thing.name] = thing

    def __getitem__(self, name: str) -> T:
        try:
            return self._known[name]
        except KeyError:
            raise UnknownName(self.kind, name, list(self._known)) from None

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def __iter__(self) -> Iterator[T]:
        return iter(self._known.values())

    def names(self) -> list[str]:
        return list(self._known)


class Kit:
    """Everything a run can be made of."""

    def __init__(self) -> None:
        self.dialects: Registry[Dialect] = Registry("dialect")
        self.importers: Registry[Importer] = Registry("importer")
        self.targets: Registry[Target] = Registry("target")
        self.kinds: Registry[Making] = Registry("kind of target")
        self.users: Registry[UserSide] = Registry("simulated user")
        self.graders: Registry[Grader | Binding] = Registry("grader")
        self.profiles: Registry[Profile] = Registry("profile")
        self.policies: dict[str, Policy] = {}
        self.contracts: dict[str, dict[str, Any]] = {}
        self.brought: list[str] = []
        """What others brought into it, each with its version or hash: a run pins them."""

    def reader(self, name: str) -> Importer:
        """The dialect or importer of that name."""
        if name in self.dialects:
            return self.dialects[name]
        if name in self.importers:
            return self.importers[name]
        raise UnknownName("dialect", name, [*self.dialects.names(), *self.importers.names()])
