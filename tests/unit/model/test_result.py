"""Results: ids that never change and never meet, and failures as data."""

from __future__ import annotations

from uuid import UUID, uuid5

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from howsure.errors import TargetFailed, TargetTimedOut
from howsure.model.result import FORMAT, Failure, result_id, score_id
from howsure.model.score import Part
from howsure.store.result_batches import result_key

RUN = UUID("12345678-1234-5678-1234-567812345678")
# Separators, digits and empty parts: what a joined name could be taken apart wrongly at.
PARTS = st.text(alphabet="a1\x1f\x1e\\,é", max_size=5)
ATTEMPTS = st.tuples(PARTS, PARTS, st.integers(1, 12))


@pytest.mark.parametrize(
    ("case", "candidate", "repeat", "expected"),
    [
        ("case-1", "", 1, "14f877f7-93a9-5fd3-8d8c-059db8d59f9c"),
        ("é", "gpt", 2, "253950b9-b44c-56e1-9502-6c56df3b7007"),
    ],
)
def test_the_id_of_a_result_never_changes(case: str, candidate: str, repeat: int, expected: str) -> None:
    assert result_id(RUN, case, candidate, repeat) == UUID(expected)


def test_the_id_of_a_score_never_changes() -> None:
    result = UUID("14f877f7-93a9-5fd3-8d8c-059db8d59f9c")
    assert score_id(result, "criteria", None) == UUID("37a3a3d5-4758-5e8d-a965-cea87191c829")
    assert score_id(result, "criteria", Part(id="c1", text="t")) == UUID("e3241fcf-b75f-5e3d-8e46-a0d8d4f218d6")


def test_the_text_of_a_part_does_not_shape_the_id_of_its_score() -> None:
    first, second = Part(id="c1", text="polite"), Part(id="c1", text="Polite!", weight=2)
    assert score_id(RUN, "criteria", first) == score_id(RUN, "criteria", second)


@given(ATTEMPTS, ATTEMPTS)
@example(("a\x1fb", "c", 1), ("a", "b\x1fc", 1))
@example(("a\x1f", "", 1), ("a", "\x1f", 1))
@example(("1", "1", 11), ("1", "11", 1))
@example(("1\x1fa\x1f", "", 1), ("a", "\x1f", 1))
def test_two_attempts_never_share_an_id(one: tuple[str, str, int], other: tuple[str, str, int]) -> None:
    assume(one != other)
    assert result_id(RUN, *one) != result_id(RUN, *other)


@given(st.uuids(), ATTEMPTS)
def test_the_store_makes_the_same_id(run: UUID, attempt: tuple[str, str, int]) -> None:
    assert result_key(run.bytes, *attempt) == str(result_id(run, *attempt))


@given(st.text(alphabet="a1é \n", max_size=6), st.text(alphabet="a1é \n", max_size=6), st.integers(1, 99))
def test_an_attempt_without_separators_keeps_the_id_that_stored_runs_have(case: str, who: str, repeat: int) -> None:
    assert result_id(RUN, case, who, repeat) == uuid5(RUN, "\x1f".join((case, who, str(repeat))))


def test_the_same_case_in_another_run_is_another_result() -> None:
    assert result_id(UUID(int=1), "a", "", 1) != result_id(UUID(int=2), "a", "", 1)


def test_scores_of_one_result_have_ids_of_their_own() -> None:
    parts = [None, *(Part(id=str(number), text="same") for number in range(20))]
    ids = {score_id(RUN, grader, part) for grader in ("criteria", "rubric") for part in parts}
    assert len(ids) == 42


class Unplugged(TargetFailed):
    """A kind of failure that only its target knows: whoever reads results knows those of errors.py."""


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (TargetTimedOut("no answer in 30 s"), "TargetTimedOut", "no answer in 30 s"),
        (ValueError(), "ValueError", ""),
        (KeyError("a"), "KeyError", "'a'"),
        (Unplugged("no power"), "TargetFailed", "no power"),
    ],
)
def test_a_failure_is_the_class_and_the_words_of_what_broke(error: Exception, kind: str, message: str) -> None:
    assert Failure.of(error) == Failure(kind=kind, message=message)


def test_stored_bodies_have_format_one() -> None:
    assert FORMAT == 1
