"""What was seen of one quantity: values with the cases they belong to, and the cases that ought to have one and do
not."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from difflib import get_close_matches

from howsure.errors import NotFound


class Observed:
    """Values and the cases they are of; `missing` are the cases without one. `groups` says which cases belong
    together; repeats of one case always do."""

    def __init__(self, noun: str = "case", groups: Mapping[str, str] | None = None) -> None:
        self.noun = noun
        self.groups = groups or {}
        self.values: list[float] = []
        self.cases: list[str] = []
        self.missing: list[str] = []

    def add(self, case: str, value: float) -> None:
        self.cases.append(case)
        self.values.append(value)

    def miss(self, case: str) -> None:
        self.missing.append(case)

    def filled(self, value: float) -> Observed:
        """As if every missing one had this value."""
        made = Observed(self.noun, self.groups)
        made.values = [*self.values, *([value] * len(self.missing))]
        made.cases = [*self.cases, *self.missing]
        return made

    def tries(self) -> dict[str, list[float]]:
        """The values of each case."""
        found: dict[str, list[float]] = {}
        for case, value in zip(self.cases, self.values, strict=True):
            found.setdefault(case, []).append(value)
        return found

    @property
    def clusters(self) -> list[Hashable] | None:
        """What each value belongs to; None where every one stands for itself."""
        named: list[Hashable] = [self.groups.get(case, case) for case in self.cases]
        return named if len(set(named)) < len(named) else None


class Unknown(NotFound):
    """A gate asks about something that the run does not have: it cannot be decided, and says so."""

    def __init__(self, kind: str, name: str, known: Sequence[str]) -> None:
        named = [each for each in known if each]
        near = get_close_matches(name, named, n=2, cutoff=0.5)
        listed = f"; it has {', '.join(named[:5])}{', …' if len(named) > 5 else ''}." if named else "."
        hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else listed
        super().__init__(f"the run has no {kind} {name!r}{hint}")
