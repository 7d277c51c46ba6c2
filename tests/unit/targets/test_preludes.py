"""What comes before the first turn."""

from __future__ import annotations

from howsure.model.case import Case, Script, SingleTurn
from howsure.model.transcript import Message, Role
from howsure.targets.conversations import PriorContext

ASKED = Message(role=Role.USER, content="May I?")
ANSWERED = Message(role=Role.ASSISTANT, content="You may.")


def prelude(**fields: object) -> PriorContext:
    return PriorContext.of(Case(id="1", input=SingleTurn(message="And now?", **fields)))  # type: ignore[arg-type]


def test_context_goes_before_the_question_and_history_is_told() -> None:
    found = prelude(context="She is twelve.", history=(ASKED, ANSWERED))
    assert found.opened("And now?") == "She is twelve.\n\nAnd now?"
    assert found.told == [{"role": "user", "content": "May I?"}, {"role": "assistant", "content": "You may."}]


def test_the_question_is_not_asked_twice_and_empty_messages_are_none() -> None:
    last = Message(role=Role.USER, content="And now?")
    assert prelude(history=(ASKED, Message(role=Role.ASSISTANT), last)).earlier == (ASKED,)


def test_a_script_brings_nothing_along() -> None:
    assert PriorContext.of(Case(id="1", input=Script(turns=("Hi",)))) == PriorContext()
    assert PriorContext().opened("Hi") == "Hi"
