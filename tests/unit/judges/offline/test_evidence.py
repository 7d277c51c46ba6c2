"""The search for a claim in a text."""

from __future__ import annotations

import pytest

from howsure.judges.offline.criteria import contains_all, find_claim

TEXT = (
    "The parcel left on 3 March 2026 and weighs 2 kg. It goes to the Harbour Street shop. "
    "You need not pay anything. Please bring an ID."
)


@pytest.mark.parametrize(
    ("claim", "share", "quote"),
    [
        (
            "the parcel goes to the shop",
            1.0,
            "The parcel left on 3 March 2026 and weighs 2 kg. It goes to the Harbour Street shop.",
        ),
        ("bring an ID", 1.0, "Please bring an ID."),
        ("the weather is fine", 0.0, ""),
    ],
)
def test_the_best_place_is_a_sentence_or_two(claim: str, share: float, quote: str) -> None:
    found = find_claim(claim, TEXT)
    assert (found.share, found.quote) == (share, quote)


@pytest.mark.parametrize(
    ("claim", "figures"),
    [
        ("weighs 2 kg", 1.0),
        ("weighs 2000 grams", 1.0),
        ("weighs 3 kg", 0.0),
        ("left in March 2026", 1.0),
        ("left on 4 March 2026", 0.0),
        ("2 kg and 9 cm", 0.5),
        ("one clear date", None),
        ("weighs something", None),
    ],
)
def test_figures_are_looked_for_as_figures(claim: str, figures: float | None) -> None:
    assert find_claim(claim, TEXT).figures == figures


@pytest.mark.parametrize(
    ("claim", "names"),
    [
        ("goes to Harbour Street", 1.0),
        ("goes to Mill Lane", 0.0),
        ("goes to Harbour Lane", 0.5),
        ("goes somewhere", None),
    ],
)
def test_names_are_looked_for_as_names(claim: str, names: float | None) -> None:
    assert find_claim(claim, TEXT).names == names


def test_a_place_that_denies_the_claim_is_opposed() -> None:
    assert find_claim("you need to pay", TEXT).opposed
    assert not find_claim("you need not pay", TEXT).opposed
    assert not find_claim("bring an ID", TEXT).opposed


def test_quotations_must_stand_there_word_for_word() -> None:
    assert contains_all(["bring an ID", "harbour street"], TEXT) == (True, "")
    assert contains_all(["bring an ID", "bring your passport"], TEXT) == (False, "bring your passport")
    assert contains_all([], TEXT) == (True, "")
