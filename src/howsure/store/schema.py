"""The tables. Bodies are JSON written by msgspec, each with the version of its format; everything that is counted,
sorted or filtered by has a column of its own. Times are UTC and ids are text, on every database the same."""

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

HEAD = "0005"
"""The newest revision in migrations/versions; revisions are numbers, so older and newer can be told apart."""

VERDICTS = ("passed", "failed", "errored", "skipped")


class Words(Text):
    """Text whose order is that of its code points on every database, whatever language a server is set to."""


@compiles(Words, "postgresql")
def _in_order_of_code_points(*_: object, **__: object) -> str:
    # Only where a column is made: the type's own `collation` would stand beside every value, too.
    return 'TEXT COLLATE "C"'


def as_text(moment: datetime) -> str:
    """Fixed width and always UTC, so that text order is time order. A time without a zone is refused, not guessed."""
    if moment.tzinfo is None:
        raise ValueError(f"{moment.isoformat()} has no time zone")
    # Most times are UTC already, and this is called for every result.
    return (moment if moment.tzinfo is UTC else moment.astimezone(UTC)).isoformat(timespec="microseconds")


class Moment(TypeDecorator[datetime]):
    """A time, kept as text."""

    impl = Words
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
    Column("id", Words, primary_key=True),
    Column("name", Words, nullable=False),
    Column("agent_id", Words, nullable=False),
    Column("state", Words, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("started_at", Moment),
    Column("completed_at", Moment),
    Column("heartbeat_at", Moment),
    Column("owner", Words),
    Column("total", Integer, nullable=False),
    Column("error", Words, nullable=False),
    Column("spent", LargeBinary),
    Column("format", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("organization_id", Words, nullable=False, server_default=""),
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
    Column("run_id", Words, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("case_id", Words, primary_key=True),
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
    Column("id", Words, primary_key=True),
    Column("run_id", Words, ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
    Column("case_id", Words, nullable=False),
    Column("candidate", Words, nullable=False),
    Column("repeat", Integer, nullable=False),
    Column("position", Integer, nullable=False),
    Column("verdict", Words, nullable=False),
    Column("duration_ms", Float),
    Column("created_at", Moment),
    Column("format", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("fault", Words),
    Index(None, "run_id", "position", unique=True),
    Index(None, "run_id", "verdict", "position", "candidate"),
    # Whole runs are compared, and the tries of a case counted, from this alone.
    Index("ix_results_attempts", *("run_id", "case_id", "position", "candidate", "repeat", "verdict", "duration_ms")),
    Index(None, "run_id", "fault", sqlite_where=text("fault IS NOT NULL"), postgresql_where=text("fault IS NOT NULL")),
)

# A score's place in its result is its key: its id (model.result.score_id) follows from the result's id, its grader and
# its part. `scope` is null for the grade of a whole case, and the part's scope ('' where it has none) for a part, so
# that the second index alone answers a summary, in the order in which it is grouped.
scores = Table(
    "scores",
    metadata,
    Column("run_id", Words, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("ordinal", Integer, primary_key=True),
    Column("candidate", Words, nullable=False),
    Column("name", Words, nullable=False),
    Column("part_id", Words),
    Column("scope", Words),
    Column("outcome", Words, nullable=False),
    Column("value", Float),
    Column("scale_low", Float, nullable=False),
    Column("scale_high", Float),
    Column("direction", Words),
    Column("pass_mark", Float),
    Index(
        "ix_scores_summary",
        *("run_id", "candidate", "name", "scope", "outcome"),
        *("value", "scale_low", "scale_high", "direction", "pass_mark"),
    ),
    sqlite_with_rowid=False,
)
