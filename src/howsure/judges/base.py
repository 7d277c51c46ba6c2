"""The contract of a judge: the question that a grader asks, the reply, and how several judges vote as one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct, field

from howsure.config import PanelRule
from howsure.judges.dataset_policies import POLICIES
from howsure.model.agent import Agent
from howsure.model.case import Case
from howsure.model.dataset_policy import DatasetPolicy
from howsure.model.rubric import Rubric
from howsure.model.score import Part
from howsure.model.transcript import Transcript


class Question(Struct, frozen=True, kw_only=True):
    """One thing a grader asks: about this case and transcript, and, where it has several, this criterion or rule.

    `agent`, `rubric` and the dataset `policies` are the run's. `attempt` counts from 1: after an unreadable reply the
    judge is asked again, a bounded number of times; `replied` is the earlier reply and `unreadable` what was wrong with
    it. `prompt` is the whole question where the grader brings its own words (custom evals), with quoted texts already
    in place; `schema` is then the shape of the reply, where there is one. `member` is the panel member that is asked,
    `vote` counts from 1 where the same judge is asked several times, `order` tells the two orders of a pair apart.
    `batch` holds everything that the grader asks at the same time (batches.py); `parts` are all criteria that one reply
    rules on.
    """

    grader: str
    case: Case
    transcript: Transcript
    part: Part | None = None
    agent: Agent | None = None
    rubric: Rubric | None = None
    policies: Mapping[str, DatasetPolicy] = field(default_factory=lambda: POLICIES)
    attempt: int = 1
    unreadable: str = ""
    replied: str = ""
    prompt: str = ""
    schema: dict[str, Any] | None = None
    member: str = ""
    vote: int = 0
    order: str = ""
    parts: tuple[Part, ...] = ()
    batch: object = None


class JudgeReply(Struct, frozen=True, kw_only=True):
    """A judge's reply, unread: text, or an object when the judge gave one. `details` is what else is known about the
    reply (`prob_score`); a score keeps it."""

    content: Any
    judge: str = ""
    cost_usd: float | None = None
    details: dict[str, Any] = field(default_factory=dict)


class Judge(Protocol):
    """Answers the questions of graders. `ask` raises `JudgeFailed` when it has no reply."""

    name: str

    async def ask(self, question: Question) -> JudgeReply: ...


@runtime_checkable
class SelectiveJudge(Protocol):
    """A judge that knows beforehand which questions it can answer."""

    def covers(self, case: Case | str, grader: str, part: Part | None = None) -> bool: ...


def can_answer(judge: Judge, case: Case | str, grader: str, part: Part | None = None) -> bool:
    """Whether a judge can answer this question; a judge that is not selective can answer any."""
    return judge.covers(case, grader, part) if isinstance(judge, SelectiveJudge) else True


class VotingProcedure(Struct, frozen=True, kw_only=True):
    """Who rules on a question, and how their rulings become one. `near` None: all votes are always taken."""

    rule: PanelRule
    members: tuple[str, ...]
    votes: int = 1
    near: float | None = None


def voting_procedure(judge: Judge, question: Question) -> VotingProcedure | None:
    """How a panel rules on this question; None for one judge that is asked once. (A lookup by name: checking a protocol
    would cost more than asking a recording.)"""
    find: Callable[[Question], VotingProcedure | None] | None = getattr(judge, "procedure", None)
    return None if find is None else find(question)
