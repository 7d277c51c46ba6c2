"""The ledger of a conversion: every field that the target format could not hold, or holds in another form, with the
number of cases and the first of them. Nothing is dropped that does not stand here."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from howsure.model.case import Case


class How(Enum):
    """What became of a field."""

    LOST = "lost"
    CHANGED = "changed"


class Entry(Struct, frozen=True):
    """What became of one field of one case, and why."""

    how: How
    field: str
    why: str


class FieldLine(Struct, frozen=True, kw_only=True):
    """One field, over all cases."""

    field: str
    why: str
    cases: int
    first: str


class Fitted(Struct, frozen=True):
    """A case as the target can hold it; None: it cannot be held at all, for `reason`."""

    case: Case | None
    entries: tuple[Entry, ...] = ()
    reason: str = ""


class Pad:
    """Where the fitting of one case writes its entries."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def lost(self, field: str, why: str = "the format has no place for it") -> None:
        self.entries.append(Entry(How.LOST, field, why))

    def changed(self, field: str, why: str) -> None:
        self.entries.append(Entry(How.CHANGED, field, why))

    def fitted(self, case: Case) -> Fitted:
        return Fitted(case, tuple(self.entries))


class Ledger:
    """The entries of all cases, added up."""

    def __init__(self) -> None:
        self._counts: dict[Entry, list[str | int]] = {}

    def add(self, case_id: str, entries: tuple[Entry, ...]) -> None:
        for entry in dict.fromkeys(entries):
            line = self._counts.setdefault(entry, [case_id, 0])
            line[1] = int(line[1]) + 1

    def lines(self, how: How) -> tuple[FieldLine, ...]:
        return tuple(
            FieldLine(field=entry.field, why=entry.why, cases=int(count), first=str(first))
            for entry, (first, count) in sorted(self._counts.items(), key=lambda pair: (pair[0].field, pair[0].why))
            if entry.how is how
        )
