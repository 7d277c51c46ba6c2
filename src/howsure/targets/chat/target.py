"""The chat target: a language model under test."""

from __future__ import annotations

from time import perf_counter

from howsure.errors import ModelRefused, TargetFailed
from howsure.judges.answer_prompts import system_prompt, target_messages
from howsure.judges.documents import NO_DOCUMENTS, Documents, picture_hint
from howsure.llm.base import Completion, LanguageModel, ModelRequest
from howsure.llm.messages import ChatMessage, ToolTurn
from howsure.model.case import Case, Script
from howsure.model.transcript import Message, Role, ToolCall
from howsure.targets.base import Closing, Reply
from howsure.targets.chat.tools import NO_TOOLS, ToolOffer, ToolSession
from howsure.targets.turns import sum_usage

GREETING = "Are you there? Reply with the word yes."


class ChatTarget:
    """`--target chat:provider:model`. `system` is the agent's prompt; where it has none, the prompt of the dataset's
    policy is used. `namespace` keeps repeats apart in the cache: they are asked anew. `agent` is the name under which
    the model takes part, for graders that check who did."""

    name = "chat"

    def __init__(
        self,
        model: LanguageModel,
        system: str = "",
        *,
        namespace: str = "",
        documents: Documents = NO_DOCUMENTS,
        offer: ToolOffer = NO_TOOLS,
        agent: str = "",
    ) -> None:
        self.model = model
        self.system = system
        self.namespace = namespace
        self.documents = documents
        self.offer = offer
        self.agent = agent

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
        self._case = case
        self._target = target
        self._tools = target.offer.to(case)
        backend = target.offer.backend
        self._tool_session: ToolSession | None = backend.open(self._tools) if backend and self._tools else None
        system = target.system or system_prompt(case)
        self._messages: list[ChatMessage] = [ChatMessage(Role.SYSTEM, system)] if system else []
        self._turns = 0

    async def send(self, text: str) -> Reply:
        self._turns += 1
        # The first message carries the context, the earlier messages and the options of the question.
        is_first = self._turns == 1 and not isinstance(self._case.input, Script)
        self._messages += (
            target_messages(self._case, self._target.documents) if is_first else [ChatMessage(Role.USER, text)]
        )
        completion = await self._complete()
        if completion.tool_calls and self._tool_session is not None:
            return await self._run_tools(completion, self._tool_session)
        duration = None if completion.cached else completion.latency_ms
        message = self._record(completion, completion.tool_calls)
        return Reply(messages=(message,), usage=completion.usage, duration_ms=duration)

    async def _complete(self) -> Completion:
        request = ModelRequest(
            messages=tuple(self._messages), tools=self._tools, namespace=self._target.namespace, purpose="target"
        )
        try:
            return await self._target.model.complete(request)
        except ModelRefused as refusal:
            raise ModelRefused(f"{refusal}{picture_hint(refusal, request)}") from refusal

    async def _run_tools(self, completion: Completion, backend: ToolSession) -> Reply:
        """Answer the model's tool calls and ask it again, until it makes no more."""
        messages: list[Message] = []
        completions, tool_ms = [completion], 0.0
        while completion.tool_calls:
            if len(messages) == self._target.offer.rounds:
                names = ", ".join(dict.fromkeys(call.name for call in completion.tool_calls))
                raise TargetFailed(
                    f"the model called tools in {len(messages)} rounds of one turn and goes on with {names};"
                    f" `max_tool_rounds` allows no more"
                )
            started = perf_counter()
            messages.append(self._record(completion, await backend.answered(completion.tool_calls)))
            tool_ms += (perf_counter() - started) * 1000
            completion = await self._complete()
            completions.append(completion)
        return Reply(
            messages=(*messages, self._record(completion, ())),
            usage=sum_usage(one.usage for one in completions),
            # A reply from the cache has no meaningful time.
            duration_ms=None
            if any(one.cached for one in completions)
            else tool_ms + sum(one.latency_ms for one in completions),
        )

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
