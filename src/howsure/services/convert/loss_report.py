"""The loss report of a conversion: every field that the target format cannot hold, or holds in another form, with the
number of cases and the first of them. A conversion drops nothing that is not listed here."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import Enum

from msgspec import Struct

from howsure.model.case import Case
from howsure.model.expectation import Expectation


class LossKind(Enum):
    """What became of a field."""

    LOST = "lost"
    CHANGED = "changed"


class LossEntry(Struct, frozen=True):
    """What became of one field of one case, and why."""

    how: LossKind
    field: str
    why: str


class FieldLoss(Struct, frozen=True, kw_only=True):
    """What became of one field, over all cases."""

    field: str
    why: str
    cases: int
    first: str


class FittedCase(Struct, frozen=True):
    """A case as the target format can hold it; None: the format cannot hold it at all, for `reason`."""

    case: Case | None
    entries: tuple[LossEntry, ...] = ()
    reason: str = ""


class CaseLosses:
    """The losses of one case, noted while it is converted."""

    def __init__(self, entries: Iterable[LossEntry] = ()) -> None:
        self.entries = list(entries)

    def lost(self, field: str, why: str = "the format has no place for it") -> None:
        self.entries.append(LossEntry(LossKind.LOST, field, why))

    def changed(self, field: str, why: str) -> None:
        self.entries.append(LossEntry(LossKind.CHANGED, field, why))

    def fitted(self, case: Case) -> FittedCase:
        return FittedCase(case, tuple(self.entries))


class LossReport:
    """The losses of all cases, added up."""

    def __init__(self) -> None:
        self._counts: dict[LossEntry, list[str | int]] = {}

    def add(self, case_id: str, entries: tuple[LossEntry, ...]) -> None:
        for entry in dict.fromkeys(entries):
            line = self._counts.setdefault(entry, [case_id, 0])
            line[1] = int(line[1]) + 1

    def lines(self, how: LossKind) -> tuple[FieldLoss, ...]:
        return tuple(
            FieldLoss(field=entry.field, why=entry.why, cases=int(count), first=str(first))
            for entry, (first, count) in sorted(self._counts.items(), key=lambda pair: (pair[0].field, pair[0].why))
            if entry.how is how
        )


def kind_name(expectation: Expectation) -> str:
    """`tool_calls`, `reference_answer` …"""
    return str(type(expectation).__struct_config__.tag)


def lose_keys(name: str, keys: Iterable[str], losses: CaseLosses, kept: Collection[str] = ()) -> None:
    """Note the loss of all keys of this field but those that are `kept`."""
    for key in keys:
        if key not in kept:
            losses.lost(f"{name}.{key}")
