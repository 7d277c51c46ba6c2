"""Tags and labels of cases in a column, and the attempts of a run in an index: pages read them without any body. Cases
that are there already keep none: theirs are read from their bodies, as before."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

OLDER = sa.text("face IS NULL")
ATTEMPTS = ["run_id", "case_id", "position", "candidate", "repeat", "verdict", "duration_ms"]


def upgrade() -> None:
    op.add_column("cases", sa.Column("face", sa.LargeBinary()))
    if _is_sqlite():
        op.drop_index("ix_cases_run_id_position", "cases")
        op.create_index("ix_cases_faces", "cases", ["run_id", "position", "case_id", "face"])
    op.create_index("ix_cases_older", "cases", ["run_id", "face"], sqlite_where=OLDER, postgresql_where=OLDER)
    op.create_index("ix_results_attempts", "results", ATTEMPTS)
    op.drop_index("ix_results_run_id_case_id", "results")


def downgrade() -> None:
    op.create_index("ix_results_run_id_case_id", "results", ["run_id", "case_id"])
    op.drop_index("ix_results_attempts", "results")
    op.drop_index("ix_cases_older", "cases")
    if _is_sqlite():
        op.drop_index("ix_cases_faces", "cases")
        op.create_index("ix_cases_run_id_position", "cases", ["run_id", "position"])
    op.drop_column("cases", "face")


def _is_sqlite() -> bool:
    return op.get_bind().dialect.name == "sqlite"
