"""Text from agents, users and judges is inert on every page."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser

from hostile import HOSTILE, HTML
from web.everything import QUERIES, SHOWN, Everything, fill
from web.looking import LARGEST, Watched, needs_chromium
from web.pages_served import Served, serving
from web.stocked import NASTY, NASTY_TEXT, OLDER

pytestmark = needs_chromium
OURS = "script:not([src^='/static/']), img, iframe, object, embed, base, main svg foreignObject, [onload], [onerror]"
NASTY_PAGES = {
    "runs": "/?q=script",
    "a search": f"/?{urlencode({'q': NASTY_TEXT, 'agent_id': NASTY_TEXT, 'test': NASTY_TEXT})}",
    "run": f"/runs/{NASTY}?verdict=all",
    "run, filtered": f"/runs/{NASTY}?{urlencode({'tag': NASTY_TEXT, 'grader': NASTY_TEXT, 'q': NASTY_TEXT})}",
    "charts": f"/runs/{NASTY}/charts",
    "triage": f"/runs/{NASTY}/triage",
    "compare": f"/compare?run={NASTY}&run={OLDER}",
    "compare case": f"/compare/case?{urlencode([('run', NASTY), ('run', OLDER), ('case', NASTY_TEXT)])}",
    "agents": "/agents",
    "agent": f"/agent?{urlencode({'id': NASTY_TEXT})}",
    "nothing": f"/runs/{urlencode({'x': NASTY_TEXT})}",
    "sign in": f"/sign-in?{urlencode({'next': 'javascript:alert(1)//' + NASTY_TEXT})}",
}


@pytest.mark.parametrize("page", NASTY_PAGES)
def test_hostile_text_does_nothing(browser: Browser, stocked: Served, page: str) -> None:
    with Watched(browser, stocked.base) as watched:
        response = watched.visit(NASTY_PAGES[page])
        assert len(response.body()) < LARGEST
        watched.page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
        watched.page.wait_for_load_state("networkidle")
        check_inert(watched)


def test_hostile_text_does_nothing_in_any_case(browser: Browser, stocked: Served) -> None:
    with Watched(browser, stocked.base) as watched:
        for place in range(0, 4 * len(HOSTILE), 3):
            watched.visit(f"/runs/{NASTY}/cases/{place}?verdict=all")
            check_inert(watched)
            assert watched.page.locator(".turn").count() > 0


def check_inert(watched: Watched) -> None:
    assert watched.page.locator(OURS).count() == 0
    assert watched.strangers == []
    assert [text for text in watched.trouble if "404" not in text and "422" not in text] == []
    assert "{{ 7" not in watched.page.content() or "49" not in watched.page.title()


def test_what_was_said_can_be_seen_as_it_was(browser: Browser, stocked: Served) -> None:
    with Watched(browser, stocked.base) as watched:
        shown = watched.open(f"/runs/{NASTY}/cases/0?verdict=all").locator("main").inner_text()
        assert HTML[0] in shown


@pytest.mark.parametrize("sign", ["\x1b", "\u202e", "\u2066", "\x07"])
def test_what_cannot_be_seen_is_shown_as_a_symbol(browser: Browser, stocked: Served, sign: str) -> None:
    place = 4 * next(number for number, text in enumerate(HOSTILE) if sign in text)
    with Watched(browser, stocked.base) as watched:
        for path in (f"/runs/{NASTY}/cases/{place}", f"/runs/{NASTY}?verdict=all"):
            page = watched.open(path)
            titles = page.evaluate("[...document.querySelectorAll('[title]')].map((each) => each.title).join(' ')")
            assert sign not in page.evaluate("document.body.innerText") + titles


FOREIGN = (
    "script:not([src^='/static/']), img, iframe, object, embed, base, foreignObject, [onload], [onerror], [onclick]"
)
ABOUT_RUNS = ("/compare", "/compare/case", "/agent")
"""Planted in test_inert.py: their addresses are made of the planted text itself."""


@pytest.fixture(scope="module", params=[HTML[0], HTML[2], HTML[4]], ids=["script", "attribute", "closing tags"])
def planted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planted]:
    with serving(tmp_path_factory.mktemp("planted"), working=False) as served:
        yield served, served.do(fill(served, request.param, NASTY)), request.param


Planted = tuple[Served, Everything, str]


def test_it_does_nothing_on_any_page(browser: Browser, planted: Planted) -> None:
    served, there, words = planted
    addresses = [there.filled(path) for path in SHOWN if path not in ABOUT_RUNS]
    seen = 0
    with Watched(browser, served.base) as watched:
        for address in [*addresses, *there.others]:
            response = watched.visit(address)
            assert (response.status, len(response.body()) < LARGEST) == (200, True), address
            watched.page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
            assert watched.page.locator(FOREIGN).count() == 0, address
            assert watched.trouble == [], address
            seen += words in watched.page.locator("body").inner_text()
        assert watched.strangers == []
    # It is there to be read: had it not been planted, nothing would have been tried.
    assert seen > 15
    assert set(ABOUT_RUNS) <= set(QUERIES)
