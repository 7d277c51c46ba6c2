"""Uploaded datasets: files of any dialect, checked as `howsure validate` checks them, kept byte for byte. A case is
added or taken out by writing the next version; no other byte of the file changes."""

from __future__ import annotations

import asyncio
import csv
import io
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from msgspec import Struct

from howsure.dialects.finding import detect
from howsure.dialects.reading import read_cases, validate
from howsure.errors import DatasetInvalid, PlanRefused
from howsure.kit import Kit
from howsure.model.access_scope import AccessScope
from howsure.model.case import Case
from howsure.model.document import Document, DocumentKind
from howsure.services.hosting.host import Host
from howsure.services.hosting.materials import on_disk
from howsure.store.service.documents import Draft

Json = dict[str, Any]
ENDINGS = (".jsonl", ".json", ".csv")
LISTS = ("golden_questions", "questions", "items")
"""Where whole-file dialects keep their cases."""


class Upload(Struct, frozen=True, kw_only=True):
    """A file as it came. `dialect` is found out where it is not said; None: as it was."""

    content: bytes
    name: str | None = None
    agent_id: str | None = None
    dialect: str = ""
    author: str = ""
    note: str = ""


async def draft_of(host: Host, upload: Upload) -> Draft:
    """The upload, checked: DatasetInvalid with every problem of it."""
    dialect, case_ids = await asyncio.to_thread(_checked, host.work.kit, upload)
    return Draft(
        body=upload.content,
        agent_id=upload.agent_id,
        name=upload.name,
        author=upload.author,
        note=upload.note,
        dialect=dialect,
        case_ids=case_ids,
    )


def _checked(kit: Kit, upload: Upload) -> tuple[str, tuple[str, ...]]:
    with TemporaryDirectory() as folder:
        path = _written(upload, Path(folder))
        reader = kit.dialects[upload.dialect] if upload.dialect else detect(path, list(kit.dialects))
        ids: list[str] = []
        report = validate(path, reader, lambda case: ids.append(case.id))
        if report.problems:
            raise DatasetInvalid("upload", report.problems)
        return reader.name, tuple(ids)


def _written(upload: Upload, folder: Path) -> Path:
    """The file, under a name whose ending fits what is in it."""
    named = Path(upload.name or "").suffix.lower()
    ending = named if named in ENDINGS else _ending(upload.content)
    path = folder / f"dataset{ending}"
    path.write_bytes(upload.content)
    return path


def _ending(content: bytes) -> str:
    text = content.lstrip(b"\xef\xbb\xbf \t\r\n")
    if not text.startswith((b"{", b"[")):
        return ".csv"
    first, _, rest = text.partition(b"\n")
    try:
        msgspec.json.decode(first)
    except msgspec.DecodeError:
        return ".json"
    return ".jsonl" if rest.strip() or not any(f'"{name}"'.encode() in first for name in LISTS) else ".json"


async def cases_of(host: Host, document: Document, start: int, limit: int) -> list[Case]:
    """Some cases of a dataset, in the order of the file."""
    path = await asyncio.to_thread(on_disk, document, host.work.data_folder / "documents")
    return await asyncio.to_thread(_page, host.work.kit, document.edition.dialect, path, start, limit)


def _page(kit: Kit, dialect: str, path: Path, start: int, limit: int) -> list[Case]:
    return list(islice(read_cases(path, kit.dialects[dialect]), start, start + limit))


async def with_case(host: Host, document: Document, given: Json, author: str, within: AccessScope) -> Document:
    """The dataset with one more case, written as its dialect writes cases."""
    content = added(document.edition.body, given)
    return await _next(host, document, content, author, "a case was added", within)


async def without_case(host: Host, document: Document, position: int, author: str, within: AccessScope) -> Document:
    content = removed(document.edition.body, position)
    return await _next(host, document, content, author, "a case was taken out", within)


async def _next(host: Host, old: Document, content: bytes, author: str, note: str, within: AccessScope) -> Document:
    upload = Upload(content=content, dialect=old.edition.dialect, author=author, note=note, name=old.name)
    draft = await draft_of(host, upload)
    return await host.store.documents.revise(DocumentKind.DATASET, old.id, draft, expected=old.latest, within=within)


async def restore_upload(
    host: Host, key: str, version: int, author: str, within: AccessScope, note: str = ""
) -> Document:
    """An old version again, as the newest. It is read again, so that its cases are found by their ids."""
    old = await host.store.documents.get(DocumentKind.DATASET, key, version, within=within)
    told = note or f"version {version} restored"
    upload = Upload(content=old.edition.body, dialect=old.edition.dialect, author=author, note=told)
    draft = await draft_of(host, upload)
    return await host.store.documents.revise(DocumentKind.DATASET, key, draft, within=within)


def added(content: bytes, given: Json) -> bytes:
    match _ending(content):
        case ".jsonl":
            return content.rstrip(b"\r\n") + b"\n" + msgspec.json.encode(given) + b"\n"
        case ".json":
            whole, cases = _whole(content)
            cases.append(given)
            return msgspec.json.format(msgspec.json.encode(whole), indent=2)
        case _:
            raise PlanRefused("a case cannot be added to a CSV file here: upload the file with the case in it")


def removed(content: bytes, position: int) -> bytes:
    """Without the case at a position; a dataset needs one case at least."""
    match _ending(content):
        case ".jsonl":
            return b"".join(_without(content.splitlines(keepends=True), position))
        case ".json":
            whole, cases = _whole(content)
            del cases[position]
            return msgspec.json.format(msgspec.json.encode(whole), indent=2)
        case _:
            return _without_record(content, position)


def _without(lines: list[bytes], position: int) -> Iterator[bytes]:
    seen = -1
    for line in lines:
        seen += bool(line.strip())
        if not (line.strip() and seen == position):
            yield line


def _without_record(content: bytes, position: int) -> bytes:
    records = list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")))
    del records[position + 1]
    out = io.StringIO(newline="")
    csv.writer(out).writerows(records)
    return out.getvalue().encode()


def _whole(content: bytes) -> tuple[Any, list[Any]]:
    whole = msgspec.json.decode(content)
    if isinstance(whole, list):
        return whole, whole
    name = next((name for name in LISTS if isinstance(whole.get(name), list)), None)
    if name is None:
        raise PlanRefused(f"this file has no list of cases: expected one of {', '.join(LISTS)}")
    return whole, whole[name]
