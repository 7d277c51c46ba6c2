"""Whether a simulated user was true to its scenario, by program alone: every turn against persona, facts and plan, and
the ending against what had been reached. What is found is a Slip; nothing found is no proof."""

from __future__ import annotations

from collections.abc import Sequence

from howsure.model.case import Scenario
from howsure.model.simulation import Ending, UserMistake
from howsure.model.transcript import Message
from howsure.users.checks.conversations import SimulatedConversation
from howsure.users.checks.course import course_mistakes, repeat_mistakes
from howsure.users.checks.facts import fact_mistakes
from howsure.users.checks.persona import manner_mistakes, persona_mistakes
from howsure.users.checks.plan import plan_mistakes


def find_mistakes(
    scenario: Scenario, messages: Sequence[Message], ending: Ending | None = None
) -> tuple[UserMistake, ...]:
    """Every mistake found, in the order of the turns. `ending` None: nobody knows how the user left."""
    talk = SimulatedConversation(scenario, messages, ending)
    persona = [*persona_mistakes(talk)]
    found = [*fact_mistakes(talk), *persona, *plan_mistakes(talk), *course_mistakes(talk), *repeat_mistakes(talk)]
    out = {slip.turn for slip in persona}
    found += [slip for slip in manner_mistakes(talk) if slip.turn not in out]
    return tuple(sorted(found, key=lambda slip: slip.turn))
