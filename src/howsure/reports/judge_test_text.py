"""Judge tests and migrations as a terminal shows them: the answer first, then what it rests on, bad news at the top."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from howsure.model.trust import AttackOutcome, Flip, JudgeTest, Migration, Shift
from howsure.reports.figures import NOTHING, counted
from howsure.reports.screen import Screen
from howsure.reports.trust_text import NAME, SHOWN_CRITERIA, Printed, coverage_lines, judge_words, plain_figure, share

SHOWN_FLIPS = 10


class JudgeTestReport(Struct, frozen=True):
    """How steady a judge is, and how it stands attacks."""

    test: JudgeTest

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        screen, test = Screen.of(options), self.test
        yield screen.text(f"judge  {judge_words(test.judge)}", "bold")
        yield screen.text(f"tested on {counted(test.cases, 'answer')}, {counted(test.grades, 'judged grade')}")
        yield from _stability(screen, test)
        yield from _attacks(screen, test)


def _stability(screen: Screen, test: JudgeTest) -> Printed:
    yield Text()
    table = screen.table(("harmless change", "left"), ("unchanged verdicts", "left"), ("shift", "left"), ("", "left"))
    for each in test.stability:
        left = [(each.not_compared, "not compared"), (each.not_applied, "not changed")]
        said = ", ".join(f"{count:,} {word}" for count, word in left if count)
        shift = NOTHING if each.shift.value is None else f"{100 * each.shift.value:.1f} %"
        table.add_row(Text(each.name), screen.text(share(each.unchanged)), screen.text(shift), Text(said, style="dim"))
    yield table
    yield from _flips(screen, [flip for each in test.stability for flip in each.flips])


def _attacks(screen: Screen, test: JudgeTest) -> Printed:
    yield Text()
    if not test.failing:
        yield screen.text("No grade fails an off-topic answer: there is nothing that an attack could turn.", "yellow")
        return
    passed = sum(each.cases_passed for each in test.attacks)
    style = "bold red" if test.attack_success.value else "bold green"
    yield screen.text(f"attack success {share(test.attack_success)} tries", style)
    yield screen.text(f"turned by some attack {share(test.turned)} grades; {counted(passed, 'case')} passed", style)
    yield screen.text(f"{test.not_failing:,} more grades pass the off-topic answer itself, or have no value", "dim")
    table = screen.table(("attack", "left"), ("kind", "left"), ("success", "left"), ("unreadable", "right"))
    for each in sorted(test.attacks, key=_worst_first):
        style = "red" if each.success.value else ""
        cells = (screen.line(each.name, NAME, style), Text(each.kind), screen.text(share(each.success), style))
        table.add_row(*cells, f"{each.unreadable:,}")
    yield table
    yield from _flips(screen, [flip for each in test.attacks for flip in each.flips])


def _worst_first(outcome: AttackOutcome) -> tuple[float, str]:
    return -(outcome.success.value or 0.0), outcome.kind


def _flips(screen: Screen, flips: Sequence[Flip]) -> Iterator[Text]:
    for flip in flips[:SHOWN_FLIPS]:
        about = " ".join(part for part in (flip.case_id, flip.candidate, flip.grader, flip.criterion) if part)
        yield screen.line(f"  {about}: {flip.before} -> {flip.after}", screen.width)
    if len(flips) > SHOWN_FLIPS:
        yield screen.text(f"  and {len(flips) - SHOWN_FLIPS:,} more (--json shows all)", "dim")


class MigrationReport(Struct, frozen=True):
    """One judge in the place of another."""

    migration: Migration

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        screen, made = Screen.of(options), self.migration
        style = {True: "bold green", False: "bold red", None: "bold yellow"}[made.may_replace]
        yield screen.text(made.sentence, style)
        for word, pin, agreed, covered in (
            ("old", made.old, made.old_agreement, made.old_coverage),
            ("new", made.new, made.new_agreement, made.new_coverage),
        ):
            yield Text()
            yield screen.text(f"{word}  {judge_words(pin)}", "bold")
            yield screen.text(f"agreement with people {share(agreed)}")
            yield from coverage_lines(screen, covered)
        yield Text()
        yield from _shifts(screen, made.shifts)
        yield from _flips(screen, [flip for shift in made.shifts if shift.level != "criteria" for flip in shift.flips])


def _shifts(screen: Screen, shifts: Sequence[Shift]) -> Printed:
    """Each grader, and under it the criteria that shift most."""
    columns = [("grader or criterion", "left"), ("new less old", "left"), ("flips", "right")]
    table = screen.table(*columns, ("only old", "right"), ("only new", "right"))
    for shift in shifts:
        if shift.level != "criterion":
            own = [each for each in shifts if each.level == "criterion" and each.grader == shift.grader]
            under = sorted(own, key=_most_shifted)[:SHOWN_CRITERIA] if shift.level == "criteria" else []
            for each in (shift, *under):
                table.add_row(*_shift_cells(screen, each))
    yield table
    hidden = sum(each.level == "criterion" for each in shifts) - SHOWN_CRITERIA
    if hidden > 0:
        yield screen.text("--json shows every criterion", "dim")


def _shift_cells(screen: Screen, shift: Shift) -> tuple[Text, ...]:
    lead = "  " if shift.level == "criterion" else ""
    name = shift.text or shift.criterion or shift.grader
    counts = (f"{len(shift.flips):,} of {shift.same_verdict.n:,}", f"{shift.only_old:,}", f"{shift.only_new:,}")
    return (
        Text(lead) + screen.line(name, NAME - len(lead)),
        screen.text(plain_figure(shift.difference)),
        *map(Text, counts),
    )


def _most_shifted(shift: Shift) -> tuple[int, float, int]:
    return -len(shift.flips), -abs(shift.difference.value or 0.0), -shift.only_old - shift.only_new
