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
from howsure.client.pages import PagedList, list_pages, read_answer, read_list, stream_lines
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


class AsyncDocuments(Generic[D]):
    """One kind of document. `version`, where a change or deletion takes it, is the one that was read: `Outdated` is
    raised when there is a newer one by now."""

    def __init__(self, connection: Connection, path: str, kind: type[D]) -> None:
        self._connection = connection
        self._path = path
        self._kind = kind

    def each(self, *, agent_id: str | None = None, name: str | None = None, most: int | None = None) -> PagedList[D]:
        """Newest first."""
        return list_pages(self._connection, self._kind, self._path, most, agent_id=agent_id, name=name)

    async def get(self, id: str, version: int | None = None) -> D:
        """The newest version, or the one that is named; versions of what was deleted can still be read."""
        path = self._path + (url_path(id) if version is None else url_path(id, "versions", version))
        return await self._one(ServiceRequest(method="GET", path=path))

    async def create(self, body: Body | D) -> D:
        return await self._one(ServiceRequest(method="POST", path=self._path, body=sendable_body(body)))

    async def change(self, id: str, body: Body | D, *, version: int | None = None) -> D:
        """The next version."""
        path = self._path + url_path(id)
        return await self._one(
            ServiceRequest(method="PUT", path=path, body=sendable_body(body), headers=if_match(version))
        )

    async def delete(self, id: str, *, version: int | None = None) -> None:
        """Runs that used it keep the version they used."""
        request = ServiceRequest(method="DELETE", path=self._path + url_path(id), headers=if_match(version))
        await self._connection.ask(request)

    def versions(self, id: str, *, most: int | None = None) -> PagedList[D]:
        """Every version, newest first."""
        return list_pages(self._connection, self._kind, self._path + url_path(id, "versions"), most)

    async def diff(self, id: str, a: int, b: int) -> list[DocumentDifference]:
        """What changed between two versions."""
        path = self._path + url_path(id, "versions", a, "diff", b)
        return read_list(DocumentDifference, await self._connection.ask(ServiceRequest(method="GET", path=path)))

    async def restore(self, id: str, version: int) -> D:
        """An old version again, as the newest."""
        return await self._one(
            ServiceRequest(method="POST", path=self._path + url_path(id, "versions", version, "restore"))
        )

    async def _one(self, request: ServiceRequest) -> D:
        return read_answer(self._kind, await self._connection.ask(request))


class AsyncDatasets:
    """Files of any dialect, and their cases."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def each(
        self, *, agent_id: str | None = None, name: str | None = None, most: int | None = None
    ) -> PagedList[UploadedDataset]:
        """Newest first."""
        return list_pages(self._connection, UploadedDataset, "/datasets", most, agent_id=agent_id, name=name)

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
        called = name or ("dataset" if isinstance(file, bytes) else Path(file).name)
        query = {"name": called, "agent_id": agent_id, "dialect": dialect}
        return await self._one(ServiceRequest(method="POST", path="/datasets/upload", query=query, body=content))

    async def get(self, id: str, version: int | None = None) -> UploadedDataset:
        """Its newest version, or the one that is named, without the content."""
        path = url_path("datasets", id) if version is None else url_path("datasets", id, "versions", version)
        return await self._one(ServiceRequest(method="GET", path=path))

    def versions(self, id: str, *, most: int | None = None) -> PagedList[UploadedDataset]:
        """Every version, newest first."""
        return list_pages(self._connection, UploadedDataset, url_path("datasets", id, "versions"), most)

    async def diff(self, id: str, a: int, b: int) -> list[DocumentDifference]:
        """What changed between two versions, case by case."""
        request = ServiceRequest(method="GET", path=url_path("datasets", id, "versions", a, "diff", b))
        return read_list(DocumentDifference, await self._connection.ask(request))

    async def restore(self, id: str, version: int) -> UploadedDataset:
        """An old version again, as the newest."""
        return await self._one(
            ServiceRequest(method="POST", path=url_path("datasets", id, "versions", version, "restore"))
        )

    async def content(self, id: str, version: int) -> bytes:
        """The file, byte for byte."""
        request = ServiceRequest(method="GET", path=url_path("datasets", id, "versions", version, "content"))
        return (await self._connection.ask(request)).body

    async def change(self, id: str, body: Body, *, version: int | None = None) -> UploadedDataset:
        """The next version: `name` and `content`, and what else a dataset has."""
        path = url_path("datasets", id)
        return await self._one(ServiceRequest(method="PUT", path=path, body=body, headers=if_match(version)))

    async def delete(self, id: str, *, version: int | None = None) -> None:
        """Runs that used it can still read their version."""
        request = ServiceRequest(method="DELETE", path=url_path("datasets", id), headers=if_match(version))
        await self._connection.ask(request)

    def cases(self, id: str, *, most: int | None = None) -> PagedList[DatasetCase]:
        """In the order of the file."""
        return list_pages(self._connection, DatasetCase, url_path("datasets", id, "test-cases"), most)

    async def case(self, case_id: str) -> DatasetCase:
        """One case, by the `id` that lists give it."""
        request = ServiceRequest(method="GET", path=url_path("test-cases", case_id))
        return read_answer(DatasetCase, await self._connection.ask(request))

    async def add_case(self, id: str, case: Json) -> UploadedDataset:
        """The dataset with one more case, written as its dialect writes it."""
        return await self._one(
            ServiceRequest(method="POST", path=url_path("datasets", id, "test-cases"), body={"case": case})
        )

    async def remove_case(self, case_id: str) -> None:
        await self._connection.ask(ServiceRequest(method="DELETE", path=url_path("test-cases", case_id)))

    async def _one(self, request: ServiceRequest) -> UploadedDataset:
        return read_answer(UploadedDataset, await self._connection.ask(request))


class AsyncBots:
    """What is known of agents."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def get(self, id: str) -> BotContext:
        return read_answer(
            BotContext, await self._connection.ask(ServiceRequest(method="GET", path=url_path("bots", id, "context")))
        )

    async def describe(self, id: str, body: Body | BotContext, *, version: int | None = None) -> BotContext:
        """Write or replace the description of an agent. Runs keep the description that they started with."""
        path = url_path("bots", id, "context")
        request = ServiceRequest(method="PUT", path=path, body=sendable_body(body), headers=if_match(version))
        return read_answer(BotContext, await self._connection.ask(request))

    def versions(self, id: str, *, most: int | None = None) -> PagedList[BotVersion]:
        """Every description that was written here, newest first."""
        return list_pages(self._connection, BotVersion, url_path("bots", id, "context", "versions"), most)

    async def diff(self, id: str, a: int, b: int) -> list[DocumentDifference]:
        """What changed between two versions."""
        request = ServiceRequest(method="GET", path=url_path("bots", id, "context", "versions", a, "diff", b))
        return read_list(DocumentDifference, await self._connection.ask(request))

    async def restore(self, id: str, version: int) -> BotVersion:
        """An old version again, as the newest."""
        path = url_path("bots", id, "context", "versions", version, "restore")
        return read_answer(BotVersion, await self._connection.ask(ServiceRequest(method="POST", path=path)))


Kind = Literal["rubric", "test_set", "question_set", "dataset", "agent", "graders"]
NDJSON = {"Content-Type": "application/x-ndjson"}
LARGEST = 8 * 1024 * 1024
"""Bytes sent at a time, as far as single entries are smaller."""


class AsyncBulk:
    """Documents as entries, one a line: `kind`, `id`, and the document itself at its newest version."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def export(self, *kinds: Kind) -> PagedList[DocumentEntry]:
        """Every document that the key may see; only of these kinds, where some are named."""
        return stream_lines(
            self._connection, DocumentEntry, ServiceRequest(method="GET", path="/export", query={"kind": kinds})
        )

    async def load(self, entries: str | Path | bytes | Iterable[DocumentEntry]) -> list[ImportedDocument]:
        """Entries from a file, its bytes, or as they were exported. A document that is there already is left as it is;
        one that cannot be taken says why, and the others are taken."""
        content = await asyncio.to_thread(_lines, entries)
        done: list[ImportedDocument] = []
        before = 0
        for part, lines in _parts(content):
            request = ServiceRequest(method="POST", path="/import", body=part, headers=NDJSON)
            told = read_list(ImportedDocument, await self._connection.ask(request))
            done += [replace(each, line=each.line + before) for each in told]
            before += lines
        return done


def _lines(entries: str | Path | bytes | Iterable[DocumentEntry]) -> bytes:
    if isinstance(entries, bytes | str | Path):
        return read_content(entries)
    return b"".join(msgspec.json.encode(_plain(each)) + b"\n" for each in entries)


def _plain(entry: DocumentEntry) -> dict[str, Any]:
    return {"kind": entry.kind, "id": entry.id, "document": entry.document}


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
