"""What was said in one Result, whoever recorded it: the user's side is taken from the case where the transcript does
not hold it, and the answer where no message does."""

from __future__ import annotations

from howsure.model.case import SingleTurn, user_turns
from howsure.model.result import Result
from howsure.model.transcript import Message, Role


def conversation(result: Result) -> tuple[Message, ...]:
    """Every message, in order, tool calls with the message that made them."""
    said = result.transcript.messages if result.transcript else ()
    answer = result.transcript.answer if result.transcript else ""
    if answer and not any(message.content == answer for message in said):
        said = (*said, Message(role=Role.ASSISTANT, content=answer))
    if any(message.role is Role.USER for message in said):
        return said
    return (*_asked(result), *said)


def _asked(result: Result) -> tuple[Message, ...]:
    given = result.case.input
    history = given.history if isinstance(given, SingleTurn) else ()
    return (*history, *(Message(role=Role.USER, content=text) for text in user_turns(given) if text))
