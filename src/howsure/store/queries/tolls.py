"""What the answers of a run took: time, money, tokens; and how one rule or criterion ended, result by result. Bodies
are decoded only as far as that needs."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Raw, Struct
from sqlalchemy import Connection, and_, select

from howsure.model.transcript import Usage
from howsure.store.queries.columns import tuples
from howsure.store.schema import cases, results, scores

TOKENS = "token_usage"
"""The measure whose details hold the tokens that spans report."""


class Toll(Struct, frozen=True, kw_only=True):
    """Of one answer; None: nobody recorded it."""

    position: int
    seconds: float | None = None
    usd: float | None = None
    tokens: int | None = None


class PartGrade(Struct, frozen=True):
    """How one criterion or rule of one result ended."""

    position: int
    candidate: str
    part_id: str
    outcome: str


class _Talk(Struct, frozen=True):
    duration_ms: float | None = None
    invented_times: bool = False
    usage: Usage | None = None


class _Grade(Struct, frozen=True):
    name: str
    details: Raw = Raw(b"{}")


class _Body(Struct, frozen=True):
    transcript: _Talk | None = None
    grades: tuple[_Grade, ...] = ()
    as_recorded: bool = False


class _Case(Struct, frozen=True):
    recorded: _Talk | None = None


class _Counted(Struct, frozen=True):
    total_tokens: int | None = None


_body = msgspec.json.Decoder(_Body).decode
_case = msgspec.json.Decoder(_Case).decode
_counted = msgspec.json.Decoder(_Counted).decode


def tolls(connection: Connection, run_id: str, among: Sequence[int] | None = None) -> list[Toll]:
    """Of every result that has a transcript, or of those at these positions, in the order of their positions."""
    joined = results.join(cases, and_(cases.c.run_id == results.c.run_id, cases.c.case_id == results.c.case_id))
    wanted = select(results.c.position, results.c.body, cases.c.body).select_from(joined)
    if among is not None:
        wanted = wanted.where(results.c.position.in_(among))
    found = tuples(connection, wanted.where(results.c.run_id == run_id).order_by(results.c.position))
    tolled = (_toll(position, body, case) for position, body, case in found)
    return [each for each in tolled if each is not None]


def _toll(position: int, body: bytes, case: bytes) -> Toll | None:
    stored = _body(body)
    talk = _case(case).recorded if stored.as_recorded else stored.transcript
    if talk is None:
        return None
    timed = talk.duration_ms is not None and not talk.invented_times
    usage = talk.usage or Usage()
    return Toll(
        position=position,
        seconds=(talk.duration_ms or 0.0) / 1000 if timed else None,
        usd=usage.cost_usd,
        tokens=_tokens(usage, stored.grades),
    )


def _tokens(usage: Usage, grades: Sequence[_Grade]) -> int | None:
    if usage.prompt_tokens is not None and usage.completion_tokens is not None:
        return usage.prompt_tokens + usage.completion_tokens + (usage.thinking_tokens or 0)
    return next((_counted(grade.details).total_tokens for grade in grades if grade.name == TOKENS), None)


def part_ids(connection: Connection, run_id: str) -> list[str]:
    """The ids of all rules and criteria that were asked about."""
    wanted = select(scores.c.part_id).where(scores.c.run_id == run_id, scores.c.part_id.is_not(None)).distinct()
    return sorted(connection.scalars(wanted))


def part_grades(connection: Connection, run_id: str, ids: Sequence[str]) -> list[PartGrade]:
    """Every grade of these rules and criteria, in the order of their positions."""
    columns = scores.c
    wanted = select(columns.position, columns.candidate, columns.part_id, columns.outcome)
    wanted = wanted.where(columns.run_id == run_id, columns.part_id.in_(ids))
    return [PartGrade(*each) for each in connection.execute(wanted.order_by(columns.position, columns.ordinal))]
