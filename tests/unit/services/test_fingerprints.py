"""Fingerprints: equal things have equal ones, whatever their order; unlike things do not."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.model.verdict import Profile
from howsure.services.files import fingerprint


def test_the_order_of_keys_does_not_count_and_that_of_lists_does() -> None:
    assert fingerprint({"a": 1, "b": {"c": 2, "d": 3}}) == fingerprint({"b": {"d": 3, "c": 2}, "a": 1})
    assert fingerprint([1, 2]) != fingerprint([2, 1])


def test_a_fingerprint_is_the_same_in_every_process() -> None:
    known = "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"
    assert fingerprint([]) == known


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, "1"),
        (None, ""),
        ({}, []),
        (Profile(name="a", marks={"choice": 1.0}), Profile(name="a", marks={"choice": 0.5})),
        (Profile(name="a"), Profile(name="b")),
        ("é", "e"),
    ],
)
def test_unlike_things_have_unlike_fingerprints(one: Any, other: Any) -> None:
    assert fingerprint(one) != fingerprint(other)
    assert fingerprint(one) == fingerprint(one)
