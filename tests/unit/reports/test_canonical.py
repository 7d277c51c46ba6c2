"""The line two runs are compared by."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from howsure.model.result import Result
from howsure.model.score import Score, Unscored, UnscoredReason
from howsure.model.transcript import Span, Usage
from howsure.model.verdict import Verdict
from howsure.reports.jsonl import canonical_line
from howsure.testing import a_case, a_transcript
from unit.reports.northwind import MOMENT, a_result, refund_results, support_results
from unit.reports.snapshot import matches


def test_the_lines_are_as_they_were() -> None:
    lines = [canonical_line(result) for result in (*refund_results("v1"), *support_results())]
    matches("canonical.jsonl", b"".join(lines).decode())


def test_keys_are_sorted_at_every_depth_and_the_line_ends() -> None:
    line = canonical_line(a_result(transcript=a_transcript("x", calls=[("t", {"b": 1, "a": {"d": 1, "c": 2}})])))
    assert line.endswith(b"}\n")
    assert line.count(b"\n") == 1
    value = json.loads(line)
    assert line.decode().rstrip("\n") == json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


SAID = a_transcript("yes", state={"open": True})
SCORE = Score(name="s", value=1.0, judge="model-a", cost_usd=0.1, details={"total_latency_seconds": 0.84})
BROKE = Unscored(name="u", why=UnscoredReason.ERROR, reason="unreadable", judge="model-a")
REPLAYED = (replace(SCORE, judge="recorded", cost_usd=None), replace(BROKE, judge=""))
BASE = a_result(transcript=SAID, grades=(SCORE, BROKE))


@pytest.mark.parametrize(
    "other",
    [
        replace(BASE, created_at=MOMENT + timedelta(days=1)),
        replace(BASE, duration_ms=9999.0),
        replace(BASE, position=77),
        replace(BASE, transcript=replace(SAID, duration_ms=5.0)),
        replace(BASE, transcript=replace(SAID, spans=(Span(name="call_llm", start_ns=1, end_ns=2),))),
        replace(BASE, transcript=replace(SAID, metadata={"session": "random"})),
        replace(BASE, grades=REPLAYED),
    ],
    ids=["when", "how long", "place in the file", "live duration", "clock of the spans", "session", "who judged, cost"],
)
def test_what_differs_between_equal_runs_is_left_out(other: Result) -> None:
    assert canonical_line(other) == canonical_line(BASE)


@pytest.mark.parametrize(
    "change",
    [
        {"verdict": Verdict.FAILED},
        {"reasons": ("another",)},
        {"candidate": "v2"},
        {"repeat": 2},
        {"case": a_case(id="other")},
        {"transcript": a_transcript("no", state={"open": True})},
        {"transcript": a_transcript("yes", state={"open": False})},
        {"transcript": a_transcript("yes", state={"open": True}, usage=Usage(prompt_tokens=3))},
        {"grades": (replace(SCORE, details={"total_latency_seconds": 0.85}), BROKE)},
        {"grades": BASE.grades[:1]},
    ],
)
def test_what_was_said_done_graded_or_decided_makes_another_line(change: dict[str, Any]) -> None:
    assert canonical_line(replace(BASE, **change)) != canonical_line(BASE)


def test_no_id_of_run_or_result_and_no_time_is_in_the_line() -> None:
    line = canonical_line(refund_results()[0]).decode()
    assert "duration" not in line
    assert "created_at" not in line
    assert "2026" not in line
    assert "result_id" not in line
