"""The HTML report in a real browser: it opens offline and asks for nothing, whoever wrote the text in it; it can be
read without its program, in the dark, on a telephone, on paper and by a machine that reads aloud."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Dialog, Page, expect, sync_playwright

from hostile import HTML, hostile_results, hostile_summary
from howsure.model.comparison import CaseFlip, Comparison
from howsure.model.result import Result
from howsure.model.summary import Summary
from howsure.model.verdict import Verdict
from howsure.reports.html.page import HtmlPage as Written
from howsure.reports.html.page import ResultCollector, write_html
from howsure.testing import a_case, a_transcript
from unit.reports.comparisons import FAILED, PASSED, compared, comparison, whole
from unit.reports.northwind import (
    SUPPORT_PINS,
    a_result,
    refund_results,
    stream,
    summary_of,
    support_results,
)

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH: the report was not opened in a browser")
Scheme = Literal["light", "dark"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


class Watched:
    """A page, everything it asked for, and everything that went wrong in it."""

    def __init__(self, browser: Browser, **how: Any) -> None:
        self.context = browser.new_context(**how)
        self.page: Page = self.context.new_page()
        self.asked: list[str] = []
        self.trouble: list[str] = []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("console", lambda message: self.trouble.append(message.text))
        self.page.on("pageerror", lambda error: self.trouble.append(str(error)))
        self.page.on("dialog", self._refuse)

    def _refuse(self, dialog: Dialog) -> None:
        self.trouble.append(dialog.message)
        dialog.dismiss()

    def __enter__(self) -> Watched:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()

    def open(self, path: Path, fragment: str = "") -> Page:
        self.page.goto(f"{path.as_uri()}{fragment}")
        self.page.wait_for_selector("html[data-ready]", state="attached")
        return self.page


def written(folder: Path, results: Sequence[Result], comparison: Comparison | None = None, **fields: Any) -> Path:
    return write(folder / "report.html", summary_of(results, **fields), results, comparison)


def write(path: Path, summary: Summary, results: Sequence[Result], comparison: Comparison | None) -> Path:
    """In a thread of its own: this one has the loop of the browser's driver."""
    with ThreadPoolExecutor(1) as threads:
        threads.submit(asyncio.run, write_html(summary, stream(results), path, comparison)).result()
    return path


def cases(page: Page) -> list[str]:
    return page.locator(".case .id").all_inner_texts()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_passes_an_accessibility_check_with_a_case_open(
    browser: Browser, tmp_path: Path, scheme: Scheme, width: int
) -> None:
    path = written(tmp_path, support_results(), comparison(), pins={**SUPPORT_PINS, "judge": "offline"})
    with Watched(browser, color_scheme=scheme, viewport={"width": width, "height": 900}) as watched:
        page = watched.open(path)
        page.locator(".case button").first.click()
        expect(page.locator(".detail")).to_be_visible()
        found = Axe().run(page).response["violations"]
        assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in found] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_it_asks_nothing_of_any_host_and_says_nothing_wrong(browser: Browser, tmp_path: Path) -> None:
    path = written(tmp_path, refund_results(), comparison())
    with Watched(browser) as watched:
        page = watched.open(path)
        page.locator(".case button").first.click()
        page.get_by_label("search").fill("kettle")
        page.wait_for_timeout(400)
        assert {url.split("#")[0] for url in watched.asked} <= {path.as_uri(), "data:,"}
        assert watched.trouble == []


def test_without_javascript_the_summary_and_the_worst_cases_are_there(browser: Browser, tmp_path: Path) -> None:
    path = written(tmp_path, support_results(), comparison(), pins=SUPPORT_PINS)
    with Watched(browser, java_script_enabled=False) as watched:
        watched.page.goto(path.as_uri())
        shown = watched.page.locator("body").inner_text()
        for text in (
            "1 of 3 passed (33.3 %, likely 2–79 %). 1 errored: not counted as failures.",
            "after is better than before",
            "No invented amounts",
            "each rubric rule",
            "Checks × cases",
            "Without JavaScript the first 4 of 4 results are listed",
            "item-3",
        ):
            assert text in shown
        assert not watched.page.locator(".tools").is_visible()


@pytest.mark.parametrize(
    ("fragment", "shown"),
    [
        ("", ["refund-03", "refund-06", "refund-08", "refund-11", "refund-12", "refund-01"]),
        ("#verdict=failed", ["refund-03", "refund-06", "refund-08"]),
        ("#order=file", ["refund-01", "refund-02", "refund-03", "refund-04", "refund-05", "refund-06"]),
        ("#order=slow&verdict=failed", ["refund-08", "refund-06", "refund-03"]),
        ("#grader=TargetFailed", ["refund-11"]),
        ("#tag=difficulty%3A+hard", ["refund-03", "refund-06", "refund-08"]),
        ("#search=gift", ["refund-04"]),
    ],
)
def test_cases_are_filtered_and_sorted_and_the_address_says_how(
    browser: Browser, tmp_path: Path, fragment: str, shown: list[str]
) -> None:
    with Watched(browser) as watched:
        page = watched.open(written(tmp_path, refund_results()), fragment)
        expect(page.locator(".case .id").first).to_have_text(shown[0])
        assert cases(page)[: len(shown)] == shown
        assert fragment == "" or page.locator(".showing").inner_text().startswith("showing")


def test_a_search_finds_what_was_only_said_in_the_conversation(browser: Browser, tmp_path: Path) -> None:
    with Watched(browser) as watched:
        page = watched.open(written(tmp_path, refund_results()))
        page.get_by_label("search").fill("depot yesterday")
        expect(page.locator(".case .id")).to_have_text(["refund-05"])
        page.get_by_role("button", name="clear the filters").click()
        expect(page.locator(".case .id")).to_have_count(12)


def test_a_case_opens_with_its_talk_calls_reasons_and_evidence(browser: Browser, tmp_path: Path) -> None:
    with Watched(browser) as watched:
        page = watched.open(written(tmp_path, refund_results()))
        page.locator(".case button", has_text="refund-06").click()
        detail = page.locator(".detail")
        expect(detail.locator(".verdict")).to_contain_text("issued a refund that policy forbids")
        assert detail.locator(".turn .role").all_inner_texts() == ["user", "assistant", "assistant", "assistant"]
        expect(detail).to_contain_text("→ issue_refund(order_id 4476, amount 18)")
        assert detail.locator("mark").inner_text().startswith("No problem at all! I've gone ahead and refunded $18.00")
        detail.get_by_role("button", name="evidence 1").click()
        expect(detail.locator("mark.shown")).to_be_focused()
        assert "case=refund-06" in page.url


def test_what_goes_wrong_leads_to_its_cases_and_a_column_to_its_case(browser: Browser, tmp_path: Path) -> None:
    with Watched(browser) as watched:
        page = watched.open(written(tmp_path, support_results(), pins=SUPPORT_PINS))
        page.locator(".common a", has_text="Names the accrual rate").click()
        expect(page.locator(".case .id")).to_have_text(["8b1f0000"])
        page.locator(".matrix thead a", has_text="item-2").click()
        expect(page.locator(".case.open .id")).to_have_text("item-2")
        expect(page.locator(".case .id")).to_have_count(4)


def test_a_flip_leads_to_its_case_and_can_be_filtered_by(browser: Browser, tmp_path: Path) -> None:
    flips = (
        CaseFlip(case_id="refund-06", first=PASSED, second=FAILED),
        CaseFlip(case_id="refund-02", first=FAILED, second=PASSED),
    )
    with Watched(browser) as watched:
        page = watched.open(written(tmp_path, refund_results(), comparison(compared(flips=flips))))
        page.locator(".flips a", has_text="refund-02").click()
        expect(page.locator(".case.open .id")).to_have_text("refund-02")
        page.locator("#change").select_option("worse")
        expect(page.locator(".case .id")).to_have_text(["refund-06"])


def test_repeats_are_one_line_and_can_be_told_apart(browser: Browser, tmp_path: Path) -> None:
    results = [
        a_result(verdict, case=a_case(id="q1"), repeat=repeat, transcript=a_transcript(f"try {repeat}"))
        for repeat, verdict in ((1, Verdict.PASSED), (2, Verdict.FAILED), (3, Verdict.PASSED))
    ]
    with Watched(browser) as watched:
        page = watched.open(written(tmp_path, results))
        expect(page.locator(".showing")).to_have_text("showing 1 of 1 case, 3 results")
        page.locator(".case button").first.click()
        expect(page.locator(".detail")).to_contain_text("try 2")
        page.keyboard.press("]")
        expect(page.locator(".detail")).to_contain_text("try 3")
        assert "repeat=3" in page.url


def test_keys_go_from_failure_to_failure_and_can_be_switched_off(browser: Browser, tmp_path: Path) -> None:
    with Watched(browser) as watched:
        page = watched.open(written(tmp_path, refund_results()))
        opened = page.locator(".case.open .id")
        for id in ("refund-03", "refund-06"):
            page.keyboard.press("n")
            expect(opened).to_have_text(id)
        page.keyboard.press("u")
        expect(opened).to_have_count(0)
        page.keyboard.press("?")
        page.get_by_label("single keys on").uncheck()
        page.get_by_role("button", name="close").click()
        page.keyboard.press("n")
        expect(opened).to_have_count(0)


def test_hostile_text_is_inert_in_every_field(browser: Browser, tmp_path: Path) -> None:
    results = hostile_results()
    path = write(tmp_path / "hostile.html", hostile_summary(results), results, comparison(whole()))
    with Watched(browser) as watched:
        page = watched.open(path)
        for text in ("alert(1)", "planted", "red"):
            page.get_by_label("search").fill(text)
            page.wait_for_timeout(300)
            for place in range(min(page.locator(".case > button").count(), 6)):
                page.locator(".case > button").nth(place).click()
                expect(page.locator(".detail")).to_be_visible()
        assert watched.trouble == []
        assert {url.split("#")[0] for url in watched.asked} <= {path.as_uri(), "data:,"}
        assert page.locator("img, iframe, injected, script[src]").count() == 0
        assert page.title() == f"{HTML[0]} · Howsure"
        page.get_by_role("button", name="clear the filters").click()
        visible = page.locator("body").inner_text()
        assert not re.search(r"[\x1b\x9b\u202a-\u202e\u2066-\u2069]", visible)


def test_it_prints_without_its_furniture_and_in_light_colours(browser: Browser, tmp_path: Path) -> None:
    with Watched(browser, color_scheme="dark") as watched:
        page = watched.open(written(tmp_path, refund_results()))
        page.locator(".case button").first.click()
        page.emulate_media(media="print")
        assert not page.locator(".tools").is_visible()
        assert page.locator(".detail").is_visible()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert page.pdf().startswith(b"%PDF-")


def test_a_file_that_is_full_tells_how_to_see_what_is_left_out(browser: Browser, tmp_path: Path) -> None:
    results = [a_result(case=a_case(id=f"it's {place}"), transcript=a_transcript("x" * 9_000)) for place in range(60)]
    path = tmp_path / "full.html"
    with ResultCollector() as gathered, path.open("w", encoding="utf-8") as file:
        for result in results:
            gathered.add(result)
        Written(summary_of(results), gathered, limit=400_000).write(file)
    with Watched(browser) as watched:
        page = watched.open(path)
        page.locator(".case > button").last.click()
        expect(page.locator(".detail code")).to_have_text("howsure show 3f2a9c1b 'it'\"'\"'s 59'")
        expect(page.locator("#left-out")).to_contain_text("results are not in this file")


@pytest.mark.slow
def test_ten_thousand_cases_are_listed_in_pages_and_any_of_them_opens(browser: Browser, tmp_path: Path) -> None:
    results = [
        a_result(
            Verdict.FAILED if place % 10 == 0 else Verdict.PASSED,
            case=a_case(id=f"case-{place:05}", message=f"Question {place}?"),
            transcript=a_transcript(f"answer {place} " + "of some length " * 20),
        )
        for place in range(10_000)
    ]
    path = written(tmp_path, results)
    assert path.stat().st_size < 20_000_000
    with Watched(browser) as watched:
        page = watched.open(path)
        expect(page.locator(".showing")).to_have_text("showing 100 of 10,000 cases")
        page.get_by_role("button", name="show 100 more of 9,900").click()
        expect(page.locator(".case")).to_have_count(200)
        page.goto(f"{path.as_uri()}#case=case-09999")
        expect(page.locator(".case.open .detail")).to_contain_text("answer 9999 of some length")
        assert watched.trouble == []
