"""`howsure schema`."""

from __future__ import annotations

import click

from howsure.cli.output import howsure_command, print_json
from howsure.services.trust import CodeUse
from howsure.services.validate import schema_of, schemas
from howsure.services.workspace import Workspace


@howsure_command("schema", json_too=False, stores=False, code=CodeUse.OPTIONAL)
@click.argument("name", required=False)
def command(work: Workspace, name: str | None) -> None:
    """Print the JSON Schema of a dialect NAME (one line, or one file), or of howsure.yaml with the NAME `settings`;
    without one, the names that have a schema."""
    if name is None:
        click.echo("\n".join(schemas(work.kit)))
    else:
        print_json(schema_of(name, work.kit))
