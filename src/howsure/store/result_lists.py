"""Lists of the results of one run: which results a filter matches, in which order, one page at a time. The database
counts and pages by its indexes, so that no more is read than is shown. A text search must read bodies: in a large run
it looks through a part at a time and says how far it got."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from string import ascii_lowercase, ascii_uppercase
from time import monotonic
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import (
    ColumnElement,
    Connection,
    Float,
    Select,
    and_,
    case,
    cast,
    false,
    func,
    literal,
    or_,
    select,
    tuple_,
    union_all,
)
from sqlalchemy import Text as TextType

from howsure.store.codecs import tag_lines
from howsure.store.database import chunks, read_tuples
from howsure.store.run_columns import read_case_previews
from howsure.store.schema import cases, results, scores

BAD_OUTCOMES = ("failed", "error")
WORST_FIRST = ("failed", "errored", "damaged", "skipped", "passed")
SEARCHED_PER_PAGE = 1000
"""Results whose text is read at once; in a larger run the search goes on for `SEARCH_SECONDS`."""
SEARCH_SECONDS = 2.0
LARGEST_SEARCH = 100_000
SEARCH_CHUNK = 250
FIRST_SEARCH_CHUNK = 20
TO_LOWER_ASCII = str.maketrans(ascii_uppercase, ascii_lowercase)

SqlConditions = list[ColumnElement[bool]]


class ResultOrder(Enum):
    """How results are listed."""

    WORST = "worst"
    FILE = "file"
    SLOWEST = "slowest"


class ResultFilter(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which results of a run; a field at its default does not filter. `grader` failed or broke, in `part` (the id of a
    criterion or rule) or `component` where one is named; `text` occurs in the question, the answer or the reasons."""

    verdicts: tuple[str, ...] = ()
    candidate: str | None = None
    grader: str = ""
    part: str = ""
    component: str | None = None
    fault: str = ""
    tag: str = ""
    flaky: bool = False
    text: str = ""
    order: ResultOrder = ResultOrder.WORST

    @property
    def is_costly(self) -> bool:
        """Whether no index answers it: then all positions are read once, and everything else is made from them."""
        return bool(self.tag or self.flaky or self.grader or self.component is not None)


class ResultPage(Struct, frozen=True, kw_only=True):
    """A page of results. `positions` are those on it, `first` is the number of matches before it and `matching` of all
    matches. Where a text search looked through only some of `total` results (`looked_at`, from `start` on), these two
    are not known and None. `further` is the position after which the next page begins, `back` the one after which the
    page before begins: None where it is the first, or this is."""

    positions: list[int]
    total: int
    first: int | None
    matching: int | None
    start: int = 0
    looked_at: int | None = None
    further: int | None = None
    back: int | None = None


class ResultNeighbors(Struct, frozen=True):
    """The positions before and after a result among the matches; `place` is its number among `matching`; `page` is the
    position after which the page begins that lists it (None: the first). None: there is none, or the search did not get
    that far."""

    previous: int | None = None
    following: int | None = None
    place: int | None = None
    matching: int | None = None
    page: int | None = None


def all_positions(connection: Connection, run_id: str, filter: ResultFilter) -> list[int]:
    """The positions of all matches, in order, however long that takes."""
    positions = ResultQuery(connection, run_id, filter).after(None)
    return _containing(connection, run_id, filter.text, positions) if filter.text else positions


def result_page(connection: Connection, run_id: str, filter: ResultFilter, after: int | None, limit: int) -> ResultPage:
    """The page after a position; the first page where the result at that position no longer matches."""
    matches = _matches(connection, run_id, filter)
    total = matching = matches.count()
    if filter.text and total > SEARCHED_PER_PAGE:
        return _searched_page(connection, run_id, filter.text, matches, after, limit)
    if filter.text:
        matches = PositionList(_containing(connection, run_id, filter.text, matches.after(None)))
        matching = matches.count()
    first = 0 if after is None else matches.up_to(after)
    shown = matches.after(after, limit)
    more = shown[-1] if first + limit < matching else None
    before = matches.before(shown[0], limit + 1) if shown and first else []
    back = before[limit] if len(before) > limit else None
    return ResultPage(positions=shown, total=total, first=first, matching=matching, further=more, back=back)


def _searched_page(
    connection: Connection, run_id: str, text: str, matches: Matches, after: int | None, limit: int
) -> ResultPage:
    """Search until a page is full, the run ends, or the time is up."""
    total, start = matches.count(), 0 if after is None else matches.up_to(after)
    window = matches.after(after, LARGEST_SEARCH)
    end, found, latest = 0, list[int](), monotonic() + SEARCH_SECONDS
    while end < len(window) and len(found) <= limit and (end < SEARCHED_PER_PAGE or monotonic() < latest):
        found += _containing(connection, run_id, text, window[end : end + SEARCH_CHUNK])
        end = min(end + SEARCH_CHUNK, len(window))
    if len(found) > limit:
        end = window.index(found[limit - 1]) + 1
    return ResultPage(
        positions=found[:limit],
        total=total,
        first=None,
        matching=None,
        start=start,
        looked_at=end,
        further=window[end - 1] if start + end < total else None,
    )


def result_neighbors(
    connection: Connection, run_id: str, filter: ResultFilter, position: int, limit: int
) -> ResultNeighbors:
    """The neighbours of a result. One that does not match stands where it would be in the order of the file. `limit`:
    how many results a page lists."""
    matches, searched = _matches(connection, run_id, filter), filter.text
    total, place = matches.count_and_place(position)
    if searched and total <= SEARCHED_PER_PAGE:
        matches, searched = PositionList(_containing(connection, run_id, searched, matches.after(None))), ""
        total, place = matches.count_and_place(position)
    if place is None:
        matches = matches.in_file_order(position)
    distance = SEARCHED_PER_PAGE // 2 if searched else 1
    near = matches.before(position, distance), matches.after(position, distance)
    if searched:
        return ResultNeighbors(*(_first_containing(connection, run_id, searched, some) for some in near))
    previous, following = (some[0] if some else None for some in near)
    if place is None:
        return ResultNeighbors(previous, following)
    earlier = matches.before(position, (place - 1) % limit + 1) if place > limit else []
    return ResultNeighbors(previous, following, place, total, earlier[-1] if earlier else None)


def _matches(connection: Connection, run_id: str, filter: ResultFilter) -> Matches:
    query = ResultQuery(connection, run_id, filter)
    return PositionList(query.after(None)) if filter.is_costly else query


class PositionList:
    """The positions of matches that are known already, in order: what a `ResultQuery` tells, without the database."""

    def __init__(self, positions: list[int]) -> None:
        self._positions = positions

    def count(self) -> int:
        return len(self._positions)

    def up_to(self, position: int) -> int:
        return self._positions.index(position) + 1 if position in self._positions else 0

    def count_and_place(self, position: int) -> tuple[int, int | None]:
        return self.count(), self.up_to(position) or None

    def after(self, position: int | None, limit: int | None = None) -> list[int]:
        return self._positions[0 if position is None else self.up_to(position) :][:limit]

    def before(self, position: int, limit: int) -> list[int]:
        return self._positions[: max(0, self.up_to(position) - 1)][-limit:][::-1]

    def in_file_order(self, position: int) -> PositionList:
        return PositionList(sorted([*self._positions, position]))


class ResultQuery:
    """The results of a run that match a filter, in order; the filter's text is not searched here. Worst first is read
    one verdict after the other, because an index holds the results of each verdict in the order of the file."""

    def __init__(self, connection: Connection, run_id: str, filter: ResultFilter) -> None:
        self.connection = connection
        self.run_id = run_id
        self._filter = filter
        self._conditions = filter_conditions(connection, run_id, filter)
        self._key: ColumnElement[Any] | None = None
        self._verdicts: list[str] = []
        if filter.order is ResultOrder.SLOWEST:
            self._key = -func.coalesce(results.c.duration_ms, 0.0, type_=Float)
        elif filter.order is ResultOrder.WORST and filter.is_costly:
            ranks = {verdict: rank for rank, verdict in enumerate(WORST_FIRST)}
            self._key = case(ranks, value=results.c.verdict, else_=9)
        elif filter.order is ResultOrder.WORST:
            self._verdicts = [each for each in WORST_FIRST if not filter.verdicts or each in filter.verdicts]

    def count(self, *where: ColumnElement[bool]) -> int:
        statement = select(func.count()).where(results.c.run_id == self.run_id, *self._conditions, *where)
        return self.connection.scalar(statement) or 0

    def up_to(self, position: int) -> int:
        """How many matches come before the result at a position, itself included."""
        until = self._until(position)
        return 0 if until is None else self.count(until)

    def count_and_place(self, position: int) -> tuple[int, int | None]:
        """How many matches there are, and which of them, counted from 1, is at a position; None: none is."""
        until = self._until(position)
        if until is None:
            return self.count(), None
        place, own = func.count(case((until, 1))), func.count(case((results.c.position == position, 1)))
        statement = select(func.count(), place, own).where(results.c.run_id == self.run_id, *self._conditions)
        total, number, is_match = self.connection.execute(statement).one()
        return total, number if is_match else None

    def after(self, position: int | None, limit: int | None = None) -> list[int]:
        """The positions of the matches after a position; from the start where there is no result at it."""
        return self._read(position, limit, backwards=False)

    def before(self, position: int, limit: int) -> list[int]:
        """The positions of the matches before a position, the nearest first."""
        return self._read(position, limit, backwards=True)

    def in_file_order(self, position: int) -> ResultQuery:
        """The query for the same matches in the order of the file, where every position has a place."""
        return ResultQuery(self.connection, self.run_id, replace(self._filter, order=ResultOrder.FILE))

    def _read(self, position: int | None, limit: int | None, *, backwards: bool) -> list[int]:
        order: list[ColumnElement[Any]] = [results.c.position] if self._key is None else [self._key, results.c.position]
        if backwards:
            order = [column.desc() for column in order]
        found: list[int] = []
        for segment in self._segments(position, backwards):
            if limit is not None and len(found) >= limit:
                break
            statement = select(results.c.position).where(results.c.run_id == self.run_id, *self._conditions, *segment)
            left = None if limit is None else limit - len(found)
            found += [place for (place,) in read_tuples(self.connection, statement.order_by(*order).limit(left))]
        return found

    def _segments(self, position: int | None, backwards: bool) -> Iterator[SqlConditions]:
        """The conditions of the statements that, one after the other, read what is after (or before) a position."""
        if self._verdicts:
            verdicts = self._verdicts[::-1] if backwards else self._verdicts
            own = None if position is None else self._verdict_at(position)
            if position is not None and own in verdicts:
                beyond = results.c.position < position if backwards else results.c.position > position
                yield [results.c.verdict == own, beyond]
                verdicts = verdicts[verdicts.index(own) + 1 :]
            yield from ([results.c.verdict == each] for each in verdicts)
        elif position is None:
            yield []
        elif (here := self._key_at(position)) is not None:
            yield [self._keys() < here if backwards else self._keys() > here]
        elif not backwards:
            yield []

    def _until(self, position: int) -> ColumnElement[bool] | None:
        """The condition of everything up to the result at a position; None: it is not in the list."""
        if not self._verdicts:
            here = self._key_at(position)
            return None if here is None else self._keys() <= here
        own = self._verdict_at(position)
        if own not in self._verdicts:
            return None
        worse = self._verdicts[: self._verdicts.index(own)]
        return or_(results.c.verdict.in_(worse), and_(results.c.verdict == own, results.c.position <= position))

    def _verdict_at(self, position: int) -> str | None:
        own = (results.c.run_id == self.run_id, results.c.position == position)
        return self.connection.scalar(select(results.c.verdict).where(*own))

    def _keys(self) -> ColumnElement[Any]:
        return results.c.position if self._key is None else tuple_(self._key, results.c.position)

    def _key_at(self, position: int) -> ColumnElement[Any] | None:
        """What `_keys` of the result at a position is; None: there is no result."""
        if self._key is None:
            return literal(position)
        own = (results.c.run_id == self.run_id, results.c.position == position)
        found = self.connection.execute(select(self._key).where(*own)).first()
        return None if found is None else tuple_(literal(found[0], Float), literal(position))


Matches = ResultQuery | PositionList


def filter_conditions(connection: Connection, run_id: str, filter: ResultFilter) -> SqlConditions:
    columns, conditions = results.c, SqlConditions()
    if filter.verdicts:
        conditions.append(columns.verdict.in_(filter.verdicts))
    if filter.candidate is not None:
        conditions.append(columns.candidate == filter.candidate)
    if filter.fault:
        conditions.append(columns.fault == filter.fault)
    if filter.grader or filter.component is not None:
        conditions.append(_failed_by(connection, run_id, filter))
    if filter.tag:
        conditions.append(columns.case_id.in_(_cases_with_tag(connection, run_id, filter.tag)))
    if filter.flaky:
        conditions.append(tuple_(columns.case_id, columns.candidate).in_(flaky_pairs(run_id)))
    return conditions


def _failed_by(connection: Connection, run_id: str, filter: ResultFilter) -> ColumnElement[bool]:
    """Candidate, grader and component are named one by one, so that the summary's index leads to the failures."""
    own, failed = scores.c, list[Select[Any]]()
    for candidate in _distinct(connection, own.candidate, own.run_id == run_id):
        of_candidate = (own.run_id == run_id, own.candidate == candidate)
        for name in [filter.grader] if filter.grader else _distinct(connection, own.name, *of_candidate):
            here = (*of_candidate, own.name == name)
            part = [own.part_id == filter.part] if filter.part else []
            if filter.component is not None:
                scopes = [own.scope == filter.component]
            else:
                # The grade of a whole case has no scope.
                named = (own.scope == each for each in _distinct(connection, own.scope, *here))
                scopes = [own.scope.is_(None), *named]
            bad = own.outcome.in_(BAD_OUTCOMES)
            failed += [select(own.position).where(*here, scope, bad, *part) for scope in scopes]
    return results.c.position.in_(union_all(*failed)) if failed else false()


def _distinct(connection: Connection, column: ColumnElement[str], *where: ColumnElement[bool]) -> list[str]:
    """The values of a column that an index is ordered by: one lookup for each, however many rows have it."""
    found: list[str] = []
    while True:
        behind = [column > found[-1]] if found else []
        least = connection.scalar(select(func.min(column)).where(*where, *behind))
        if least is None:
            return found
        found.append(least)


def _cases_with_tag(connection: Connection, run_id: str, tag: str) -> Select[Any] | list[str]:
    """The cases that have the tag or label. Cases stored by older versions have no tag column: theirs are in bodies."""
    older = select(cases.c.run_id).where(cases.c.run_id == run_id, cases.c.face.is_(None)).limit(1)
    if connection.execute(older).first() is not None:
        previews = read_case_previews(connection, run_id)
        return [case.id for case in previews if tag in tag_texts(case.tags, case.labels)]
    if connection.dialect.name == "postgresql":
        text = func.convert_from(cases.c.face, "UTF8")
        conditions = [func.strpos(text, line.decode()) > 0 for line in tag_lines(tag)]
    else:
        conditions = [func.instr(cases.c.face, line) > 0 for line in tag_lines(tag)]
    return select(cases.c.case_id).where(cases.c.run_id == run_id, or_(*conditions))


def tag_texts(tags: tuple[str, ...], labels: dict[str, str]) -> tuple[str, ...]:
    """Tags and labels in the form that a filter takes."""
    return (*tags, *(f"{name}: {value}" for name, value in labels.items()))


def flaky_pairs(run_id: str) -> Select[Any]:
    """The pairs of case and candidate whose repeats have different verdicts."""
    columns = results.c
    pair = (columns.case_id, columns.candidate)
    statement = select(*pair).where(columns.run_id == run_id).group_by(*pair)
    return statement.having(func.count(columns.verdict.distinct()) > 1)


def _first_containing(connection: Connection, run_id: str, text: str, positions: Sequence[int]) -> int | None:
    """The first result that contains the text. The first few are searched alone: it is mostly among them."""
    parts = (positions[:FIRST_SEARCH_CHUNK], *chunks(positions[FIRST_SEARCH_CHUNK:], SEARCH_CHUNK))
    return next((found[0] for part in parts if (found := _containing(connection, run_id, text, part))), None)


def _containing(connection: Connection, run_id: str, text: str, positions: Sequence[int]) -> list[int]:
    """Those of these results that contain the text, in their order."""
    found: set[int] = set()
    same_case = and_(cases.c.run_id == results.c.run_id, cases.c.case_id == results.c.case_id)
    statement = select(results.c.position).select_from(results.join(cases, same_case))
    statement = statement.where(results.c.run_id == run_id, _contains(connection, text))
    for some in chunks(positions, SEARCH_CHUNK):
        rows = read_tuples(connection, statement.where(results.c.position.in_(some)))
        found.update(place for (place,) in rows)
    return [position for position in positions if position in found]


def _contains(connection: Connection, text: str) -> ColumnElement[bool]:
    """Whether a body or the case's id contains the text; the case of Latin letters does not matter. Bodies are JSON, so
    the text is escaped as JSON escapes it."""
    escaped = msgspec.json.encode(text).decode()[1:-1]
    in_id = func.lower(cases.c.case_id).contains(text.lower(), autoescape=True)
    if connection.dialect.name == "postgresql":
        lower = [func.lower(func.convert_from(body, "UTF8")) for body in (results.c.body, cases.c.body)]
        return or_(*(func.strpos(body, escaped.lower()) > 0 for body in lower), in_id)
    # SQLite's LIKE ignores the case of exactly these letters, and is faster than making them small.
    small = escaped.translate(TO_LOWER_ASCII)
    bodies = [cast(body, TextType).contains(small, autoescape=True) for body in (results.c.body, cases.c.body)]
    return or_(*bodies, in_id)
