"""One turn of an agent, built from what its framework reports in order: messages, tool calls, results, tokens. Every
framework has its own spelling, which its own module reads; here results are matched to calls."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from howsure.errors import TargetTimedOut
from howsure.model.transcript import Message, Role, ToolCall, ToolResult, Usage
from howsure.targets.base import Reply
from howsure.traces.names import OUTPUTS
from howsure.traces.read import says_error
from howsure.traces.usage import read_usage, settle_counts
from howsure.traces.values import UNREADABLE, TraceProblems, decode_value

Outcome = TypeVar("Outcome")


class TurnBuilder:
    """Builds one turn. Messages keep their order; a result is matched to its call by id, else by the tool's name."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._results: dict[tuple[int, int], ToolResult] = {}
        self._usages: list[Usage] = []

    def add_message(self, content: str, agent: str = "", calls: Iterable[ToolCall] = ()) -> None:
        """Add a message of the agent, unless it is empty and calls nothing."""
        tool_calls = tuple(calls)
        if content or tool_calls:
            self._messages.append(Message(role=Role.ASSISTANT, content=content, agent=agent, tool_calls=tool_calls))

    def add_handoff(self, agent: str) -> None:
        """Add an agent that took over the conversation, and may never say anything."""
        self._messages.append(Message(role=Role.ASSISTANT, agent=agent))

    def add_result(self, call_id: Any, name: Any, returned: Any, failed: bool = False) -> None:
        """Add what a tool returned. A result for a call of an earlier turn is dropped. Text that holds JSON, or a
        printed Python value, counts as that value."""
        call_id, name = str(call_id or ""), str(name or "")
        value = decode_value(returned)
        content = returned if value is UNREADABLE else value
        result = ToolResult(content=content, failed=failed or says_error(content))
        for at, message in enumerate(self._messages):
            for nth, call in enumerate(message.tool_calls):
                is_its_call = (call.id == call_id) if call_id and call.id else (call.name == name)
                if is_its_call and (at, nth) not in self._results:
                    self._results[at, nth] = result
                    return

    def add_usage(self, usage: Usage | None) -> None:
        if usage is not None:
            self._usages.append(usage)

    def reply(self) -> Reply:
        """The turn as a Reply; tokens that were not counted are unknown."""
        messages = []
        for at, message in enumerate(self._messages):
            calls = (replace(call, result=self._results.get((at, nth))) for nth, call in enumerate(message.tool_calls))
            messages.append(replace(message, tool_calls=tuple(calls)) if message.tool_calls else message)
        return Reply(messages=tuple(messages), usage=sum_usage(settle_counts(self._usages)))


def sum_usage(usages: Iterable[Usage]) -> Usage:
    """The tokens of several model calls together; what one of them did not count stays unknown."""
    known = list(usages)
    costs = [usage.cost_usd for usage in known]
    # Reported only where tools brought something.
    brought = [usage.tool_prompt_tokens for usage in known if usage.tool_prompt_tokens is not None]
    return Usage(
        prompt_tokens=_sum([usage.prompt_tokens for usage in known]),
        completion_tokens=_sum([usage.completion_tokens for usage in known]),
        cached_tokens=_sum([usage.cached_tokens for usage in known]),
        thinking_tokens=_sum([usage.thinking_tokens for usage in known]),
        tool_prompt_tokens=sum(brought) if brought else None,
        cost_usd=sum(cost or 0.0 for cost in costs) if costs and None not in costs else None,
    )


def _sum(counts: list[int | None]) -> int | None:
    return sum(count or 0 for count in counts) if counts and None not in counts else None


def convert_usage(usage: Any) -> Usage | None:
    """Tokens in the spelling of OpenAI's two APIs or LangChain's, brought to ours; None: nothing was counted."""
    return read_usage({OUTPUTS[1]: {"usage": usage}}, "", TraceProblems()) if isinstance(usage, Mapping) else None


def tool_call(name: str, given: Any, call_id: Any) -> ToolCall:
    """A call. Its arguments are an object, or the JSON text of one; anything else is kept under `arguments`."""
    value = decode_value(given)
    arguments = {} if given in (None, "") else {"arguments": given}
    return ToolCall(
        name=name, arguments=dict(value) if isinstance(value, Mapping) else arguments, id=str(call_id or "")
    )


def content_text(content: Any) -> str:
    """The text in a message's content: a string, or a list of blocks. What is no text (thinking, images) stays out."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list | tuple) else ()
    return "".join(_block_text(block) for block in blocks)


def _block_text(block: Any) -> str:
    if isinstance(block, str):
        return block
    if not isinstance(block, Mapping) or block.get("type", "text") not in ("text", "output_text", "refusal"):
        return ""
    found = block.get("text") or block.get("refusal")
    return found if isinstance(found, str) else ""


def plain_value(value: Any) -> Any:
    """A value of an agent's state as plain data; its `repr` where it has no such form."""
    try:
        return _lists_only(msgspec.to_builtins(value, str_keys=True, enc_hook=_plain_or_repr))
    except (TypeError, ValueError):
        return repr(value)


def _lists_only(value: Any) -> Any:
    """The value with tuples as lists, as they are stored."""
    if isinstance(value, dict):
        return {name: _lists_only(each) for name, each in value.items()}
    return [_lists_only(each) for each in value] if isinstance(value, list | tuple) else value


def _plain_or_repr(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    return plain_value(dump()) if callable(dump) and not isinstance(value, type) else repr(value)


async def run_limited(work: Awaitable[Outcome], seconds: float, who: str = "") -> Outcome:
    """The result of a turn, within a time limit. A `TimeoutError` that it raises itself passes."""
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            return await work
    except TimeoutError:
        if not limit.expired():
            raise
    raise TargetTimedOut(f"{who}: no answer in {seconds:g} s" if who else f"no answer in {seconds:g} s")
