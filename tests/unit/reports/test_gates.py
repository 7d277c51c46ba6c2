"""What came of the gates, in every report: a shape, a word and a sentence each."""

from __future__ import annotations

from io import StringIO
from math import inf
from typing import Any

import pytest
from msgspec.structs import replace
from rich.console import Console

from howsure.model.summary import GateOutcome, GateRuling, Summary, worst_outcome
from howsure.reports.evaluations import evaluation_run
from howsure.reports.html.page import write_page
from howsure.reports.run_facts import gate_shape, gates_conclusion
from howsure.reports.run_report import gate_report, run_report, write_markdown
from unit.reports.northwind import stream, summary_of

HELD = GateRuling(
    expression="errors <= 1%", outcome=GateOutcome.HELD, reason="0 of 12 attempts errored.", value=0.0, n=12
)
FAILED = GateRuling(
    expression="pass_rate >= 0.9", outcome=GateOutcome.FAILED, reason="Too <low>.", value=0.5, interval=(0.3, 0.7), n=12
)
OPEN = GateRuling(
    expression="p95_latency <= 3s",
    outcome=GateOutcome.INCONCLUSIVE,
    reason="Too few.",
    value=2.0,
    interval=(1.0, inf),
    n=12,
    needed_cases=60,
    candidate="juno",
)


def a_summary(*gates: GateRuling) -> Summary:
    return replace(summary_of([]), gates=gates)


def printed(shown: Any, width: int = 100) -> str:
    out = StringIO()
    Console(file=out, width=width).print(shown)
    return out.getvalue()


@pytest.mark.parametrize(
    ("gates", "outcome", "said"),
    [
        ((), GateOutcome.HELD, "All 0 gates held."),
        ((HELD,), GateOutcome.HELD, "The gate held."),
        ((HELD, replace(HELD, expression="errors <= 2%")), GateOutcome.HELD, "All 2 gates held."),
        ((HELD, replace(HELD, candidate="juno")), GateOutcome.HELD, "The gate held."),
        ((HELD, FAILED, OPEN), GateOutcome.FAILED, "1 of 3 gates failed."),
        ((HELD, OPEN), GateOutcome.INCONCLUSIVE, "No gate failed, but 1 of 2 gates cannot be decided."),
    ],
)
def test_all_gates_in_one_sentence(gates: tuple[GateRuling, ...], outcome: GateOutcome, said: str) -> None:
    assert worst_outcome(gates) is outcome
    assert gates_conclusion(gates) == said


@pytest.mark.parametrize("report", [run_report, gate_report])
def test_the_terminal_has_a_line_and_a_sentence_for_each(report: Any) -> None:
    wide = printed(report(a_summary(HELD, FAILED, OPEN)))
    assert "● held  errors <= 1%                      0 of 12 attempts errored." in wide
    shown = printed(report(a_summary(HELD, FAILED, OPEN)), width=60)
    assert "● held  errors <= 1%\n  0 of 12 attempts errored." in shown
    assert "■ failed  pass_rate >= 0.9\n  Too <low>." in shown
    assert "▲ inconclusive  p95_latency <= 3s (juno)\n  Too few." in shown


def test_without_gates_no_report_mentions_them() -> None:
    assert "gate" not in printed(run_report(a_summary()))
    assert evaluation_run(a_summary())["gates"] == []


def test_json_holds_every_number_and_null_for_an_end_that_is_not_known() -> None:
    assert gate_shape(OPEN) == {
        "expression": "p95_latency <= 3s",
        "outcome": "inconclusive",
        "value": 2.0,
        "interval": [1.0, None],
        "n": 12,
        "unjudged": 0,
        "reason": "Too few.",
        "needed_cases": 60,
        "candidate": "juno",
    }
    assert gate_shape(HELD)["interval"] is None
    assert "candidate" not in gate_shape(HELD)
    assert [each["outcome"] for each in evaluation_run(a_summary(HELD, FAILED))["gates"]] == ["held", "failed"]


async def test_markdown_has_a_table_of_them() -> None:
    out = StringIO()
    await write_markdown(a_summary(HELD, FAILED), stream([]), out)
    assert "## Gates\n\n1 of 2 gates failed." in out.getvalue()
    assert "| ■ failed pass_rate &gt;= 0.9 | Too &lt;low&gt;. |" in out.getvalue()


async def test_the_page_has_them_first_and_as_text() -> None:
    out = StringIO()
    await write_page(a_summary(HELD, FAILED, OPEN), stream([]), out)
    page = out.getvalue()
    assert "1 of 3 gates failed." in page
    assert "Too &lt;low&gt;." in page
    assert page.count('<span class="word ') == 3
    assert page.index("gates-title") < page.index('id="cases"')
