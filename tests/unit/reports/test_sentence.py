"""The answer of a run as one sentence."""

from __future__ import annotations

import pytest

from howsure.model.run import Counts
from howsure.model.summary import Summary
from howsure.reports.run_facts import run_sentence
from unit.reports.northwind import a_run


def summary(counts: Counts, candidates: dict[str, Counts] | None = None) -> Summary:
    return Summary(run=a_run(counts), candidates=candidates or {"": counts}, graders=())


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        (Counts(), "There were no cases to try."),
        (Counts(total=12, passed=8, failed=4), "8 of 12 passed (66.7 %, likely 39–86 %)."),
        (
            Counts(total=12, passed=12),
            "All 12 passed; with no more than that, up to about 24.2 % could still fail.",
        ),
        (
            Counts(total=13, passed=12, errored=1),
            "All 12 that could be decided passed; with no more than that, up to about 24.2 % could still fail."
            " 1 errored: not counted as failures.",
        ),
        (
            Counts(total=12, passed=7, failed=3, errored=1, skipped=1),
            "7 of 10 passed (70.0 %, likely 40–89 %). 1 errored and 1 skipped: not counted as failures.",
        ),
        (Counts(total=2, errored=2), "No case could be decided. 2 errored: not counted as failures."),
        (Counts(total=3, skipped=3), "No case could be decided. 3 skipped: not counted as failures."),
        (
            Counts(total=20, passed=4, failed=1),
            "4 of 5 passed (80.0 %, likely 38–99 %). Not finished: 15 of 20 still to do.",
        ),
    ],
    ids=[
        "empty",
        "some failed",
        "all passed",
        "all but an error",
        "mixed",
        "only errors",
        "only skipped",
        "unfinished",
    ],
)
def test_the_sentence_says_what_came_of_the_run_and_how_sure_that_is(counts: Counts, said: str) -> None:
    assert run_sentence(summary(counts)) == said


def test_several_candidates_are_named_apart_the_best_first() -> None:
    own = {"v1": Counts(total=4, passed=2, failed=2), "v2": Counts(total=4, passed=3, failed=1)}
    said = run_sentence(summary(Counts(total=8, passed=5, failed=3), own))
    assert said == "v2 passed 3 of 4 (75.0 %, likely 30–99 %); v1 passed 2 of 4 (50.0 %, likely 15–85 %)."


def test_the_sentence_stays_short_with_many_candidates_and_says_how_many_are_left() -> None:
    own = {f"v{n}": Counts(total=1, passed=1) for n in range(5)}
    said = run_sentence(summary(Counts(total=5, passed=5), own))
    assert said.endswith("v2 passed 1 of 1 (100.0 %, likely 21–100 %); and 2 more candidates.")


def test_a_candidate_without_a_decided_case_is_not_called_bad() -> None:
    own = {"v1": Counts(total=1, errored=1), "v2": Counts(total=1, passed=1)}
    said = run_sentence(summary(Counts(total=2, passed=1, errored=1), own))
    assert "v1 passed none (nothing could be decided)" in said
