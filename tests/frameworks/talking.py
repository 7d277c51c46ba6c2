"""Driving a target as the engine does: open, send every turn, close, and put the transcript together."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from howsure.engine.converse import assemble_transcript
from howsure.model.case import Case, Script, SingleTurn, user_turns
from howsure.model.transcript import Message, Role, Transcript
from howsure.targets.base import FinishedSession, StartableTarget, Target, TargetKind, TargetRequest

HERE = Path(__file__).parent


def a_wish(rest: str = "", **fields: Any) -> TargetRequest:
    return TargetRequest(**{"name": "shop", "rest": rest, "folder": HERE, **fields})


def a_case_with_a_past(message: str, context: str = "") -> Case:
    """A question with an earlier conversation, and text it is about."""
    history = (Message(role=Role.USER, content="Good morning"), Message(role=Role.ASSISTANT, content="Welcome!"))
    return Case(id="case-1", input=SingleTurn(message=message, context=context, history=history))


async def talk(target: Target, case: Case) -> Transcript:
    """One conversation."""
    session = await target.open(case)
    assert not isinstance(session, FinishedSession)
    replies = [(text, await session.send(text)) for text in user_turns(case.input)]
    return assemble_transcript(replies, await session.close())


async def talk_to(
    kind: TargetKind, wish: TargetRequest, *turns: str, state: Mapping[str, Any] | None = None
) -> Transcript:
    return await try_out(kind, wish, Case(id="case-1", input=Script(turns=turns), state=dict(state or {})))


async def try_out(kind: TargetKind, wish: TargetRequest, case: Case) -> Transcript:
    """One conversation with a target made for it, held open while it lasts."""
    target = kind.make(wish)
    if not isinstance(target, StartableTarget):
        return await talk(target, case)
    await target.start()
    try:
        return await talk(target, case)
    finally:
        await target.stop()


def run_by_command(folder: Path, target: str, expected: Mapping[str, Any]) -> dict[str, Any]:
    """`howsure run` as a user types it, on one golden question about a refund or an order; the result it stored."""
    reference = {key: value for key, value in expected.items() if key != "turn"}
    turns = [expected.get("turn", "I want a refund")]
    question = {"id": "q1", "user_inputs": turns, "agents_evaluated": ["front_desk"], "reference_data": reference}
    (folder / "shop_golden.json").write_text(json.dumps({"golden_questions": [question]}), encoding="utf-8")
    command = [sys.executable, "-m", "howsure"]
    run = [*command, "run", "shop_golden.json", "--target", target, "--state", "tier:silver", "--json"]
    done = subprocess.run(run, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    listed = subprocess.run([*command, "results", "latest", "--json"], cwd=folder, capture_output=True, check=True)
    (result,) = json.loads(listed.stdout)
    assert result["verdict"] == "passed", result["reasons"]
    return dict(result)


REFUND = {
    "reference_tool_interactions": [{"tool_name": "issue_refund", "input_arguments": {"order_id": "A1"}}],
}
