"""Driving a target as the engine does: open, send every turn, close, and put the transcript together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.engine.converse import assembled
from assay.model.case import Case, Script, SingleTurn, user_turns
from assay.model.transcript import Message, Role, Transcript
from assay.targets.base import Finished, Target
from assay.targets.making import Held, Making, Wish

HERE = Path(__file__).parent


def a_wish(rest: str = "", **fields: Any) -> Wish:
    return Wish(**{"name": "shop", "rest": rest, "folder": HERE, **fields})


def a_case_with_a_past(message: str, context: str = "") -> Case:
    """A question with an earlier conversation, and text it is about."""
    history = (Message(role=Role.USER, content="Good morning"), Message(role=Role.ASSISTANT, content="Welcome!"))
    return Case(id="case-1", input=SingleTurn(message=message, context=context, history=history))


async def talk(target: Target, case: Case) -> Transcript:
    """One conversation."""
    session = await target.open(case)
    assert not isinstance(session, Finished)
    replies = [(text, await session.send(text)) for text in user_turns(case.input)]
    return assembled(replies, await session.close())


async def talk_to(kind: Making, wish: Wish, *turns: str, state: Mapping[str, Any] | None = None) -> Transcript:
    return await try_out(kind, wish, Case(id="case-1", input=Script(turns=turns), state=dict(state or {})))


async def try_out(kind: Making, wish: Wish, case: Case) -> Transcript:
    """One conversation with a target made for it, held open while it lasts."""
    target = kind.make(wish)
    if not isinstance(target, Held):
        return await talk(target, case)
    await target.start()
    try:
        return await talk(target, case)
    finally:
        await target.stop()
