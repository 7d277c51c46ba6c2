"""What there is to see: the modules that make pages, and the words of the bar above them. A new page is a module with
`routes()` and one line here."""

from __future__ import annotations

from typing import Protocol

from assay.web.pages import (
    agent,
    agents,
    case,
    charts,
    compare,
    compare_case,
    demo,
    editor,
    editor_files,
    judges,
    label,
    label_agreement,
    label_home,
    library,
    library_document,
    library_versions,
    run,
    runs,
    settings,
    signing,
    starting,
    steering,
    triage,
)
from assay.web.sharing import Page


class Chapter(Protocol):
    """A module of pages."""

    def routes(self) -> list[Page]: ...


CHAPTERS: tuple[Chapter, ...] = (
    runs,
    run,
    charts,
    triage,
    steering,
    case,
    compare,
    compare_case,
    agents,
    agent,
    demo,
    signing,
    editor_files,
    editor,
    library_versions,
    library_document,
    library,
    starting,
    settings,
    label_agreement,
    label,
    label_home,
    judges,
)

BAR: tuple[tuple[str, str], ...] = (
    ("Runs", "/"),
    ("Agents", "/agents"),
    ("Test sets", "/library/test-sets"),
    ("Rubrics", "/library/rubrics"),
    ("Label", "/label"),
    ("Judges", "/judges"),
)
"""Word and address."""


def pages() -> list[Page]:
    return [page for chapter in CHAPTERS for page in chapter.routes()]
