"""`howsure results`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import BinaryIO

import click

from howsure.cli.output import howsure_command
from howsure.cli.standard_streams import is_unread
from howsure.errors import ConfigInvalid
from howsure.model.result import Result
from howsure.model.verdict import DECIDED, Verdict
from howsure.reports.jsonl import write_canonical, write_json_array, write_jsonl
from howsure.services.host.audit import record_export
from howsure.services.workspace import Workspace


@howsure_command("results", json_too=False)
@click.argument("run", default="latest")
@click.option("--json", "as_json", is_flag=True, help="One JSON array (the default).")
@click.option("--ndjson", is_flag=True, help="One JSON object a line.")
@click.option(
    "--canonical", is_flag=True, help="Lines without ids, times and durations: two runs compare byte for byte."
)
@click.option("--verdict", type=click.Choice([each.value for each in DECIDED]), help="Only results with this verdict.")
def command(work: Workspace, run: str, as_json: bool, ndjson: bool, canonical: bool, verdict: str | None) -> None:
    """Print every result of RUN, in the order of the cases."""
    if as_json + ndjson + canonical > 1:
        raise ConfigInvalid("choose one of --json, --ndjson and --canonical")
    kind = "canonical" if canonical else "ndjson" if ndjson else "json"
    asyncio.run(_print(work, run, kind, Verdict(verdict) if verdict else None, sys.stdout.buffer))


async def _print(work: Workspace, name: str, kind: str, verdict: Verdict | None, out: BinaryIO) -> None:
    async with await work.store(read_only=True) as store:
        run = await store.find_run(name)
        results = _while_read(store.iterate(run.id, verdict=verdict))
        match kind:
            case "canonical":
                await write_canonical(results, out)
            case "ndjson":
                await write_jsonl(run, results, out)
            case _:
                await write_json_array(run, results, out)
        await record_export(work, store, run.id)
    out.flush()


async def _while_read(results: AsyncIterator[Result]) -> AsyncIterator[Result]:
    """The results, until the reader of the output is gone."""
    async for result in results:
        if is_unread():
            return
        yield result
