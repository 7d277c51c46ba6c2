"""Looking for words in the results of a run. Every body must be read for it, so in a large run a part is looked through
at a time, in the order in which results are listed, and it is said how far that got."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase, ascii_uppercase

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import ColumnElement, Connection, and_, cast, func, or_, select
from sqlalchemy import Text as AsText

from howsure.store.queries.choosing import Chosen, Order
from howsure.store.queries.columns import tuples
from howsure.store.queries.listing import Listing, listing
from howsure.store.schema import cases, results

LOOKED_THROUGH = 1000
"""Results whose words are read for one page."""
CHUNK = 250
FEW = 20
SMALL = str.maketrans(ascii_uppercase, ascii_lowercase)


class Listed(Struct, frozen=True, kw_only=True):
    """A page of results. `positions` are those on it, `first` the number of those before it and `matching` of all that
    are like that; where only some of `total` results were looked through (`looked_at`, from `start` on), these two are
    not known and None. `further`: the position behind which the next page begins."""

    positions: list[int]
    total: int
    first: int | None
    matching: int | None
    start: int = 0
    looked_at: int | None = None
    further: int | None = None


class Beside(Struct, frozen=True):
    """The neighbours of a result among those that are like that; `place` is its number among `matching`. None: there
    is none, or it was not found out."""

    previous: int | None = None
    following: int | None = None
    place: int | None = None
    matching: int | None = None


def every_position(connection: Connection, run_id: str, chosen: Chosen) -> list[int]:
    """Of all results that are like that, however long it takes."""
    found = listing(connection, run_id, chosen).after(None)
    return _holding(connection, run_id, chosen.text, found) if chosen.text else found


def listed(connection: Connection, run_id: str, chosen: Chosen, after: int | None, limit: int) -> Listed:
    """The page behind a position; the first where there is nothing at it any more."""
    found = listing(connection, run_id, chosen)
    total = found.count()
    if chosen.text and total > LOOKED_THROUGH:
        return _looked_through(connection, run_id, chosen.text, found, after, limit)
    if chosen.text:
        return _all_looked_through(every_position(connection, run_id, chosen), total, after, limit)
    first = 0 if after is None else found.up_to(after)
    shown = found.after(after, limit)
    more = shown[-1] if first + limit < total else None
    return Listed(positions=shown, total=total, first=first, matching=total, further=more)


def _all_looked_through(found: Sequence[int], total: int, after: int | None, limit: int) -> Listed:
    first = next((place for place, position in enumerate(found, 1) if position == after), 0)
    shown = list(found[first : first + limit])
    more = shown[-1] if first + limit < len(found) else None
    return Listed(positions=shown, total=total, first=first, matching=len(found), further=more)


def _looked_through(
    connection: Connection, run_id: str, text: str, every: Listing, after: int | None, limit: int
) -> Listed:
    """Until there are enough for a page, or enough was looked through."""
    total, start = every.count(), 0 if after is None else every.up_to(after)
    window = every.after(after, LOOKED_THROUGH)
    end, found = 0, list[int]()
    while end < len(window) and len(found) <= limit:
        found += _holding(connection, run_id, text, window[end : end + CHUNK])
        end = min(end + CHUNK, len(window))
    if len(found) > limit:
        end = window.index(found[limit - 1]) + 1
    return Listed(
        positions=found[:limit],
        total=total,
        first=None,
        matching=None,
        start=start,
        looked_at=end,
        further=window[end - 1] if start + end < total else None,
    )


def beside(connection: Connection, run_id: str, chosen: Chosen, position: int) -> Beside:
    """One that the filter leaves out stands between those that it would be between in the file."""
    found = listing(connection, run_id, chosen)
    total, place = found.standing(position)
    if chosen.text and total <= LOOKED_THROUGH:
        return _among_all(every_position(connection, run_id, chosen), position)
    ordered = found if place is not None else listing(connection, run_id, replace(chosen, order=Order.FILE))
    far = LOOKED_THROUGH // 2 if chosen.text else 1
    near = ordered.before(position, far), ordered.after(position, far)
    if chosen.text:
        return Beside(*(_first(connection, run_id, chosen.text, some) for some in near))
    previous, following = (some[0] if some else None for some in near)
    return Beside(previous, following, *((place, total) if place is not None else ()))


def _among_all(found: Sequence[int], position: int) -> Beside:
    ordered = found if position in found else sorted([*found, position])
    place = ordered.index(position)
    previous = ordered[place - 1] if place else None
    following = ordered[place + 1] if place + 1 < len(ordered) else None
    return Beside(previous, following, *((place + 1, len(found)) if ordered is found else ()))


def _first(connection: Connection, run_id: str, text: str, among: Sequence[int]) -> int | None:
    """The first few by themselves: the nearest is most often among them."""
    chunks = (among[:FEW], *(among[start : start + CHUNK] for start in range(FEW, len(among), CHUNK)))
    return next((found[0] for chunk in chunks if (found := _holding(connection, run_id, text, chunk))), None)


def _holding(connection: Connection, run_id: str, text: str, among: Sequence[int]) -> list[int]:
    """Those of these results that hold the words, in their order."""
    found: set[int] = set()
    both = and_(cases.c.run_id == results.c.run_id, cases.c.case_id == results.c.case_id)
    joined = select(results.c.position).select_from(results.join(cases, both)).where(results.c.run_id == run_id)
    wanted = joined.where(_holds(connection, text))
    for start in range(0, len(among), CHUNK):
        some = wanted.where(results.c.position.in_(among[start : start + CHUNK]))
        found.update(place for (place,) in tuples(connection, some))
    return [position for position in among if position in found]


def _holds(connection: Connection, text: str) -> ColumnElement[bool]:
    """Case does not matter, where letters are Latin ones. Bodies are JSON: what is escaped there is, here."""
    escaped = msgspec.json.encode(text).decode()[1:-1]
    named = func.lower(cases.c.case_id).contains(text.lower(), autoescape=True)
    bodies = [_among(connection, body, escaped) for body in (results.c.body, cases.c.body)]
    return or_(*bodies, named)


def _among(connection: Connection, body: ColumnElement[bytes], text: str) -> ColumnElement[bool]:
    if connection.dialect.name == "postgresql":
        return func.strpos(func.lower(func.convert_from(body, "UTF8")), text.lower()) > 0
    # SQLite takes these letters alone for the same, large and small; and does so faster than by making them small.
    return cast(body, AsText).contains(text.translate(SMALL), autoescape=True)
