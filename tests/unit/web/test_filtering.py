"""Filters as an address says them."""

from __future__ import annotations

import pytest

from howsure.store.browsing import Chosen, Order
from howsure.web.filtering import Filter, filter_in, name_of


@pytest.mark.parametrize(
    ("query", "failed", "chosen"),
    [
        ({}, 3, Chosen(verdicts=("failed",))),
        ({}, 0, Chosen()),
        ({"verdict": "all"}, 3, Chosen()),
        ({"verdict": "errored"}, 3, Chosen(verdicts=("errored",))),
        ({"verdict": "nonsense", "order": "nonsense"}, 3, Chosen(verdicts=("failed",))),
        ({"tag": "hard"}, 3, Chosen(tag="hard")),
        ({"candidate": "-", "component": "-"}, 3, Chosen(candidate="", component="")),
        ({"flaky": "1", "order": "slowest"}, 3, Chosen(flaky=True, order=Order.SLOWEST)),
        (
            {"grader": "rubric", "part": "r1", "q": "x", "fault": "agent"},
            0,
            Chosen(grader="rubric", part="r1", text="x", fault="agent"),
        ),
    ],
    ids=[
        "failures first",
        "no failures",
        "all",
        "one verdict",
        "nonsense",
        "a facet shows all",
        "nameless",
        "flaky",
        "many",
    ],
)
def test_an_address_chooses_results(query: dict[str, str], failed: int, chosen: Chosen) -> None:
    assert filter_in(query).chosen(failed) == chosen


def test_what_an_address_said_can_be_said_again_with_a_change() -> None:
    chosen = filter_in({"verdict": "failed", "tag": "a & b", "ignored": "x"})
    assert chosen.query() == "verdict=failed&tag=a+%26+b"
    assert chosen.query(tag="") == "verdict=failed"
    assert Filter().query() == ""


def test_a_nameless_candidate_has_a_name_in_addresses() -> None:
    assert (name_of(""), name_of("gpt")) == ("-", "gpt")
