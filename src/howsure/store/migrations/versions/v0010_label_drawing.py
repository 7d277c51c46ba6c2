"""How likely a labelled answer was to be drawn. Labels that are there do not say."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("labels", sa.Column("drawn", sa.Float(), nullable=True))


def downgrade() -> None:
    op.drop_column("labels", "drawn")
