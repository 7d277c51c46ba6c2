"""The editor of documents: the text with its problems beside the lines, checked while the author types; and the import
of a file of any dialect, which is the body of the request."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import msgspec
from markupsafe import escape
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from howsure.errors import DatasetInvalid, InputError, Level, Problem
from howsure.model.case import World
from howsure.model.document import Document, DocumentKind
from howsure.reports.figures import pluralize
from howsure.reports.headlines import page_words
from howsure.reports.safe_text import make_inert
from howsure.services.host import documents
from howsure.services.host.drafts import (
    ENTRIES_PER_PAGE,
    EntryRange,
    editable_text,
    entry_range,
    find_problems,
    hide_temporary_path,
    merge_entries,
    parse_object,
    starter_text,
)
from howsure.services.host.keys import Caller
from howsure.services.host.roles import Permission
from howsure.services.host.transfer import read_import
from howsure.services.host.uploads import Upload, check_upload, spool_upload
from howsure.services.workspace import Host
from howsure.store.pages import is_number
from howsure.web.pages.library import SHELVES, LibraryShelf, requested_document, shelf_of
from howsure.web.responses import respond
from howsure.web.routes import WRITES_NOTHING, NotAllowed, PageRoute, caller_of, host_of, number_in_query, read_form

RANGE_FIELDS = ("start", "number", "of")
NUMBER_FIELDS = ("expected", "base", *RANGE_FIELDS)
MAX_TEXT_BYTES = 280_000
"""A page is at most 300 KB, so a larger text cannot be edited."""
MAX_PROBLEMS = 100


class EditorInput(Struct, frozen=True, kw_only=True):
    """The content of the editor. `name`, `agent_id` and `dialect` are those of a dataset: other texts contain them.
    `part`: which entries of the version `base` the text holds, where it does not hold all."""

    text: str
    name: str = ""
    agent_id: str = ""
    dialect: str = ""
    note: str = ""
    expected: int | None = None
    part: EntryRange | None = None
    base: int | None = None


def input_from_document(document: Document, start: int = 0) -> EditorInput:
    part = entry_range(document, start)
    return EditorInput(
        text=editable_text(document, part),
        name=document.name,
        agent_id=document.agent_id,
        dialect=document.edition.dialect,
        expected=document.latest,
        part=part,
        base=document.edition.version,
    )


async def input_from_form(request: Request) -> EditorInput:
    form = await read_form(request)
    numbers = {name: int(form[name]) for name in NUMBER_FIELDS if is_number(form.get(name, ""))}
    return EditorInput(
        # Browsers send every line end as two characters.
        text=form.get("text", "").replace("\r\n", "\n"),
        name=form.get("name", "").strip(),
        agent_id=form.get("agent_id", "").strip(),
        dialect=form.get("dialect", ""),
        note=form.get("note", "").strip(),
        expected=numbers.get("expected"),
        part=EntryRange(*(numbers[name] for name in RANGE_FIELDS)) if numbers.keys() >= set(RANGE_FIELDS) else None,
        base=numbers.get("base"),
    )


class ProblemLine(Struct, frozen=True, kw_only=True):
    """An error or a warning, and its place."""

    line: int | None
    field: str
    message: str
    hint: str
    is_error: bool


class EditorPage(Struct, frozen=True, kw_only=True):
    """What the page shows. `key` is "" for a new document. `part` says which entries the text holds, where it does not
    hold all; `earlier` and `later` link to the others."""

    answer: str
    shelf: LibraryShelf
    key: str
    title: str
    typed: EditorInput
    faults: tuple[ProblemLine, ...]
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
    shelf: LibraryShelf,
    typed: EditorInput,
    problems: Sequence[Problem],
    *,
    key: str = "",
    title: str = "",
    trouble: str = "",
) -> EditorPage:
    errors, part, links = sum(each.level is Level.ERROR for each in problems), typed.part, {}
    if part:
        noun, last = "Rules" if shelf.kind is DocumentKind.RUBRIC else "Cases", part.start + part.number
        here = f"{shelf.of(key)}/edit?version={typed.base}&start="
        links = {
            "part": f"{noun} {part.start + 1:,} to {last:,} of {part.of:,}; the others stay as they are.",
            "earlier": f"{here}{max(0, part.start - ENTRIES_PER_PAGE)}" if part.start else "",
            "later": f"{here}{last}" if last < part.of else "",
        }
    return EditorPage(
        answer=problem_summary(errors, len(problems) - errors),
        shelf=shelf,
        key=key,
        title=title or f"a new {shelf.word}",
        typed=typed,
        faults=tuple(problem_line(each) for each in problems[:MAX_PROBLEMS]),
        more=max(0, len(problems) - MAX_PROBLEMS),
        trouble=trouble,
        is_file=shelf.kind is DocumentKind.DATASET,
        too_large=is_large(typed.text),
        **links,
    )


def is_large(text: str) -> bool:
    """Whether the text is too large for a page, where escaping makes it longer."""
    return len(text) > MAX_TEXT_BYTES or len(escape(text).encode()) > MAX_TEXT_BYTES


def problem_summary(errors: int, warnings: int) -> str:
    look = f"{pluralize(warnings, 'thing')} to look at" if warnings else ""
    if errors:
        return f"{pluralize(errors, 'problem')} to put right before it can be kept{'; ' + look if look else ''}."
    return f"Nothing is wrong; {look}." if warnings else "Nothing is wrong with it."


def problem_line(each: Problem) -> ProblemLine:
    value = f" (found {make_inert(each.found)})" if each.found and each.found not in each.message else ""
    return ProblemLine(
        line=each.line,
        field=make_inert(each.field),
        message=make_inert(each.message) + value,
        hint=make_inert(each.hint),
        is_error=each.level is Level.ERROR,
    )


async def new(request: Request) -> Response:
    shelf = shelf_of(request)
    typed = EditorInput(text=starter_text(shelf.kind))
    problems = await _problems(host_of(request), shelf, typed)
    return respond(request, "editor.html", editor_page(shelf, typed, problems))


async def edit(request: Request) -> Response:
    shelf, document = await requested_document(request)
    typed = input_from_document(document, number_in_query(request, "start"))
    problems = [] if is_large(typed.text) else await _problems(host_of(request), shelf, typed)
    page = editor_page(shelf, typed, problems, key=document.id, title=document.name)
    return respond(request, "editor.html", page)


async def _problems(host: Host, shelf: LibraryShelf, typed: EditorInput) -> list[Problem]:
    return await find_problems(host, shelf.kind, typed.text, typed.name, typed.dialect)


async def check(request: Request) -> Response:
    """The problems of a text that is not saved yet."""
    setattr(request.state, WRITES_NOTHING, True)
    shelf, typed = shelf_of(request), await input_from_form(request)
    key = request.path_params.get("key", "")
    problems = await _problems(host_of(request), shelf, typed)
    return respond(request, "editor.html", editor_page(shelf, typed, problems, key=key))


async def save(request: Request) -> Response:
    """Save the text as a new document or as the next version; show it again where that is refused."""
    host, shelf, typed = host_of(request), shelf_of(request), await input_from_form(request)
    key = request.path_params.get("key", "")
    problems = await _problems(host, shelf, typed)
    if any(each.level is Level.ERROR for each in problems):
        return respond(request, "editor.html", editor_page(shelf, typed, problems, key=key, title=typed.name), 422)
    try:
        saved = await _save_input(host, shelf, typed, key, caller_of(request))
    except InputError as error:
        page = editor_page(shelf, typed, problems, key=key, title=typed.name, trouble=page_words(str(error)))
        return respond(request, "editor.html", page, 422)
    return RedirectResponse(shelf.of(saved.id), 303)


async def _save_input(host: Host, shelf: LibraryShelf, typed: EditorInput, key: str, caller: Caller) -> Document:
    if shelf.kind is DocumentKind.DATASET:
        require_agent_access(caller, typed.agent_id)
        upload = Upload(
            content=typed.text.encode(),
            name=typed.name,
            agent_id=typed.agent_id,
            dialect=typed.dialect,
            author=caller.name,
            note=typed.note,
        )
        return await save_upload(host, upload, key, caller, typed.expected)
    body = parse_object(typed.text)
    if typed.part is not None:
        base = await host.store.documents.get(shelf.kind, key, typed.base, within=caller.within)
        body = merge_entries(base, typed.part, body)
    change = documents.DocumentChange(body=body, author=caller.name, note=typed.note)
    if key:
        return await documents.change_document(host, shelf.kind, key, change, caller.within, typed.expected)
    return await documents.add_document(host, shelf.kind, change, caller.within)


async def save_upload(host: Host, upload: Upload, key: str, caller: Caller, expected: int | None = None) -> Document:
    """Save the file as a new dataset, or as the next version of one."""
    draft, documents = await check_upload(host, upload, caller.within), host.store.documents
    if key:
        return await documents.revise(DocumentKind.DATASET, key, draft, expected=expected, within=caller.within)
    return await documents.create(DocumentKind.DATASET, str(uuid4()), draft, caller.within)


def require_agent_access(caller: Caller, agent_id: str) -> None:
    agents = caller.within.agent_ids
    if agents is not None and agent_id not in agents:
        raise NotAllowed(f"agent: you may write for the agents {', '.join(agents) or 'none'} only")


class ImportResult(Struct, frozen=True, kw_only=True):
    """The outcome of an import: the address of the new document, or why there is none. `cases`: what to choose it by
    where a run is started."""

    answer: str
    address: str = ""
    id: str = ""
    cases: str = ""
    faults: tuple[ProblemLine, ...] = ()


async def import_file(request: Request) -> Response:
    """Import the file in the body of the request; its name and agent are in the address."""
    shelf = shelf_of(request)
    name, agent_id = (request.query_params.get(word, "") for word in ("name", "agent_id"))
    try:
        if shelf.kind is DocumentKind.DATASET:
            saved = await _import_dataset(request, name, agent_id)
        else:
            saved = await _import_document(request, shelf.kind, await request.body())
    except DatasetInvalid as error:
        faults = tuple(problem_line(each) for each in error.problems[:MAX_PROBLEMS])
        number = len(error.problems) + error.more
        return _json_response(ImportResult(answer=problem_summary(number, 0), faults=faults), 422)
    except InputError as error:
        return _json_response(ImportResult(answer=page_words(hide_temporary_path(error))), 422)
    kept_as = next(each for each in SHELVES if each.kind is saved.kind)
    answer = f"{saved.name or saved.id} was kept as a {kept_as.word}, at version 1."
    found = ImportResult(
        answer=answer, address=kept_as.of(saved.id), id=saved.id, cases=f"{saved.kind.value}:{saved.id}"
    )
    return _json_response(found, 201)


async def _import_document(request: Request, kind: DocumentKind, content: bytes) -> Document:
    host, caller = host_of(request), caller_of(request)
    name, agent_id = (request.query_params.get(word, "") for word in ("name", "agent_id"))
    body = await read_import(host, kind, content, name)
    body = {**body, **({"agent_id": agent_id} if agent_id else {})}
    change = documents.DocumentChange(body=body, author=caller.name, note=f"from the file {name}")
    return await documents.add_document(host, kind, change, caller.within)


async def _import_dataset(request: Request, name: str, agent_id: str) -> Document:
    """A file of cases. One that is a test set becomes a test set, as on the page of test sets: a file is the same kind
    of document whichever way it comes."""
    host, caller = host_of(request), caller_of(request)
    require_agent_access(caller, agent_id)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "upload"
        await spool_upload(request.stream(), path)
        upload = Upload(file=path, name=name, agent_id=agent_id, author=caller.name)
        draft = await check_upload(host, upload, caller.within)
    if draft.dialect == World.TEST_SET:
        return await _import_document(request, DocumentKind.TEST_SET, draft.body)
    return await host.store.documents.create(DocumentKind.DATASET, str(uuid4()), draft, caller.within)


def _json_response(result: ImportResult, status: int) -> Response:
    return Response(msgspec.json.encode(result), status, media_type="application/json")


ROUTES = [
    PageRoute("/library/{shelf}/import", import_file, Permission.EDIT, "POST"),
    PageRoute("/library/{shelf}/new", new, Permission.EDIT),
    PageRoute("/library/{shelf}", save, Permission.EDIT, "POST"),
    PageRoute("/library/{shelf}/check", check, Permission.EDIT, "POST"),
    PageRoute("/library/{shelf}/{key}/edit", edit, Permission.EDIT),
    PageRoute("/library/{shelf}/{key}/check", check, Permission.EDIT, "POST"),
    PageRoute("/library/{shelf}/{key}", save, Permission.EDIT, "POST"),
]
