"""Results as columns: one line a result or a grade, None for what was not measured."""

from __future__ import annotations

import sys

import pytest

from howsure.errors import ConfigInvalid
from howsure.model.result import Failure, Result
from howsure.model.run import Counts, Run, RunState
from howsure.model.score import ZERO_TO_FIVE, Part, Score, Unscored, UnscoredReason
from howsure.model.summary import GraderSummary, Summary
from howsure.model.transcript import Usage
from howsure.model.verdict import Verdict
from howsure.reports.notebooks import data_frame, grade_columns, result_columns
from howsure.testing import a_case, a_transcript
from two_runs import NOON, pins

PART = Part(id="c1", text="greets")
RESULTS = (
    Result(
        case=a_case(id="a", message="Hi?", tags=("x", "y")),
        verdict=Verdict.FAILED,
        reasons=("too short", "rude"),
        grades=(
            Score(name="criteria", value=0.5, pass_mark=1.0, reason="half", judge="offline"),
            Score(name="criteria", value=0.0, pass_mark=1.0, part=PART, reason="no greeting"),
            Score(name="verdict", value=3.0, scale=ZERO_TO_FIVE),
        ),
        transcript=a_transcript("Go", usage=Usage(prompt_tokens=7, cost_usd=0.5)),
        duration_ms=12.5,
    ),
    Result(
        case=a_case(id="b"),
        verdict=Verdict.ERRORED,
        reasons=("refused",),
        grades=(Unscored(name="criteria", why=UnscoredReason.NO_JUDGE, reason="nobody"),),
        failures=(Failure(kind="TargetFailed", message="refused"),),
        candidate="juno",
        repeat=2,
    ),
)


def summary() -> Summary:
    def grader(name: str) -> GraderSummary:
        scored = Score(name=name, value=1)
        return GraderSummary(
            name=name,
            candidate="",
            scored=1,
            passed=0,
            failed=1,
            errored=0,
            not_applicable=0,
            no_judge=0,
            mean=0.5,
            scale=scored.scale,
            direction=scored.direction,
        )

    run = Run(
        id="r", name="r", state=RunState.COMPLETED, pins=pins(), counts=Counts(total=2), created_at=NOON
    )  # fmt: skip
    return Summary(run=run, candidates={}, graders=(grader("criteria"), grader("verdict")))


def test_one_line_a_result_and_one_column_a_grader() -> None:
    columns = result_columns(summary(), RESULTS)
    assert columns == {
        "case_id": ["a", "b"],
        "candidate": ["", "juno"],
        "repeat": [1, 2],
        "verdict": ["failed", "errored"],
        "passed": [False, None],
        "reasons": ["too short; rude", "refused"],
        "error": [None, "refused"],
        "question": ["Hi?", "Hello"],
        "answer": ["Go", None],
        "tags": ["x, y", ""],
        "duration_ms": [12.5, 0.0],
        "prompt_tokens": [7, None],
        "completion_tokens": [None, None],
        "cost_usd": [0.5, None],
        "criteria": [0.5, None],
        "verdict (grader)": [3.0, None],
    }


def test_one_line_a_grade() -> None:
    columns = grade_columns(RESULTS)
    assert columns["grader"] == ["criteria", "criteria", "verdict", "criteria"]
    assert columns["part_id"] == [None, "c1", None, None]
    assert columns["part"] == [None, "greets", None, None]
    assert columns["value"] == [0.5, 0.0, 3.0, None]
    assert columns["passed"] == [False, False, None, None]
    assert columns["status"] == ["scored", "scored", "scored", "no_judge"]
    assert columns["reason"] == ["half", "no greeting", "", "nobody"]


@pytest.mark.parametrize("library", ["pandas", "polars", ""])
def test_tables_hold_every_line_also_of_nothing(library: str) -> None:
    table = data_frame(result_columns(summary(), RESULTS), library)
    assert table.shape == (2, 16)
    assert data_frame(grade_columns(RESULTS), library).shape == (4, 12)
    assert len(data_frame(result_columns(summary(), ()), library)) == 0
    assert len(data_frame(grade_columns(()), library)) == 0


def test_without_a_library_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pandas", "polars"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr("howsure.reports.notebooks.find_spec", lambda name: None)
    with pytest.raises(ConfigInvalid, match=r"to_frame needs pandas or polars, which is not installed; `.results` has"):
        data_frame({"a": [1]})
    with pytest.raises(ConfigInvalid, match="to_frame needs polars"):
        data_frame({"a": [1]}, "polars")
