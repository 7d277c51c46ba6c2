"""The words of triage, and that a triage can be stored and read back."""

from __future__ import annotations

import msgspec
import pytest

from howsure.model.simulation import Fault, Party
from howsure.model.triage import Cause, Triage, result_label
from unit.services.triage.triage_results import a_triage, criterion, result, rule, unreadable


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (("q1", "", 1), "q1"),
        (("q1", "m1", 1), "q1 [m1]"),
        (("q1", "", 2), "q1 #2"),
        (("q1", "m1", 3), "q1 [m1] #3"),
    ],
)
def test_a_result_is_named_by_its_case_who_answered_and_which_repeat(
    parts: tuple[str, str, int], expected: str
) -> None:
    assert result_label(*parts) == expected


def test_a_triage_is_read_back_as_it_was_written() -> None:
    found = a_triage(
        result(criterion("Is polite", False, "Calls names."), rule("PRIVACY", True), id="a", candidate="m1", repeat=2),
        result(unreadable("criteria"), id="b"),
    )
    assert msgspec.json.decode(msgspec.json.encode(found), type=Triage) == found


def test_the_words_of_causes_are_stable_and_unlike() -> None:
    assert len({cause.value for cause in Cause}) == len(Cause) == 34
    assert all(cause.value == cause.name.lower() for cause in Cause)


def test_a_fault_that_an_older_howsure_stored_is_still_read() -> None:
    for word in ("agent", "simulator", "environment", "evaluation", "judge"):
        fault = msgspec.json.decode(f'{{"party": "{word}", "reason": "x"}}', type=Fault)
        assert fault.party is Party(word)
