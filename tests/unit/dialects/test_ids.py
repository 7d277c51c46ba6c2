from __future__ import annotations

import random
import tracemalloc

import pytest

from howsure.dialects.ids import FEW, IdHashes, SeenIds
from howsure.dialects.problems import Spot

SIZES = [3, FEW - 1, FEW + 1, 3 * FEW + 7, 10 * FEW]
"""Few ids are kept as they are, many as marks; the table of marks grows several times."""


@pytest.mark.parametrize("count", SIZES)
def test_an_id_is_new_once(count: int) -> None:
    ids = SeenIds()
    assert all(ids.is_new(f"case-{number}", number) for number in range(1, count + 1))
    assert not any(ids.is_new(f"case-{number}", count + number) for number in range(1, count + 1))
    assert ids.is_new("another", count + 1)


@pytest.mark.parametrize("count", SIZES)
def test_asking_again_for_the_same_line_gives_the_same_answer(count: int) -> None:
    ids = SeenIds()
    for number in range(1, count + 1):
        ids.is_new(f"case-{number}", number)
    assert [ids.is_new(f"case-{number}", number) for number in (1, 2, count)] == [True, True, True]
    assert [ids.is_new(f"case-{number}", number) for number in (1, 2, count)] == [True, True, True]


@pytest.mark.parametrize("count", SIZES)
def test_a_repeated_id_is_told_with_the_line_it_was_met_on(count: int) -> None:
    ids = SeenIds("case_id")
    for number in range(1, count + 1):
        ids.is_new(f"case-{number}", 10 * number)
    assert not ids.is_new("case-2", 7)
    problem = ids.repeated("case-2", Spot("a.jsonl", 7))
    assert (problem.code, problem.line, problem.field) == ("duplicate-id", 7, "case_id")
    assert problem.message == 'the id "case-2" stands on line 20 already'
    assert ids.line_of(f"case-{count}") == 10 * count


@pytest.mark.parametrize("count", SIZES)
def test_many_are_asked_for_at_once(count: int) -> None:
    ids = SeenIds()
    names = [f"case-{number}" for number in range(1, count + 1)]
    assert all(ids.all_new(names[start : start + 100], start + 1) for start in range(0, count, 100))
    assert [ids.line_of(names[place]) for place in (0, 1, count - 1)] == [1, 2, count]
    assert not ids.all_new([names[-1]], count + 1)


@pytest.mark.parametrize("count", SIZES)
def test_where_one_of_many_was_met_none_is_remembered(count: int) -> None:
    ids = SeenIds()
    for number in range(1, count + 1):
        ids.is_new(f"case-{number}", number)
    fresh = [f"fresh-{number}" for number in range(500)]
    assert not ids.all_new([*fresh, "case-3"], count + 1)
    assert not ids.all_new(["twice", "twice"], count + 1)
    assert ids.all_new([*fresh, "twice"], count + 1)
    assert ids.line_of("fresh-499") == count + 500
    assert not any(ids.is_new(f"case-{number}", count + 1_000) for number in range(1, count + 1))


def test_what_is_taken_back_while_the_table_grows_is_gone() -> None:
    """One piece that makes the table of marks grow several times, and whose last id was met before."""
    marks = IdHashes()
    assert marks.add_all(["first", "second"], 1)
    many = [f"case-{number}" for number in range(200_000)]
    assert not marks.add_all([*many, "second"], 3)
    assert [marks.known(id) for id in ("first", "second", "case-0", "case-199999")] == [1, 2, 0, 0]
    assert marks.add_all(many, 3)
    assert [marks.known(id) for id in ("first", "second", "case-0", "case-199999")] == [1, 2, 3, 200_002]


def test_marks_answer_as_a_dictionary_would() -> None:
    """Drawn from few enough ids that half of them come again."""
    drawn, known, ids = random.Random(7), dict[str, int](), SeenIds()
    for line in range(1, 60_001):
        id = f"q{drawn.randrange(40_000)}"
        assert ids.is_new(id, line) == (known.setdefault(id, line) == line)
        assert ids.line_of(id) == known[id]


@pytest.mark.parametrize("id", ["", " ", "ä", "日本語", "\ud800", "x" * 100_000], ids=repr)
def test_any_text_can_be_an_id(id: str) -> None:
    marks = IdHashes()
    assert marks.add_all([id], 5)
    assert not marks.add_all([id], 6)
    assert (marks.known(id), marks.known(id + "!")) == (5, 0)


@pytest.mark.thorough
def test_two_hundred_thousand_ids_take_little_memory() -> None:
    """Kept as they are they would take 30 MB."""
    ids = SeenIds()
    tracemalloc.start()
    for number in range(1, 200_001):
        ids.is_new(f"study-plan-generator-{number:07}", number)
    now, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert now < 7_000_000
    assert most < 10_000_000
