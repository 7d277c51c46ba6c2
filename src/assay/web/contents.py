"""What there is to see: the modules that make pages, and the words of the bar above them. A new page is a module with
`routes()` and one line here."""

from __future__ import annotations

from typing import Protocol

from assay.web.pages import case, compare, run, runs, signing
from assay.web.sharing import Page


class Chapter(Protocol):
    """A module of pages."""

    def routes(self) -> list[Page]: ...


CHAPTERS: tuple[Chapter, ...] = (
    runs,
    run,
    case,
    compare,
    signing,
)

BAR: tuple[tuple[str, str], ...] = (("Runs", "/"),)
"""Word and address."""


def pages() -> list[Page]:
    return [page for chapter in CHAPTERS for page in chapter.routes()]
