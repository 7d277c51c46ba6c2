"""Calibrations as a terminal shows them: what could be compared first, then the figures with intervals and counts, bad
news at the top. judge_test_text.py shows judge tests and migrations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from howsure.model.trust import (
    Bands,
    Calibration,
    Coverage,
    Figure,
    Group,
    JudgePin,
    RaterFigures,
    RatingFigures,
    VerdictFigures,
)
from howsure.reports.figures import NOTHING, counted, percent, utc
from howsure.reports.screen import Screen

SHOWN_CRITERIA = 20
NAME = 34

Printed = Iterator[Text | Table]


def share(figure: Figure) -> str:
    """`84.9 % [83-87] n 1480`: a rate with its interval and what it rests on."""
    if figure.value is None:
        return NOTHING
    bounds = f" [{100 * figure.interval[0]:.0f}–{100 * figure.interval[1]:.0f}]" if figure.interval else ""
    return f"{percent(figure.value)}{bounds} n {figure.n:,}"


def plain_figure(figure: Figure) -> str:
    """`0.696 [0.66-0.73]`."""
    if figure.value is None:
        return NOTHING
    bounds = f" [{figure.interval[0]:.2f}–{figure.interval[1]:.2f}]" if figure.interval else ""
    return f"{figure.value:.3f}{bounds}"


def judge_words(pin: JudgePin) -> str:
    version = f"  version {pin.sha256[:8]}" if pin.sha256 else ""
    return f"{pin.spec}{version}"


class CalibrationReport(Struct, frozen=True):
    """A calibration, for rich to print."""

    calibration: Calibration

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        screen, made = Screen.of(options), self.calibration
        yield screen.text(f"judge  {judge_words(made.judge)}", "bold")
        if made.labels:
            said = f"labels {made.labels.path}  ({counted(made.labels.labels, 'label')}, {made.labels.sha256[:8]})"
            yield screen.text(said)
            yield from coverage_lines(screen, made.coverage)
            yield from _groups(screen, made.groups)
        for bands in made.bands:
            yield from _bands(screen, bands)


def coverage_lines(screen: Screen, coverage: Coverage) -> Iterator[Text]:
    """`12 labelled = 9 compared + 3 cannot tell or unreadable`; parts that are zero are left out."""
    words = (
        (coverage.unreadable, "cannot tell or unreadable"),
        (coverage.not_applicable, "not applicable"),
        (coverage.no_judge, "without a judge"),
        (coverage.missing, "without a grade"),
        (coverage.split, "where people are split"),
        (coverage.unmarked, "without a pass mark"),
    )
    said = [f"{coverage.compared:,} compared", *(f"{count:,} {word}" for count, word in words if count)]
    style = "yellow" if coverage.compared < coverage.things else ""
    yield screen.text(f"covered {coverage.things:,} labelled grades = {' + '.join(said)}", style)


def _groups(screen: Screen, groups: Sequence[Group]) -> Printed:
    for group in groups:
        if group.level != "criterion" and not group.where:
            yield from _group(screen, group)
            slices = [each for each in groups if _beside(each, group) and each.where]
            yield from _table_of(screen, "where", [(each.where, each) for each in slices])
    criteria = [each for each in groups if each.level == "criterion"]
    yield from _table_of(screen, "criterion", [(_criterion(each), each) for each in criteria])


def _beside(one: Group, other: Group) -> bool:
    return (one.grader, one.level) == (other.grader, other.level)


def _criterion(group: Group) -> str:
    return group.text or f"{group.grader} {group.criterion}"


def _group(screen: Screen, group: Group) -> Printed:
    level = "" if group.level == "case" else ", all criteria"
    yield Text()
    yield screen.text(f"{group.grader}{level}", "bold")
    yield from coverage_lines(screen, group.coverage)
    table = screen.table(("figure", "left"), ("value", "left"))
    table.show_header = False
    lines = [
        *(_verdict_lines(group.verdicts) if group.verdicts else ()),
        *(_rating_lines(group.ratings) if group.ratings else ()),
        *(_rater_lines(group.raters) if group.raters else ()),
    ]
    for name, value in lines:
        table.add_row(screen.text(name), screen.text(value))
    if lines:
        yield table
    if group.verdicts:
        yield from _confusion(screen, group.verdicts)


def _verdict_lines(verdicts: VerdictFigures) -> Iterator[tuple[str, str]]:
    yield "agreement with people", share(verdicts.agreement)
    if verdicts.with_silence.n > verdicts.agreement.n:
        yield "  silence counted as disagreement", share(verdicts.with_silence)
    yield "Cohen's kappa", plain_figure(verdicts.kappa)
    for word, of in verdicts.classes.items():
        said = f"precision {_short(of.precision)}, recall {_short(of.recall)}, F1 {_short(of.f1)}"
        yield f"{word}", said


def _short(figure: Figure) -> str:
    return NOTHING if figure.value is None else f"{figure.value:.3f}"


def _rating_lines(ratings: RatingFigures) -> Iterator[tuple[str, str]]:
    yield "same number", share(ratings.exact)
    yield "Cohen's kappa", plain_figure(ratings.kappa)
    if ratings.weighted_kappa.value is not None:
        yield "kappa, quadratic weights", plain_figure(ratings.weighted_kappa)
    yield "Pearson", plain_figure(ratings.pearson)
    yield "Spearman", plain_figure(ratings.spearman)
    yield "Kendall", plain_figure(ratings.kendall)
    yield "mean absolute error", plain_figure(ratings.mae)
    yield "judge less people", plain_figure(ratings.bias)


def _rater_lines(raters: RaterFigures) -> Iterator[tuple[str, str]]:
    names = [name or "unnamed" for name in raters.annotators]
    yield f"{len(names)} people", f"{', '.join(names)}; {counted(raters.things, 'grade')} with several labels"
    yield "  Fleiss' kappa", f"{plain_figure(raters.fleiss)}; with the judge {plain_figure(raters.fleiss_with_judge)}"
    for level, figure in raters.alpha.items():
        both = f"{plain_figure(figure)}; with the judge {plain_figure(raters.alpha_with_judge[level])}"
        yield f"  Krippendorff's alpha, {level}", both


def _confusion(screen: Screen, verdicts: VerdictFigures) -> Printed:
    table = screen.table(("people / judge", "left"), *((word, "right") for word in ("pass", "fail", "none")))
    for word, counts in verdicts.confusion.items():
        table.add_row(f"  {word}", *(f"{count:,}" for count in counts.values()))
    yield table


def _table_of(screen: Screen, heading: str, named: Sequence[tuple[str, Group]]) -> Printed:
    if not named:
        return
    yield Text()
    table = screen.table((heading, "left"), ("of", "right"), ("agreement", "left"), ("kappa or rho", "left"))
    for name, group in sorted(named, key=_least_agreed)[:SHOWN_CRITERIA]:
        agreed, other = _two(group)
        table.add_row(screen.line(name, NAME), f"{group.coverage.things:,}", screen.text(agreed), screen.text(other))
    yield table
    if len(named) > SHOWN_CRITERIA:
        yield screen.text(f"and {len(named) - SHOWN_CRITERIA} more (--json shows all)", "dim")


def _least_agreed(named: tuple[str, Group]) -> float:
    """Where people and the judge differ most comes first; what cannot be compared, last."""
    _, group = named
    figure = group.ratings.exact if group.ratings else group.verdicts.agreement if group.verdicts else None
    return 2.0 if figure is None or figure.value is None else figure.value


def _two(group: Group) -> tuple[str, str]:
    """Agreement and kappa of verdicts; of numbers, how many are the same, and Spearman's rho."""
    if group.ratings:
        return share(group.ratings.exact), _short(group.ratings.spearman)
    if group.verdicts:
        return share(group.verdicts.agreement), _short(group.verdicts.kappa)
    return NOTHING, NOTHING


def _bands(screen: Screen, bands: Bands) -> Printed:
    yield Text()
    yield screen.text(f"{bands.grader} by {bands.key}", "bold")
    table = screen.table((bands.key, "left"), ("n", "right"), ("mean", "left"), ("no value", "right"))
    for band in bands.bands:
        table.add_row(
            screen.line(band.value, NAME),
            f"{band.mean.n:,}",
            screen.text(plain_figure(band.mean)),
            f"{band.unscored:,}",
        )
    yield table
    if bands.spearman is not None and bands.ordered is not None:
        pairs = " pairs" if bands.ordered.n else ""
        yield screen.text(f"Spearman {plain_figure(bands.spearman)}; ordered rightly {share(bands.ordered)}{pairs}")
    else:
        yield screen.text("The values have no order that is known: none is compared with another.", "dim")


class AboutLine(Struct, frozen=True):
    """One calibration in the history of a judge, on a few lines. `current` None: it cannot be told."""

    calibration: Calibration
    current: bool | None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        screen, made = Screen.of(options), self.calibration
        version = {True: "this version", False: "another version of it", None: "version not known"}[self.current]
        labels = f"  {made.labels.path}" if made.labels else ""
        yield screen.text(f"{(utc(made.at) or '')[:16].replace('T', ' ')} UTC  {version}{labels}", "bold")
        if made.labels:
            yield from coverage_lines(screen, made.coverage)
        table = screen.table(("", "left"), ("", "left"), ("", "left"))
        table.show_header = False
        for group in made.groups:
            if group.level != "criterion" and not group.where:
                agreed, other = _two(group)
                word = "rho" if group.ratings else "kappa"
                table.add_row(screen.line(group.grader, NAME), screen.text(agreed), screen.text(f"{word} {other}"))
        for bands in made.bands:
            if bands.spearman and bands.ordered:
                rho = f"rho {_short(bands.spearman)}"
                table.add_row(screen.line(bands.grader, NAME), screen.text(f"ordered {share(bands.ordered)}"), rho)
        yield table


class MeasuredTable(Struct, frozen=True):
    """What the makers of a judge measured: what, data, decided, value, which is; and what they did not."""

    lines: Sequence[tuple[str, str, str, str, str]]
    not_measured: Sequence[str] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        screen = Screen.of(options)
        for kind in dict.fromkeys(line[4] for line in self.lines):
            yield screen.text(kind, "bold")
            table = screen.table(("value", "right"), ("decided", "right"), ("judged", "left"))
            table.show_header = False
            for what, data, decided, value, _ in (line for line in self.lines if line[4] == kind):
                table.add_row(value, screen.text(decided), screen.text(f"{what} ({data})"))
            yield table
        for said in self.not_measured:
            yield screen.text(f"not measured: {said}")
