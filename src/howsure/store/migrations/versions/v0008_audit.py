"""The audit log as a chain: entries that are there are linked in the order of their times."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import msgspec
import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_OLDER = ("id", "organization_id", "at", "actor", "action", "subject", "status", "request_id")


def upgrade() -> None:
    op.add_column("audit", sa.Column("address", sa.Text(), nullable=False, server_default=""))
    op.add_column("audit", sa.Column("repeats", sa.Integer(), nullable=False, server_default="1"))
    op.add_column("audit", sa.Column("sequence", sa.Integer(), nullable=False, server_default="0"))
    for name in ("previous", "hash"):
        op.add_column("audit", sa.Column(name, sa.Text(), nullable=False, server_default=""))
    _link()
    op.create_index("ix_audit_sequence", "audit", ["sequence"])


def _link() -> None:
    connection = op.get_bind()
    listed = connection.execute(sa.text(f"SELECT {', '.join(_OLDER)} FROM audit ORDER BY at, id")).fetchall()
    link = sa.text("UPDATE audit SET sequence = :sequence, previous = :previous, hash = :hash WHERE id = :id")
    linked: list[dict[str, Any]] = []
    previous = ""
    for sequence, row in enumerate(listed, 1):
        made = sha256(msgspec.json.encode([sequence, previous, *row, "", 1])).hexdigest()
        linked.append({"sequence": sequence, "previous": previous, "hash": made, "id": row[0]})
        previous = made
    if linked:
        connection.execute(link, linked)


def downgrade() -> None:
    op.drop_index("ix_audit_sequence", "audit")
    for name in ("hash", "previous", "sequence", "repeats", "address"):
        op.drop_column("audit", name)
