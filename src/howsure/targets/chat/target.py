"""The chat target: a model itself under test, reached through the one door to models."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from msgspec import Struct

from howsure.errors import ModelRefused, TargetFailed
from howsure.judges.answer_prompts import system_prompt, target_messages
from howsure.judges.documents import NO_DOCUMENTS, Documents, picture_hint
from howsure.llm.base import Completion, LanguageModel, ModelRequest
from howsure.llm.messages import ChatMessage, ToolTurn
from howsure.model.case import Case, Script
from howsure.model.transcript import Message as Said
from howsure.model.transcript import Role, ToolCall
from howsure.targets.base import Closing, Reply
from howsure.targets.chat.tools import NO_TOOLS, ToolOffer, ToolSession
from howsure.targets.turns import sum_usage

GREETING = "Are you there? Reply with the word yes."


class Setup(Struct, frozen=True, kw_only=True):
    """How a model is met in every conversation. `system` is the agent's prompt; where it has none, that of the
    dataset's policy stands in. `namespace` keeps repeats apart in the cache: they are asked anew, not copied. `agent`
    is the name under which the model takes part, for those who check who did."""

    system: str = ""
    namespace: str = ""
    documents: Documents = NO_DOCUMENTS
    offer: ToolOffer = NO_TOOLS
    agent: str = ""


class ChatTarget:
    """`--target chat:provider:model`."""

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
        self._setup = Setup(system=system, namespace=namespace, documents=documents, offer=offer, agent=agent)

    async def greet(self) -> str:
        """One short question, for `howsure doctor`. It is no `check`: a run should not pay for it."""
        asked = ModelRequest(
            messages=(ChatMessage(Role.USER, GREETING),), namespace=self._setup.namespace, purpose="doctor"
        )
        completion = await self.model.complete(asked)
        return f"{self.model.name} answers ({completion.latency_ms:.0f} ms)"

    async def open(self, case: Case) -> ChatSession:
        return ChatSession(case, self.model, self._setup)


class ChatSession:
    """One conversation with a model: it is sent everything said before, each time."""

    def __init__(self, case: Case, model: LanguageModel, setup: Setup) -> None:
        self._case = case
        self._model = model
        self._setup = setup
        self._tools = setup.offer.to(case)
        desk = setup.offer.desk
        self._desk: ToolSession | None = desk.open(self._tools) if desk and self._tools else None
        system = setup.system or system_prompt(case)
        self._said: list[ChatMessage] = [ChatMessage(Role.SYSTEM, system)] if system else []
        self._turns = 0

    async def send(self, text: str) -> Reply:
        self._turns += 1
        # The first message of a question brings its context, its earlier messages and its options along.
        whole = self._turns == 1 and not isinstance(self._case.input, Script)
        self._said += target_messages(self._case, self._setup.documents) if whole else [ChatMessage(Role.USER, text)]
        completion = await self._complete()
        if completion.tool_calls and self._desk is not None:
            return await self._worked(completion, self._desk)
        took = None if completion.cached else completion.latency_ms
        said = self._noted(completion, completion.tool_calls)
        return Reply(messages=(said,), usage=completion.usage, duration_ms=took)

    async def _complete(self) -> Completion:
        request = ModelRequest(
            messages=tuple(self._said), tools=self._tools, namespace=self._setup.namespace, purpose="target"
        )
        try:
            return await self._model.complete(request)
        except ModelRefused as refusal:
            raise ModelRefused(f"{refusal}{picture_hint(refusal, request)}") from refusal

    async def _worked(self, completion: Completion, desk: ToolSession) -> Reply:
        """Calls are answered and the model is asked again, until it has no more of them."""
        messages: list[Said] = []
        asked, working = [completion], 0.0
        while completion.tool_calls:
            if len(messages) == self._setup.offer.rounds:
                raise _endless(completion, self._setup.offer.rounds)
            begun = perf_counter()
            messages.append(self._noted(completion, await desk.answered(completion.tool_calls)))
            working += (perf_counter() - begun) * 1000
            completion = await self._complete()
            asked.append(completion)
        usage = sum_usage(one.usage for one in asked)
        return Reply(messages=(*messages, self._noted(completion, ())), usage=usage, duration_ms=_took(asked, working))

    def _noted(self, completion: Completion, calls: tuple[ToolCall, ...]) -> Said:
        """What the model said and called, for the transcript; and for itself, when it is asked again."""
        turn = ChatMessage(Role.ASSISTANT, completion.text)
        # Calls of tools that nobody offered cannot go back: providers refuse them.
        if calls and self._tools:
            turn = ToolTurn(Role.ASSISTANT, completion.text, (), calls, completion.echo)
        self._said.append(turn)
        return Said(role=Role.ASSISTANT, content=completion.text, agent=self._setup.agent, tool_calls=calls)

    async def close(self) -> Closing:
        return Closing()


def _took(asked: Sequence[Completion], working: float) -> float | None:
    """The model's time and that of its tools; a reply from the cache took none that says anything."""
    return None if any(one.cached for one in asked) else working + sum(one.latency_ms for one in asked)


def _endless(completion: Completion, rounds: int) -> TargetFailed:
    names = ", ".join(dict.fromkeys(call.name for call in completion.tool_calls))
    return TargetFailed(
        f"the model called tools in {rounds} rounds of one turn and goes on with {names};"
        f" `max_tool_rounds` allows no more"
    )
