"""Whether a simulated user was true to its scenario, by program alone: every turn against persona, facts and plan, and
the ending against what had been reached. What is found is a Slip; nothing found is no proof."""

from __future__ import annotations

from collections.abc import Sequence

from howsure.model.case import Scenario
from howsure.model.simulation import Ending, Slip
from howsure.model.transcript import Message
from howsure.users.checks.course import course_slips
from howsure.users.checks.facts import fact_slips
from howsure.users.checks.manner import manner_slips
from howsure.users.checks.persona import persona_slips
from howsure.users.checks.plan import plan_slips
from howsure.users.checks.repeats import repeat_slips
from howsure.users.checks.talk import Talk


def slips(scenario: Scenario, messages: Sequence[Message], ending: Ending | None = None) -> tuple[Slip, ...]:
    """Every mistake found, in the order of the turns. `ending` None: nobody knows how the user left."""
    talk = Talk(scenario, messages, ending)
    persona = [*persona_slips(talk)]
    found = [*fact_slips(talk), *persona, *plan_slips(talk), *course_slips(talk), *repeat_slips(talk)]
    out = {slip.turn for slip in persona}
    found += [slip for slip in manner_slips(talk) if slip.turn not in out]
    return tuple(sorted(found, key=lambda slip: slip.turn))
