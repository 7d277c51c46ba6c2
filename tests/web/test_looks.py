"""Every page in a real browser: read by machines that read aloud, in the light and in the dark, wide and narrow; asking
nothing of any other host, and saying nothing wrong."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from web.looking import LARGEST, Watched, needs_chromium
from web.pages_served import Served
from web.stocked import PAGES

pytestmark = needs_chromium


@pytest.mark.parametrize("page", PAGES)
def test_a_page_can_be_read_by_everybody(browser: Browser, stocked: Served, page: str) -> None:
    with Watched(browser, stocked.base, color_scheme="light", viewport={"width": 1440, "height": 900}) as watched:
        response = watched.visit(PAGES[page])
        assert response.status == (404 if page == "missing" else 200)
        assert len(response.body()) < LARGEST
        assert "script-src 'self'" in response.headers["content-security-policy"]
        assert wide(watched) <= 1440
        watched.page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
        watched.page.wait_for_load_state("networkidle")
        assert watched.findings() == []
        watched.page.emulate_media(color_scheme="dark")
        assert watched.findings() == []
        assert watched.strangers == []
        assert len(watched.trouble) == (1 if page == "missing" else 0), watched.trouble
        watched.page.set_viewport_size({"width": 390, "height": 844})
        assert wide(watched) <= 390


def test_a_part_that_does_not_come_leaves_its_link_and_no_connection(browser: Browser, stocked: Served) -> None:
    with Watched(browser, stocked.base) as watched:
        page = watched.open(PAGES["run"])
        page.evaluate("document.querySelector('#triage').dataset.part = '/runs/none/triage'")
        with page.expect_event("requestfinished", lambda request: "/runs/none/" in request.url):
            page.evaluate("document.querySelector('#triage').closest('details').open = true")
        assert page.locator("#triage a").inner_text() == "Show the triage"


def wide(watched: Watched) -> int:
    found: int = watched.page.evaluate("document.documentElement.scrollWidth")
    return found


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("runs", ["support-v1", "going on", "6 runs, 1 going on"]),
        ("run", ["What goes wrong", "Names the accrual rate", "Judged offline", "Checks × cases", "item-3"]),
        ("run all", ["7 of 10 passed (70.0 %, likely 40–89 %)", "refund-01", "1–12 of 12"]),
        ("case", ["refund-03", "lookup_order", "tool usage accuracy", "call_llm"]),
        ("compare", ["Broken by the newer: 1", "Fixed by the newer: 1", "refund-03"]),
        ("agent", ["northwind-support", "pass rate", "support-v2"]),
        ("triage", ["Answerable"]),
        ("charts", ["Time of an answer"]),
    ],
)
def test_without_javascript_everything_can_be_read(
    browser: Browser, stocked: Served, page: str, said: list[str]
) -> None:
    with Watched(browser, stocked.base, java_script_enabled=False) as watched:
        shown = watched.open(PAGES[page]).locator("main").inner_text()
        assert [text for text in said if text not in shown] == []
