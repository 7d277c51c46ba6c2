"""The chat target: a language model under test."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from time import perf_counter

from msgspec import Struct, to_builtins

from howsure.errors import ModelRefused, TargetFailed
from howsure.judges.answer_prompts import CasePrompt, case_prompt
from howsure.judges.documents import NO_DOCUMENTS, Documents, picture_hint
from howsure.llm.base import Completion, LanguageModel, ModelRequest
from howsure.llm.messages import CallSettings, ChatMessage, FinishReason, ToolTurn
from howsure.model.case import Case
from howsure.model.flag import Flag
from howsure.model.transcript import Message, Role, SentRequest, ToolCall
from howsure.targets.base import Closing, Reply
from howsure.targets.chat.tools import NO_TOOLS, ToolOffer, ToolSession
from howsure.targets.turns import sum_usage

GREETING = "Are you there? Reply with the word yes."
EMPTY_TRIES = 3
"""How often a model is asked that replies with nothing."""


class ChatTarget(Struct):
    """`--target chat:provider:model`. `system` is the agent's prompt; where it has none, the prompt of the dataset's
    policy is used. `namespace` keeps repeats apart in the cache: they are asked anew. `agent` is the name under which
    the model takes part, for graders that check who did. `settings` None: those of the model."""

    model: LanguageModel
    system: str = ""
    namespace: str = ""
    documents: Documents = NO_DOCUMENTS
    offer: ToolOffer = NO_TOOLS
    agent: str = ""
    settings: CallSettings | None = None
    name: str = "chat"

    async def greet(self) -> str:
        """One short question, for `howsure doctor`. It is no `check`: a run should not pay for it."""
        messages = (ChatMessage(Role.USER, GREETING),)
        request = ModelRequest(messages=messages, namespace=self.namespace, purpose="doctor")
        completion = await self.model.complete(request)
        return f"{self.model.name} answers ({completion.latency_ms:.0f} ms)"

    async def open(self, case: Case) -> ChatSession:
        return ChatSession(case, self)


class ChatSession:
    """One conversation with a model, which is sent all earlier messages each time."""

    def __init__(self, case: Case, target: ChatTarget) -> None:
        self._target = target
        self._tools = target.offer.to(case)
        backend = target.offer.backend
        self._tool_session: ToolSession | None = backend.open(self._tools) if backend and self._tools else None
        self._prompt: CasePrompt | None = case_prompt(case, target.documents, own_system=bool(target.system))
        self._messages: list[ChatMessage] = []
        self._completions: list[Completion] = []

    async def send(self, text: str) -> Reply:
        sent: SentRequest | None = None
        prompt, self._prompt = self._prompt, None
        if prompt is None:
            self._messages.append(ChatMessage(Role.USER, text))
        else:
            sent = self._begin(prompt, text)
        self._completions.clear()
        completion, tool_ms = await self._complete(), 0.0
        messages: list[Message] = []
        while completion.tool_calls and self._tool_session is not None:
            if len(messages) == self._target.offer.rounds:
                names = ", ".join(dict.fromkeys(call.name for call in completion.tool_calls))
                raise TargetFailed(
                    f"the model called tools in {len(messages)} rounds of one turn and goes on with {names};"
                    f" `max_tool_rounds` allows no more"
                )
            started = perf_counter()
            messages.append(self._record(completion, await self._tool_session.answered(completion.tool_calls)))
            tool_ms += (perf_counter() - started) * 1000
            completion = await self._complete()
        every = self._completions
        return Reply(
            messages=(*messages, self._record(completion, completion.tool_calls)),
            usage=sum_usage(one.usage for one in every),
            # A reply from the cache has no meaningful time.
            duration_ms=None if any(one.cached for one in every) else tool_ms + sum(one.latency_ms for one in every),
            flags=tuple(self._flags()),
            sent=sent,
        )

    def _begin(self, prompt: CasePrompt, text: str) -> SentRequest:
        """The first messages: the system prompt, the earlier conversation, and the case around the user's words."""
        system, message = self._target.system or prompt.system, prompt.first_message(text)
        if system:
            self._messages.append(ChatMessage(Role.SYSTEM, system))
        self._messages += [ChatMessage(earlier.role, earlier.content) for earlier in prompt.earlier]
        self._messages.append(ChatMessage(Role.USER, message, prompt.images))
        sent = tuple(Message(role=each.role, content=each.content) for each in self._messages)
        settings = to_builtins(self._target.settings) if self._target.settings else {}
        return SentRequest(messages=sent, model=self._target.model.name, settings=settings)

    async def _complete(self) -> Completion:
        """The model's reply. One that says nothing is asked for again: that is mostly an accident of the server."""
        target = self._target
        for number in range(1, EMPTY_TRIES + 1):
            request = ModelRequest(
                messages=tuple(self._messages),
                tools=self._tools,
                settings=target.settings,
                namespace=target.namespace if number == 1 else f"{target.namespace} try {number}".strip(),
                purpose="target",
            )
            try:
                completion = await target.model.complete(request)
            except ModelRefused as refusal:
                raise ModelRefused(f"{refusal}{picture_hint(refusal, request)}") from refusal
            self._completions.append(completion)
            # A model that refused, or that was cut off, would do the same again.
            if not _is_empty(completion) or completion.finish in (FinishReason.REFUSED, FinishReason.LENGTH):
                break
        return self._completions[-1]

    def _flags(self) -> Iterator[Flag]:
        """What a reader must know of the turn."""
        if any(completion.finish is FinishReason.LENGTH for completion in self._completions):
            limit = self._target.settings.max_tokens if self._target.settings else None
            yield Flag("cut_off", f"the reply was cut off at {limit or 'the largest number of'} tokens")
        tries = len(list(takewhile(_is_empty, reversed(self._completions))))
        if tries:
            yield Flag("empty_reply", f"the model replied with nothing{f', {tries} times' if tries > 1 else ''}")

    def _record(self, completion: Completion, calls: tuple[ToolCall, ...]) -> Message:
        """The model's message and calls: for the transcript, and for the model when it is asked again."""
        turn = ChatMessage(Role.ASSISTANT, completion.text)
        # Calls of tools that nobody offered cannot go back: providers refuse them.
        if calls and self._tools:
            turn = ToolTurn(Role.ASSISTANT, completion.text, (), calls, completion.echo)
        self._messages.append(turn)
        return Message(role=Role.ASSISTANT, content=completion.text, agent=self._target.agent, tool_calls=calls)

    async def close(self) -> Closing:
        return Closing()


def _is_empty(completion: Completion) -> bool:
    return not completion.text.strip() and not completion.tool_calls
