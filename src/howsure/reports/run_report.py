"""A run, and one of its results, as a terminal shows them. The run: the answer as a sentence, the counts that add up,
each grader with its interval, the first cases to look at, and what to do next. A result: the verdict and why, the
conversation as a script, then every grade."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import json

from howsure.model.case import Scenario, SingleTurn, opening
from howsure.model.result import Result
from howsure.model.run import Counts
from howsure.model.score import Direction, Grade, Score
from howsure.model.summary import GraderSummary, Summary
from howsure.model.transcript import ToolCall
from howsure.reports.case_facts import conversation, simulation_facts
from howsure.reports.document import (
    AXIS,
    BLANK,
    Block,
    ConversationScript,
    Paragraph,
    Part,
    Parts,
    ReportDocument,
    Sign,
    Table,
    TextSpan,
    line,
)
from howsure.reports.figures import (
    ERRORED,
    FAILED,
    NOTHING,
    PASSED,
    PENDING,
    SKIPPED,
    VERDICT_MARKS,
    Rate,
    format_number,
    format_on_scale,
    grade_mark,
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
    short_id,
)

SHOWN_RESULTS = 8
SHOWN_REASONS = 3
SPEAKER_WIDTH = 11
CALL_LENGTH = 400


def run_report(summary: Summary, worst: Sequence[Result] = (), hints: bool = True) -> ReportDocument:
    """`worst` are the failed and errored results to name, in the order to name them."""
    blocks = [
        *_head(summary),
        *_counts(summary),
        *_candidates(summary),
        *_graders(summary),
        *_checks(summary),
        *gate_blocks(summary),
        *_worst(summary, worst),
    ]
    if hints:
        steps = next_steps(summary, worst[0].case.id if worst else "")
        rows = [(line(command, style="cyan"), TextSpan(purpose, "dim")) for command, purpose in steps]
        blocks += [BLANK, Table(("next", ""), rows)]
    return ReportDocument(blocks)


def _head(summary: Summary) -> Iterator[Block]:
    run = summary.run
    yield Paragraph((line(run.name or "run", style="bold"), "  ", TextSpan(f"run {short_id(run)}", "dim")))
    yield Table(("", ""), [(TextSpan(name, "dim"), line(value)) for name, value in run_facts(run)], header=False)
    if warning := run_warning(summary):
        yield Paragraph(f"! {warning}", "yellow")
    yield BLANK
    yield Paragraph(run_sentence(summary), "bold")


def _counts(summary: Summary) -> Iterator[Block]:
    """`8 passed + 4 failed + 0 errored + 0 skipped + 0 pending = 12`, always all five."""
    counts = summary.run.counts
    parts: list[Part] = []
    for mark, count in zip((PASSED, FAILED, ERRORED, SKIPPED, PENDING), _numbers(counts), strict=True):
        parts += [" + "] if parts else []
        parts.append(Sign(mark, f"{count:,} {mark.word}", mark.style if count else "dim"))
    yield Paragraph((*parts, f" = {counts.total:,}"))
    rate = pass_rate_of(counts)
    if rate.judged and len(summary.candidates) < 2:
        yield Paragraph(("pass rate ", str(rate), "  ", rate))
    for note in run_notes(summary):
        yield Paragraph(note, "dim")


def _numbers(counts: Counts) -> tuple[int, ...]:
    return counts.passed, counts.failed, counts.errored, counts.skipped, counts.pending


def _candidates(summary: Summary) -> Iterator[Block]:
    if len(summary.candidates) < 2:
        return
    rows: list[tuple[Parts, ...]] = [
        (line(name or "-"), *(f"{count:,}" for count in _numbers(counts)), str(rate := pass_rate_of(counts)), rate)
        for name, counts in summary.candidates.items()
    ]
    yield BLANK
    columns = ("candidate", "passed:", "failed:", "errored:", "skipped:", "pending:", "pass rate", AXIS)
    yield Table(columns, rows)


def _graders(summary: Summary) -> Iterator[Block]:
    """Columns for what was not scored are there only where they have something to say."""
    if not summary.graders:
        return
    several = len(summary.candidates) > 1
    words = [("errored", "errored"), ("n/a", "not_applicable"), ("no judge", "no_judge")]
    absences = [(word, name) for word, name in words if any(getattr(grader, name) for grader in summary.graders)]
    candidate = ["candidate"] if several else []
    columns = ["grader", *candidate, "n:", "mean:", "mark:", "pass rate", AXIS, *(f"{word}:" for word, _ in absences)]
    rows = [
        (
            line(grader.name),
            *([line(grader.candidate or "-")] if several else []),
            *_grader_cells(grader),
            *(f"{getattr(grader, name):,}" for _, name in absences),
        )
        for grader in graders_by_name(summary)
    ]
    yield BLANK
    yield Table(columns, rows)


def _grader_cells(grader: GraderSummary) -> list[Parts]:
    rate = pass_rate_of(grader)
    mark = pass_mark_text(grader.pass_mark, grader.direction) or NOTHING
    shown = _rate_text(rate) if rate.judged else "measured only"
    mean = format_on_scale(grader.mean, grader.scale)
    return [f"{grader.scored:,}", mean, mark, shown, rate if rate.judged else ""]


def _rate_text(rate: Rate) -> str:
    return f"{rate.percent} [{rate.bounds}]" if rate.judged else NOTHING


def _checks(summary: Summary) -> Iterator[Block]:
    tallies = [("criteria", summary.criteria), ("rubric rules", summary.rules)]
    tallies += [(f"  {name}", tally) for name, tally in summary.components.items()]
    rows: list[tuple[Parts, ...]] = []
    for name, tally in tallies:
        if tally:
            rate = pass_rate_of(tally)
            rest = [
                f"{count:,} {word}" for count, word in ((tally.errored, "errored"), (tally.skipped, "skipped")) if count
            ]
            share = f"{tally.passed:,} of {tally.total:,}"
            rows.append((name, share, _rate_text(rate), rate, TextSpan(", ".join(rest), "dim")))
    if rows:
        yield BLANK
        yield Table(("checks", "passed:", "pass rate", AXIS, ""), rows)


def _worst(summary: Summary, worst: Sequence[Result]) -> Iterator[Block]:
    if not worst:
        return
    shown = worst[:SHOWN_RESULTS]
    counts = summary.run.counts
    yield BLANK
    yield Paragraph(f"{len(shown)} of {pluralize(counts.failed + counts.errored, 'case')} to look at", "dim")
    for result in shown:
        named = [result.case.id, result.candidate, f"repeat {result.repeat}" if result.repeat > 1 else ""]
        name = "  ".join(part for part in named if part)
        question = result.case.name or opening(result.case.input)
        rest = TextSpan(question, limit=-len(name) - 6, lines=1, least=16)
        yield Paragraph((Sign(VERDICT_MARKS[result.verdict]), " ", line(name, style="bold"), "  ", rest))
        for reason in result.reasons[:SHOWN_REASONS]:
            yield Paragraph(TextSpan(reason, limit=-8, lines=2), indent=4, fill=True)


def gate_report(summary: Summary) -> ReportDocument:
    """The run's name, and a sentence for each gate."""
    run = summary.run
    head = Paragraph((line(run.name or "run", style="bold"), "  ", TextSpan(f"run {short_id(run)}", "dim")))
    return ReportDocument([head, *gate_blocks(summary)])


def gate_blocks(summary: Summary) -> Iterator[Block]:
    """Nothing where there is no gate."""
    if not summary.gates:
        return
    yield BLANK
    yield Paragraph(gates_conclusion(summary.gates), "bold")
    for ruling in summary.gates:
        mark = OUTCOME_MARKS[ruling.outcome]
        yield Paragraph((Sign(mark, mark.word), "  ", line(gate_name(ruling), style="bold")))
        yield Paragraph(ruling.reason, indent=4, fill=True)


def case_report(result: Result) -> ReportDocument:
    """For `howsure show RUN CASE`."""
    blocks = [*_case_head(result), *_input_facts(result), BLANK, ConversationScript(_script(result), SPEAKER_WIDTH)]
    if facts := simulation_facts(result):
        blocks += [BLANK, *(Paragraph((TextSpan(f"{title}  ", "dim"), text)) for title, text in facts)]
    if result.transcript and result.transcript.state is not None:
        blocks += [BLANK, Paragraph((TextSpan("final state  ", "dim"), _json_text(result.transcript.state)))]
    if result.grades:
        blocks += [BLANK, Table(("grade", "value:", "mark:", "why"), list(_grade_rows(result.grades)))]
    return ReportDocument(blocks)


def _case_head(result: Result) -> Iterator[Block]:
    mark = VERDICT_MARKS[result.verdict]
    named = [result.case.id, result.candidate, f"repeat {result.repeat}" if result.repeat > 1 else ""]
    yield Paragraph((Sign(mark, mark.word), "  ", line("  ".join(part for part in named if part))))
    if result.case.name:
        yield Paragraph(line(result.case.name, style="bold"))
    for reason in result.reasons:
        yield Paragraph(reason, indent=2, fill=True)
    for failure in result.failures:
        yield Paragraph(Sign(ERRORED, f"{failure.kind}: {failure.message}", "magenta"), indent=2, fill=True)


def _input_facts(result: Result) -> Iterator[Block]:
    """What the user's side was told beyond what it says."""
    case_input = result.case.input
    if isinstance(case_input, Scenario):
        yield BLANK
        yield Paragraph(f"persona (up to {case_input.max_turns} turns): {case_input.persona}", "dim")
    if isinstance(case_input, SingleTurn) and case_input.context:
        yield BLANK
        yield Paragraph(f"context: {case_input.context}", "dim")


def _script(result: Result) -> list[tuple[Parts, Parts]]:
    lines: list[tuple[Parts, Parts]] = []
    for message in conversation(result):
        parts: list[Part] = [message.content] if message.content else []
        for call in message.tool_calls:
            parts += ["\n"] if parts else []
            parts += _call(call)
        if parts:
            lines.append((line(message.agent or message.role.value), tuple(parts)))
    return lines


def _call(call: ToolCall) -> list[Part]:
    arguments = ", ".join(f"{name}={_json_text(value)}" for name, value in call.arguments.items())
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
    severity = grade.part.severity.value if grade.part and grade.part.severity else ""
    why = f"{severity}: {grade.reason}" if severity and grade.reason else severity or grade.reason
    value, direction = NOTHING, Direction.HIGHER
    if isinstance(grade, Score):
        value = format_number(grade.value) if grade.part else format_on_scale(grade.value, grade.scale)
        direction = grade.direction
    else:
        why = f"{mark.word}: {why}"
    return (indent, Sign(mark), " ", name.strip()), value, pass_mark_text(grade.pass_mark, direction), why
