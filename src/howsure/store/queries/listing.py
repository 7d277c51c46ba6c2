"""The results of a run that are like that, in an order: counted and paged by the database, so that no more is read than
is shown, however many there are."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import Any, Protocol

from msgspec.structs import replace
from sqlalchemy import ColumnElement, Connection, Float, Integer, Select, case, func, literal, select, tuple_

from howsure.store.queries.choosing import Chosen, Order, conditions
from howsure.store.queries.columns import tuples
from howsure.store.schema import results

WORST_FIRST = ("failed", "errored", "skipped", "passed")


class Listing(Protocol):
    """The results of a run that are like that, in their order. Words are not looked for here."""

    def count(self) -> int: ...

    def up_to(self, position: int) -> int:
        """How many come before the result at a position, or are it."""

    def standing(self, position: int) -> tuple[int, int | None]:
        """How many there are, and which of them, counted from 1, the result at a position is; None: it is none."""

    def after(self, position: int | None, limit: int | None = None) -> list[int]:
        """Those behind a position, in their order; from the start where there is no result at it."""

    def before(self, position: int, limit: int) -> list[int]:
        """Those before a position, the nearest first."""


def listing(connection: Connection, run_id: str, chosen: Chosen) -> Listing:
    """What takes long to decide is decided once, and everything else made of the answer. Where it does not, the worst
    come first because one verdict is listed after the other: an index has each in its order."""
    if chosen.tag or chosen.flaky or chosen.grader or chosen.component is not None:
        return Gathered(Asked(connection, run_id, chosen).after(None))
    if chosen.order is not Order.WORST:
        return Asked(connection, run_id, chosen)
    verdicts = [each for each in WORST_FIRST if not chosen.verdicts or each in chosen.verdicts]
    parts = {each: Asked(connection, run_id, replace(chosen, verdicts=(each,), order=Order.FILE)) for each in verdicts}
    return InTurn(connection, run_id, parts)


class InTurn:
    """A `Listing` of the results of one verdict after those of another."""

    def __init__(self, connection: Connection, run_id: str, parts: Mapping[str, Asked]) -> None:
        self._connection = connection
        self._run_id = run_id
        self._verdicts = list(parts)
        self._parts = list(parts.values())

    def count(self) -> int:
        return sum(part.count() for part in self._parts)

    def up_to(self, position: int) -> int:
        place = self._part(position)
        if place is None:
            return 0
        return sum(part.count() for part in self._parts[:place]) + self._parts[place].up_to(position)

    def standing(self, position: int) -> tuple[int, int | None]:
        place = self._part(position)
        counts = [part.count() for part in self._parts]
        is_one = place is not None and self._parts[place].standing(position)[1] is not None
        own = sum(counts[:place]) + self._parts[place].up_to(position) if place is not None and is_one else None
        return sum(counts), own

    def after(self, position: int | None, limit: int | None = None) -> list[int]:
        place = None if position is None else self._part(position)
        found = [] if place is None else self._parts[place].after(position, limit)
        for part in self._parts[0 if place is None else place + 1 :]:
            if limit is not None and len(found) >= limit:
                break
            found += part.after(None, None if limit is None else limit - len(found))
        return found

    def before(self, position: int, limit: int) -> list[int]:
        place = self._part(position)
        found = [] if place is None else self._parts[place].before(position, limit)
        for part in reversed(self._parts[:place]):
            if len(found) >= limit:
                break
            found += part.before(None, limit - len(found))
        return found

    def _part(self, position: int) -> int | None:
        """Which part the result at a position is in; None: in none."""
        columns = results.c
        wanted = select(columns.verdict).where(columns.run_id == self._run_id, columns.position == position)
        verdict = self._connection.scalar(wanted)
        return self._verdicts.index(verdict) if verdict in self._verdicts else None


class Gathered:
    """A `Listing` of positions that are known."""

    def __init__(self, positions: list[int]) -> None:
        self._positions = positions

    def count(self) -> int:
        return len(self._positions)

    def up_to(self, position: int) -> int:
        place = self._place(position)
        return 0 if place is None else place + 1

    def standing(self, position: int) -> tuple[int, int | None]:
        place = self._place(position)
        return len(self._positions), None if place is None else place + 1

    def after(self, position: int | None, limit: int | None = None) -> list[int]:
        start = 0 if position is None else self._end(position)
        return self._positions[start:][:limit]

    def before(self, position: int, limit: int) -> list[int]:
        place = self._place(position)
        end = self._end(position) if place is None else place
        return self._positions[max(0, end - limit) : end][::-1]

    def _place(self, position: int) -> int | None:
        return self._positions.index(position) if position in self._positions else None

    def _end(self, position: int) -> int:
        """Where those begin that come after; as in the file, where it is not among them."""
        place = self._place(position)
        return bisect_right(self._positions, position) if place is None else place + 1


class Asked:
    """A `Listing` that asks the database, which needs nothing but an index for it."""

    def __init__(self, connection: Connection, run_id: str, chosen: Chosen) -> None:
        self._connection = connection
        self._run_id = run_id
        self._wanted = conditions(connection, run_id, chosen)
        self._key = _key(chosen.order)

    def count(self) -> int:
        return self._counted(())

    def up_to(self, position: int) -> int:
        here = self._place(position)
        return 0 if here is None else self._counted((self._places() <= here,))

    def standing(self, position: int) -> tuple[int, int | None]:
        here = self._place(position)
        if here is None:
            return self.count(), None
        up_to = func.count(case((self._places() <= here, 1)))
        own = func.count(case((results.c.position == position, 1)))
        wanted = select(func.count(), up_to, own).where(results.c.run_id == self._run_id, *self._wanted)
        total, place, is_one = self._connection.execute(wanted).one()
        return total, place if is_one else None

    def after(self, position: int | None, limit: int | None = None) -> list[int]:
        here = None if position is None else self._place(position)
        behind = () if here is None else (self._places() > here,)
        return self._positions(self._some(behind).order_by(*self._order()).limit(limit))

    def before(self, position: int | None, limit: int) -> list[int]:
        """None: before the end."""
        here = None if position is None else self._place(position)
        if here is None and position is not None:
            return []
        earlier = () if here is None else (self._places() < here,)
        backwards = [each.desc() for each in self._order()]
        return self._positions(self._some(earlier).order_by(*backwards).limit(limit))

    def _order(self) -> list[ColumnElement[Any]]:
        return [results.c.position] if self._key is None else [self._key, results.c.position]

    def _place(self, position: int) -> ColumnElement[Any] | None:
        """What the keys of the result at a position are compared with; None: there is none."""
        if self._key is None:
            return literal(position)
        own = (results.c.run_id == self._run_id, results.c.position == position)
        found = self._connection.execute(select(self._key).where(*own)).first()
        if found is None:
            return None
        return tuple_(literal(found[0], Float if isinstance(found[0], float) else Integer), literal(position))

    def _places(self) -> ColumnElement[Any]:
        return results.c.position if self._key is None else tuple_(self._key, results.c.position)

    def _some(self, besides: tuple[ColumnElement[bool], ...]) -> Select[Any]:
        return select(results.c.position).where(results.c.run_id == self._run_id, *self._wanted, *besides)

    def _counted(self, besides: tuple[ColumnElement[bool], ...]) -> int:
        wanted = select(func.count()).where(results.c.run_id == self._run_id, *self._wanted, *besides)
        return self._connection.scalar(wanted) or 0

    def _positions(self, statement: Select[Any]) -> list[int]:
        return [place for (place,) in tuples(self._connection, statement)]


def _key(order: Order) -> ColumnElement[Any] | None:
    """What comes before the position; smaller first."""
    match order:
        case Order.FILE:
            return None
        case Order.SLOWEST:
            return -func.coalesce(results.c.duration_ms, 0.0, type_=Float)
        case Order.WORST:
            return case({verdict: place for place, verdict in enumerate(WORST_FIRST)}, value=results.c.verdict, else_=9)
