"""A run as Markdown for a pull request: what flipped against the baseline, the answer in a sentence, the gates, a table
of failures, then failed cases in full for as long as there is room. However many cases there are, the text stays below
what a comment on a code host may hold; what had no room is counted."""

from __future__ import annotations

from collections.abc import AsyncIterable
from pathlib import Path

from howsure.model.comparison import Comparison, PairComparison
from howsure.model.result import Result
from howsure.model.summary import Summary
from howsure.model.verdict import Verdict
from howsure.reports.atomic_files import atomic_text
from howsure.reports.comparisons import comparison_sentence, flips_by_direction, flips_table, setup_warnings
from howsure.reports.document import Block, Heading, Notice, Paragraph, Parts, Sign, Table, markdown
from howsure.reports.figures import VERDICT_MARKS, pluralize
from howsure.reports.run_facts import gates_conclusion, run_notes, run_sentence, short_id
from howsure.reports.run_report import case_markdown, gates_table, graders_table, run_list, slice_tables, warnings
from howsure.reports.safe_text import one_line

COMMENT_LIMIT = 65_536
"""The most characters a comment may have on the code hosts we know of."""
MAX_BYTES = 64_000
"""Bytes, which are never fewer than characters; the rest is left to the program that posts the text."""
WHY_LENGTH = 200
SENTENCE_LENGTH = 800
KEPT_FAILURES = 1000
IN_FULL = 40
BASELINE_SHARE, FLIP_SHARE, FAILURE_SHARE = 0.5, 0.5, 0.5
NOT_PASSED = (Verdict.FAILED, Verdict.ERRORED)


class BoundedPage:
    """Blocks of Markdown that together have at most `size` bytes."""

    def __init__(self, size: int) -> None:
        self.left = size
        self.blocks: list[str] = []

    def take(self, block: Block | str, longest: int = WHY_LENGTH) -> bool:
        """Add the block if it still fits, and say whether it did. A `str` is Markdown already; of a block, each text is
        cut after `longest` characters."""
        text = block if isinstance(block, str) else markdown([block], longest)
        size = len(text.encode("utf-8", "surrogatepass")) + 2
        if size > self.left:
            return False
        self.left -= size
        self.blocks.append(text)
        return True

    def take_table(self, table: Table, share: float) -> int:
        """Add as many rows as fit into this share of what is left; the number of rows that were added."""
        head, rule, *rows = markdown([table], WHY_LENGTH).split("\n")
        kept, left = [head, rule], int(self.left * share) - len(f"{head}\n{rule}".encode())
        for row in rows:
            left -= len(f"{row}\n".encode("utf-8", "surrogatepass"))
            if left < 0:
                break
            kept.append(row)
        if len(kept) > 2:
            self.take("\n".join(kept))
        return len(kept) - 2

    def count(self, left: int, what: str) -> None:
        """Say how many had no room."""
        if left:
            self.take(f"{left:,} more {what} are not shown here; a `.html` or `.jsonl` report has all.")

    @property
    def text(self) -> str:
        return "\n\n".join(self.blocks) + "\n"


async def write_pull_request(
    summary: Summary, results: AsyncIterable[Result], path: Path, comparison: Comparison | None = None
) -> None:
    text = await pull_request(summary, results, comparison)
    with atomic_text(path) as file:
        file.write(text)


async def pull_request(
    summary: Summary, results: AsyncIterable[Result], comparison: Comparison | None = None, limit: int = MAX_BYTES
) -> str:
    """The whole text, of at most `limit` bytes."""
    failures, whole, count = await _failures(results, len(summary.candidates) > 1)
    page, run = BoundedPage(limit), summary.run
    page.take(Heading(run.name or "Run", level=1))
    if comparison:
        _against_baseline(page, comparison)
    _answer(page, summary)
    if count:
        page.take(Heading(f"{pluralize(count, 'case')} did not pass"))
        page.count(count - page.take_table(failures, FAILURE_SHARE), "cases that did not pass")
    for table in graders_table(summary):
        if not page.take(table):
            page.count(len(summary.graders), "graders")
    for block in (*slice_tables(summary), *map(Paragraph, run_notes(summary)), run_list(summary)):
        page.take(block)
    page.take(f"`howsure show {short_id(run)}` shows more of it, `howsure report {short_id(run)} -o report.html` all.")
    shown = 0
    for result in whole:
        if not page.take(case_markdown(result, first=shown == 0)):
            break
        shown += 1
    if shown and count > shown:
        page.take(f"{count - shown:,} more cases that did not pass are not shown in full.")
    return page.text


async def _failures(results: AsyncIterable[Result], several: bool) -> tuple[Table, list[Result], int]:
    """A table of the first results that did not pass, the first few of them whole, and how many there are."""
    rows: list[tuple[Parts, ...]] = []
    whole: list[Result] = []
    count = 0
    async for result in results:
        if result.verdict in NOT_PASSED:
            count += 1
            if len(rows) < KEPT_FAILURES:
                mark = VERDICT_MARKS[result.verdict]
                name = one_line(result.case.id, WHY_LENGTH) + (f" (repeat {result.repeat})" * (result.repeat > 1))
                why = one_line("; ".join(result.reasons), WHY_LENGTH)
                rows.append((Sign(mark, mark.word), name, *([result.candidate] if several else []), why))
            if len(whole) < IN_FULL:
                whole.append(result)
    return Table(("", "case", *(["candidate"] if several else []), "why"), rows), whole, count


def _against_baseline(page: BoundedPage, comparison: Comparison) -> None:
    """In a part of the page, so that the answer of the run itself always has room."""
    part = BoundedPage(int(page.left * BASELINE_SHARE))
    shown = sum(_compared(part, compared, comparison.unit) for compared in comparison.pairs)
    if part.blocks:
        page.take("\n\n".join(part.blocks))
    page.count(len(comparison.pairs) - shown, "comparisons")
    for text in comparison.left_out:
        page.take(Paragraph(f"Not compared: {text}."))


def _compared(page: BoundedPage, compared: PairComparison, unit: str) -> bool:
    if not page.take(Paragraph(comparison_sentence(compared, unit), "bold"), SENTENCE_LENGTH):
        return False
    for warning in setup_warnings(compared):
        page.take(Notice(warning))
    for word, flips in flips_by_direction(compared):
        if flips and page.take(Heading(f"{pluralize(len(flips), unit)} {word}")):
            page.count(len(flips) - page.take_table(flips_table(flips), FLIP_SHARE), f"{unit}s that {word}")
    return True


def _answer(page: BoundedPage, summary: Summary) -> None:
    page.take(Paragraph(run_sentence(summary), "bold"), SENTENCE_LENGTH)
    for warning in warnings(summary):
        page.take(warning)
    if summary.gates:
        page.take(Heading("Gates"))
        page.take(Paragraph(gates_conclusion(summary.gates)))
        page.count(len(summary.gates) - page.take_table(gates_table(summary), FAILURE_SHARE), "gates")
