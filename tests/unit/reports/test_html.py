"""The page that opens offline. What a browser makes of it is looked at by hand and in the browser tests; here, that it
asks nothing of anybody, that nothing foreign becomes markup, and that its data are right."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from io import StringIO
from typing import Any

import pytest

from assay.model.case import Attachment, Scenario, SingleTurn
from assay.model.result import Failure, Result
from assay.model.run import Counts
from assay.model.score import Part, Score, Unscored, Why
from assay.model.transcript import Message, Role, ToolCall, ToolResult, Transcript
from assay.model.verdict import Verdict
from assay.reports.html import counted_verdicts, write_page
from assay.reports.page import LONGEST, block, embedded, entry, wrong
from assay.testing import a_case, a_transcript
from unit.reports.northwind import (
    FAILS,
    SUPPORT_PINS,
    a_check,
    a_result,
    refund_results,
    stream,
    summary_of,
    support_results,
)

EVIL = '</script><img src=x onerror="alert(1)"><!-- <script>&quot;\' {{ 7*7 }} {% raw %}'


class Seen(HTMLParser):
    """What a browser would find: elements, their attributes, and the text of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text = ""
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside != "style":
            self.text += data


async def page(results: list[Result], **fields: Any) -> str:
    file = StringIO()
    await write_page(summary_of(results, **fields), stream(results), file)
    return file.getvalue()


def evil_result() -> Result:
    return a_result(
        Verdict.FAILED,
        case=a_case(id=EVIL, message=EVIL, name=EVIL, labels={EVIL: EVIL}, tags=(EVIL,)),
        candidate=EVIL,
        reasons=(EVIL,),
        grades=(
            Score(name=EVIL, value=0.0, pass_mark=1.0, reason=EVIL, evidence=(EVIL,), details={EVIL: EVIL}, judge=EVIL),
            a_check(EVIL, Part(id=EVIL, text=EVIL, scope=EVIL), FAILS, EVIL),
        ),
        failures=(Failure(kind=EVIL, message=EVIL),),
        transcript=a_transcript(EVIL, calls=[(EVIL, {EVIL: EVIL})], state={EVIL: EVIL}),
    )


async def test_nothing_an_agent_says_becomes_markup() -> None:
    usual, evil = Seen(await page(refund_results())), Seen(await page([evil_result()], name=EVIL, error=EVIL))
    assert {tag for tag, _ in evil.elements} <= {tag for tag, _ in usual.elements}
    assert not any(tag == "img" for tag, _ in evil.elements)
    assert not any(name.startswith("on") for _, attributes in evil.elements for name in attributes)
    assert sum(tag == "script" for tag, _ in evil.elements) == 4


async def test_what_an_agent_says_is_whole_in_the_data() -> None:
    seen = Seen(await page([evil_result()], name=EVIL))
    shown = json.loads(seen.scripts[0])
    assert shown["talk"][-1]["text"] == EVIL
    assert shown["grades"][0]["parts"][0]["text"] == EVIL
    assert EVIL in seen.text


async def test_the_page_asks_nothing_of_any_host() -> None:
    text = await page(refund_results())
    elements = Seen(text).elements
    links = [attributes.get(name) for _, attributes in elements for name in ("src", "href", "action", "srcset")]
    assert {link for link in links if link} == {"data:,", "#cases"}
    style = text[text.index("<style>") : text.index("</style>")]
    assert not re.search(r"url\(|@import", style)
    assert not re.search(r"\bfetch\(|XMLHttpRequest|import\(|WebSocket|sendBeacon", text)


async def test_only_our_own_style_and_program_may_run() -> None:
    text = await page([evil_result()])
    policy = next(attributes["content"] for tag, attributes in Seen(text).elements if "http-equiv" in attributes)
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    program = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)[-1]
    assert style is not None
    hashes = [b64encode(sha256(source.encode()).digest()).decode() for source in (program, style[1])]
    assert policy == (
        f"default-src 'none'; script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    assert not any("style" in attributes for _, attributes in Seen(text).elements)


async def test_the_program_never_turns_text_into_markup() -> None:
    program = Seen(await page([])).scripts[-1]
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", program)


async def test_every_result_has_a_block_and_an_entry_in_the_same_order() -> None:
    results = [*refund_results("v1"), *refund_results("v2", 2)]
    seen = Seen(await page(results))
    index = json.loads(seen.scripts[-3])
    assert len(seen.scripts) == len(results) + 3
    assert [one["id"] for one in index] == [result.case.id for result in results]
    assert index[-1] == {
        "id": "refund-12",
        "candidate": "v2",
        "repeat": 2,
        "verdict": "skipped",
        "asked": "Explain your refund policy in simple words.",
        "why": "needs a judge",
        "failing": [],
    }


async def test_what_goes_wrong_is_counted_once_a_result_the_severe_first() -> None:
    common = json.loads(Seen(await page(support_results(), pins=SUPPORT_PINS)).scripts[-2])
    assert [(one["grader"], one["text"], one["severity"], one["mark"], one["count"]) for one in common] == [
        ("rubric", "No invented amounts", "high", "failed", 1),
        ("rubric", "No invented amounts", "high", "errored", 1),
        ("rubric", "Brief, focused replies", "medium", "failed", 1),
        ("rubric", "Names the policy it follows", "low", "failed", 1),
        ("criteria", "Names the accrual rate", "", "failed", 1),
        ("criteria", "Apologises", "", "errored", 1),
    ]


async def test_the_head_says_the_sentence_the_counts_and_each_rate_with_its_interval() -> None:
    text = " ".join(Seen(await page(refund_results())).text.split())
    assert "7 of 10 passed (70.0 %, likely 40–89 %). 1 errored and 1 skipped: not counted as failures." in text
    assert "7 passed + 3 failed + 1 errored + 1 skipped + 0 pending = 12" in text
    assert "tool_usage_accuracy" in text
    assert "70.0 % [40–89]" in text


async def test_the_offline_judge_has_a_banner() -> None:
    assert "Judged offline" in Seen(await page(refund_results(), pins={"judge": "offline"})).text


async def test_an_empty_run_is_a_page_too() -> None:
    seen = Seen(await page([]))
    assert "There were no cases to try." in seen.text
    assert [json.loads(script) for script in seen.scripts[:2]] == [[], []]


async def test_the_page_is_written_as_the_results_come() -> None:
    """Memory must not grow by the conversations: the first block is on its way before the last result is asked for."""
    file = StringIO()
    seen: list[int] = []

    async def results() -> Any:
        for result in refund_results():
            seen.append(file.getvalue().count('class="case"'))
            yield result

    await write_page(summary_of(refund_results()), results(), file)
    assert seen[-1] >= 10


@pytest.mark.parametrize("text", ["</script>", "<!--<script>", "&lt;", "<", ">", "&", "\u2028", '"\\'])
def test_embedded_json_holds_no_sign_that_could_end_it_and_reads_back(text: str) -> None:
    shown = str(embedded({"said": text}))
    assert not {"<", ">", "&"} & set(shown)
    assert json.loads(shown) == {"said": text}


def test_long_text_is_cut_and_says_how_much() -> None:
    said = block(a_result(transcript=a_transcript("x" * (LONGEST + 1234))))["talk"][-1]["text"]
    assert said.endswith("\n… cut here: 1,234 more characters are in the run itself")
    assert len(said) < LONGEST + 100


def test_control_characters_are_shown_in_every_text() -> None:
    shown = block(a_result(case=a_case(message="\x1b[2J\u202e"), transcript=None))
    assert shown["talk"] == [{"role": "user", "agent": "", "text": "␛[2J\\u202e", "calls": []}]
    assert shown["silent"] is True


def test_a_block_shows_calls_with_what_came_back() -> None:
    calls = (
        ToolCall(name="lookup", arguments={"id": 7, "deep": True}, result=ToolResult(content={"total": 9})),
        ToolCall(name="pay", arguments={"to": "me"}, result=ToolResult(content="no funds", failed=True)),
        ToolCall(name="bye"),
    )
    talk = Transcript(answer="", messages=(Message(role=Role.ASSISTANT, agent="till", tool_calls=calls),))
    (_, turn) = block(a_result(transcript=talk))["talk"]
    assert turn["agent"] == "till"
    assert [(call["brief"], call["said"], call["failed"]) for call in turn["calls"]] == [
        ("id 7, deep true", '{"total":9}', False),
        ("to me", "no funds", True),
        ("", "no response", False),
    ]
    assert turn["calls"][0]["result"] == '{\n  "total": 9\n}'


def test_a_block_says_what_the_users_side_was_told() -> None:
    scenario = a_case(input=Scenario(persona="In a hurry", initial_message="Hi", max_turns=3))
    papers = SingleTurn(message="Hi", context="the act", attachments=(Attachment(path="a/act.pdf", title="Act"),))
    assert block(a_result(case=scenario))["given"] == [{"title": "persona, up to 3 turns", "text": "In a hurry"}]
    assert block(a_result(case=a_case(input=papers)))["given"] == [
        {"title": "context", "text": "the act"},
        {"title": "attachment", "text": "Act"},
    ]


def test_a_grade_keeps_its_parts_and_parts_without_a_whole_are_not_lost() -> None:
    part = Part(id="c", text="cites", weight=-2.0)
    whole = Score(name="w", value=0.5, pass_mark=0.7, details={"points": 1, "criteria": ["repeated elsewhere"]})
    lone = a_check("rubric", Part(id="r", text="brief"), FAILS)
    waits = Unscored(name="f", why=Why.NO_JUDGE, reason="needs a judge")
    grades = block(a_result(grades=(whole, Score(name="w", value=1.0, part=part), lone, waits)))["grades"]
    assert [(grade["name"], grade["mark"], grade["value"], grade["needed"]) for grade in grades] == [
        ("w", "failed", "0.5 of 1", "≥ 0.7"),
        ("f", "no judge", "", ""),
        ("rubric", "", "", ""),
    ]
    assert [part["weight"] for part in grades[0]["parts"]] == ["-2"]
    assert json.loads(grades[0]["details"]) == {"points": 1}
    assert [part["text"] for part in grades[2]["parts"]] == ["brief"]


def test_the_parts_speak_for_their_grader_and_a_failure_for_itself() -> None:
    (broken,) = [result for result in refund_results() if result.verdict is Verdict.ERRORED]
    refused = "target 'recorded': ConnectionError: refused"
    assert wrong(broken) == [("TargetFailed", refused, "", "errored")]
    assert entry(broken)["failing"] == ["TargetFailed"]
    assert entry(support_results()[0])["failing"] == ["criteria", "rubric"]


def test_the_stretches_of_the_bar_follow_each_other_and_fill_it() -> None:
    assert counted_verdicts(Counts(total=8, passed=4, failed=2, errored=1)) == [
        ("passed", 4, 0.0, 50.0),
        ("failed", 2, 50.0, 25.0),
        ("errored", 1, 75.0, 12.5),
        ("skipped", 0, 87.5, 0.0),
        ("pending", 1, 87.5, 12.5),
    ]
    assert {length for _, _, _, length in counted_verdicts(Counts())} == {0.0}
