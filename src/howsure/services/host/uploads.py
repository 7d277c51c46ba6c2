"""Uploaded datasets: files of any dialect, checked as `howsure validate` checks them and stored byte for byte. Adding
or removing a case stores the next version; no other byte of the file changes."""

from __future__ import annotations

import asyncio
import csv
import io
import re
from collections.abc import AsyncIterator
from hashlib import sha256
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from howsure.dialects.datasets import read_cases
from howsure.dialects.tool_datasets.documents import ToolDialect
from howsure.errors import Conflict, DatasetInvalid, InputError, PlanRefused, Problem, Unreachable
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.case import Case
from howsure.model.document import Document, DocumentKind
from howsure.model.run import Run
from howsure.reports.evaluations import dataset_id_of
from howsure.services.host.document_files import document_path, read_reference
from howsure.services.host.documents import check_agent_access, file_content
from howsure.services.host.request_checks import RequestFaults
from howsure.services.host.upload_checks import LARGE_UPLOAD, LISTS, check_file, ending_of, turn_of
from howsure.services.workspace import Host
from howsure.store.documents import DocumentDraft

Json = dict[str, Any]


class Upload(Struct, frozen=True, kw_only=True):
    """A file to store: its `content`, or `file`, where it lies already. The dialect is detected where `dialect` is "";
    None means: unchanged."""

    content: bytes = b""
    file: Path | None = None
    name: str | None = None
    agent_id: str | None = None
    dialect: str = ""
    author: str = ""
    note: str = ""


async def spool_upload(pieces: AsyncIterator[bytes], path: Path) -> bytes:
    """Write an upload to a file as it comes; returns its hash."""
    hashed = sha256()
    try:
        with path.open("wb") as file:
            async for piece in pieces:
                hashed.update(piece)
                file.write(piece)
    except OSError as error:
        raise Unreachable(f"an upload cannot be written to {path.parent}: {error.strerror}") from error
    return hashed.hexdigest().encode()


async def check_upload(host: Host, upload: Upload, scope: AccessScope = EVERYWHERE) -> DocumentDraft:
    """The checked upload, ready to store; DatasetInvalid with every problem. `file` is renamed by it."""
    dialects, faults = host.work.kit.dialects, RequestFaults()
    with faults.of("dialect"):
        readers = [dialects[upload.dialect]] if upload.dialect else list(dialects)
    faults.refuse()
    # Files of these dialects name others, and beside an upload lie the files of other people.
    readers = [each for each in readers if not isinstance(each, ToolDialect)]
    if not readers:
        raise InputError(
            f"dialect: a {upload.dialect} file is not taken here: make a dataset of it with `howsure convert`"
        )
    with TemporaryDirectory() as folder:
        path = upload.file or Path(folder) / "upload"
        if upload.file is None:
            await asyncio.to_thread(path.write_bytes, upload.content)
        async with turn_of(scope.home if path.stat().st_size > LARGE_UPLOAD else None):
            found = await check_file(path, upload.name or "", readers, host.work.kit)
        if found.refusal:
            raise InputError(_as_uploaded(found.refusal, path.parent, upload.name))
        if found.problems:
            raise DatasetInvalid(
                "upload", [_named(each, path.parent, upload.name) for each in found.problems], found.more
            )
        body = upload.content if upload.file is None else await asyncio.to_thread((path.parent / found.file).read_bytes)
    return DocumentDraft(
        body=body,
        agent_id=upload.agent_id,
        name=upload.name,
        author=upload.author,
        note=upload.note,
        dialect=found.dialect,
        case_ids=found.case_ids,
    )


def _as_uploaded(text: str, folder: Path, name: str | None) -> str:
    """The text with the name that the file was sent under."""
    return re.sub(
        rf"(?:{re.escape(str(folder))}/|(?<![\w./-]))dataset\.(?:jsonl?|csv)\b", lambda _: name or "the upload", text
    )


def _named(problem: Problem, folder: Path, name: str | None) -> Problem:
    texts = {each: _as_uploaded(getattr(problem, each), folder, name) for each in ("file", "message", "hint")}
    return replace(problem, **texts)


async def read_case_page(host: Host, document: Document, start: int, limit: int) -> list[Case]:
    """The cases from `start` on, at most `limit`, in the order of the file."""
    path = await asyncio.to_thread(document_path, document, host.work.data_folder / "documents")
    dialect = host.work.kit.dialects[document.edition.dialect]
    return await asyncio.to_thread(lambda: list(islice(read_cases(path, dialect), start, start + limit)))


async def append_case(host: Host, document: Document, case: Json, author: str, scope: AccessScope) -> Document:
    """Store the next version of a dataset, with one more case as its dialect writes cases."""
    content = await asyncio.to_thread(content_with_case, document.edition.body, case)
    return await _store_next_version(host, document, content, author, "a case was added", scope)


async def drop_case(host: Host, document: Document, position: int, author: str, scope: AccessScope) -> Document:
    content = await asyncio.to_thread(content_without_case, document.edition.body, position)
    return await _store_next_version(host, document, content, author, "a case was removed", scope)


async def _store_next_version(
    host: Host, old: Document, content: bytes, author: str, note: str, scope: AccessScope
) -> Document:
    upload = Upload(content=content, dialect=old.edition.dialect, author=author, note=note, name=old.name)
    draft = await check_upload(host, upload, scope)
    return await host.store.documents.revise(DocumentKind.DATASET, old.id, draft, expected=old.latest, within=scope)


async def restore_upload(
    host: Host, key: str, version: int, author: str, scope: AccessScope, note: str = ""
) -> Document:
    """Store an old version again, as the newest. The file is read again to index the ids of its cases."""
    old = await host.store.documents.get(DocumentKind.DATASET, key, version, within=scope)
    note = note or f"version {version} restored"
    upload = Upload(content=old.edition.body, dialect=old.edition.dialect, author=author, note=note)
    draft = replace(await check_upload(host, upload, scope), name=old.name, agent_id=old.agent_id)
    check_agent_access(old.agent_id, scope)
    return await host.store.documents.revise(DocumentKind.DATASET, key, draft, within=scope)


def content_with_case(content: bytes, case: Json) -> bytes:
    match ending_of(content):
        case ".jsonl":
            return content.rstrip(b"\r\n") + b"\n" + msgspec.json.encode(case) + b"\n"
        case ".json":
            whole, cases = _parse_cases(content)
            cases.append(case)
            return msgspec.json.format(msgspec.json.encode(whole), indent=2)
        case _:
            raise PlanRefused("a case cannot be added to a CSV file here: upload the file with the case in it")


def content_without_case(content: bytes, position: int) -> bytes:
    """The file without the case at a position."""
    match ending_of(content):
        case ".jsonl":
            lines = content.splitlines(keepends=True)
            # Blank lines hold no case and stay.
            dropped = [index for index, line in enumerate(lines) if line.strip()][position : position + 1]
            return b"".join(line for index, line in enumerate(lines) if index not in dropped)
        case ".json":
            whole, cases = _parse_cases(content)
            del cases[position]
            return msgspec.json.format(msgspec.json.encode(whole), indent=2)
        case _:
            records = list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")))
            del records[position + 1]
            out = io.StringIO(newline="")
            csv.writer(out).writerows(records)
            return out.getvalue().encode()


def _parse_cases(content: bytes) -> tuple[Any, list[Any]]:
    """The whole JSON value, and the list inside it that holds the cases."""
    try:
        whole = msgspec.json.decode(content)
    except msgspec.DecodeError as error:
        raise PlanRefused(f"this file begins like JSON and is none: {error}") from error
    if isinstance(whole, list):
        return whole, whole
    name = next((name for name in LISTS if isinstance(whole.get(name), list)), None)
    if name is None:
        raise PlanRefused(f"this file has no list of cases: expected one of {', '.join(LISTS)}")
    return whole, whole[name]


async def save_run_cases(host: Host, run: Run, author: str, scope: AccessScope) -> None:
    """Store the cases of a run as a dataset, under the id that the run shows. The same cases have the same id, so doing
    it twice changes nothing."""
    source = read_reference(run.pins.datasets[0].path)
    document = await host.store.documents.get(source.kind, source.id, source.version, within=scope, deleted=True)
    upload = Upload(
        content=file_content(document),
        name=f"{document.name}.json",
        agent_id=document.agent_id,
        dialect="test-set",
        author=author,
        note=f"the cases of test set {document.id}, version {document.edition.version}",
    )
    draft = await check_upload(host, upload, scope)
    try:
        await host.store.documents.create(DocumentKind.DATASET, dataset_id_of(run.pins), draft, scope)
    except Conflict:
        return
