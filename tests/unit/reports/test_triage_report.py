"""A triage on a terminal and as Markdown: what is said, what is cut, and that nothing foreign is obeyed."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from hostile import HOSTILE, hostile_result
from howsure.model.simulation import Party
from howsure.model.triage import RootCause, RootCauseReport, Triage
from howsure.reports.safe_text import CONTROLS
from howsure.reports.triage_report import (
    dropped_claims,
    finding_reason,
    triage_headline,
    triage_markdown,
    triage_report,
)
from unit.services.triage.triage_results import a_triage, called, criterion, result, rule, talk, unreadable

NOTE = RootCauseReport(note="No model was asked: the judge is offline.")


def printed(found: Triage, width: int = 80, *, written: bool = True, color: bool = False) -> str:
    out = io.StringIO()
    shown = Console(file=out, width=width, force_terminal=color, highlight=False)
    shown.print(triage_report(found, written))
    return out.getvalue()


def three(written: RootCauseReport = NOTE) -> Triage:
    return a_triage(
        result(criterion("Is polite", False, "Calls names."), rule("PRIVACY", True), id="a", name="Rude"),
        result(criterion("Is polite", False, "Shouts."), id="b", said=talk(called("search_help", []))),
        result(unreadable("criteria"), id="c"),
        written=written,
        total=9,
        passed=6,
    )


def test_the_terminal_shows_causes_by_priority_then_divergence_then_what_is_shared() -> None:
    assert [line.rstrip() for line in printed(three()).splitlines()] == [
        "a run",
        "9 results: 6 passed, 2 failed, 1 errored. Answerable: agent 1, judge 1,",
        "retrieval 1.",
        "",
        "P1: Mend the evaluation first: these results say nothing about the agent",
        "",
        "The judge could not be read (judge, 1 result)",
        "Try the judge again, or take another one.",
        "case  how sure  why",
        "c     certain   `criteria` has no value: no value in the reply",
        "",
        "P2: Mend the agent",
        "",
        "A criterion was not met (agent, 1 result)",
        "Read the reasons; change the prompt, or the criterion.",
        "case      how sure  why",
        "a (Rude)  possible  not met: “Is polite”: Calls names.",
        "",
        "P3: Mend what it searches",
        "",
        "The search found nothing (retrieval, 1 result)",
        "Look at the index, its contents and how it is asked.",
        "case  how sure  why",
        "b     likely    the search `search_help` found nothing: Shouts.",
        "",
        "Divergence: criteria fail, every rule holds",
        "Are the criteria too strict? Read the answer: where it is good, change the",
        "criterion.",
        "case      answerable  failed",
        "a (Rude)  agent       Is polite",
        "",
        "In common: by criterion",
        "           results  answerable            cases",
        "Is polite        2  agent 1, retrieval 1  a, b",
        "",
        "! No model was asked: the judge is offline.",
    ]


WRITTEN = RootCauseReport(
    judge="openai:x",
    summary="Two of three are rude.",
    claims=(
        RootCause(title="Rude", party=Party.AGENT, explanation="It shouts.", fix="Ask it not to.", cases=("a", "b")),
    ),
    dropped=2,
    unknown=("z9",),
    prompt="triage@1:0f3a",
)


def test_a_written_report_names_its_writer_its_cases_and_what_was_left_out() -> None:
    shown = printed(three(WRITTEN))
    assert "Root causes\nWritten by openai:x (triage@1:0f3a).\nTwo of three are rude.\n" in shown
    assert "\nRude (agent)\nIt shouts.\nFix: Ask it not to.\nCases: a, b\n" in shown
    assert "2 claims of the judge left out: cited cases that did not fail in this run, or" in shown
    assert "Root causes" not in printed(three(WRITTEN), written=False)


def test_a_report_that_could_not_be_written_says_so() -> None:
    shown = printed(three(RootCauseReport(judge="openai:x", note="There is no written report: overloaded")))
    assert "Written by openai:x.\n! There is no written report: overloaded" in shown


def test_very_many_results_are_counted_not_shown() -> None:
    many = a_triage(*(result(criterion(f"x{n}", False), id=f"c{n}") for n in range(30)))
    shown = printed(many)
    assert "and 22 more (--json shows all)" in shown
    assert shown.count("not met:") == 8


def test_the_headline_says_when_there_is_nothing_to_do() -> None:
    assert triage_headline(a_triage(total=3, passed=3)) == (
        "3 results: 3 passed, 0 failed, 0 errored. There is nothing to triage."
    )


def test_why_and_evidence_are_said_once() -> None:
    finding = three().findings[0]
    assert finding_reason(finding) == "not met: “Is polite”: Calls names."
    same = a_triage(result(criterion("x", False)), result(unreadable("criteria", "it broke")))
    assert finding_reason(same.findings[0]) == "not met: “x”"


def test_nothing_left_out_is_nothing_said() -> None:
    assert dropped_claims(RootCauseReport()) == ""
    assert (
        dropped_claims(RootCauseReport(dropped=1))
        == "1 claim of the judge left out: cited cases that did not fail in this run, or none."
    )


def test_markdown_has_every_case_in_tables_and_the_root_causes_first() -> None:
    shown = triage_markdown(three(WRITTEN))
    headings = [line for line in shown.splitlines() if line.startswith("#")]
    assert headings == [
        "# Triage of a run",
        "## Root causes",
        "### Rude (agent)",
        "## P1: Mend the evaluation first: these results say nothing about the agent",
        "### The judge could not be read (judge, 1 result)",
        "## P2: Mend the agent",
        "### A criterion was not met (agent, 1 result)",
        "## P3: Mend what it searches",
        "### The search found nothing (retrieval, 1 result)",
        "## Divergence: criteria fail, every rule holds",
        "## In common: by criterion",
        "## In common: by grader",
        "## In common: by tool",
    ]
    assert "| a (Rude) | possible | not met: “Is polite”: Calls names. |" in shown
    assert "| Is polite | 2 | agent 1, retrieval 1 | a, b |" in shown
    assert "Written by openai:x (triage@1:0f3a)." in shown
    assert "> 2 claims of the judge left out" in shown


def test_markdown_names_every_case_even_where_it_says_no_more_of_it() -> None:
    shown = triage_markdown(a_triage(*(result(criterion(f"x{n}", False), id=f"c{n}") for n in range(70))))
    assert all(re.search(rf"\bc{n}\b", shown) for n in range(70))
    assert shown.count("| likely |") == 50


def hostile(text: str) -> Triage:
    claim = RootCause(title=text, party=Party.AGENT, explanation=text, fix=text, cases=(text,))
    report = RootCauseReport(
        judge=text, summary=text, claims=(claim,), dropped=1, unknown=(text,), prompt=text, note=text
    )
    return a_triage(hostile_result(text), hostile_result(text, position=1), written=report)


@pytest.mark.parametrize("text", HOSTILE)
def test_foreign_text_is_inert_on_a_terminal(text: str) -> None:
    shown = printed(hostile(text)).replace("\n", "")
    assert CONTROLS.search(shown) is None


@pytest.mark.parametrize("text", HOSTILE)
def test_foreign_text_is_inert_in_markdown(text: str) -> None:
    shown = triage_markdown(hostile(text))
    assert CONTROLS.search(shown.replace("\n", "")) is None
    assert "<" not in re.sub(r"<!-- -->", "", shown)
    assert "](http" not in shown.replace("\\]", "")
    headings = [line for line in shown.splitlines() if line.startswith("#")]
    assert not any("# heading" in line and not line.startswith("### \\#") for line in headings)
