"""The pages in a real Chromium, on the large store of `browsing`: what a tab's process holds after each page, with all
its folds open; and the most that one tab holds which opens all of them, at the pace of somebody who reads, and without
a pause. `HOWSURE_BENCH_STORE` names the folder of the store."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import uvicorn
from playwright.sync_api import Browser, sync_playwright

from bench.browsing import PAGES, Place, of_the_big_one, wanted
from bench.browsing_stock import workplace
from howsure.services.workspace import Host
from howsure.web.app import create_pages

MOST_MEGABYTES = 200
READING = 8_000.0
"""Milliseconds on a page. Chromium cleans up when it has nothing else to do, some seconds after a page was left."""
SETTLING = 2_000.0
"""Milliseconds in which freed memory goes back."""
OPEN_ALL = "document.querySelectorAll('details').forEach((fold) => { fold.open = true; })"
HELD = "performance.memory ? performance.memory.usedJSHeapSize / 1e6 : 0"


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address of the pages, served by a thread of their own."""
    up: Future[tuple[str, uvicorn.Server]] = Future()
    thread = Thread(target=lambda: asyncio.run(_serve(folder, up)), daemon=True)
    thread.start()
    base, server = up.result(60)
    yield base
    server.should_exit = True
    thread.join(60)


async def _serve(folder: Path, up: Future[tuple[str, uvicorn.Server]]) -> None:
    work = workplace(folder)
    async with await work.store() as store:
        app = create_pages(Host(work, store), keys_needed=False)
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, lifespan="off"))
        server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        task = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        up.set_result((f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}", server))
        await task


def renderers(browser: Browser) -> list[int]:
    """The processes that hold tabs."""
    found = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")
    return [each["id"] for each in found["processInfo"] if each["type"] == "renderer"]


def megabytes(process: int) -> float:
    """What it holds in memory, shared pages and all."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith("VmRSS"))


def visited(browser: Browser, page: Any, address: str, pause: float = 0.0) -> tuple[float, float]:
    """Megabytes of the process and of the objects in it, the most that was seen before and after a pause."""
    assert page.goto(address).ok, address
    page.wait_for_load_state("networkidle")
    page.evaluate(OPEN_ALL)
    page.wait_for_load_state("networkidle")
    before = max(megabytes(each) for each in renderers(browser))
    page.wait_for_timeout(pause)
    return max(before, *(megabytes(each) for each in renderers(browser))), page.evaluate(HELD)


def cleaned(browser: Browser, page: Any) -> tuple[float, float]:
    """The same when what nothing refers to is gone, as it is sooner or later."""
    page.context.new_cdp_session(page).send("HeapProfiler.collectGarbage")
    page.wait_for_timeout(SETTLING)
    return max(megabytes(each) for each in renderers(browser)), page.evaluate(HELD)


def measure(folder: Path, place: Place) -> None:
    with serving(folder) as base, sync_playwright() as playwright:
        flags = ["--no-sandbox", "--enable-precise-memory-info"]
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        print(f"{'page':<22}{'process':>12}{'objects':>12}")
        one = browser.new_page()
        for name in wanted():
            page = browser.new_page()
            process, held = visited(browser, page, base + PAGES[name](place))
            page.close()
            print(f"{name:<22}{process:>9.0f} MB{held:>9.1f} MB{' !' if process > MOST_MEGABYTES else ''}", flush=True)
        _walk(browser, one, [base + PAGES[name](place) for name in wanted()])
        browser.close()


def _walk(browser: Browser, page: Any, addresses: Sequence[str]) -> None:
    """All pages in one tab: read, and then as fast as they come."""
    for words, pause in (("all, 8 s on each", READING), ("all, without a pause", 0.0)):
        found = [visited(browser, page, address, pause) for address in addresses]
        process, held = (max(figures) for figures in zip(*found, strict=True))
        print(f"{words:<22}{process:>9.0f} MB{held:>9.1f} MB{' !' if pause and process > MOST_MEGABYTES else ''}")
    process, held = cleaned(browser, page)
    print(f"{'  garbage collected':<22}{process:>9.0f} MB{held:>9.1f} MB{' !' if process > MOST_MEGABYTES else ''}")


def main() -> None:
    folder = Path(os.environ.get("HOWSURE_BENCH_STORE", ""))
    if not (folder / "howsure.db").exists():
        sys.exit("set HOWSURE_BENCH_STORE to a folder, and let `python -m bench browsing` make the store there first")
    measure(folder, asyncio.run(of_the_big_one(folder))[1])


if __name__ == "__main__":
    main()
