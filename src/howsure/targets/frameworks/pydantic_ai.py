"""`pydantic-ai:module:agent`: an agent of Pydantic AI in this process. The whole history goes along each turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from howsure.model.case import Case
from howsure.model.transcript import Message, Role, Usage
from howsure.targets.base import Closing, Reply, TargetRequest
from howsure.targets.frameworks.in_process import Framework, InProcessSettings, InProcessTarget, context_state
from howsure.targets.turns import TurnBuilder, convert_usage, plain_value, run_limited, tool_call

LIBRARY = Framework(
    "pydantic-ai", "pydantic_ai.messages", "pydantic-ai-slim", "pydantic-ai", ("run_stream",), "an Agent of Pydantic AI"
)
OUTPUT_TOOL = "final_result"
"""The call by which a model hands over a structured output. It is the answer, not a tool of the agent."""


class PydanticAiSettings(InProcessSettings, frozen=True, kw_only=True):
    """The block of an agent of Pydantic AI."""

    deps: str = ""
    """A function that makes the run's dependencies from the state; without it the state is passed."""


class PydanticAiKind:
    """`--target pydantic-ai:module:agent`."""

    name = LIBRARY.kind
    settings = PydanticAiSettings

    def make(self, request: TargetRequest) -> PydanticAiTarget:
        settings, messages, agent = LIBRARY.load_agent(request, PydanticAiSettings)
        return PydanticAiTarget(request, settings, agent, messages.ModelMessagesTypeAdapter)


class PydanticAiTarget(InProcessTarget[PydanticAiSettings]):
    """The agent, which keeps nothing itself between turns, and the library's reader and writer of messages."""

    framework = LIBRARY

    async def open_session(self, case: Case, earlier: Sequence[Message]) -> PydanticAiSession:
        history = self.library.validate_python([_earlier(message) for message in earlier])
        return PydanticAiSession(self, self.make_context(self.settings.deps, case), history)


class PydanticAiSession:
    """One conversation: the messages so far are handed over with each new one."""

    def __init__(self, target: PydanticAiTarget, context: Any, history: Sequence[Any]) -> None:
        self._target = target
        self._context = context
        self._history = history

    async def send(self, text: str) -> Reply:
        agent = self._target.agent
        turn = agent.run(text, message_history=list(self._history), deps=self._context)
        result = await run_limited(turn, self._target.settings.turn_seconds)
        self._history = result.all_messages()
        messages = self._target.library.dump_python(result.new_messages(), mode="json")
        return reply_of(messages, str(agent.name or ""), result.output)

    async def close(self) -> Closing:
        return Closing(state=context_state(self._context))


def _earlier(message: Message) -> dict[str, Any]:
    """A message of an earlier conversation in the library's form."""
    if message.role is Role.ASSISTANT:
        return {"kind": "response", "parts": [{"part_kind": "text", "content": message.content}]}
    part = "user-prompt" if message.role is Role.USER else "system-prompt"
    return {"kind": "request", "parts": [{"part_kind": part, "content": message.content}]}


def reply_of(messages: Iterable[Mapping[str, Any]], agent: str = "", output: Any = None) -> Reply:
    """One turn from the library's messages: responses speak and call, requests bring results back."""
    turn = TurnBuilder()
    for message in messages:
        parts = [part for part in message.get("parts") or () if isinstance(part, Mapping)]
        if message.get("kind") == "response":
            text = "".join(str(part.get("content") or "") for part in parts if part.get("part_kind") == "text")
            calls = [
                tool_call(str(part.get("tool_name")), part.get("args"), part.get("tool_call_id"))
                for part in parts
                if str(part.get("part_kind") or "").endswith("tool-call")
                and not str(part.get("tool_name") or "").startswith(OUTPUT_TOOL)
            ]
            turn.add_message(text, agent, calls)
            turn.add_usage(convert_call_usage(message.get("usage")))
        for part in parts:
            # A result, or the demand to try again because a tool refused its arguments.
            kind = str(part.get("part_kind") or "")
            if kind.endswith("tool-return") or (kind == "retry-prompt" and part.get("tool_name")):
                failed = kind == "retry-prompt" or part.get("outcome", "success") != "success"
                turn.add_result(part.get("tool_call_id"), part.get("tool_name"), part.get("content"), failed)
    if output is not None and not isinstance(output, str):
        turn.add_message(msgspec.json.encode(plain_value(output)).decode(), agent)
    return turn.reply()


def convert_call_usage(usage: Any) -> Usage | None:
    """The tokens of one model call. The library writes zeros where the provider counted nothing."""
    if not isinstance(usage, Mapping) or not (usage.get("input_tokens") or usage.get("output_tokens")):
        return None
    details = usage.get("details")
    named = details if isinstance(details, Mapping) else {}
    thinking = usage.get("output_reasoning_tokens") or named.get("reasoning_tokens") or 0
    return convert_usage(
        {
            "input_tokens": usage.get("input_tokens"),
            "output_tokens": usage.get("output_tokens"),
            "input_tokens_details": {"cached_tokens": usage.get("cache_read_tokens", 0)},
            "output_tokens_details": {"reasoning_tokens": thinking},
        }
    )
