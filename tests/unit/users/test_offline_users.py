"""The offline user: no model, no invention, the same words for the same seed."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howsure.model.case import Case, Fact, PlanStep, Scenario, Script
from howsure.model.simulation import Ending, MistakeKind
from howsure.model.transcript import Message, Role, ToolCall
from howsure.users.attribution import find_mistakes
from howsure.users.base import UserExit, UserMessage
from howsure.users.offline_users import OfflineUsers, tell_facts, user_phrases
from howsure.users.stops import StopRules

ORDER = Fact(name="order number", value="A-1", asked_by=("purchase",))
MAIL = Fact(name="email", value="a@b.example")
Line = str | tuple[str, str]
"""What the agent says; with a tool it calls."""


def scenario(**fields: object) -> Scenario:
    whole = {"persona": "a customer", "initial_message": "My parcel is late, I want my money back.", **fields}
    return Scenario(**whole)  # type: ignore[arg-type]


async def play(
    given: Scenario, agent: Sequence[Line], seed: int = 0, stops: StopRules | None = None
) -> list[str | Ending]:
    """What the user says to these lines of the agent, and how it leaves."""
    user = OfflineUsers(seed, stops).open(Case(id="c", input=given))
    said: list[Message] = []
    heard: list[str | Ending] = []
    for line in [*agent, None]:
        move = await user.next(said)
        if isinstance(move, UserExit):
            return [*heard, move.ending]
        heard.append(move.text)
        said.append(Message(role=Role.USER, content=move.text))
        if line is not None:
            text, tool = line if isinstance(line, tuple) else (line, "")
            calls = (ToolCall(name=tool),) if tool else ()
            said.append(Message(role=Role.ASSISTANT, content=text, tool_calls=calls))
    return heard


async def test_the_opening_is_fixed() -> None:
    assert await play(scenario(), []) == ["My parcel is late, I want my money back."]


def talk_of(*replies: str) -> list[Message]:
    """The user's opening and as many turns as the agent replied to."""
    said = [(Role.USER, "My parcel is late."), *((Role.ASSISTANT, reply) for reply in replies[:1])]
    for reply in replies[1:]:
        said += [(Role.USER, "Please go on."), (Role.ASSISTANT, reply)]
    return [Message(role=role, content=text) for role, text in said]


LOOP = ("We look for it.",) * 3


@pytest.mark.parametrize(
    ("first", "then", "ending"),
    [
        (talk_of(*LOOP[:2]), None, Ending.LOOP),
        (talk_of(*LOOP[:2]), talk_of(*LOOP), Ending.LOOP),
        (talk_of("Hello.", "Hm."), talk_of(*LOOP), Ending.LOOP),
        (talk_of(*LOOP[:2]), talk_of("Hello."), None),
        (talk_of(*LOOP[:2])[:-1], talk_of(*LOOP), Ending.LOOP),
    ],
    ids=["grown", "told anew", "another one", "a shorter one", "cut before a reply"],
)
async def test_what_was_said_counts_whether_it_grew_or_is_told_anew(
    first: list[Message], then: list[Message] | None, ending: Ending | None
) -> None:
    user = OfflineUsers().open(Case(id="c", input=scenario(max_turns=9)))
    await user.next(first)
    grown = [*first, *(Message(role=role, content=LOOP[0]) for role in (Role.USER, Role.ASSISTANT))]
    move = await user.next(grown if then is None else then)
    assert (move.ending if isinstance(move, UserExit) else None) is ending


async def test_a_script_is_said_as_it_stands() -> None:
    user = OfflineUsers().open(Case(id="c", input=Script(turns=("a", "b"))))
    assert [await user.next(()), await user.next(())] == [UserMessage("a"), UserMessage("b")]


async def test_a_fact_is_told_when_it_is_asked_for_and_no_other() -> None:
    heard = await play(scenario(facts=(ORDER, MAIL)), ["What is your order number?"])
    assert isinstance(heard[1], str)
    assert "A-1" in heard[1]
    assert "a@b.example" not in heard[1]


async def test_facts_asked_for_together_are_told_together() -> None:
    heard = await play(scenario(facts=(ORDER, MAIL)), ["Please give me your e-mail and the purchase it is about."])
    assert isinstance(heard[1], str)
    assert "A-1" in heard[1]
    assert "a@b.example" in heard[1]


@pytest.mark.parametrize(
    ("plan", "agent", "expected"),
    [
        (("And how long?",), ["I see.", "One week."], ["And how long?"]),
        (("first", "second"), ["I see.", "Right."], ["first", "second"]),
    ],
    ids=["one step", "in their order"],
)
async def test_steps_are_said_in_their_turn(plan: Sequence[str], agent: Sequence[str], expected: list[str]) -> None:
    heard = await play(scenario(plan=tuple(PlanStep(say=say) for say in plan)), agent)
    assert heard[1 : len(expected) + 1] == expected


async def test_a_conditional_step_waits_for_its_condition() -> None:
    plan = (
        PlanStep(say="No voucher, please.", when="the agent offers a voucher"),
        PlanStep(say="How long will it take?"),
    )
    heard = await play(scenario(plan=plan), ["I see.", "I can offer you a voucher over 5 euros."])
    assert heard[1:] == ["How long will it take?", "No voucher, please."]


async def test_a_condition_may_name_a_tool() -> None:
    plan = (PlanStep(say="Did it work?", when="the agent calls issue_refund"),)
    heard = await play(scenario(plan=plan), ["Hm.", ("Please wait.", "issue_refund")])
    assert heard[2] == "Did it work?"


async def test_a_condition_that_never_holds_is_never_said() -> None:
    plan = (PlanStep(say="No voucher, please.", when="the agent offers a voucher"),)
    heard = await play(scenario(goal="Get the money back", plan=plan), ["Your refund has been issued."])
    assert heard[1:] == [Ending.GOAL_REACHED]


@pytest.mark.parametrize(
    ("goal", "reply"),
    [
        ("Get the money back", "I have refunded the full amount."),
        ("Know the delivery date", "The delivery date is Friday."),
        ("", "You'll find it in your account. Is there anything else I can help you with?"),
    ],
    ids=["done", "told", "no goal, and the agent closes"],
)
async def test_the_user_leaves_when_the_goal_seems_reached(goal: str, reply: str) -> None:
    assert (await play(scenario(goal=goal), [reply]))[1:] == [Ending.GOAL_REACHED]


@pytest.mark.parametrize("goal", ["", "Get the money back"])
@pytest.mark.parametrize(
    "greeting",
    [
        "Hello! How can I help you?",
        "Hi, I'm Ava. What can I do for you today?",
        "How may I help you get your money back?",
    ],
)
async def test_a_greeting_is_not_the_goal_and_the_user_says_again_what_it_is_about(goal: str, greeting: str) -> None:
    heard = await play(scenario(goal=goal), [greeting])
    opening = "My parcel is late, I want my money back."
    assert heard[1] in (f"As I said: {opening}", f"It's about this: {opening}")


async def test_an_agent_that_greets_again_is_left_with_a_cause() -> None:
    agent = ["Hello! How can I help you?", "Welcome! How can I help you today?"]
    assert (await play(scenario(goal="Get a refund"), agent))[2:] == [Ending.GAVE_UP]
    said = [Message(role=Role.USER, content="My parcel is late, I want my money back.")]
    said += [Message(role=Role.ASSISTANT, content=agent[0]), Message(role=Role.USER, content="As I said: it is late.")]
    said += [Message(role=Role.ASSISTANT, content=agent[1])]
    assert find_mistakes(scenario(goal="Get a refund"), said, Ending.GAVE_UP) == ()


async def test_a_user_that_leaves_after_the_greeting_spoiled_the_conversation() -> None:
    said = [Message(role=Role.USER, content="My parcel is late, I want my money back.")]
    said += [Message(role=Role.ASSISTANT, content="Hello! How can I help you?")]
    (mistake,) = find_mistakes(scenario(), said, Ending.GOAL_REACHED)
    assert (mistake.kind, mistake.spoils) == (MistakeKind.STOPPED_EARLY, True)
    said[1] = Message(role=Role.ASSISTANT, content="You get it back by Friday. Anything else?")
    assert find_mistakes(scenario(), said, Ending.GOAL_REACHED) == ()


async def test_directions_are_spoken_and_such_a_conversation_has_no_mistake() -> None:
    plan = (
        PlanStep(say="Ask how long the refund takes."),
        PlanStep(say="say that you want the money.", when="the agent offers a voucher"),
        PlanStep(say="Be polite."),
    )
    given_scenario = scenario(goal="Get the money back", plan=plan)
    agent = ["I see.", "I can offer you a voucher.", "Your refund has been issued."]
    heard = await play(given_scenario, agent)
    assert heard[1:] == ["Can you tell me how long the refund takes?", "I want the money.", Ending.GOAL_REACHED]
    said = [
        Message(role=role, content=text)
        for pair in zip(heard[:3], agent, strict=True)
        for role, text in zip((Role.USER, Role.ASSISTANT), map(str, pair), strict=True)
    ]
    assert find_mistakes(given_scenario, said, Ending.GOAL_REACHED) == ()


async def test_a_question_about_the_goal_is_not_the_goal() -> None:
    heard = await play(scenario(goal="Get the money back"), ["Would you like your money back?"])
    assert heard[1] in ("Yes, please.", "Yes, please go ahead.", "Yes.")


async def test_what_the_user_does_not_hold_is_never_invented() -> None:
    heard = await play(scenario(goal="Get a refund"), ["What is your customer number?"])
    assert heard[1] in ("I don't know that.", "I don't have that, sorry.", "I'm afraid I don't know.")


async def test_two_replies_that_bring_nothing_are_enough() -> None:
    heard = await play(scenario(goal="Get a refund"), ["What is your customer number?", "And what is your PIN?"])
    assert heard[2:] == [Ending.GAVE_UP]


async def test_two_refusals_are_enough() -> None:
    refusals = ["I'm afraid I cannot do that.", "Sorry, that is not possible."]
    assert (await play(scenario(goal="Get a refund"), refusals))[2:] == [Ending.GAVE_UP]


async def test_asked_for_nothing_in_particular_the_user_asks_back() -> None:
    heard = await play(scenario(goal="Get a refund", facts=(ORDER,)), ["I need some more details from you."])
    assert heard[1] in ("What exactly do you need to know?", "Which details do you need?")


async def test_a_person_that_is_offered_is_declined_unless_wanted() -> None:
    offer = ["Would you like to speak to a human?"]
    assert str((await play(scenario(goal="Get a refund"), offer))[1]).startswith("No")
    assert str((await play(scenario(goal="Speak to a person"), offer))[1]).startswith("Yes")


@pytest.mark.parametrize(
    ("agent", "ending"),
    [
        ([("Please hold.", "live_handoff")], Ending.HANDED_OFF),
        (["I am transferring you to a human colleague."], Ending.HANDED_OFF),
        ([""], Ending.SILENCE),
        (["Please say that again."] * 3, Ending.LOOP),
        (
            ["Tell me more about red.", "Tell me more about blue things.", "Now say something on green."],
            Ending.TURN_LIMIT,
        ),
    ],
    ids=["tool", "words", "silence", "loop", "limit"],
)
async def test_each_stop_rule_ends_in_its_state(agent: Sequence[Line], ending: Ending) -> None:
    plan = tuple(PlanStep(say=f"step {place}") for place in "abcdef")
    assert (await play(scenario(max_turns=3, plan=plan), agent))[-1] is ending


async def test_a_goal_reached_with_the_last_message_is_no_turn_limit() -> None:
    heard = await play(scenario(goal="Get the money back", max_turns=1), ["Your money has been refunded."])
    assert heard[1:] == [Ending.GOAL_REACHED]


async def test_the_same_seed_gives_the_same_words_and_another_may_not() -> None:
    agent = ["What is your customer number?"]
    words = [(await play(scenario(goal="Get a refund"), agent, seed))[1] for seed in (1, 1, 2, 3, 4, 5)]
    assert words[0] == words[1]
    assert len(set(words)) > 1


@pytest.mark.parametrize(
    ("opening", "question", "expected"),
    [
        ("Ich möchte mein Geld zurück, das Paket ist nicht da.", "Wie lautet Ihre Kundennummer?",
         {"Das weiß ich nicht.", "Das habe ich leider nicht."}),
        ("Bonjour, je voudrais mon argent, le colis n'est pas là.", "Quel est votre numéro de client ?",
         {"Je ne sais pas.", "Je n'ai pas cette information."}),
        ("Hola, quiero mi dinero, el paquete no está aquí.", "¿Cuál es su número de cliente?",
         {"No lo sé.", "No tengo ese dato."}),
    ],
    ids=["German", "French", "Spanish"],
)  # fmt: skip
async def test_its_own_words_are_in_the_language_of_the_opening(
    opening: str, question: str, expected: set[str]
) -> None:
    heard = await play(scenario(initial_message=opening, goal="x y z"), [question])
    assert heard[1] in expected


async def test_the_tools_that_hand_off_can_be_named() -> None:
    stops = StopRules(handoff_tools=frozenset({"ring"}))
    assert (await play(scenario(), [("One moment.", "ring")], stops=stops))[1:] == [Ending.HANDED_OFF]


AGENT_LINES = (
    "What is your order number?", "Your e-mail, please?", "What is your shoe size?", "I can offer you a voucher.",
    "I'm afraid I cannot do that.", "One moment, please.", "Could you give me some details?", "Is that correct?",
    "Would you like to speak to a human?", "Hello there.", "Your refund has been issued.", "", "I see.",
    "I am transferring you to a human colleague.", "Please tell me more about it.", "Anything else?",
)  # fmt: skip
PLAN = (PlanStep(say="No voucher, please.", when="the agent offers a voucher"), PlanStep(say="How long does it take?"))


@given(st.lists(st.sampled_from(AGENT_LINES), max_size=9), st.integers(0, 5))
@settings(max_examples=60)
async def test_whatever_the_agent_says_nothing_is_said_that_the_scenario_does_not_hold(
    agent: list[str], seed: int
) -> None:
    given_scenario = scenario(goal="Get a refund", facts=(ORDER, MAIL), plan=PLAN, max_turns=6)
    words = user_phrases("en")
    own = {*words.unknown, *words.yes, *words.no_person, *words.what, *words.go_on, *words.press}
    fixed = {given_scenario.initial_message, *(step.say for step in PLAN)}
    heard = await play(given_scenario, agent, seed)
    said = [one for one in heard if isinstance(one, str)]
    assert all(text in own | fixed or "A-1" in text or "a@b.example" in text for text in said)
    assert len(said) <= 6
    assert all(said.count(step.say) <= 1 for step in PLAN)
    assert sum(isinstance(one, Ending) for one in heard) <= 1


@given(st.lists(st.sampled_from(AGENT_LINES), max_size=6), st.integers(0, 99))
@settings(max_examples=30)
async def test_the_same_seed_plays_the_same_conversation(agent: list[str], seed: int) -> None:
    given_scenario = scenario(goal="Get a refund", facts=(ORDER, MAIL), plan=PLAN)
    assert await play(given_scenario, agent, seed) == await play(given_scenario, agent, seed)


async def test_another_attempt_at_the_same_case_may_use_other_words() -> None:
    case = Case(id="c", input=scenario(goal="Get a refund"))
    talk = [
        Message(role=Role.USER, content="My parcel is late, I want my money back."),
        Message(role=Role.ASSISTANT, content="What is your customer number?"),
    ]
    words = [await OfflineUsers(1).open(case, attempt).next(talk) for attempt in (1, 1, 2, 3, 4, 5, 6)]
    assert words[0] == words[1]
    assert len(set(words)) > 1


@pytest.mark.parametrize(
    ("facts", "language", "expected"),
    [
        ({"order_number": "A-1"}, "de", "order number: A-1."),
        ({"order": "A-1", "email": "a@b.example"}, "de", "order: A-1. email: a@b.example."),
        ({"commande": "17"}, "fr", "commande : 17."),
        ({"odd": "{value} {0} %s"}, "es", "odd: {value} {0} %s."),
        ({"{name}": "x"}, "es", "{name}: x."),
    ],
    ids=["an underscore", "two", "French", "braces in a value", "braces in a name"],
)
def test_facts_are_told_word_for_word(facts: dict[str, str], language: str, expected: str) -> None:
    assert tell_facts(facts, user_phrases(language), Random(0)) == expected


@pytest.mark.parametrize("language", ["en", "de", "fr", "es"])
def test_every_language_has_words_for_everything(language: str) -> None:
    words = user_phrases(language)
    ways = (words.unknown, words.yes, words.no_person, words.what, words.go_on, words.press, words.tell, words.again)
    assert all(way and all(way) for way in ways)
    assert all("{name}" in way and "{value}" in way for way in words.tell)


def test_a_language_without_words_speaks_english() -> None:
    assert user_phrases("it") is user_phrases(None) is user_phrases("en")


async def test_a_fact_told_twice_brings_nothing_the_second_time() -> None:
    agent = ["What is your order number?", "What is your order number again?", "And your shoe size?"]
    heard = await play(scenario(goal="Get a refund", facts=(ORDER,)), agent)
    assert ["A-1" in str(one) for one in heard[1:3]] == [True, True]
    assert heard[3] is Ending.GAVE_UP


async def test_the_reason_for_giving_up_quotes_the_last_reply_cut_short() -> None:
    user = OfflineUsers().open(Case(id="c", input=scenario(goal="Get a refund")))
    said: list[Message] = []
    for reply in ("I cannot do that.", "I cannot do that either: " + "x" * 200):
        move = await user.next(said)
        assert isinstance(move, UserMessage)
        said += [Message(role=Role.USER, content=move.text), Message(role=Role.ASSISTANT, content=reply)]
    move = await user.next(said)
    assert isinstance(move, UserExit)
    assert move.ending is Ending.GAVE_UP
    assert move.reason.startswith("2 replies in a row brought nothing: I cannot do that either: xxx")
    assert move.reason.endswith("…")
    assert len(move.reason) < 200


async def test_a_step_that_is_due_outlasts_the_turn_limit() -> None:
    plan = (PlanStep(say="One more thing."),)
    heard = await play(scenario(goal="Get the money back", max_turns=1, plan=plan), ["Your money has been refunded."])
    assert heard[1:] == [Ending.TURN_LIMIT]
