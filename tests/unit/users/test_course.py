"""Where a conversation may end, and what may still be said: reasons in words, turn by turn."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.model.case import Fact, PlanStep, Scenario
from howsure.model.simulation import Ending, MistakeKind, UserMistake
from howsure.model.transcript import Message, Role
from howsure.users.checks.conversations import LONGEST, SimulatedConversation
from howsure.users.checks.course import course_mistakes, is_said, plan_mistakes, repeat_mistakes, step_words
from howsure.users.words import roots

EARLY, WENT_ON = MistakeKind.STOPPED_EARLY, MistakeKind.WENT_ON


def a_talk(*said: str, ending: Ending | None = None, **fields: Any) -> SimulatedConversation:
    """User and agent in turn."""
    roles = (Role.USER, Role.ASSISTANT)
    messages = [Message(role=roles[place % 2], content=text) for place, text in enumerate(said)]
    given = {"persona": "a customer", "initial_message": said[0] if said else "Hi", **fields}
    return SimulatedConversation(Scenario(**given), messages, ending)


def told(found: tuple[UserMistake, ...] | list[UserMistake]) -> list[tuple[MistakeKind, int, str]]:
    return [(slip.kind, slip.turn, slip.reason) for slip in found]


OPENING = "Send my parcel again!"
GOAL = "Have the parcel sent again"
REACHED, GAVE_UP = Ending.GOAL_REACHED, Ending.GAVE_UP


@pytest.mark.parametrize(
    ("reply", "ending", "reason"),
    [
        ("Where do you live?", REACHED, "the goal counts as reached while the agent still asks: where do you live?"),
        ("", REACHED, "the agent has not said anything yet"),
        ("Hello! How can I help you?", REACHED, "the goal counts as reached, and the agent has only greeted"),
        ("One moment, I'll check.", REACHED, "the goal counts as reached while the agent is still looking"),
        ("I'm afraid that is not possible.", REACHED, "the goal counts as reached, and the agent refused"),
        ("All right.", GAVE_UP, "gives up although the agent refused nothing"),
        ("All right.", Ending.TURN_LIMIT, "the turn limit is 8, and 1 messages were sent"),
        ("All right.", Ending.HANDED_OFF, "says that it was handed to a person, and nothing shows it"),
    ],
)
def test_leaving_early_says_what_was_left_open(reply: str, ending: Ending, reason: str) -> None:
    assert told([*course_mistakes(a_talk(OPENING, reply, ending=ending, goal=GOAL))]) == [(EARLY, 1, reason)]


@pytest.mark.parametrize(
    ("reply", "ending"),
    [
        ("The parcel has been sent again.", REACHED),
        ("Done! Where do you live, by the way?", REACHED),
        ("You find the parcel at the depot; it is sent again on Monday.", REACHED),
        ("I'm afraid that is not possible.", GAVE_UP),
        ("Sorry, something went wrong.", GAVE_UP),
        ("Our colleagues take it from here.", Ending.HANDED_OFF),
        ("", Ending.SILENCE),
        ("All right.", Ending.LOOP),
        ("All right.", Ending.SAID_ALL),
        ("Where do you live?", None),
    ],
)
def test_leaving_for_cause_is_no_slip(reply: str, ending: Ending | None) -> None:
    assert [*course_mistakes(a_talk(OPENING, reply, ending=ending, goal=GOAL))] == []


def test_a_user_who_wants_to_know_may_be_told_no() -> None:
    asked = "Can I return it?"
    reply = "No, returns are not possible."
    assert [*course_mistakes(a_talk(asked, reply, ending=REACHED, goal="Know whether it can be returned"))] == []
    (slip,) = course_mistakes(a_talk(asked, reply, ending=REACHED, goal="Return the lamp"))
    assert slip.reason == "the goal counts as reached, and the agent refused"


def test_a_goodbye_while_the_agent_asks_is_early_and_is_found_in_its_turn() -> None:
    talk = a_talk(OPENING, "Where do you live?", "Thanks, bye!", "Hello?", "Thanks!", ending=REACHED)
    found = [slip for slip in course_mistakes(talk) if slip.kind is EARLY]
    assert told(found) == [(EARLY, 2, "takes leave while the agent still asks: where do you live?")]


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        ((OPENING, "All right.", "And now?", "All right."), "circles"),
        ((OPENING, "Which lamp is it?", "I don't know", "I see."), "the user cannot answer"),
        ((OPENING, "I see.", "Hm.", ""), "silence"),
        ((OPENING, "I see.", "Hm.", "Sure.", "And?", "What is your shoe size?"), "a question beyond the scenario"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_giving_up_has_many_good_causes(said: tuple[str, ...], cause: str) -> None:
    assert [*course_mistakes(a_talk(*said, ending=GAVE_UP, goal=GOAL))] == [], cause


def test_giving_up_on_a_question_that_could_be_answered_is_early() -> None:
    talk = a_talk(
        OPENING, "I see.", "Hm.", "Sure.", "And?", "What is your order number?",
        ending=GAVE_UP, facts=(Fact(name="order number", value="17"),),
    )  # fmt: skip
    assert told([*course_mistakes(talk)]) == [(EARLY, 3, "gives up although the agent refused nothing")]


DONE = "The parcel has been sent again."


@pytest.mark.parametrize(
    ("step", "said", "reason"),
    [
        (PlanStep(say="Ask about the warranty."), (), "leaves although 'Ask about the warranty.' was never said"),
        (PlanStep(say="Ask about the warranty."), ("What about the warranty?", DONE), ""),
        (PlanStep(say="Ask about the warranty.", when="the agent offers a voucher"), (), ""),
        (PlanStep(say="Ask."), (), ""),
    ],
    ids=["due", "said in other words", "never due", "about nothing"],
)
def test_a_planned_step_is_said_before_leaving(step: PlanStep, said: tuple[str, ...], reason: str) -> None:
    talk = a_talk(OPENING, DONE, *said, ending=REACHED, goal=GOAL, plan=(step,))
    assert [slip.reason for slip in course_mistakes(talk)] == ([reason] if reason else [])


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (("Bye!", "Goodbye!", "What about my bike?"), "goes on after its own goodbye"),
        (("How are you today?",), "chats on after all was done"),
        (("Thanks!", "My pleasure.", "Thanks again!"), "goes on after it had thanked and all was said"),
        (("Thanks!", "My pleasure.", "I like trains."), "goes on after it had thanked and all was said"),
        (("Thanks!", "My pleasure.", "Was the parcel sent again?"), ""),
        (("Bye!", "Wait, where do you live?", "In Bern."), ""),
        (("Bye!", "Anything else?", "No thanks, bye!"), ""),
        (("And when?", "On Monday.", "Thanks!"), ""),
    ],
)
def test_going_on_says_why_it_should_have_ended(said: tuple[str, ...], reason: str) -> None:
    found = [slip for slip in course_mistakes(a_talk(OPENING, DONE, *said, goal=GOAL)) if slip.kind is WENT_ON]
    assert [slip.reason for slip in found] == ([reason] if reason else [])


def test_only_the_first_turn_too_many_is_a_slip() -> None:
    talk = a_talk("a b", "Yes", "c d", "No", "e f", "Maybe", "g h", max_turns=2)
    assert told([*course_mistakes(talk)]) == [(WENT_ON, 3, "sends more than 2 messages")]


def test_a_planned_step_may_be_said_after_the_thanks() -> None:
    step = PlanStep(say="Please send me the invoice by post.")
    said = (OPENING, DONE, "Thanks!", "My pleasure.", "Please send me the invoice by post.")
    assert [*course_mistakes(a_talk(*said, goal=GOAL, plan=(step,)))] == []


def test_an_empty_conversation_goes_nowhere() -> None:
    assert [*course_mistakes(a_talk(ending=REACHED))] == []


VOUCHER = PlanStep(say="Refuse the voucher and insist on cash.", when="the agent offers a voucher")
OFFER = "I can offer you a voucher."


@pytest.mark.parametrize(
    ("reply", "text", "reason"),
    [
        (OFFER, "Sure, sounds good.", "does the opposite of the planned 'Refuse the voucher and insist on cash.'"),
        (OFFER, "Yes, but I want cash.", ""),
        (OFFER, "No, cash please.", ""),
        ("I see.", "Sure, sounds good.", ""),
        ("I see.", "I refuse the voucher, I want cash.",
         "says what was planned for when 'the agent offers a voucher', which never came"),
        ("I see.", "I changed my mind, keep it.", "gives up its goal without cause"),
        ("I cannot do that.", "I changed my mind, keep it.", ""),
        ("I see.", "By the way, could you recommend a sushi restaurant downtown?",
         "asks for something of another topic"),
        ("I see.", "Also, could you explain quantum gravity theories?",
         "asks for something that is not in goal or plan"),
        ("I see.", "Could you hurry up?", ""),
    ],
)  # fmt: skip
def test_leaving_the_plan_says_how(reply: str, text: str, reason: str) -> None:
    talk = a_talk("My bag broke", reply, text, goal="Get cash for the bag", plan=(VOUCHER,))
    assert [slip.reason for slip in plan_mistakes(talk)] == ([reason] if reason else [])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("No thanks, I don't want it.", "does the opposite of the planned 'Accept the replacement.'"),
        ("Yes please.", ""),
    ],
)
def test_what_the_plan_accepts_is_not_declined(text: str, reason: str) -> None:
    step = PlanStep(say="Accept the replacement.", when="the agent offers a replacement")
    talk = a_talk("My bag broke", "I can offer you a replacement.", text, plan=(step,))
    assert [slip.reason for slip in plan_mistakes(talk)] == ([reason] if reason else [])


def test_what_the_persona_refuses_is_not_accepted() -> None:
    persona = "Never accepts store credit."
    talk = a_talk("My bag broke", "I can give you store credit.", "Great, store credit it is.", persona=persona)
    assert [slip.reason for slip in plan_mistakes(talk)] == [
        "accepts what the scenario refuses: Never accepts store credit."
    ]


@pytest.mark.parametrize("persona", ["Changes their mind easily.", "An undecided customer."])
def test_who_is_undecided_may_change_their_mind(persona: str) -> None:
    talk = a_talk("My bag broke", "I see.", "I changed my mind, keep it.", persona=persona)
    assert [*plan_mistakes(talk)] == []


@pytest.mark.parametrize(
    ("opening", "expected"),
    [
        ("My bag broke.", 0),
        ("my bag broke", 0),
        ("Hello! My bag broke.", 0),
        ("Where is my parcel, please?", 1),
    ],
)
def test_the_opening_may_differ_in_little_only(opening: str, expected: int) -> None:
    talk = a_talk(opening, "I see.", initial_message="My bag broke.")
    found = [*plan_mistakes(talk)]
    assert len(found) == expected
    assert all(slip.reason == "does not open with the fixed message 'My bag broke.'" for slip in found)


def test_a_step_is_about_its_words_without_those_that_tell_how() -> None:
    assert step_words(PlanStep(say="Politely ask the agent about the warranty")) == roots("warranty")
    assert step_words(PlanStep(say="Say yes")) == frozenset()
    assert is_said(PlanStep(say="Ask about the warranty"), "How long is the warranty?")
    assert not is_said(PlanStep(say="Say yes"), "Say yes")


ASKED = "Where exactly is my parcel now?"


@pytest.mark.parametrize(
    ("said", "turn"),
    [
        (("Hi", "Hello.", ASKED, "At the depot.", ASKED), 2),
        (("Hi", "Hello.", ASKED, "At the depot.", "where exactly is my parcel NOW"), 2),
        (("Hi", "Hello.", ASKED, "At the depot.", "Where is it?"), None),
        (("Hi", "Hello.", ASKED, "Could you say that again?", ASKED), None),
        (("Hi", "Hello.", ASKED, "One moment, please.", ASKED), None),
        (("Hi", "Hello.", ASKED, "", ASKED), None),
        (("Hi", "Hello.", "Thank you so very much, bye", "Sure.", "Thank you so very much, bye"), None),
    ],
    ids=["word for word", "another case", "short", "asked for it", "still looking", "no reply", "only thanks"],
)
def test_saying_the_same_again_names_the_first_time(said: tuple[str, ...], turn: int | None) -> None:
    expected = [f"says again what it said in turn {turn}, though it was answered"] if turn else []
    assert [slip.reason for slip in repeat_mistakes(a_talk(*said))] == expected


def test_a_fact_asked_for_again_is_told_again() -> None:
    fact = Fact(name="order number", value="77120")
    again = "My order number is 77120, as stated."
    talk = a_talk("Hi", "What is your order number?", again, "And your order number?", again, facts=(fact,))
    assert [*repeat_mistakes(talk)] == []


def test_long_evidence_is_cut_and_short_is_whole() -> None:
    short, long = a_talk("x" * LONGEST).turns[0], a_talk("x" * (LONGEST + 1)).turns[0]
    assert short.mistake(EARLY, "r").evidence == "x" * LONGEST
    assert long.mistake(EARLY, "r").evidence == "x" * LONGEST + "…"
    assert long.mistake(EARLY, "r", "other", spoils=False) == UserMistake(
        kind=EARLY, turn=1, reason="r", evidence="other", spoils=False
    )


def test_a_turn_knows_what_came_before_it() -> None:
    talk = a_talk("one", "1", "two", "2", "three")
    third = talk.turns[2]
    assert (third.number, third.text, third.last_reply, third.agent_text) == (3, "three", "2", "1\n2")
    assert third.earlier == ("one", "two")
    assert [turn.number for turn in talk.later_turns] == [2, 3]
    assert talk.last_reply == "2"
    assert talk.handed_off is None


def test_what_the_plan_says_word_for_word_is_not_in_own_words() -> None:
    talk = a_talk("one", "1", "planned", "2", "free", plan=(PlanStep(say="planned", when="w"),))
    assert [turn.text for turn in talk.own_turns] == ["free"]
    assert (talk.plan, talk.facts) == ("w\nplanned", "")
