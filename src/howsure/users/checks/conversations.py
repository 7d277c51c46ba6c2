"""A conversation as the checks see it: each user turn with what the agent said before it, and what the scenario gives
the user to know."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from msgspec import Struct

from howsure.model.case import PlanStep, Scenario
from howsure.model.simulation import Ending, MistakeKind, UserMistake
from howsure.model.transcript import Message
from howsure.users.stops import Exchange, handoff_evidence, pair_exchanges

LONGEST = 160


class UserTurn(Struct, frozen=True):
    """One user message. `before`: the agent's last reply; `heard`: everything the agent said until then; `own`: the
    user's earlier messages; `replies`: the exchanges so far."""

    number: int
    text: str
    before: str
    heard: str
    own: tuple[str, ...]
    replies: tuple[Exchange, ...]

    def slip(self, kind: MistakeKind, reason: str, evidence: str = "", *, spoils: bool = True) -> UserMistake:
        shown = evidence or self.text
        cut = shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}…"
        return UserMistake(kind=kind, turn=self.number, reason=reason, evidence=cut, spoils=spoils)


class SimulatedConversation:
    """A scenario and what came of it."""

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
    def later(self) -> tuple[UserTurn, ...]:
        """The turns after the opening, which is given."""
        return self.turns[1:]

    @cached_property
    def own_words(self) -> tuple[UserTurn, ...]:
        """Of these the ones in the user's own words: what the plan says word for word, the scenario answers for."""
        return tuple(turn for turn in self.later if turn.text not in self.steps)

    @cached_property
    def steps(self) -> dict[str, PlanStep]:
        """The steps of the plan by their words."""
        return {step.say: step for step in self.scenario.plan}

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
    def written(self) -> str:
        """Everything the scenario says, facts set aside."""
        given = self.scenario
        return "\n".join((given.persona, given.goal, given.initial_message, self.plan))

    @cached_property
    def held(self) -> str:
        """Everything the user may know before the conversation."""
        return f"{self.written}\n{self.facts}"
