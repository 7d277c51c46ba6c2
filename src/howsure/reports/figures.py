"""Numbers and verdicts as people read them. Numbers are rounded by rule, with their interval and count; a rate over
nothing is a dash, never 0 %. A verdict is always a shape, a word and a colour, so that it survives grey print and
colour blindness."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Protocol

from msgspec import Struct

from howsure.model.run import Counts
from howsure.model.score import Direction, Grade, Scale, Score, UnscoredReason
from howsure.model.summary import GraderSummary
from howsure.model.verdict import Verdict
from howsure.stats.intervals import rate_interval

NOTHING = "–"


class Rate(Struct, frozen=True):
    """How many of how many passed, with the interval that the count allows, or that is known to be wider (`clustered`);
    `errored` is how many more might have."""

    passed: int
    judged: int
    errored: int = 0
    clustered: tuple[float, float] | None = None

    @property
    def value(self) -> float | None:
        return self.passed / self.judged if self.judged else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval, Wilson's where every result stands for itself; None when nothing was judged."""
        return (self.clustered or rate_interval(self.passed, self.judged)) if self.judged else None

    @property
    def percent(self) -> str:
        return NOTHING if self.value is None else format_percent(self.value)

    @property
    def bounds(self) -> str:
        """`39–86`, in percent; empty when nothing was judged."""
        return "" if self.interval is None else f"{100 * self.interval[0]:.0f}–{100 * self.interval[1]:.0f}"

    @property
    def possible(self) -> tuple[float, float] | None:
        """The rate if all that errored had failed, and if all had passed; None where nothing errored."""
        tried = self.judged + self.errored
        return (self.passed / tried, (self.passed + self.errored) / tried) if self.errored else None

    @property
    def range(self) -> str:
        """`30–100 %`; empty where nothing errored."""
        return "" if self.possible is None else "{:.0f}–{:.0f} %".format(*(100 * end for end in self.possible))

    @property
    def of_all(self) -> str:
        """`30–100 % of all 10`; empty where nothing errored."""
        return f"{self.range} of all {self.judged + self.errored:,}" if self.errored else ""

    @property
    def brief(self) -> str:
        """`66.7 % [39–86]`."""
        return f"{self.percent} [{self.bounds}]" if self.judged else NOTHING

    def __str__(self) -> str:
        """`66.7 % [39–86] n 12`, or `100.0 % [44–100] of 3 decided; 30–100 % of all 10`."""
        if not self.judged:
            return NOTHING
        among = f"of {self.judged:,} decided; {self.of_all}" if self.errored else f"n {self.judged}"
        return f"{self.brief} {among}"


class PassCounts(Protocol):
    """Whatever counts how often something passed and failed: a grader, a tally of checks."""

    @property
    def passed(self) -> int: ...

    @property
    def failed(self) -> int: ...


def pass_rate_of(counts: PassCounts) -> Rate:
    """The share that passed of what could be decided. Where it is one of cases, it says what errored might change."""
    clustered = (counts.pass_rate_interval if isinstance(counts, Counts | GraderSummary) else None) or None
    errored = counts.errored if isinstance(counts, Counts) else 0
    return Rate(counts.passed, counts.passed + counts.failed, errored, clustered)


def format_percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def format_number(value: float | None) -> str:
    """Up to three decimals; a dash for what was not measured."""
    if value is None:
        return NOTHING
    if value and abs(value) < 0.001:
        return f"{value:.2g}"
    text = f"{value:,.3f}" if abs(value) < 100 else f"{value:,.1f}"
    return text.rstrip("0").rstrip(".")


def format_on_scale(value: float | None, scale: Scale) -> str:
    """`3.5 of 5`; on an open scale the value alone."""
    if value is None or scale.high is None:
        return format_number(value)
    return f"{format_number(value)} of {format_number(scale.high)}"


def format_seconds(seconds: float) -> str:
    """`1.61 s`, `12.3 s`, `623 ms`: the digits that count, and as many down a column."""
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms" if seconds >= 0.001 or not seconds else f"{1000 * seconds:.2g} ms"
    return f"{seconds:#.3g} s" if seconds < 99.95 else f"{seconds:,.0f} s"


def format_dollars(usd: float) -> str:
    """`$1.20`; of less than a cent two digits that count: `$0.0021`."""
    return f"${usd:,.2f}" if usd >= 0.01 or not usd else f"${usd:.2g}"


def pluralize(count: int, noun: str) -> str:
    """`1 case`, `2 cases`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def iso_utc(moment: datetime | None) -> str | None:
    """ISO 8601 with its suffix. A time without a zone is UTC: that is how stores return them."""
    known = in_utc(moment)
    return None if known is None else known.isoformat().replace("+00:00", "Z")


def short_time(moment: datetime | None) -> str:
    """`2026-11-15 13:30`, in UTC; empty where it is not known."""
    return (iso_utc(moment) or "")[:16].replace("T", " ")


def in_utc(moment: datetime | None) -> datetime | None:
    """The moment in UTC."""
    if moment is None:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)


class VerdictMark(Struct, frozen=True):
    """`sign` is the shape, `plain` the same in ASCII, `style` a colour of the terminal."""

    sign: str
    plain: str
    word: str
    style: str


PASSED = VerdictMark("●", "o", "passed", "green")
FAILED = VerdictMark("■", "x", "failed", "bold red")
ERRORED = VerdictMark("▲", "!", "errored", "bold magenta")
SKIPPED = VerdictMark("○", "-", "skipped", "dim")
DAMAGED = VerdictMark("✕", "?", "damaged", "bold yellow")
PENDING = VerdictMark("◌", ".", "pending", "dim")
NOT_APPLICABLE = VerdictMark("–", "-", "not applicable", "dim")
NO_JUDGE = VerdictMark("○", "-", "no judge", "dim")
MEASURED = VerdictMark("·", " ", "measured", "dim")

VERDICT_MARKS = {Verdict(mark.word): mark for mark in (PASSED, FAILED, ERRORED, SKIPPED, DAMAGED)}
UNSCORED_MARKS = {
    UnscoredReason.ERROR: ERRORED,
    UnscoredReason.NOT_APPLICABLE: NOT_APPLICABLE,
    UnscoredReason.NO_JUDGE: NO_JUDGE,
}


def grade_mark(grade: Grade) -> VerdictMark:
    """A measure has no mark to reach: it neither passed nor failed."""
    if not isinstance(grade, Score):
        return UNSCORED_MARKS[grade.why]
    if grade.passed is None:
        return MEASURED
    return PASSED if grade.passed else FAILED


def pass_mark_text(pass_mark: float | None, direction: Direction = Direction.HIGHER) -> str:
    """`≥ 0.7`: what a value must reach; empty for a measure."""
    if pass_mark is None:
        return ""
    return f"{'≤' if direction is Direction.LOWER else '≥'} {pass_mark:g}"
