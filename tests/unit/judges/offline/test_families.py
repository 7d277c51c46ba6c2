"""Words of one family, and words that only begin alike."""

from __future__ import annotations

import pytest

from howsure.judges.offline.word_forms import same_family


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("environment", "environmental"),
        ("legislature", "legislative"),
        ("pollute", "pollution"),
        ("explode", "explosion"),
        ("colony", "colonial"),
        ("economy", "economic"),
        ("agriculture", "agricultural"),
        ("bake", "baking"),
        ("carry", "carried"),
        ("tax", "taxes"),
        ("swim", "swimming"),
        ("farming", "farmers"),
        ("detoxification", "detoxifies"),
        ("mitochondria", "mitochondrion"),
        ("fungus", "fungi"),
        ("wood", "wooden"),
        ("democracy", "democratic"),
        ("removal", "removing"),
        ("go", "went"),
        ("die", "death"),
        ("destroyed", "destruction"),
        ("islam", "muslims"),
        ("1984", "1984"),
    ],
)
def test_forms_of_one_word_are_kin(one: str, other: str) -> None:
    assert same_family(one, other)
    assert same_family(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("internal", "international"),
        ("community", "communism"),
        ("general", "generation"),
        ("state", "station"),
        ("count", "county"),
        ("part", "party"),
        ("moth", "mother"),
        ("corn", "corner"),
        ("germ", "german"),
        ("plan", "plane"),
        ("main", "maine"),
        ("port", "portal"),
        ("car", "care"),
        ("paris", "parisian"),
        ("alexander", "alexandria"),
        ("hyper", "hypertension"),
        ("increase", "decrease"),
        ("1984", "1985"),
        ("⌗3aef0b0cb2e3", "⌗3aef0b0cb2e3s"),
    ],
)
def test_words_that_only_begin_alike_are_not(one: str, other: str) -> None:
    assert not same_family(one, other)
    assert not same_family(other, one)
