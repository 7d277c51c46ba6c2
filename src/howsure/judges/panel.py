"""Several judges as one: every member is asked with its own bounded attempts, every reply is read into a ruling by the
grader's own reading, and the rulings (never the replies) become one by the rules of voting.py. A judge that is asked
again near the pass mark is a panel of one."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from howsure.config import PanelRule
from howsure.errors import JudgeFailed
from howsure.judges.asking import ruling
from howsure.judges.base import Judge, Question, Reply
from howsure.judges.recording import Covering
from howsure.judges.rulings import Ruling
from howsure.judges.voting import Ballot, Bench, Mark, bench_of, checked, combined, is_near, shown_votes, voted
from howsure.model.case import Case
from howsure.model.score import Part

NAME = "panel"

Read = Callable[[Any], Ruling]


class Member(Struct, frozen=True):
    """A judge on a panel, under the name that recordings and scores know it by. `free`: its replies cost nothing."""

    name: str
    judge: Judge
    free: bool = False


class PanelJudge:
    """The members of a panel. It is asked member by member (`Question.member`), so that what wraps it, a recording for
    instance, sees every reply."""

    name = NAME

    def __init__(self, members: Iterable[Member], bench: Bench) -> None:
        self._members: Mapping[str, Member] = {member.name: member for member in members}
        self._bench = bench

    def bench(self, question: Question) -> Bench:
        return self._bench

    def covers(self, case: Case | str, grader: str, part: Part | None = None) -> bool:
        """Whether enough members can be asked for a ruling to come of it."""
        able = [_covers(member.judge, case, grader, part) for member in self._members.values()]
        return all(able) if self._bench.rule is PanelRule.ROUND_ROBIN else 2 * sum(able) > len(able)

    async def ask(self, question: Question) -> Reply:
        member = self._members.get(question.member)
        if member is None:
            known = ", ".join(self._members)
            raise JudgeFailed(f"a panel is asked member by member; {question.member!r} is none of {known}")
        reply = await member.judge.ask(replace(question, member=""))
        return replace(reply, cost_usd=0.0) if member.free and reply.cost_usd is None else reply


async def decided(judge: Judge, question: Question, read: Read, mark: Mark) -> tuple[Ruling, Reply]:
    """The ruling on a question, of one judge or of a panel, with who gave it, at what cost; or `JudgeFailed`."""
    bench = bench_of(judge, question)
    if bench is None:
        return await ruling(judge, question, read)
    asking = _Asking(judge, question, read, mark, bench)
    ballots = await gather(*(asking.member(name) for name in seated(bench, question)))
    if len(bench.members) == 1:
        return _alone(ballots[0])
    return _together(bench, ballots, mark)


def seated(bench: Bench, question: Question) -> Sequence[str]:
    """Who rules on this question: everyone; in a round robin the member whose turn the criterion's position is."""
    if bench.rule is not PanelRule.ROUND_ROBIN:
        return bench.members
    position = (question.part.position if question.part else None) or 1
    return (bench.members[(position - 1) % len(bench.members)],)


class _Asking(Struct, frozen=True):
    """One question, and how each member is asked it."""

    judge: Judge
    question: Question
    read: Read
    mark: Mark
    bench: Bench

    async def member(self, name: str) -> Ballot:
        votes, near = self.bench.votes, self.bench.near
        if votes == 1:
            return await self._vote(name, 0)
        first = await self._vote(name, 1)
        if near is not None and not is_near(first.ruling, self.mark, near):
            return first
        ballots = (first, *await gather(*(self._vote(name, number) for number in range(2, votes + 1))))
        cost = summed(ballot.cost_usd for ballot in ballots)
        try:
            return Ballot(judge=name, ruling=voted(ballots, self.mark), cost_usd=cost, votes=ballots)
        except JudgeFailed as failure:
            return Ballot(judge=name, error=str(failure), cost_usd=cost, votes=ballots)

    async def _vote(self, name: str, number: int) -> Ballot:
        """A member that fails is a ballot without a ruling; a budget that is reached ends the case."""
        metered = _Metered(self.judge)
        try:
            given, reply = await ruling(metered, replace(self.question, member=name, vote=number), self.read)
            return Ballot(judge=name, ruling=checked(given), cost_usd=metered.cost_usd, details=reply.details)
        except JudgeFailed as failure:
            return Ballot(judge=name, error=str(failure), cost_usd=metered.cost_usd)


class _Metered:
    """A judge, and what all its replies cost: those that could not be read, too."""

    def __init__(self, judge: Judge) -> None:
        self.name = judge.name
        self._judge = judge
        self._costs: list[float | None] = []

    @property
    def cost_usd(self) -> float | None:
        return summed(self._costs)

    async def ask(self, question: Question) -> Reply:
        reply = await self._judge.ask(question)
        self._costs.append(reply.cost_usd)
        return reply


def _alone(ballot: Ballot) -> tuple[Ruling, Reply]:
    if ballot.ruling is None:
        raise JudgeFailed(ballot.error)
    details = {**ballot.details, "votes": shown_votes(ballot.votes)} if ballot.votes else ballot.details
    return ballot.ruling, Reply(content=None, judge=ballot.judge, cost_usd=ballot.cost_usd, details=details)


def _together(bench: Bench, ballots: Sequence[Ballot], mark: Mark) -> tuple[Ruling, Reply]:
    given = _alone(ballots[0])[0] if len(ballots) == 1 else combined(bench.rule, ballots, mark)
    details = {
        "panel": [ballot.shown() for ballot in ballots],
        "panel_rule": bench.rule.value,
        "panel_ruled": sum(ballot.ruling is not None for ballot in ballots),
        "panel_members": len(bench.members),
    }
    cost = summed(ballot.cost_usd for ballot in ballots)
    return given, Reply(content=None, judge=NAME, cost_usd=cost, details=details)


def summed(costs: Iterable[float | None]) -> float | None:
    """In USD; None as soon as one of them is not known."""
    known = list(costs)
    return None if any(cost is None for cost in known) else sum(cost or 0.0 for cost in known)


def _covers(judge: object, case: Case | str, grader: str, part: Part | None) -> bool:
    return judge.covers(case, grader, part) if isinstance(judge, Covering) else True
