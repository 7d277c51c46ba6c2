"""`assay doctor`."""

from __future__ import annotations

import asyncio

import click

from assay.cli.output import DONE, USER_MUST_ACT, assay_command, print_json
from assay.services.doctor import examine
from assay.services.workplace import Workplace


@assay_command("doctor")
def command(work: Workplace, as_json: bool) -> int:
    """Check that Assay can work here: Python, database, settings, plug-ins, terminal."""
    found = asyncio.run(examine(work))
    if as_json:
        print_json({"healthy": all(each.well for each in found), "findings": found})
    else:
        for each in found:
            click.echo(
                f"{'ok  ' if each.well else 'BAD '} {each.what}: {each.found}"
                + (f" ({each.hint})" if each.hint else "")
            )
    return DONE if all(each.well for each in found) else USER_MUST_ACT
