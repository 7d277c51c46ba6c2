"""Long references: what is covered, what is not, and where nothing is decided."""

from __future__ import annotations

import pytest

from howsure.judges.offline.opinions import NoOpinion, OfflineOpinion
from howsure.judges.offline.references import is_long, judge_coverage

QUESTION = "Who pays for sending the tent to our workshop?"
REFERENCE = (
    "The seller does. Repair for lack of conformity is free of charge for the consumer. "
    "That includes postage, labour and material under Article 14."
)


@pytest.mark.parametrize(
    ("text", "long"),
    [("Paris", False), ("the seller pays for postage", False), (REFERENCE, True), ("", False)],
)
def test_what_is_long(text: str, long: bool) -> None:
    assert is_long(text) is long


@pytest.mark.parametrize(
    ("answer", "low", "high"),
    [
        (REFERENCE, 1.0, 1.0),
        (REFERENCE.upper(), 1.0, 1.0),
        (REFERENCE.replace("Repair", "A repair").replace("includes", "included"), 0.9, 1.0),
        ("\n".join(reversed(REFERENCE.split(". "))), 0.9, 1.0),
        ("Bread is baked at two hundred degrees until its crust turns brown and it sounds hollow.", 0.0, 0.05),
        ("The tent must be sent to our workshop, and somebody pays for sending it.", 0.0, 0.25),
    ],
    ids=["itself", "shouted", "reworded a little", "in another order", "another subject", "the question again"],
)
def test_the_share_that_is_covered(answer: str, low: float, high: float) -> None:
    view = judge_coverage(QUESTION, REFERENCE, answer)
    assert isinstance(view, OfflineOpinion), view
    assert low <= view.value <= high


def test_half_of_it_decides_nothing() -> None:
    view = judge_coverage(QUESTION, REFERENCE, "Repair for lack of conformity is free of charge for the consumer.")
    assert isinstance(view, NoOpinion)


@pytest.mark.parametrize(("reference", "answer"), [("Yes. ", "No. "), ("No. ", "Yes, ")])
def test_yes_against_no_is_wrong_whatever_the_words(reference: str, answer: str) -> None:
    view = judge_coverage(QUESTION, reference + REFERENCE, answer + REFERENCE)
    assert isinstance(view, OfflineOpinion)
    assert view.value == 0


def test_a_reference_that_only_repeats_the_question_has_nothing_to_compare() -> None:
    assert isinstance(judge_coverage(QUESTION, "a b", "c d"), NoOpinion)


def test_german_texts_are_compared_too() -> None:
    reference = (
        "Stimmrechtsaktien weisen einen tieferen Nennwert auf. Die Stimmkraft ist gesetzlich auf das Zehnfache "
        "beschränkt, und die Statuten müssen sie ausdrücklich vorsehen."
    )
    same = judge_coverage("Was bedeutet das?", reference, reference.replace("ä", "a\u0308"))
    other = judge_coverage(
        "Was bedeutet das?", reference, "Der Mieter haftet für Schäden, die er schuldhaft verursacht hat."
    )
    assert isinstance(same, OfflineOpinion)
    assert isinstance(other, OfflineOpinion)
    assert (same.value, other.value) == (1.0, 0.0)
