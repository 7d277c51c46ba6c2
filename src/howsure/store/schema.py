"""The tables: runs with their cases, results and scores; and what the service stores besides: documents, the queue of
runs, keys, answers to repeated requests, the log of writes, labels. Bodies are JSON written by msgspec, each with the
version of its format; everything that is counted, sorted or filtered by has a column of its own. Times are UTC and ids
are text on every database. What belongs to an organisation says so in a column, and every query asks for it."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import partial
from typing import Any

from sqlalchemy import (
    Column,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    text,
)
from sqlalchemy.event import listens_for
from sqlalchemy.exc import DontWrapMixin
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import SchemaItem

from howsure.errors import NUL, InputError

HEAD = "0012"
"""The newest revision in migrations/versions; revisions are numbers, so older and newer can be told apart."""

VERDICTS = ("passed", "failed", "errored", "skipped", "damaged")

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class _CodePoints(Text):
    """Text whose order is that of its code points on every database, whatever language a server is set to."""


@compiles(_CodePoints, "postgresql")
def _in_order_of_code_points(*_: object, **__: object) -> str:
    # Only where a column is made: the type's own `collation` would stand beside every value, too.
    return 'TEXT COLLATE "C"'


class UnstorableText(InputError, DontWrapMixin):
    """SQLAlchemy lets this pass as it is."""


class CodePointText(TypeDecorator[str]):
    """Text as every database can hold it: what PostgreSQL cannot is refused by SQLite too. `field` is its column."""

    impl = _CodePoints
    cache_ok = True

    def __init__(self, field: str = "") -> None:
        super().__init__()
        self.field = field

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        if value and (found := _UNSTORABLE.search(value)):
            what = NUL if found[0] == "\0" else "half a character (a lone surrogate)"
            where = f"{self.field}: {what} stands in {value[:100]!r}"
            raise UnstorableText(f"{where}: take it out of ids, names and labels")
        return value


@listens_for(Column, "after_parent_attach")
def _name_field(column: Column[str], table: SchemaItem) -> None:
    if isinstance(column.type, CodePointText):
        column.type = CodePointText(column.name)


def as_text(moment: datetime) -> str:
    """Fixed width and always UTC, so that text order is time order. A time without a zone is refused, not guessed."""
    if moment.tzinfo is None:
        raise ValueError(f"{moment.isoformat()} has no time zone")
    # Most times are UTC already, and this is called for every result.
    return (moment if moment.tzinfo is UTC else moment.astimezone(UTC)).isoformat(timespec="microseconds")


UNREADABLE_TIME = datetime.min.replace(tzinfo=UTC)
"""Replaces a time whose text is damaged."""


def read_time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return UNREADABLE_TIME


class UtcTimestamp(TypeDecorator[datetime]):
    """A time, kept as text."""

    impl = _CodePoints
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> str | None:
        return None if value is None else as_text(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> datetime | None:
        return None if value is None else read_time(value)


metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)

revision = Table("alembic_version", metadata, Column("version_num", String(32), primary_key=True))


def _columns(kind: Any, *names: str, **options: Any) -> list[Column[Any]]:
    """Columns of one kind, in this order."""
    return [Column(name, kind, **options) for name in names]


_keys = partial(_columns, CodePointText, primary_key=True)
_texts = partial(_columns, CodePointText, nullable=False)
_times = partial(_columns, UtcTimestamp, nullable=False)
_numbers = partial(_columns, Integer, nullable=False)

runs = Table(
    "runs",
    metadata,
    Column("id", CodePointText, primary_key=True),
    *_texts("name", "agent_id", "state"),
    Column("created_at", UtcTimestamp, nullable=False),
    *_times("started_at", "completed_at", "heartbeat_at", nullable=True),
    Column("owner", CodePointText),
    Column("total", Integer, nullable=False),
    Column("error", CodePointText, nullable=False),
    Column("spent", LargeBinary),
    Column("format", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("organization_id", CodePointText, nullable=False, server_default=""),
    # Counted as results are written, so that a list of runs need not look at any result.
    *(Column(verdict, Integer, nullable=False, server_default="0") for verdict in VERDICTS if verdict != "damaged"),
    # What a summary is made of, once the run has ended; cleared when a result is written after that.
    Column("groups", LargeBinary),
    # Checksums (`codecs.py`) of what was pinned, and of how it ended; null in what older versions wrote.
    Column("checksum", LargeBinary),
    Column("seal", LargeBinary),
    # Results that `howsure db check --mark` found to be damaged.
    Column("damaged", Integer, nullable=False, server_default="0"),
    # The order in which runs were made, whatever the clock said.
    Column("sequence", Integer, nullable=False, server_default="0"),
    # Its tags, as JSON; null: none. Not part of the checksums, because they may change at any time.
    Column("tags", LargeBinary),
    Index(None, "organization_id", "created_at", "id"),
    Index(None, "created_at", "id"),
    Index(None, "organization_id", "sequence", "id"),
    Index(None, "sequence", "id"),
    Index(None, "name", "sequence"),
    Index(None, "agent_id", "sequence"),
)

cases = Table(
    "cases",
    metadata,
    Column("run_id", CodePointText, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("case_id", CodePointText, primary_key=True),
    *_numbers("position", "format"),
    Column("body", LargeBinary, nullable=False),
    # Tags and labels, so that cases are chosen by them without their bodies; null in what older versions wrote.
    Column("face", LargeBinary),
    Column("checksum", LargeBinary),
    # SQLite reads cases by their tags from the index alone. PostgreSQL keeps long bodies elsewhere, and has a limit on
    # how long an entry of an index may be.
    Index("ix_cases_run_id_position", "run_id", "position").ddl_if(dialect="postgresql"),
    Index("ix_cases_faces", "run_id", "position", "case_id", "face").ddl_if(dialect="sqlite"),
    # Those that older versions wrote: whether a run has any is asked whenever cases are chosen by a tag.
    Index("ix_cases_older", "run_id", "face", sqlite_where=text("face IS NULL"), postgresql_where=text("face IS NULL")),
)

results = Table(
    "results",
    metadata,
    Column("id", CodePointText, primary_key=True),
    Column("run_id", CodePointText, ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
    *_texts("case_id", "candidate"),
    *_numbers("repeat", "position"),
    Column("verdict", CodePointText, nullable=False),
    Column("duration_ms", Float),
    Column("created_at", UtcTimestamp),
    Column("format", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("fault", CodePointText),
    # The kinds of its flags, each once, with spaces between them.
    Column("flags", CodePointText),
    # Of this row and of its scores.
    Column("checksum", LargeBinary),
    Index(None, "run_id", "position", unique=True),
    Index(None, "run_id", "verdict", "position", "candidate"),
    # Whole runs are compared, and the tries of a case counted, from this alone.
    Index("ix_results_attempts", *("run_id", "case_id", "position", "candidate", "repeat", "verdict", "duration_ms")),
    Index(None, "run_id", "fault", sqlite_where=text("fault IS NOT NULL"), postgresql_where=text("fault IS NOT NULL")),
    Index(None, "run_id", "flags", sqlite_where=text("flags IS NOT NULL"), postgresql_where=text("flags IS NOT NULL")),
)

# A score's place in its result is its key. `scope` is null for the grade of a whole case, and the part's scope (''
# where it has none) for a part, so that the second index alone answers a summary, in the order in which it is grouped.
scores = Table(
    "scores",
    metadata,
    Column("run_id", CodePointText, primary_key=True),
    *_columns(Integer, "position", "ordinal", primary_key=True),
    *_texts("candidate", "name"),
    *_texts("part_id", "scope", nullable=True),
    Column("outcome", CodePointText, nullable=False),
    Column("value", Float),
    Column("scale_low", Float, nullable=False),
    Column("scale_high", Float),
    Column("direction", CodePointText),
    Column("pass_mark", Float),
    Index(
        "ix_scores_summary",
        *("run_id", "candidate", "name", "scope", "outcome"),
        *("value", "scale_low", "scale_high", "direction", "pass_mark"),
    ),
    sqlite_with_rowid=False,
)


OWNED = ("organization_id", "kind", "id")
WAITING = text("state = 'queued'")
UNSENT = text("state = 'waiting'")
WORKED_ON = text("state = 'running'")

# Rubrics, test sets, question sets, datasets, bots and configurations are all documents: a name, an agent, and versions
# that never change. `version` is the newest one.
documents = Table(
    "documents",
    metadata,
    *_keys("organization_id", "kind", "id"),
    *_texts("agent_id", "name"),
    Column("version", Integer, nullable=False),
    *_times("created_at", "updated_at"),
    Column("deleted_at", UtcTimestamp),
    Index("ix_documents_list", "kind", "organization_id", "created_at", "id"),
    Index("ix_documents_agent", "kind", "agent_id", "created_at", "id"),
    Index("ix_documents_id", "kind", "id"),
)

# `dialect` is the file shape of an uploaded dataset; the bodies of everything else are JSON of their own kind.
document_versions = Table(
    "document_versions",
    metadata,
    *_keys("organization_id", "kind", "id"),
    Column("version", Integer, primary_key=True),
    Column("created_at", UtcTimestamp, nullable=False),
    *_texts("author", "note", "sha256", "dialect"),
    Column("body", LargeBinary, nullable=False),
    Column("checksum", LargeBinary),
    # The name and the agent of the document at that version; null in rows of older versions.
    Column("name", CodePointText),
    Column("agent_id", CodePointText),
)

# Where a case of an uploaded dataset stands, so that it is found by its id alone.
dataset_cases = Table(
    "dataset_cases",
    metadata,
    *_keys("organization_id", "id"),
    *_texts("dataset_id", "case_id"),
    Column("position", Integer, nullable=False),
    Index("ix_dataset_cases_place", "organization_id", "dataset_id", "position"),
)

# A run that the service's workers carry out. Who works on it, and whether they are alive, stands in `runs`.
jobs = Table(
    "jobs",
    metadata,
    Column("run_id", CodePointText, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    *_texts("organization_id", "agent_id", "state", "wish", "task"),
    Column("tries", Integer, nullable=False),
    Column("queued_at", UtcTimestamp, nullable=False),
    Column("request", LargeBinary, nullable=False),
    Index("ix_jobs_waiting", "queued_at", "run_id", sqlite_where=WAITING, postgresql_where=WAITING),
    Index("ix_jobs_running", "agent_id", sqlite_where=WORKED_ON, postgresql_where=WORKED_ON),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", CodePointText, primary_key=True),
    Column("organization_id", CodePointText),
    *_texts("name", "sha256", "scopes"),
    Column("agent_ids", CodePointText),
    Column("created_at", UtcTimestamp, nullable=False),
    *_times("expires_at", "revoked_at", "used_at", nullable=True),
    Index("ix_api_keys_sha256", "sha256", unique=True),
    Index("ix_api_keys_list", "organization_id", "created_at", "id"),
)

# Browsers that signed in, by the hash of the token in their cookie. Somebody who signed in with a key or a password may
# do what that key opens (`key_id`); for others the session itself says what they may do.
sessions = Table(
    "sessions",
    metadata,
    Column("id", CodePointText, primary_key=True),
    *_texts("sha256", "owner", "name", "key_id", "issuer", "scopes"),
    *_texts("organization_id", "agent_ids", nullable=True),
    *_times("created_at", "used_at", "ends_at"),
    Column("ended_at", UtcTimestamp),
    *_texts("address", "browser"),
    Index("ix_sessions_sha256", "sha256", unique=True),
    Index("ix_sessions_list", "organization_id", "created_at", "id"),
    Index("ix_sessions_owner", "owner"),
    Index("ix_sessions_ends_at", "ends_at"),
)

# The answer to a POST that named a key of its own, so that sending it twice does it once.
answered = Table(
    "answered",
    metadata,
    *_keys("organization_id", "key"),
    Column("sha256", CodePointText, nullable=False),
    Column("created_at", UtcTimestamp, nullable=False),
    Column("status", Integer),
    *_columns(LargeBinary, "headers", "body"),
    Index("ix_answered_created_at", "created_at"),
)

audit = Table(
    "audit",
    metadata,
    Column("id", CodePointText, primary_key=True),
    Column("organization_id", CodePointText, nullable=False),
    Column("at", UtcTimestamp, nullable=False),
    *_texts("actor", "action", "subject"),
    Column("status", Integer, nullable=False),
    Column("request_id", CodePointText, nullable=False),
    Column("address", CodePointText, nullable=False, server_default=""),
    Column("repeats", Integer, nullable=False, server_default="1"),
    # The chain: how it is made is in `audit.py`.
    Column("sequence", Integer, nullable=False, server_default="0"),
    *_texts("previous", "hash", server_default=""),
    Index("ix_audit_list", "organization_id", "at", "id"),
    Index("ix_audit_sequence", "sequence"),
)


# What people say of criteria, rules and evals. No key leads to the run: a label outlives it.
labels = Table(
    "labels",
    metadata,
    Column("run_id", CodePointText, primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    *_keys("grader", "part_id", "labeler"),
    *_texts("organization_id", "agent_id", "case_id", "candidate"),
    Column("repeat", Integer, nullable=False),
    *_texts("opinion", "why"),
    Column("blind", Integer, nullable=False),
    Column("created_at", UtcTimestamp, nullable=False),
    # How likely it was to be drawn; null: unknown.
    Column("drawn", Float, nullable=True),
    Index("ix_labels_list", "organization_id", "created_at"),
)

# Addresses that receive an organisation's events. The secret is stored as it is: deliveries are signed with it.
webhooks = Table(
    "webhooks",
    metadata,
    Column("id", CodePointText, primary_key=True),
    *_texts("organization_id", "url", "events", "secret"),
    Column("active", Integer, nullable=False),
    Column("created_at", UtcTimestamp, nullable=False),
    Index("ix_webhooks_list", "organization_id", "created_at", "id"),
)

# Deliveries of events, and their outcome. `body` is stored from the first try to the last.
deliveries = Table(
    "deliveries",
    metadata,
    Column("id", CodePointText, primary_key=True),
    Column("webhook_id", CodePointText, ForeignKey("webhooks.id", ondelete="CASCADE"), nullable=False),
    *_texts("event", "subject", "part", "state"),
    Column("tries", Integer, nullable=False),
    *_times("created_at", "next_at"),
    Column("ended_at", UtcTimestamp),
    Column("status", Integer),
    Column("error", CodePointText, nullable=False),
    Column("body", LargeBinary),
    Index("ix_deliveries_list", "webhook_id", "created_at", "id"),
    Index("ix_deliveries_due", "next_at", sqlite_where=UNSENT, postgresql_where=UNSENT),
)
