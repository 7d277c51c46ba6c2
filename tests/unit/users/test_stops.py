"""The stop rules: each ends a conversation in its own state."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.model.agent import AgentTool
from howsure.model.simulation import Ending
from howsure.model.transcript import Message, Role, ToolCall, ToolResult
from howsure.users.base import UserExit
from howsure.users.speech import sentences
from howsure.users.stops import (
    Exchange,
    StopRules,
    handoff_evidence,
    handoff_sentence,
    handoff_tools,
    is_handoff_tool,
    pair_exchanges,
)


def user(text: str) -> Message:
    return Message(role=Role.USER, content=text)


def agent(text: str = "", *calls: str, failed: bool = False) -> Message:
    result = ToolResult(content="nobody is there", failed=True) if failed else None
    return Message(
        role=Role.ASSISTANT, content=text, tool_calls=tuple(ToolCall(name=name, result=result) for name in calls)
    )


def talk(*pairs: tuple[str, str]) -> list[Message]:
    return [message for asked, answered in pairs for message in (user(asked), agent(answered))]


def ending(stop: UserExit | None) -> Ending | None:
    return stop.ending if stop else None


@pytest.mark.parametrize(
    "name",
    [
        "transfer_to_human", "transfer_to_human_agents", "live_handoff", "human_handoff", "offline_human_handoff",
        "escalate_to_agent", "escalate", "handoff", "transferToLiveAgent", "connect_to_representative", "escalate_case",
        "request-human", "HandOffToOperator", "talk_to_person",
    ],
)  # fmt: skip
def test_tools_named_for_a_person_hand_off(name: str) -> None:
    assert is_handoff_tool(name)


@pytest.mark.parametrize(
    "name",
    ["transfer_to_agent", "transfer_to_billing_agent", "transfer_money", "lookup_order", "get_person",
     "handoff_to_refund_agent",
     "escalate_ticket_priority", "human_readable_date", "list_employees", "search_kb", ""],
)  # fmt: skip
def test_other_tools_do_not(name: str) -> None:
    assert not is_handoff_tool(name)


@pytest.mark.parametrize(
    "text",
    [
        "I'm transferring you to a human colleague.",
        "I'll transfer you to one of our representatives now.",
        "I cannot refund this myself, so I am connecting you with a specialist.",
        "Let me hand you over to a live agent.",
        "You are now being transferred to a member of our team.",
        "Please hold. I have escalated your case to a supervisor.",
        "A human agent will take over from here.",
        "Ich verbinde Sie jetzt mit einem Kollegen.",
        "Ich leite Sie an eine Mitarbeiterin weiter.",
        "Je vous mets en relation avec un conseiller.",
        "Le paso con un agente humano.",
        "La metto in contatto con un operatore.",
        "Vou transferir você para um atendente.",
        "Ik verbind u door met een collega.",
    ],
)
def test_saying_so_is_a_handoff(text: str) -> None:
    assert handoff_sentence(text)


@pytest.mark.parametrize(
    "text",
    [
        "Would you like me to connect you with a human colleague?",
        "I can transfer you to a specialist if you wish.",
        "If you prefer, I'll connect you to a representative.",
        "Before I transfer you to a colleague, could you tell me your order number?",
        "I'll transfer you to a specialist. May I have your name first?",
        "I cannot transfer you to a human.",
        "I'm transferring the money to your account.",
        "I'm connecting you to the virtual assistant of the billing agent.",
        "Our human colleagues are available from 9 to 5.",
        "Soll ich Sie mit einem Kollegen verbinden?",
        "Möchten Sie mit einem Mitarbeiter sprechen?",
        "Souhaitez-vous parler à un conseiller ?",
        "",
    ],
)
def test_offering_it_is_not(text: str) -> None:
    assert handoff_sentence(text) == ""


def test_the_call_counts_though_nobody_was_there_to_take_over() -> None:
    assert handoff_evidence([agent("One moment.", "live_handoff", failed=True)]) == "the agent called live_handoff"


def test_a_tool_of_another_name_counts_when_the_agents_description_says_so() -> None:
    tools = handoff_tools(
        [
            AgentTool(tool_name="ring_the_desk", type="human_handoff"),
            AgentTool(tool_name="leave_note", type="offline_human_handoff"),
            AgentTool(tool_name="search", type="rest_api"),
        ]
    )
    assert tools == {"ring_the_desk", "leave_note"}
    assert handoff_evidence([agent("", "ring_the_desk")], tools) == "the agent called ring_the_desk"
    assert handoff_evidence([agent("", "ring_the_desk")]) == ""


def test_passing_on_to_another_agent_of_the_system_is_no_handoff_whatever_is_said() -> None:
    assert handoff_evidence([agent("I'm transferring you to one of our agents.", "transfer_to_agent")]) == ""


@pytest.mark.parametrize("reply", ["", "  \n", "...", "…", "?!", "\u200b"])
def test_a_reply_without_a_word_is_silence(reply: str) -> None:
    assert StopRules().stop(talk(("Hi", reply))) == UserExit(Ending.SILENCE, "the agent said nothing once")


def test_no_reply_at_all_is_silence() -> None:
    assert ending(StopRules().stop([user("Hi")])) is Ending.SILENCE


@pytest.mark.parametrize(
    "reply", [agent("", "lookup"), agent("ok"), agent("👍")], ids=["a call", "a word", "a picture"]
)
def test_doing_or_showing_something_is_no_silence(reply: Message) -> None:
    assert StopRules().stop([user("Hi"), reply]) is None


def test_patience_with_silence_can_be_set() -> None:
    stops = StopRules(silent_replies=2)
    assert stops.stop(talk(("Hi", ""))) is None
    assert stops.stop(talk(("Hi", ""), ("Hello?", "."))) == UserExit(
        Ending.SILENCE, "the agent said nothing 2 times in a row"
    )


def test_the_same_reply_three_times_in_a_row_is_a_loop() -> None:
    same = "Please enter your order number."
    pairs = [("a", same), ("b", "please enter your order number!"), ("c", same)]
    assert StopRules().stop(talk(*pairs[:2])) is None
    assert StopRules().stop(talk(*pairs)) == UserExit(Ending.LOOP, "the agent said the same 3 times in a row")


@pytest.mark.parametrize("length", [1, 2, 3])
def test_both_sides_going_in_circles_is_a_loop(length: int) -> None:
    circle = [(f"question {letter}", f"Answer number {letter}.") for letter in "xyz"[:length]]
    found = StopRules().stop(talk(("Hi", "Hello"), *circle, *circle))
    assert found is not None
    assert found.ending is Ending.LOOP
    assert found.reason.startswith(f"both sides repeat the last {length} exchange")


def test_a_circle_broken_by_one_word_is_none() -> None:
    assert StopRules().stop(talk(("a", "one two three"), ("a", "four five six"))) is None


@pytest.mark.parametrize(("turns", "expected"), [(1, None), (2, Ending.TURN_LIMIT), (3, Ending.TURN_LIMIT)])
def test_the_turn_limit_counts_user_messages(turns: int, expected: Ending | None) -> None:
    pairs = [(f"question {place}", f"An answer about {place} things.") for place in range(turns)]
    assert ending(StopRules().stop(talk(*pairs), max_turns=2)) is expected


def test_a_handoff_wins_over_every_other_reason() -> None:
    messages = [user("Hi"), agent("", "live_handoff")]
    assert StopRules().stop(messages, max_turns=1) == UserExit(Ending.HANDED_OFF, "the agent called live_handoff")


def test_nothing_said_yet_is_no_reason_to_stop() -> None:
    assert StopRules().stop([], max_turns=1) is None


def test_an_exchange_is_one_user_message_and_all_that_follows() -> None:
    messages = [agent("Welcome!"), user("Hi"), agent("Let me look", "find"), agent("Found it."), user("Thanks")]
    first, second = pair_exchanges(messages)
    assert (first.user, first.text, first.calls) == ("Hi", "Found it.", ("find",))
    assert (second.user, second.text) == ("Thanks", "")


def test_silence_may_be_broken_by_a_call_between() -> None:
    stops = StopRules(silent_replies=2)
    messages = [user("Hi"), agent(""), user("Hello?"), agent("", "lookup"), user("And?"), agent("")]
    assert stops.stop(messages) is None


def test_a_rule_that_counts_nothing_is_switched_off() -> None:
    assert StopRules(silent_replies=0).stop(talk(("Hi", ""))) is None
    assert StopRules(same_replies=0).stop(talk(("a", "x"), ("b", "x"), ("c", "x"), ("d", "x"))) is None


def test_a_loop_of_the_agent_may_be_cut_off_sooner() -> None:
    pairs = [("a", "Say it again, please."), ("b", "Say it again, please.")]
    assert ending(StopRules(same_replies=2).stop(talk(*pairs))) is Ending.LOOP
    assert StopRules(same_replies=3).stop(talk(*pairs)) is None


def test_a_longer_circle_than_three_is_no_loop_yet() -> None:
    circle = [(f"question {letter}", f"Answer number {letter}.") for letter in "wxyz"]
    assert StopRules().stop(talk(*circle, *circle)) is None


def test_silence_is_not_the_same_said_again() -> None:
    stops = StopRules(silent_replies=9)
    assert stops.stop(talk(("a", ""), ("b", ""), ("c", ""), ("d", ""))) is None


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ((agent("thinking", "t"),), "thinking"),
        ((agent("thinking", "t"), agent("Found it.")), "Found it."),
        ((agent("one"), agent("two")), "one\ntwo"),
        ((agent("  "), agent("two")), "two"),
        ((agent("a", "t"), agent("b", "u")), "a\nb"),
        ((agent(" "),), ""),
        ((), ""),
    ],
    ids=["only thinking", "an answer", "two answers", "a blank one", "thinking twice", "blank", "nothing"],
)
def test_what_the_agent_said_is_what_stands_beside_no_call(reply: tuple[Message, ...], expected: str) -> None:
    assert Exchange.of("Hi", reply).text == expected


def test_words_of_a_system_are_nobodys() -> None:
    note = Message(role=Role.SYSTEM, content="I am transferring you to a human colleague.")
    assert StopRules().stop([user("Hi"), agent("Hello."), note]) is None
    assert [one.text for one in pair_exchanges([note, user("Hi"), agent("Hello."), note])] == ["Hello."]


def test_only_the_last_reply_hands_off() -> None:
    messages = [user("Hi"), agent("", "live_handoff"), user("Still there?"), agent("Yes, how can I help?")]
    assert StopRules().stop(messages) is None


@given(st.lists(st.tuples(st.sampled_from(["a", "b c"]), st.sampled_from(["", "x", "y z", "One moment."])), max_size=7))
def test_a_conversation_stops_at_the_limit_at_the_latest(pairs: list[tuple[str, str]]) -> None:
    messages = talk(*pairs)
    assert StopRules().stop(messages) == StopRules().check(pair_exchanges(messages))
    stopped = StopRules().stop(messages, max_turns=3)
    assert (stopped is not None) or len(pairs) < 3
    assert len(pair_exchanges(messages)) == len(pairs)


@given(st.text(max_size=40))
def test_no_name_and_no_text_breaks_the_rules(text: str) -> None:
    assert is_handoff_tool(text) in (True, False)
    assert handoff_sentence(text) in ("", *sentences(text))
    assert is_handoff_tool(f"{text}_transfer_to_human")
