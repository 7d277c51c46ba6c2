"""`howsure doctor`."""

from __future__ import annotations

import asyncio

import click

from howsure.cli.exit_codes import DONE, USER_MUST_ACT
from howsure.cli.output import howsure_command, print_json
from howsure.services.doctor import examine
from howsure.services.trust import CodeUse
from howsure.services.workspace import Workspace


@howsure_command("doctor", code=CodeUse.OPTIONAL)
@click.option("--target", default="", metavar="SPEC", help="Ask this target, too, whether it is there.")
def command(work: Workspace, target: str, as_json: bool) -> int:
    """Check that Howsure can work here: Python, database, settings, plug-ins, terminal, and a target if one is
    named."""
    found = asyncio.run(examine(work, target.strip()))
    if as_json:
        print_json({"healthy": all(each.well for each in found), "findings": found})
    else:
        for each in found:
            hint = f" ({each.hint})" if each.hint else ""
            click.echo(f"{'ok  ' if each.well else 'BAD '} {each.what}: {each.found}{hint}")
    return DONE if all(each.well for each in found) else USER_MUST_ACT
