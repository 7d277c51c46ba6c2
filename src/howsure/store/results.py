"""Results and cases: pages by position, single results, grades without conversations, and what answers cost. A page
costs the same wherever it begins. Filtered and ordered lists are in `result_lists.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Raw, Struct
from sqlalchemy import ColumnElement, Connection, Select, and_, func, select

from howsure.errors import Conflict, NotFound
from howsure.model.case import Case, SingleTurn
from howsure.model.result import Result
from howsure.model.score import Grade
from howsure.model.summary import AnswerTotals
from howsure.model.transcript import SpanTimes, Usage, spans_ms
from howsure.model.verdict import DECIDED, Verdict
from howsure.store.codecs import decode_case, decode_grades, decode_result, encode_tags, transcript_of
from howsure.store.database import chunks, read_tuples
from howsure.store.result_batches import result_key
from howsure.store.schema import UNREADABLE_TIME, cases, results, scores

_whole = select(results, cases.c.format.label("case_format"), cases.c.body.label("case_body")).outerjoin(
    cases, and_(cases.c.run_id == results.c.run_id, cases.c.case_id == results.c.case_id)
)
"""A result whose case is missing is there, too, and damaged."""


def page(run_id: str, *, after: int | None, limit: int, filters: Mapping[str, Any]) -> Select[Any]:
    """The results after a position, in order. `filters` are columns and their values; None: any value."""
    wanted = [results.c[name] == value for name, value in filters.items() if value is not None]
    statement = _whole.where(results.c.run_id == run_id, *wanted).order_by(results.c.position).limit(limit)
    return statement if after is None else statement.where(results.c.position > after)


def number_of(connection: Connection, run_id: str, filters: Mapping[str, Any]) -> int:
    """How many results `page` would give altogether."""
    wanted = [results.c[name] == value for name, value in filters.items() if value is not None]
    return connection.execute(select(func.count()).where(results.c.run_id == run_id, *wanted)).scalar_one()


def digest(connection: Connection, run_id: str, filters: Mapping[str, Any]) -> bytes | None:
    """Another one whenever what a result shows is another: of the checksums of the run's results and cases. None where
    a row has no checksum, as older versions wrote it."""
    wanted = [results.c[name] == value for name, value in filters.items() if value is not None]
    own, made = cases.c, blake2b(digest_size=16)
    for statement in (
        select(own.case_id, own.checksum).where(own.run_id == run_id).order_by(own.case_id),
        select(results.c.verdict, results.c.checksum)
        .where(results.c.run_id == run_id, *wanted)
        .order_by(results.c.position),
    ):
        for text, checksum in connection.execute(statement):
            if checksum is None:
                return None
            made.update(msgspec.msgpack.encode((text, checksum)))
    return made.digest()


def load(connection: Connection, statement: Select[Any]) -> list[Result]:
    """The results that a statement made by `page` selects; a case that several of them share is decoded once."""
    known: dict[str, Case] = {}
    return [_result(row, known) for row in connection.execute(statement)]


def one(connection: Connection, run_id: str, key: str, filters: Mapping[str, Any]) -> Result:
    """A result by its id, or by its case's id where that names only one."""
    for column in ("id", "case_id"):
        statement = page(run_id, after=None, limit=6, filters={column: key, **filters})
        found = load(connection, statement)
        if len(found) == 1:
            return found[0]
        if found:
            listed = ", ".join(f"candidate {each.candidate!r} repeat {each.repeat}" for each in found[:5])
            more = ", …" if len(found) > 5 else ""
            raise Conflict(f"case {key!r} has several results: {listed}{more}; say which")
    raise NotFound(f"run {run_id} has no result or case {key!r}")


def by_ids(connection: Connection, result_ids: Sequence[str]) -> list[tuple[str, Result]]:
    """Results of any run, each with the id of its run."""
    found: list[tuple[str, Result]] = []
    for some in chunks(result_ids):
        rows = connection.execute(_whole.where(results.c.id.in_(some)))
        found += [(each.run_id, _result(each, {})) for each in rows]
    return found


class ResultGrades(Struct, frozen=True):
    """A result, as far as its grades go."""

    position: int
    case_id: str
    candidate: str
    repeat: int
    grades: tuple[Grade, ...]


def read_result_grades(connection: Connection, run_id: str, positions: Sequence[int]) -> list[ResultGrades]:
    """The grades of the results at these positions, without their conversations."""
    own = results.c
    statement = select(own.position, own.case_id, own.candidate, own.repeat, own.format, own.body)
    grades: list[ResultGrades] = []
    for some in chunks(positions):
        for row in connection.execute(statement.where(own.run_id == run_id, own.position.in_(some))):
            with suppress(*UNREADABLE):  # one that is damaged has no grades
                grades.append(ResultGrades(*row[:4], decode_grades(row.format, row.body)))
    return grades


def positions(
    connection: Connection, run_id: str, verdict: Verdict | None, near: tuple[int, int] | None = None
) -> list[int]:
    """Those that have a result; `near`: only from here to there, both counted."""
    statement = select(results.c.position).where(results.c.run_id == run_id).order_by(results.c.position)
    if verdict is not None:
        statement = statement.where(results.c.verdict == verdict.value)
    if near is not None:
        statement = statement.where(results.c.position.between(*near))
    return list(connection.scalars(statement))


def flagged_positions(connection: Connection, run_id: str, kind: str) -> list[int]:
    """Those whose result has a flag of this kind."""
    found = select(results.c.position, results.c.flags).where(results.c.run_id == run_id, results.c.flags.is_not(None))
    return [position for position, kinds in connection.execute(found) if kind in kinds.split()]


def cases_after(connection: Connection, run_id: str, after: int | None, limit: int) -> list[tuple[int, Case]]:
    """The next cases of a run, each with its position."""
    statement = select(cases).where(cases.c.run_id == run_id).order_by(cases.c.position).limit(limit)
    if after is not None:
        statement = statement.where(cases.c.position > after)
    return [(row.position, decode_case(row.format, row.body)) for row in connection.execute(statement)]


_VERDICTS = {verdict.value: verdict for verdict in DECIDED}
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, TypeError)


def stored_verdict(text: str) -> Verdict:
    """`damaged` where the column does not hold a verdict."""
    return _VERDICTS.get(text, Verdict.DAMAGED)


def _result(row: Any, known: dict[str, Case]) -> Result:
    """A result that cannot be read becomes a damaged one; the others are not affected."""
    case = known.get(row.case_id)
    try:
        if case is None:
            case = known[row.case_id] = decode_case(row.case_format, row.case_body)
        stored = decode_result(row.format, row.body)
    except UNREADABLE as error:
        case = case or Case(id=row.case_id, input=SingleTurn(message=""))
        return _damaged(row, case, f"the database holds it in a form that cannot be read ({error})")
    if row.verdict not in _VERDICTS:
        return _damaged(row, case, f"the database says {row.verdict!r} for its verdict")
    if row.created_at == UNREADABLE_TIME or _is_garbled(row):
        return _damaged(row, case, "the database holds text for it that cannot be read")
    return Result(
        case=case,
        verdict=_VERDICTS[row.verdict],
        reasons=stored.reasons,
        grades=stored.grades,
        failures=stored.failures,
        transcript=transcript_of(stored, case),
        fault=stored.fault,
        flags=stored.flags,
        candidate=row.candidate,
        repeat=row.repeat,
        position=row.position,
        created_at=row.created_at,
        duration_ms=row.duration_ms or 0.0,
    )


def _is_garbled(row: Any) -> bool:
    """Whether its texts were read with escapes: then its id is not made of them."""
    if not any("\\x" in text for text in (row.id, row.case_id, row.candidate)):
        return False
    return bool(row.id != result_key(UUID(row.run_id).bytes, row.case_id, row.candidate, row.repeat))


def _damaged(row: Any, case: Case, why: str) -> Result:
    reason = f"damaged: {why}; `howsure db check` says more"
    place = {"candidate": row.candidate, "repeat": row.repeat, "position": row.position}
    return Result(case=case, verdict=Verdict.DAMAGED, reasons=(reason,), **place)


TOKENS = "token_usage"
"""The measure whose details hold the tokens that spans report."""


class CostTotals(Struct, frozen=True, kw_only=True):
    """What one answer cost; None: not recorded."""

    position: int
    seconds: float | None = None
    usd: float | None = None
    tokens: int | None = None


class PartGrade(Struct, frozen=True):
    """How one criterion or rule of one result ended."""

    position: int
    candidate: str
    name: str
    part_id: str
    outcome: str


class _TranscriptCosts(Struct, frozen=True):
    duration_ms: float | None = None
    invented_times: bool = False
    usage: Usage | None = None
    spans: tuple[SpanTimes, ...] | None = None


class _Grade(Struct, frozen=True):
    name: str
    details: Raw = Raw(b"{}")


class _Body(Struct, frozen=True):
    transcript: _TranscriptCosts | None = None
    grades: tuple[_Grade, ...] = ()
    as_recorded: bool = False


class _Case(Struct, frozen=True):
    recorded: _TranscriptCosts | None = None


class _TokenDetails(Struct, frozen=True):
    total_tokens: int | None = None


_body = msgspec.json.Decoder(_Body).decode
_case = msgspec.json.Decoder(_Case).decode
_token_details = msgspec.json.Decoder(_TokenDetails).decode


def read_costs(connection: Connection, run_id: str, among: Sequence[int] | None = None) -> list[CostTotals]:
    """Of every result that has a transcript, or of those at these positions, in the order of their positions."""
    joined = results.join(cases, and_(cases.c.run_id == results.c.run_id, cases.c.case_id == results.c.case_id))
    statement = select(results.c.position, results.c.body, cases.c.body).select_from(joined)
    if among is not None:
        statement = statement.where(results.c.position.in_(among))
    rows = read_tuples(connection, statement.where(results.c.run_id == run_id).order_by(results.c.position))
    totals = (_cost_totals(position, body, case) for position, body, case in rows)
    return [each for each in totals if each is not None]


def sum_costs(connection: Connection, run_id: str) -> AnswerTotals:
    """Summed in parts: at most some hundred bodies are held at a time."""
    places = sorted(connection.scalars(select(results.c.position).where(results.c.run_id == run_id)))
    total = AnswerTotals()
    for some in chunks(places):
        for cost in read_costs(connection, run_id, some):
            total = AnswerTotals(
                answers=total.answers + 1,
                usd=total.usd + (cost.usd or 0.0),
                priced=total.priced + (cost.usd is not None),
                tokens=total.tokens + (cost.tokens or 0),
                counted=total.counted + (cost.tokens is not None),
                seconds=total.seconds + (cost.seconds or 0.0),
                timed=total.timed + (cost.seconds is not None),
            )
    return total


def _cost_totals(position: int, body: bytes, case: bytes) -> CostTotals | None:
    try:
        stored = _body(body)
        transcript = _case(case).recorded if stored.as_recorded else stored.transcript
    except UNREADABLE:
        return None
    if transcript is None:
        return None
    took = transcript.duration_ms
    if took is None and transcript.spans:
        took = spans_ms(transcript.spans)
    usage = transcript.usage or Usage()
    if usage.prompt_tokens is not None and usage.completion_tokens is not None:
        tokens: int | None = usage.prompt_tokens + usage.completion_tokens + (usage.thinking_tokens or 0)
    else:
        measured = (grade.details for grade in stored.grades if grade.name == TOKENS)
        tokens = next((_token_details(details).total_tokens for details in measured), None)
    return CostTotals(
        position=position,
        seconds=None if took is None or transcript.invented_times else took / 1000,
        usd=usage.cost_usd,
        tokens=tokens,
    )


def read_part_ids(connection: Connection, run_id: str) -> list[str]:
    """The ids of all rules and criteria that were asked about."""
    wanted = select(scores.c.part_id).where(scores.c.run_id == run_id, scores.c.part_id.is_not(None)).distinct()
    return sorted(connection.scalars(wanted))


def read_part_grades(connection: Connection, run_id: str, among: ColumnElement[bool]) -> list[PartGrade]:
    """The grades of rules and criteria that `among` chooses, in the order of their positions."""
    columns = (scores.c[name] for name in PartGrade.__struct_fields__)
    wanted = select(*columns).where(scores.c.run_id == run_id, scores.c.part_id.is_not(None), among)
    return [PartGrade(*each) for each in connection.execute(wanted.order_by(scores.c.position, scores.c.ordinal))]


def part_grades_at(connection: Connection, run_id: str, positions: Sequence[int]) -> list[PartGrade]:
    """Those of the results at these positions."""
    parts = (read_part_grades(connection, run_id, scores.c.position.in_(some)) for some in chunks(positions))
    return [grade for some in parts for grade in some]


def read_faces(connection: Connection, run_id: str, *among: ColumnElement[bool]) -> dict[str, bytes]:
    """The tags and labels of every case, or of those that `among` chooses, as they are stored, in the order of the
    plan."""
    statement = select(cases.c.case_id, cases.c.face).where(cases.c.run_id == run_id, *among).order_by(cases.c.position)
    found = read_tuples(connection, statement)
    older = _older_faces(connection, run_id) if any(body is None for _, body in found) else {}
    return {case_id: older[case_id] if body is None else bytes(body) for case_id, body in found}


def _older_faces(connection: Connection, run_id: str) -> dict[str, bytes]:
    """Of cases that were written before tags had a column: from their bodies."""
    statement = select(cases.c.format, cases.c.body).where(cases.c.run_id == run_id, cases.c.face.is_(None))
    older = (decode_case(version, body) for version, body in read_tuples(connection, statement))
    return {each.id: encode_tags(each) for each in older}
