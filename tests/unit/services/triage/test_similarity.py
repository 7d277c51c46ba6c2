"""Reasons that say the same in other words."""

from __future__ import annotations

import random
import time

import pytest

from howsure.services.triage.similarity import alike, spokesman, words_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The agent is rude.", {"agent", "rude"}),
        ("Order 123 of 2026-04-18", {"order", "#"}),
        ("It's a don't", {"it's", "don't"}),
        ("ça va très bien", {"ça", "va", "très", "bien"}),
        ("A", {"a"}),
        ("", {""}),
    ],
)
def test_the_words_of_a_text_are_those_that_tell_something(text: str, expected: set[str]) -> None:
    assert words_of(text) == expected


def test_reasons_that_share_half_of_their_words_are_one_group() -> None:
    texts = [
        "The agent never asked for the order number.",
        "Gives the wrong price for the tent.",
        "The order number was never asked for by the agent.",
        "Gives a wrong price: 120 instead of 90.",
        "Says nothing about shipping.",
        "The agent never asked for an order number",
    ]
    assert alike(texts) == [[0, 2, 5], [1, 3], [4]]
    assert alike(["wrong price 120", "wrong price 90"]) == [[0, 1]]


def test_a_chain_of_small_steps_joins_nothing_that_is_unlike() -> None:
    assert alike(["aa bb cc", "bb cc dd", "cc dd ee", "dd ee ff"]) == [[0, 1], [2, 3]]


def test_nothing_has_no_groups_and_the_order_of_groups_is_fixed() -> None:
    assert alike([]) == []
    assert alike(["b1 x", "a y", "z z"]) == [[0], [1], [2]]


def test_the_most_frequent_text_speaks_for_a_group_and_the_shortest_of_these() -> None:
    assert spokesman(["long text", "short", "short", "long text", "other"]) == "short"


def test_thousands_of_reasons_take_seconds_and_give_the_same_groups_again() -> None:
    chance = random.Random(7)
    words = ["".join(chance.choices("abcdefghij", k=5)) for _ in range(2000)]
    kinds = [chance.sample(words, 10) for _ in range(100)]
    texts = [" ".join([*chance.sample(kind, 9), chance.choice(words)]) for kind in kinds for _ in range(50)]
    began = time.process_time()
    groups = alike(texts)
    assert time.process_time() - began < 10
    assert sum(map(len, groups)) == 5000
    assert [len(group) for group in groups] == [50] * 100
    assert alike(texts) == groups
