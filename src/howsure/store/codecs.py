"""How bodies are encoded and decoded, and the checksums of what is stored. A body written by a newer Howsure is
refused, never half-read. Checksums (of a result with its scores, a case, a version of a document, a run as it was
created and as it ended) show damage, and changes by anybody who does not also recompute them; if the store is opened
with a key, they can be made with this key alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b, sha256
from typing import Any

import msgspec
from msgspec import Struct, field
from sqlalchemy import Connection, Engine

from howsure.errors import InputError
from howsure.model.case import Case
from howsure.model.flag import Flag
from howsure.model.plain_values import encode as encode
from howsure.model.result import FORMAT, Failure, Result
from howsure.model.run import Pins
from howsure.model.score import Grade
from howsure.model.simulation import Fault
from howsure.model.transcript import Transcript

CHECKSUM_BYTES = 16
RESULT_COLUMNS = ("id", "run_id", "case_id", "candidate", "repeat", "position", "verdict", "duration_ms", "created_at",
                  "format", "body", "fault", "flags")  # fmt: skip
SCORE_COLUMNS = ("ordinal", "candidate", "name", "part_id", "scope", "outcome", "value", "scale_low", "scale_high",
                 "direction", "pass_mark")  # fmt: skip
CASE_COLUMNS = ("run_id", "case_id", "format", "body", "face")
"""Not its position: that of its first result can be compared with it."""
RUN_COLUMNS = ("id", "name", "agent_id", "created_at", "total", "format", "body", "organization_id")
END_COLUMNS = ("id", "state", "started_at", "completed_at", "total", "error", "spent", "passed", "failed", "errored",
               "skipped", "damaged", "groups")  # fmt: skip
VERSION_COLUMNS = ("organization_id", "kind", "id", "version", "created_at", "author", "note", "sha256", "dialect",
                   "body")  # fmt: skip

StoredRow = Mapping[Any, Any]


class StoredResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A Result without its case and without what has a column. `as_recorded`: the transcript is the case's recorded one
    and is not stored twice."""

    reasons: tuple[str, ...] = ()
    grades: tuple[Grade, ...] = ()
    failures: tuple[Failure, ...] = ()
    transcript: Transcript | None = None
    fault: Fault | None = None
    flags: tuple[Flag, ...] = ()
    as_recorded: bool = False


_result = msgspec.json.Decoder(StoredResult).decode
_case = msgspec.json.Decoder(Case).decode
_pins = msgspec.json.Decoder(Pins).decode


def encode_result(result: Result) -> bytes:
    # A named candidate has its own answers; only those of the dataset are sure to be in the stored case.
    own = result.transcript is not None and not result.candidate
    as_recorded = own and result.transcript is result.case.recorded
    return encode(
        StoredResult(
            reasons=result.reasons,
            grades=result.grades,
            failures=result.failures,
            transcript=None if as_recorded else result.transcript,
            fault=result.fault,
            flags=result.flags,
            as_recorded=as_recorded,
        )
    )


class CaseTags(Struct, frozen=True):
    """What a case can be chosen by, apart from its body."""

    tags: tuple[str, ...] = ()
    labels: dict[str, str] = field(default_factory=dict)


NO_TAGS = CaseTags()
_tags = msgspec.json.Decoder(tuple[str, ...]).decode
_labels = msgspec.json.Decoder(dict[str, str]).decode


def encode_tags(case: Case | CaseTags) -> bytes:
    """Its tags and labels, one a line, so that a database can search for a line; empty where it has none."""
    if not case.tags and not case.labels:
        return b""
    labels = [_label(name, value) for name, value in case.labels.items()]
    return b"\n%b\n" % b"\n".join([*map(encode, case.tags), *labels])


def _label(name: str, value: str) -> bytes:
    return b"=%b:%b" % (encode(name), encode(value))


def tag_lines(text: str) -> list[bytes]:
    """The lines, with their line breaks, that a tag, or a label as `name: value`, may be stored as."""
    cuts = [place for place in range(len(text)) if text.startswith(": ", place)]
    return [b"\n%b\n" % line for line in (encode(text), *(_label(text[:cut], text[cut + 2 :]) for cut in cuts))]


def decode_tags(body: bytes) -> CaseTags:
    lines = body[1:-1].split(b"\n") if body else []
    tags = [line for line in lines if not line.startswith(b"=")]
    labels = [line[1:] for line in lines if line.startswith(b"=")]
    return CaseTags(_tags(b"[%b]" % b",".join(tags)), _labels(b"{%b}" % b",".join(labels))) if lines else NO_TAGS


def decode_result(version: int, body: bytes) -> StoredResult:
    _check(version, "result")
    return _result(body)


class _Grades(Struct, frozen=True):
    grades: tuple[Grade, ...] = ()


_grades = msgspec.json.Decoder(_Grades).decode


def decode_grades(version: int, body: bytes) -> tuple[Grade, ...]:
    """Only the grades of a result: most of a body is its conversation."""
    _check(version, "result")
    return _grades(body).grades


def decode_case(version: int, body: bytes) -> Case:
    _check(version, "case")
    return _case(body)


def decode_pins(version: int, body: bytes) -> Pins:
    _check(version, "run")
    return _pins(body)


def transcript_of(stored: StoredResult, case: Case) -> Transcript | None:
    """The transcript of a stored result: its own, or the one recorded in the case."""
    if stored.as_recorded and isinstance(case.recorded, Transcript):
        return case.recorded
    return stored.transcript


def _check(version: int, what: str) -> None:
    if version > FORMAT:
        raise InputError(
            f"this {what} was stored by a newer Howsure (format {version}; this one reads up to {FORMAT}): "
            "upgrade Howsure to read it"
        )


def key_option(secret: str) -> dict[str, bytes]:
    """The option of an engine that holds the key made of a secret."""
    return {"integrity_key": sha256(secret.encode()).digest() if secret else b""}


def key_of(holder: Connection | Engine) -> bytes:
    """The key with which a store was opened; empty: without one."""
    key: bytes = holder.get_execution_options().get("integrity_key", b"")
    return key


def checksum(values: Any, key: bytes) -> bytes:
    """The checksum of values as the database returns them: times as text, fractional numbers as floats."""
    return blake2b(msgspec.msgpack.encode(values), digest_size=CHECKSUM_BYTES, key=key).digest()


def row_checksum(connection: Connection, row: StoredRow, columns: tuple[str, ...]) -> bytes:
    """Of these columns of a row, whose times are text."""
    return checksum([row[name] for name in columns], key_of(connection))


def result_checksum(connection: Connection, row: StoredRow, scores: Iterable[StoredRow]) -> bytes:
    """Of a result with its scores."""
    grades = [[each[name] for name in SCORE_COLUMNS] for each in scores]
    return checksum(([row[name] for name in RESULT_COLUMNS], grades), key_of(connection))
