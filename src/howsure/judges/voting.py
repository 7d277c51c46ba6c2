"""From several rulings to one, as a pure function: the rules of a panel, and the votes of one judge that is asked
again. Nothing is guessed: a vote that is split is an error, and so is a panel of which too few could rule.

Whether a question applies is decided first, by majority; the rule then counts those for whom it does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import fsum, isfinite
from typing import Any

from msgspec import Struct, field

from howsure.config import PanelRule
from howsure.errors import JudgeFailed
from howsure.judges.base import Judge, Question
from howsure.judges.rulings import Check, NotApplicable, Rating, RubricVerdicts, Ruling
from howsure.model.score import Direction

Valued = Rating | Check | RubricVerdicts
EITHER_WAY = 0.5
"""How far a yes and a no both are from the mark between them."""


class Mark(Struct, frozen=True):
    """What a value must reach, and from which side."""

    value: float | None = None
    direction: Direction = Direction.HIGHER

    def met_by(self, value: float) -> bool | None:
        """None: there is no mark."""
        if self.value is None:
            return None
        return value <= self.value if self.direction is Direction.LOWER else value >= self.value

    def worst(self, values: Sequence[float]) -> float:
        return max(values) if self.direction is Direction.LOWER else min(values)


class Bench(Struct, frozen=True, kw_only=True):
    """Who rules on a question and how their rulings become one. `near` None: all votes are always asked for."""

    rule: PanelRule
    members: tuple[str, ...]
    votes: int = 1
    near: float | None = None


class Ballot(Struct, frozen=True, kw_only=True):
    """What one member, or one vote of it, came to: a ruling, or the error in its place."""

    judge: str
    ruling: Ruling | None = None
    error: str = ""
    cost_usd: float | None = None
    details: dict[str, Any] = field(default_factory=dict)
    votes: tuple[Ballot, ...] = ()

    @property
    def valued(self) -> Valued | None:
        return None if isinstance(self.ruling, NotApplicable) else self.ruling

    def shown(self) -> dict[str, Any]:
        """As the details of a score tell it."""
        said: dict[str, Any] = {"judge": self.judge}
        match self.ruling:
            case None:
                said["error"] = self.error
            case NotApplicable(reason=reason):
                said |= {"value": None, "not_applicable": True, "reason": reason}
            case ruling:
                said |= {"value": ruling.value, "reason": ruling.reason}
        details = self.details | (self.valued.details if self.valued else {})
        if details:
            said["details"] = details
        if self.votes:
            said["votes"] = shown_votes(self.votes)
        return said


def shown_votes(votes: Sequence[Ballot]) -> list[dict[str, Any]]:
    """Each vote with its number; all are of one judge."""
    return [
        {"vote": number, **{key: value for key, value in vote.shown().items() if key != "judge"}}
        for number, vote in enumerate(votes, start=1)
    ]


def bench_of(judge: Judge, question: Question) -> Bench | None:
    """The panel that a judge is, for this question; None when it is one judge, asked once. (A lookup by name: checking
    a protocol would cost more than asking a recording.)"""
    find: Callable[[Question], Bench | None] | None = getattr(judge, "bench", None)
    return None if find is None else find(question)


def is_near(ruling: Ruling | None, mark: Mark, near: float) -> bool:
    """Whether another answer of the same judge might well fall on the other side of the mark. Yes and no are both half
    a step from it."""
    if ruling is None or isinstance(ruling, NotApplicable) or mark.value is None:
        return False
    distance = EITHER_WAY if isinstance(ruling, Check) else abs(ruling.value - mark.value)
    return distance <= near


def checked(ruling: Ruling) -> Ruling:
    """The ruling, if it can be counted at all."""
    if not isinstance(ruling, NotApplicable) and not isfinite(ruling.value):
        raise JudgeFailed(f"{ruling.value} is not a value")
    return ruling


def combined(rule: PanelRule, ballots: Sequence[Ballot], mark: Mark) -> Ruling:
    """The ruling of a panel, or `JudgeFailed`: too few could rule, or they are split."""
    return _counted(_BY_RULE[rule], ballots, mark, "the panel")


def voted(ballots: Sequence[Ballot], mark: Mark) -> Ruling:
    """The ruling of one judge that was asked several times: the majority of its checks, the median of its ratings."""
    return _counted(_middle, ballots, mark, "the vote")


Count = Callable[[Sequence[Valued], Mark, str], tuple[float, str]]
"""From the values to one, and in words how."""


def _counted(count: Count, ballots: Sequence[Ballot], mark: Mark, who: str) -> Ruling:
    ruled = [ballot.ruling for ballot in ballots if ballot.ruling is not None]
    if 2 * len(ruled) <= len(ballots):
        raise JudgeFailed(f"{who} has no quorum: {len(ruled)} of {len(ballots)} ruled; {_errors(ballots)}")
    valued = [ruling for ruling in ruled if not isinstance(ruling, NotApplicable)]
    idle = [ruling for ruling in ruled if isinstance(ruling, NotApplicable)]
    if len(idle) == len(valued):
        raise JudgeFailed(f"{who} is split {len(valued)}:{len(idle)} on whether the question applies")
    if len(idle) > len(valued):
        return NotApplicable(reason=next((each.reason for each in idle if each.reason), ""))
    value, how = count(valued, mark, who)
    return _told(value, how, valued)


def _told(value: float, how: str, valued: Sequence[Valued]) -> Ruling:
    """The value with the words of those who stand closest to it."""
    distance = min(abs(each.value - value) for each in valued)
    closest = [each for each in valued if abs(each.value - value) == distance]
    reason = next((each.reason for each in closest if each.reason), "")
    evidence = tuple(dict.fromkeys(quote for each in closest for quote in each.evidence))
    told = f"{how}: {reason}" if reason else how
    if all(isinstance(each, Check) for each in valued):
        return Check(passed=value == 1.0, reason=told, evidence=evidence)
    return Rating(value=value, reason=told, evidence=evidence)


def _majority(valued: Sequence[Valued], mark: Mark, who: str) -> tuple[float, str]:
    """The value that most gave. Where values are fractions hardly two are equal, and the middle one is taken."""
    if not all(float(each.value).is_integer() for each in valued):
        return _middle(valued, mark, who)
    return _most(valued, mark, who)


def _most(valued: Sequence[Valued], mark: Mark, who: str) -> tuple[float, str]:
    counts = Counter(each.value for each in valued)
    value, count = counts.most_common(1)[0]
    if sum(each == count for each in counts.values()) > 1:
        raise JudgeFailed(_split(who, counts))
    sides = Counter(mark.met_by(each.value) for each in valued)
    # 5, 5, 3, 2, 1 with the mark at 4: most say 5, and most say that it fails.
    if 2 * sides[mark.met_by(value)] <= len(valued):
        raise JudgeFailed(f"{_split(who, counts)}: most say {value:g}, but not most are on its side of the mark")
    return value, f"{count} of {len(valued)} say {_word(value, valued)}"


def _middle(valued: Sequence[Valued], mark: Mark, who: str) -> tuple[float, str]:
    """The majority of checks. Of ratings the median: of the middle two the lower, unless the mark lies between them."""
    if isinstance(valued[0], Check):
        return _most(valued, mark, who)
    values = sorted(each.value for each in valued)
    low, high = values[(len(values) - 1) // 2], values[len(values) // 2]
    if mark.met_by(low) is not mark.met_by(high):
        raise JudgeFailed(_split(who, Counter(values)))
    return low, f"the middle one of {_listed(values)}"


def _mean(valued: Sequence[Valued], mark: Mark, who: str) -> tuple[float, str]:
    """Of numbers. Two thirds of a yes is none: checks go by majority."""
    if isinstance(valued[0], Check):
        return _most(valued, mark, who)
    values = [each.value for each in valued]
    mean = min(max(values), max(min(values), fsum(values) / len(values)))
    return mean, f"the mean of {_listed(values)}"


def _unanimous(valued: Sequence[Valued], mark: Mark, who: str) -> tuple[float, str]:
    values = [each.value for each in valued]
    worst = mark.worst(values)
    if len(set(values)) == 1:
        return worst, f"all {len(values)} say {_word(worst, valued)}"
    return worst, f"not unanimous: {values.count(worst)} of {len(values)} say {_word(worst, valued)}"


_BY_RULE: dict[PanelRule, Count] = {
    PanelRule.MAJORITY: _majority,
    PanelRule.MEAN: _mean,
    PanelRule.UNANIMOUS: _unanimous,
    PanelRule.ROUND_ROBIN: _majority,
}


def _split(who: str, counts: Counter[float]) -> str:
    by_value = sorted(counts.items(), reverse=True)
    ratio = ":".join(str(count) for _, count in by_value)
    return f"{who} is split {ratio} between {_listed([value for value, _ in by_value])}"


def _errors(ballots: Sequence[Ballot]) -> str:
    return "; ".join(f"{ballot.judge}: {ballot.error}" for ballot in ballots if ballot.ruling is None)


def _word(value: float, valued: Sequence[Valued]) -> str:
    return ("yes" if value else "no") if isinstance(valued[0], Check) else f"{value:g}"


def _listed(values: Sequence[float]) -> str:
    *first, last = (f"{value:g}" for value in values)
    return f"{', '.join(first)} and {last}" if first else last
