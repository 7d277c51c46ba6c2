"""Everything that has versions: rubrics, test sets, question sets, lists of graders; datasets; and agents."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from howsure.client.connection import Connection, Request
from howsure.client.files import content_of
from howsure.client.pages import Pages, paged, read_answer, read_list
from howsure.client.wire.base import Json, sendable
from howsure.client.wire.documents import Bot, BotEdition, Dataset, DatasetCase, Difference, Document

D = TypeVar("D", bound=Document)
Body = Mapping[str, Any]


def place(*parts: str | int) -> str:
    """A path; each part may be anything."""
    return "".join(f"/{quote(str(part), safe='')}" for part in parts)


def if_match(version: int | None) -> dict[str, str]:
    return {} if version is None else {"If-Match": f'"{version}"'}


class AsyncShelf(Generic[D]):
    """One kind of document. `version`, where a change or deletion takes it, is the one that was read: `Outdated` is
    raised when somebody else has made another since."""

    def __init__(self, connection: Connection, path: str, kind: type[D]) -> None:
        self._connection = connection
        self._path = path
        self._kind = kind

    def each(self, *, agent_id: str | None = None, name: str | None = None, most: int | None = None) -> Pages[D]:
        """Newest first."""
        return paged(self._connection, self._kind, self._path, most, agent_id=agent_id, name=name)

    async def get(self, id: str, version: int | None = None) -> D:
        """The newest version, or the one that is named; versions of what was deleted can still be read."""
        path = self._path + (place(id) if version is None else place(id, "versions", version))
        return await self._one(Request(method="GET", path=path))

    async def create(self, body: Body | D) -> D:
        return await self._one(Request(method="POST", path=self._path, body=sendable(body)))

    async def change(self, id: str, body: Body | D, *, version: int | None = None) -> D:
        """The next version."""
        path = self._path + place(id)
        return await self._one(Request(method="PUT", path=path, body=sendable(body), headers=if_match(version)))

    async def delete(self, id: str, *, version: int | None = None) -> None:
        """Runs that used it keep the version they used."""
        request = Request(method="DELETE", path=self._path + place(id), headers=if_match(version))
        await self._connection.ask(request)

    def versions(self, id: str, *, most: int | None = None) -> Pages[D]:
        """Every version, newest first."""
        return paged(self._connection, self._kind, self._path + place(id, "versions"), most)

    async def diff(self, id: str, a: int, b: int) -> list[Difference]:
        """What changed between two versions."""
        path = self._path + place(id, "versions", a, "diff", b)
        return read_list(Difference, await self._connection.ask(Request(method="GET", path=path)))

    async def restore(self, id: str, version: int) -> D:
        """An old version again, as the newest."""
        return await self._one(Request(method="POST", path=self._path + place(id, "versions", version, "restore")))

    async def _one(self, request: Request) -> D:
        return read_answer(self._kind, await self._connection.ask(request))


class AsyncDatasets:
    """Files of any dialect, and their cases."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def each(self, *, agent_id: str | None = None, name: str | None = None, most: int | None = None) -> Pages[Dataset]:
        """Newest first."""
        return paged(self._connection, Dataset, "/datasets", most, agent_id=agent_id, name=name)

    async def upload(
        self,
        file: str | Path | bytes,
        *,
        name: str | None = None,
        agent_id: str | None = None,
        dialect: str | None = None,
    ) -> Dataset:
        """A file, by its path or its bytes. Where it has problems, `Invalid` lists them all and nothing is stored."""
        content = await asyncio.to_thread(content_of, file)
        called = name or ("dataset" if isinstance(file, bytes) else Path(file).name)
        query = {"name": called, "agent_id": agent_id, "dialect": dialect}
        return await self._one(Request(method="POST", path="/datasets/upload", query=query, body=content))

    async def get(self, id: str, version: int | None = None) -> Dataset:
        """Its newest version, or the one that is named, without the content."""
        path = place("datasets", id) if version is None else place("datasets", id, "versions", version)
        return await self._one(Request(method="GET", path=path))

    def versions(self, id: str, *, most: int | None = None) -> Pages[Dataset]:
        """Every version, newest first."""
        return paged(self._connection, Dataset, place("datasets", id, "versions"), most)

    async def diff(self, id: str, a: int, b: int) -> list[Difference]:
        """What changed between two versions, case by case."""
        request = Request(method="GET", path=place("datasets", id, "versions", a, "diff", b))
        return read_list(Difference, await self._connection.ask(request))

    async def restore(self, id: str, version: int) -> Dataset:
        """An old version again, as the newest."""
        return await self._one(Request(method="POST", path=place("datasets", id, "versions", version, "restore")))

    async def content(self, id: str, version: int) -> bytes:
        """The file, byte for byte."""
        request = Request(method="GET", path=place("datasets", id, "versions", version, "content"))
        return (await self._connection.ask(request)).body

    async def change(self, id: str, body: Body, *, version: int | None = None) -> Dataset:
        """The next version: `name` and `content`, and what else a dataset has."""
        path = place("datasets", id)
        return await self._one(Request(method="PUT", path=path, body=body, headers=if_match(version)))

    async def delete(self, id: str, *, version: int | None = None) -> None:
        """Runs that used it can still read their version."""
        request = Request(method="DELETE", path=place("datasets", id), headers=if_match(version))
        await self._connection.ask(request)

    def cases(self, id: str, *, most: int | None = None) -> Pages[DatasetCase]:
        """In the order of the file."""
        return paged(self._connection, DatasetCase, place("datasets", id, "test-cases"), most)

    async def case(self, case_id: str) -> DatasetCase:
        """One case, by the `id` that lists give it."""
        request = Request(method="GET", path=place("test-cases", case_id))
        return read_answer(DatasetCase, await self._connection.ask(request))

    async def add_case(self, id: str, case: Json) -> Dataset:
        """The dataset with one more case, written as its dialect writes it."""
        return await self._one(Request(method="POST", path=place("datasets", id, "test-cases"), body={"case": case}))

    async def remove_case(self, case_id: str) -> None:
        await self._connection.ask(Request(method="DELETE", path=place("test-cases", case_id)))

    async def _one(self, request: Request) -> Dataset:
        return read_answer(Dataset, await self._connection.ask(request))


class AsyncBots:
    """What is known of agents."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def get(self, id: str) -> Bot:
        return read_answer(Bot, await self._connection.ask(Request(method="GET", path=place("bots", id, "context"))))

    async def describe(self, id: str, body: Body | Bot, *, version: int | None = None) -> Bot:
        """Describe an agent, or describe it anew. Runs keep the description that they started with."""
        path = place("bots", id, "context")
        request = Request(method="PUT", path=path, body=sendable(body), headers=if_match(version))
        return read_answer(Bot, await self._connection.ask(request))

    def versions(self, id: str, *, most: int | None = None) -> Pages[BotEdition]:
        """Every description that was written here, newest first."""
        return paged(self._connection, BotEdition, place("bots", id, "context", "versions"), most)

    async def diff(self, id: str, a: int, b: int) -> list[Difference]:
        """What changed between two versions."""
        request = Request(method="GET", path=place("bots", id, "context", "versions", a, "diff", b))
        return read_list(Difference, await self._connection.ask(request))

    async def restore(self, id: str, version: int) -> BotEdition:
        """An old version again, as the newest."""
        path = place("bots", id, "context", "versions", version, "restore")
        return read_answer(BotEdition, await self._connection.ask(Request(method="POST", path=path)))
