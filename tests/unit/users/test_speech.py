"""What a message does: ask, refuse, tell that something is done, thank, take leave."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.users.speech import (
    alike,
    is_closing,
    is_done,
    is_question,
    lacks,
    offers,
    offers_more,
    refuses,
    requests,
    sentences,
    takes_leave,
    thanks,
    waits,
    waits_for,
)

WORDS = st.lists(st.sampled_from(["alpha", "beta", "gamma", "delta", "yes", "no"]), max_size=8).map(" ".join)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("  \n ", ()),
        ("One. Two! Three?", ("One.", "Two!", "Three?")),
        ("One\nTwo\n\n  Three  ", ("One", "Two", "Three")),
        ("It costs 1.50 euros.", ("It costs 1.50 euros.",)),
        ('He said "Stop." And left.', ('He said "Stop.', "And left.")),
        ("好的。请问？", ("好的。", "请问？")),
        ("Wait… what", ("Wait…", "what")),
        ("- one\n- two", ("- one", "- two")),
    ],
    ids=["empty", "blank", "marks", "lines", "a point in a number", "quoted", "Chinese", "dots", "a list"],
)
def test_sentences_and_lines(text: str, expected: tuple[str, ...]) -> None:
    assert sentences(text) == expected


@given(st.text("ab .!?\n-", max_size=30))
def test_nothing_but_spaces_and_closing_marks_is_lost_between_sentences(text: str) -> None:
    assert "".join(sentences(text)).replace(" ", "") == "".join(text.split())
    assert all(one == one.strip() and one for one in sentences(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What is your name?", ("what is your name?",)),
        ("Please provide your order number.", ("please provide your order number.",)),
        ("I need:\n- your name\n- your email\nCan you send them?", ("- your name", "- your email",
                                                                     "can you send them?")),
        ("Here is a list:\n- one\n- two", ()),
        ("Done. Is there anything else I can do?", ()),
        ("Let me know if you need more help.", ()),
        ("How can I help you today?", ()),
        ("Bitte nennen Sie mir Ihre Kundennummer.", ("bitte nennen sie mir ihre kundennummer.",)),
        ("Veuillez indiquer votre adresse.", ("veuillez indiquer votre adresse.",)),
        ("Por favor, indique su número.", ("por favor, indique su numero.",)),
        ("Potrebbe dirmi il numero?", ("potrebbe dirmi il numero?",)),
        ("Kunt u uw naam geven", ("kunt u uw naam geven",)),
        ("您的订单号是多少？", ("您的订单号是多少?",)),
        ("Your order is on its way.", ()),
        ("", ()),
    ],
)  # fmt: skip
def test_requests_are_told_from_statements_and_offers(text: str, expected: tuple[str, ...]) -> None:
    assert requests(text) == expected


@pytest.mark.parametrize(
    ("text", "waiting"),
    [
        ("What is your name?", True),
        ("Please provide your name.", True),
        ('Please choose "Expenses" in the menu.', False),
        ("Please select the second tab.", False),
        ("I need your order number.", True),
        ("May I have your name", True),
        ("Anything else?", False),
        ("Thank you.", False),
    ],
)
def test_what_the_agent_tells_the_user_to_do_elsewhere_waits_for_no_answer(text: str, waiting: bool) -> None:
    assert bool(waits_for(text)) is waiting


@pytest.mark.parametrize(
    ("ask", "text", "expected"),
    [
        (refuses, "I'm afraid I can't do that.", True),
        (refuses, "Unfortunately, no.", True),
        (refuses, "Das ist leider nicht möglich.", True),
        (refuses, "Das kann ich leider nicht tun", True),
        (refuses, "Je ne peux pas vous aider", True),
        (refuses, "No puedo hacerlo", True),
        (refuses, "Non posso farlo", True),
        (refuses, "Não posso ajudar", True),
        (refuses, "Helaas kan dat niet", True),
        (refuses, "Your payment was rejected.", True),
        (refuses, "Of course, right away.", False),
        (refuses, "The canteen is open.", False),
        (refuses, "", False),
        (waits, "One moment, please.", True),
        (waits, "Let me check that for you.", True),
        (waits, "Einen Moment bitte", True),
        (waits, "Un instant, je vérifie.", True),
        (waits, "I checked that.", False),
        (offers, "I can offer you a voucher.", True),
        (offers, "Would you like a replacement?", True),
        (offers, "Möchten Sie einen Gutschein?", True),
        (offers, "Souhaitez-vous un avoir ?", True),
        (offers, "The shop opens at nine.", False),
        (offers_more, "Anything else?", True),
        (offers_more, "Kann ich sonst noch etwas tun?", True),
        (offers_more, "Autre chose ?", True),
        (offers_more, "¿Algo más?", True),
        (offers_more, "What is it about?", False),
        (thanks, "Thanks a lot", True),
        (thanks, "Vielen Dank!", True),
        (thanks, "tysm", True),
        (thanks, "obrigada", True),
        (thanks, "I am tankful", False),
        (lacks, "I don't know.", True),
        (lacks, "I can't find it", True),
        (lacks, "I'd rather not say", True),
        (lacks, "Das weiß ich leider nicht", True),
        (lacks, "Je ne sais pas", True),
        (lacks, "No lo sé", True),
        (lacks, "Geen idee", True),
        (lacks, "It is A-17", False),
        (is_question, "Really?", True),
        (is_question, "真的？", True),
        (is_question, "حقا؟", True),
        (is_question, "Really.", False),
    ],
)
def test_what_a_text_does(ask: Callable[[str], bool], text: str, expected: bool) -> None:
    assert ask(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Your refund has been issued.", True),
        ("I have cancelled the order.", True),
        ("I've gone ahead and booked it.", True),
        ("It's done.", True),
        ("You will receive a confirmation shortly.", True),
        ("Ihre Bestellung wurde storniert.", True),
        ("Votre commande a été annulée.", True),
        ("Su reserva ha sido confirmada.", True),
        ("La prenotazione è stata annullata.", True),
        ("O pedido foi cancelado.", True),
        ("Your refund has not been issued.", False),
        ("It was shipped, so I cannot cancel it.", False),
        ("Has it been issued?", False),
        ("Unfortunately the order has been cancelled by the shop.", False),
        ("I will cancel it once you confirm.", False),
        ("I cannot cancel it. The refund has been issued.", True),
        ("", False),
    ],
)
def test_something_is_done_when_a_sentence_says_so_and_nothing_in_it_denies_it(text: str, expected: bool) -> None:
    assert is_done(text) is expected


@pytest.mark.parametrize(
    ("text", "leaves", "closes"),
    [
        ("Bye!", True, True),
        ("Thanks, bye", True, True),
        ("Thank you so much, have a nice day!", True, True),
        ("Thanks", False, True),
        ("That's all, thanks.", True, True),
        ("Tschüss und vielen Dank", True, True),
        ("Merci, au revoir", True, True),
        ("Gracias, adiós", True, True),
        ("Thanks, but where is my refund", False, False),
        ("Is that all?", False, False),
        ("That's all you can do", False, False),
        ("So that's all you could offer me.", False, False),
        ("That's all you have", False, False),
        ("That will be all", True, True),
        ("See you later!", True, True),
        ("Thanks, see you.", True, True),
        ("I see you charged me twice.", False, False),
        ("Take care!", True, True),
        ("Please take care of my refund.", False, False),
        ("My order is late.", False, False),
        ("", False, False),
    ],
)
def test_taking_leave_and_nothing_else(text: str, leaves: bool, closes: bool) -> None:
    assert takes_leave(text) is leaves
    assert is_closing(text) is closes


@pytest.mark.parametrize(
    ("one", "other", "least", "expected"),
    [
        ("Please enter your number.", "please enter your number!", 0.9, True),
        ("", "", 0.9, True),
        ("", "word", 0.9, False),
        ("red blue green grey", "red blue green pink", 0.9, False),
        ("red blue green grey", "red blue green pink", 0.6, True),
        ("one two three", "one two three four five", 0.1, False),
        ("red blue", "blue red", 0.9, True),
    ],
    ids=["case and marks", "nothing", "nothing and something", "a word", "lenient", "far longer", "order"],
)
def test_texts_that_are_near_enough_the_same(one: str, other: str, least: float, expected: bool) -> None:
    assert alike(one, other, least) is expected


@given(WORDS, WORDS)
def test_being_alike_goes_both_ways(one: str, other: str) -> None:
    assert alike(one, other) is alike(other, one)
    assert alike(one, one)


@given(st.text(max_size=60))
def test_no_text_breaks_what_is_asked_of_it(text: str) -> None:
    asked: tuple[Callable[[str], bool], ...] = (
        is_closing, is_done, is_question, lacks, offers, offers_more, refuses, takes_leave, thanks, waits,
    )  # fmt: skip
    for ask in asked:
        assert ask(text) in (True, False)
    assert set(waits_for(text)) <= set(requests(text))
    assert not (is_closing(text) and is_question(text))
