"""One conversation as the live targets keep it: its id, its messages so far, its state, and the case as the target is
told it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import uuid4

from msgspec.structs import replace

from howsure.judges.answer_prompts import CasePrompt, case_prompt
from howsure.model.case import Case, opening
from howsure.model.transcript import Message, Role
from howsure.targets.base import Closing, Reply, Session, TargetRequest
from howsure.targets.bot_answers import BotAnswer


def text_prompt(case: Case, request: TargetRequest) -> CasePrompt:
    """The case as a target that takes text is told it. An agent that is described has a system prompt of its own."""
    described = request.agent is not None and bool(request.agent.system_prompt)
    return case_prompt(case, request.documents, chat=False, own_system=described)


class ConversationState:
    """What is known of a conversation before each turn. Every conversation has its own id, repeats too. `placed` are
    the parts of the case that the target's settings put elsewhere than into the message."""

    def __init__(self, case: Case, request: TargetRequest, placed: Collection[str] = ()) -> None:
        self.case = case
        self.session_id = uuid4().hex
        self.turn = 0
        self.state = request.initial_state(case)
        self.reported_state: dict[str, Any] | None = None
        self._candidate = request.candidate
        self._prompt = text_prompt(case, request)
        self._placed = placed
        self._history: list[dict[str, str]] = chat_messages(self._prompt.earlier)

    def values(self) -> dict[str, Any]:
        """All that a bot may be sent besides the message. The lists are copies, because the conversation goes on."""
        return {
            "session_id": self.session_id,
            "case_id": self.case.id,
            "turn": self.turn,
            "history": list(self._history),
            "state": dict(self.state),
            "prompt": opening(self.case.input),
            "context": self._prompt.context,
            "documents": self._prompt.documents,
            "choices": [{"id": choice.id, "text": choice.text} for choice in self._prompt.choices],
            "candidate": self._candidate,
        }

    def next_turn(self, text: str) -> dict[str, Any]:
        """All that a bot may be sent with what the user says next. The first message holds everything that belongs to
        the case; `prompt` are the user's words alone."""
        self.turn += 1
        message = self._prompt.first_message(text, self._placed) if self.turn == 1 else text
        messages = [*self._history, {"role": Role.USER.value, "content": message}]
        return {**self.values(), "prompt": text, "message": message, "messages": messages}

    def record_turn(self, message: str, answer: BotAnswer) -> Reply:
        """Add a finished turn to the history; the reply, the first one with what was sent."""
        self._history += [{"role": Role.USER.value, "content": message}, *chat_messages(answer.reply.messages)]
        self.update_state(answer.state)
        return replace(answer.reply, sent=self._prompt.sent(message)) if self.turn == 1 else answer.reply

    def update_state(self, state: Mapping[str, Any] | None) -> None:
        """Replace the known state with the one that the bot reports."""
        if state is not None:
            self.reported_state = self.state = dict(state)

    def closing(self) -> Closing:
        """A state that the bot never reported is unknown: what it was given does not show what it kept."""
        return Closing(state=self.reported_state)


def chat_messages(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Messages as most bots and frameworks take them; those without a text are left out."""
    return [{"role": message.role.value, "content": message.content} for message in messages if message.content]


class PromptedSession:
    """A conversation with an agent that takes text alone: the first message tells it the case."""

    def __init__(self, session: Session, prompt: CasePrompt) -> None:
        self._session = session
        self._prompt: CasePrompt | None = prompt

    async def send(self, text: str) -> Reply:
        prompt, self._prompt = self._prompt, None
        if prompt is None:
            return await self._session.send(text)
        message = prompt.first_message(text)
        return replace(await self._session.send(message), sent=prompt.sent(message))

    async def close(self) -> Closing:
        return await self._session.close()
