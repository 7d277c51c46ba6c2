"""The chat target: a model itself under test, reached through the one door to models."""

from __future__ import annotations

from assay.judges.prompting import legal_prompt
from assay.llm.base import LanguageModel, Request
from assay.llm.parts import Message
from assay.model.case import Case, Script
from assay.model.transcript import Message as Said
from assay.model.transcript import Role
from assay.targets.base import Closing, Reply


class ChatTarget:
    """`--target chat:provider:model`. `namespace` keeps repeats apart in the cache: they are asked anew, not copied."""

    name = "chat"

    def __init__(self, model: LanguageModel, system: str = "", namespace: str = "") -> None:
        self._model = model
        self._system = system
        self._namespace = namespace

    async def open(self, case: Case) -> ChatSession:
        return ChatSession(case, self._model, self._system, self._namespace)


class ChatSession:
    """One conversation with a model: it is sent everything said before, each time."""

    def __init__(self, case: Case, model: LanguageModel, system: str, namespace: str) -> None:
        self._case = case
        self._model = model
        self._namespace = namespace
        self._said: list[Message] = [Message(Role.SYSTEM, system)] if system else []
        self._turns = 0

    async def send(self, text: str) -> Reply:
        self._turns += 1
        # The first message of a question brings its context, its earlier messages and its options along.
        whole = self._turns == 1 and not isinstance(self._case.input, Script)
        self._said += legal_prompt(self._case) if whole else [Message(Role.USER, text)]
        request = Request(messages=tuple(self._said), namespace=self._namespace, purpose="target")
        completion = await self._model.complete(request)
        self._said.append(Message(Role.ASSISTANT, completion.text))
        said = Said(role=Role.ASSISTANT, content=completion.text, tool_calls=completion.tool_calls)
        return Reply(messages=(said,), usage=completion.usage)

    async def close(self) -> Closing:
        return Closing()
