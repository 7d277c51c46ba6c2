"""What people say of criteria, rules and evals."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=False)


def upgrade() -> None:
    op.create_table(
        "labels",
        _text("run_id"),
        sa.Column("position", sa.Integer(), nullable=False),
        *map(_text, ("grader", "part_id", "labeler", "organization_id", "agent_id", "case_id", "candidate")),
        sa.Column("repeat", sa.Integer(), nullable=False),
        *map(_text, ("opinion", "why")),
        sa.Column("blind", sa.Integer(), nullable=False),
        _text("created_at"),
        sa.PrimaryKeyConstraint("run_id", "position", "grader", "part_id", "labeler", name="pk_labels"),
    )
    op.create_index("ix_labels_list", "labels", ["organization_id", "created_at"])


def downgrade() -> None:
    op.drop_table("labels")
