"""Conversations with simulated users, clean ones and ones with a planted mistake, and how many of those the checks by
program find. `python tests/simulated_users.py` prints the figures; docs/simulation.md quotes them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct

from howsure.model.case import Fact, PlanStep, Scenario
from howsure.model.simulation import Ending, MistakeKind, UserMistake
from howsure.model.transcript import Message, Role, ToolCall
from howsure.users.attribution import find_mistakes

FOLDER = Path(__file__).parent / "fixtures" / "simulated_users"
FILES = ("building", "held_out", "later")


class Planted(Struct, frozen=True):
    """The mistake that was put into a conversation."""

    kind: MistakeKind
    turn: int


class Conversation(Struct, frozen=True, kw_only=True):
    """One conversation of a file."""

    name: str
    scenario: Scenario
    messages: tuple[Message, ...]
    ending: Ending
    planted: Planted | None

    @property
    def found(self) -> tuple[UserMistake, ...]:
        return find_mistakes(self.scenario, self.messages, self.ending)

    @property
    def is_caught(self) -> bool:
        """A slip of the planted kind, in the planted turn."""
        wanted = self.planted
        return wanted is not None and any((slip.kind, slip.turn) == (wanted.kind, wanted.turn) for slip in self.found)


def conversations(name: str) -> Iterator[Conversation]:
    for given in yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8")):
        yield Conversation(
            name=given["name"],
            scenario=_scenario(given),
            messages=tuple(map(_message, given["talk"])),
            ending=Ending(given["ending"]),
            planted=_planted(given.get("planted", "")),
        )


def _planted(text: str) -> Planted | None:
    kind, _, turn = text.partition("@")
    return Planted(MistakeKind(kind), int(turn)) if kind else None


def _scenario(given: dict[str, Any]) -> Scenario:
    facts = given.get("facts", {})
    listed = [{"name": name, "value": value} for name, value in facts.items()] if isinstance(facts, dict) else facts
    return Scenario(
        persona=given["persona"],
        initial_message=given["talk"][0]["u"],
        max_turns=given.get("max_turns", 8),
        goal=given.get("goal", ""),
        facts=tuple(
            Fact(name=one["name"], value=one["value"], asked_by=tuple(one.get("asked_by", ()))) for one in listed
        ),
        plan=tuple(PlanStep(say=one) if isinstance(one, str) else PlanStep(**one) for one in given.get("plan", ())),
    )


def _message(line: dict[str, Any]) -> Message:
    if "u" in line:
        return Message(role=Role.USER, content=line["u"])
    return Message(
        role=Role.ASSISTANT, content=line["a"], tool_calls=tuple(ToolCall(name=name) for name in line.get("calls", ()))
    )


def main() -> None:
    for name in FILES:
        talks = list(conversations(name))
        planted = [talk for talk in talks if talk.planted]
        clean = [talk for talk in talks if not talk.planted]
        caught, alarms = sum(talk.is_caught for talk in planted), sum(bool(talk.found) for talk in clean)
        line = f"{name}: {caught} of {len(planted)} planted mistakes found, {alarms} false alarms on {len(clean)} clean"
        sys.stdout.write(f"{line}\n")
        for talk in talks:
            if not talk.is_caught if talk.planted else talk.found:
                sys.stdout.write(
                    f"  {talk.name}: {[(slip.kind.value, slip.turn, slip.reason) for slip in talk.found]}\n"
                )


if __name__ == "__main__":
    main()
