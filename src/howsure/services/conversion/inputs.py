"""The user's side of a case in the forms that the formats know: one message, fixed turns, or a simulated user."""

from __future__ import annotations

from collections.abc import Iterable

from howsure.model.case import Input, PlanStep, Scenario, Script, SingleTurn
from howsure.model.expectation import CorrectChoice, Expectation
from howsure.model.transcript import Message, Role
from howsure.services.conversion.ledger import Pad
from howsure.services.conversion.neutral import SCRIPTED


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


def with_options(given: Script, expectations: Iterable[Expectation]) -> Script:
    """The turns with the options of a multiple-choice question after the last: nobody can choose what is not shown."""
    shown = [options_of(one) for one in expectations if isinstance(one, CorrectChoice)]
    return Script(turns=(*given.turns[:-1], "\n\n".join([given.turns[-1], *shown]))) if shown else given


def options_of(choice: CorrectChoice) -> str:
    return "\n".join(f"{one.id}. {one.text}" for one in choice.choices)


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
        case Script(turns=turns):
            if len(turns) > 1:
                pad.changed("input.turns", "the earlier turns became the conversation so far, without answers")
            before = tuple(Message(role=Role.USER, content=turn) for turn in turns[:-1])
            return SingleTurn(message=turns[-1], history=before)
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
