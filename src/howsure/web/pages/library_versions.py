"""The versions of a document: what changed between two, an old one made the newest again, and the document as a file of
any shape, with what that shape cannot hold said before it is taken."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from howsure.errors import InputError
from howsure.model.document import Document, DocumentKind
from howsure.reports.figures import counted
from howsure.reports.inert import inert, one_line
from howsure.services.converting import Converted
from howsure.services.hosting import library
from howsure.services.hosting.differences import Difference, Kind, differences, of_bodies
from howsure.services.hosting.drafting import ENTRIES, cut
from howsure.services.hosting.exchanging import SHAPES, Written, written_as
from howsure.services.hosting.shapes import body_of
from howsure.services.hosting.uploads import restore_upload
from howsure.store.service.keys import Scope
from howsure.store.service.places import is_number
from howsure.web.pages.library import Shelf, shelf_of
from howsure.web.pages.library_document import document_asked
from howsure.web.rendering import respond, wants_json
from howsure.web.sharing import Page, caller_of, form_of, host_of

MOST = 400
LOOKED_AT = 30
"""Cases that are written out to see what a shape cannot hold, unless all are asked for."""
LONGEST = 2_000


class Changed(Struct, frozen=True):
    """One place that is not as it was."""

    place: str
    kind: str
    before: str
    after: str


class DifferencePage(Struct, frozen=True, kw_only=True):
    """What the page shows."""

    answer: str
    shelf: Shelf
    id: str
    name: str
    before: int
    after: int
    latest: int
    note: str
    changes: tuple[Changed, ...]
    left_out: int
    may_write: bool

    @property
    def address(self) -> str:
        return self.shelf.of(self.id)


def difference_page(shelf: Shelf, old: Document, new: Document, *, may_write: bool = False) -> DifferencePage:
    found = list(_differences(old, new))
    return DifferencePage(
        answer=f"{counted(len(found), 'change')} from version {old.edition.version} to {new.edition.version}."
        if found
        else f"Versions {old.edition.version} and {new.edition.version} say the same.",
        shelf=shelf,
        id=new.id,
        name=new.label or new.id[:8],
        before=old.edition.version,
        after=new.edition.version,
        latest=new.latest,
        note=new.edition.note,
        changes=tuple(_changed(each) for each in found[:MOST]),
        left_out=max(0, len(found) - MOST),
        may_write=may_write,
    )


def _differences(old: Document, new: Document) -> Iterable[Difference]:
    if old.kind is not DocumentKind.DATASET:
        return of_bodies(old.edition.body, new.edition.body)
    # A file is compared line by line: a case is a line in most shapes, and one that moved has not changed.
    before, after = ([{"id": line} for line in _lines(each)] for each in (old, new))
    return (each for each in differences(before, after) if each.kind is not Kind.MOVED)


def _lines(document: Document) -> Iterable[str]:
    lines = document.edition.body.decode("utf-8", "replace").splitlines()
    return dict.fromkeys(line.strip() for line in lines if line.strip())


def _changed(each: Difference) -> Changed:
    return Changed(one_line(each.path, 120), each.kind.value, _shown(each.before), _shown(each.after))


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, dict) and list(value) == ["id"]:
        value = value["id"]
    text = value if isinstance(value, str) else msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    shown = inert(text)
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]} … cut here"


async def difference(request: Request) -> Response:
    asking, store, shelf = caller_of(request), host_of(request).store, shelf_of(request)
    numbers = [request.query_params.get(name, "") for name in ("from", "to")]
    if not all(is_number(number) for number in numbers):
        raise InputError("name two versions: ?from=1&to=2")
    old, new = [
        await store.documents.get(shelf.kind, request.path_params["key"], int(number), within=asking.within)
        for number in numbers
    ]
    page = difference_page(shelf, old, new, may_write=asking.may(Scope.WRITE))
    return respond(request, "difference.html", page)


async def restore(request: Request) -> Response:
    """An old version again, as the newest."""
    asking, shelf, form = caller_of(request), shelf_of(request), await form_of(request)
    if not is_number(form.get("version", "")):
        raise InputError("which version? Its number is missing")
    key, version, note = request.path_params["key"], int(form["version"]), form.get("note", "").strip()
    if shelf.kind is DocumentKind.DATASET:
        await restore_upload(host_of(request), key, version, asking.name, asking.within, note)
    else:
        change = library.Change(body={}, author=asking.name, note=note)
        await library.restore(host_of(request), shelf.kind, key, version, change, asking.within)
    return RedirectResponse(shelf.of(key), 303)


async def delete(request: Request) -> Response:
    """Runs that used it can still read their version."""
    shelf = shelf_of(request)
    await host_of(request).store.documents.delete(
        shelf.kind, request.path_params["key"], within=caller_of(request).within
    )
    return RedirectResponse(shelf.address, 303)


class ExportPage(Struct, frozen=True, kw_only=True):
    """What the page shows: what becomes of the document, or of its first `looked_at` cases, as this shape. `every`
    leads to a page that looks at all of them."""

    answer: str
    shelf: Shelf
    id: str
    name: str
    shape: str
    version: int
    lost: tuple[tuple[str, str, int], ...]
    changed: tuple[tuple[str, str, int], ...]
    skipped: tuple[tuple[str, int], ...]
    looked_at: int
    every: str

    @property
    def address(self) -> str:
        return self.shelf.of(self.id)


def export_page(
    shelf: Shelf, document: Document, shape: str, report: Converted, cases: int | None = None
) -> ExportPage:
    """`cases`: how many there are, where the report is of the first of them alone."""
    whole, version = report.written == report.read, document.edition.version
    first = "the first " if cases is not None else ""
    many = counted(report.read, "case") if cases is None else f"{report.read:,} of {counted(cases, 'case')}"
    told = f"{'All ' if whole and not first else '' if whole else f'{report.written:,} of '}{first}{many}"
    told = f"{told[:1].upper()}{told[1:]} can be written as {shape}"
    return ExportPage(
        looked_at=report.read,
        every=f"{shelf.of(document.id)}/export?version={version}&to={shape}&all=1" if cases is not None else "",
        answer=f"{told}{', and nothing is lost' if whole and not report.lost else ''}.",
        shelf=shelf,
        id=document.id,
        name=document.label or document.id[:8],
        shape=shape,
        version=document.edition.version,
        lost=tuple((inert(each.field), inert(each.why), each.cases) for each in report.lost),
        changed=tuple((inert(each.field), inert(each.why), each.cases) for each in report.changed),
        skipped=tuple((inert(each.why), each.cases) for each in report.skipped),
    )


async def export(request: Request) -> Response:
    """The report first; the file when it is asked for. A document as it is loses nothing, and comes at once."""
    shelf, document = await document_asked(request)
    shape = request.query_params.get("to", "")
    if shape and shape not in SHAPES:
        raise InputError(f"cases cannot be written as {shape!r}: {', '.join(SHAPES)} are possible")
    is_file = not shape or ("file" in request.query_params and not wants_json(request))
    cases = None if is_file or "all" in request.query_params else _more_than(document, LOOKED_AT)
    written = await written_as(host_of(request), document if cases is None else cut(document, 0, LOOKED_AT), shape)
    if is_file or written.report is None:
        return _file(document, written)
    return respond(request, "export.html", export_page(shelf, document, shape, written.report, cases))


def _more_than(document: Document, number: int) -> int | None:
    """How many cases there are, where they are so many that the first are looked at; None: all are."""
    if document.kind not in ENTRIES:
        return None
    cases = len(body_of(document).get(ENTRIES[document.kind]) or ())
    return cases if cases > number else None


def _file(document: Document, written: Written) -> Response:
    name = f"{document.name or document.id}-v{document.edition.version}{written.ending}"
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"}
    return Response(written.content, media_type="application/octet-stream", headers=headers)


def routes() -> list[Page]:
    return [
        Page("/library/{shelf}/{key}/difference", difference),
        Page("/library/{shelf}/{key}/export", export),
        Page("/library/{shelf}/{key}/restore", restore, Scope.WRITE, "POST"),
        Page("/library/{shelf}/{key}/delete", delete, Scope.WRITE, "POST"),
    ]
