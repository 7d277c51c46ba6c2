"""A conversation as the checks see it: each user turn with what the agent said before it, and what the user knows from
the scenario."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from msgspec import Struct

from howsure.model.case import PlanStep, Scenario
from howsure.model.simulation import Ending, MistakeKind, UserMistake
from howsure.model.transcript import Message
from howsure.users.directions import spoken_step
from howsure.users.stops import Exchange, handoff_evidence, pair_exchanges

LONGEST = 160


class UserTurn(Struct, frozen=True):
    """One user message. `last_reply`: the agent's last reply; `agent_text`: everything the agent said until then;
    `earlier`: the user's earlier messages; `replies`: the exchanges so far."""

    number: int
    text: str
    last_reply: str
    agent_text: str
    earlier: tuple[str, ...]
    replies: tuple[Exchange, ...]

    def mistake(self, kind: MistakeKind, reason: str, evidence: str = "", *, spoils: bool = True) -> UserMistake:
        shown = evidence or self.text
        cut = shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}…"
        return UserMistake(kind=kind, turn=self.number, reason=reason, evidence=cut, spoils=spoils)


class SimulatedConversation:
    """A scenario and the conversation that was played from it."""

    def __init__(self, scenario: Scenario, messages: Sequence[Message], ending: Ending | None) -> None:
        self.scenario = scenario
        self.ending = ending
        self.exchanges = tuple(pair_exchanges(messages))

    @cached_property
    def turns(self) -> tuple[UserTurn, ...]:
        made: list[UserTurn] = []
        for place, exchange in enumerate(self.exchanges):
            earlier = self.exchanges[:place]
            made.append(
                UserTurn(
                    place + 1,
                    exchange.user,
                    earlier[-1].text if earlier else "",
                    "\n".join(one.text for one in earlier),
                    tuple(one.user for one in earlier),
                    earlier,
                )
            )
        return tuple(made)

    @cached_property
    def later_turns(self) -> tuple[UserTurn, ...]:
        """The turns after the fixed opening."""
        return self.turns[1:]

    @cached_property
    def own_turns(self) -> tuple[UserTurn, ...]:
        """The later turns in the user's own words, without those that the plan gives word for word."""
        return tuple(turn for turn in self.later_turns if turn.text not in self.steps)

    @cached_property
    def steps(self) -> dict[str, PlanStep]:
        """The steps of the plan by their words, as they are written and as they are spoken."""
        plan, facts = self.scenario.plan, self.scenario.facts
        return {words: step for step in plan for words in (step.say, spoken_step(step.say, facts))}

    @cached_property
    def handed_off(self) -> int | None:
        """The number of the exchange in which the agent handed over to a person."""
        return next((place for place, one in enumerate(self.exchanges, 1) if handoff_evidence(one.reply)), None)

    @cached_property
    def last_reply(self) -> str:
        """The last thing the agent said."""
        return next((one.text for one in reversed(self.exchanges) if one.text), "")

    @cached_property
    def plan(self) -> str:
        return "\n".join(f"{step.when}\n{step.say}" for step in self.scenario.plan)

    @cached_property
    def facts(self) -> str:
        return "\n".join(f"{fact.name}: {fact.value}" for fact in self.scenario.facts)

    @cached_property
    def scenario_text(self) -> str:
        """Everything the scenario says, except the facts."""
        scenario = self.scenario
        return "\n".join((scenario.persona, scenario.goal, scenario.initial_message, self.plan))

    @cached_property
    def user_knowledge(self) -> str:
        """Everything the user may know before the conversation."""
        return f"{self.scenario_text}\n{self.facts}"
