"""Who is answerable for a simulated conversation that did not pass, countable without reading any body."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_ONLY = sa.text("fault IS NOT NULL")


def upgrade() -> None:
    op.add_column("results", sa.Column("fault", sa.Text()))
    columns = ["run_id", "fault"]
    op.create_index("ix_results_run_id_fault", "results", columns, sqlite_where=_ONLY, postgresql_where=_ONLY)


def downgrade() -> None:
    op.drop_index("ix_results_run_id_fault", "results")
    op.drop_column("results", "fault")
