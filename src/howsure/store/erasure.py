"""Erases conversations from results: all of a run, or those that name one user. Verdicts, the numbers of scores and all
counts stay; what was asked, said, quoted and explained is replaced by a note, and checksums are recomputed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection, RowMapping, select, update

from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.case import Case, SingleTurn
from howsure.model.flag import Flag
from howsure.model.result import FORMAT
from howsure.model.score import Grade, Score, Unscored
from howsure.store.codecs import (
    CASE_COLUMNS,
    StoredResult,
    decode_case,
    decode_result,
    encode,
    encode_tags,
    result_checksum,
    row_checksum,
)
from howsure.store.database import StorePart, raw_rows
from howsure.store.pages import visible
from howsure.store.schema import OWNED, cases, document_versions, documents, labels, results, runs, scores

NOTE = "[erased]"
USER_KEYS = frozenset(("userid", "user", "enduserid", "enduser", "sessionuser", "sessionuserid"))
"""Names of fields that hold the id of a user, in small letters and without `_`, `-` and `.`; of `/a/user_id`, a field
that a dialect did not know, the last part."""
_NOT_LETTERS = re.compile("[_.-]")
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError)


class ErasureReport(Struct, frozen=True, kw_only=True):
    """What was erased, or would be: the cases and results by run. `documents` hold the id too and were left as they
    are: a dataset is changed by whoever keeps it."""

    runs: dict[str, int]
    cases: int
    results: int
    documents: tuple[str, ...]

    def audit_subject(self, user_id: str) -> str:
        """The subject for the audit log, which must not hold the id itself: a hash of it."""
        return f"user sha256:{sha256(user_id.encode()).hexdigest()[:16]} results={self.results}"


class UserErasure(StorePart):
    """`within` is the part of the store that the caller may see."""

    async def erase(self, user_id: str, *, within: AccessScope = EVERYWHERE, dry_run: bool = False) -> ErasureReport:
        ids = await self._database.read(lambda it: list(it.scalars(visible(select(runs.c.id), runs, within))))
        found: dict[str, int] = {}
        erased = 0
        for run_id in ids:
            chosen = await self._database.read(_cases_of_user, run_id, user_id)
            if chosen:
                do = self._database.read if dry_run else self._database.write
                found[run_id] = await do(erase_cases, run_id, chosen, user_id, dry_run)
                erased += len(chosen)
        named = await self._database.read(_documents_of_user, user_id, within)
        return ErasureReport(runs=found, cases=erased, results=sum(found.values()), documents=tuple(named))


def _cases_of_user(connection: Connection, run_id: str, user_id: str) -> set[str]:
    """The cases of a run that name a user, in themselves or in one of their results."""
    return {
        row["case_id"]
        for table in (cases, results)
        for row in raw_rows(connection, table, table.c.run_id == run_id, order="position")
        if names_user(row["body"], user_id)
    }


def names_user(body: bytes, user_id: str) -> bool:
    """Whether a field for a user's id, or a label, has this value."""
    if msgspec.json.encode(user_id)[1:-1] not in body:
        return False
    try:
        value = msgspec.json.decode(body)
    except UNREADABLE:
        return False
    return any(found == user_id for found in _users_in(value))


def _users_in(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from _users_in(each)
    elif isinstance(value, dict):
        # An attribute of a span may be written as {"key": "enduser.id", "value": {"stringValue": "…"}}.
        named = {**value, str(value["key"]): value.get("value")} if isinstance(value.get("key"), str) else value
        for name, inner in named.items():
            if name == "labels" and isinstance(inner, dict):
                yield from map(str, inner.values())
            if _NOT_LETTERS.sub("", name.rpartition("/")[2]).lower() in USER_KEYS:
                own = inner.values() if isinstance(inner, dict) else [inner]
                yield from (str(each) for each in own if isinstance(each, str | int))
            yield from _users_in(inner)


def has_conversations(connection: Connection, run_id: str) -> bool:
    """Whether the conversations of a run are still there."""
    first = select(cases.c.body).where(cases.c.run_id == run_id).order_by(cases.c.position).limit(1)
    return NOTE.encode() not in (connection.scalar(first) or NOTE.encode())


def erase_conversations(connection: Connection, run_id: str) -> int:
    """All conversations of a run."""
    chosen = set(connection.scalars(select(cases.c.case_id).where(cases.c.run_id == run_id)))
    return erase_cases(connection, run_id, chosen, None)


def erase_cases(
    connection: Connection, run_id: str, chosen: set[str], user_id: str | None, dry_run: bool = False
) -> int:
    """How many results these cases have."""
    every = connection.execute(select(results.c.position, results.c.case_id).where(results.c.run_id == run_id))
    positions = [position for position, case_id in every if case_id in chosen]
    if dry_run:
        return len(positions)
    # One row after the other: a run may hold more than fits into memory.
    for case_id in sorted(chosen):
        here = (cases.c.run_id == run_id, cases.c.case_id == case_id)
        for row in list(raw_rows(connection, cases, *here, order="position")):
            case = _blank_case(row, user_id)
            values: dict[str, Any] = {"format": FORMAT, "body": encode(case), "face": encode_tags(case)}
            values["checksum"] = row_checksum(connection, {**row, **values}, CASE_COLUMNS)
            connection.execute(update(cases).where(*here).values(values))
    for position in positions:
        _erase_result(connection, run_id, position)
    return len(positions)


def _erase_result(connection: Connection, run_id: str, position: int) -> None:
    (row,) = raw_rows(connection, results, results.c.run_id == run_id, results.c.position == position, order="id")
    grades = raw_rows(connection, scores, scores.c.run_id == run_id, scores.c.position == position, order="ordinal")
    blank = {**row, "format": FORMAT, "body": encode(_blank_result(row))}
    made = result_checksum(connection, blank, grades)
    changed = update(results).where(results.c.id == row["id"])
    connection.execute(changed.values(format=FORMAT, body=blank["body"], checksum=made))
    said = update(labels).where(labels.c.run_id == run_id, labels.c.position == position)
    connection.execute(said.values(why=""))


def _blank_case(row: RowMapping, user_id: str | None) -> Case:
    blank = Case(id=row["case_id"], input=SingleTurn(message=NOTE))
    try:
        case = decode_case(row["format"], row["body"])
    except UNREADABLE:
        return blank
    kept = {name: value for name, value in case.labels.items() if value != user_id}
    return replace(blank, world=case.world, profile=case.profile, tags=case.tags, labels=kept)


def _blank_result(row: RowMapping) -> StoredResult:
    try:
        stored = decode_result(row["format"], row["body"])
    except UNREADABLE:
        return StoredResult(reasons=(NOTE,))
    return StoredResult(
        reasons=(NOTE,),
        grades=tuple(map(_blank_grade, stored.grades)),
        failures=tuple(replace(each, message=NOTE) for each in stored.failures),
        fault=stored.fault and replace(stored.fault, reason=NOTE, evidence=""),
        flags=tuple(Flag(each.kind, NOTE) for each in stored.flags),
    )


def _blank_grade(grade: Grade) -> Grade:
    part = grade.part and replace(grade.part, text=NOTE)
    match grade:
        case Score():
            return replace(grade, reason=NOTE, evidence=(), details={}, part=part)
        case Unscored():
            return replace(grade, reason=NOTE, details={}, part=part)


def _documents_of_user(connection: Connection, user_id: str, within: AccessScope) -> list[str]:
    """The versions of documents whose text holds the id, in whatever field."""
    needles = (msgspec.json.encode(user_id)[1:-1], user_id.encode())
    seen = visible(select(*(documents.c[name] for name in OWNED)), documents, within).order_by(documents.c.id)
    found: list[str] = []
    for key in connection.execute(seen).all():
        own = (document_versions.c[name] == value for name, value in zip(OWNED, key, strict=True))
        versions = raw_rows(connection, document_versions, *own, order="version")
        holding = [row["version"] for row in versions if any(needle in row["body"] for needle in needles)]
        found += [f"{key.kind} {key.id} version {number}" for number in holding]
    return found
