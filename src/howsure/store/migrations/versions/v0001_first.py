"""The first schema: runs, their cases, results and scores. Written out, not taken from schema.py, which moves on."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.types import TypeEngine

revision = "0001"
down_revision = None


def _columns(kind: type[TypeEngine[Any]], *names: str, nullable: bool = False) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind(), nullable=nullable) for name in names]


def upgrade() -> None:
    _runs()
    _cases()
    _results()
    _scores()


def downgrade() -> None:
    for table in ("scores", "results", "cases", "runs"):
        op.drop_table(table)


def _runs() -> None:
    op.create_table(
        "runs",
        *_columns(sa.Text, "id", "name", "agent_id", "state", "created_at"),
        *_columns(sa.Text, "started_at", "completed_at", "heartbeat_at", "owner", nullable=True),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("spent", sa.LargeBinary()),
        sa.Column("format", sa.Integer(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
    )
    op.create_index("ix_runs_created_at_id", "runs", ["created_at", "id"])
    op.create_index("ix_runs_name_created_at", "runs", ["name", "created_at"])
    op.create_index("ix_runs_agent_id_created_at", "runs", ["agent_id", "created_at"])


def _cases() -> None:
    op.create_table(
        "cases",
        *_columns(sa.Text, "run_id", "case_id"),
        *_columns(sa.Integer, "position", "format"),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_cases_run_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "case_id", name="pk_cases"),
    )
    op.create_index("ix_cases_run_id_position", "cases", ["run_id", "position"])


def _results() -> None:
    op.create_table(
        "results",
        *_columns(sa.Text, "id", "run_id", "case_id", "candidate"),
        *_columns(sa.Integer, "repeat", "position"),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("duration_ms", sa.Float()),
        sa.Column("created_at", sa.Text()),
        sa.Column("format", sa.Integer(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_results_run_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_results"),
    )
    op.create_index("ix_results_run_id_position", "results", ["run_id", "position"], unique=True)
    columns = ["run_id", "verdict", "position", "candidate"]
    op.create_index("ix_results_run_id_verdict_position_candidate", "results", columns)
    op.create_index("ix_results_run_id_case_id", "results", ["run_id", "case_id"])


def _scores() -> None:
    op.create_table(
        "scores",
        sa.Column("run_id", sa.Text(), nullable=False),
        *_columns(sa.Integer, "position", "ordinal"),
        *_columns(sa.Text, "candidate", "name"),
        *_columns(sa.Text, "part_id", "scope", nullable=True),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("value", sa.Float()),
        sa.Column("scale_low", sa.Float(), nullable=False),
        sa.Column("scale_high", sa.Float()),
        sa.Column("direction", sa.Text()),
        sa.Column("pass_mark", sa.Float()),
        sa.PrimaryKeyConstraint("run_id", "position", "ordinal", name="pk_scores"),
        sqlite_with_rowid=False,
    )
    grouped = ["run_id", "candidate", "name", "scope", "outcome"]
    values = ["value", "scale_low", "scale_high", "direction", "pass_mark"]
    op.create_index("ix_scores_summary", "scores", [*grouped, *values])
