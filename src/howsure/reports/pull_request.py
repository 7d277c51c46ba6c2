"""A run as Markdown for a pull request: what flipped against the baseline, the answer in a sentence, the gates, a table
of failures, then failed cases in full for as long as there is room. However many cases there are, the text stays below
what a comment on a code host may hold; what had no room is counted."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Sequence
from pathlib import Path

from howsure.model.comparison import CaseFlip, Comparison, PairComparison
from howsure.model.result import Result
from howsure.model.summary import Summary
from howsure.model.verdict import Verdict
from howsure.reports.atomic_files import atomic_text
from howsure.reports.comparisons import comparison_sentence, flip_id, flips_by_direction, setup_warnings, tries_text
from howsure.reports.document import escaped, markdown_table
from howsure.reports.figures import VERDICT_MARKS, iso_utc, pluralize
from howsure.reports.run_facts import gates_conclusion, run_facts, run_notes, run_sentence, run_warning, short_id
from howsure.reports.run_markdown import case_blocks, gate_cells, graders_table
from howsure.reports.safe_text import one_line

COMMENT_LIMIT = 65_536
"""The most characters a comment may have on the code hosts we know of."""
MAX_BYTES = 64_000
"""Bytes, which are never fewer than characters; the rest is left to the program that posts the text."""
WHY_LENGTH = 200
KEPT_FAILURES = 1000
IN_FULL = 40
BASELINE_SHARE, FLIP_SHARE, FAILURE_SHARE = 0.5, 0.5, 0.5
NOT_PASSED = (Verdict.FAILED, Verdict.ERRORED)


class BoundedPage:
    """Blocks of Markdown that together have at most `size` bytes."""

    def __init__(self, size: int) -> None:
        self.left = size
        self.blocks: list[str] = []

    def take(self, block: str) -> bool:
        """Add the block if it still fits, and say whether it did."""
        size = len(block.encode("utf-8", "surrogatepass")) + 2
        if size > self.left:
            return False
        self.left -= size
        self.blocks.append(block)
        return True

    def take_table(self, headings: Sequence[str], lines: Iterable[Sequence[str]], share: float) -> int:
        """Add as many rows as fit into this share of what is left; the number of rows that were added."""
        rows: list[Sequence[str]] = []
        left = int(self.left * share) - len(markdown_table(headings, []).encode())
        for line in lines:
            left -= len(f"| {' | '.join(line)} |\n".encode("utf-8", "surrogatepass"))
            if left < 0:
                break
            rows.append(line)
        if rows:
            self.take(markdown_table(headings, rows))
        return len(rows)

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
    failures, whole, count = await _failures(results)
    page = BoundedPage(limit)
    page.take(f"# {escaped(one_line(summary.run.name or 'Run', WHY_LENGTH))}")
    if comparison:
        # In a part of the page, so that the answer of the run itself always has room.
        part = BoundedPage(int(page.left * BASELINE_SHARE))
        shown = sum(_compared(part, compared, comparison.unit) for compared in comparison.pairs)
        if part.blocks:
            page.take("\n\n".join(part.blocks))
        _left(page, len(comparison.pairs) - shown, "comparisons")
        for text in comparison.left_out:
            page.take(f"Not compared: {_short(text)}.")
    _answer(page, summary)
    _list_failures(page, summary, failures, count)
    run = summary.run
    if summary.graders and not page.take(f"## Graders\n\n{graders_table(summary)}"):
        _left(page, len(summary.graders), "graders")
    for note in run_notes(summary):
        page.take(escaped(note))
    facts = [("run", run.id), *run_facts(run), ("created", iso_utc(run.created_at) or "")]
    page.take("\n".join(f"- {name}: {_short(value)}" for name, value in facts))
    page.take(f"`howsure show {short_id(run)}` shows more of it, `howsure report {short_id(run)} -o report.html` all.")
    _in_full(page, summary, whole, count)
    return page.text


async def _failures(results: AsyncIterable[Result]) -> tuple[list[list[str]], list[Result], int]:
    """The table rows of the first results that did not pass, the first few of them whole, and how many there are."""
    lines: list[list[str]] = []
    whole: list[Result] = []
    count = 0
    async for result in results:
        if result.verdict in NOT_PASSED:
            count += 1
            if len(lines) < KEPT_FAILURES:
                lines.append(_line(result))
            if len(whole) < IN_FULL:
                whole.append(result)
    return lines, whole, count


def _line(result: Result) -> list[str]:
    mark = VERDICT_MARKS[result.verdict]
    repeat = f" (repeat {result.repeat})" if result.repeat > 1 else ""
    why = one_line("; ".join(result.reasons), WHY_LENGTH)
    return [f"{mark.sign} {mark.word}", f"{_short(result.case.id)}{repeat}", _short(result.candidate), escaped(why)]


def _short(text: str) -> str:
    return escaped(one_line(text, WHY_LENGTH))


def _compared(page: BoundedPage, compared: PairComparison, unit: str) -> bool:
    if not page.take(f"**{escaped(one_line(comparison_sentence(compared, unit), 4 * WHY_LENGTH))}**"):
        return False
    for line in setup_warnings(compared):
        page.take(f"> {_short(line)}")
    for word, flips in flips_by_direction(compared):
        if flips and page.take(f"## {pluralize(len(flips), unit)} {word}"):
            shown = page.take_table(("case", "before", "now", "turned with it"), map(_flip, flips), FLIP_SHARE)
            _left(page, len(flips) - shown, f"{unit}s that {word}")
    return True


def _flip(flip: CaseFlip) -> list[str]:
    turned = one_line(", ".join(flip.graders), WHY_LENGTH)
    return [_short(flip_id(flip)), tries_text(flip.first), tries_text(flip.second), escaped(turned)]


def _answer(page: BoundedPage, summary: Summary) -> None:
    page.take(f"**{escaped(one_line(run_sentence(summary), 4 * WHY_LENGTH))}**")
    if warning := run_warning(summary):
        page.take(f"> {warning}")
    if summary.gates:
        page.take(f"## Gates\n\n{_short(gates_conclusion(summary.gates))}")
        shown = page.take_table(("gate", "", "why"), map(gate_cells, summary.gates), FAILURE_SHARE)
        _left(page, len(summary.gates) - shown, "gates")


def _list_failures(page: BoundedPage, summary: Summary, failures: Sequence[list[str]], count: int) -> None:
    if not failures:
        return
    several = len(summary.candidates) > 1
    columns = (0, 1, 2, 3) if several else (0, 1, 3)
    headings = [("", "case", "candidate", "why")[column] for column in columns]
    page.take(f"## {pluralize(count, 'case')} did not pass")
    shown = page.take_table(headings, ([line[column] for column in columns] for line in failures), FAILURE_SHARE)
    _left(page, count - shown, "cases that did not pass")


def _left(page: BoundedPage, left: int, what: str) -> None:
    if left:
        page.take(f"{left:,} more {what} are not shown here; a `.html` or `.jsonl` report has all.")


def _in_full(page: BoundedPage, summary: Summary, whole: Sequence[Result], count: int) -> None:
    shown = 0
    for result in whole:
        block = "\n\n".join(case_blocks(summary, result, first=shown == 0))
        if not page.take(block):
            break
        shown += 1
    if shown and count > shown:
        page.take(f"{count - shown:,} more cases that did not pass are not shown in full.")
