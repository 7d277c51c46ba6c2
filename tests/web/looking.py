"""A page in a real browser, everything it asked for, and everything that went wrong in it."""

from __future__ import annotations

import shutil
from typing import Any
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, Response

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chrome")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH: pages were not opened in a browser")
LARGEST = 300_000


class Watched:
    """A browser's window on one service."""

    def __init__(self, browser: Browser, base: str, **how: Any) -> None:
        self.base = base
        self.context = browser.new_context(**how)
        self.context.set_default_timeout(30_000)
        self.page: Page = self.context.new_page()
        self.asked: list[str] = []
        self.trouble: list[str] = []
        self.answers: list[str] = []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.trouble.append(str(error)))
        self.page.on("dialog", self._dialog)

    def _console(self, message: ConsoleMessage) -> None:
        """Hints for developers are none."""
        if message.type in ("error", "warning"):
            self.trouble.append(message.text)

    def _dialog(self, dialog: Dialog) -> None:
        """Answered where an answer is prepared; else it is trouble."""
        if self.answers:
            dialog.accept(self.answers.pop(0))
        else:
            self.trouble.append(dialog.message)
            dialog.dismiss()

    def __enter__(self) -> Watched:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()

    def open(self, path: str) -> Page:
        self.visit(path)
        return self.page

    def visit(self, path: str) -> Response:
        response = self.page.goto(f"{self.base}{path}")
        assert response is not None
        return response

    @property
    def strangers(self) -> list[str]:
        """Whatever was asked of another host."""
        own = urlsplit(self.base).netloc
        return [url for url in self.asked if urlsplit(url).scheme != "data" and urlsplit(url).netloc != own]

    def findings(self) -> list[tuple[str, list[str]]]:
        """Whatever axe finds, however slight, the size of what is pointed at included."""
        options = {"rules": {"target-size": {"enabled": True}}}
        found = Axe().run(self.page, options=options).response["violations"]
        return [(each["id"], [node["html"] for node in each["nodes"]][:4]) for each in found]
