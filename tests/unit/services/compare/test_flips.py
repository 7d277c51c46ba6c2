"""Who is to blame for a case whose repeats disagree."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from howsure.model.comparison import FlakinessSource
from howsure.model.result import Result
from howsure.model.transcript import Transcript
from howsure.services.compare.flips import flakiness_source
from howsure.testing import a_transcript
from two_runs import tried


def tries(*said: tuple[str, bool | None]) -> list[Result]:
    return [tried("q1", passed, answer=answer, repeat=place) for place, (answer, passed) in enumerate(said, start=1)]


@pytest.mark.parametrize(
    ("results", "blame"),
    [
        (tries(("yes", True), ("no", False)), FlakinessSource.AGENT),
        (tries(("yes", True), ("yes", False)), FlakinessSource.JUDGE),
        (tries(("yes", True), ("yes", False), ("no", False)), FlakinessSource.JUDGE),
        (tries(("yes", True), ("no", False), ("so", True), ("so", False)), FlakinessSource.BOTH),
        (tries(("yes", True), ("no", False), ("so", None)), FlakinessSource.AGENT),
        ([replace(tried("q1", True), transcript=None), tried("q1", False)], FlakinessSource.UNKNOWN),
    ],
    ids=["other answers", "the same answer", "the same answer twice", "both", "what errored says nothing", "no words"],
)
def test_the_part_that_disagrees_is_named(results: list[Result], blame: FlakinessSource) -> None:
    assert flakiness_source(results) is blame


@pytest.mark.parametrize(
    ("other", "blame"),
    [
        (a_transcript("yes", duration_ms=9.0), FlakinessSource.JUDGE),
        (a_transcript("yes", calls=[("refund", {})]), FlakinessSource.AGENT),
        (a_transcript("yes", state={"done": True}), FlakinessSource.AGENT),
        (None, FlakinessSource.UNKNOWN),
    ],
    ids=["other times", "other calls", "another state", "no words"],
)
def test_times_do_not_make_a_conversation_another(other: Transcript | None, blame: FlakinessSource) -> None:
    first = replace(tried("q1", True), transcript=a_transcript("yes", duration_ms=3.0))
    assert flakiness_source([first, replace(tried("q1", False), transcript=other)]) is blame
