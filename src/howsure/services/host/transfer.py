"""Documents in and out of the library: all of them as JSON lines, to move them to another service or to keep a readable
copy; one document as a file of any dialect, with a report of what that dialect cannot hold; and a file of any dialect
as the body of a new document."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from howsure.dialects.strict_json import parse_json
from howsure.errors import MAX_PROBLEMS, ConfigInvalid, Conflict, DatasetInvalid, InputError, PlanRefused
from howsure.kit import Kit
from howsure.model.access_scope import AccessScope
from howsure.model.document import Document, DocumentKind
from howsure.services.convert.convert import ENDINGS, ConversionReport, convert
from howsure.services.convert.convert import ConversionRequest as Conversion
from howsure.services.host import documents
from howsure.services.host.document_files import document_path, hide_folders, service_folders
from howsure.services.host.documents import published_document
from howsure.services.host.drafts import parse_object
from howsure.services.host.json_limits import PIECE, check_json
from howsure.services.host.uploads import Upload, check_upload
from howsure.services.workspace import Host
from howsure.store.documents import DocumentQuery
from howsure.store.pages import next_cursor

Json = dict[str, Any]
PAGE_SIZE = 100
MAX_LINES = 100_000
VALID_ID = re.compile(r"[^\x00/@\s]{1,200}")
EXPORT_DIALECTS = tuple(name for name in ENDINGS if name in ("explain", "golden", "simulation", "test-set", "legal"))
"""The dialects in which cases can be exported."""


class ExportEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One exported document, a line of the file. `document` is its published shape; a dataset has its `dialect` and its
    file as `content`."""

    kind: DocumentKind
    id: str
    document: Json


class ImportOutcome(Struct, frozen=True, kw_only=True):
    """The outcome of importing one line."""

    line: int
    kind: str
    id: str
    status: str
    detail: str = ""
    problems: tuple[Any, ...] = ()


async def export_documents(host: Host, kinds: Sequence[DocumentKind], scope: AccessScope) -> AsyncIterator[bytes]:
    """The newest version of every document that the caller may see, newest first in each kind, one a line."""
    for kind in kinds:
        before: str | None = None
        while page := await host.store.documents.several(kind, DocumentQuery(limit=PAGE_SIZE, before=before), scope):
            for document in page:
                shape = published_document(document)
                if kind is DocumentKind.DATASET:
                    shape = {
                        "dataset_id": document.id,
                        "name": document.name,
                        "agent_id": document.agent_id or None,
                        "dialect": document.edition.dialect,
                        "content": document.edition.body.decode("utf-8", "replace"),
                    }
                yield msgspec.json.encode(ExportEntry(kind=kind, id=document.id, document=shape)) + b"\n"
            before = next_cursor(page[-1])


async def import_documents(host: Host, path: Path, author: str, scope: AccessScope) -> list[ImportOutcome]:
    """Store every line of the file as a document under its id. A document that exists is left as it is; a line that is
    refused says why, and the other lines are imported."""
    await asyncio.to_thread(_check_lines, path)
    outcomes: list[ImportOutcome] = []
    listed = 0
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                outcome = await _import_line(host, number, line, author, scope)
                outcomes.append(replace(outcome, problems=outcome.problems[: MAX_PROBLEMS - listed]))
                listed += len(outcomes[-1].problems)
    return outcomes


def _check_lines(path: Path) -> None:
    number, blank = 0, True
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            number, blank = number + piece.count(b"\n"), blank and not piece.strip()
    if blank:
        raise PlanRefused("send documents, one a line, such as `GET /export` gives")
    if number > MAX_LINES:
        raise PlanRefused(f"expected at most {MAX_LINES:,} lines at a time, found {number:,}")


def _read_entry(line: bytes) -> ExportEntry:
    check_json(line)
    return msgspec.json.decode(line, type=ExportEntry)


async def _import_line(host: Host, number: int, line: bytes, author: str, scope: AccessScope) -> ImportOutcome:
    try:
        entry = await asyncio.to_thread(_read_entry, line)
    except (InputError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return ImportOutcome(line=number, kind="", id="", status="refused", detail=f"not an entry: {error}")
    where: Json = {"line": number, "kind": entry.kind.value, "id": entry.id}
    if problem := _entry_problem(entry):
        return ImportOutcome(**where, status="refused", detail=problem)
    try:
        await _add_entry(host, entry, author, scope)
    except Conflict:
        return ImportOutcome(**where, status="kept", detail="a document with this id exists; it was not changed")
    except DatasetInvalid as error:
        # Only the field: file, line and column are those of a temporary file.
        problems = tuple(replace(problem, file="", line=None, column=None) for problem in error.problems)
        return ImportOutcome(**where, status="refused", detail=error.count, problems=problems)
    except ConfigInvalid:
        raise
    except InputError as error:
        return ImportOutcome(**where, status="refused", detail=hide_folders(str(error), service_folders(host.work)))
    return ImportOutcome(**where, status="created")


def _entry_problem(entry: ExportEntry) -> str:
    """Why an entry cannot be stored under its id and names; "" where it can."""
    if not VALID_ID.fullmatch(entry.id):
        return "the id must be 1 to 200 characters without spaces, `/` and `@`"
    named = [entry.document.get(name) for name in ("name", "agent_id", "bot_name")]
    if any(name is not None and not (isinstance(name, str) and "\0" not in name) for name in named):
        return "name and agent_id must be text without U+0000"
    listed = [entry.document.get(name, []) for name in ("items", "questions", "rules", "evaluators", "tools")]
    if any(not isinstance(each, list) or not all(isinstance(one, dict) for one in each) for each in listed):
        return "items, questions, rules, evaluators and tools must be lists of objects"
    return ""


async def _add_entry(host: Host, entry: ExportEntry, author: str, scope: AccessScope) -> None:
    if entry.kind is not DocumentKind.DATASET:
        change = documents.DocumentChange(body=entry.document, author=author, note="imported")
        await documents.add_document(host, entry.kind, change, scope, entry.id)
        return
    dataset = entry.document
    upload = Upload(
        content=str(dataset.get("content") or "").encode(),
        name=str(dataset.get("name") or entry.id),
        agent_id=str(dataset.get("agent_id") or ""),
        dialect=str(dataset.get("dialect") or ""),
        author=author,
        note="imported",
    )
    documents.check_agent_access(upload.agent_id, scope)
    await host.store.documents.create(entry.kind, entry.id, await check_upload(host, upload, scope), scope)


class ExportFile(Struct, frozen=True):
    """A document as a file, with the report of the conversion that made it."""

    content: bytes
    ending: str
    report: ConversionReport | None = None


async def export_as(host: Host, document: Document, dialect: str) -> ExportFile:
    """The document as a file in a dialect; "" gives it unchanged."""
    source = await asyncio.to_thread(document_path, document, host.work.data_folder / "documents")
    if not dialect:
        return ExportFile(await asyncio.to_thread(source.read_bytes), source.suffix)
    return await asyncio.to_thread(_convert_file, host.work.kit, source, dialect)


def _convert_file(kit: Kit, source: Path, dialect: str) -> ExportFile:
    ending = ENDINGS[dialect][0] if dialect in ENDINGS else ""
    with TemporaryDirectory() as folder:
        output = Path(folder) / f"out{ending}"
        report = convert(Conversion(paths=(str(source),), to=dialect, output=output), kit)
        return ExportFile(output.read_bytes(), ending, report)


async def read_import(host: Host, kind: DocumentKind, content: bytes, name: str) -> Json:
    """A file in any dialect as the body of a new test set; a rubric or question set in its own format. Datasets are
    stored unread: see `uploads.py`."""
    if kind is DocumentKind.TEST_SET:
        return await asyncio.to_thread(_read_test_set, host.work.kit, content, name)
    value = await asyncio.to_thread(parse_object, content.decode("utf-8-sig", "replace"))
    return {"name": Path(name).stem, **value}


def _read_test_set(kit: Kit, content: bytes, name: str) -> Json:
    """A test set stays as it is; anything else is converted into one."""
    value, problems = parse_json(content, file=name)
    if not problems and isinstance(value, dict) and isinstance(value.get("items"), list):
        return {"name": Path(name).stem, **value}
    with TemporaryDirectory() as folder:
        source = Path(folder) / (Path(name).name or "file.jsonl")
        source.write_bytes(content)
        test_set = msgspec.json.decode(_convert_file(kit, source, "test-set").content, type=Json)
    return {**test_set, "name": Path(name).stem}
