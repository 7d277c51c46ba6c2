"""What live targets know of a conversation, and what a case brings before the first turn."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.judges.answer_prompts import CasePrompt
from howsure.model.agent import Agent
from howsure.model.case import Case, Scenario, Script, SingleTurn
from howsure.model.expectation import Choice, CorrectChoice
from howsure.model.transcript import Message, Role, SentRequest, ToolCall
from howsure.targets.base import Closing, Reply, TargetRequest
from howsure.targets.bot_answers import BotAnswer
from howsure.targets.conversations import ConversationState, PromptedSession, text_prompt
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
    values = conversation.next_turn("Bye")
    before = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]
    assert values["history"] == before
    assert values["messages"] == [*before, {"role": "user", "content": "Bye"}]
    assert (values["message"], values["case_id"], values["candidate"]) == ("Bye", "case-1", "new")


def test_what_was_said_before_the_case_is_history_and_its_context_is_given() -> None:
    given = SingleTurn(message="And now?", context="Page 3", history=(Message(role=Role.USER, content="Hi"),))
    values = ConversationState(Case(id="1", input=given), WISH).next_turn("And now?")
    assert values["history"] == [{"role": "user", "content": "Hi"}]
    assert values["context"] == "Page 3"


def test_a_scenario_has_no_history() -> None:
    given = Scenario(persona="curt", initial_message="Hi")
    assert ConversationState(Case(id="1", input=given), WISH).next_turn("Hi")["history"] == []


def test_a_state_that_the_bot_tells_takes_the_place_of_what_was_known() -> None:
    conversation = ConversationState(a_case(), WISH)
    conversation.update_state({"a": 1})
    conversation.update_state(None)
    assert conversation.state == {"a": 1}
    assert conversation.closing() == Closing(state={"a": 1})


def test_what_a_bot_does_with_the_values_changes_nothing() -> None:
    conversation = ConversationState(a_case(), WISH)
    values = conversation.values()
    values["history"].append("x")
    values["state"]["x"] = 1
    assert conversation.values()["history"] == []
    assert conversation.state == {"shop": "Moss", "count": 1}


ASKED = Message(role=Role.USER, content="May I?")
ANSWERED = Message(role=Role.ASSISTANT, content="You may.")
CHOICES = (Choice(id="A", text="Yes"), Choice(id="B", text="No"))


def a_question(**fields: Any) -> Case:
    given = SingleTurn(message="And now?", context="She is twelve.", history=(ASKED, ANSWERED), **fields)
    return Case(id="1", input=given, expectations=(CorrectChoice(choices=CHOICES, correct=("A",)),))


def test_the_first_message_tells_the_case_and_the_second_is_the_users_words() -> None:
    conversation = ConversationState(a_question(), WISH)
    first = conversation.next_turn("And now?")
    assert first["message"].startswith("She is twelve.\n\nAnd now?\n\nA. Yes\nB. No\n\n")
    assert (first["prompt"], first["context"], first["turn"]) == ("And now?", "She is twelve.", 1)
    assert first["choices"] == [{"id": "A", "text": "Yes"}, {"id": "B", "text": "No"}]
    reply = conversation.record_turn(first["message"], BotAnswer(reply=Reply.saying("A")))
    assert reply.sent == SentRequest(messages=(ASKED, ANSWERED, Message(role=Role.USER, content=first["message"])))
    second = conversation.next_turn("Sure?")
    assert (second["message"], second["turn"]) == ("Sure?", 2)
    assert second["history"][2] == {"role": "user", "content": first["message"]}
    assert conversation.record_turn("Sure?", BotAnswer(reply=Reply.saying("Yes"))).sent is None


def test_what_the_settings_place_elsewhere_is_left_out_of_the_message() -> None:
    placed = ConversationState(a_question(), WISH, ("context", "choices")).next_turn("And now?")
    assert placed["message"].startswith("And now?\n\n")
    assert "A. Yes" not in placed["message"]
    assert "Answer:" in placed["message"]


def test_the_question_is_not_asked_twice_and_empty_messages_are_none() -> None:
    last = Message(role=Role.USER, content="And now?")
    given = SingleTurn(message="And now?", history=(ASKED, Message(role=Role.ASSISTANT), last))
    values = ConversationState(Case(id="1", input=given), WISH).next_turn("And now?")
    assert values["messages"] == [{"role": "user", "content": "May I?"}, {"role": "user", "content": "And now?"}]


@pytest.mark.parametrize(("agent", "told"), [(None, True), (Agent(id="a", name="A", system_prompt="Mine."), False)])
def test_the_policys_system_prompt_goes_first_unless_the_agent_has_one(agent: Agent | None, told: bool) -> None:
    case = a_case(message="May he?", metadata={"policy_id": "apexv1_extended_v1"})
    message = ConversationState(case, TargetRequest(name="shop", agent=agent)).next_turn("May he?")["message"]
    assert message.startswith("You are an experienced lawyer") is told
    assert message.endswith("May he?")


class Echo:
    async def send(self, text: str) -> Reply:
        return Reply.saying(text)

    async def close(self) -> Closing:
        return Closing(state={"closed": True})


async def test_an_agent_of_text_alone_is_told_the_case_with_the_first_message() -> None:
    session = PromptedSession(Echo(), text_prompt(a_question(), WISH))
    first, second = await session.send("And now?"), await session.send("Sure?")
    assert first.messages[0].content.startswith("She is twelve.\n\nAnd now?\n\nA. Yes\nB. No")
    assert first.sent is not None
    assert first.sent.messages[-1].content == first.messages[0].content
    assert (second.messages[0].content, second.sent) == ("Sure?", None)
    assert await session.close() == Closing(state={"closed": True})


def test_a_script_brings_nothing_along() -> None:
    case = Case(id="1", input=Script(turns=("Hi",)), expectations=(CorrectChoice(choices=CHOICES, correct=("A",)),))
    assert text_prompt(case, WISH) == CasePrompt()
    assert CasePrompt().first_message("Hi") == "Hi"
