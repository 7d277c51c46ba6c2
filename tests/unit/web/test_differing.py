"""Two conversations side by side, with what differs marked."""

from __future__ import annotations

from howsure.web.differing import Spoken, Stretch, side_by_side, words_apart

ASK = Spoken("user", "Refund me.")


def test_what_is_the_same_is_not_marked() -> None:
    (only,) = side_by_side([ASK], [ASK])
    assert not only.differs


def test_words_that_the_other_does_not_have_are_marked() -> None:
    assert words_apart("it costs 9 dollars", "it costs 18 dollars") == (
        (Stretch("it costs "), Stretch("9", True), Stretch(" dollars")),
        (Stretch("it costs "), Stretch("18", True), Stretch(" dollars")),
    )


def test_a_turn_that_only_one_side_has_stands_alone() -> None:
    first, second = side_by_side([ASK], [ASK, Spoken("assistant", "Done.")])
    assert not first.differs
    assert second.first is None
    assert second.second is not None
    assert second.second.words == (Stretch("Done.", True),)


def test_a_call_that_only_one_side_made_is_marked_and_the_shared_one_is_not() -> None:
    (only,) = side_by_side([Spoken("assistant", "", ("look(1)",))], [Spoken("assistant", "", ("look(1)", "refund(1)"))])
    assert only.first is not None
    assert only.second is not None
    assert only.first.calls == (Stretch("look(1)"),)
    assert only.second.calls == (Stretch("look(1)"), Stretch("refund(1)", True))


def test_turns_of_other_roles_do_not_stand_beside_each_other() -> None:
    found = side_by_side([Spoken("user", "a")], [Spoken("assistant", "b")])
    assert [(each.first is None, each.second is None) for each in found] == [(False, True), (True, False)]


def test_very_long_texts_are_marked_whole() -> None:
    long = "word " * 2000
    assert words_apart(long, long + "x") == ((Stretch(long, True),), (Stretch(long + "x", True),))


def test_spaces_alone_make_no_other_turn() -> None:
    (only,) = side_by_side([Spoken("user", "a  b")], [Spoken("user", "a b")])
    assert only.first is not None
    assert next(stretch.text for stretch in only.first.words) == "a"
