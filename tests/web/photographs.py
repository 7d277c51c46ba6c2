"""Every page at three widths, in the light and in the dark, as pictures in a folder: `make photographs`. For looking
at, after something about the looks was changed."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from playwright.sync_api import Browser, sync_playwright

from web.everything import SHOWN, fill
from web.looking import CHROMIUM, Watched
from web.pages_served import serving
from web.stocked import PAGES
from web.walked import stock_walked

WIDTHS = (390, 768, 1440)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
HEIGHT = 900


def name_of(place: int, path: str) -> str:
    """`03-runs-triage`: where it is, without the ids."""
    words = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "", path.partition("?")[0])
    return f"{place:02}-{re.sub(r'[^a-z0-9]+', '-', words.lower()).strip('-') or 'home'}"


def photograph(browser: Browser, base: str, path: str, name: str, folder: Path) -> int:
    """One page, six times."""
    for scheme in SCHEMES:
        with Watched(browser, base, color_scheme=scheme, viewport={"width": WIDTHS[0], "height": HEIGHT}) as watched:
            page = watched.open(path)
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": HEIGHT})
                page.screenshot(path=folder / f"{name}-{width}-{scheme}.png", full_page=True)
    return len(SCHEMES) * len(WIDTHS)


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "photographs").resolve()
    if CHROMIUM is None:
        sys.exit("photographs need Chromium (Debian: apt-get install chromium)")
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as data, serving(Path(data), working=False) as served, sync_playwright() as playwright:
        there = served.do(fill(served))
        served.do(stock_walked(served.store))
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        paths = dict.fromkeys([*map(there.filled, SHOWN), *there.others, *PAGES.values()])
        made = sum(
            photograph(browser, served.base, path, name_of(place, path), folder) for place, path in enumerate(paths, 1)
        )
        browser.close()
    print(f"{made} pictures of {len(paths)} pages in {folder}")


if __name__ == "__main__":
    main()
