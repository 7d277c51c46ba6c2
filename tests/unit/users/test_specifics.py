"""What a turn states that nobody gave the user: addresses, links, dates, codes, numbers; and names and people."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howsure.model.case import Scenario
from howsure.model.transcript import Message, Role
from howsure.users.checks.conversations import SimulatedConversation
from howsure.users.checks.specifics import find_unknown_names, find_unknown_specifics

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
