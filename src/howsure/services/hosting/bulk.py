"""Everything that is kept, as lines, and lines back into documents: to move from one service to another, or to keep a
copy that people can read. A line is one document at its newest version."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from howsure.errors import ConfigInvalid, Conflict, DatasetInvalid, InputError
from howsure.model.access_scope import AccessScope
from howsure.model.document import Document, DocumentKind
from howsure.services.hosting import library
from howsure.services.hosting.host import Host
from howsure.services.hosting.materials import bare, own_folders
from howsure.services.hosting.shapes import whole
from howsure.services.hosting.uploads import Upload, draft_of
from howsure.store.service.documents import Listing, cursor

Json = dict[str, Any]
PAGE = 100
KEY = re.compile(r"[^\x00/@\s]{1,200}")


class Entry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line. `document` is the published shape; that of a dataset has its `dialect` and its file as `content`."""

    kind: DocumentKind
    id: str
    document: Json


class Imported(Struct, frozen=True, kw_only=True):
    """What became of one line."""

    line: int
    kind: str
    id: str
    status: str
    detail: str = ""
    problems: tuple[Any, ...] = ()


async def exported(host: Host, kinds: Sequence[DocumentKind], within: AccessScope) -> AsyncIterator[bytes]:
    """Every document that the caller may see, oldest page of each kind last."""
    for kind in kinds:
        before: str | None = None
        while page := await host.store.documents.several(kind, Listing(limit=PAGE, before=before), within):
            for document in page:
                yield msgspec.json.encode(Entry(kind=kind, id=document.id, document=_written(document))) + b"\n"
            before = cursor(page[-1])


def _written(document: Document) -> Json:
    if document.kind is not DocumentKind.DATASET:
        return whole(document)
    content = document.edition.body.decode("utf-8", "replace")
    about = {"name": document.name, "agent_id": document.agent_id or None, "dialect": document.edition.dialect}
    return {"dataset_id": document.id, **about, "content": content}


async def imported(host: Host, content: bytes, author: str, within: AccessScope) -> list[Imported]:
    """Every line becomes a document under its id; one that is there already is left as it is. A line that cannot be
    taken says why, and the others are taken."""
    lines = [line for line in enumerate(content.splitlines(), 1) if line[1].strip()]
    return [await _line(host, number, line, author, within) for number, line in lines]


async def _line(host: Host, number: int, line: bytes, author: str, within: AccessScope) -> Imported:
    try:
        entry = msgspec.json.decode(line, type=Entry)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Imported(line=number, kind="", id="", status="refused", detail=f"not an entry: {error}")
    told: Json = {"line": number, "kind": entry.kind.value, "id": entry.id}
    if fault := _fault(entry):
        return Imported(**told, status="refused", detail=fault)
    try:
        await _add(host, entry, author, within)
    except Conflict:
        return Imported(**told, status="kept", detail="there is one by this id already; it was left as it is")
    except DatasetInvalid as error:
        # Where it is in the line; the name of our own temporary file means nothing to anybody.
        found = tuple(replace(problem, file="", line=None, column=None) for problem in error.problems)
        return Imported(**told, status="refused", detail=f"{len(found)} problems", problems=found)
    except ConfigInvalid:
        raise
    except InputError as error:
        return Imported(**told, status="refused", detail=bare(str(error), own_folders(host.work)))
    return Imported(**told, status="created")


def _fault(entry: Entry) -> str:
    """What keeps an entry from being kept under its id and names."""
    if not KEY.fullmatch(entry.id):
        return "the id must be 1 to 200 characters without spaces, `/` and `@`"
    named = [entry.document.get(name) for name in ("name", "agent_id", "bot_name")]
    if any(name is not None and not (isinstance(name, str) and "\0" not in name) for name in named):
        return "name and agent_id must be text without U+0000"
    listed = [entry.document.get(name, []) for name in ("items", "questions", "rules", "evaluators", "tools")]
    if any(not isinstance(each, list) or not all(isinstance(one, dict) for one in each) for each in listed):
        return "items, questions, rules, evaluators and tools must be lists of objects"
    return ""


async def _add(host: Host, entry: Entry, author: str, within: AccessScope) -> None:
    note = "imported"
    if entry.kind is not DocumentKind.DATASET:
        change = library.Change(body=entry.document, author=author, note=note)
        await library.add(host, entry.kind, change, within, entry.id)
        return
    given = entry.document
    upload = Upload(
        content=str(given.get("content") or "").encode(),
        name=str(given.get("name") or entry.id),
        agent_id=str(given.get("agent_id") or ""),
        dialect=str(given.get("dialect") or ""),
        author=author,
        note=note,
    )
    library.check_agent(upload.agent_id, within)
    await host.store.documents.create(entry.kind, entry.id, await draft_of(host, upload), within)
