"""One browser and one stocked service for all tests of the pages that only look."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from web.looking import CHROMIUM
from web.pages_served import Served, serving
from web.stocked import stock

# A machine that does much else besides is slow, not wrong.
expect.set_options(timeout=20_000)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="session")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """For reading; who changes something serves a store of their own."""
    with serving(tmp_path_factory.mktemp("stocked"), working=False) as served:
        served.do(stock(served.store))
        yield served
