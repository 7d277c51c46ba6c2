"""One Transcript from the turns of a conversation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from howsure.model.transcript import Message, Role, Transcript, Usage
from howsure.targets.base import Closing, Reply


def assembled(replies: Sequence[tuple[str, Reply]], closing: Closing) -> Transcript:
    """One transcript from the turns: the answer is the last thing said to the user, not the thinking beside a call."""
    messages: list[Message] = []
    for text, reply in replies:
        messages.append(Message(role=Role.USER, content=text))
        messages += reply.messages
    return Transcript(
        answer=final_answer(messages),
        messages=tuple(messages),
        steps=closing.steps,
        state=closing.state,
        spans=closing.spans,
        usage=total(reply.usage for _, reply in replies),
    )


def final_answer(messages: Sequence[Message]) -> str:
    """The last assistant message without tool calls after the last user message; empty when there was none."""
    for message in reversed(messages):
        if message.role is Role.USER:
            return ""
        if message.role is Role.ASSISTANT and message.content and not message.tool_calls:
            return message.content
    return ""


def total(usages: Iterable[Usage | None]) -> Usage | None:
    """The sum of what is known; None where nothing is, and an amount that one turn does not know stays unknown."""
    known = [usage for usage in usages if usage is not None]
    if len(known) < 2:
        return known[0] if known else None
    return Usage(
        prompt_tokens=_sum([usage.prompt_tokens for usage in known]),
        completion_tokens=_sum([usage.completion_tokens for usage in known]),
        cached_tokens=_sum([usage.cached_tokens for usage in known]),
        thinking_tokens=_sum([usage.thinking_tokens for usage in known]),
        cost_usd=_money([usage.cost_usd for usage in known]),
    )


def _sum(amounts: list[int | None]) -> int | None:
    return None if any(amount is None for amount in amounts) else sum(amount or 0 for amount in amounts)


def _money(amounts: list[float | None]) -> float | None:
    return None if any(amount is None for amount in amounts) else sum(amount or 0.0 for amount in amounts)
