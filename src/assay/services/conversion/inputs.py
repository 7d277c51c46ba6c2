"""The user's side of a case in the forms that the formats know: one message, fixed turns, or a simulated user."""

from __future__ import annotations

from assay.model.case import Input, PlanStep, Scenario, Script, SingleTurn
from assay.model.transcript import Message, Role
from assay.services.conversion.ledger import Pad
from assay.services.conversion.neutral import SCRIPTED


def as_turns(given: Input, pad: Pad) -> Script:
    """Fixed turns: of a simulated user, the opening and what it says in any case."""
    match given:
        case Script():
            return given
        case SingleTurn():
            return Script(turns=(_message(given, pad),))
        case Scenario(plan=plan):
            pad.changed("input", "of a simulated user, the opening and the unconditional steps became fixed turns")
            _lose_scenario(given, pad)
            return Script(turns=(given.initial_message, *(step.say for step in plan if not step.when)))


def as_message_or_scenario(given: Input, pad: Pad) -> SingleTurn | Scenario:
    """One message, or a simulated user; fixed turns are a plan that is followed to the letter."""
    match given:
        case Scenario():
            return given
        case SingleTurn():
            return SingleTurn(message=_message(given, pad))
        case Script(turns=(only,)):
            return SingleTurn(message=only)
        case Script(turns=turns):
            pad.changed("input.turns", "fixed turns became the plan of a simulated user who follows it to the letter")
            steps = tuple(PlanStep(say=turn) for turn in turns[1:])
            return Scenario(persona=SCRIPTED, initial_message=turns[0], max_turns=len(turns), plan=steps)


def as_question(given: Input, pad: Pad) -> SingleTurn:
    """One question with what came before it."""
    match given:
        case SingleTurn():
            return given
        case Script(turns=(*before, last)):
            if before:
                pad.changed("input.turns", "the earlier turns became the conversation so far, without answers")
            return SingleTurn(message=last, history=tuple(Message(role=Role.USER, content=turn) for turn in before))
        case Scenario():
            pad.changed("input", "of a simulated user, the opening became the question")
            _lose_scenario(given, pad)
            if given.plan:
                pad.lost("input.plan", "a single question has no plan")
            return SingleTurn(message=given.initial_message)


def _message(given: SingleTurn, pad: Pad) -> str:
    if given.history:
        pad.lost("input.history", "the format has no earlier conversation")
    if given.attachments:
        pad.lost("input.attachments", "the format has no attachments")
    if not given.context:
        return given.message
    pad.changed("input.context", "the context was put before the message")
    return f"{given.context}\n\n{given.message}"


def _lose_scenario(given: Scenario, pad: Pad) -> None:
    pad.lost("input.persona", "the format has no simulated user")
    for name in ("goal", "facts"):
        if getattr(given, name):
            pad.lost(f"input.{name}", "the format has no simulated user")
    if any(step.when for step in given.plan):
        pad.lost("input.plan", "steps with a condition need a simulated user")
