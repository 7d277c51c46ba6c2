"""Checks × cases: which grader and which rule failed where. Every check is counted over the whole run; the columns are
the worst cases, as many as a page is wide."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from os.path import commonprefix

from msgspec import Struct

from howsure.model.result import Result
from howsure.model.score import Grade, Part
from howsure.reports.figures import Rate
from howsure.reports.html.entries import ID, WHY, Entry
from howsure.reports.inert import one_line
from howsure.reports.marks import mark_of

COLUMNS = 30
LABEL = 15
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
CHECKS = 24
WORST = ("failed", "errored", "no judge", "passed", "measured", "not applicable")
DECIDES = ("passed", "failed", "errored")


class Check(Struct, frozen=True):
    """A grader (`text` empty), or one criterion or rule of it."""

    grader: str
    text: str = ""
    severity: str = ""
    scope: str = ""


class Tallied(Struct):
    """How a check ended over the whole run. `shared`: more than the one case, `case`, was held to it."""

    case: str
    passed: int = 0
    failed: int = 0
    errored: int = 0
    shared: bool = False

    def count(self, word: str, case: str) -> None:
        self.shared = self.shared or case != self.case
        if word in DECIDES:
            setattr(self, word, getattr(self, word) + 1)


class Column(Struct, frozen=True):
    """One result, and the word for each check that it has."""

    entry: Entry
    words: dict[Check, str]


class Line(Struct, frozen=True, kw_only=True):
    """One check as the page shows it; a word, or nothing, for each column."""

    check: Check
    rate: Rate
    errored: int
    words: tuple[str, ...]


class Matrix:
    """Sees every result once; remembers a few columns of each verdict."""

    def __init__(self) -> None:
        self._tallied: dict[Check, Tallied] = {}
        self._columns: dict[int, list[Column]] = {}

    def see(self, result: Result, entry: Entry, rank: int) -> None:
        words = checked(result.grades)
        for check, word in words.items():
            self._tallied.setdefault(check, Tallied(entry.id)).count(word, entry.id)
        kept = self._columns.setdefault(rank, [])
        if len(kept) < COLUMNS:
            kept.append(Column(entry, words))

    def columns(self) -> list[Column]:
        """The worst first. A passed one is there only where it shows how a check that failed elsewhere holds."""
        return [column for rank in sorted(self._columns) for column in self._columns[rank]][:COLUMNS]

    def lines(self) -> list[Line]:
        """Graders, each before its own criteria and rules; what failed most comes first."""
        columns = self.columns()
        return [self._line(check, columns) for check in self._shown()]

    @property
    def left_out(self) -> int:
        return max(len(self._shared()) - CHECKS, 0)

    def _line(self, check: Check, columns: list[Column]) -> Line:
        found = self._tallied[check]
        words = tuple(column.words.get(check, "") for column in columns)
        return Line(
            check=check, rate=Rate(found.passed, found.passed + found.failed), errored=found.errored, words=words
        )

    def _shown(self) -> list[Check]:
        chosen = sorted(self._shared(), key=self._badness)[:CHECKS]
        return [
            check for grader in dict.fromkeys(each.grader for each in chosen) for check in self._under(grader, chosen)
        ]

    def _under(self, grader: str, chosen: list[Check]) -> list[Check]:
        """The grader itself, whether or not it decides anything, and what is chosen of its criteria and rules."""
        return [Check(grader), *(check for check in chosen if check.grader == grader and check.text)]

    def _shared(self) -> list[Check]:
        """Graders that decide something, and those criteria and rules that more than one case was held to: what is
        asked of one case alone is told with that case."""
        return [
            check
            for check, found in self._tallied.items()
            if found.passed + found.failed + found.errored and (not check.text or found.shared)
        ]

    def _badness(self, check: Check) -> tuple[int, int, str, str]:
        found = self._tallied[check]
        return -found.failed, -found.errored, check.grader, check.text


@lru_cache(maxsize=4096)
def _named(text: str, limit: int) -> str:
    """Graders and rules are few and come with every result."""
    return one_line(text, limit)


def checked(grades: Iterable[Grade]) -> dict[Check, str]:
    """Every check of one result with the word for how it ended. A grader that gave no grade of the whole is as bad as
    its worst part."""
    words: dict[Check, str] = {}
    wholes: set[str] = set()
    for grade in grades:
        word, name = mark_of(grade).word, _named(grade.name, ID)
        whole = Check(name)
        if grade.part is None:
            wholes.add(name)
            words[whole] = word
        else:
            words[_part(name, grade.part)] = word
            if name not in wholes:
                words[whole] = min(words.get(whole, word), word, key=WORST.index)
    return words


def _part(grader: str, part: Part) -> Check:
    severity = part.severity.value if part.severity else ""
    return Check(grader, _named(part.text or part.id, WHY), severity, _named(part.scope, ID))


def labels(entries: Sequence[Entry]) -> list[str]:
    """What tells the columns apart in little room: their ids, or their names where the ids are a machine's; without
    what all begin with, where they are too long."""
    told = [entry.asked if UUID.fullmatch(entry.id) and entry.asked else entry.id for entry in entries]
    long = len(set(told)) > 1 and any(len(text) > LABEL for text in told)
    shared = commonprefix(told) if long else ""  # noqa: RUF071 - ids are no paths: letter by letter is meant
    start = max(shared.rfind(sign) + 1 for sign in "/:.-_ ")
    return [_fitting(text[start:]) for text in told]


def _fitting(text: str) -> str:
    return text if len(text) <= LABEL else f"{text[: LABEL - 1]}…"
