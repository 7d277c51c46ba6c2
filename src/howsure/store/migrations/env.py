"""Run by Alembic: migrates the connection it is given, inside its transaction."""

from __future__ import annotations

from alembic import context

from howsure.store.service_schema import every_table

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=every_table(),
    # SQLite cannot alter most things in place: Alembic copies the table instead.
    render_as_batch=True,
)
context.run_migrations()
