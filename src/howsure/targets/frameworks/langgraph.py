"""`langgraph:module:graph`: a LangGraph in this process. A conversation is a thread; what the graph's nodes add to the
messages, in sub-graphs too, is what was said and done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from uuid import uuid4

import msgspec

from howsure.errors import TargetFailed
from howsure.model.case import Case
from howsure.model.transcript import Message, ToolCall
from howsure.targets.base import Closing, Reply, TargetRequest
from howsure.targets.conversations import chat_messages
from howsure.targets.frameworks.in_process import Framework, InProcessSettings, InProcessTarget
from howsure.targets.turns import TurnBuilder, content_text, convert_usage, plain_value, run_limited, tool_call

GRAPHS = Framework("langgraph", "langgraph.graph", "langgraph", "langgraph", ("astream", "compile"), "a LangGraph")
COMMON = frozenset({"agent", "model", "tools", "__start__", "__interrupt__"})
"""Nodes of the ready-made agent: their names say what a node does, not who speaks."""
UNNAMED = "LangGraph"
"""What a graph that was given no name calls itself."""

AgentMessage = tuple[str, Mapping[str, Any]]


class LangGraphSettings(InProcessSettings, frozen=True, kw_only=True):
    """The block of a LangGraph."""

    messages_key: str = "messages"
    """The part of the state that holds the conversation."""
    recursion_limit: int = 50
    """The most steps of a turn."""


class LangGraphKind:
    """`--target langgraph:module:graph`: a compiled graph, one to compile, or a function that makes one."""

    name = GRAPHS.kind
    settings = LangGraphSettings

    def make(self, request: TargetRequest) -> LangGraphTarget:
        settings, _, loaded = GRAPHS.load_agent(request, LangGraphSettings)
        graph = loaded if hasattr(loaded, "astream") else loaded.compile()
        if not graph.checkpointer:
            # A thread needs a checkpointer. The user's own graph stays as it is: this is a copy.
            saver = GRAPHS.load("langgraph.checkpoint.memory").InMemorySaver()
            graph = graph.copy({"checkpointer": saver})
        return LangGraphTarget(request, settings, graph)


class LangGraphTarget(InProcessTarget[LangGraphSettings]):
    """The graph; every conversation has a thread of its own."""

    framework = GRAPHS

    async def open_session(self, case: Case, earlier: Sequence[Message]) -> LangGraphSession:
        return LangGraphSession(self.agent, self.settings, self.request.initial_state(case), chat_messages(earlier))


class LangGraphSession:
    """One conversation: a thread. A graph that stopped to ask goes on with what the user says next."""

    def __init__(
        self, graph: Any, settings: LangGraphSettings, state: Mapping[str, Any], earlier: Sequence[dict[str, str]]
    ) -> None:
        self._graph = graph
        self._earlier = earlier
        self._settings = settings
        self._start_state = dict(state)
        self._config = {
            "configurable": {"thread_id": f"howsure-{uuid4().hex}"},
            "recursion_limit": settings.recursion_limit,
        }
        self._seen: set[str] = set()
        self._is_interrupted = False

    async def send(self, text: str) -> Reply:
        return await run_limited(self._turn(text), self._settings.turn_seconds)

    async def _turn(self, text: str) -> Reply:
        chunks = [
            chunk
            async for chunk in self._graph.astream(
                self._input(text), self._config, stream_mode="updates", subgraphs=True
            )
        ]
        state = await self._graph.aget_state(self._config)
        questions = [plain_value(each.value) for each in state.interrupts or ()]
        self._is_interrupted = bool(questions)
        node_messages = [
            (speaker(path, node), message)
            for path, update in chunks
            for node, change in (update.items() if isinstance(update, Mapping) else ())
            for message in _messages_in(change, self._settings.messages_key)
        ]
        messages = [(agent, message) for agent, message in node_messages if getattr(message, "id", None)]
        messages += self._state_messages(state.values, {_text(message): agent for agent, message in node_messages})
        return reply_of(self._new_messages(messages), questions)

    def _input(self, text: str) -> Any:
        if self._is_interrupted:
            return GRAPHS.load("langgraph.types").Command(resume=text)
        start_state, self._start_state = self._start_state, {}
        earlier = [{**message, "id": f"earlier-{at}"} for at, message in enumerate(self._earlier)]
        self._earlier = ()
        self._seen.update(message["id"] for message in earlier)
        return {**start_state, self._settings.messages_key: [*earlier, {"role": "user", "content": text}]}

    def _state_messages(self, values: Any, speakers: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
        """The messages of the state. Those written as plain data have an id only here, and are matched by text."""
        key = self._settings.messages_key
        if not isinstance(values, Mapping) or key not in values:
            parts = ", ".join(values) if isinstance(values, Mapping) else type(values).__name__
            raise TargetFailed(f"the graph's state has no {key!r}; it has: {parts}. Name its part in `messages_key`")
        for at, message in enumerate(values[key]):
            if not getattr(message, "id", None):
                message.id = f"position-{at}"
            yield speakers.get(_text(message), ""), message

    def _new_messages(self, messages: Iterable[tuple[str, Any]]) -> Iterator[AgentMessage]:
        to_plain = GRAPHS.load("langchain_core.messages").message_to_dict
        own = self._graph.get_name() if hasattr(self._graph, "get_name") else UNNAMED
        for agent, message in messages:
            if message.id not in self._seen:
                self._seen.add(message.id)
                yield agent or ("" if own == UNNAMED else own), plain_value(to_plain(message))

    async def close(self) -> Closing:
        state = await self._graph.aget_state(self._config)
        key = self._settings.messages_key
        return Closing(state={name: value for name, value in state.values.items() if name != key})


def _messages_in(change: Any, key: str) -> list[Any]:
    """The messages in the update of a node, or in several updates."""
    if isinstance(change, list | tuple):
        return [message for each in change for message in _messages_in(each, key)]
    messages = change.get(key) if isinstance(change, Mapping) else None
    return list(messages) if isinstance(messages, list | tuple) else [] if messages is None else [messages]


def _text(message: Any) -> str:
    content = message.get("content") if isinstance(message, Mapping) else getattr(message, "content", message)
    return content_text(content)


def speaker(path: Sequence[str], node: str) -> str:
    """The agent a node belongs to: the innermost name that is not one of the ready-made agent's own."""
    names = [*(step.partition(":")[0] for step in path), node]
    return next((name for name in reversed(names) if name not in COMMON), "")


def reply_of(messages: Iterable[AgentMessage], questions: Sequence[Any] = ()) -> Reply:
    """One turn from (agent, message as `messages_to_dict` writes it). The name of a message wins over the node."""
    turn = TurnBuilder()
    for node, message in messages:
        data = message.get("data") or {}
        match message.get("type"):
            case "ai" | "AIMessageChunk":
                turn.add_message(content_text(data.get("content")), str(data.get("name") or node), _calls(data))
                turn.add_usage(convert_usage(data.get("usage_metadata")))
            case "tool":
                content = content_text(data.get("content")) or data.get("content")
                turn.add_result(data.get("tool_call_id"), data.get("name"), content, data.get("status") == "error")
            case _:
                continue
    for question in questions:
        turn.add_message(question if isinstance(question, str) else msgspec.json.encode(question).decode())
    return turn.reply()


def _calls(data: Mapping[str, Any]) -> Iterator[ToolCall]:
    """The calls of a message; arguments the model wrote as broken JSON are kept as they are."""
    for call in [*(data.get("tool_calls") or ()), *(data.get("invalid_tool_calls") or ())]:
        yield tool_call(str(call.get("name")), call.get("args"), call.get("id"))
