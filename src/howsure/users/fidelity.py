"""Whether a simulated user was true to its scenario, by program alone: every turn against persona, facts and plan, and
the ending against what had been reached. Finding no mistake proves nothing."""

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
    """Every mistake found, in the order of the turns. `ending` None: it is unknown how the user left."""
    conversation = SimulatedConversation(scenario, messages, ending)
    persona = [*persona_mistakes(conversation)]
    found = [
        *fact_mistakes(conversation),
        *persona,
        *plan_mistakes(conversation),
        *course_mistakes(conversation),
        *repeat_mistakes(conversation),
    ]
    out = {slip.turn for slip in persona}
    found += [slip for slip in manner_mistakes(conversation) if slip.turn not in out]
    return tuple(sorted(found, key=lambda slip: slip.turn))
