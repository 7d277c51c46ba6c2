"""The first schema: runs, their cases, results and scores. Written out, not taken from schema.py, which moves on."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


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
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.Column("started_at", sa.Text()),
        sa.Column("completed_at", sa.Text()),
        sa.Column("heartbeat_at", sa.Text()),
        sa.Column("owner", sa.Text()),
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
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("case_id", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("format", sa.Integer(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_cases_run_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "case_id", name="pk_cases"),
    )
    op.create_index("ix_cases_run_id_position", "cases", ["run_id", "position"])


def _results() -> None:
    op.create_table(
        "results",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("case_id", sa.Text(), nullable=False),
        sa.Column("candidate", sa.Text(), nullable=False),
        sa.Column("repeat", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
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
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("candidate", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("part_id", sa.Text()),
        sa.Column("scope", sa.Text()),
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
