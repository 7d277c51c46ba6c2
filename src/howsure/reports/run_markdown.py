"""A run as a Markdown document: header, counts, graders, checks, then each failed or errored case with its
conversation, criteria and rules. Foreign text is escaped in tables and fenced elsewhere: it cannot become markup."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from msgspec import json

from howsure.model.result import Result
from howsure.model.score import Direction, Score
from howsure.model.summary import GateRuling, GraderSummary, Summary
from howsure.model.transcript import Message
from howsure.model.verdict import Verdict
from howsure.reports.atomic_files import atomic_text
from howsure.reports.case_facts import conversation, simulation_facts
from howsure.reports.document import escaped, fenced, markdown_table
from howsure.reports.figures import (
    NOTHING,
    VERDICT_MARKS,
    format_number,
    format_on_scale,
    grade_mark,
    iso_utc,
    pass_mark_text,
    pass_rate_of,
)
from howsure.reports.grades import (
    CRITERIA,
    RUBRIC,
    case_grades,
    criteria_scores,
    criterion_score,
    part_grades,
    rubric_scores,
)
from howsure.reports.run_facts import (
    OUTCOME_MARKS,
    gate_name,
    gates_conclusion,
    graders_by_name,
    run_facts,
    run_notes,
    run_sentence,
    run_warning,
)

SHOWN_CASES = 200


async def write_markdown_file(summary: Summary, results: AsyncIterable[Result], path: Path) -> None:
    with atomic_text(path) as file:
        await write_markdown(summary, results, file)


async def write_markdown(summary: Summary, results: AsyncIterable[Result], file: TextIO) -> None:
    """The whole document; past the first cases (`SHOWN_CASES`) the rest are counted, not shown."""
    for block in _run(summary):
        file.write(block + "\n\n")
    shown = left = 0
    async for result in results:
        if result.verdict not in (Verdict.FAILED, Verdict.ERRORED):
            continue
        if shown == SHOWN_CASES:
            left += 1
            continue
        shown += 1
        file.write("".join(f"{block}\n\n" for block in case_blocks(summary, result, first=shown == 1)))
    if left:
        file.write(f"{left:,} more failed or errored cases are not shown here; a `.jsonl` or `.html` report has all.\n")


def _run(summary: Summary) -> Iterator[str]:
    run = summary.run
    yield f"# {escaped(run.name or 'Run')}"
    yield f"**{escaped(run_sentence(summary))}**"
    if run_warning(summary):
        yield f"> {run_warning(summary)}"
    facts = [("run", run.id), *run_facts(run), ("created", iso_utc(run.created_at) or "")]
    yield "\n".join(f"- {name}: {escaped(value)}" for name, value in facts)
    if summary.gates:
        yield "## Gates"
        yield escaped(gates_conclusion(summary.gates))
        yield markdown_table(("gate", "", "why"), [gate_cells(ruling) for ruling in summary.gates])
    yield "## Counts"
    yield _counts(summary)
    yield from map(escaped, run_notes(summary))
    if summary.graders:
        yield "## Graders"
        yield graders_table(summary)
    yield from _checks(summary)


def gate_cells(ruling: GateRuling) -> list[str]:
    mark = OUTCOME_MARKS[ruling.outcome]
    return [escaped(gate_name(ruling)), f"{mark.sign} {mark.word}", escaped(ruling.reason)]


def _counts(summary: Summary) -> str:
    named = {"all": summary.run.counts}
    if len(summary.candidates) > 1:
        named |= summary.candidates
    lines = []
    for name, own in named.items():
        numbers = (own.passed, own.failed, own.errored, own.skipped, own.pending, own.total)
        lines.append([escaped(name or "unnamed"), *(f"{count:,}" for count in numbers), str(pass_rate_of(own))])
    headings = ("", "passed:", "failed:", "errored:", "skipped:", "pending:", "total:", "pass rate [95 %]")
    return markdown_table(headings, lines)


def graders_table(summary: Summary) -> str:
    several = len(summary.candidates) > 1
    first = ["grader", "candidate"] if several else ["grader"]
    rest = ["n:", "mean:", "mark:", "pass rate [95 %]", "errored:", "not applicable:", "no judge:"]
    lines = [
        [escaped(grader.name), *([escaped(grader.candidate)] if several else []), *_grader(grader)]
        for grader in graders_by_name(summary)
    ]
    return markdown_table([*first, *rest], lines)


def _grader(grader: GraderSummary) -> list[str]:
    rate = pass_rate_of(grader)
    absent = (grader.errored, grader.not_applicable, grader.no_judge)
    return [
        f"{grader.scored:,}",
        format_on_scale(grader.mean, grader.scale),
        pass_mark_text(grader.pass_mark, grader.direction) or NOTHING,
        str(rate) if rate.judged else "measured only",
        *(f"{count:,}" for count in absent),
    ]


def _checks(summary: Summary) -> Iterator[str]:
    named = [("criteria", summary.criteria), ("rubric rules", summary.rules)]
    known = [(name, tally) for name, tally in [*named, *summary.components.items()] if tally]
    if not known:
        return
    yield "## Criteria, rules and component scores"
    lines = []
    for name, tally in known:
        numbers = (tally.passed, tally.failed, tally.errored, tally.skipped, tally.total)
        rate = pass_rate_of(tally)
        lines.append([escaped(name), *(f"{count:,}" for count in numbers), str(rate)])
    yield markdown_table(("", "passed:", "failed:", "errored:", "skipped:", "total:", "pass rate [95 %]"), lines)


def case_blocks(summary: Summary, result: Result, *, first: bool) -> Iterator[str]:
    if first:
        yield "## Failed and errored cases"
    mark = VERDICT_MARKS[result.verdict]
    named = [result.case.id, result.case.name, result.candidate, f"repeat {result.repeat}" if result.repeat > 1 else ""]
    yield f"### {mark.sign} {mark.word}: {', '.join(escaped(part) for part in named if part)}"
    if result.reasons or result.failures:
        broke = [f"{failure.kind}: {failure.message}" for failure in result.failures]
        yield "\n".join(f"- {escaped(reason)}" for reason in dict.fromkeys([*result.reasons, *broke]))
    yield fenced("\n".join(_message_text(message) for message in conversation(result)))
    if facts := simulation_facts(result):
        yield "\n".join(f"- {title}: {escaped(text)}" for title, text in facts)
    yield from _grade_tables(summary, result)


def _message_text(message: Message) -> str:
    lines = [f"{message.agent or message.role.value}: {message.content}"] if message.content else []
    for call in message.tool_calls:
        outcome = "no response"
        if call.result is not None:
            outcome = f"{'failed: ' if call.result.failed else ''}{json.encode(call.result.content).decode()}"
        lines.append(f"  → {call.name}({json.encode(call.arguments).decode()}) ← {outcome}")
    return "\n".join(lines)


def _grade_tables(summary: Summary, result: Result) -> Iterator[str]:
    if grades := case_grades(result.grades):
        lines = []
        for grade in grades:
            value, direction = NOTHING, Direction.HIGHER
            if isinstance(grade, Score):
                value, direction = format_number(grade.value), grade.direction
            mark = pass_mark_text(grade.pass_mark, direction)
            lines.append((escaped(grade.name), value, mark, grade_mark(grade).word, escaped(grade.reason)))
        yield markdown_table(("grade", "value:", "mark:", "", "why"), lines)
    criteria = criteria_scores(result.case, result.grades)
    for grader in dict.fromkeys(grade.name for grade in result.grades if grade.part):
        if grader not in (RUBRIC, CRITERIA):
            criteria += [criterion_score(grade) for grade in part_grades(result.grades, grader)]
    if criteria:
        yield markdown_table(("criterion", "", "why"), [_check_row(entry, entry["criterion"]) for entry in criteria])
    if rules := rubric_scores(summary.run.pins.rubric, result.grades):
        rows = [[entry["severity"] or "", *_check_row(entry, entry["rule_name"])] for entry in rules]
        yield markdown_table(("severity", "rule", "", "why"), rows)


def _check_row(entry: dict[str, Any], text: str) -> list[str]:
    unknown = str(entry["status"]).replace("_", " ")
    outcome = unknown if entry["passed"] is None else "passed" if entry["passed"] else "**failed**"
    return [escaped(text), outcome, escaped(str(entry["reasoning"]))]
