"""Everything that has versions: rubrics, test sets, question sets, evaluator configs, datasets, agents; and all of them
at once, exported as entries and imported again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

from howsure.client.connection import Connection, ServiceRequest
from howsure.client.pages import PagedList, ServiceResource, read_list, stream_lines
from howsure.errors import NotFound
from howsure.wire.admin import DocumentEntry, ImportedDocument
from howsure.wire.base import Json, sendable_body
from howsure.wire.documents import (
    BotContext,
    BotVersion,
    DatasetCase,
    DocumentDifference,
    UploadedDataset,
    VersionedDocument,
)


def read_content(file: str | Path | bytes) -> bytes:
    """The bytes; NotFound names a file that cannot be read, and why."""
    if isinstance(file, bytes):
        return file
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise NotFound(f"{file} cannot be read: {error.strerror}") from None


D = TypeVar("D", bound=VersionedDocument)
Body = Mapping[str, Any]


def url_path(*parts: str | int) -> str:
    """A path; each part may be anything."""
    return "".join(f"/{quote(str(part), safe='')}" for part in parts)


def if_match(version: int | None) -> dict[str, str]:
    return {} if version is None else {"If-Match": f'"{version}"'}


class VersionedResource(ServiceResource, Generic[D]):
    """One kind of document with versions. `version`, where a change or deletion takes it, is the one that was read:
    `VersionConflict` is raised when there is a newer one by now."""

    def __init__(self, connection: Connection, path: str, kind: type[D]) -> None:
        super().__init__(connection)
        self._path = path
        self._kind = kind

    def each(self, *, agent_id: str | None = None, name: str | None = None, most: int | None = None) -> PagedList[D]:
        """Newest first."""
        return self._pages(self._kind, self._path, most, agent_id=agent_id, name=name)

    async def get(self, id: str, version: int | None = None) -> D:
        """The newest version, or the one that is named."""
        path = self._path + (url_path(id) if version is None else url_path(id, "versions", version))
        return await self._read(self._kind, "GET", path)

    async def change(self, id: str, body: Body | D, *, version: int | None = None) -> D:
        """The next version."""
        path, headers = self._path + url_path(id), if_match(version)
        return await self._read(self._kind, "PUT", path, sendable_body(body), headers=headers)

    async def delete(self, id: str, *, version: int | None = None) -> None:
        """Runs that used it keep the version they used."""
        await self._send("DELETE", self._path + url_path(id), headers=if_match(version))

    def versions(self, id: str, *, most: int | None = None) -> PagedList[D]:
        """Every version, newest first."""
        return self._pages(self._kind, self._path + url_path(id, "versions"), most)

    async def diff(self, id: str, a: int, b: int) -> list[DocumentDifference]:
        """What changed between two versions; of datasets, case by case."""
        return await self._read_list(DocumentDifference, self._path + url_path(id, "versions", a, "diff", b))

    async def restore(self, id: str, version: int) -> D:
        """An old version again, as the newest."""
        return await self._read(self._kind, "POST", self._path + url_path(id, "versions", version, "restore"))


class AsyncDocuments(VersionedResource[D]):
    """Documents that are written as JSON: rubrics, test sets, question sets, evaluator configs."""

    async def create(self, body: Body | D) -> D:
        return await self._read(self._kind, "POST", self._path, sendable_body(body))


class AsyncDatasets(VersionedResource[UploadedDataset]):
    """Files of any dialect, and their cases. A changed one is sent as `name` and `content`, and what else it has."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection, "/datasets", UploadedDataset)

    async def upload(
        self,
        file: str | Path | bytes,
        *,
        name: str | None = None,
        agent_id: str | None = None,
        dialect: str | None = None,
    ) -> UploadedDataset:
        """A file, by its path or its bytes. Where it has problems, `Invalid` lists them all and nothing is stored."""
        content = await asyncio.to_thread(read_content, file)
        file_name = name or ("dataset" if isinstance(file, bytes) else Path(file).name)
        query = {"name": file_name, "agent_id": agent_id, "dialect": dialect}
        return await self._read(UploadedDataset, "POST", "/datasets/upload", content, query=query)

    async def content(self, id: str, version: int) -> bytes:
        """The file, byte for byte."""
        return (await self._send("GET", url_path("datasets", id, "versions", version, "content"))).body

    def cases(self, id: str, *, most: int | None = None) -> PagedList[DatasetCase]:
        """In the order of the file."""
        return self._pages(DatasetCase, url_path("datasets", id, "test-cases"), most)

    async def case(self, case_id: str) -> DatasetCase:
        """One case, by the `id` that lists give it."""
        return await self._read(DatasetCase, "GET", url_path("test-cases", case_id))

    async def add_case(self, id: str, case: Json) -> UploadedDataset:
        """The dataset with one more case, written as its dialect writes it."""
        return await self._read(UploadedDataset, "POST", url_path("datasets", id, "test-cases"), {"case": case})

    async def remove_case(self, case_id: str) -> None:
        await self._send("DELETE", url_path("test-cases", case_id))


class AsyncBots(ServiceResource):
    """What is known of agents."""

    async def get(self, id: str) -> BotContext:
        return await self._read(BotContext, "GET", url_path("bots", id, "context"))

    async def describe(self, id: str, body: Body | BotContext, *, version: int | None = None) -> BotContext:
        """Write or replace the description of an agent. Runs keep the description that they started with."""
        path, headers = url_path("bots", id, "context"), if_match(version)
        return await self._read(BotContext, "PUT", path, sendable_body(body), headers=headers)

    def versions(self, id: str, *, most: int | None = None) -> PagedList[BotVersion]:
        """Every description that was written here, newest first."""
        return self._pages(BotVersion, url_path("bots", id, "context", "versions"), most)

    async def diff(self, id: str, a: int, b: int) -> list[DocumentDifference]:
        """What changed between two versions."""
        return await self._read_list(DocumentDifference, url_path("bots", id, "context", "versions", a, "diff", b))

    async def restore(self, id: str, version: int) -> BotVersion:
        """An old version again, as the newest."""
        return await self._read(BotVersion, "POST", url_path("bots", id, "context", "versions", version, "restore"))


Kind = Literal["rubric", "test_set", "question_set", "dataset", "agent", "graders"]
NDJSON = {"Content-Type": "application/x-ndjson"}
LARGEST = 8 * 1024 * 1024
"""Bytes sent at a time, as far as single entries are smaller."""


class AsyncBulk(ServiceResource):
    """Documents as entries, one a line: `kind`, `id`, and the document itself at its newest version."""

    def export(self, *kinds: Kind) -> PagedList[DocumentEntry]:
        """Every document that the key may see; only of these kinds, where some are named."""
        return stream_lines(
            self._connection, DocumentEntry, ServiceRequest(method="GET", path="/export", query={"kind": kinds})
        )

    async def load(self, entries: str | Path | bytes | Iterable[DocumentEntry]) -> list[ImportedDocument]:
        """Entries from a file, its bytes, or as they were exported. A document that is there already is left as it is;
        one that cannot be taken says why, and the others are taken."""
        content = await asyncio.to_thread(entry_lines, entries)
        done: list[ImportedDocument] = []
        before = 0
        for part, lines in _parts(content):
            imported = read_list(ImportedDocument, await self._send("POST", "/import", part, headers=NDJSON))
            done += [replace(document, line=document.line + before) for document in imported]
            before += lines
        return done


def entry_lines(entries: str | Path | bytes | Iterable[DocumentEntry]) -> bytes:
    """Entries as the service reads them, one a line."""
    if isinstance(entries, bytes | str | Path):
        return read_content(entries)
    plain = ({"kind": entry.kind, "id": entry.id, "document": entry.document} for entry in entries)
    return b"".join(msgspec.json.encode(each) + b"\n" for each in plain)


def _parts(content: bytes) -> Iterator[tuple[bytes, int]]:
    """The content in pieces of whole lines that the service takes, each with how many lines it has. What has no line
    is one piece, too: the service says what is wrong with it."""
    part: list[bytes] = []
    size = 0
    for line in content.splitlines(keepends=True):
        if part and size + len(line) > LARGEST:
            yield b"".join(part), len(part)
            part, size = [], 0
        part.append(line)
        size += len(line)
    if part or not content:
        yield b"".join(part), len(part)
