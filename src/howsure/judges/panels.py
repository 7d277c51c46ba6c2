"""Several judges as one. Every member is asked with its own bounded attempts, the grader reads every reply into a
ruling, and the rulings (never the replies) are combined by the panel's rule. A judge that is asked again near the pass
mark is a panel of one.

Combining is a pure function and never guesses: a split vote is an error, and so is a panel without a quorum. Whether a
question applies is decided first, by majority; the rule then counts the members for whom it does."""

from __future__ import annotations

from asyncio import gather
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum, isfinite
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from howsure.config import PanelRule
from howsure.errors import JudgeFailed
from howsure.judges.base import Judge, JudgeReply, Question, VotingProcedure, can_answer
from howsure.judges.replies import ask_until_readable
from howsure.judges.rulings import Check, NotApplicable, Rating, RubricVerdicts, Ruling
from howsure.model.case import Case
from howsure.model.score import Direction, Part, Scale

PANEL = "panel"
CHECK_DISTANCE = 0.5
"""How far a yes and a no both are from the mark between them."""

ValuedRuling = Rating | Check | RubricVerdicts
ReadRuling = Callable[[Any], Ruling]


class PassMark(Struct, frozen=True):
    """What a value must reach, and from which side."""

    value: float | None = None
    direction: Direction = Direction.HIGHER

    def met_by(self, value: float) -> bool | None:
        """None: there is no mark."""
        if self.value is None:
            return None
        return value <= self.value if self.direction is Direction.LOWER else value >= self.value

    def contradicts(self, value: float, stated_pass: bool, scale: Scale) -> bool:
        """Whether a judge that says pass or fail beside its value contradicts it. Without a mark, only a value on the
        other side of the middle of the scale does."""
        if self.value is not None:
            return self.met_by(value) is not stated_pass
        if scale.high is None or self.direction is Direction.NEITHER:
            return False
        middle = (scale.low + scale.high) / 2
        return value != middle and PassMark(middle, self.direction).met_by(value) is not stated_pass

    def worst(self, values: Sequence[float]) -> float:
        return max(values) if self.direction is Direction.LOWER else min(values)


class Ballot(Struct, frozen=True, kw_only=True):
    """The result of one member, or of one of its votes: a ruling, or the error in its place."""

    judge: str
    ruling: Ruling | None = None
    error: str = ""
    flag: str = ""
    cost_usd: float | None = None
    details: dict[str, Any] = field(default_factory=dict)
    votes: tuple[Ballot, ...] = ()

    def as_details(self) -> dict[str, Any]:
        """The ballot as the details of a score show it."""
        shown: dict[str, Any] = {"judge": self.judge}
        details = self.details
        match self.ruling:
            case None:
                shown["error"] = self.error
            case NotApplicable(reason=reason):
                shown |= {"value": None, "not_applicable": True, "reason": reason}
            case ruling:
                shown |= {"value": ruling.value, "reason": ruling.reason}
                details = details | ruling.details
        if details:
            shown["details"] = details
        if self.votes:
            shown["votes"] = vote_details(self.votes)
        return shown


def vote_details(votes: Sequence[Ballot]) -> list[dict[str, Any]]:
    """Each vote of one judge with its number."""
    return [
        {"vote": number, **{key: value for key, value in vote.as_details().items() if key != "judge"}}
        for number, vote in enumerate(votes, start=1)
    ]


class PanelMember(Struct, frozen=True):
    """A judge on a panel, under the name that recordings and scores use. `free`: its replies cost nothing."""

    name: str
    judge: Judge
    free: bool = False


class PanelJudge:
    """The members of a panel. It is asked member by member (`Question.member`), so that a wrapper such as a recording
    sees every reply."""

    name = PANEL

    def __init__(self, members: Iterable[PanelMember], procedure: VotingProcedure) -> None:
        self._members: Mapping[str, PanelMember] = {member.name: member for member in members}
        self._procedure = procedure

    def procedure(self, question: Question) -> VotingProcedure:
        return self._procedure

    def covers(self, case: Case | str, grader: str, part: Part | None = None) -> bool:
        """Whether enough members can answer for a ruling to be possible."""
        able = [can_answer(member.judge, case, grader, part) for member in self._members.values()]
        return all(able) if self._procedure.rule is PanelRule.ROUND_ROBIN else 2 * sum(able) > len(able)

    async def ask(self, question: Question) -> JudgeReply:
        member = self._members.get(question.member)
        if member is None:
            known = ", ".join(self._members)
            raise JudgeFailed(f"a panel is asked member by member; {question.member!r} is none of {known}")
        reply = await member.judge.ask(replace(question, member=""))
        return replace(reply, cost_usd=0.0) if member.free and reply.cost_usd is None else reply


async def ask_panel(
    procedure: VotingProcedure, judge: Judge, question: Question, read: ReadRuling, mark: PassMark
) -> tuple[Ruling, JudgeReply]:
    """The panel's ruling on a question, with who gave it and at what cost; or `JudgeFailed`."""
    poll = _MemberPoll(judge, question, read, mark, procedure)
    ballots = await gather(*(poll.ask_member(name) for name in voting_members(procedure, question)))
    if len(procedure.members) == 1:
        return _single_ruling(ballots[0])
    ruling = _single_ruling(ballots[0])[0] if len(ballots) == 1 else combine_ballots(procedure.rule, ballots, mark)
    details = {
        "panel": [ballot.as_details() for ballot in ballots],
        "panel_rule": procedure.rule.value,
        "panel_ruled": sum(ballot.ruling is not None for ballot in ballots),
        "panel_members": len(procedure.members),
    }
    cost = total_cost(ballot.cost_usd for ballot in ballots)
    return ruling, JudgeReply(content=None, judge=PANEL, cost_usd=cost, details=details)


def voting_members(procedure: VotingProcedure, question: Question) -> Sequence[str]:
    """The members who rule on this question: all, or in a round robin the one at the criterion's position."""
    if procedure.rule is not PanelRule.ROUND_ROBIN:
        return procedure.members
    position = (question.part.position if question.part else None) or 1
    return (procedure.members[(position - 1) % len(procedure.members)],)


def total_cost(costs: Iterable[float | None]) -> float | None:
    """The sum in USD; None as soon as one of the costs is unknown."""
    known = list(costs)
    return None if any(cost is None for cost in known) else sum(cost or 0.0 for cost in known)


class _MemberPoll(Struct, frozen=True):
    """One question to a panel, asked of each member as often as the procedure says."""

    judge: Judge
    question: Question
    read: ReadRuling
    mark: PassMark
    procedure: VotingProcedure

    async def ask_member(self, name: str) -> Ballot:
        votes, near = self.procedure.votes, self.procedure.near
        if votes == 1:
            return await self._vote(name, 0)
        first = await self._vote(name, 1)
        if near is not None and not is_near(first.ruling, self.mark, near):
            return first
        ballots = (first, *await gather(*(self._vote(name, number) for number in range(2, votes + 1))))
        cost = total_cost(ballot.cost_usd for ballot in ballots)
        try:
            return Ballot(judge=name, ruling=combine_votes(ballots, self.mark), cost_usd=cost, votes=ballots)
        except JudgeFailed as failure:
            return Ballot(judge=name, error=str(failure), flag=failure.flag, cost_usd=cost, votes=ballots)

    async def _vote(self, name: str, number: int) -> Ballot:
        """A member that fails gives a ballot without a ruling; a budget that is used up ends the case."""
        meter = _CostMeter(self.judge)
        question = replace(self.question, member=name, vote=number)
        try:
            ruling, reply = await ask_until_readable(meter, question, self.read)
            if not isinstance(ruling, NotApplicable) and not isfinite(ruling.value):
                raise JudgeFailed(f"{ruling.value} is not a value")
            return Ballot(judge=name, ruling=ruling, cost_usd=meter.cost_usd, details=reply.details)
        except JudgeFailed as failure:
            return Ballot(judge=name, error=str(failure), flag=failure.flag, cost_usd=meter.cost_usd)


class _CostMeter:
    """A judge, and what all its replies cost, the unreadable ones included."""

    def __init__(self, judge: Judge) -> None:
        self.name = judge.name
        self._judge = judge
        self._costs: list[float | None] = []

    @property
    def cost_usd(self) -> float | None:
        return total_cost(self._costs)

    async def ask(self, question: Question) -> JudgeReply:
        reply = await self._judge.ask(question)
        self._costs.append(reply.cost_usd)
        return reply


def is_near(ruling: Ruling | None, mark: PassMark, near: float) -> bool:
    """Whether the same judge, asked again, might well rule on the other side of the mark."""
    if ruling is None or isinstance(ruling, NotApplicable) or mark.value is None:
        return False
    distance = CHECK_DISTANCE if isinstance(ruling, Check) else abs(ruling.value - mark.value)
    return distance <= near


def combine_ballots(rule: PanelRule, ballots: Sequence[Ballot], mark: PassMark) -> Ruling:
    """The ruling of a panel, or `JudgeFailed` where too few ruled or the vote is split."""
    return _combine(_COUNTS[rule], ballots, mark, "the panel")


def combine_votes(ballots: Sequence[Ballot], mark: PassMark) -> Ruling:
    """The ruling of one judge that was asked several times: the majority of its checks, the median of its ratings."""
    return _combine(_median, ballots, mark, "the vote")


Count = Callable[[Sequence[ValuedRuling], PassMark, str], tuple[float, str]]
"""From several values to one, with a few words that say how."""


def _single_ruling(ballot: Ballot) -> tuple[Ruling, JudgeReply]:
    if ballot.ruling is None:
        raise JudgeFailed(ballot.error, ballot.flag)
    details = {**ballot.details, "votes": vote_details(ballot.votes)} if ballot.votes else ballot.details
    return ballot.ruling, JudgeReply(content=None, judge=ballot.judge, cost_usd=ballot.cost_usd, details=details)


def _combine(count: Count, ballots: Sequence[Ballot], mark: PassMark, who: str) -> Ruling:
    rulings = [ballot.ruling for ballot in ballots if ballot.ruling is not None]
    if 2 * len(rulings) <= len(ballots):
        silent = [ballot for ballot in ballots if ballot.ruling is None]
        errors = "; ".join(f"{ballot.judge}: {ballot.error}" for ballot in silent)
        flag = next((ballot.flag for ballot in silent if ballot.flag), "")
        raise JudgeFailed(f"{who} has no quorum: {len(rulings)} of {len(ballots)} ruled; {errors}", flag)
    valued = [ruling for ruling in rulings if not isinstance(ruling, NotApplicable)]
    not_applicable = [ruling for ruling in rulings if isinstance(ruling, NotApplicable)]
    if len(not_applicable) == len(valued):
        raise JudgeFailed(f"{who} is split {len(valued)}:{len(not_applicable)} on whether the question applies")
    if len(not_applicable) > len(valued):
        return NotApplicable(reason=next((each.reason for each in not_applicable if each.reason), ""))
    stated = _stated_pass(count, valued, mark, who)
    value, how = count(valued, mark if stated is None else PassMark(None, mark.direction), who)
    # The value, with the reason and evidence of the rulings closest to it.
    distance = min(abs(each.value - value) for each in valued)
    closest = [each for each in valued if abs(each.value - value) == distance]
    reason = next((each.reason for each in closest if each.reason), "")
    evidence = tuple(dict.fromkeys(quote for each in closest for quote in each.evidence))
    reason = f"{how}: {reason}" if reason else how
    if all(isinstance(each, Check) for each in valued):
        return Check(passed=value == 1.0, reason=reason, evidence=evidence)
    return Rating(value=value, stated_pass=stated, reason=reason, evidence=evidence)


def _stated_pass(count: Count, valued: Sequence[ValuedRuling], mark: PassMark, who: str) -> bool | None:
    """What most say of passing (all, where they must be unanimous), those without a word of their own by the mark.
    None: nobody states it."""
    stated = [each.stated_pass if isinstance(each, Rating) else None for each in valued]
    if all(each is None for each in stated):
        return None
    sides = [mark.met_by(each.value) if own is None else own for each, own in zip(valued, stated, strict=True)]
    if count is _unanimous:
        return all(sides)
    if 2 * sides.count(True) == len(sides):
        raise JudgeFailed(f"{who} is split {len(sides) // 2}:{len(sides) // 2} on whether the answer passes")
    return 2 * sides.count(True) > len(sides)


def _majority(valued: Sequence[ValuedRuling], mark: PassMark, who: str) -> tuple[float, str]:
    """The most frequent value. Fractions are seldom equal, so the median is taken for them."""
    if not all(float(each.value).is_integer() for each in valued):
        return _median(valued, mark, who)
    return _most_frequent(valued, mark, who)


def _most_frequent(valued: Sequence[ValuedRuling], mark: PassMark, who: str) -> tuple[float, str]:
    counts = Counter(each.value for each in valued)
    value, count = counts.most_common(1)[0]
    if sum(each == count for each in counts.values()) > 1:
        raise JudgeFailed(_split_message(who, counts))
    sides = Counter(mark.met_by(each.value) for each in valued)
    # 5, 5, 3, 2, 1 with the mark at 4: most say 5, and most say that it fails.
    if 2 * sides[mark.met_by(value)] <= len(valued):
        split = _split_message(who, counts)
        raise JudgeFailed(f"{split}: most say {value:g}, but not most are on its side of the mark")
    return value, f"{count} of {len(valued)} say {_value_word(value, valued)}"


def _median(valued: Sequence[ValuedRuling], mark: PassMark, who: str) -> tuple[float, str]:
    """The majority of checks, the median of ratings: the lower of the middle two, unless the mark lies between them."""
    if isinstance(valued[0], Check):
        return _most_frequent(valued, mark, who)
    values = sorted(each.value for each in valued)
    low, high = values[(len(values) - 1) // 2], values[len(values) // 2]
    if mark.met_by(low) is not mark.met_by(high):
        raise JudgeFailed(_split_message(who, Counter(values)))
    return low, f"the middle one of {_list_values(values)}"


def _mean(valued: Sequence[ValuedRuling], mark: PassMark, who: str) -> tuple[float, str]:
    """The mean of ratings. Two thirds of a yes mean nothing, so checks go by majority."""
    if isinstance(valued[0], Check):
        return _most_frequent(valued, mark, who)
    values = [each.value for each in valued]
    mean = min(max(values), max(min(values), fsum(values) / len(values)))
    return mean, f"the mean of {_list_values(values)}"


def _unanimous(valued: Sequence[ValuedRuling], mark: PassMark, who: str) -> tuple[float, str]:
    values = [each.value for each in valued]
    worst = mark.worst(values)
    if len(set(values)) == 1:
        return worst, f"all {len(values)} say {_value_word(worst, valued)}"
    return worst, f"not unanimous: {values.count(worst)} of {len(values)} say {_value_word(worst, valued)}"


_COUNTS: dict[PanelRule, Count] = {
    PanelRule.MAJORITY: _majority,
    PanelRule.MEAN: _mean,
    PanelRule.UNANIMOUS: _unanimous,
    PanelRule.ROUND_ROBIN: _majority,
}


def _split_message(who: str, counts: Counter[float]) -> str:
    by_value = sorted(counts.items(), reverse=True)
    ratio = ":".join(str(count) for _, count in by_value)
    return f"{who} is split {ratio} between {_list_values([value for value, _ in by_value])}"


def _value_word(value: float, valued: Sequence[ValuedRuling]) -> str:
    return ("yes" if value else "no") if isinstance(valued[0], Check) else f"{value:g}"


def _list_values(values: Sequence[float]) -> str:
    *first, last = (f"{value:g}" for value in values)
    return f"{', '.join(first)} and {last}" if first else last
