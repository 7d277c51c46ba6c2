"""A run, and one of its results, on a terminal and as Markdown. The run: the answer as a sentence, the counts that add
up, each grader with its interval, the first cases to look at, and what to do next; in Markdown, each failed or errored
case in full. A result: the verdict and why, the conversation as a script, then every grade."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

from msgspec import json

from howsure.model.case import opening
from howsure.model.result import Result
from howsure.model.run import Counts
from howsure.model.score import Direction, Grade, Score
from howsure.model.summary import Summary
from howsure.model.transcript import ToolCall
from howsure.model.verdict import Verdict
from howsure.reports.atomic_files import atomic_text
from howsure.reports.case_facts import conversation, expectation_texts, given_facts, simulation_facts
from howsure.reports.document import (
    AXIS,
    BLANK,
    Block,
    ConversationScript,
    Heading,
    Notice,
    Paragraph,
    Part,
    Parts,
    ReportDocument,
    Sign,
    Table,
    TextSpan,
    line,
    markdown,
)
from howsure.reports.figures import (
    DAMAGED,
    ERRORED,
    FAILED,
    NOTHING,
    PASSED,
    PENDING,
    SKIPPED,
    VERDICT_MARKS,
    format_number,
    format_on_scale,
    grade_mark,
    iso_utc,
    pass_mark_text,
    pass_rate_of,
    pluralize,
)
from howsure.reports.grades import case_grades, part_grades
from howsure.reports.run_facts import (
    OUTCOME_MARKS,
    gate_name,
    gates_conclusion,
    graders_by_name,
    next_steps,
    run_facts,
    run_notes,
    run_sentence,
    run_warning,
    shell_quote,
    short_id,
    slice_groups,
)

SHOWN_RESULTS = 8
SHOWN_CASES = 200
SHOWN_REASONS = 3
SHOWN_SLICES = 8
MOST_SLICES = 200
SPEAKER_WIDTH = 11
LONGEST_SPEAKER = 28
CALL_LENGTH = 400
RATE = "pass rate [95 %]"


def run_report(summary: Summary, worst: Sequence[Result] = (), hints: bool = True, by: str = "") -> ReportDocument:
    """`worst` are the failed and errored results to name, in the order to name them. `by`: broken down by this label
    alone, with its first 200 values."""
    blocks: list[Block] = [
        _run_title(summary),
        fact_list(run_facts(summary.run)),
        *warnings(summary),
        Heading(run_sentence(summary)),
        *verdict_counts(summary),
        *graders_table(summary),
        *checks_table(summary),
        *slice_tables(summary, by, MOST_SLICES if by else SHOWN_SLICES),
        *_gates(summary),
        *_worst(summary, worst),
    ]
    if hints:
        steps = next_steps(summary, worst[0].case.id if worst else "")
        rows = [(line(command, style="cyan"), TextSpan(purpose, "dim")) for command, purpose in steps]
        blocks += [BLANK, Table(("next", ""), rows, tight=True)]
    return ReportDocument(blocks)


def gate_report(summary: Summary) -> ReportDocument:
    """The run's name, and a sentence for each gate."""
    return ReportDocument([_run_title(summary), *_gates(summary)])


def _gates(summary: Summary) -> tuple[Block, ...]:
    return (Heading(gates_conclusion(summary.gates)), gates_table(summary)) if summary.gates else ()


def _run_title(summary: Summary) -> Paragraph:
    run = summary.run
    return Paragraph((line(run.name or "run", style="bold"), "  ", TextSpan(f"run {short_id(run)}", "dim")))


def fact_list(facts: Sequence[tuple[str, str]]) -> Table:
    return Table(("", ""), [(TextSpan(name, "dim"), line(value)) for name, value in facts], header=False)


def warnings(summary: Summary) -> list[Block]:
    warning = run_warning(summary)
    return [Notice(warning)] if warning else []


def verdict_counts(summary: Summary) -> Iterator[Block]:
    """`8 passed + 4 failed + 0 errored + 0 skipped + 0 pending = 12`, always these five, and damaged ones if there are
    any; the rate, and its limits; then each candidate, if there are several."""
    counts = summary.run.counts
    parts: list[Part] = []
    for mark in (PASSED, FAILED, ERRORED, SKIPPED, *([DAMAGED] if counts.damaged else []), PENDING):
        count = getattr(counts, mark.word)
        parts += [" + "] if parts else []
        parts.append(Sign(mark, f"{count:,} {mark.word}", mark.style if count else "dim"))
    yield Paragraph((*parts, f" = {counts.total:,}"))
    rate, several = pass_rate_of(counts), len(summary.candidates) > 1
    if rate.judged and not several:
        yield Paragraph(("pass rate ", str(rate), "  ", rate))
    for note in run_notes(summary):
        yield Paragraph(note, "dim")
    if several:
        named = [([name or "-"], own) for name, own in summary.candidates.items()]
        yield counts_table(["candidate"], named, title="Candidates")


def counts_table(
    headings: list[str], named: Sequence[tuple[list[str], Counts]], *, title: str = "", ranges: bool = True
) -> Table:
    """Verdicts that nobody has are left out. Where cases errored, `of all` is what the rate would be with them."""
    rare = ("errored", "skipped", "damaged", "pending")
    kinds = [each for each in rare if any(getattr(own, each) for _, own in named)]
    errored = ranges and "errored" in kinds
    rows: list[tuple[Parts, ...]] = []
    for names, own in named:
        numbers = [f"{getattr(own, kind):,}" for kind in ("passed", "failed", *kinds)]
        rate = pass_rate_of(own)
        rows.append((*map(line, names), *numbers, rate.brief, *([rate.range] if errored else []), rate))
    columns = [*headings, "passed:", "failed:", *(f"{kind}:" for kind in kinds), RATE]
    return Table([*columns, *(["of all"] if errored else []), AXIS], rows, tight=True, title=title)


def slice_tables(summary: Summary, by: str = "", most: int = 0) -> Iterator[Block]:
    """The verdicts by each of the usual labels, or by this alone; of each the first `most` values (0: all)."""
    several = len(summary.candidates) > 1 and by != "candidate"
    for label, slices in slice_groups(summary, by):
        values = list(dict.fromkeys(each.value for each in slices))
        shown = [each for each in slices if each.value in values[: most or len(values)]]
        named = [([each.value, *([each.candidate or "-"] if several else [])], each.counts) for each in shown]
        headings = [f"by {label}", *(["candidate"] if several else [])]
        yield counts_table(headings, named, title=f"By {label}")
        if most and len(values) > most:
            command = f"howsure show {short_id(summary.run)} --by {shell_quote(label)}{' --json' if by else ''}"
            yield Paragraph(f"and {len(values) - most:,} more: {command}", "dim")


def graders_table(summary: Summary) -> Iterator[Table]:
    """Columns for what was not scored are there only where they have something to say. `measured only`: it has values
    and no mark to reach."""
    if not summary.graders:
        return
    words = {"errored": "errored", "not_applicable": "n/a", "no_judge": "no judge"}
    absences = [name for name in words if any(getattr(grader, name) for grader in summary.graders)]
    several = len(summary.candidates) > 1
    rows: list[tuple[Parts, ...]] = []
    for grader in graders_by_name(summary):
        rate, mean = pass_rate_of(grader), format_on_scale(grader.mean, grader.scale)
        mark = pass_mark_text(grader.pass_mark, grader.direction) or NOTHING
        shown = rate.brief if rate.judged or not grader.scored else "measured only"
        names = [grader.name, *([grader.candidate or "-"] if several else [])]
        cells = (f"{grader.scored:,}", mean, mark, shown, rate if rate.judged else "")
        rows.append((*map(line, names), *cells, *(f"{getattr(grader, name):,}" for name in absences)))
    columns = [
        "grader",
        *(["candidate"] if several else []),
        "n:",
        "mean:",
        "mark:",
        RATE,
        AXIS,
        *(f"{words[name]}:" for name in absences),
    ]
    yield Table(columns, rows, tight=True, title="Graders")


def checks_table(summary: Summary) -> Iterator[Table]:
    tallies = [("criteria", summary.criteria), ("rubric rules", summary.rules)]
    tallies += [(f"  {name}", tally) for name, tally in summary.components.items()]
    rows: list[tuple[Parts, ...]] = []
    for name, tally in tallies:
        if tally:
            rate, absent = pass_rate_of(tally), ((tally.errored, "errored"), (tally.skipped, "skipped"))
            rest = ", ".join(f"{count:,} {word}" for count, word in absent if count)
            rows.append((name, f"{tally.passed:,} of {tally.total:,}", rate.brief, rate, TextSpan(rest, "dim")))
    if rows:
        columns = ("checks", "passed:", RATE, AXIS, "")
        yield Table(columns, rows, tight=True, title="Criteria, rules and component scores")


def gates_table(summary: Summary) -> Table:
    rows = []
    for ruling in summary.gates:
        mark = OUTCOME_MARKS[ruling.outcome]
        rows.append(((Sign(mark, mark.word), "  ", line(gate_name(ruling), style="bold")), ruling.reason))
    return Table(("gate", "why"), rows, tight=True)


def _worst(summary: Summary, worst: Sequence[Result]) -> Iterator[Block]:
    if not worst:
        return
    shown, counts = worst[:SHOWN_RESULTS], summary.run.counts
    yield BLANK
    yield Paragraph(f"{len(shown)} of {pluralize(counts.failed + counts.errored, 'case')} to look at", "dim")
    for result in shown:
        name = "  ".join(result_names(result))
        rest = TextSpan(result.case.name or opening(result.case.input), limit=-len(name) - 6, lines=1, least=16)
        yield Paragraph((Sign(VERDICT_MARKS[result.verdict]), " ", line(name, style="bold"), "  ", rest))
        for reason in result.reasons[:SHOWN_REASONS]:
            yield Paragraph(TextSpan(reason, limit=-8, lines=2), indent=4, fill=True)


def result_names(result: Result) -> list[str]:
    """What tells it from the other results of the run."""
    named = (result.case.id, result.candidate, f"repeat {result.repeat}" if result.repeat > 1 else "")
    return [part for part in named if part]


def case_report(result: Result) -> ReportDocument:
    """For `howsure show RUN CASE`."""
    mark = VERDICT_MARKS[result.verdict]
    title = Paragraph((Sign(mark, mark.word), "  ", line("  ".join(result_names(result)))))
    named = [Paragraph(line(result.case.name, style="bold"))] if result.case.name else []
    return ReportDocument([title, *named, *case_blocks(result)])


def case_blocks(result: Result) -> Iterator[Block]:
    """All that is known of one result, below its name."""
    for reason in result.reasons:
        yield Paragraph(reason, indent=2, fill=True)
    for failure in result.failures:
        yield Paragraph(Sign(ERRORED, f"{failure.kind}: {failure.message}", "magenta"), indent=2, fill=True)
    for flag in result.flags:
        yield Paragraph(f"! {flag.kind}: {flag.text}", "yellow", indent=2, fill=True)
    if marks := [*result.case.tags, *(f"{name}: {value}" for name, value in result.case.labels.items())]:
        yield Paragraph(" · ".join(marks), "dim", indent=2, fill=True)
    yield from _titled(given_facts(result))
    script = _script(result)
    longest = max((len(speaker.text) for speaker, _ in script), default=0)
    yield BLANK
    yield ConversationScript(script, max(SPEAKER_WIDTH, min(longest, LONGEST_SPEAKER)))
    state = result.transcript.state if result.transcript else None
    expected = [(f"expected {title}", text) for title, text in expectation_texts(result.case, result.grades)]
    ended = [] if state is None else [("final state", _json_text(state))]
    yield from _titled([*simulation_facts(result), *ended, *expected])
    if result.grades:
        yield BLANK
        yield Table(("grade", "value:", "mark:", "why"), list(_grade_rows(result.grades)))


def _titled(facts: Sequence[tuple[str, str]]) -> Iterator[Block]:
    """Each with its title before it; a text of several lines begins on a line of its own."""
    if facts:
        yield BLANK
    for title, text in facts:
        yield Paragraph((TextSpan(f"{title}: ", "dim"), "\n" if "\n" in text else "", text), indent=2)


def _script(result: Result) -> list[tuple[TextSpan, Parts]]:
    lines: list[tuple[TextSpan, Parts]] = []
    for message in conversation(result):
        parts: list[Part] = [message.content] if message.content else []
        for call in message.tool_calls:
            parts += ["\n"] if parts else []
            parts += _call(call)
        if parts:
            lines.append((line(message.agent or message.role.value), tuple(parts)))
    return lines


def _call(call: ToolCall) -> list[Part]:
    arguments = ", ".join(f"{name}={json.encode(value).decode()}" for name, value in call.arguments.items())
    shown = line(f"→ {call.name}({arguments})", CALL_LENGTH, "cyan")
    if call.result is None:
        return [shown, TextSpan("  ← no response", "dim cyan")]
    failed = " failed" if call.result.failed else ""
    answer = line(f"  ←{failed} {_json_text(call.result.content)}", CALL_LENGTH, "red" if failed else "dim cyan")
    return [shown, "\n", answer]


def _json_text(value: object) -> str:
    return value if isinstance(value, str) else json.encode(value).decode()


def _grade_rows(grades: Sequence[Grade]) -> Iterator[tuple[Parts, ...]]:
    """Each grade of the case with its parts under it; then the parts whose grader gave no grade of the case."""
    known = set()
    for grade in case_grades(grades):
        known.add(grade.name)
        yield _grade_row(grade, "", grade.name)
        for part in part_grades(grades, grade.name):
            yield _grade_row(part, "  ", part.part.text if part.part else "")
    for grade in grades:
        if grade.part is not None and grade.name not in known:
            yield _grade_row(grade, "", f"{grade.name}: {grade.part.text}")


def _grade_row(grade: Grade, indent: str, name: str) -> tuple[Parts, ...]:
    """A part is a yes or no: its scale would be noise."""
    mark = grade_mark(grade)
    part = grade.part
    facts = [part.severity.value] if part and part.severity else []
    facts += [f"weight {format_number(part.weight)}"] if part and part.weight is not None else []
    why = ": ".join(filter(None, (", ".join(facts), grade.reason)))
    value, direction = NOTHING, Direction.HIGHER
    if isinstance(grade, Score):
        value = format_number(grade.value) if grade.part else format_on_scale(grade.value, grade.scale)
        direction = grade.direction
    else:
        why = f"{mark.word}: {why}"
    return (indent, Sign(mark), " ", name.strip()), value, pass_mark_text(grade.pass_mark, direction), why


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
        more = f"{left:,} more failed or errored cases are not shown here"
        file.write(f"\n{more}; a `.jsonl` or `.html` report has all.\n")


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
