"""Hostile text planted in everything that anybody may write (rubrics, test sets, questions, datasets, labels, keys,
runs, results) does nothing on any page that the pages have."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from hostile import HTML
from web.everything import NASTY, QUERIES, SHOWN, Everything, fill
from web.looking import LARGEST, Watched, needs_chromium
from web.pages_served import Served, serving

pytestmark = needs_chromium
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
