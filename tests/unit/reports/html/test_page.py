"""The page that opens offline. What a browser makes of it is in tests/browser; here, that it asks nothing of anybody,
that nothing foreign becomes markup, that its data are right, and that it never grows too large. The words and figures
of the page's head."""

from __future__ import annotations

import gc
import re
from base64 import b64encode
from collections.abc import AsyncIterator
from hashlib import sha256
from io import StringIO
from pathlib import Path

import pytest

from hostile import HOSTILE, HTML, hostile_results, hostile_summary
from howsure.model.result import Result
from howsure.model.run import Counts
from howsure.model.score import Score
from howsure.model.verdict import Verdict
from howsure.reports.html.page import (
    MAX_FILE_BYTES,
    MAX_PLAIN_BYTES,
    SHOWN_ROWS,
    HtmlPage,
    ResultCollector,
    head_context,
    write_html,
    write_page,
)
from howsure.reports.html.run_head import interval_in_words, verdict_segments
from howsure.testing import a_case, a_transcript
from unit.reports.comparisons import comparison
from unit.reports.html.pages import Seen, page
from unit.reports.northwind import SUPPORT_PINS, a_result, refund_results, stream, summary_of, support_results


async def hostile_page() -> str:
    results, file = hostile_results(), StringIO()
    await write_page(hostile_summary(results), stream(results), file, comparison())
    return file.getvalue()


async def test_nothing_foreign_becomes_markup_wherever_it_is_planted() -> None:
    usual = Seen(await page(support_results(), comparison(), pins=SUPPORT_PINS))
    hostile = Seen(await hostile_page())
    assert {tag for tag, _ in hostile.elements} - {tag for tag, _ in usual.elements} <= {"footer", "li"}
    assert not {"img", "iframe", "injected"} & {tag for tag, _ in hostile.elements}
    assert not any(name.startswith("on") for _, attributes in hostile.elements for name in attributes)
    assert not any("style" in attributes for _, attributes in hostile.elements)
    links = {attributes["href"] for _, attributes in hostile.elements if attributes.get("href")}
    assert {str(link)[:1] for link in links} <= {"#", "d"}
    assert sum(not attributes for attributes, _ in hostile.scripts) == 1


async def test_no_control_or_direction_character_reaches_the_page() -> None:
    text = await hostile_page()
    left = set(re.findall(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]", text))
    assert left == set()
    assert "␛[31mred" in text
    assert "\\u202egnp.exe" in text


async def test_what_an_agent_says_is_whole_in_the_data() -> None:
    seen = Seen(await hostile_page())
    said = {block["talk"][-1]["text"] for block in seen.blocks}
    assert said >= set(HTML)
    assert len(seen.blocks) == len(seen.entries) == 4 * len(HOSTILE)


async def test_the_page_asks_nothing_of_any_host() -> None:
    text = await page(refund_results(), comparison())
    elements = Seen(text).elements
    links = [attributes.get(name) for _, attributes in elements for name in ("src", "href", "action", "srcset")]
    assert {link for link in links if link and not link.startswith("#")} == {"data:,"}
    style = text[text.index("<style>") : text.index("</style>")]
    assert not re.search(r"url\(|@import", style)
    assert not re.search(r"\bfetch\(|XMLHttpRequest|import\(|WebSocket|sendBeacon", text)


async def test_only_our_own_style_and_program_may_run() -> None:
    text = await page(support_results())
    seen = Seen(text)
    policy = next(attributes["content"] for _, attributes in seen.elements if "http-equiv" in attributes)
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    assert style is not None
    hashes = [b64encode(sha256(source.encode()).digest()).decode() for source in (seen.program, style[1])]
    assert policy == (
        f"default-src 'none'; script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    assert not any("style" in attributes for _, attributes in seen.elements)


async def test_the_program_never_turns_text_into_markup() -> None:
    program = Seen(await page([])).program
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", program)


async def test_every_result_has_an_entry_and_a_block_the_worst_first() -> None:
    results = [*refund_results("v1"), *refund_results("v2", 2)]
    seen = Seen(await page(results))
    verdicts = [one["verdict"] for one in seen.entries]
    assert verdicts == ["failed"] * 6 + ["errored"] * 2 + ["skipped"] * 2 + ["passed"] * 14
    assert [one["place"] for one in seen.entries][:8] == [2, 5, 7, 14, 17, 19, 10, 22]
    assert [block["reasons"][0] for block in seen.blocks][8] == "needs a judge"
    assert seen.entries[9] == {
        "place": 23,
        "id": "refund-12",
        "candidate": "v2",
        "repeat": 2,
        "verdict": "skipped",
        "asked": "Explain your refund policy in simple words.",
        "why": "needs a judge",
        "failing": [],
        "tags": [],
        "seconds": None,
        "wrong": [],
        "change": "",
    }


async def test_what_goes_wrong_is_in_the_page_itself_the_severe_first() -> None:
    seen = Seen(await page(support_results(), pins=SUPPORT_PINS))
    told = seen.words[seen.words.index("What goes wrong most often") : seen.words.index("Pass rates")]
    assert told == (
        "What goes wrong most often "
        "failed 1 of 4 high No invented amounts rubric "
        "errored 1 of 4 high No invented amounts rubric "
        "failed 1 of 4 Names the accrual rate criteria "
        "errored 1 of 4 Apologises criteria "
        "Only measured: these do not decide any verdict "
        "failed 1 of 4 medium Brief, focused replies rubric "
        "failed 1 of 4 low Names the policy it follows rubric "
    )


async def test_the_head_says_the_sentence_what_it_means_the_counts_and_each_rate() -> None:
    words = Seen(await page(refund_results())).words
    assert "7 of 10 passed (70.0 %, likely 40–89 %). 1 errored and 1 skipped: not counted as failures." in words
    assert "between 40 and 89 of every 100 would likely pass. 10 decided cases cannot say it more closely." in words
    assert "7 passed + 3 failed + 1 errored + 1 skipped + 0 pending = 12" in words
    assert "tool usage accuracy 70.0 % [40–89]" in words


async def test_the_offline_judge_has_a_banner() -> None:
    assert "Judged offline" in Seen(await page(refund_results(), pins={"judge": "offline"})).text


async def test_a_page_without_a_program_lists_the_worst_cases() -> None:
    seen = Seen(await page(refund_results()))
    cases = seen.words[seen.words.index("Without JavaScript the first 12 of 12 results") :]
    assert cases.index("refund-03") < cases.index("refund-11") < cases.index("refund-12") < cases.index("refund-01")
    assert "Tool usage accuracy is 0.50, 1.00 is needed: refunded outside the 30-day window." in cases


async def test_an_empty_run_is_a_page_too() -> None:
    seen = Seen(await page([]))
    assert "There were no cases to try." in seen.text
    assert (seen.entries, seen.blocks) == ([], [])
    assert "not in this file" not in seen.text


async def test_a_baseline_comes_before_the_run_in_detail_and_the_flips_before_the_differences() -> None:
    seen = Seen(await page(refund_results(), comparison()))
    words = seen.words
    order = ["Against the baseline: before", "1 case got worse", "q7", "2 cases got better", "pass rate", "Pass rates"]
    assert [words.index(text) for text in order] == sorted(words.index(text) for text in order)
    assert "after is better than before: 85.0 % of 60 paired cases passed against 70.0 %" in words
    assert "Unlike: The judge differs: offline and openai:x" in words
    assert "#case=q7&by=" in {attributes.get("href") for _, attributes in seen.elements}


async def test_results_are_not_kept_while_the_page_is_written() -> None:
    alive: list[int] = []

    async def results() -> AsyncIterator[Result]:
        for place in range(10):
            yield a_result(case=a_case(id=f"q{place}"))
            alive.append(sum(type(each) is Result for each in gc.get_objects()))

    before = sum(type(each) is Result for each in gc.get_objects())
    await write_page(summary_of([]), results(), StringIO())
    assert max(alive) - before <= 2


@pytest.mark.parametrize(("number", "type"), [(3, "application/json"), (MAX_PLAIN_BYTES // 15_000, "text/plain")])
async def test_a_large_run_is_packed_and_reads_the_same(number: int, type: str) -> None:
    results = [a_result(case=a_case(id=f"q{place}"), transcript=a_transcript("x" * 15_000)) for place in range(number)]
    results.append(a_result(Verdict.FAILED, case=a_case(id="bad")))
    seen = Seen(await page(results))
    assert {attributes["type"] for attributes, _ in seen.scripts if attributes.get("class")} == {type}
    assert [one["id"] for one in seen.entries] == ["bad", *(f"q{place}" for place in range(number))]
    assert [len(block["talk"][-1]["text"]) for block in seen.blocks] == [6, *[15_000] * number]


async def test_a_file_that_is_full_leaves_out_what_passed_and_says_so() -> None:
    file, results = StringIO(), [noisy(place) for place in range(400)]
    with ResultCollector() as gathered:
        for result in results:
            gathered.add(result)
        made = HtmlPage(summary_of(results), gathered, limit=400_000)
        made.write(file)
    text = file.getvalue()
    seen = Seen(text)
    assert len(text.encode()) <= 400_000
    assert len(seen.entries) == 400
    assert 40 <= len(seen.blocks) == made.kept < 400
    assert {one["verdict"] for one in seen.entries[:40]} == {"failed"}
    assert f"The conversations of {400 - made.kept} of 400 results are not in this file" in seen.words
    assert "howsure show 3f2a9c1b CASE" in seen.words


def noisy(place: int) -> Result:
    """Text that packs badly; every tenth fails."""
    said = "".join(sha256(f"{place} {line}".encode()).hexdigest() for line in range(80))
    verdict = Verdict.PASSED if place % 10 else Verdict.FAILED
    return a_result(verdict, case=a_case(id=f"q{place}"), transcript=a_transcript(said))


@pytest.mark.thorough
async def test_ten_thousand_cases_stay_below_twenty_megabytes(tmp_path: Path) -> None:
    """However badly they pack: there are 51 MB of noise here."""
    path = tmp_path / "report.html"

    async def results() -> AsyncIterator[Result]:
        for place in range(10_000):
            yield noisy(place)

    await write_html(summary_of([]), results(), path)
    seen = Seen(path.read_text("utf-8"))
    assert path.stat().st_size <= MAX_FILE_BYTES < 20_000_000
    assert len(seen.entries) == 10_000
    assert len(seen.blocks) > 1_000
    assert sum(tag == "li" for tag, _ in seen.elements) < 200


def test_the_stretches_of_the_bar_follow_each_other_and_fill_it() -> None:
    assert verdict_segments(Counts(total=8, passed=4, failed=2, errored=1)) == [
        ("passed", 4, 0.0, 50.0),
        ("failed", 2, 50.0, 25.0),
        ("errored", 1, 75.0, 12.5),
        ("skipped", 0, 87.5, 0.0),
        ("pending", 1, 87.5, 12.5),
    ]
    assert {length for _, _, _, length in verdict_segments(Counts())} == {0.0}


@pytest.mark.parametrize(
    ("passed", "failed", "told"),
    [
        (0, 0, ""),
        (7, 3, "between 40 and 89 of every 100 would likely pass. 10 decided cases cannot say it more closely."),
        (1, 0, "between 21 and 100 of every 100 would likely pass. 1 decided case cannot say it more closely."),
        (800, 200, "between 77 and 82 of every 100 would likely pass."),
    ],
)
def test_the_interval_is_said_in_words(passed: int, failed: int, told: str) -> None:
    verdicts = [Verdict.PASSED] * passed + [Verdict.FAILED] * failed
    results = [a_result(verdict, case=a_case(id=str(place))) for place, verdict in enumerate(verdicts)]
    expected = f"If it met many more cases like these, {told}" if told else ""
    assert interval_in_words(summary_of(results)) == expected


def test_several_candidates_have_no_meaning_in_common() -> None:
    assert interval_in_words(summary_of([*refund_results("v1"), *refund_results("v2")])) == ""


def test_graders_that_judge_and_those_that_measure_are_apart() -> None:
    words = head_context(summary_of(refund_results()))
    judged, measured = words["judged"], words["measured"]
    assert [line.name for line in judged] == ["tool_usage_accuracy"]
    assert [(line.name, line.absent) for line in measured] == [
        ("response_correctness", "1 no judge"),
        ("token_usage", ""),
        ("latency_metrics", ""),
    ]


def test_criteria_rules_and_components_have_their_rates() -> None:
    checks = head_context(summary_of(support_results(), pins=SUPPORT_PINS))["checks"]
    assert [(check.name, str(check.rate), check.scoped) for check in checks] == [
        ("each criterion", "75.0 % [30–99] n 4", False),
        ("each rubric rule", "78.6 % [52–92] n 14", False),
        ("about prompt", "75.0 % [30–99] n 4", True),
        ("about knowledge base", "66.7 % [21–98] n 3", True),
        ("about function", "66.7 % [21–98] n 3", True),
        ("about general", "100.0 % [51–100] n 4", True),
    ]


def test_a_table_of_very_many_lines_is_cut_and_counts_what_is_left_out() -> None:
    results = [
        a_result(candidate=f"c{place}", grades=(Score(name="w", value=1.0, pass_mark=1.0),))
        for place in range(SHOWN_ROWS + 7)
    ]
    words = head_context(summary_of(results))
    assert words["rates_left_out"] == "14 lines"
    assert [len(words["candidates"]), len(words["judged"])] == [SHOWN_ROWS, SHOWN_ROWS]
