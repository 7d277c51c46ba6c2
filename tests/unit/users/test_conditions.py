"""Conditions of plan steps, and which facts an agent asks for."""

from __future__ import annotations

import pytest

from howsure.model.case import Fact
from howsure.model.transcript import Message, Role, ToolCall
from howsure.users.conditions import ConditionStatus, check_condition, check_condition_ever
from howsure.users.speech import asks_for_fact, is_yes_or_no, requested_facts, unanswerable_requests, wants_details
from howsure.users.stops import Exchange
from howsure.users.words import language_of

YES, MAYBE, NO = ConditionStatus.YES, ConditionStatus.MAYBE, ConditionStatus.NO


def reply(text: str, *calls: str) -> Exchange:
    called = tuple(ToolCall(name=name) for name in calls)
    return Exchange.of(
        "…", (Message(role=Role.ASSISTANT, content=text), Message(role=Role.ASSISTANT, tool_calls=called))
    )


@pytest.mark.parametrize(
    ("when", "said", "expected"),
    [
        ("", "Anything.", YES),
        ("the agent offers a voucher", "I can offer you a voucher over 20 euros.", YES),
        ("the agent offers a voucher", "What is your order number?", NO),
        ("the agent offers a voucher", "Your refund has been issued.", NO),
        ("the agent offers a voucher", "Vouchers cannot be combined.", MAYBE),
        ("the agent asks for the receipt", "Do you still have the receipt?", YES),
        ("the agent asks for the receipt", "Please send me a photo.", NO),
        ("the agent refuses", "Unfortunately that is not possible.", YES),
        ("the agent refuses the refund", "I'm sorry, I cannot refund this order.", YES),
        ("the agent refuses", "Your refund has been issued.", NO),
        ("the agent cannot help", "I'm afraid I can't do that.", YES),
        ("the agent confirms the booking", "Your booking is confirmed.", YES),
        ("the agent confirms the booking", "Which day do you prefer?", NO),
        ("the agent says that a pause costs money", "Please note that a pause costs 5 euros.", YES),
        ("the price is above 600 euros", "The flat costs 740 euros.", YES),
        ("the price is above 600 euros", "The flat costs 560 euros.", NO),
        ("the fee is more than 1,000 dollars", "The fee is $1,200.50.", YES),
        ("the fee is less than 10 dollars", "The fee is $12.", NO),
        ("the agent does not offer a refund", "I can offer you a refund.", NO),
        ("the agent does not offer a refund", "What is your name?", YES),
        ("the agent apologises", "I'm so sorry about that.", YES),
        ("the agent transfers you", "I'm connecting you with a human colleague.", YES),
        ("der Agent bietet einen Gutschein an", "Ich kann Ihnen einen Gutschein anbieten.", YES),
        ("der Agent fragt nach der Adresse", "Wie lautet Ihre Adresse?", YES),
        ("the agent does something", "Hello.", MAYBE),
    ],
)
def test_a_condition_is_read_against_what_the_agent_said(when: str, said: str, expected: ConditionStatus) -> None:
    assert check_condition(when, reply(said)) is expected


@pytest.mark.parametrize(
    ("when", "calls", "expected"),
    [
        ("the agent calls issue_refund", ("issue_refund",), YES),
        ("the agent calls issue_refund", ("lookup_order",), NO),
        ("the agent called the tool `pay`", ("pay",), YES),
        ("the agent uses search_kb", (), NO),
        ("once the agent calls issue_refund.", ("issue_refund",), YES),
        ("the agent calls the function 'issue_refund'", ("issue_refund",), YES),
        ("the agent does not call issue_refund", (), YES),
        ("the agent does not call issue_refund", ("issue_refund",), NO),
        ("the agent never calls issue_refund", (), YES),
        ("the agent calls issue_refund without asking", ("issue_refund",), YES),
        ("the customer does not wait, and the agent calls issue_refund", ("issue_refund",), YES),
        ("the agent calls lookup", ("lookup",), YES),
    ],
)
def test_a_condition_may_name_a_tool(when: str, calls: tuple[str, ...], expected: ConditionStatus) -> None:
    assert check_condition(when, reply("Here you are.", *calls)) is expected


@pytest.mark.parametrize(
    ("when", "said", "expected"),
    [
        ("the price is at least 600 euros", "It costs 600 euros.", YES),
        ("the price is at least 600 euros", "It costs 599 euros.", NO),
        ("the price is at most 600 euros", "It costs 600 euros.", YES),
        ("the price is at most 600 euros", "It costs 601 euros.", NO),
        ("the price is above 600 euros", "It costs 600 euros.", NO),
        ("the price is below 600 euros", "It costs 600 euros.", NO),
        ("the price is not above 600 euros", "It costs 560 euros.", YES),
        ("the price is not above 600 euros", "It costs 600 euros.", YES),
        ("the price is not above 600 euros", "It costs 740 euros.", NO),
        ("the price is not above 600 euros", "What is your name?", MAYBE),
        ("the price is no more than 600 euros", "It costs 600 euros.", YES),
        ("the agent does not help, and the price is above 600 euros", "It costs 740 euros.", YES),
        ("the fee exceeds 1.000 euros", "The fee is 1.200 euros.", YES),
        ("the fee exceeds 1.000 euros", "The fee is 1,2 euros.", NO),
        ("the delay is more than 3 hours", "The delay is 5 hours.", YES),
        ("the delay is more than 3 hours", "You are number 5 in the queue.", MAYBE),
        ("the delay is more than 3 hours", "Good morning.", NO),
        ("der Preis ist über 600 Euro", "Der Preis ist 740 Euro.", YES),
        ("le prix est plus de 600 euros", "Le prix est de 560 euros.", NO),
        ("the agent says that the refund covers 50 euros", "The refund covers 50 euros.", YES),
        ("the agent understands that 2 bags are lost", "I understand that 2 bags are lost.", YES),
        ("the agent says it takes more than a week", "It takes more than a week.", YES),
    ],
)
def test_a_condition_may_compare_figures(when: str, said: str, expected: ConditionStatus) -> None:
    assert check_condition(when, reply(said)) is expected


@pytest.mark.parametrize("when", ["the agent offers a voucher", "the agent asks for the receipt", "the agent refuses"])
@pytest.mark.parametrize(
    "said",
    ["I can offer you a voucher.", "Do you have the receipt?", "I cannot do that.", "Hello.", "It has been sent.", ""],
)
def test_a_denied_condition_holds_where_the_other_does_not(when: str, said: str) -> None:
    turned = {YES: NO, NO: YES, MAYBE: MAYBE}
    denied = when.replace("offers", "does not offer").replace("asks", "does not ask")
    expected = check_condition(when, reply(said))
    assert check_condition(denied, reply(said)) is (expected if denied == when else turned[expected])


def test_a_condition_is_read_in_any_case_and_with_any_apostrophe() -> None:
    said = reply("I can offer you a voucher.")
    assert check_condition("THE AGENT OFFERS A VOUCHER", said) is YES
    assert check_condition("the agent doesn’t offer a voucher", said) is NO
    assert check_condition("   ", said) is YES


def test_over_several_replies_the_best_answer_counts() -> None:
    talk = [reply("Hello!"), reply("I can offer you a voucher."), reply("Goodbye.")]
    assert check_condition_ever("the agent offers a voucher", talk) is YES
    assert check_condition_ever("the agent offers a discount", talk[:1]) is NO
    assert (
        check_condition_ever("the agent offers a voucher", [reply("Vouchers cannot be combined."), reply("Bye.")])
        is MAYBE
    )
    assert check_condition_ever("the agent offers a voucher", []) is NO


ORDER = Fact(name="order_number", value="1", asked_by=("purchase",))
BIRTH = Fact(name="date of birth", value="2 May 1980")
FACTS = (
    ORDER,
    BIRTH,
    Fact(name="email", value="a@b.example"),
    Fact(name="arrival date", value="3 May"),
    Fact(name="last four digits of the card", value="1234"),
    Fact(name="game code", value="X1"),
)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("What is your order number?", ["order_number"]),
        ("Could you tell me your order ID?", ["order_number"]),
        ("Which order is it about?", ["order_number"]),
        ("Which purchase do you mean?", ["order_number"]),
        ("When were you born?", ["date of birth"]),
        ("Please provide your e-mail and your date of birth.", ["date of birth", "email"]),
        ("I need:\n- your order number\n- your email\nCan you send me these?", ["order_number", "email"]),
        ("When do you arrive?", ["arrival date"]),
        ("What are the last four digits of your card?", ["last four digits of the card"]),
        ("Could you send me the code?", ["game code"]),
        ("Your order number is 17.", []),
        ("I have received your order. Anything else I can do?", []),
        ("What is your favourite colour?", []),
        ("", []),
    ],
)
def test_facts_are_asked_for_by_name_or_by_other_words(said: str, expected: list[str]) -> None:
    assert [fact.name for fact in requested_facts(FACTS, said)] == expected


def test_what_no_fact_answers_is_told_apart() -> None:
    said = "What is your order number? And what is your shoe size?"
    assert unanswerable_requests([ORDER], said) == ("and what is your shoe size?",)
    assert not asks_for_fact(BIRTH, said)


@pytest.mark.parametrize(
    ("said", "details", "plain_yes"),
    [
        ("Could you give me some details?", True, False),
        ("Shall I go ahead?", False, False),
        ("Is that correct?", False, True),
        ("Would you like me to book it?", False, True),
        ("Do you prefer red or blue?", False, False),
        ("What is your name?", False, False),
    ],
)
def test_questions_of_other_kinds(said: str, details: bool, plain_yes: bool) -> None:
    assert wants_details(said) is details
    assert is_yes_or_no(said) is (plain_yes or said.startswith(("Shall", "Could")))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I would like to know where my order is", "en"),
        ("Ich möchte wissen, wo meine Bestellung ist", "de"),
        ("Je voudrais savoir où est ma commande, s'il vous plaît", "fr"),
        ("Quiero saber dónde está mi pedido, por favor", "es"),
        ("Vorrei sapere quando arriva il mio ordine, grazie", "it"),
        ("Ik wil graag weten wanneer mijn bestelling komt", "nl"),
        ("Где мой заказ?", "ru"),
        ("我的订单在哪里", "zh"),
        ("ORD-1234", None),
        ("ok", None),
        ("", None),
    ],
)
def test_the_language_is_told_where_it_is_plain(text: str, expected: str | None) -> None:
    assert language_of(text) == expected
