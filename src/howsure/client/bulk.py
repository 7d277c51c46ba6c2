"""Everything at once: every document out as entries, and entries back in, into this service or another."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from howsure.client.connection import Connection, Request
from howsure.client.files import content_of
from howsure.client.pages import Pages, read_list
from howsure.client.streams import streamed
from howsure.client.wire.bulk import Entry, Imported

Kind = Literal["rubric", "test_set", "question_set", "dataset", "agent", "graders"]
NDJSON = {"Content-Type": "application/x-ndjson"}
LARGEST = 8 * 1024 * 1024
"""Bytes sent at a time, as far as single entries are smaller."""


class AsyncBulk:
    """Documents as entries, one a line: `kind`, `id`, and the document itself at its newest version."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def export(self, *kinds: Kind) -> Pages[Entry]:
        """Every document that the key may see; only of these kinds, where some are named."""
        return streamed(self._connection, Entry, Request(method="GET", path="/export", query={"kind": kinds}))

    async def load(self, entries: str | Path | bytes | Iterable[Entry]) -> list[Imported]:
        """Entries from a file, its bytes, or as they were exported. A document that is there already is left as it is;
        one that cannot be taken says why, and the others are taken."""
        content = await asyncio.to_thread(_lines, entries)
        done: list[Imported] = []
        before = 0
        for part, lines in _parts(content):
            request = Request(method="POST", path="/import", body=part, headers=NDJSON)
            told = read_list(Imported, await self._connection.ask(request))
            done += [replace(each, line=each.line + before) for each in told]
            before += lines
        return done


def _lines(entries: str | Path | bytes | Iterable[Entry]) -> bytes:
    if isinstance(entries, bytes | str | Path):
        return content_of(entries)
    return b"".join(msgspec.json.encode(_plain(each)) + b"\n" for each in entries)


def _plain(entry: Entry) -> dict[str, Any]:
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
