"""Writing a document: the text, with its problems beside the line, checked while somebody types."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

from markupsafe import escape
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from howsure.errors import InputError, Level, Problem
from howsure.model.document import Document, DocumentKind
from howsure.reports.figures import counted
from howsure.reports.inert import inert
from howsure.services.hosting import library
from howsure.services.hosting.callers import Caller
from howsure.services.hosting.drafting import AT_ONCE, Part, object_in, problems_in, put_back, starter
from howsure.services.hosting.host import Host
from howsure.services.hosting.uploads import Upload, draft_of
from howsure.store.service.keys import Scope
from howsure.store.service.places import is_number
from howsure.web.noting import WRITES_NOTHING
from howsure.web.pages.editor_typed import Typed, typed_in, typed_of
from howsure.web.pages.library import Shelf, shelf_of
from howsure.web.pages.library_document import document_asked
from howsure.web.rendering import respond
from howsure.web.sharing import NotAllowed, Page, caller_of, host_of

LARGEST = 280_000
"""Bytes that a text may come to in a page, which is no larger than 300 KB: one beyond is not edited there. A form is
large enough for it."""
MOST = 100


class Fault(Struct, frozen=True, kw_only=True):
    """Something wrong or odd, and where."""

    line: int | None
    field: str
    message: str
    hint: str
    is_error: bool


class EditorPage(Struct, frozen=True, kw_only=True):
    """What the page shows. `key` "": the document is new. `part` says which entries these are, where they are not all;
    `earlier` and `later` lead to the others."""

    answer: str
    shelf: Shelf
    key: str
    title: str
    typed: Typed
    faults: tuple[Fault, ...]
    more: int
    trouble: str
    is_file: bool
    too_large: bool
    part: str = ""
    earlier: str = ""
    later: str = ""

    @property
    def address(self) -> str:
        return self.shelf.of(self.key) if self.key else self.shelf.address


def editor_page(
    shelf: Shelf, typed: Typed, problems: Sequence[Problem], *, key: str = "", title: str = "", trouble: str = ""
) -> EditorPage:
    wrong = sum(each.level is Level.ERROR for each in problems)
    odd = len(problems) - wrong
    return EditorPage(
        answer=told(wrong, odd),
        shelf=shelf,
        key=key,
        title=title or f"a new {shelf.word}",
        typed=typed,
        faults=tuple(fault(each) for each in problems[:MOST]),
        more=max(0, len(problems) - MOST),
        trouble=trouble,
        is_file=shelf.kind is DocumentKind.DATASET,
        too_large=is_large(typed.text),
        **(_parts(shelf, key, typed, typed.part) if typed.part else {}),
    )


def _parts(shelf: Shelf, key: str, typed: Typed, part: Part) -> dict[str, str]:
    noun, last = "rules" if shelf.kind is DocumentKind.RUBRIC else "cases", part.start + part.number
    here = f"{shelf.of(key)}/edit?version={typed.base}&start="
    return {
        "part": f"{noun.capitalize()} {part.start + 1:,} to {last:,} of {part.of:,}; the others stay as they are.",
        "earlier": f"{here}{max(0, part.start - AT_ONCE)}" if part.start else "",
        "later": f"{here}{last}" if last < part.of else "",
    }


def is_large(text: str) -> bool:
    """As it stands in the page: quotation marks are written out there."""
    return len(text) > LARGEST or len(escape(text).encode()) > LARGEST


def told(wrong: int, odd: int) -> str:
    doubt = f"{counted(odd, 'thing')} to look at" if odd else ""
    if wrong:
        return f"{counted(wrong, 'problem')} to put right before it can be kept{'; ' + doubt if doubt else ''}."
    return f"Nothing is wrong; {doubt}." if odd else "Nothing is wrong with it."


def fault(each: Problem) -> Fault:
    message = inert(each.message) + (
        f" (found {inert(each.found)})" if each.found and each.found not in each.message else ""
    )
    return Fault(
        line=each.line,
        field=inert(each.field),
        message=message,
        hint=inert(each.hint),
        is_error=each.level is Level.ERROR,
    )


async def new(request: Request) -> Response:
    shelf = shelf_of(request)
    return respond(request, "editor.html", editor_page(shelf, Typed(text=starter(shelf.kind)), ()))


async def edit(request: Request) -> Response:
    shelf, document = await document_asked(request)
    start = request.query_params.get("start", "")
    typed = typed_of(document, int(start) if is_number(start) else 0)
    found = () if is_large(typed.text) else await _problems(host_of(request), shelf, typed)
    page = editor_page(shelf, typed, found, key=document.id, title=document.name)
    return respond(request, "editor.html", page)


async def _problems(host: Host, shelf: Shelf, typed: Typed) -> list[Problem]:
    return await problems_in(host, shelf.kind, typed.text, typed.name, typed.dialect)


async def check(request: Request) -> Response:
    """What is wrong with a text that is not kept yet."""
    setattr(request.state, WRITES_NOTHING, True)
    shelf, typed = shelf_of(request), await typed_in(request)
    key = request.path_params.get("key", "")
    return respond(
        request, "editor.html", editor_page(shelf, typed, await _problems(host_of(request), shelf, typed), key=key)
    )


async def create(request: Request) -> Response:
    return await _keep(request, "")


async def save(request: Request) -> Response:
    return await _keep(request, request.path_params["key"])


async def _keep(request: Request, key: str) -> Response:
    """The text as a new document or as the next version; back to the text where it cannot be."""
    host, shelf, typed = host_of(request), shelf_of(request), await typed_in(request)
    problems = await _problems(host, shelf, typed)
    if any(each.level is Level.ERROR for each in problems):
        return respond(request, "editor.html", editor_page(shelf, typed, problems, key=key, title=typed.name), 422)
    try:
        kept = await _kept(host, shelf, typed, key, caller_of(request))
    except InputError as error:
        page = editor_page(shelf, typed, problems, key=key, title=typed.name, trouble=str(error))
        return respond(request, "editor.html", page, 422)
    return RedirectResponse(shelf.of(kept.id), 303)


async def _kept(host: Host, shelf: Shelf, typed: Typed, key: str, asking: Caller) -> Document:
    if shelf.kind is DocumentKind.DATASET:
        return await _kept_file(host, typed, key, asking)
    body = object_in(typed.text)
    if typed.part is not None:
        base = await host.store.documents.get(shelf.kind, key, typed.base, within=asking.within)
        body = put_back(base, typed.part, body)
    change = library.Change(body=body, author=asking.name, note=typed.note)
    if key:
        return await library.change(host, shelf.kind, key, change, asking.within, typed.expected)
    return await library.add(host, shelf.kind, change, asking.within)


async def _kept_file(host: Host, typed: Typed, key: str, asking: Caller) -> Document:
    may_write_for(asking, typed.agent_id)
    upload = Upload(
        content=typed.text.encode(),
        name=typed.name,
        agent_id=typed.agent_id,
        dialect=typed.dialect,
        author=asking.name,
        note=typed.note,
    )
    return await kept_upload(host, upload, key, asking, typed.expected)


async def kept_upload(host: Host, upload: Upload, key: str, asking: Caller, expected: int | None = None) -> Document:
    """The file as a new dataset, or as the next version of one."""
    draft, documents = await draft_of(host, upload), host.store.documents
    if key:
        return await documents.revise(DocumentKind.DATASET, key, draft, expected=expected, within=asking.within)
    return await documents.create(DocumentKind.DATASET, str(uuid4()), draft, asking.within)


def may_write_for(asking: Caller, agent_id: str) -> None:
    agents = asking.within.agent_ids
    if agents is not None and agent_id not in agents:
        raise NotAllowed(f"agent: you may write for the agents {', '.join(agents) or 'none'} only")


def routes() -> list[Page]:
    return [
        Page("/library/{shelf}/new", new, Scope.WRITE),
        Page("/library/{shelf}", create, Scope.WRITE, "POST"),
        Page("/library/{shelf}/check", check, Scope.WRITE, "POST"),
        Page("/library/{shelf}/{key}/edit", edit, Scope.WRITE),
        Page("/library/{shelf}/{key}/check", check, Scope.WRITE, "POST"),
        Page("/library/{shelf}/{key}", save, Scope.WRITE, "POST"),
    ]
