"""What live targets know of a conversation, and what a case brings before the first turn."""

from __future__ import annotations

from howsure.model.case import Case, Scenario, Script, SingleTurn
from howsure.model.transcript import Message, Role, ToolCall
from howsure.targets.base import Closing, Reply, TargetRequest
from howsure.targets.bot_answers import BotAnswer
from howsure.targets.conversations import ConversationState, PriorContext
from howsure.testing import a_case

WISH = TargetRequest(name="shop", state={"shop": "Moss", "count": 1}, candidate="new")


def test_it_starts_with_the_state_of_the_wish_under_that_of_the_case() -> None:
    conversation = ConversationState(a_case(state={"count": 5}), WISH)
    assert conversation.state == {"shop": "Moss", "count": 5}
    assert conversation.closing() == Closing()


def test_every_conversation_has_an_id_of_its_own() -> None:
    case = a_case()
    assert len({ConversationState(case, WISH).session_id for _ in range(100)}) == 100


def test_the_history_grows_by_what_was_said() -> None:
    conversation = ConversationState(a_case(), WISH)
    calling = Message(role=Role.ASSISTANT, tool_calls=(ToolCall(name="x"),))
    said = Message(role=Role.ASSISTANT, content="Hello!")
    conversation.record_turn("Hi", BotAnswer(reply=Reply(messages=(calling, said))))
    values = conversation.values("Bye")
    before = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]
    assert values["history"] == before
    assert values["messages"] == [*before, {"role": "user", "content": "Bye"}]
    assert (values["message"], values["case_id"], values["candidate"]) == ("Bye", "case-1", "new")


def test_what_was_said_before_the_case_is_history_and_its_context_is_given() -> None:
    given = SingleTurn(message="And now?", context="Page 3", history=(Message(role=Role.USER, content="Hi"),))
    values = ConversationState(Case(id="1", input=given), WISH).values("And now?")
    assert values["history"] == [{"role": "user", "content": "Hi"}]
    assert values["context"] == "Page 3"


def test_a_scenario_has_no_history() -> None:
    given = Scenario(persona="curt", initial_message="Hi")
    assert ConversationState(Case(id="1", input=given), WISH).values("Hi")["history"] == []


def test_a_state_that_the_bot_tells_takes_the_place_of_what_was_known() -> None:
    conversation = ConversationState(a_case(), WISH)
    conversation.update_state({"a": 1})
    conversation.update_state(None)
    assert conversation.state == {"a": 1}
    assert conversation.closing() == Closing(state={"a": 1})


def test_what_a_bot_does_with_the_values_changes_nothing() -> None:
    conversation = ConversationState(a_case(), WISH)
    values = conversation.values("Hi")
    values["history"].append("x")
    values["state"]["x"] = 1
    assert conversation.history == []
    assert conversation.state == {"shop": "Moss", "count": 1}


ASKED = Message(role=Role.USER, content="May I?")
ANSWERED = Message(role=Role.ASSISTANT, content="You may.")


def prelude(**fields: object) -> PriorContext:
    return PriorContext.of(Case(id="1", input=SingleTurn(message="And now?", **fields)))  # type: ignore[arg-type]


def test_context_goes_before_the_question_and_history_is_told() -> None:
    found = prelude(context="She is twelve.", history=(ASKED, ANSWERED))
    assert found.first_message("And now?") == "She is twelve.\n\nAnd now?"
    assert found.earlier_messages == [
        {"role": "user", "content": "May I?"},
        {"role": "assistant", "content": "You may."},
    ]


def test_the_question_is_not_asked_twice_and_empty_messages_are_none() -> None:
    last = Message(role=Role.USER, content="And now?")
    assert prelude(history=(ASKED, Message(role=Role.ASSISTANT), last)).earlier == (ASKED,)


def test_a_script_brings_nothing_along() -> None:
    assert PriorContext.of(Case(id="1", input=Script(turns=("Hi",)))) == PriorContext()
    assert PriorContext().first_message("Hi") == "Hi"
