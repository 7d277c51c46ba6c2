"""The kinds of a result's flags in a column, so that a summary counts them without reading bodies."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_ONLY = sa.text("flags IS NOT NULL")


def upgrade() -> None:
    op.add_column("results", sa.Column("flags", sa.Text()))
    columns = ["run_id", "flags"]
    op.create_index("ix_results_run_id_flags", "results", columns, sqlite_where=_ONLY, postgresql_where=_ONLY)


def downgrade() -> None:
    op.drop_index("ix_results_run_id_flags", "results")
    op.drop_column("results", "flags")
