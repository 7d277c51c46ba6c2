"""One document: is it well put? Its rules or cases as a person reads them, where each passes and fails in the runs that
used it, its versions, and what it can be written out as."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from howsure.model.document import Document, DocumentKind
from howsure.model.run import Run
from howsure.reports.figures import counted, utc
from howsure.services.hosting.exchanging import SHAPES
from howsure.store.service.catalog import Step
from howsure.store.service.keys import Scope
from howsure.store.service.places import is_number
from howsure.web.pages.library import Shelf, shelf_of, told_time
from howsure.web.pages.library_content import Content, Entry, content_of, runs_with
from howsure.web.rendering import respond
from howsure.web.sharing import Page, caller_of, host_of

VERSIONS = 20


class VersionLine(Struct, frozen=True, kw_only=True):
    """One version."""

    version: int
    address: str
    changed: str
    author: str
    note: str
    difference: str
    shown: bool


class DocumentPage(Struct, frozen=True, kw_only=True):
    """What the page shows."""

    answer: str
    across: str
    shelf: Shelf
    id: str
    name: str
    agent_id: str
    version: int
    latest: int
    description: str
    entries: tuple[Entry, ...]
    has_rules: bool
    further: str
    versions: tuple[VersionLine, ...]
    shapes: tuple[str, ...]
    may_write: bool
    may_run: bool

    @property
    def address(self) -> str:
        return self.shelf.of(self.id)


def document_page(
    shelf: Shelf, document: Document, content: Content, runs: Sequence[Run], steps: Sequence[Step]
) -> DocumentPage:
    noun = "rule" if shelf.kind is DocumentKind.RUBRIC else "case"
    number = f"{counted(content.number, noun)}" if content.number is not None else f"{noun}s"
    return DocumentPage(
        answer=f"{_ordinal(document)}: {number}{_never(content, noun)}.",
        across=_across(runs, content, noun),
        shelf=shelf,
        id=document.id,
        name=document.label or document.id[:8],
        agent_id=document.agent_id,
        version=document.edition.version,
        latest=document.latest,
        description=content.description,
        entries=content.entries,
        has_rules=shelf.kind is DocumentKind.RUBRIC,
        further=content.further,
        versions=tuple(_version(shelf, document, each) for each in steps),
        shapes=() if shelf.kind is DocumentKind.RUBRIC else SHAPES,
        may_write=False,
        may_run=False,
    )


def _ordinal(document: Document) -> str:
    version, latest = document.edition.version, document.latest
    return f"Version {version}, the newest" if version == latest else f"Version {version} of {latest}"


def _never(content: Content, noun: str) -> str:
    """Rules are counted whether they are shown or not; cases as far as they are shown."""
    if not content.never:
        return ""
    shown = noun == "case" and content.number != len(content.entries)
    told = (
        f"of the {counted(len(content.entries), noun)} below {content.never}" if shown else counted(content.never, noun)
    )
    return f"; {told} never passed in the runs below"


def _across(runs: Sequence[Run], content: Content, noun: str) -> str:
    if not runs:
        return "No run that can be seen here used it yet."
    left = f" Not counted before they end: {', '.join(content.uncounted)}." if content.uncounted else ""
    told = counted(len(runs) - len(content.uncounted), "run")
    return f"Each {noun} over the last {told} that used it, newest first.{left}"


def _version(shelf: Shelf, document: Document, each: Step) -> VersionLine:
    number, address = each.version, shelf.of(document.id)
    return VersionLine(
        version=number,
        address=f"{address}?version={number}",
        changed=told_time(utc(each.created_at)),
        author=each.author,
        note=each.note,
        difference=f"{address}/difference?from={number - 1}&to={number}" if number > 1 else "",
        shown=number == document.edition.version,
    )


async def document_asked(request: Request) -> tuple[Shelf, Document]:
    """The document that the address names, at the version that it names."""
    shelf, store = shelf_of(request), host_of(request).store
    given = request.query_params.get("version", "")
    version = int(given) if is_number(given) else None
    key = request.path_params["key"]
    return shelf, await store.documents.get(shelf.kind, key, version, within=caller_of(request).within)


async def show(request: Request) -> Response:
    asking, host = caller_of(request), host_of(request)
    shelf, document = await document_asked(request)
    start = request.query_params.get("start", "")
    runs = await runs_with(host.store, document, asking.within)
    content = await content_of(host, document, runs, int(start) if is_number(start) else 0)
    steps = await host.store.catalog.steps(shelf.kind, document.id, document.organization_id, limit=VERSIONS)
    page = document_page(shelf, document, content, runs, steps)
    allowed = {"may_write": asking.may(Scope.WRITE), "may_run": asking.may(Scope.RUN)}
    return respond(request, "document.html", msgspec.structs.replace(page, **allowed))


def routes() -> list[Page]:
    return [Page("/library/{shelf}/{key}", show)]
