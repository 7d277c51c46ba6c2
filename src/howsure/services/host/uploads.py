"""Uploaded datasets: files of any dialect, checked as `howsure validate` checks them and stored byte for byte. Adding
or removing a case stores the next version; no other byte of the file changes."""

from __future__ import annotations

import asyncio
import csv
import io
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from msgspec import Struct

from howsure.dialects.datasets import detect, read_cases, validate
from howsure.errors import Conflict, DatasetInvalid, PlanRefused
from howsure.kit import Kit
from howsure.model.access_scope import AccessScope
from howsure.model.case import Case
from howsure.model.document import Document, DocumentKind
from howsure.model.run import Run
from howsure.reports.evaluations import dataset_id_of
from howsure.services.host.context import Host
from howsure.services.host.document_files import document_path, read_reference
from howsure.services.host.documents import file_content
from howsure.store.documents import DocumentDraft

Json = dict[str, Any]
ENDINGS = (".jsonl", ".json", ".csv")
LISTS = ("golden_questions", "questions", "items")
"""The fields that hold the cases in whole-file dialects."""


class Upload(Struct, frozen=True, kw_only=True):
    """A file to store. The dialect is detected where `dialect` is ""; None means: unchanged."""

    content: bytes
    name: str | None = None
    agent_id: str | None = None
    dialect: str = ""
    author: str = ""
    note: str = ""


async def check_upload(host: Host, upload: Upload) -> DocumentDraft:
    """The checked upload, ready to store; DatasetInvalid with every problem."""
    dialect, case_ids = await asyncio.to_thread(_validate, host.work.kit, upload)
    return DocumentDraft(
        body=upload.content,
        agent_id=upload.agent_id,
        name=upload.name,
        author=upload.author,
        note=upload.note,
        dialect=dialect,
        case_ids=case_ids,
    )


def _validate(kit: Kit, upload: Upload) -> tuple[str, tuple[str, ...]]:
    """The dialect and the ids of the cases."""
    named = Path(upload.name or "").suffix.lower()
    with TemporaryDirectory() as folder:
        # The suffix must fit the content: dialects are detected by it.
        path = Path(folder) / f"dataset{named if named in ENDINGS else _suffix(upload.content)}"
        path.write_bytes(upload.content)
        reader = kit.dialects[upload.dialect] if upload.dialect else detect(path, list(kit.dialects))
        ids: list[str] = []
        report = validate(path, reader, lambda case: ids.append(case.id))
        if report.problems:
            raise DatasetInvalid("upload", report.problems)
        return reader.name, tuple(ids)


def _suffix(content: bytes) -> str:
    text = content.lstrip(b"\xef\xbb\xbf \t\r\n")
    if not text.startswith((b"{", b"[")):
        return ".csv"
    first, _, rest = text.partition(b"\n")
    try:
        msgspec.json.decode(first)
    except msgspec.DecodeError:
        return ".json"
    return ".jsonl" if rest.strip() or not any(f'"{name}"'.encode() in first for name in LISTS) else ".json"


async def read_case_page(host: Host, document: Document, start: int, limit: int) -> list[Case]:
    """The cases from `start` on, at most `limit`, in the order of the file."""
    path = await asyncio.to_thread(document_path, document, host.work.data_folder / "documents")
    dialect = host.work.kit.dialects[document.edition.dialect]
    return await asyncio.to_thread(lambda: list(islice(read_cases(path, dialect), start, start + limit)))


async def append_case(host: Host, document: Document, case: Json, author: str, scope: AccessScope) -> Document:
    """Store the next version of a dataset, with one more case as its dialect writes cases."""
    content = content_with_case(document.edition.body, case)
    return await _store_next_version(host, document, content, author, "a case was added", scope)


async def drop_case(host: Host, document: Document, position: int, author: str, scope: AccessScope) -> Document:
    content = content_without_case(document.edition.body, position)
    return await _store_next_version(host, document, content, author, "a case was taken out", scope)


async def _store_next_version(
    host: Host, old: Document, content: bytes, author: str, note: str, scope: AccessScope
) -> Document:
    upload = Upload(content=content, dialect=old.edition.dialect, author=author, note=note, name=old.name)
    draft = await check_upload(host, upload)
    return await host.store.documents.revise(DocumentKind.DATASET, old.id, draft, expected=old.latest, within=scope)


async def restore_upload(
    host: Host, key: str, version: int, author: str, scope: AccessScope, note: str = ""
) -> Document:
    """Store an old version again, as the newest. The file is read again to index the ids of its cases."""
    old = await host.store.documents.get(DocumentKind.DATASET, key, version, within=scope)
    note = note or f"version {version} restored"
    upload = Upload(content=old.edition.body, dialect=old.edition.dialect, author=author, note=note)
    draft = await check_upload(host, upload)
    return await host.store.documents.revise(DocumentKind.DATASET, key, draft, within=scope)


def content_with_case(content: bytes, case: Json) -> bytes:
    match _suffix(content):
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
    match _suffix(content):
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
    whole = msgspec.json.decode(content)
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
    draft = await check_upload(host, upload)
    try:
        await host.store.documents.create(DocumentKind.DATASET, dataset_id_of(run.pins), draft, scope)
    except Conflict:
        return
