"""Checks × cases: which grader and which rule failed where. Every check is counted over the whole run; the columns are
the worst cases, as many as fit on a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from os.path import commonprefix

from msgspec import Struct, UnsetType

from howsure.model.result import Result
from howsure.model.score import Grade, Interval, Part
from howsure.policies.verdicts import deciding_grades
from howsure.reports.figures import Rate, grade_mark
from howsure.reports.html.case_data import ID_LENGTH, REASON_LENGTH, CaseEntry
from howsure.reports.safe_text import MADE_ID, one_line

COLUMNS = 30
LABEL = 15
CHECKS = 24
WORST = ("failed", "errored", "no judge", "passed", "measured", "not applicable")
NO_INTERVALS: Mapping[str, Interval] = {}
DECIDES = ("passed", "failed", "errored")


class MatrixCheck(Struct, frozen=True):
    """A grader (`text` empty), or one criterion or rule of it."""

    grader: str
    text: str = ""
    severity: str = ""
    scope: str = ""


class CheckTally(Struct):
    """The outcomes of a check over the whole run. `shared`: other cases than `case` have it too; `decides`: its grader
    decides verdicts."""

    case: str
    passed: int = 0
    failed: int = 0
    errored: int = 0
    shared: bool = False
    decides: bool = False

    def count(self, word: str, case: str, decides: bool) -> None:
        self.shared = self.shared or case != self.case
        self.decides = self.decides or decides
        if word in DECIDES:
            setattr(self, word, getattr(self, word) + 1)


class MatrixColumn(Struct, frozen=True):
    """One result, and the word for each check that it has."""

    entry: CaseEntry
    words: dict[MatrixCheck, str]


class MatrixRow(Struct, frozen=True, kw_only=True):
    """One check as the page shows it; a word, or nothing, for each column."""

    check: MatrixCheck
    rate: Rate
    errored: int
    decides: bool
    words: tuple[str, ...]


class Matrix:
    """Counts every result once; keeps a few columns of each verdict."""

    def __init__(self) -> None:
        self._tallies: dict[MatrixCheck, CheckTally] = {}
        self._columns: dict[int, list[MatrixColumn]] = {}

    def add(self, result: Result, entry: CaseEntry, rank: int) -> None:
        words = check_outcomes(result.grades)
        deciding = {_short_name(grade.name, ID_LENGTH) for grade in deciding_grades(result)}
        for check, word in words.items():
            self._tallies.setdefault(check, CheckTally(entry.id)).count(word, entry.id, check.grader in deciding)
        columns = self._columns.setdefault(rank, [])
        if len(columns) < COLUMNS:
            columns.append(MatrixColumn(entry, words))

    def columns(self) -> list[MatrixColumn]:
        """The worst first. A passed one is there only where it shows how a check that failed elsewhere holds."""
        return [column for rank in sorted(self._columns) for column in self._columns[rank]][:COLUMNS]

    def lines(self, intervals: Mapping[str, Interval | UnsetType] = NO_INTERVALS) -> list[MatrixRow]:
        """Each grader before its criteria and rules; deciding ones come first, and among them those that failed most.
        `intervals`: those of graders that are known to be wider than their counts allow."""
        columns = self.columns()
        chosen = sorted(self._shared(), key=self._worst_first)[:CHECKS]
        rows = []
        for grader in dict.fromkeys(check.grader for check in chosen):
            own = (check for check in chosen if check.grader == grader and check.text)
            for check in (MatrixCheck(grader), *own):
                tally = self._tallies[check]
                words = tuple(column.words.get(check, "") for column in columns)
                clustered = None if check.text else intervals.get(grader) or None
                rate, errored = Rate(tally.passed, tally.passed + tally.failed, 0, clustered), tally.errored
                rows.append(MatrixRow(check=check, rate=rate, errored=errored, decides=tally.decides, words=words))
        return rows

    @property
    def left_out(self) -> int:
        return max(len(self._shared()) - CHECKS, 0)

    def _shared(self) -> list[MatrixCheck]:
        """Graders that decide something, and the criteria and rules of more than one case: what only one case has is
        shown with that case."""
        return [
            check
            for check, tally in self._tallies.items()
            if tally.passed + tally.failed + tally.errored and (not check.text or tally.shared)
        ]

    def _worst_first(self, check: MatrixCheck) -> tuple[bool, int, int, str, str]:
        tally = self._tallies[check]
        return not tally.decides, -tally.failed, -tally.errored, check.grader, check.text


@lru_cache(maxsize=4096)
def _short_name(text: str, limit: int) -> str:
    """Remembered, because the same few graders and rules come with every result."""
    return one_line(text, limit)


def check_outcomes(grades: Iterable[Grade]) -> dict[MatrixCheck, str]:
    """Every check of one result with its outcome as a word. A grader that gave no grade of the case has the outcome of
    its worst part."""
    words: dict[MatrixCheck, str] = {}
    wholes: set[str] = set()
    for grade in grades:
        word, name = grade_mark(grade).word, _short_name(grade.name, ID_LENGTH)
        whole = MatrixCheck(name)
        if grade.part is None:
            wholes.add(name)
            words[whole] = word
        else:
            words[_part_check(name, grade.part)] = word
            if name not in wholes:
                words[whole] = min(words.get(whole, word), word, key=WORST.index)
    return words


def _part_check(grader: str, part: Part) -> MatrixCheck:
    severity = part.severity.value if part.severity else ""
    return MatrixCheck(
        grader, _short_name(part.text or part.id, REASON_LENGTH), severity, _short_name(part.scope, ID_LENGTH)
    )


def column_labels(entries: Sequence[CaseEntry]) -> list[str]:
    """Short names that tell the columns apart: the ids of the cases, or their names where the ids are made by a
    machine; where they are too long, without the beginning that all share."""
    names = [entry.asked if MADE_ID.fullmatch(entry.id) and entry.asked else entry.id for entry in entries]
    long = len(set(names)) > 1 and any(len(name) > LABEL for name in names)
    shared = commonprefix(names) if long else ""  # noqa: RUF071 - ids are no paths: letter by letter is meant
    start = max(shared.rfind(sign) + 1 for sign in "/:.-_ ")
    return [name if len(name) <= LABEL else f"{name[: LABEL - 1]}…" for name in (name[start:] for name in names)]
