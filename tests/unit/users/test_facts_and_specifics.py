"""What a user tells against what it holds: told, told otherwise, made up, given away; and what an agent asks for."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howsure.model.case import Fact, Scenario
from howsure.model.simulation import MistakeKind, UserMistake
from howsure.model.transcript import Message, Role
from howsure.users.checks.conversations import SimulatedConversation
from howsure.users.checks.facts import fact_mistakes, is_told
from howsure.users.checks.specifics import find_unknown_names, find_unknown_specifics
from howsure.users.speech import (
    asks_for_fact,
    is_yes_or_no,
    may_concern_fact,
    phrasings,
    requested_facts,
    unanswerable_requests,
    wants_details,
)

WRONG, INVENTED, UNASKED = MistakeKind.WRONG_FACT, MistakeKind.INVENTED_FACT, MistakeKind.UNASKED_FACT


@pytest.mark.parametrize(
    ("value", "text", "expected"),
    [
        ("77120", "It's 77 120.", True),
        ("77120", "It's 77-120.", True),
        ("77120", "It's 77121.", False),
        ("A-17", "a17", True),
        ("A-17", "A-171", False),
        ("4 June 1987", "06/04/1987", True),
        ("4 June 1987", "on June 4th", True),
        ("4 June 1987", "4 July 1987", False),
        ("a.b@example.com", "It's A.B@example.com.", True),
        ("a.b@example.com", "ab@example.com", False),
        ("b@example.com", "ab@example.com", False),
        ("a.b@example.com (private)", "a.b@example.com", True),
        ("two adults", "2 adults", True),
        ("two adults", "3 adults", False),
        ("blue window seat", "The seat at the window, blue", True),
        ("1,150 euros", "1150", True),
        ("3", "three of them", True),
        ("3", "33", False),
        ("no", "No, thanks.", True),
        ("no", "I know", False),
        ("yes", "Yes!", True),
        ("yes", "yesterday", False),
        ("XL", "in xl, please", True),
        ("XL", "in xxl, please", False),
        ("München", "in Munchen", True),
        ("", "anything", False),
        ("…", "…", False),
    ],
)
def test_a_value_is_told_in_many_forms_and_never_by_chance(value: str, text: str, expected: bool) -> None:
    assert is_told(value, text) is expected


@given(st.from_regex(r"\A[A-Z]{1,3}-[0-9]{3,6}\Z"))
def test_a_code_is_told_however_it_is_set_apart(code: str) -> None:
    for said in (code, code.lower(), code.replace("-", ""), code.replace("-", " "), f"it's {code}!"):
        assert is_told(code, said), said


def found(asked: str, text: str, *facts: Fact, opening: str = "Hello there") -> list[UserMistake]:
    said = ((Role.USER, opening), (Role.ASSISTANT, asked), (Role.USER, text))
    scenario = Scenario(persona="a customer", initial_message=opening, facts=facts)
    return [
        *fact_mistakes(
            SimulatedConversation(scenario, [Message(role=role, content=content) for role, content in said], None)
        )
    ]


def reasons(asked: str, text: str, *facts: Fact) -> list[tuple[MistakeKind, str]]:
    return [(slip.kind, slip.reason) for slip in found(asked, text, *facts)]


def a_fact(name: str, value: str, *asked_by: str) -> Fact:
    return Fact(name=name, value=value, asked_by=asked_by)


@pytest.mark.parametrize(
    ("fact", "asked", "text", "reason"),
    [
        (a_fact("order number", "77120"), "Your order number?", "77121",
         "tells '77121' for `order number`; the user holds '77120'"),
        (a_fact("email", "a.b@example.com"), "Your e-mail?", "ab@example.com",
         "tells 'ab@example.com' for `email`; the user holds 'a.b@example.com'"),
        (a_fact("arrival date", "3 May"), "When do you arrive?", "On 9 May.",
         "tells 'On 9 May' for `arrival date`; the user holds '3 May'"),
        (a_fact("name", "Ruth Fielding"), "What is your name?", "I'm Anna Berger",
         "tells 'Anna Berger' for `name`; the user holds 'Ruth Fielding'"),
        (a_fact("seat", "window"), "Which seat would you like?", "The aisle, please.",
         "tells 'aisle' for `seat`; the user holds 'window'"),
        (a_fact("pets", "no"), "Do you have pets?", "Yes, you know, a dog",
         "tells 'Yes' for `pets`; the user holds 'no'"),
        (a_fact("insured", "yes"), "Are you insured?", "No, I'm not.",
         "tells 'No' for `insured`; the user holds 'yes'"),
        (a_fact("bags", "two bags"), "How many bags do you have?", "I have three bags.",
         "tells '3 bags' for `bags`; the user holds 'two bags'"),
    ],
    ids=["a number", "an address", "a date", "a name", "another option", "yes for no", "no for yes", "a count"],
)  # fmt: skip
def test_a_wrong_fact_says_what_was_told_and_what_is_held(fact: Fact, asked: str, text: str, reason: str) -> None:
    assert (WRONG, reason) in reasons(asked, text, fact)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("It's AB-12.", "states the code 'AB-12', which neither the scenario nor the agent gave"),
        ("I paid $45.", "states the amount '45', which neither the scenario nor the agent gave"),
        ("Write to x@y.example",
         "states the e-mail address 'x@y.example', which neither the scenario nor the agent gave"),
        ("I'm Ruth.", "states the name 'Ruth', which neither the scenario nor the agent gave"),
    ],
)  # fmt: skip
def test_an_invented_fact_says_its_kind(text: str, reason: str) -> None:
    assert reasons("I see.", text) == [(INVENTED, reason)]


def test_a_turn_has_one_slip_of_a_kind() -> None:
    slips = found("I see.", "I'm Ruth Fielding, I paid $45 on 3 April, see x@y.example, code AB-12.")
    assert [slip.kind for slip in slips] == [INVENTED]
    assert slips[0].turn == 2


@pytest.mark.parametrize(
    ("asked", "is_slip"),
    [
        ("What is it about?", True),
        ("What is your phone number?", False),
        ("How can I call you?", True),
        ("Could you give me your details?", False),
        ("Your mobile, please?", False),
    ],
)
def test_a_fact_is_given_away_unless_something_was_about_it(asked: str, is_slip: bool) -> None:
    slips = found(asked, "My phone number is 555 0199.", a_fact("phone number", "555 0199"))
    assert [slip.kind for slip in slips] == ([UNASKED] if is_slip else [])
    assert not any(slip.spoils for slip in slips)


def test_what_the_opening_gave_away_is_free() -> None:
    fact = a_fact("order number", "77120")
    assert found("I see.", "As I said: 77120.", fact, opening="My order 77120 is late") == []


def test_what_the_plan_has_the_user_know_may_be_said() -> None:
    assert reasons("I see.", "It was in Hall 14.", a_fact("hall", "Hall 14")) == [
        (UNASKED, "tells `hall` though nobody asked for it")
    ]


ORDER, CODE, NAME = a_fact("order number", "1", "purchase"), a_fact("game code", "x"), a_fact("name", "Ruth")


@pytest.mark.parametrize(
    ("fact", "text", "asked", "touched"),
    [
        (ORDER, "What is your order number?", True, True),
        (ORDER, "Which purchase is it?", True, True),
        (ORDER, "I have your order here.", False, True),
        (ORDER, "Thank you.", False, False),
        (ORDER, "What is your shoe size?", False, False),
        (ORDER, "Please tell me the number again.", True, True),
        (CODE, "Could you send me the code?", True, True),
        (CODE, "Could you send me the order code?", False, False),
        (NAME, "Who am I speaking to?", True, True),
        (NAME, "Anything else?", False, False),
        (ORDER, "", False, False),
    ],
)
def test_what_is_asked_for_is_touched_on_and_not_the_other_way_round(
    fact: Fact, text: str, asked: bool, touched: bool
) -> None:
    assert asks_for_fact(fact, text) is asked
    assert may_concern_fact(fact, text) is touched


def test_a_fact_is_asked_for_by_the_words_of_its_name_and_by_others() -> None:
    assert phrasings(ORDER) == (("order", "number"), ("purchase",))
    assert phrasings(a_fact("the", "x")) == (("the",),)
    assert phrasings(a_fact("", "x", "", "size")) == (("size",),)


def test_facts_are_told_in_the_order_of_the_scenario() -> None:
    facts = (ORDER, NAME)
    assert requested_facts(facts, "Your name and your order number, please?") == (ORDER, NAME)
    assert requested_facts((), "Your name?") == ()


def test_what_nobody_can_answer_is_beyond() -> None:
    text = "What is your name? What is your shoe size? Anything else?"
    assert unanswerable_requests((NAME,), text) == ("what is your shoe size?",)
    assert unanswerable_requests((), "Hello.") == ()


@pytest.mark.parametrize(
    ("text", "details", "yes_or_no"),
    [
        ("Could you verify your identity?", True, True),
        ("I need some more information.", True, False),
        ("Bitte nennen Sie mir Ihre Daten.", True, False),
        ("Here are the details.", False, False),
        ("Is it red or blue?", False, False),
        ("Do you agree (yes/no)?", False, True),
        ('"Is that right?"', False, True),
        ("Is it? Which one?", False, False),
        ("Which one? Is it the red one?", False, True),
        ("Really?", False, False),
        ("", False, False),
    ],
)
def test_requests_for_nothing_in_particular_and_for_a_yes(text: str, details: bool, yes_or_no: bool) -> None:
    assert wants_details(text) is details
    assert is_yes_or_no(text) is yes_or_no


Found = list[tuple[str, str]]


def odd(text: str, known: str = "", before: str = "") -> Found:
    return [(one.kind, one.text) for one in find_unknown_specifics(text, before, known)]


@pytest.mark.parametrize(
    ("text", "known", "expected"),
    [
        ("Write to a@b.example.", "email: a@b.example", []),
        ("Write to A@B.EXAMPLE", "email: a@b.example", []),
        ("Write to x@y.example", "email: a@b.example", [("e-mail address", "x@y.example")]),
        ("Both a@b.example and x@y.example", "a@b.example", [("e-mail address", "x@y.example")]),
        ("See www.shop.example.", "www.shop.example", []),
        ("See https://shop.example/x", "", [("link", "https://shop.example/x")]),
    ],
)
def test_addresses_and_links_must_have_been_given(text: str, known: str, expected: Found) -> None:
    assert odd(text, known) == expected


@pytest.mark.parametrize(
    ("text", "known", "expected"),
    [
        ("On 3 May", "it came on 3 May", []),
        ("On May 3rd", "it came on 3 May", []),
        ("On 3/5", "it came on 3 May", []),
        ("On 5/3", "it came on 3 May", []),
        ("On 4 May", "it came on 3 May", [("date", "On 4 May")]),
        ("Until 5 May", "from 3 May for 2 nights", []),
        ("Until 9 May", "from 3 May for 2 nights", [("date", "Until 9 May")]),
        ("On 3 June", "it came on 3 May", [("date", "On 3 June")]),
        ("You are open 24/7!", "", []),
        ("The stay was 10/10.", "", []),
        ("It came on 24/7.", "", [("date", "on 24/7")]),
        ("It came 24/7/2026.", "", [("date", "came 24/7/2026")]),
    ],
    ids=[
        "as given", "in other words", "in figures", "the other way round", "another day", "worked out",
        "not to be worked out", "another month", "round the clock", "full marks", "a date after all",
        "a date with its year",
    ],
)  # fmt: skip
def test_dates_must_have_been_given_or_be_worked_out(text: str, known: str, expected: Found) -> None:
    assert odd(text, known) == expected


@pytest.mark.parametrize(
    ("text", "known", "expected"),
    [
        ("It's AB-1", "", [("code", "AB-1")]),
        ("It's AB-1", "code: ab1", []),
        ("It's 12345", "", [("number", "12345")]),
        ("It's 77 120", "order: 77120", []),
        ("I paid 1'234.50 francs", "price: 1234.50", []),
        ("I paid 1'234.50 francs", "price: 1000", [("amount", "1'234.50")]),
        ("I paid $5", "", [("amount", "5")]),
        ("I paid 5 euros", "", [("amount", "5")]),
        ("Give me 5 minutes", "", []),
        ("I have 12 bags", "", []),
        ("I have 13 bags", "", [("number", "13")]),
        ("I have fifty bags", "", [("number", "50")]),
        ("I told you a hundred times", "", []),
        ("I am 100% sure", "", []),
        ("At 9:45", "at 9:30", []),
        ("At 10:15", "at 9:30", [("time", "10:15")]),
        ("At 10:15", "", [("time", "10:15")]),
        ("It is 16GB", "storage: 16 GB", []),
        ("It is 50GB", "storage: 16 GB", [("number", "50GB")]),
        ("I bid 300", "haggles about the price", []),
    ],
)
def test_numbers_and_codes_must_be_known_small_or_worked_out(text: str, known: str, expected: Found) -> None:
    assert odd(text, known) == expected


@pytest.mark.parametrize(
    ("text", "known", "expected"),
    [
        ("I bought it three weeks ago", "", [("number", "three weeks ago")]),
        ("I bought it three weeks ago", "bought 3 weeks ago", []),
        ("I bought it a week ago", "", []),
        ("I have had it for two years", "", [("number", "for two years")]),
        ("I waited for two hours", "", []),
    ],
)
def test_how_long_ago_must_be_known_though_the_number_is_small(text: str, known: str, expected: Found) -> None:
    assert odd(text, known) == expected


@pytest.mark.parametrize(
    ("before", "text", "known", "expected"),
    [
        ("How many guests?", "Six", "", [("number", "6")]),
        ("How many guests?", "Six", "six guests", []),
        ("How many guests?", "Just the one", "", []),
        ("How many guests?", "1", "", [("number", "1")]),
        ("How many guests?", "Three", "two adults and one child", []),
        ("Any wishes?", "Six cushions", "", []),
        ("Wie viele Gäste?", "Sechs", "", [("number", "6")]),
        ("When did you order it?", "Yesterday", "", [("time", "yesterday")]),
        ("When did you order it?", "Yesterday", "ordered yesterday", []),
        ("When would you like it?", "On Monday", "", []),
        ("How did you pay?", "By Visa", "", [("detail", "visa")]),
        ("How did you pay?", "By Visa", "card: Visa", []),
        ("How would you like to pay?", "By Visa", "", []),
        ("What colour is it?", "Green", "", [("detail", "green")]),
        ("Thank you.", "Green", "", []),
    ],
)
def test_what_is_asked_for_is_answered_with_what_is_known(before: str, text: str, known: str, expected: Found) -> None:
    assert odd(text, known, before) == expected


NUMBERS = st.text("0123456789.,:/-'A€ ", max_size=16)


@given(NUMBERS)
@settings(max_examples=50)
def test_what_stands_word_for_word_in_what_is_known_is_never_odd(text: str) -> None:
    assert odd(text, f"the user knows {text} and nothing else") == []


def named(text: str, before: str = "Hello!", persona: str = "a customer", opening: str = "I have a question.") -> Found:
    """The odd names of one turn."""
    said = ((Role.USER, opening), (Role.ASSISTANT, before), (Role.USER, text))
    scenario = Scenario(persona=persona, initial_message=opening)
    talk = SimulatedConversation(scenario, [Message(role=role, content=content) for role, content in said], None)
    turn = talk.turns[-1]
    known = "\n".join((talk.user_knowledge, turn.agent_text, *turn.earlier))
    return [(one.kind, one.text) for one in find_unknown_names(turn, known, talk)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My name is Ruth Fielding", "Ruth Fielding"),
        ("I'm Ruth", "Ruth"),
        ("This is Ruth speaking", "Ruth"),
        ("It's under Fielding", "Fielding"),
        ("Call me Ruth", "Ruth"),
        ("Ich heiße Ruth", "Ruth"),
        ("Je m'appelle Ruth", "Ruth"),
        ("Me llamo Ruth", "Ruth"),
        ("Mi chiamo Ruth", "Ruth"),
        ("Mijn naam is Ruth", "Ruth"),
        ("I ordered it in Berlin", "Berlin"),
    ],
)
def test_names_that_nobody_gave_are_odd(text: str, expected: str) -> None:
    assert ("name", expected) in named(text)


@pytest.mark.parametrize(
    "text",
    [
        "I'm on the phone with Google",
        "I need it by Monday",
        "Please speak English with me",
        "I am Sorry about that",
        "OK. Perfect. Thanks",
        "WHERE IS MY PARCEL",
        "No. This is wrong",
        "It is a TV and a USB stick",
        "",
    ],
)
def test_common_words_with_a_capital_are_no_names(text: str) -> None:
    assert named(text) == []


def test_a_name_is_free_when_persona_or_agent_gave_it() -> None:
    assert named("I'm Ruth", persona="Ruth, a customer") == []
    assert named("Thank you, Mr Novak", before="I am Mr Novak.") == []
    assert named("I'm Ruth's neighbour", persona="A friend of Ruth, a neighbour") == []


def test_german_nouns_are_no_names() -> None:
    opening = "Ich habe eine Frage zu der Rechnung, bitte."
    assert named("Ich finde den Vertrag und die Quittung nicht", opening=opening) == []


@pytest.mark.parametrize(
    ("before", "text", "expected"),
    [
        ("What is your name?", "ruth fielding", [("name", "ruth fielding")]),
        ("What is your name?", "I don't know", []),
        ("What is your name?", "why do you ask that?", []),
        ("What is your name?", "a customer", []),
        ("What is your name?", "it is none of your business at all", []),
        ("What is your name?", "77120", []),
        ("Hello!", "ruth fielding", []),
    ],
    ids=["small letters", "not told", "a question", "known", "too long for a name", "no name", "nobody asked"],
)
def test_a_short_answer_to_who_one_is_is_a_name(before: str, text: str, expected: Found) -> None:
    assert named(text, before) == expected


@pytest.mark.parametrize(
    ("text", "persona", "expected"),
    [
        ("My wife ordered it", "a customer", [("person", "my wife")]),
        ("My wife ordered it", "a married customer", []),
        ("My younger son broke it", "a customer", [("person", "my younger son")]),
        ("My son broke it", "a parent with a child", []),
        ("My wife ordered it", "chatty", []),
        ("meine tochter hat bestellt", "a customer", [("person", "meine tochter")]),
        ("I am a nurse", "a customer", [("profession", "i am a nurse")]),
        ("I am a nurse", "a nurse", []),
        ("As a busy lawyer I want this now", "a customer", [("profession", "as a busy lawyer")]),
        ("I am a gold member", "a customer", [("status", "gold member")]),
        ("I am a gold member", "has a gold card", []),
        ("I'm allergic to nuts", "a customer", [("allergy", "allergic to nuts")]),
        ("I'm allergic to nuts", "allergic to nuts", []),
    ],
)
def test_relatives_professions_and_the_like_must_be_known(text: str, persona: str, expected: Found) -> None:
    assert named(text, persona=persona) == expected


@pytest.mark.parametrize(
    ("before", "expected"),
    [("Do you take any medication?", [("medicine", "i take aspirin")]), ("Anything to drink?", [])],
)
def test_a_medicine_is_odd_where_somebody_asked_for_medicines(before: str, expected: Found) -> None:
    assert named("I take aspirin", before) == expected
