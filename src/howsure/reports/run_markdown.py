"""A run as a Markdown document: its numbers as the terminal shows them, then each failed or errored case in full."""

from __future__ import annotations

from collections.abc import AsyncIterable
from pathlib import Path
from typing import TextIO

from howsure.model.result import Result
from howsure.model.summary import Summary
from howsure.model.verdict import Verdict
from howsure.reports.atomic_files import atomic_text
from howsure.reports.document import Block, Heading, Paragraph, markdown
from howsure.reports.figures import VERDICT_MARKS, iso_utc
from howsure.reports.run_facts import gates_conclusion, run_facts, run_sentence
from howsure.reports.run_report import (
    case_blocks,
    checks_table,
    fact_list,
    gates_table,
    graders_table,
    result_names,
    slice_tables,
    verdict_counts,
    warnings,
)

SHOWN_CASES = 200


async def write_markdown_file(summary: Summary, results: AsyncIterable[Result], path: Path) -> None:
    with atomic_text(path) as file:
        await write_markdown(summary, results, file)


async def write_markdown(summary: Summary, results: AsyncIterable[Result], file: TextIO) -> None:
    """The whole document; past the first cases (`SHOWN_CASES`) the rest are counted, not shown."""
    file.write(markdown(_run(summary)) + "\n")
    shown = left = 0
    async for result in results:
        if result.verdict not in (Verdict.FAILED, Verdict.ERRORED):
            continue
        if shown == SHOWN_CASES:
            left += 1
            continue
        shown += 1
        file.write(f"\n{case_markdown(result, first=shown == 1)}\n")
    if left:
        file.write(f"\n{left:,} more failed or errored cases are not shown here; ")
        file.write("a `.jsonl` or `.html` report has all.\n")


def _run(summary: Summary) -> list[Block]:
    gates = [Heading("Gates"), Paragraph(gates_conclusion(summary.gates)), gates_table(summary)]
    return [
        Heading(summary.run.name or "Run", level=1),
        Paragraph(run_sentence(summary), "bold"),
        *warnings(summary),
        run_list(summary),
        *(gates if summary.gates else ()),
        Heading("Counts"),
        *verdict_counts(summary),
        *graders_table(summary),
        *checks_table(summary),
        *slice_tables(summary),
    ]


def run_list(summary: Summary) -> Block:
    """What was tried and how, with the whole id."""
    run = summary.run
    return fact_list([("run", run.id), *run_facts(run), ("created", iso_utc(run.created_at) or "")])


def case_markdown(result: Result, *, first: bool) -> str:
    mark, names = VERDICT_MARKS[result.verdict], result_names(result)
    named = ", ".join([*names[:1], *filter(None, [result.case.name]), *names[1:]])
    title = Heading(f"{mark.sign} {mark.word}: {named}", level=3)
    return markdown([*([Heading("Failed and errored cases")] if first else []), title, *case_blocks(result)])
