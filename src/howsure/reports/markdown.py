"""A run as a Markdown document: header, counts, graders, checks, then each failed or errored case with its talk, its
criteria and rules. Foreign text is escaped in tables and fenced elsewhere: it cannot become markup."""

from __future__ import annotations

import re
from collections.abc import AsyncIterable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

from msgspec import json

from howsure.model.gate import GateRuling
from howsure.model.result import Result
from howsure.model.score import Grade, Score
from howsure.model.summary import GraderSummary, Summary
from howsure.model.transcript import Message, ToolCall
from howsure.model.verdict import Verdict
from howsure.reports.checks import RUBRIC, criteria_scores, parts, rubric_scores, status, wholes
from howsure.reports.conversation import conversation
from howsure.reports.figures import NOTHING, Rate, number, on_scale, utc
from howsure.reports.gates import OF_OUTCOME, conclusion, gate_name
from howsure.reports.header import facts, graders_together, notes, warning
from howsure.reports.inert import inert, one_line
from howsure.reports.marks import OF_VERDICT, mark_of, needed
from howsure.reports.sentence import rate_of, sentence
from howsure.reports.simulated import played
from howsure.reports.whole_file import whole_text

SHOWN_CASES = 200
# Signs that mean something anywhere; an underscore inside a word means nothing, and a colon only in an address.
INLINE = re.compile(r"[\\`*{}\[\]<>&|~$]|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=www)\.")
# Signs that mean something at the start of a line: headings, lists, numbered lists, rules.
LEADING = re.compile(r"^(?:[#+\-=]|(\d+)([.)])(?=\s|$))")
# What a code host would take for a person to call or an issue to link: an empty comment comes between, which shows
# nothing and breaks the word.
REFERENCE = re.compile(r"(?<![\w`])(@(?=\w)|[#!](?=\d))")
APART = r"\1<!-- -->"
ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
BACKTICKS = re.compile(r"`+")


async def markdown_file(summary: Summary, results: AsyncIterable[Result], path: Path) -> None:
    with whole_text(path) as file:
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


def escaped(text: str) -> str:
    """On one line, with nothing left that Markdown or HTML would read."""
    inline = INLINE.sub(lambda found: ENTITIES.get(found[0], f"\\{found[0]}"), one_line(text))
    started = LEADING.sub(lambda found: f"{found[1]}\\{found[2]}" if found[1] else f"\\{found[0]}", inline)
    return REFERENCE.sub(APART, started)


def fenced(text: str, language: str = "text") -> str:
    """In a code block whose fence is longer than any run of backticks inside."""
    longest = max((len(run) for run in BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{inert(text)}\n{fence}"


def table(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Cells are written as they are: escape what is foreign. A heading that ends in `:` is aligned right."""
    rule = ["---:" if heading.endswith(":") else "---" for heading in headings]
    named = [heading.rstrip(":") for heading in headings]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (named, rule, *lines))


def _run(summary: Summary) -> Iterator[str]:
    run = summary.run
    yield f"# {escaped(run.name or 'Run')}"
    yield f"**{escaped(sentence(summary))}**"
    if warning(summary):
        yield f"> {warning(summary)}"
    said = [("run", run.id), *facts(run), ("created", utc(run.created_at) or "")]
    yield "\n".join(f"- {name}: {escaped(value)}" for name, value in said)
    if summary.gates:
        yield "## Gates"
        yield escaped(conclusion(summary.gates))
        yield table(("gate", "", "why"), [gate_cells(ruling) for ruling in summary.gates])
    yield "## Counts"
    yield _counts(summary)
    yield from map(escaped, notes(summary))
    if summary.graders:
        yield "## Graders"
        yield graders_table(summary)
    yield from _checks(summary)


def gate_cells(ruling: GateRuling) -> list[str]:
    mark = OF_OUTCOME[ruling.outcome]
    return [escaped(gate_name(ruling)), f"{mark.sign} {mark.word}", escaped(ruling.reason)]


def _counts(summary: Summary) -> str:
    named = {"all": summary.run.counts}
    if len(summary.candidates) > 1:
        named |= summary.candidates
    lines = []
    for name, own in named.items():
        numbers = (own.passed, own.failed, own.errored, own.skipped, own.pending, own.total)
        lines.append([escaped(name or "unnamed"), *(f"{count:,}" for count in numbers), str(rate_of(own))])
    headings = ("", "passed:", "failed:", "errored:", "skipped:", "pending:", "total:", "pass rate [95 %]")
    return table(headings, lines)


def graders_table(summary: Summary) -> str:
    several = len(summary.candidates) > 1
    first = ["grader", "candidate"] if several else ["grader"]
    rest = ["n:", "mean:", "mark:", "pass rate [95 %]", "errored:", "not applicable:", "no judge:"]
    lines = [
        [escaped(grader.name), *([escaped(grader.candidate)] if several else []), *_grader(grader)]
        for grader in graders_together(summary)
    ]
    return table([*first, *rest], lines)


def _grader(grader: GraderSummary) -> list[str]:
    rate = Rate(grader.passed, grader.passed + grader.failed)
    absent = (grader.errored, grader.not_applicable, grader.no_judge)
    return [
        f"{grader.scored:,}",
        on_scale(grader.mean, grader.scale),
        needed(grader.pass_mark, grader.direction) or NOTHING,
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
        rate = Rate(tally.passed, tally.passed + tally.failed)
        lines.append([escaped(name), *(f"{count:,}" for count in numbers), str(rate)])
    yield table(("", "passed:", "failed:", "errored:", "skipped:", "total:", "pass rate [95 %]"), lines)


def case_blocks(summary: Summary, result: Result, *, first: bool) -> Iterator[str]:
    if first:
        yield "## Failed and errored cases"
    mark = OF_VERDICT[result.verdict]
    named = [result.case.id, result.case.name, result.candidate, f"repeat {result.repeat}" if result.repeat > 1 else ""]
    yield f"### {mark.sign} {mark.word}: {', '.join(escaped(part) for part in named if part)}"
    if result.reasons or result.failures:
        broke = [f"{failure.kind}: {failure.message}" for failure in result.failures]
        yield "\n".join(f"- {escaped(reason)}" for reason in dict.fromkeys([*result.reasons, *broke]))
    yield fenced("\n".join(_said(message) for message in conversation(result)))
    if told := played(result):
        yield "\n".join(f"- {title}: {escaped(text)}" for title, text in told)
    yield from _graded(summary, result)


def _said(message: Message) -> str:
    speaker = message.agent or message.role.value
    lines = [f"{speaker}: {message.content}"] if message.content else []
    return "\n".join([*lines, *(f"  {_called(call)}" for call in message.tool_calls)])


def _called(call: ToolCall) -> str:
    asked = f"→ {call.name}({json.encode(call.arguments).decode()})"
    if call.result is None:
        return f"{asked} ← no response"
    return f"{asked} ← {'failed: ' if call.result.failed else ''}{json.encode(call.result.content).decode()}"


def _graded(summary: Summary, result: Result) -> Iterator[str]:
    if wholes(result.grades):
        lines = [_grade(grade) for grade in wholes(result.grades)]
        yield table(("grade", "value:", "mark:", "", "why"), lines)
    criteria = criteria_scores(result.case, result.grades)
    for grader in dict.fromkeys(grade.name for grade in result.grades if grade.part):
        if grader not in (RUBRIC, "criteria"):
            criteria += [_part(grade) for grade in parts(result.grades, grader)]
    if criteria:
        yield table(("criterion", "", "why"), [_check(entry, entry["criterion"]) for entry in criteria])
    rules = rubric_scores(summary.run.pins.rubric, result.grades)
    if rules:
        lines = [[entry["severity"] or "", *_check(entry, entry["rule_name"])] for entry in rules]
        yield table(("severity", "rule", "", "why"), lines)


def _grade(grade: Grade) -> list[str]:
    value = number(grade.value) if isinstance(grade, Score) else NOTHING
    mark = needed(grade.pass_mark, grade.direction) if isinstance(grade, Score) else needed(grade.pass_mark)
    return [escaped(grade.name), value, mark, mark_of(grade).word, escaped(grade.reason)]


def _part(grade: Grade) -> dict[str, object]:
    passed = grade.passed if isinstance(grade, Score) else None
    text = grade.part.text if grade.part else ""
    return {"criterion": text, "passed": passed, "status": status(grade), "reasoning": grade.reason}


def _check(entry: dict[str, object], text: str) -> list[str]:
    said = {True: "passed", False: "**failed**"}.get(entry["passed"] is True) if entry["passed"] is not None else None
    return [escaped(text), said or str(entry["status"]).replace("_", " "), escaped(str(entry["reasoning"]))]
