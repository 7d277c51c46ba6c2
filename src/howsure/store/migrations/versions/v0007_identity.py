"""Sessions of people who sign in."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def _text(name: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=nullable)


def upgrade() -> None:
    op.create_table(
        "sessions",
        *map(_text, ("id", "sha256", "owner", "name", "key_id", "issuer", "scopes")),
        _text("organization_id", nullable=True),
        _text("agent_ids", nullable=True),
        *map(_text, ("created_at", "used_at", "ends_at")),
        _text("ended_at", nullable=True),
        *map(_text, ("address", "browser")),
        sa.PrimaryKeyConstraint("id", name="pk_sessions"),
    )
    op.create_index("ix_sessions_sha256", "sessions", ["sha256"], unique=True)
    op.create_index("ix_sessions_list", "sessions", ["organization_id", "created_at", "id"])
    op.create_index("ix_sessions_owner", "sessions", ["owner"])
    op.create_index("ix_sessions_ends_at", "sessions", ["ends_at"])


def downgrade() -> None:
    op.drop_table("sessions")
