"""Whatever agents, users, judges and files said is shown as text, on every page, and does nothing."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser

from hostile import HOSTILE, HTML
from web.looking import LARGEST, Watched, needs_chromium
from web.pages_served import Served
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
