"""`howsure schema`."""

from __future__ import annotations

import click

from howsure.cli.output import howsure_command, print_json
from howsure.services.validate import schema_of, schemas
from howsure.services.workspace import Workspace


@howsure_command("schema", json_too=False)
@click.argument("dialect", required=False)
def command(work: Workspace, dialect: str | None) -> None:
    """Print the JSON Schema of DIALECT (one line, or one file); without one, the names that have a schema."""
    if dialect is None:
        click.echo("\n".join(schemas(work.kit)))
    else:
        print_json(schema_of(dialect, work.kit))
