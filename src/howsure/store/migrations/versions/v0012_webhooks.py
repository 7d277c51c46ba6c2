"""Webhooks and their deliveries; tags of runs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def _texts(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text(), nullable=False) for name in names]


def upgrade() -> None:
    op.add_column("runs", sa.Column("tags", sa.LargeBinary()))
    op.create_table(
        "webhooks",
        *_texts("id", "organization_id", "url", "events", "secret"),
        sa.Column("active", sa.Integer(), nullable=False),
        *_texts("created_at"),
        sa.PrimaryKeyConstraint("id", name="pk_webhooks"),
    )
    op.create_index("ix_webhooks_list", "webhooks", ["organization_id", "created_at", "id"])
    op.create_table(
        "deliveries",
        *_texts("id", "webhook_id", "event", "subject", "part", "state"),
        sa.Column("tries", sa.Integer(), nullable=False),
        *_texts("created_at", "next_at"),
        sa.Column("ended_at", sa.Text()),
        sa.Column("status", sa.Integer()),
        *_texts("error"),
        sa.Column("body", sa.LargeBinary()),
        sa.ForeignKeyConstraint(["webhook_id"], ["webhooks.id"], name="fk_deliveries_webhook_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_deliveries"),
    )
    op.create_index("ix_deliveries_list", "deliveries", ["webhook_id", "created_at", "id"])
    unsent = sa.text("state = 'waiting'")
    op.create_index("ix_deliveries_due", "deliveries", ["next_at"], sqlite_where=unsent, postgresql_where=unsent)


def downgrade() -> None:
    op.drop_table("deliveries")
    op.drop_table("webhooks")
    op.drop_column("runs", "tags")
