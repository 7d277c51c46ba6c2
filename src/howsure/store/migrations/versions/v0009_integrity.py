"""Checksums of what is stored. Rows that are there have none until `howsure db seal` makes them. How many results of a
run are damaged; and the order of runs, which was that of the clock."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

_COLUMNS = (
    ("runs", "checksum"),
    ("runs", "seal"),
    ("cases", "checksum"),
    ("results", "checksum"),
    ("document_versions", "checksum"),
)
_NUMBERS = ("damaged", "sequence")

_NUMBER = """
UPDATE runs SET sequence = (
    SELECT numbered.place FROM (SELECT id, row_number() OVER (ORDER BY created_at, id) AS place FROM runs) AS numbered
    WHERE numbered.id = runs.id
)
"""
_ORDERED = (["organization_id", "sequence", "id"], ["sequence", "id"], ["name", "sequence"], ["agent_id", "sequence"])
_BY_CLOCK = (["name", "created_at"], ["agent_id", "created_at"])


def upgrade() -> None:
    for table, name in _COLUMNS:
        op.add_column(table, sa.Column(name, sa.LargeBinary()))
    for name in _NUMBERS:
        op.add_column("runs", sa.Column(name, sa.Integer(), nullable=False, server_default="0"))
    op.execute(_NUMBER)
    for columns in _BY_CLOCK:
        op.drop_index(f"ix_runs_{'_'.join(columns)}", "runs")
    for columns in _ORDERED:
        op.create_index(f"ix_runs_{'_'.join(columns)}", "runs", columns)


def downgrade() -> None:
    for columns in _ORDERED:
        op.drop_index(f"ix_runs_{'_'.join(columns)}", "runs")
    for columns in _BY_CLOCK:
        op.create_index(f"ix_runs_{'_'.join(columns)}", "runs", columns)
    for name in _NUMBERS:
        op.drop_column("runs", name)
    for table, name in reversed(_COLUMNS):
        op.drop_column(table, name)
