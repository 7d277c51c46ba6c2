"""`openai-agents:module:agent`: an agent of the OpenAI Agents SDK in this process. Handoffs change who answers next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from howsure.model.case import Case
from howsure.model.transcript import Message, ToolCall, Usage
from howsure.targets.base import Closing, Reply, TargetRequest
from howsure.targets.conversations import chat_messages
from howsure.targets.frameworks.in_process import Framework, InProcessSettings, InProcessTarget, context_state
from howsure.targets.turns import TurnBuilder, content_text, convert_usage, plain_value, run_limited, tool_call

SDK = Framework(
    "openai-agents", "agents", "openai-agents", "openai-agents", ("handoffs",), "an Agent of the OpenAI Agents SDK"
)
BROKEN = "An error occurred while running the tool"
"""How the SDK tells the model, by default, that a tool raised."""
RESULTS = frozenset({"output", "outputs", "results", "result", "error"})
COUNTS = ("input_tokens", "output_tokens", "total_tokens", "input_tokens_details", "output_tokens_details")
ASIDE = frozenset({"type", "id", "status", "provider_data"})


class OpenAiAgentsSettings(InProcessSettings, frozen=True, kw_only=True):
    """The block of an agent of the OpenAI Agents SDK."""

    context: str = ""
    """A function that makes the run's context from the state; without it the state is the context."""
    max_turns: int = 10
    """The most calls of the model in a turn."""


class OpenAiAgentsKind:
    """`--target openai-agents:module:agent`."""

    name = SDK.kind
    settings = OpenAiAgentsSettings

    def make(self, request: TargetRequest) -> OpenAiAgentsTarget:
        settings, agents, agent = SDK.load_agent(request, OpenAiAgentsSettings)
        return OpenAiAgentsTarget(request, settings, agent, agents.Runner)


class OpenAiAgentsTarget(InProcessTarget[OpenAiAgentsSettings]):
    """The agent that opens every conversation, and the SDK's Runner."""

    framework = SDK

    async def open_session(self, case: Case, earlier: Sequence[Message]) -> OpenAiAgentsSession:
        return OpenAiAgentsSession(self, self.make_context(self.settings.context, case), chat_messages(earlier))


class OpenAiAgentsSession:
    """One conversation: everything said so far goes along each time, to the agent that spoke last."""

    def __init__(self, target: OpenAiAgentsTarget, context: Any, earlier: Iterable[Any]) -> None:
        self._target = target
        self._agent = target.agent
        self._context = context
        self._input: list[Any] = [*earlier]

    async def send(self, text: str) -> Reply:
        self._input.append({"role": "user", "content": text})
        runner, settings = self._target.library, self._target.settings
        turn = runner.run(self._agent, self._input, context=self._context, max_turns=settings.max_turns)
        result = await run_limited(turn, settings.turn_seconds)
        self._input = list(result.to_input_list())
        self._agent = result.last_agent
        done = [(each.agent.name, plain_value(each.to_input_item())) for each in result.new_items]
        usages = [
            plain_value({name: getattr(response.usage, name, None) for name in COUNTS})
            for response in result.raw_responses
        ]
        return reply_of(done, usages, result.final_output)

    async def close(self) -> Closing:
        return Closing(state=context_state(self._context))


def reply_of(done: Iterable[tuple[str, Any]], usages: Iterable[Mapping[str, Any]], output: Any = None) -> Reply:
    """One turn from what was done: (agent, the SDK's input form of it), the tokens of each model call, the output."""
    turn = TurnBuilder()
    has_message = False
    for agent, step in done:
        match step:
            case {"type": "function_call_output", "call_id": call_id, **rest}:
                returned = rest.get("output")
                # A tool's output may be a list of blocks; then their text counts.
                content = content_text(returned) or returned if isinstance(returned, list) else returned
                turn.add_result(call_id, "", content, str(returned).startswith(BROKEN))
            case {"type": str(kind)} if kind.endswith("_call"):
                call = _call(step, kind)
                turn.add_message("", agent, [call])
                results = {name: step[name] for name in sorted(RESULTS & set(step)) if step[name] is not None}
                if results and kind != "function_call":
                    content = next(iter(results.values())) if len(results) == 1 else results
                    failed = "error" in results or step.get("status") == "failed"
                    turn.add_result(call.id, "", content, failed)
            case {"role": "assistant", "content": content} if content_text(content):
                turn.add_message(content_text(content), agent)
                has_message = True
    if not has_message and output is not None:
        # A run may end in a tool's output (`stop_on_first_tool`), with no message that says it.
        turn.add_message(output if isinstance(output, str) else msgspec.json.encode(plain_value(output)).decode())
    for usage in usages:
        turn.add_usage(convert_call_usage(usage))
    return turn.reply()


def _call(step: Mapping[str, Any], kind: str) -> ToolCall:
    """A call of a function, or of a tool that the provider runs itself (`web_search_call` …)."""
    call_id = step.get("call_id") or step.get("id")
    if "name" in step:
        return tool_call(str(step["name"]), step.get("arguments"), call_id)
    arguments = {name: value for name, value in step.items() if name not in ASIDE | RESULTS | {"call_id"}}
    return tool_call(kind.removesuffix("_call"), arguments, call_id)


def convert_call_usage(usage: Mapping[str, Any]) -> Usage | None:
    """The tokens of one model call. The SDK writes zeros where the provider counted nothing."""
    return convert_usage(usage) if usage.get("input_tokens") or usage.get("output_tokens") else None
