"""The checks of a simulated user on conversations that a model played against a real agent (tau-bench, airline). Of 40
two are flagged, and both deserve it: one leaves a placeholder, both come back after their goodbye."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from howsure.model.case import Scenario
from howsure.model.simulation import MistakeKind
from howsure.model.transcript import Message, Role, ToolCall
from howsure.users.attribution import find_mistakes

pytestmark = pytest.mark.shared

Json = dict[str, Any]
LEFT = "###STOP###"
"""What the simulator of tau-bench says to leave."""


def messages(trial: Json) -> list[Message]:
    said = [message for message in trial["traj"] if message["role"] in ("user", "assistant")]
    return [
        Message(
            role=Role(message["role"]),
            content=message["content"] or "",
            tool_calls=tuple(ToolCall(name=call["function"]["name"]) for call in message.get("tool_calls") or ()),
        )
        for message in said
        if LEFT not in (message["content"] or "")
    ]


def test_conversations_of_a_real_simulator_raise_few_alarms(shared_data: Callable[..., Path]) -> None:
    trials = msgspec.json.decode(shared_data("tau_bench", "gpt-4o-airline-tasks-0-9.json").read_bytes())
    flagged: list[set[MistakeKind]] = []
    for trial in trials:
        said = messages(trial)
        opening = next(message.content for message in said if message.role is Role.USER)
        scenario = Scenario(persona=trial["info"]["task"]["instruction"], initial_message=opening, max_turns=40)
        flagged += [{slip.kind for slip in found}] if (found := find_mistakes(scenario, said)) else []
    assert len(trials) == 40
    assert flagged == [{MistakeKind.OUT_OF_PERSONA, MistakeKind.WENT_ON}, {MistakeKind.WENT_ON}]
