"""Everything out and in again from a script; and lines that come as they are written, however they are cut."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given, settings
from hypothesis import strategies as st

from howsure.client import documents
from howsure.client.async_client import AsyncClient
from howsure.client.blocking_client import Client
from howsure.client.connection import Connection, Retries, ServiceRequest
from howsure.client.errors import Invalid, ResourceNotFound, ServiceError, Unavailable
from howsure.errors import NotFound
from howsure.wire.admin import DocumentEntry
from listening import listening
from unit.client.fake_service import faking
from unit.client.test_async_client import RULE, entry, finished

LINES = ServiceRequest(method="GET", path="/export")


@pytest.fixture
async def client(service: str) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(service, environ={}) as opened:
        yield opened


def a_rubric(id: str, **more: Any) -> DocumentEntry:
    return DocumentEntry(kind="rubric", id=id, document={"name": id, "rules": [RULE], **more})


async def test_what_was_exported_is_loaded_again(client: AsyncClient) -> None:
    made = await client.rubrics.create({"name": "Kindness", "rules": [RULE]})
    found = [each async for each in client.bulk.export("rubric") if each.id == made.rubric_id]
    assert [(each.kind, each.document["name"]) for each in found] == [("rubric", "Kindness")]
    (kept,) = await client.bulk.load(found)
    assert (kept.status, kept.detail) == ("kept", "a document with this id exists; it was not changed")
    (created,) = await client.bulk.load([DocumentEntry(kind="rubric", id="copy-1", document=found[0].document)])
    assert (created.line, created.kind, created.id, created.status) == (1, "rubric", "copy-1", "created")
    assert (await client.rubrics.get("copy-1")).rules == made.rules


async def test_only_what_is_asked_for_is_exported(client: AsyncClient) -> None:
    await client.bulk.load([a_rubric("only-1")])
    await client.bots.describe("bot-9", {"bot_name": "Moss"})
    assert {each.kind async for each in client.bulk.export("rubric", "agent")} == {"rubric", "agent"}
    assert {"rubric", "agent"} <= {each.kind async for each in client.bulk.export()}


async def test_a_file_is_loaded_and_every_line_is_accounted_for(client: AsyncClient, tmp_path: Path) -> None:
    path = tmp_path / "all.ndjson"
    good, bad = documents.entry_lines([a_rubric("file-1"), a_rubric("a b")]).decode().splitlines()
    path.write_text("\n".join(["", good, "{half", "", bad]) + "\n")
    told = await client.bulk.load(path)
    assert [(each.line, each.status) for each in told] == [(2, "created"), (3, "refused"), (5, "refused")]
    assert "the id must be" in told[2].detail
    assert [each.status for each in await client.bulk.load(str(path))] == ["kept", "refused", "refused"]
    assert [each.status for each in await client.bulk.load(path.read_bytes())] == ["kept", "refused", "refused"]


async def test_much_is_sent_in_pieces_and_lines_keep_their_numbers(
    client: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "LARGEST", 1000)
    entries = [a_rubric(f"piece-{number}", description="x" * 300) for number in range(7)]
    told = await client.bulk.load(entries)
    assert [(each.line, each.id) for each in told] == [(number + 1, f"piece-{number}") for number in range(7)]
    assert {each.status for each in told} == {"created"}


async def test_nothing_to_load_is_said_so(client: AsyncClient) -> None:
    nothing: list[DocumentEntry] = []
    for content in (b"", nothing):
        with pytest.raises(Invalid, match="send documents, one a line"):
            await client.bulk.load(content)
    with pytest.raises(NotFound, match=r"nowhere\.ndjson cannot be read: No such file"):
        await client.bulk.load("nowhere.ndjson")


async def test_the_results_of_a_run_come_as_lines(client: AsyncClient) -> None:
    run = await finished(client, entry(1), entry(2), entry(3))
    listed = [each async for each in client.runs.results(run.run_id)]
    assert [each async for each in client.runs.export(run.run_id)] == listed
    with pytest.raises(ResourceNotFound):
        _ = [each async for each in client.runs.export("nothing")]


def test_a_script_exports_and_loads(service: str) -> None:
    with Client(service, environ={}) as script:
        assert [each.status for each in script.bulk.load([a_rubric("script-1"), a_rubric("script-2")])] == [
            "created"
        ] * 2
        ids = {each.id for each in script.bulk.export("rubric")}
        assert {"script-1", "script-2"} <= ids
        # Whoever stops in the middle leaves nothing open.
        assert len(list(islice(script.bulk.export(), 1))) == 1
        assert script.health().status == "ok"


def parts(content: bytes) -> list[tuple[bytes, int]]:
    return list(documents._parts(content))


@settings(max_examples=100, deadline=None)
@given(
    lines=st.lists(st.binary(max_size=30).map(lambda raw: raw.translate(None, b"\r\n")), max_size=12),
    end=st.sampled_from([b"", b"\n"]),
    largest=st.integers(1, 60),
)
def test_pieces_are_whole_lines_and_nothing_is_lost(lines: list[bytes], end: bytes, largest: int) -> None:
    content = b"\n".join(lines) + end
    before, documents.LARGEST = documents.LARGEST, largest
    try:
        found = parts(content)
    finally:
        documents.LARGEST = before
    assert b"".join(part for part, _ in found) == content
    assert sum(number for _, number in found) == len(content.splitlines())
    for part, number in found:
        assert number <= 1 or len(part) <= largest
    assert all(part.endswith(b"\n") for part, _ in found[:-1])


async def told(fake_url: str, retries: int = 3) -> list[bytes]:
    connection = Connection(fake_url, "k", 5.0, Retries(tries=retries, pause=0.0))
    try:
        return [line async for line in connection.lines(LINES)]
    finally:
        await connection.close()


class Dripping:
    """Answers with these bytes, cut into these pieces; where `broken`, without an end."""

    def __init__(self, *pieces: bytes, broken: bool = False) -> None:
        self.pieces = pieces
        self.broken = broken

    async def answer(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for piece in self.pieces:
            await response.write(piece)
        if self.broken:
            assert request.transport is not None
            request.transport.close()
        return response


async def dripped(dripping: Dripping) -> list[bytes]:
    async with listening("GET", "/api/v1/export", dripping.answer) as port:
        return await told(f"http://127.0.0.1:{port}")


@pytest.mark.parametrize(
    ("pieces", "lines"),
    [
        ((), []),
        ((b"a\nb\n",), [b"a", b"b"]),
        ((b"a", b"b\nc", b"\n"), [b"ab", b"c"]),
        ((b"a\nb",), [b"a", b"b"]),
        ((b"a\n\n", b"\nb\n"), [b"a", b"b"]),
        ((b"x" * 300_000, b"y\n"), [b"x" * 300_000 + b"y"]),
        ((b'"\xe2', b"\x80", b'\xa8"\n'), [b'"\xe2\x80\xa8"']),
    ],
    ids=["nothing", "at once", "cut anywhere", "no last end", "blank lines", "long", "inside a character"],
)
async def test_lines_are_put_together_however_they_come(pieces: tuple[bytes, ...], lines: list[bytes]) -> None:
    assert await dripped(Dripping(*pieces)) == lines


async def test_lines_that_stop_in_the_middle_are_not_taken_for_all() -> None:
    with pytest.raises(Unavailable, match="broke off"):
        await dripped(Dripping(b"a\n", b"b", broken=True))


async def test_a_refusal_has_its_class_and_trouble_before_the_first_line_is_tried_again() -> None:
    away = (503, {"error": "unavailable", "detail": "not now"})
    async with faking((404, {"error": "not_found", "detail": "there is none"})) as fake:
        with pytest.raises(ResourceNotFound, match="there is none"):
            await told(fake.url)
        assert len(fake.asked) == 1
    async with faking(away, "lost", (200, {"a": 1})) as fake:
        assert await told(fake.url) == [b'{"a": 1}']
        assert len(fake.asked) == 3
    async with faking(away) as fake:
        with pytest.raises(Unavailable, match="not now"):
            await told(fake.url, retries=2)
        assert len(fake.asked) == 2


async def test_a_line_that_is_no_entry_is_an_error() -> None:
    async with faking((200, "not json\n")) as fake, AsyncClient(fake.url, environ={}) as client:
        with pytest.raises(ServiceError, match="the answer of GET /export cannot be read"):
            _ = [each async for each in client.bulk.export()]
        assert fake.asked[0].query_string == ""
    async with faking((200, {"kind": "rubric"})) as fake, AsyncClient(fake.url, environ={}) as client:
        with pytest.raises(ServiceError, match="cannot be read"):
            _ = [each async for each in client.bulk.export("rubric", "agent")]
        assert fake.asked[0].query_string == "kind=rubric&kind=agent"
