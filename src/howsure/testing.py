"""Fakes and builders for tests: for our own and for those of plug-in authors. Nothing here is used in a real run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from howsure.errors import JudgeFailed, ModelFailed, TargetFailed
from howsure.judges.base import JudgeReply as JudgeReply
from howsure.judges.base import Question
from howsure.llm.base import Completion, ModelRequest
from howsure.model.case import Case, SingleTurn
from howsure.model.expectation import Expectation
from howsure.model.simulation import Ending
from howsure.model.transcript import Message, Role, ToolCall, Transcript, Usage
from howsure.targets.base import Closing, FinishedSession, Reply
from howsure.users.base import User, UserExit, UserMessage, UserMove

Calls = Iterable[tuple[str, Mapping[str, Any]]]
Answer = str | Completion | Exception | Callable[[ModelRequest], str | Completion | Exception]


def a_case(*expectations: Expectation, id: str = "case-1", message: str = "Hello", **fields: Any) -> Case:
    """A case with these expectations. Any other field of `Case` is given by name."""
    return Case(**{"id": id, "input": SingleTurn(message=message), "expectations": expectations, **fields})


def a_transcript(answer: str = "", *, calls: Calls = (), **fields: Any) -> Transcript:
    """A transcript that ends with `answer`, after one assistant message for each call."""
    calling = tuple(
        Message(role=Role.ASSISTANT, tool_calls=(ToolCall(name=name, arguments=dict(arguments)),))
        for name, arguments in calls
    )
    messages = (*calling, Message(role=Role.ASSISTANT, content=answer))
    return Transcript(**{"answer": answer, "messages": messages, **fields})


class ScriptedSession:
    """Replies with its lines in order. A line that is an exception is raised."""

    def __init__(self, lines: Sequence[str | Reply | Exception], closing: Closing) -> None:
        self._lines = iter(lines)
        self._count = len(lines)
        self._closing = closing

    async def send(self, text: str) -> Reply:
        line = next(self._lines, None)
        if line is None:
            raise TargetFailed(f"scripted target: no line is left; {self._count} were scripted")
        if isinstance(line, Exception):
            raise line
        return Reply.saying(line) if isinstance(line, str) else line

    async def close(self) -> Closing:
        return self._closing


class ScriptedTarget:
    """A target that replies with the same lines in every conversation, or returns a finished transcript."""

    name = "scripted"

    def __init__(self, *lines: str | Reply | Exception | Transcript, closing: Closing | None = None) -> None:
        self._lines = lines
        self._closing = closing or Closing()

    async def open(self, case: Case) -> ScriptedSession | FinishedSession:
        if self._lines and isinstance(self._lines[0], Transcript):
            return FinishedSession(self._lines[0])
        return ScriptedSession([line for line in self._lines if not isinstance(line, Transcript)], self._closing)


class ScriptedUser:
    """A user's side that makes the same moves in every conversation: a text is said, a `UserExit` ends it, an exception
    is raised. When no move is left, the user has reached the goal. What was opened is in `opened`: case id and attempt.

    `again` has the moves of the second attempt, the third …, where a spoiled conversation is played again.
    """

    name = "scripted"

    def __init__(
        self, *moves: str | UserMove | Exception, again: Sequence[Sequence[str | UserMove | Exception]] = ()
    ) -> None:
        self._attempts = [moves, *again]
        self.opened: list[tuple[str, int]] = []

    def open(self, case: Case, attempt: int = 1) -> User:
        self.opened.append((case.id, attempt))
        return _Moves(self._attempts[min(attempt, len(self._attempts)) - 1])


class _Moves:
    def __init__(self, moves: Sequence[str | UserMove | Exception]) -> None:
        self._moves = iter(moves)

    async def next(self, said: Sequence[Message]) -> UserMove:
        move = next(self._moves, None)
        if isinstance(move, Exception):
            raise move
        return UserMessage(move) if isinstance(move, str) else move or UserExit(Ending.GOAL_REACHED)


class ScriptedJudge:
    """A judge with replies by grader name, or by (grader, criterion id). A list of replies has one for each attempt.
    The questions it received are in `asked`."""

    name = "scripted"

    def __init__(self, replies: Mapping[str | tuple[str, str], Any]) -> None:
        self._replies = replies
        self.asked: list[Question] = []

    async def ask(self, question: Question) -> JudgeReply:
        self.asked.append(question)
        part = question.part.id if question.part else ""
        reply = self._replies.get((question.grader, part), self._replies.get(question.grader))
        if isinstance(reply, list):
            reply = reply[question.attempt - 1] if question.attempt <= len(reply) else None
        if reply is None:
            raise JudgeFailed(f"scripted judge has no reply for {question.grader} {part}".rstrip())
        return JudgeReply(content=reply, judge=self.name)


class ScriptedModel:
    """A language model with a function that answers, or with answers in order. A single answer is given every time; an
    exception is raised. The requests it received are in `asked`."""

    def __init__(self, *answers: Answer, name: str = "scripted:model") -> None:
        self.name = name
        self._answers = answers
        self.asked: list[ModelRequest] = []

    async def complete(self, request: ModelRequest) -> Completion:
        self.asked.append(request)
        if len(self._answers) > 1 and len(self.asked) > len(self._answers):
            raise ModelFailed(f"{self.name}: no answer is left; {len(self._answers)} were scripted")
        answer = self._answers[min(len(self.asked), len(self._answers)) - 1] if self._answers else ""
        result = answer(request) if callable(answer) else answer
        if isinstance(result, Exception):
            raise result
        return Completion(text=result, model=self.name, usage=Usage()) if isinstance(result, str) else result
