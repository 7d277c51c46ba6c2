"""The tables: runs with their cases, results and scores; and what the service stores besides: documents, the queue of
runs, keys, answers to repeated requests, the log of writes, labels. Bodies are JSON written by msgspec, each with the
version of its format; everything that is counted, sorted or filtered by has a column of its own. Times are UTC and ids
are text on every database. What belongs to an organisation says so in a column, and every query asks for it."""

from __future__ import annotations

from datetime import UTC, datetime

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
from sqlalchemy.ext.compiler import compiles

HEAD = "0006"
"""The newest revision in migrations/versions; revisions are numbers, so older and newer can be told apart."""

VERDICTS = ("passed", "failed", "errored", "skipped")


class CodePointText(Text):
    """Text whose order is that of its code points on every database, whatever language a server is set to."""


@compiles(CodePointText, "postgresql")
def _in_order_of_code_points(*_: object, **__: object) -> str:
    # Only where a column is made: the type's own `collation` would stand beside every value, too.
    return 'TEXT COLLATE "C"'


def as_text(moment: datetime) -> str:
    """Fixed width and always UTC, so that text order is time order. A time without a zone is refused, not guessed."""
    if moment.tzinfo is None:
        raise ValueError(f"{moment.isoformat()} has no time zone")
    # Most times are UTC already, and this is called for every result.
    return (moment if moment.tzinfo is UTC else moment.astimezone(UTC)).isoformat(timespec="microseconds")


class UtcTimestamp(TypeDecorator[datetime]):
    """A time, kept as text."""

    impl = CodePointText
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> str | None:
        return None if value is None else as_text(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> datetime | None:
        return None if value is None else datetime.fromisoformat(value)


metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)

revision = Table("alembic_version", metadata, Column("version_num", String(32), primary_key=True))

runs = Table(
    "runs",
    metadata,
    Column("id", CodePointText, primary_key=True),
    Column("name", CodePointText, nullable=False),
    Column("agent_id", CodePointText, nullable=False),
    Column("state", CodePointText, nullable=False),
    Column("created_at", UtcTimestamp, nullable=False),
    Column("started_at", UtcTimestamp),
    Column("completed_at", UtcTimestamp),
    Column("heartbeat_at", UtcTimestamp),
    Column("owner", CodePointText),
    Column("total", Integer, nullable=False),
    Column("error", CodePointText, nullable=False),
    Column("spent", LargeBinary),
    Column("format", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("organization_id", CodePointText, nullable=False, server_default=""),
    # Counted as results are written, so that a list of runs need not look at any result.
    *(Column(verdict, Integer, nullable=False, server_default="0") for verdict in VERDICTS),
    # What a summary is made of, once the run has ended; cleared when a result is written after that.
    Column("groups", LargeBinary),
    Index(None, "organization_id", "created_at", "id"),
    Index(None, "created_at", "id"),
    Index(None, "name", "created_at"),
    Index(None, "agent_id", "created_at"),
)

cases = Table(
    "cases",
    metadata,
    Column("run_id", CodePointText, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("case_id", CodePointText, primary_key=True),
    Column("position", Integer, nullable=False),
    Column("format", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
    # Tags and labels, so that cases are chosen by them without their bodies; null in what older versions wrote.
    Column("face", LargeBinary),
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
    Column("case_id", CodePointText, nullable=False),
    Column("candidate", CodePointText, nullable=False),
    Column("repeat", Integer, nullable=False),
    Column("position", Integer, nullable=False),
    Column("verdict", CodePointText, nullable=False),
    Column("duration_ms", Float),
    Column("created_at", UtcTimestamp),
    Column("format", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("fault", CodePointText),
    # The kinds of its flags, each once, with spaces between them.
    Column("flags", CodePointText),
    Index(None, "run_id", "position", unique=True),
    Index(None, "run_id", "verdict", "position", "candidate"),
    # Whole runs are compared, and the tries of a case counted, from this alone.
    Index("ix_results_attempts", *("run_id", "case_id", "position", "candidate", "repeat", "verdict", "duration_ms")),
    Index(None, "run_id", "fault", sqlite_where=text("fault IS NOT NULL"), postgresql_where=text("fault IS NOT NULL")),
    Index(None, "run_id", "flags", sqlite_where=text("flags IS NOT NULL"), postgresql_where=text("flags IS NOT NULL")),
)

# A score's place in its result is its key: its id (model.result.score_id) follows from the result's id, its grader and
# its part. `scope` is null for the grade of a whole case, and the part's scope ('' where it has none) for a part, so
# that the second index alone answers a summary, in the order in which it is grouped.
scores = Table(
    "scores",
    metadata,
    Column("run_id", CodePointText, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("ordinal", Integer, primary_key=True),
    Column("candidate", CodePointText, nullable=False),
    Column("name", CodePointText, nullable=False),
    Column("part_id", CodePointText),
    Column("scope", CodePointText),
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
WORKED_ON = text("state = 'running'")

# Rubrics, test sets, question sets, datasets, bots and configurations are all documents: a name, an agent, and versions
# that never change. `version` is the newest one.
documents = Table(
    "documents",
    metadata,
    Column("organization_id", CodePointText, primary_key=True),
    Column("kind", CodePointText, primary_key=True),
    Column("id", CodePointText, primary_key=True),
    Column("agent_id", CodePointText, nullable=False),
    Column("name", CodePointText, nullable=False),
    Column("version", Integer, nullable=False),
    Column("created_at", UtcTimestamp, nullable=False),
    Column("updated_at", UtcTimestamp, nullable=False),
    Column("deleted_at", UtcTimestamp),
    Index("ix_documents_list", "kind", "organization_id", "created_at", "id"),
    Index("ix_documents_agent", "kind", "agent_id", "created_at", "id"),
    Index("ix_documents_id", "kind", "id"),
)

# `dialect` is the file shape of an uploaded dataset; the bodies of everything else are JSON of their own kind.
document_versions = Table(
    "document_versions",
    metadata,
    Column("organization_id", CodePointText, primary_key=True),
    Column("kind", CodePointText, primary_key=True),
    Column("id", CodePointText, primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("created_at", UtcTimestamp, nullable=False),
    Column("author", CodePointText, nullable=False),
    Column("note", CodePointText, nullable=False),
    Column("sha256", CodePointText, nullable=False),
    Column("dialect", CodePointText, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

# Where a case of an uploaded dataset stands, so that it is found by its id alone.
dataset_cases = Table(
    "dataset_cases",
    metadata,
    Column("organization_id", CodePointText, primary_key=True),
    Column("id", CodePointText, primary_key=True),
    Column("dataset_id", CodePointText, nullable=False),
    Column("case_id", CodePointText, nullable=False),
    Column("position", Integer, nullable=False),
    Index("ix_dataset_cases_place", "organization_id", "dataset_id", "position"),
)

# A run that the service's workers carry out. Who works on it, and whether they are alive, stands in `runs`.
jobs = Table(
    "jobs",
    metadata,
    Column("run_id", CodePointText, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("organization_id", CodePointText, nullable=False),
    Column("agent_id", CodePointText, nullable=False),
    Column("state", CodePointText, nullable=False),
    Column("wish", CodePointText, nullable=False),
    Column("task", CodePointText, nullable=False),
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
    Column("name", CodePointText, nullable=False),
    Column("sha256", CodePointText, nullable=False),
    Column("scopes", CodePointText, nullable=False),
    Column("agent_ids", CodePointText),
    Column("created_at", UtcTimestamp, nullable=False),
    Column("expires_at", UtcTimestamp),
    Column("revoked_at", UtcTimestamp),
    Column("used_at", UtcTimestamp),
    Index("ix_api_keys_sha256", "sha256", unique=True),
    Index("ix_api_keys_list", "organization_id", "created_at", "id"),
)

# The answer to a POST that named a key of its own, so that sending it twice does it once.
answered = Table(
    "answered",
    metadata,
    Column("organization_id", CodePointText, primary_key=True),
    Column("key", CodePointText, primary_key=True),
    Column("sha256", CodePointText, nullable=False),
    Column("created_at", UtcTimestamp, nullable=False),
    Column("status", Integer),
    Column("headers", LargeBinary),
    Column("body", LargeBinary),
    Index("ix_answered_created_at", "created_at"),
)

audit = Table(
    "audit",
    metadata,
    Column("id", CodePointText, primary_key=True),
    Column("organization_id", CodePointText, nullable=False),
    Column("at", UtcTimestamp, nullable=False),
    Column("actor", CodePointText, nullable=False),
    Column("action", CodePointText, nullable=False),
    Column("subject", CodePointText, nullable=False),
    Column("status", Integer, nullable=False),
    Column("request_id", CodePointText, nullable=False),
    Index("ix_audit_list", "organization_id", "at", "id"),
)


# What people say of criteria, rules and evals. No key leads to the run: a label outlives it.
labels = Table(
    "labels",
    metadata,
    Column("run_id", CodePointText, primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("grader", CodePointText, primary_key=True),
    Column("part_id", CodePointText, primary_key=True),
    Column("labeler", CodePointText, primary_key=True),
    Column("organization_id", CodePointText, nullable=False),
    Column("agent_id", CodePointText, nullable=False),
    Column("case_id", CodePointText, nullable=False),
    Column("candidate", CodePointText, nullable=False),
    Column("repeat", Integer, nullable=False),
    Column("opinion", CodePointText, nullable=False),
    Column("why", CodePointText, nullable=False),
    Column("blind", Integer, nullable=False),
    Column("created_at", UtcTimestamp, nullable=False),
    Index("ix_labels_list", "organization_id", "created_at"),
)
