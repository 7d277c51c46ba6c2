"""Run by Alembic: migrates the connection it is given, inside its transaction."""

from __future__ import annotations

from alembic import context

from howsure.store.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    # SQLite cannot alter most things in place: Alembic copies the table instead.
    render_as_batch=True,
)
context.run_migrations()
