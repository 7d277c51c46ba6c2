"""Checksums of what is stored: a result with its scores, a case, a version of a document, a run as it was created and
as it ended. They show damage, and changes by whoever does not make them anew. Where the store is opened with a key,
they can be made with this key alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b, sha256
from typing import Any

import msgspec
from sqlalchemy import Connection, Engine

BYTES = 16

RESULT_COLUMNS = ("id", "run_id", "case_id", "candidate", "repeat", "position", "verdict", "duration_ms", "created_at",
                  "format", "body", "fault", "flags")  # fmt: skip
SCORE_COLUMNS = ("ordinal", "candidate", "name", "part_id", "scope", "outcome", "value", "scale_low", "scale_high",
                 "direction", "pass_mark")  # fmt: skip
CASE_COLUMNS = ("run_id", "case_id", "format", "body", "face")
"""Not its position: that is the first of its results, and can be compared."""
RUN_COLUMNS = ("id", "name", "agent_id", "created_at", "total", "format", "body", "organization_id")
END_COLUMNS = ("id", "state", "started_at", "completed_at", "total", "error", "spent", "passed", "failed", "errored",
               "skipped", "damaged", "groups")  # fmt: skip
VERSION_COLUMNS = ("organization_id", "kind", "id", "version", "created_at", "author", "note", "sha256", "dialect",
                   "body")  # fmt: skip

StoredRow = Mapping[Any, Any]
_pack = msgspec.msgpack.encode


def key_option(secret: str) -> dict[str, bytes]:
    """The option of an engine that holds the key made of a secret."""
    return {"integrity_key": sha256(secret.encode()).digest() if secret else b""}


def key_of(holder: Connection | Engine) -> bytes:
    """The key with which a store was opened; empty: without one."""
    key: bytes = holder.get_execution_options().get("integrity_key", b"")
    return key


def checksum(values: Any, key: bytes) -> bytes:
    """Of values as the database gives them back: times as text, numbers with a fraction as floats."""
    return blake2b(_pack(values), digest_size=BYTES, key=key).digest()


def row_checksum(connection: Connection, row: StoredRow, columns: tuple[str, ...]) -> bytes:
    """Of these columns of a row, whose times are text."""
    return checksum([row[name] for name in columns], key_of(connection))


def result_checksum(connection: Connection, row: StoredRow, scores: Iterable[StoredRow]) -> bytes:
    """Of a result with its scores."""
    grades = [[each[name] for name in SCORE_COLUMNS] for each in scores]
    return checksum(([row[name] for name in RESULT_COLUMNS], grades), key_of(connection))
