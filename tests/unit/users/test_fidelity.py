"""The checks of a simulated user by program: the required figures, and each kind of mistake beside what is none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howsure.model.case import Case, Fact, PlanStep, Scenario
from howsure.model.simulation import Ending, MistakeKind
from howsure.model.transcript import Message, Role, ToolCall
from howsure.users.attribution import find_mistakes
from howsure.users.base import UserExit
from howsure.users.offline_users import OfflineUsers
from simulated_users import FILES, Conversation, conversations

TALKS = [talk for name in FILES for talk in conversations(name)]
PLANTED = [talk for talk in TALKS if talk.planted]
CLEAN = [talk for talk in TALKS if not talk.planted]
INVENTED, WRONG, UNASKED = MistakeKind.INVENTED_FACT, MistakeKind.WRONG_FACT, MistakeKind.UNASKED_FACT
PERSONA, OFF_PLAN = MistakeKind.OUT_OF_PERSONA, MistakeKind.OFF_PLAN
EARLY, WENT_ON, REPEATED = MistakeKind.STOPPED_EARLY, MistakeKind.WENT_ON, MistakeKind.REPEATED


@pytest.mark.parametrize("name", FILES)
def test_nine_of_ten_planted_mistakes_are_found_with_few_false_alarms(name: str) -> None:
    talks = list(conversations(name))
    caught = sum(talk.is_caught for talk in talks)
    alarms = sum(bool(talk.found) for talk in talks if not talk.planted)
    assert (len(talks), sum(talk.planted is not None for talk in talks)) == (30, 15)
    assert caught >= 14
    assert alarms <= 1


@pytest.mark.parametrize("talk", PLANTED, ids=lambda talk: talk.name)
def test_a_planted_mistake_is_found_where_it_stands(talk: Conversation) -> None:
    assert talk.is_caught


@pytest.mark.parametrize("talk", CLEAN, ids=lambda talk: talk.name)
def test_a_clean_conversation_has_no_slip(talk: Conversation) -> None:
    assert talk.found == ()


@pytest.mark.parametrize("kind", MistakeKind)
def test_every_kind_of_slip_is_planted_somewhere(kind: MistakeKind) -> None:
    assert any(talk.planted and talk.planted.kind is kind for talk in PLANTED)


def kinds(*said: str, ending: Ending | None = None, **fields: Any) -> set[MistakeKind]:
    """What is found in a conversation of user and agent in turn."""
    roles = (Role.USER, Role.ASSISTANT)
    messages = [Message(role=roles[place % 2], content=text) for place, text in enumerate(said)]
    given: dict[str, Any] = {"persona": "a customer", "initial_message": said[0], **fields}
    return {slip.kind for slip in find_mistakes(Scenario(**given), messages, ending)}


ORDER = (Fact(name="order number", value="77120"),)
ASK = ("Where is my parcel?", "What is your order number?")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("77120", set()),
        ("It's 77 120", set()),
        ("The number is 77120, hurry please", set()),
        ("I don't have it", set()),
        ("Why do you need that?", set()),
        ("One moment, give me 5 minutes", set()),
        ("77121", {WRONG}),
        ("It's 71720", {WRONG}),
        ("77120, my name is Ruth Fielding", {INVENTED}),
        ("77120, write to ruth@example.com", {INVENTED}),
        ("77120, bought on 3 April", {INVENTED}),
        ("77120, I paid $45", {INVENTED}),
        ("77120, I bought it six weeks ago", {INVENTED}),
        ("77120. My husband ordered it.", {INVENTED}),
        ("77120. I am a gold member, you know.", {INVENTED}),
        ("77120, see https://example.com/x", {INVENTED}),
        ("I am a lawyer. 77120.", {INVENTED}),
    ],
)
def test_what_a_user_answers_must_be_held(text: str, expected: set[MistakeKind]) -> None:
    assert kinds(*ASK, text, facts=ORDER) == expected


@pytest.mark.parametrize(
    ("heard", "text", "expected"),
    [
        ("It costs 40 euros a night.", "So 80 euros for two nights?", set()),
        ("It costs 40 euros, or 30 with a card.", "So I save 10 with the card.", set()),
        ("It was 40 euros, now 25 percent less.", "So 30 euros now?", set()),
        ("You can come at 9:30.", "9.30 is fine, I'll be there at 9:20.", set()),
        ("It arrives on March 3.", "On 3/3? Good.", set()),
        ("Your clerk is Mrs Novak.", "Please greet Mrs Novak.", set()),
        ("A bag is 28.75 euros.", "So 57.50 euros for two?", set()),
        ("It costs 40 euros.", "I was told 67 euros.", {INVENTED}),
        ("You can come at 9:30.", "I can only come at 17:45.", {INVENTED}),
        ("It arrives on March 3.", "You said April 9.", {INVENTED}),
        ("When did you buy it?", "I bought it last week.", {INVENTED}),
        ("For how many people?", "For six.", {INVENTED}),
        ("What colour is your car?", "It is green.", {INVENTED}),
        ("What colour would you like?", "Green, please.", set()),
        ("Do you have any allergies?", "Yes, I am allergic to nuts.", {INVENTED}),
    ],
)
def test_numbers_may_be_restated_and_worked_out_but_not_made_up(
    heard: str, text: str, expected: set[MistakeKind]
) -> None:
    assert kinds("Hello there", heard, text) == expected


@pytest.mark.parametrize(
    ("fact", "asked", "text", "expected"),
    [
        (("date of birth", "4 June 1987"), "What is your date of birth?", "06/04/1987", set()),
        (("date of birth", "4 June 1987"), "What is your date of birth?", "5 June 1987", {WRONG}),
        (("seat", "window"), "Window or aisle seat?", "The aisle seat, please.", {WRONG}),
        (("seat", "window"), "Window or aisle seat?", "Not the aisle, please.", set()),
        (("pets", "no"), "Do you have pets?", "Yes, I do.", {WRONG}),
        (("pets", "no"), "Do you have pets?", "No.", set()),
        (("email", "a.b@example.com"), "Your e-mail, please?", "ab@example.org", {WRONG}),
        (("income", "1,150 euros"), "What is your income?", "1150 a month", set()),
        (("income", "1,150 euros"), "What is your income?", "1250 a month", {WRONG}),
        (("guests", "two adults and one child"), "How many guests?", "Three, two adults and a child", set()),
    ],
)
def test_a_fact_may_be_told_in_other_words_but_not_otherwise(
    fact: tuple[str, str], asked: str, text: str, expected: set[MistakeKind]
) -> None:
    assert kinds("Hello there", asked, text, facts=(Fact(name=fact[0], value=fact[1]),)) == expected


def test_a_fact_that_nobody_asked_for_is_no_disaster() -> None:
    messages = [
        Message(role=Role.USER, content="Hello there"),
        Message(role=Role.ASSISTANT, content="Hello! What is it about?"),
        Message(role=Role.USER, content="My phone number is 555 0199."),
    ]
    scenario = Scenario(
        persona="p", initial_message="Hello there", facts=(Fact(name="phone number", value="555 0199"),)
    )
    (slip,) = find_mistakes(scenario, messages)
    assert (slip.kind, slip.turn, slip.spoils, slip.evidence) == (UNASKED, 2, False, "My phone number is 555 0199.")
    assert slip.reason == "tells `phone number` though nobody asked for it"


@pytest.mark.parametrize(
    "text",
    [
        "As an AI language model I cannot answer that.", "How can I help you today?",
        "I'd be happy to assist you with that!",
        "User: it is late", "Agent: your parcel is here", '{"message": "hi", "ending": null}',
        "*sighs* fine", "(pauses) okay then",
        "My number is [order number].", "It is {order_number}.", "Dear <your name>",
        "As a simulated user I have no order.",
        "According to my persona I am impatient.", "The user wants to know where the parcel is.",
        "I am an impatient customer who wants it now.",
        "Since the agent asked for the number, I will refuse.", "###STOP###", "Your order has been processed.",
        "May I have your order number?",
        "Wie kann ich Ihnen helfen?", "Comment puis-je vous aider ?", "¿En qué puedo ayudarle?", "Goal achieved.",
    ],
)  # fmt: skip
def test_a_user_does_not_sound_like_anything_else(text: str) -> None:
    assert PERSONA in kinds(*ASK, text)


@pytest.mark.parametrize(
    "text",
    [
        "Can you help me or not?", "You said my order has been processed.",
        'The mail says "Your order has been shipped".',
        "Let me check… I can't find it.", "It's *really* urgent.", "I need this (see above) today.",
        "Is there anything else you need?",
        "As a loyal customer I expect more.", "The agent I spoke to yesterday promised it.", "I'm frustrated.",
        "Are you an AI?",
    ],
)  # fmt: skip
def test_what_users_do_say_is_left_alone(text: str) -> None:
    assert PERSONA not in kinds(*ASK, text)


@pytest.mark.parametrize(
    ("persona", "text", "expected"),
    [
        ("Terse.", "word " * 60, {PERSONA}),
        ("Terse.", "A few words only, thank you.", set()),
        ("Never more than five words.", "this is now more than five words by far, is it not", {PERSONA}),
        ("Polite.", "You idiot!", {PERSONA}),
        ("Polite, but loses patience.", "You idiot!", set()),
        ("Angry.", "You idiot!", set()),
        ("Furious.", "Oh wonderful, you are the best, thank you so much!", {PERSONA}),
        ("Not good with computers.", "The DNS and the DHCP are down.", {PERSONA}),
        ("A network engineer.", "The DNS and the DHCP are down.", set()),
        ("Writes all lowercase.", "This Is wrong. It must be quick.", {PERSONA}),
    ],
)
def test_the_manner_of_the_persona_is_kept(persona: str, text: str, expected: set[MistakeKind]) -> None:
    assert kinds(*ASK, text, persona=persona) == expected


def test_the_language_of_the_opening_is_kept_unless_the_agent_changes_it() -> None:
    opening, english = "Ich möchte wissen, wo mein Paket ist.", "I would like to know where it is now."
    assert kinds(opening, "Wie ist die Nummer?", english) == {PERSONA}
    assert kinds(opening, "Could you tell me that in English, please, if you can?", english) == set()
    assert kinds(opening, "Wie ist die Nummer?", english, persona="Speaks German and English.") == set()


VOUCHER = (PlanStep(say="I do not want a voucher, I want cash.", when="the agent offers a voucher"),)


@pytest.mark.parametrize(
    ("heard", "text", "expected"),
    [
        ("I can offer you a voucher.", "I do not want a voucher, I want cash.", set()),
        ("What happened?", "I do not want a voucher, I want cash.", {OFF_PLAN}),
        ("I can offer you a voucher.", "Sure, I'll take the voucher.", {OFF_PLAN}),
        ("What happened?", "By the way, could you book me a hotel in the mountains?", {OFF_PLAN}),
        ("What happened?", "Tell me a joke!", set()),
        ("Your case is open.", "I changed my mind, leave it.", {OFF_PLAN}),
        ("Sorry, that is not possible.", "I changed my mind, leave it.", set()),
    ],
)
def test_the_plan_is_kept(heard: str, text: str, expected: set[MistakeKind]) -> None:
    assert kinds("My bag broke", heard, text, goal="Get cash for the bag", plan=VOUCHER) == expected


def test_the_opening_is_the_fixed_one() -> None:
    assert kinds("Something else altogether", "Hello!", initial_message="Where is my parcel?") == {OFF_PLAN}


@pytest.mark.parametrize(
    ("heard", "ending", "expected"),
    [
        ("Your parcel has been sent again.", Ending.GOAL_REACHED, set()),
        ("Done! Anything else?", Ending.GOAL_REACHED, set()),
        ("What is your order number?", Ending.GOAL_REACHED, {EARLY}),
        ("One moment, let me check.", Ending.GOAL_REACHED, {EARLY}),
        ("Unfortunately I cannot send it again.", Ending.GOAL_REACHED, {EARLY}),
        ("Hello! How can I help you today?", Ending.GOAL_REACHED, {EARLY}),
        ("Unfortunately I cannot send it again.", Ending.GAVE_UP, set()),
        ("What is your order number?", Ending.GAVE_UP, {EARLY}),
        ("What is your order number?", Ending.TURN_LIMIT, {EARLY}),
        ("What is your order number?", Ending.HANDED_OFF, {EARLY}),
        ("I am transferring you to a human colleague.", Ending.HANDED_OFF, set()),
        ("", Ending.SILENCE, set()),
        ("What is your order number?", None, set()),
    ],
)
def test_leaving_needs_a_reason(heard: str, ending: Ending | None, expected: set[MistakeKind]) -> None:
    found = kinds("Send my parcel again!", heard, ending=ending, facts=ORDER, goal="Have the parcel sent again")
    assert found == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (("Bye!", "Goodbye!", "And what about my bike?"), {WENT_ON}),
        (("Thanks!", "You're welcome!", "Thanks again!"), {WENT_ON}),
        (("Thanks!", "Anything else?", "No, that's all, bye."), set()),
        (("Thank you.", "Which colour is the door?", "It is on the left."), set()),
    ],
)
def test_a_user_who_is_done_leaves(said: tuple[str, ...], expected: set[MistakeKind]) -> None:
    assert kinds("Is it open today?", "Yes, it is open and ready.", *said, goal="Know whether it is open") == expected


def test_more_messages_than_allowed_are_too_many() -> None:
    assert kinds("a b c", "Yes", "d e f", "No", max_turns=1) == {WENT_ON}


def test_nothing_is_said_after_a_handoff() -> None:
    messages = [
        Message(role=Role.USER, content="Help"),
        Message(role=Role.ASSISTANT, content="One moment.", tool_calls=(ToolCall(name="live_handoff"),)),
        Message(role=Role.USER, content="Are you still there?"),
    ]
    (slip,) = find_mistakes(Scenario(persona="p", initial_message="Help"), messages)
    assert (slip.kind, slip.turn, slip.spoils) == (WENT_ON, 2, True)


@pytest.mark.parametrize(
    ("heard", "persona", "expected"),
    [
        ("It is at the depot.", "a customer", {REPEATED}),
        ("Sorry, could you repeat that?", "a customer", set()),
        ("It is at the depot.", "Keeps asking the same question.", set()),
    ],
)
def test_what_was_answered_is_not_asked_again(heard: str, persona: str, expected: set[MistakeKind]) -> None:
    question = "Where exactly is my parcel now?"
    assert kinds("Hello", "Hi, what is it?", question, heard, question, persona=persona) == expected


def test_an_empty_conversation_has_no_slip() -> None:
    assert find_mistakes(Scenario(persona="p", initial_message="m"), []) == ()


async def test_the_offline_user_makes_no_slip() -> None:
    scenario = Scenario(
        persona="A customer in a hurry.",
        initial_message="I'd like my money back for the lamp.",
        goal="Get the money back for the lamp",
        facts=(Fact(name="order number", value="L-5512"), Fact(name="iban", value="DE02 1203 0000")),
        plan=(PlanStep(say="I want no voucher, only my money.", when="the agent offers a voucher"),),
    )
    user = OfflineUsers().open(Case(id="c", input=scenario))
    agent = iter(
        [
            "Sorry to hear that. What is your order number?",
            "Thank you. I can offer you a voucher over 30 euros.",
            "I see. To which IBAN should I send the money?",
            "The money for the lamp has been sent.",
        ]
    )
    said: list[Message] = []
    while not isinstance(move := await user.next(said), UserExit):
        said += [Message(role=Role.USER, content=move.text), Message(role=Role.ASSISTANT, content=next(agent))]
    assert move.ending is Ending.GOAL_REACHED
    assert len(said) == 8
    assert find_mistakes(scenario, said, move.ending) == ()


PIECES = (
    "1'234.50", "24/7", "31/2/2024", "½", "9:99", "A-17", "a@b.example", "http://x.example", "May", "32 June",
    "my name is Ruth", "i am an ai", "*sighs*", "[x]", "thanks", "bye", "no", "yes", "the code", "how many?",
    "three weeks ago", "$5", "\n", "?", "…", "٣", "ß", "\x00", "my wife", "never more than five words", "hand you over",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=5).map(" ".join)


@given(
    st.lists(TEXTS, max_size=5),
    TEXTS,
    TEXTS,
    st.sampled_from([None, *Ending]),
    st.lists(st.tuples(TEXTS, TEXTS), max_size=2),
)
@settings(max_examples=40, deadline=None)
def test_whatever_is_said_every_slip_names_a_turn_and_quotes_it(
    said: list[str], persona: str, goal: str, ending: Ending | None, facts: list[tuple[str, str]]
) -> None:
    roles = (Role.USER, Role.ASSISTANT)
    messages = [Message(role=roles[place % 2], content=text) for place, text in enumerate(said)]
    known = tuple(Fact(name=name, value=value) for name, value in facts)
    scenario = Scenario(persona=persona, initial_message=said[0] if said else "m", goal=goal, facts=known)
    found = find_mistakes(scenario, messages, ending)
    turns = len(said[::2])
    assert [slip.turn for slip in found] == sorted(slip.turn for slip in found)
    assert all(1 <= slip.turn <= turns and slip.reason and len(slip.evidence) <= 161 for slip in found)
    assert all(slip.spoils is (slip.kind is not UNASKED) for slip in found)
    assert len({(slip.turn, slip.kind) for slip in found if slip.kind is not UNASKED}) == len(
        [slip for slip in found if slip.kind is not UNASKED]
    )
    assert found == find_mistakes(scenario, messages, ending)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("You promised support 24/7!", set()),
        ("It cost me CHF 1'234.50.", {INVENTED}),
        ("I would give it 10/10.", set()),
    ],
)
def test_idioms_and_swiss_amounts_are_read_as_what_they_are(text: str, expected: set[MistakeKind]) -> None:
    assert kinds("Hello there", "I see.", text) == expected


def test_swiss_amounts_are_known_in_any_writing() -> None:
    fact = (Fact(name="rent", value="CHF 1'234.50"),)
    for text in ("1234.50", "1'234.50 francs", "1,234.50"):
        assert kinds("Hello there", "What is your rent?", text, facts=fact) == set(), text
    assert kinds("Hello there", "What is your rent?", "1'334.50", facts=fact) == {WRONG}


@pytest.mark.parametrize(
    ("persona", "expected"),
    [("A calm man.", {PERSONA}), ("Rude, calms down later.", set()), ("Polite, but loses patience.", set())],
)
def test_a_calm_persona_insults_nobody(persona: str, expected: set[MistakeKind]) -> None:
    assert kinds("Hello there", "I see.", "You are an idiot!", persona=persona) == expected


@pytest.mark.parametrize(
    ("text", "after"),
    [("I see you charged me twice.", "Please give it back."), ("Please take care of it.", "It is the blue lamp.")],
)
def test_words_that_only_sound_like_a_goodbye_end_nothing(text: str, after: str) -> None:
    assert kinds("Hello there", "I see.", text, "All right.", after) == set()
