"""What every report says of a run besides its numbers. The answer of a run as one sentence."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.model.run import Counts, DatasetPin, RunState
from howsure.model.score import Direction
from howsure.model.summary import Summary
from howsure.reports.evaluations import evaluation_run
from howsure.reports.figures import pass_mark_text
from howsure.reports.run_facts import (
    graders_by_name,
    next_steps,
    run_facts,
    run_notes,
    run_sentence,
    run_warning,
    shell_quote,
)
from unit.reports.northwind import SUPPORT_PINS, a_run, refund_results, summary_of


def test_the_facts_name_what_was_tried_against_what_judged_by_whom() -> None:
    assert run_facts(a_run(Counts(total=4), pins=SUPPORT_PINS)) == [
        ("dataset", "support.json (test-set, 4 cases)"),
        ("target", "recorded"),
        ("agent", "Northwind support"),
        ("judge", "recorded:judge.jsonl"),
        ("rubric", "Northwind support rubric v7"),
        ("components", "kb-1"),
    ]


def test_several_datasets_are_all_named_and_a_missing_judge_is_said() -> None:
    pins = {"datasets": (DatasetPin(path="a/x.json", sha256=""), DatasetPin(path="y", sha256="", name="Y"))}
    run = a_run(Counts(), state=RunState.FAILED, error="disk full", pins={**pins, "judge": ""})
    assert run_facts(run) == [
        ("dataset", "x.json, Y"),
        ("target", "recorded"),
        ("judge", "no judge"),
        ("state", "failed"),
        ("error", "disk full"),
    ]


@pytest.mark.parametrize(
    ("judge", "said"),
    [
        ("", "This run had no judge: grades that need one were not given."),
        ("offline", "Judged offline, by rules of thumb and not by a model: take judged grades as hints."),
        ("recorded:x", ""),
    ],
)
def test_a_reader_is_warned_before_the_numbers(judge: str, said: str) -> None:
    assert run_warning(summary_of(refund_results(), pins={"judge": judge})) == said


def test_a_run_that_needed_no_judge_is_not_blamed_for_having_none() -> None:
    assert run_warning(summary_of(refund_results()[:10], pins={"judge": ""})) == ""


def test_repeats_widen_the_doubt_and_the_report_says_so() -> None:
    assert list(run_notes(summary_of(refund_results()))) == []
    assert list(run_notes(summary_of(refund_results(), pins={"repeat": 3}))) == [
        "Each case was tried 3 times; repeats are alike, so the true intervals are wider."
    ]


def test_pooled_criteria_are_named_by_their_file() -> None:
    pins = {"criteria_from": DatasetPin(path="/data/shop.json", sha256="c" * 64)}
    assert ("criteria", "pooled from shop.json") in run_facts(a_run(Counts(), pins=pins))
    assert evaluation_run(summary_of(refund_results(), pins=pins))["criteria_from"] == "/data/shop.json"


@pytest.mark.parametrize(
    ("pins", "said"),
    [
        ({"simulator": "offline"}, [("user", "simulated: offline")]),
        (
            {"simulator": "openai:gpt-5", "replays": 2},
            [("user", "simulated: openai:gpt-5, spoiled conversations played again up to 2 times")],
        ),
        ({"simulator": "offline", "replays": 1}, [("user", "simulated: offline, a spoiled conversation played again")]),
        ({"replays": 2}, []),
    ],
    ids=["a program", "a model, played again", "once", "nobody was simulated"],
)
def test_who_played_the_user_is_a_fact_of_the_run(pins: dict[str, Any], said: list[tuple[str, str]]) -> None:
    assert [fact for fact in run_facts(a_run(Counts(), pins=pins)) if fact[0] == "user"] == said


def test_the_candidates_of_one_grader_stand_together() -> None:
    summary = summary_of([*refund_results("v1"), *refund_results("v2")])
    order = [(grader.name, grader.candidate) for grader in graders_by_name(summary)][:4]
    first, second = "tool_usage_accuracy", "response_correctness"
    assert order == [(first, "v1"), (first, "v2"), (second, "v1"), (second, "v2")]


def test_what_to_do_next_follows_from_what_happened() -> None:
    done = next_steps(summary_of(refund_results()[:2]))
    assert done == [("howsure report 3f2a9c1b --output report.html", "read it all in a browser, offline")]
    cut = summary_of(refund_results(), total=20, state=RunState.INTERRUPTED)
    assert [command for command, _ in next_steps(cut, "refund 03")] == [
        "howsure resume 3f2a9c1b",
        "howsure show 3f2a9c1b 'refund 03'",
        "howsure retry 3f2a9c1b --errors",
        "howsure report 3f2a9c1b --output report.html",
    ]
    live = summary_of(refund_results(), total=20, state=RunState.RUNNING)
    assert "howsure resume 3f2a9c1b" not in [command for command, _ in next_steps(live)]


@pytest.mark.parametrize(
    ("asked", "again"),
    [
        ({"target": "recorded", "judge": "offline"}, False),
        ({"target": "recorded", "judge": "anthropic:claude"}, True),
        ({"target": "support", "judge": "offline"}, True),
    ],
)
def test_trying_again_is_offered_where_it_can_change_something(asked: dict[str, str], again: bool) -> None:
    errored = Summary(run=a_run(Counts(errored=2), pins=asked), candidates={"": Counts(errored=2)}, graders=())
    assert ("howsure retry 3f2a9c1b --errors" in [command for command, _ in next_steps(errored)]) is again


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("refund-03", "refund-03"),
        ("a b", "'a b'"),
        ("it's", "'it'\"'\"'s'"),
        ("$(rm)", "'$(rm)'"),
        ("", "''"),
        ("ü", "'ü'"),
    ],
)
def test_a_case_id_is_quoted_as_a_shell_needs_it(word: str, shown: str) -> None:
    assert shell_quote(word) == shown


@pytest.mark.parametrize(
    ("mark", "direction", "said"),
    [(0.7, Direction.HIGHER, "≥ 0.7"), (2.0, Direction.LOWER, "≤ 2"), (None, Direction.LOWER, "")],
)
def test_a_mark_is_said_with_its_direction(mark: float | None, direction: Direction, said: str) -> None:
    assert pass_mark_text(mark, direction) == said


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
            " 1 errored: not counted as failures. Counted either way: 92–100 % of all 13.",
        ),
        (
            Counts(total=12, passed=7, failed=3, errored=1, skipped=1),
            "7 of 10 passed (70.0 %, likely 40–89 %). 1 errored and 1 skipped: not counted as failures."
            " Counted either way: 64–73 % of all 11.",
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
