"""Words made comparable: folding, what carries meaning, families and namesakes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.users.words import akin, all_roots, content_words, fold_case, has_kin, meanings, means, roots, share

LATIN = st.text("abcABCzäöüÄéèñçßœ '’`-_.!?0123 \n", max_size=24)
ROOTS = st.text("abcd12", min_size=1, max_size=7)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("Hello THERE", "hello there"),
        ("I don’t", "i don't"),
        ("I don`t", "i don't"),
        ("l´été", "l'ete"),
        ("Möchten Sie, größer?", "mochten sie, grosser?"),
        ("ÇA VA", "ca va"),
        ("¿Dónde está?", "¿donde esta?"),
        ("naïve\u0301", "naive"),
        ("ＡＢＣ１２", "abc12"),
        ("İstanbul", "istanbul"),
        ("a\nb\tc", "a\nb\tc"),
    ],
)
def test_plain_text_has_no_case_and_no_accents(text: str, expected: str) -> None:
    assert fold_case(text) == expected


@given(LATIN)
def test_what_is_plain_stays_as_it_is(text: str) -> None:
    assert fold_case(fold_case(text)) == fold_case(text)
    assert fold_case(text.upper()) == fold_case(text.lower()) == fold_case(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I would like my order, please", ("order",)),
        ("order_number", ("order", "number")),
        ("the order number A 7", ("order", "number", "7")),
        ("Ich möchte meine Bestellung", ("mochte", "bestellung")),
        ("Hi there", ()),
        ("x y z", ()),
        ("", ()),
    ],
)
def test_the_words_that_carry_meaning(text: str, expected: tuple[str, ...]) -> None:
    assert content_words(text) == expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("arriv", "arriv", True),
        ("arriva", "arriv", True),
        ("arriv", "arriva", True),
        ("car", "card", False),
        ("1234", "12345", False),
        ("1234", "1234", True),
        ("", "", True),
        ("orde", "order", True),
        ("order", "ordeal", False),
    ],
    ids=[
        "equal", "longer", "shorter", "too short to be a family", "numbers are no family", "equal numbers", "nothing",
        "four letters are enough", "another ending",
    ],
)  # fmt: skip
def test_families_of_words(one: str, other: str, expected: bool) -> None:
    assert akin(one, other) is expected


@given(ROOTS, ROOTS)
def test_being_akin_goes_both_ways(one: str, other: str) -> None:
    assert akin(one, other) is akin(other, one)
    assert akin(one, one)
    assert has_kin(one, frozenset({other})) is akin(one, other)


@given(st.frozensets(ROOTS, max_size=4), st.frozensets(ROOTS, max_size=4), st.frozensets(ROOTS, max_size=4))
def test_a_share_lies_between_none_and_all_and_grows_with_what_is_there(
    wanted: frozenset[str], there: frozenset[str], more: frozenset[str]
) -> None:
    assert 0 <= share(wanted, there) <= share(wanted, there | more) <= 1
    assert share(wanted, wanted) == 1.0
    assert share(frozenset(), there) == 1.0
    assert share(wanted, frozenset()) == (0.0 if wanted else 1.0)


@given(st.lists(LATIN, max_size=4))
def test_a_text_means_what_its_lines_mean(lines: list[str]) -> None:
    text = "\n".join(lines)
    for gather in (roots, all_roots, meanings):
        assert gather(text) == frozenset().union(*map(gather, text.split("\n")))


@given(LATIN)
def test_the_telling_roots_are_among_all_of_them(text: str) -> None:
    assert roots(text) <= all_roots(text) <= meanings(text)


@pytest.mark.parametrize(
    ("word", "text", "expected"),
    [
        ("number", "Could you tell me the ID?", True),
        ("number", "What is the reference?", True),
        ("birth", "When were you born?", True),
        ("address", "Where do you live?", True),
        ("phone", "Your mobile, please", True),
        ("zip", "the postcode?", True),
        ("arrival", "When do you arrive?", True),
        ("date", "When is that?", True),
        ("reason", "Why do you want that?", True),
        ("name", "Who am I speaking to?", True),
        ("email", "Your mail?", True),
        ("phone", "Your e-mail, please", False),
        ("colour", "What is the price?", False),
        ("birth", "What is your name?", False),
        ("number", "", False),
    ],
)
def test_words_that_mean_the_same_when_an_agent_asks(word: str, text: str, expected: bool) -> None:
    assert means(word, meanings(text)) is expected
