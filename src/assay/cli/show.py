"""`assay show`."""

from __future__ import annotations

import asyncio

import click

from assay.cli.output import assay_command, print_json
from assay.cli.parsing import read, text
from assay.cli.summary import console, print_summary
from assay.errors import NotFound
from assay.model.result import Result
from assay.model.summary import Summary
from assay.reports.text_case import case_detail
from assay.reports.wire import evaluation_result, evaluation_run
from assay.services.gating import gated
from assay.services.workplace import Workplace


@assay_command("show")
@click.argument("run", default="latest")
@click.argument("case", required=False, callback=read(text))
@click.option(
    "--candidate", default=None, callback=read(text), metavar="NAME", help="Only what this candidate made of the case."
)
def command(
    work: Workplace,
    run: str,
    case: str | None,
    candidate: str | None,
    as_json: bool,
) -> None:
    """Show RUN in numbers, or one CASE of it in full: what was asked, said and done, every grade and its reason."""
    summary, found = asyncio.run(_found(work, run, case, candidate))
    if case is not None and not found:
        raise NotFound(f"run {summary.run.name!r} has no result for the case {case!r}")
    if as_json:
        print_json([evaluation_result(summary.run, each) for each in found] if case else evaluation_run(summary))
    elif case is None:
        print_summary(work, summary)
    else:
        for each in found:
            console().print(case_detail(each))


async def _found(work: Workplace, run: str, case: str | None, candidate: str | None) -> tuple[Summary, list[Result]]:
    async with await work.store(read_only=True) as store:
        found = await store.find_run(run)
        results = await store.results(found.id, case_id=case, candidate=candidate) if case else []
        return await gated(store, await store.summary(found.id)), results
