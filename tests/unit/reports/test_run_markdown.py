"""A run as a Markdown document."""

from __future__ import annotations

import re
from io import StringIO
from typing import Any

import pytest

from howsure.model.result import Failure, Result
from howsure.model.score import Part, Score
from howsure.model.verdict import Verdict
from howsure.reports import run_report
from howsure.reports.document import escaped, fenced
from howsure.reports.run_report import write_markdown
from howsure.testing import a_case, a_transcript
from unit.reports.northwind import SUPPORT_PINS, a_result, refund_results, stream, summary_of, support_results
from unit.reports.snapshot import matches


async def written(results: list[Result], **fields: Any) -> str:
    file = StringIO()
    await write_markdown(summary_of(results, **fields), stream(results), file)
    return file.getvalue()


async def test_the_document_of_a_dataset_run_is_as_it_was() -> None:
    matches("run_golden.md", await written(refund_results()))


async def test_the_document_of_a_test_set_run_is_as_it_was() -> None:
    matches("run_test_set.md", await written(support_results(), pins=SUPPORT_PINS))


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("a | b", "a \\| b"),
        ("two\nlines", "two lines"),
        ("`code`", "\\`code\\`"),
        ("<img src=x>", "&lt;img src=x&gt;"),
        ("R&D", "R&amp;D"),
        ("[link](http://x)", "\\[link\\](http\\://x)"),
        ("www.x.org", "www\\.x.org"),
        ("snake_case_name", "snake_case_name"),
        ("- a list", "\\- a list"),
        ("+ a list", "\\+ a list"),
        ("+15.0", "+15.0"),
        ("1. a list", "1\\. a list"),
        ("12) a list", "12\\) a list"),
        ("version 1.2 - stable: 70 %", "version 1.2 - stable: 70 %"),
        ("back\\slash", "back\\\\slash"),
        ("$x$", "\\$x\\$"),
        ("**bold** _it_", "\\*\\*bold\\*\\* \\_it\\_"),
        ("# heading", "\\# heading"),
        ("1.5 points", "1.5 points"),
        ("2.", "2\\."),
        ("ask @someone", "ask @<!-- -->someone"),
        ("@team: look", "@<!-- -->team: look"),
        ("a@b.org", "a@b.org"),
        ("see #12 and !7", "see #<!-- -->12 and !<!-- -->7"),
        ("#12", "\\#<!-- -->12"),
        ("C# and a#b", "C# and a#b"),
        ("Müller 中文", "Müller 中文"),
        ("70.0 % [40–89]", "70.0 % [40–89]"),
        ("[40–89](http://x)", "\\[40–89\\](http\\://x)"),
        ("[40–89]: x", "\\[40–89\\]: x"),
    ],
)
def test_nothing_foreign_is_read_as_markup_in_a_table(text: str, cell: str) -> None:
    assert escaped(text) == cell


@pytest.mark.parametrize(
    ("text", "fence"),
    [("plain", "```"), ("```js\nx\n```", "````"), ("`````", "``````"), ("", "```")],
)
def test_a_fence_is_longer_than_any_inside(text: str, fence: str) -> None:
    assert fenced(text) == f"{fence}text\n{text}\n{fence}"


async def test_hostile_content_stays_in_its_fence_and_its_cell() -> None:
    evil = "```\n# pwned\n<script>alert(1)</script> | x |"
    part = Part(id="c", text=evil)
    result = a_result(
        Verdict.FAILED,
        case=a_case(id=evil, message=evil),
        candidate=evil,
        reasons=(evil,),
        grades=(
            Score(name="weighted_criteria", value=0.0, pass_mark=1.0, reason=evil),
            Score(name="weighted_criteria", value=0.0, pass_mark=1.0, reason=evil, part=part),
        ),
        failures=(Failure(kind="GraderFailed", message=evil),),
        transcript=a_transcript(evil, calls=[(evil, {evil: evil})]),
    )
    text = await written([result], name=evil)
    outside = "".join(text.split("````")[0::2])
    assert "<script>" not in outside
    assert "\n# pwned" not in outside
    for table in re.findall(r"(?:^\|.*\n)+", outside, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


async def test_an_empty_run_is_a_document_too() -> None:
    text = await written([])
    assert "**There were no cases to try.**" in text
    assert "● 0 passed + ■ 0 failed + ▲ 0 errored + ○ 0 skipped + ◌ 0 pending = 0" in text
    assert "## Failed" not in text


async def test_passed_cases_are_not_repeated_and_candidates_are_counted_apart() -> None:
    text = await written([*refund_results("v1"), *refund_results("v2")])
    assert "refund-01" not in text
    assert text.count("### ■ failed: ") == 6
    assert "| v2 | 7 | 3 | 1 | 1 | 70.0 % [40–89] | 64–73 % |" in text


async def test_past_the_limit_the_rest_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_report, "SHOWN_CASES", 2)
    text = await written(refund_results())
    assert text.count("### ") == 2
    assert text.endswith("2 more failed or errored cases are not shown here; a `.jsonl` or `.html` report has all.\n")
