"""A run as a terminal shows it: the answer as a sentence, the counts that add up, each grader with its interval, the
first cases to look at, and what to do next."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterator, Sequence

from msgspec import Struct
from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from howsure.model.case import opening
from howsure.model.result import Result
from howsure.model.run import Counts
from howsure.model.summary import GraderSummary, Summary, Tally
from howsure.model.verdict import Verdict
from howsure.reports.figures import NOTHING, Rate, counted, on_scale
from howsure.reports.gates import gate_lines
from howsure.reports.header import facts, graders_together, next_steps, notes, short_id, warning
from howsure.reports.marks import ERRORED, FAILED, OF_VERDICT, PASSED, PENDING, SKIPPED, needed
from howsure.reports.screen import Screen
from howsure.reports.sentence import rate_of, sentence

SHOWN_CASES = 8
SHOWN_REASONS = 3


class RunReport(Struct, frozen=True):
    """Something rich can print. `worst` are the failed and errored results to name, in the order to name them."""

    summary: Summary
    worst: Sequence[Result] = ()
    hints: bool = True

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        screen = Screen.of(options)
        yield from _head(screen, self.summary)
        yield from _counts(screen, self.summary)
        yield from _candidates(screen, self.summary)
        yield from _graders(screen, self.summary)
        yield from _checks(screen, self.summary)
        yield from gate_lines(screen, self.summary)
        yield from _worst(screen, self.summary, self.worst)
        if self.hints:
            yield from _hints(screen, self.summary, self.worst)


async def to_look_at(results: AsyncIterable[Result], limit: int = SHOWN_CASES) -> list[Result]:
    """The first failed results, then the first errored ones: `limit` in all. Stops reading when it has enough."""
    failed: list[Result] = []
    errored: list[Result] = []
    async for result in results:
        if result.verdict is Verdict.FAILED:
            failed.append(result)
        elif result.verdict is Verdict.ERRORED and len(errored) < limit:
            errored.append(result)
        if len(failed) == limit:
            break
    return [*failed, *errored][:limit]


def _head(screen: Screen, summary: Summary) -> Iterator[Text | Table]:
    run = summary.run
    yield Text.assemble(screen.line(run.name or "run", style="bold"), "  ", (f"run {short_id(run)}", "dim"))
    table = screen.table(("", "left"), ("", "left"))
    table.show_header = False
    for name, value in facts(run):
        table.add_row(Text(name, style="dim"), screen.line(value))
    yield table
    if warning(summary):
        yield screen.text(f"! {warning(summary)}", "yellow")
    yield Text()
    yield screen.text(sentence(summary), "bold")


def _counts(screen: Screen, summary: Summary) -> Iterator[Text]:
    yield counts_line(screen, summary.run.counts)
    rate = rate_of(summary.run.counts)
    if rate.judged and len(summary.candidates) < 2:
        yield Text.assemble("pass rate ", screen.text(str(rate)), "  ", screen.strip(rate))
    for note in notes(summary):
        yield screen.text(note, "dim")


def counts_line(screen: Screen, counts: Counts) -> Text:
    """`8 passed + 4 failed + 0 errored + 0 skipped + 0 pending = 12`, always all five."""
    kinds = (PASSED, FAILED, ERRORED, SKIPPED, PENDING)
    numbers = (counts.passed, counts.failed, counts.errored, counts.skipped, counts.pending)
    said = [
        screen.text(f"{screen.sign(mark)} {number:,} {mark.word}", mark.style if number else "dim")
        for mark, number in zip(kinds, numbers, strict=True)
    ]
    return Text(" + ").join(said) + Text(f" = {counts.total:,}")


def _candidates(screen: Screen, summary: Summary) -> Iterator[Text | Table]:
    if len(summary.candidates) < 2:
        return
    words = [(word, "right") for word in ("passed", "failed", "errored", "skipped", "pending")]
    table = screen.table(("candidate", "left"), *words, ("pass rate", "left"), *_axis(screen))
    for name, counts in summary.candidates.items():
        numbers = (counts.passed, counts.failed, counts.errored, counts.skipped, counts.pending)
        rate = rate_of(counts)
        strip = [screen.strip(rate)] if screen.wide else []
        table.add_row(screen.line(name or "-"), *(f"{n:,}" for n in numbers), screen.text(str(rate)), *strip)
    yield Text()
    yield table


def _axis(screen: Screen) -> list[tuple[str, str]]:
    return [("0 %                100 %", "left")] if screen.wide else []


def _graders(screen: Screen, summary: Summary) -> Iterator[Text | Table]:
    if not summary.graders:
        return
    several = len(summary.candidates) > 1
    absences = _absences(summary.graders)
    columns = [("grader", "left"), ("candidate", "left"), ("n", "right"), ("mean", "right"), ("mark", "right")]
    columns += [("pass rate", "left"), *_axis(screen), *((word, "right") for word, _ in absences)]
    table = screen.table(*(column for column in columns if several or column[0] != "candidate"))
    for grader in graders_together(summary):
        cells = _grader_cells(screen, grader) + [Text(f"{getattr(grader, field):,}") for _, field in absences]
        table.add_row(cells[0], *([screen.line(grader.candidate or "-")] if several else []), *cells[1:])
    yield Text()
    yield table


def _grader_cells(screen: Screen, grader: GraderSummary) -> list[Text]:
    rate = Rate(grader.passed, grader.passed + grader.failed)
    strip = [screen.strip(rate) if rate.judged else Text()] if screen.wide else []
    return [
        screen.line(grader.name),
        Text(f"{grader.scored:,}"),
        screen.text(on_scale(grader.mean, grader.scale)),
        screen.text(needed(grader.pass_mark, grader.direction) or NOTHING),
        screen.text(_judged(rate)),
        *strip,
    ]


def _judged(rate: Rate) -> str:
    return f"{rate.percent} [{rate.bounds}]" if rate.judged else "measured only"


def _absences(graders: Sequence[GraderSummary]) -> list[tuple[str, str]]:
    """Columns for what was not scored; only those that have something to say."""
    fields = [("errored", "errored"), ("n/a", "not_applicable"), ("no judge", "no_judge")]
    return [(word, field) for word, field in fields if any(getattr(grader, field) for grader in graders)]


def _checks(screen: Screen, summary: Summary) -> Iterator[Text | Table]:
    tallies = [("criteria", summary.criteria), ("rubric rules", summary.rules)]
    tallies += [(f"  {name}", tally) for name, tally in summary.components.items()]
    known = [(name, tally) for name, tally in tallies if tally]
    if not known:
        return
    table = screen.table(("checks", "left"), ("passed", "right"), ("pass rate", "left"), *_axis(screen), ("", "left"))
    for name, tally in known:
        rate = Rate(tally.passed, tally.passed + tally.failed)
        strip = [screen.strip(rate)] if screen.wide else []
        share = f"{tally.passed:,} of {tally.total:,}"
        table.add_row(Text(name), share, screen.text(_judged(rate) if rate.judged else NOTHING), *strip, _left(tally))
    yield Text()
    yield table


def _left(tally: Tally) -> Text:
    said = [f"{count:,} {word}" for count, word in ((tally.errored, "errored"), (tally.skipped, "skipped")) if count]
    return Text(", ".join(said), style="dim")


def _worst(screen: Screen, summary: Summary, worst: Sequence[Result]) -> Iterator[Text | Padding]:
    if not worst:
        return
    shown = worst[:SHOWN_CASES]
    counts = summary.run.counts
    yield Text()
    yield Text(f"{len(shown)} of {counted(counts.failed + counts.errored, 'case')} to look at", style="dim")
    for result in shown:
        yield _case_line(screen, result)
        for reason in result.reasons[:SHOWN_REASONS]:
            yield Padding(screen.line(reason, 2 * screen.width - 8), (0, 0, 0, 4))


def _case_line(screen: Screen, result: Result) -> Text:
    mark = OF_VERDICT[result.verdict]
    who = f"  {result.candidate}" if result.candidate else ""
    again = f"  repeat {result.repeat}" if result.repeat > 1 else ""
    named = f"{result.case.id}{who}{again}"
    room = max(screen.width - len(named) - 6, 16)
    asked = screen.line(result.case.name or opening(result.case.input), room)
    return Text.assemble(screen.mark(mark), " ", screen.line(named, style="bold"), "  ", asked)


def _hints(screen: Screen, summary: Summary, worst: Sequence[Result]) -> Iterator[Text | Table]:
    first = worst[0].case.id if worst else ""
    table = screen.table(("next", "left"), ("", "left"))
    for command, purpose in next_steps(summary, first):
        table.add_row(screen.line(command, style="cyan"), Text(purpose, style="dim"))
    yield Text()
    yield table
