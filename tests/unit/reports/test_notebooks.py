"""Results as columns: one line a result or a grade, None for what was not measured. What a notebook shows of a run: the
sentence, the graders, what did not pass; and nothing that can act."""

from __future__ import annotations

import sys
from html.parser import HTMLParser

import pytest
from msgspec.structs import replace

from howsure.errors import ConfigInvalid
from howsure.model.result import Failure, Result
from howsure.model.run import Counts, Pins, Run, RunState
from howsure.model.run_request import RunRequest
from howsure.model.score import ZERO_TO_FIVE, Part, Score, Unscored, UnscoredReason
from howsure.model.summary import GateOutcome, GateRuling, GraderSummary, Summary
from howsure.model.transcript import Usage
from howsure.model.verdict import Verdict
from howsure.reports.notebooks import SHOWN, data_frame, grade_columns, notebook_html, result_columns
from howsure.testing import a_case, a_transcript
from two_runs import NOON, pins, tried

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
        "flags": ["", ""],
        "duration_ms": [12.5, 0.0],
        "prompt_tokens": [7, None],
        "completion_tokens": [None, None],
        "cost_usd": [0.5, None],
        "file": ["house.jsonl", "house.jsonl"],
        "criteria": [0.5, None],
        "verdict (grader)": [3.0, None],
    }


def test_labels_are_columns_and_those_that_are_taken_say_so() -> None:
    labels = {"agent": "shop", "repeat": "1"}
    first, second = RESULTS
    columns = result_columns(summary(), (replace(first, case=replace(first.case, labels=labels)), second))
    assert columns["agent"] == ["shop", None]
    assert columns["repeat (label)"] == ["1", None]


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
    assert table.shape == (2, 18)
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


HOSTILE = '<script>alert(1)</script>"><img src=x onerror=alert(1)>\x1b[31m\u202e'


class Tags(HTMLParser):
    """The names of all elements, and their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes += attrs


def test_it_shows_the_sentence_the_graders_and_what_did_not_pass() -> None:
    shown = notebook_html(summary(), RESULTS)
    assert "Not finished: 2 of 2 still to do." in shown
    assert "<td>criteria</td><td></td><td>0.0 % [0–79] n 1</td><td>0.5 of 1</td>" in shown
    assert "<p>2 results that did not pass:</p>" in shown
    assert "<td>a</td><td></td><td>failed</td><td>too short; rude</td>" in shown


def test_gates_are_shown_with_their_reasons() -> None:
    ruling = GateRuling(expression="pass_rate >= 0.9", outcome=GateOutcome.FAILED, reason="50 % passed")
    shown = notebook_html(replace(summary(), gates=(ruling,)), ())
    assert "<td>pass_rate &gt;= 0.9</td><td>failed</td><td>50 % passed</td>" in shown


def test_only_the_first_are_shown_and_the_rest_counted() -> None:
    many = [tried(f"q{number}", False) for number in range(25)]
    shown = notebook_html(summary(), many)
    assert f"25 results that did not pass; the first {SHOWN} of them" in shown
    assert (shown.count("<td>q9</td>"), shown.count("<td>q10</td>")) == (1, 0)


def test_where_everything_passed_no_case_is_shown() -> None:
    assert "did not pass" not in notebook_html(summary(), [tried("q1", True)])


def test_hostile_text_is_inert_everywhere() -> None:
    known = summary()
    run = replace(known.run, name=HOSTILE, pins=Pins(request=RunRequest(target=HOSTILE, judge=HOSTILE)))
    graders = tuple(replace(each, name=HOSTILE, candidate=HOSTILE) for each in known.graders)
    ruling = GateRuling(expression=HOSTILE, outcome=GateOutcome.HELD, reason=HOSTILE, candidate=HOSTILE)
    result = replace(
        RESULTS[0], case=a_case(id=HOSTILE), candidate=HOSTILE, reasons=(HOSTILE,), verdict=Verdict.FAILED
    )  # fmt: skip
    shown = notebook_html(replace(known, run=run, graders=graders, gates=(ruling,)), [result])
    tags = Tags()
    tags.feed(shown)
    assert tags.names == {"div", "p", "strong", "code", "br", "small", "table", "thead", "tbody", "tr", "th", "td"}
    assert tags.attributes == [("class", "howsure-run")]
    assert not {"\x1b", "\u202e"} & set(shown)
