"""The versions of a document: the differences between two, an old version restored, and the document as a file of any
dialect, with a report of what that dialect cannot hold before the download."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from howsure.errors import InputError
from howsure.model.document import Document, DocumentKind
from howsure.reports.figures import pluralize
from howsure.reports.safe_text import make_inert, one_line
from howsure.services.convert.convert import ConversionReport
from howsure.services.host import documents
from howsure.services.host.differences import (
    DocumentDifference,
    DocumentDifferenceKind,
    body_differences,
    find_differences,
)
from howsure.services.host.documents import document_body
from howsure.services.host.drafts import ENTRIES, select_entries
from howsure.services.host.roles import Permission
from howsure.services.host.transfer import EXPORT_DIALECTS, export_as
from howsure.services.host.uploads import restore_upload
from howsure.store.pages import is_number
from howsure.web.pages.library import LibraryShelf, requested_document, shelf_of
from howsure.web.responses import respond, wants_json
from howsure.web.routes import PageRoute, caller_of, host_of, read_form

MAX_CHANGES = 400
CASES_TRIED = 30
"""How many cases the report converts, unless all are asked for."""
MAX_VALUE = 2_000


class ChangeLine(Struct, frozen=True):
    """One difference between two versions."""

    place: str
    kind: str
    before: str
    after: str


class DifferencePage(Struct, frozen=True, kw_only=True):
    answer: str
    shelf: LibraryShelf
    id: str
    name: str
    before: int
    after: int
    latest: int
    note: str
    changes: tuple[ChangeLine, ...]
    left_out: int
    may_write: bool


def _differences(old: Document, new: Document) -> list[DocumentDifference]:
    if old.kind is not DocumentKind.DATASET:
        return list(body_differences(old.edition.body, new.edition.body))
    # A file is compared line by line: in most dialects a case is a line, and a line that moved is no change.
    files = [each.edition.body.decode("utf-8", "replace").splitlines() for each in (old, new)]
    before, after = (
        [{"id": line} for line in dict.fromkeys(text.strip() for text in lines if text.strip())] for lines in files
    )
    every = find_differences(before, after)
    return [each for each in every if each.kind is not DocumentDifferenceKind.MOVED]


def _value_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, dict) and list(value) == ["id"]:
        value = value["id"]
    text = value if isinstance(value, str) else msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    shown = make_inert(text)
    return shown if len(shown) <= MAX_VALUE else f"{shown[:MAX_VALUE]} … cut here"


async def difference(request: Request) -> Response:
    caller, store, shelf = caller_of(request), host_of(request).store, shelf_of(request)
    numbers = [request.query_params.get(name, "") for name in ("from", "to")]
    if not all(is_number(number) for number in numbers):
        raise InputError("name two versions: ?from=1&to=2")
    old, new = [
        await store.documents.get(shelf.kind, request.path_params["key"], int(number), within=caller.within)
        for number in numbers
    ]
    differences, before, after = _differences(old, new), old.edition.version, new.edition.version
    page = DifferencePage(
        answer=f"{pluralize(len(differences), 'change')} from version {before} to {after}."
        if differences
        else f"Versions {before} and {after} say the same.",
        shelf=shelf,
        id=new.id,
        name=new.label or new.id[:8],
        before=before,
        after=after,
        latest=new.latest,
        note=new.edition.note,
        changes=tuple(
            ChangeLine(one_line(each.path, 120), each.kind.value, _value_text(each.before), _value_text(each.after))
            for each in differences[:MAX_CHANGES]
        ),
        left_out=max(0, len(differences) - MAX_CHANGES),
        may_write=caller.may(Permission.EDIT),
    )
    return respond(request, "difference.html", page)


async def restore(request: Request) -> Response:
    """Store an old version again, as the newest."""
    caller, shelf, form = caller_of(request), shelf_of(request), await read_form(request)
    if not is_number(form.get("version", "")):
        raise InputError("which version? Its number is missing")
    key, version, note = request.path_params["key"], int(form["version"]), form.get("note", "").strip()
    if shelf.kind is DocumentKind.DATASET:
        await restore_upload(host_of(request), key, version, caller.name, caller.within, note)
    else:
        change = documents.DocumentChange(body={}, author=caller.name, note=note)
        await documents.restore_document(host_of(request), shelf.kind, key, version, change, caller.within)
    return RedirectResponse(shelf.of(key), 303)


async def delete(request: Request) -> Response:
    """Delete a document. Its content is purged after some days."""
    shelf = shelf_of(request)
    await host_of(request).store.documents.delete(
        shelf.kind, request.path_params["key"], within=caller_of(request).within
    )
    return RedirectResponse(shelf.address, 303)


class ExportPage(Struct, frozen=True, kw_only=True):
    """What the page shows: the result of converting the document, or its first `looked_at` cases, to the dialect
    `shape`. `every` links to the report on all cases."""

    answer: str
    shelf: LibraryShelf
    id: str
    name: str
    shape: str
    version: int
    lost: tuple[tuple[str, str, int], ...]
    changed: tuple[tuple[str, str, int], ...]
    skipped: tuple[tuple[str, int], ...]
    looked_at: int
    every: str


def export_page(
    shelf: LibraryShelf, document: Document, dialect: str, report: ConversionReport, cases: int | None = None
) -> ExportPage:
    """`cases`: the number of all cases, where the report covers only the first of them."""
    whole, version = report.written == report.read, document.edition.version
    first = "the first " if cases is not None else ""
    count = pluralize(report.read, "case") if cases is None else f"{report.read:,} of {pluralize(cases, 'case')}"
    every = "All " if report.read > 1 and not first else ""
    text = f"{every if whole else f'{report.written:,} of '}{first}{count}"
    text = f"{text[:1].upper()}{text[1:]} can be written as {dialect}"
    return ExportPage(
        looked_at=report.read,
        every=f"{shelf.of(document.id)}/export?version={version}&to={dialect}&all=1" if cases is not None else "",
        answer=f"{text}{', and nothing is lost' if whole and not report.lost else ''}.",
        shelf=shelf,
        id=document.id,
        name=document.label or document.id[:8],
        shape=dialect,
        version=document.edition.version,
        lost=tuple((make_inert(each.field), make_inert(each.why), each.cases) for each in report.lost),
        changed=tuple((make_inert(each.field), make_inert(each.why), each.cases) for each in report.changed),
        skipped=tuple((make_inert(each.why), each.cases) for each in report.skipped),
    )


async def export(request: Request) -> Response:
    """The report first, then the file. An unchanged document loses nothing and needs no report."""
    shelf, document = await requested_document(request)
    dialect = request.query_params.get("to", "")
    if dialect and dialect not in EXPORT_DIALECTS:
        raise InputError(f"cases cannot be written as {dialect!r}: {', '.join(EXPORT_DIALECTS)} are possible")
    is_file = not dialect or ("file" in request.query_params and not wants_json(request))
    cases: int | None = None
    if not is_file and "all" not in request.query_params and document.kind in ENTRIES:
        number = len(document_body(document).get(ENTRIES[document.kind]) or ())
        cases = number if number > CASES_TRIED else None
    written = await export_as(
        host_of(request), document if cases is None else select_entries(document, 0, CASES_TRIED), dialect
    )
    if is_file or written.report is None:
        name = f"{document.name or document.id}-v{document.edition.version}{written.ending}"
        headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"}
        return Response(written.content, media_type="application/octet-stream", headers=headers)
    return respond(request, "export.html", export_page(shelf, document, dialect, written.report, cases))


ROUTES = [
    PageRoute("/library/{shelf}/{key}/difference", difference),
    PageRoute("/library/{shelf}/{key}/export", export, Permission.EXPORT),
    PageRoute("/library/{shelf}/{key}/restore", restore, Permission.EDIT, "POST"),
    PageRoute("/library/{shelf}/{key}/delete", delete, Permission.EDIT, "POST"),
]
