"""The name of a document and its agent belong to each of its versions. Those that are there have the newest ones."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

_COLUMNS = ("name", "agent_id")
_COPY = """
UPDATE document_versions SET {column} = (
    SELECT documents.{column} FROM documents
    WHERE documents.organization_id = document_versions.organization_id
    AND documents.kind = document_versions.kind AND documents.id = document_versions.id
)
"""


def upgrade() -> None:
    for column in _COLUMNS:
        op.add_column("document_versions", sa.Column(column, sa.Text()))
        op.execute(_COPY.format(column=column))


def downgrade() -> None:
    for column in reversed(_COLUMNS):
        op.drop_column("document_versions", column)
