"""What there is to see: the modules that make pages, and the words of the bar above them. A new page is a module with
`routes()` and one line here."""

from __future__ import annotations

from typing import Protocol

from howsure.web.pages import (
    again,
    agent,
    agents,
    attachments,
    case,
    charts,
    compare,
    compare_case,
    demo,
    editor,
    editor_files,
    events,
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
from howsure.web.sharing import Page


class Chapter(Protocol):
    """A module of pages."""

    def routes(self) -> list[Page]: ...


CHAPTERS: tuple[Chapter, ...] = (
    runs,
    run,
    charts,
    triage,
    events,
    again,
    steering,
    case,
    attachments,
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

BAR: tuple[tuple[str, str, str], ...] = (
    ("Runs", "/", "r"),
    ("Agents", "/agents", "a"),
    ("Test sets", "/library/test-sets", "t"),
    ("Rubrics", "/library/rubrics", "b"),
    ("Label", "/label", "l"),
    ("Judges", "/judges", "j"),
)
"""Word, address, and the letter that goes there after `g`."""


def pages() -> list[Page]:
    return [page for chapter in CHAPTERS for page in chapter.routes()]
