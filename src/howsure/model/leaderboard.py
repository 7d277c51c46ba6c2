"""Leaderboards of candidates: pairs that a judge compared, ranks with their intervals, raters and judge drift."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct, field

from howsure.model.comparison import Conclusion, Difference
from howsure.model.score import Interval


class AnswerSource(Struct, frozen=True):
    """The source of answers: the run's id and the candidate."""

    run: str
    candidate: str


class PairJudgement(Struct, frozen=True, kw_only=True):
    """Two answers to one case, compared by a judge in both orders. `picks` says for each order (`ab`: the first
    candidate's answer is shown first) which place won; empty where no judge was needed, or a panel voted: then only
    `preference` counts (a, b, tie or inconsistent). `lengths` are those of the answers in characters."""

    at: datetime
    judge: str
    case_id: str
    first: AnswerSource
    second: AnswerSource
    preference: str
    picks: Mapping[str, str] = field(default_factory=dict)
    lengths: tuple[int, int] = (0, 0)
    cost_usd: float | None = None


class PairsReport(Struct, frozen=True, kw_only=True):
    """The result of judging pairs. `consistent` of `judged` pairs had the same winner in both orders; of the picks that
    flipped with the order, `first_picks` of `flipped_picks` fell on the answer shown first. `failures` counts pairs
    without a judgement by reason."""

    judge: str
    cases: int
    pairs: int
    judged: int
    consistent: int
    first_picks: int
    flipped_picks: int
    without_judge: int
    failures: Mapping[str, int]
    cost_usd: float | None
    path: str


class RankedCandidate(Struct, frozen=True, kw_only=True):
    """One line of a leaderboard. `ranks` are the best and the worst rank that the data allow. `strength` is in
    log-odds: two candidates that are 1 apart win 2.7 to 1. `ranks_at_equal_length`: as if all answers had the same
    length; None where lengths are not known."""

    name: str
    source: AnswerSource
    strength: float
    interval: Interval | None
    ranks: tuple[int, int]
    won: int
    tied: int
    lost: int
    ranks_at_equal_length: tuple[int, int] | None = None


class Leaderboard(Struct, frozen=True, kw_only=True):
    """Candidates, the strongest first. `by` is `pairs`, `verdict` or a grader. The effects are log-odds: of being shown
    first, and of being e times as long."""

    by: str
    judge: str
    cases: int
    comparisons: int
    confidence: float
    candidates: tuple[RankedCandidate, ...]
    tie_share: float
    first_effect: float | None = None
    first_interval: Interval | None = None
    length_effect: float | None = None
    length_interval: Interval | None = None
    notes: tuple[str, ...] = ()


class RaterReliability(Struct, frozen=True, kw_only=True):
    """One rater: how often it gives the true class, overall and for each true class. `lean`, for ordered classes, is
    how many steps it rates too high."""

    name: str
    ratings: int
    accuracy: float
    interval: Interval
    by_class: Mapping[str, float]
    lean: float | None = None


class SettledRating(Struct, frozen=True, kw_only=True):
    """The rating of one answer by all raters together, and its probability if their errors are independent."""

    case_id: str
    candidate: str
    repeat: int
    criterion: str
    answer: str
    chance: float
    ratings: Mapping[str, str]

    @property
    def is_disputed(self) -> bool:
        return len(set(self.ratings.values())) > 1


class RaterGroup(Struct, frozen=True, kw_only=True):
    """The raters of one grader, the most reliable first, and all answers, the least sure first."""

    grader: str
    ordered: bool
    raters: tuple[RaterReliability, ...]
    settled: tuple[SettledRating, ...]
    notes: tuple[str, ...] = ()


class RatersReport(Struct, frozen=True, kw_only=True):
    """Every grader with three raters or more; `left_out` says what is not there, and why."""

    groups: tuple[RaterGroup, ...]
    left_out: tuple[str, ...] = ()


class ShrunkenSlice(Struct, frozen=True, kw_only=True):
    """The observed pass rate of a slice with its interval, and the rate shrunk towards the other slices."""

    value: str
    candidate: str
    judged: int
    rate: float
    interval: Interval
    shrunken: float
    shrunken_interval: Interval


class DriftedCandidate(Struct, frozen=True, kw_only=True):
    """The change of the pass rate on the same answers (`judge`), of the new answers under today's judge (`agent`), and
    both together (`whole`), as a plain comparison of the two runs shows it. `graders` are those whose values moved on
    the same answers."""

    candidate: str
    judge: Difference
    graders: tuple[Difference, ...] = ()
    agent: Difference | None = None
    whole: Difference | None = None


class JudgeDrift(Struct, frozen=True, kw_only=True):
    """How a judge has changed, by anchors that it judged before and again."""

    anchors: str
    judged_again: str
    run: str
    judge_before: str
    judge_now: str
    candidates: tuple[DriftedCandidate, ...]

    @property
    def has_changed(self) -> bool | None:
        """None: cannot tell."""
        verdicts = [each.judge.conclusion for each in self.candidates]
        if any(each.graders for each in self.candidates) or {Conclusion.BETTER, Conclusion.WORSE} & set(verdicts):
            return True
        return False if all(each is Conclusion.EQUAL for each in verdicts) else None
