"""A comparison as a terminal shows it: the conclusion as a sentence, what is unlike, the cases that flipped (those that
got worse first), every difference with its interval, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from howsure.model.comparison import Change, Compared, Comparison, Conclusion, Difference, Flip, Kind
from howsure.reports.compare_noise import noise_line
from howsure.reports.compare_sentence import (
    WORDS,
    amount,
    bounds,
    chance,
    sentence,
    tries,
    unlike_lines,
    unpaired,
    value,
)
from howsure.reports.figures import NOTHING, counted
from howsure.reports.header import quoted
from howsure.reports.screen import Screen

SHOWN_FLIPS = 8
SHOWN_CHANGES = 6
SHOWN_FLAKY = 6
SHOWN_OF_KIND = 12
NAME = 44
NARROW = 26
STYLES = {
    Conclusion.BETTER: "bold green",
    Conclusion.WORSE: "bold red",
    Conclusion.EQUAL: "bold",
    Conclusion.CANNOT_TELL: "bold yellow",
    Conclusion.DIFFERENT: "bold cyan",
}
QUIET = {Conclusion.EQUAL, Conclusion.CANNOT_TELL}

Printed = Iterator[Text | Table]


class ComparisonReport(Struct, frozen=True):
    """Something rich can print."""

    comparison: Comparison
    hints: bool = True

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        screen, made = Screen.of(options), self.comparison
        for place, compared in enumerate(made.pairs):
            if place:
                yield Text()
            yield from _head(screen, made, compared)
            yield from _unlike(screen, compared)
            yield from _flips(screen, compared)
            yield from _differences(screen, compared)
            yield from _flaky(screen, compared)
            yield from _noise(screen, compared)
            if self.hints:
                yield from _hints(screen, compared)
        for said in made.left_out:
            yield screen.text(f"Not compared: {said}.", "dim")


def _head(screen: Screen, made: Comparison, compared: Compared) -> Printed:
    first, second = compared.first.name, compared.second.name
    yield Text.assemble(screen.line(first, style="bold"), "  against  ", screen.line(second, style="bold"))
    yield screen.text(sentence(compared, made.unit), STYLES[compared.verdict.conclusion])
    left = unpaired(compared.verdict.pairing, made.unit)
    if left and compared.verdict.n:
        yield screen.text(f"{left}.", "dim")
    if made.cluster and compared.verdict.clusters < compared.verdict.n:
        yield screen.text(f"Cases with the same {made.cluster} count as one cluster.", "dim")
    for note in compared.notes:
        yield screen.text(f"{note}.", "dim")


def _unlike(screen: Screen, compared: Compared) -> Printed:
    for line, each in zip(unlike_lines(compared), compared.flags, strict=True):
        yield screen.text(f"! {line}", "yellow")
        for change in each.changes[:SHOWN_CHANGES]:
            yield Text("    ") + screen.line(changed(change), screen.width - 4)
        hidden = len(each.changes) + each.changes_left_out - SHOWN_CHANGES
        if hidden > 0:
            yield screen.text(f"    and {hidden:,} more (--json shows them)", "dim")


def changed(change: Change) -> str:
    """`criterion c1 of case q3 changed: Cites the Act`."""
    of = f" of case {change.case_id}" if change.case_id else ""
    named = f"{change.kind} {change.id}".strip()
    return f"{named}{of} {change.turn.value}{f': {change.text}' if change.text else ''}"


def _flips(screen: Screen, compared: Compared) -> Printed:
    lost = [flip for flip in compared.flips if not flip.gained]
    gained = [flip for flip in reversed(compared.flips) if flip.gained]
    for word, some, style in (("got worse", lost, "red"), ("got better", gained, "green")):
        yield Text()
        yield screen.text(f"{counted(len(some), 'case')} {word}", style if some else "dim")
        for flip in some[:SHOWN_FLIPS]:
            yield _flip(screen, flip)
        if len(some) > SHOWN_FLIPS:
            yield screen.text(f"  and {len(some) - SHOWN_FLIPS:,} more (--json or --output shows all)", "dim")


def _flip(screen: Screen, flip: Flip) -> Text:
    id = f"{flip.case_id} / {flip.other_id}" if flip.other_id else flip.case_id
    went = screen.line(f"{tries(flip.first)} → {tries(flip.second)}")
    shown = screen.line(id, NAME, style="bold")
    room = max(screen.width - shown.cell_len - went.cell_len - 6, 16)
    return Text.assemble("  ", shown, "  ", went, "  ", screen.line(turned_with(flip), room, style="dim"))


def turned_with(flip: Flip) -> str:
    """What turned with it; of a case that is not the same on both sides, that first."""
    return ", ".join(("the case changed", *flip.graders) if flip.changed else flip.graders)


def _differences(screen: Screen, compared: Compared) -> Printed:
    known = [each for each in compared.differences if each.n]
    shown = [compared.verdict, *_worth_showing(known)]
    columns = [("", "left"), ("n", "right"), ("first", "right"), ("second", "right"), ("difference", "right")]
    table = screen.table(*columns, ("likely", "left"), *([("p", "right")] if screen.wide else []), ("", "left"))
    for column in table.columns[1:]:
        column.no_wrap = True
    for difference in shown:
        table.add_row(*_cells(screen, difference))
    yield Text()
    yield table
    if known:
        asked = counted(len(known), "question")
        yield screen.text(f"All but the pass rate allow for {asked} asked of the same data (Holm).", "dim")
    if len(known) + 1 > len(shown):
        hidden = len(known) + 1 - len(shown)
        yield screen.text(f"and {hidden:,} more that tell nothing sure (--json shows all)", "dim")
    if lacking := [title(each) for each in compared.differences if not each.n]:
        yield screen.line(f"no value on both sides: {', '.join(lacking)}", 2 * screen.width, "dim")


def _worth_showing(differences: Sequence[Difference]) -> list[Difference]:
    """All of a kind where they are few; of many, those that tell something first."""
    shown: list[Difference] = []
    for kind in Kind:
        own = [each for each in differences if each.kind is kind]
        told = [each for each in own if each.conclusion not in QUIET]
        rest = [each for each in own if each.conclusion in QUIET]
        chosen = own if len(own) <= SHOWN_OF_KIND else [*told, *rest][: max(SHOWN_OF_KIND, len(told))]
        shown += sorted(chosen, key=own.index)
    return shown


def _cells(screen: Screen, difference: Difference) -> list[Text]:
    style = STYLES[difference.conclusion] if difference.conclusion not in QUIET else "dim"
    known = difference.difference
    apart = NOTHING if known is None else amount(difference, known, signed=True, bare=True)
    return [
        screen.line(title(difference), NAME if screen.wide else NARROW),
        Text(f"{difference.n:,}"),
        screen.text(value(difference, difference.first)),
        screen.text(value(difference, difference.second)),
        screen.text(apart),
        screen.text(bounds(difference)),
        *([screen.text(chance(difference))] if screen.wide else []),
        screen.text(WORDS[difference.conclusion], style),
    ]


def title(difference: Difference) -> str:
    """`rule R-1 Asks for the order number`, `tag returns`, `difficulty=easy`."""
    plain = (Kind.VERDICT, Kind.GRADER, Kind.SLICE)
    named = difference.name if difference.kind in plain else f"{difference.kind.value} {difference.name}"
    named = "pass rate" if difference.kind is Kind.VERDICT else named
    return f"{named} {difference.text}" if difference.text else named


def _flaky(screen: Screen, compared: Compared) -> Printed:
    if not compared.flaky:
        return
    yield Text()
    yield screen.text(f"{counted(len(compared.flaky), 'case')} flaky: the repeats do not agree", "yellow")
    for each in compared.flaky[:SHOWN_FLAKY]:
        side = (compared.second if each.second else compared.first).name
        who = f"{each.blame.value} disagrees" if each.blame.value != "unknown" else "cause unknown"
        cells = (each.case_id, side, tries(each.tries), who)
        yield Text("  ") + Text("  ").join(screen.line(cell, NAME) for cell in cells)
    if len(compared.flaky) > SHOWN_FLAKY:
        yield screen.text(f"  and {len(compared.flaky) - SHOWN_FLAKY:,} more (--json shows all)", "dim")


def _noise(screen: Screen, compared: Compared) -> Printed:
    if compared.noise:
        yield Text()
        yield screen.text("Whose noise it is, where cases were repeated and judges asked several times", "dim")
    for each in compared.noise:
        side = (compared.second if each.second else compared.first).name
        yield Text("  ") + screen.text(f"{side}  {noise_line(each)}", "dim")


def _hints(screen: Screen, compared: Compared) -> Printed:
    if not compared.flips:
        return
    flip = compared.flips[0]
    case = flip.other_id or flip.case_id
    who = f" --candidate {quoted(compared.second.candidate)}" if compared.second.candidate else ""
    command = f"howsure show {compared.second.run_id[:8]} {quoted(case)}{who}"
    table = screen.table(("next", "left"), ("", "left"))
    table.add_row(screen.line(command, style="cyan"), Text("see why this one came out otherwise", style="dim"))
    yield Text()
    yield table
