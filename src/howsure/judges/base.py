"""The contract of a judge."""

from __future__ import annotations

from typing import Any, Protocol

from msgspec import Struct, field

from howsure.model.agent import Agent
from howsure.model.case import Case
from howsure.model.rubric import Rubric
from howsure.model.score import Part
from howsure.model.transcript import Transcript


class Question(Struct, frozen=True, kw_only=True):
    """One thing a grader asks: about this case and transcript, and, where it has several, this criterion or rule.

    `agent` and `rubric` are those of the run. `attempt` counts from 1: an unreadable reply is asked for again, a
    bounded number of times; `replied` is what it was then, `unreadable` what was wrong with it. `prompt` is the whole
    question in words where the grader brings its own (custom evals), with what others wrote in it quoted already;
    `schema` is then the shape of the reply, where there is one. `member` names whom of a panel this is put to, `vote`
    counts from 1 where the same judge may be asked several times, `order` tells the two orders of a pair apart. `batch`
    is what else the grader asks at the same time (batching.py); `parts` are all of these where one reply rules on them.
    """

    grader: str
    case: Case
    transcript: Transcript
    part: Part | None = None
    agent: Agent | None = None
    rubric: Rubric | None = None
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


class Reply(Struct, frozen=True, kw_only=True):
    """What a judge said, unread: text, or an object when the judge gave one. `details` is what is known about the
    reply beside its words (`prob_score`); a score keeps it."""

    content: Any
    judge: str = ""
    cost_usd: float | None = None
    details: dict[str, Any] = field(default_factory=dict)


class Judge(Protocol):
    """Whom a grader asks. Raises `JudgeFailed` when it has nothing to say."""

    name: str

    async def ask(self, question: Question) -> Reply: ...
