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

HEAD = "0002"
"""The newest revision in migrations/versions; revisions are numbers, so older and newer can be told apart."""


def as_text(moment: datetime) -> str:
    """Fixed width and always UTC, so that text order is time order. A time without a zone is refused, not guessed."""
    if moment.tzinfo is None:
        raise ValueError(f"{moment.isoformat()} has no time zone")
    # Most times are UTC already, and this is called for every result.
    return (moment if moment.tzinfo is UTC else moment.astimezone(UTC)).isoformat(timespec="microseconds")


class Moment(TypeDecorator[datetime]):
    """A time, kept as text."""

    impl = Text
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
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("agent_id", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("started_at", Moment),
    Column("completed_at", Moment),
    Column("heartbeat_at", Moment),
    Column("owner", Text),
    Column("total", Integer, nullable=False),
    Column("error", Text, nullable=False),
    Column("spent", LargeBinary),
    Column("format", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Index(None, "created_at", "id"),
    Index(None, "name", "created_at"),
    Index(None, "agent_id", "created_at"),
)

cases = Table(
    "cases",
    metadata,
    Column("run_id", Text, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("case_id", Text, primary_key=True),
    Column("position", Integer, nullable=False),
    Column("format", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Index(None, "run_id", "position"),
)

results = Table(
    "results",
    metadata,
    Column("id", Text, primary_key=True),
    Column("run_id", Text, ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
    Column("case_id", Text, nullable=False),
    Column("candidate", Text, nullable=False),
    Column("repeat", Integer, nullable=False),
    Column("position", Integer, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("duration_ms", Float),
    Column("created_at", Moment),
    Column("format", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("fault", Text),
    Index(None, "run_id", "position", unique=True),
    Index(None, "run_id", "verdict", "position", "candidate"),
    Index(None, "run_id", "case_id"),
    Index(None, "run_id", "fault", sqlite_where=text("fault IS NOT NULL"), postgresql_where=text("fault IS NOT NULL")),
)

# A score's place in its result is its key: its id (model.result.score_id) follows from the result's id, its grader and
# its part. `scope` is null for the grade of a whole case, and the part's scope ('' where it has none) for a part, so
# that the second index alone answers a summary, in the order in which it is grouped.
scores = Table(
    "scores",
    metadata,
    Column("run_id", Text, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("ordinal", Integer, primary_key=True),
    Column("candidate", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("part_id", Text),
    Column("scope", Text),
    Column("outcome", Text, nullable=False),
    Column("value", Float),
    Column("scale_low", Float, nullable=False),
    Column("scale_high", Float),
    Column("direction", Text),
    Column("pass_mark", Float),
    Index(
        "ix_scores_summary",
        *("run_id", "candidate", "name", "scope", "outcome"),
        *("value", "scale_low", "scale_high", "direction", "pass_mark"),
    ),
    sqlite_with_rowid=False,
)
