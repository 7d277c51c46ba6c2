"""Plan steps as a person says them."""

from __future__ import annotations

import pytest

from howsure.model.case import Fact
from howsure.users.directions import spoken_step

FACTS = (Fact(name="order number", value="L-5512"), Fact(name="e_mail", value="a@b.example"))


@pytest.mark.parametrize(
    ("direction", "said"),
    [
        ("say that you want the money.", "I want the money."),
        ("Tell the agent you are not happy with your order.", "I am not happy with my order."),
        ("Mention that they charged you twice", "They charged me twice."),
        ("Say you don't know.", "I don't know."),
        ("Ask how long the refund takes.", "Can you tell me how long the refund takes?"),
        ("Ask the agent if they can call you back.", "Can you tell me if you can call me back?"),
        ("Ask whether the agent can help you.", "Can you tell me whether you can help me?"),
        ("Then ask about delivery times.", "Can you tell me about delivery times?"),
        ("Ask for the final bill by e-mail.", "I'd like the final bill by e-mail, please."),
        ("Ask the agent to cancel your order.", "Please cancel my order."),
        ("Demand to speak to a human.", "I'd like to speak to a human."),
        ("Cancel your order.", "I'd like to cancel my order."),
        ("Insist on a refund.", "I insist on a refund."),
        ("decline it.", "No, thank you."),
        ("Refuse the voucher", "No, thank you, I don't want the voucher."),
        ("accept the replacement", "Yes, I accept the replacement."),
        ("agree", "Yes, I agree."),
        ("Complain about the delay.", "I'm not happy about the delay."),
        ("Thank the agent and leave.", "Thank you. Goodbye."),
        (
            "Refuse the voucher and ask for a payment to the bank account.",
            "No, thank you, I don't want the voucher. I'd like a payment to the bank account, please.",
        ),
        ("Ask for a refund. Then say that you are sad.", "I'd like a refund, please. I am sad."),
        ("No. Say that you want it today.", "No. I want it today."),
        ("The user should ask for a discount.", "I'd like a discount, please."),
        ('Say "I want my money back".', "I want my money back"),
        ("Ask: what is my balance?", "What is my balance?"),
        ("Provide your order number.", "My order number is L-5512."),
        ("Give the agent the order number 4711.", "The order number 4711."),
    ],
)
def test_a_direction_becomes_what_a_person_would_say(direction: str, said: str) -> None:
    assert spoken_step(direction, FACTS) == said


@pytest.mark.parametrize(
    "text",
    [
        "No voucher, please.",
        "Then I want to speak to your manager.",
        "Tell me the price.",
        "How long does it take?",
        "And of Italy?",
        "Confirm the booking.",
        "Thank you.",
        "Do you ship to France?",
        "order:42",
        "Frag, wie lange es dauert.",
        "That is too much for us. Is there something cheaper?",
    ],
)
def test_what_is_no_direction_is_said_as_it_stands(text: str) -> None:
    assert spoken_step(text, FACTS) == text


@pytest.mark.parametrize(
    "direction",
    ["Be polite.", "Stay calm.", "Do not accept a voucher.", "Answer the agent's questions.", "Provide your birthday."],
)
def test_a_direction_about_the_manner_or_an_unknown_fact_has_nothing_to_say(direction: str) -> None:
    assert spoken_step(direction, FACTS) == ""
