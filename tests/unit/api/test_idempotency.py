"""Requests that are sent twice: done once, answered the same, and never for somebody else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from starlette.requests import Request
from starlette.responses import Response

from howsure.api.errors import JsonAnswer, RequestRefusal
from howsure.api.requests import MAX_KEY_LENGTH, REPLAYED_HEADER, answer_once, key_of, new_id, store_instead
from howsure.errors import Conflict
from howsure.model.access_scope import AccessScope
from howsure.services.host.keys import OWNER, Caller
from howsure.store.keys import KeyScope
from howsure.store.store import Store

ANA = Caller("ana", frozenset((KeyScope.WRITE,)), AccessScope(organization_id="acme"), "key-a")
BO = Caller("bo", frozenset((KeyScope.WRITE,)), AccessScope(organization_id="acme"), "key-b")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with await Store.open(tmp_path / "howsure.db") as opened:
        yield opened


def asked(
    store: Any, key: str = "", body: bytes = b"{}", *, method: str = "POST", path: str = "/x", caller: Caller = ANA
) -> Request:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    headers = [(b"idempotency-key", key.encode("latin-1"))] if key else []
    app = SimpleNamespace(state=SimpleNamespace(host=SimpleNamespace(store=store)))
    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": headers, "app": app,
             "server": ("127.0.0.1", 8002), "scheme": "http"}  # fmt: skip
    request = Request(scope, receive)
    request.state.caller = caller
    return request


class Doing:
    """Counts how often something is done."""

    def __init__(self, status: int = 201, error: Exception | None = None) -> None:
        self.times = 0
        self.status = status
        self.error = error

    async def __call__(self, request: Request) -> Response:
        self.times += 1
        if self.error is not None:
            raise self.error
        return JsonAnswer({"number": self.times}, status_code=self.status, headers={"ETag": '"1"'})


async def test_the_same_request_is_done_once(store: Store) -> None:
    doing = Doing()
    first = await answer_once(asked(store, "k"), doing)
    again = await answer_once(asked(store, "k"), doing)
    assert (doing.times, first.body, again.body, again.status_code) == (1, b'{"number":1}', b'{"number":1}', 201)
    assert (again.headers["etag"], again.headers[REPLAYED_HEADER], REPLAYED_HEADER in first.headers) == (
        '"1"',
        "true",
        False,
    )


async def test_what_has_no_name_is_done_each_time(store: Store) -> None:
    doing = Doing()
    for _ in range(3):
        await answer_once(asked(store), doing)
    await answer_once(asked(store, "k", method="PUT"), doing)
    await answer_once(asked(store, "k", method="PUT"), doing)
    assert doing.times == 5


@pytest.mark.parametrize("change", [{"body": b'{"a":1}'}, {"path": "/y"}], ids=["another body", "another path"])
async def test_a_name_is_of_one_request(store: Store, change: dict[str, Any]) -> None:
    doing = Doing()
    await answer_once(asked(store, "k"), doing)
    with pytest.raises(Conflict, match="was used for another request: take a new one"):
        await answer_once(asked(store, "k", **change), doing)
    assert doing.times == 1


async def test_what_was_refused_or_broke_may_be_tried_again(store: Store) -> None:
    for failing in (Doing(422), Doing(error=RuntimeError("inside"))):
        try:
            await answer_once(asked(store, "k"), failing)
        except RuntimeError:
            assert failing.error is not None
    fine = Doing()
    assert (await answer_once(asked(store, "k"), fine)).status_code == 201
    assert fine.times == 1


async def test_what_is_being_answered_is_not_done_again_meanwhile(store: Store) -> None:
    async def during(request: Request) -> Response:
        with pytest.raises(Conflict, match="is being answered: try again later"):
            await answer_once(asked(store, "k"), Doing())
        return JsonAnswer({})

    await answer_once(asked(store, "k"), during)


async def test_names_are_ones_own(store: Store) -> None:
    doing = Doing()
    for caller in (ANA, BO, OWNER):
        await answer_once(asked(store, "k", caller=caller), doing)
    assert doing.times == 3


async def test_what_is_shown_once_is_not_kept(store: Store) -> None:
    async def secret(request: Request) -> Response:
        store_instead(request, {"secret": None})
        return JsonAnswer({"secret": "s3cret"}, status_code=201)

    first = await answer_once(asked(store, "k"), secret)
    again = await answer_once(asked(store, "k"), secret)
    assert (first.body, again.body) == (b'{"secret":"s3cret"}', b'{"secret":null}')


def test_what_is_made_has_an_id_that_follows_from_the_name() -> None:
    one, same = new_id(asked(None, "k")), new_id(asked(None, "k"))
    assert one == same
    others = {
        new_id(asked(None, "other")),
        new_id(asked(None, "k", path="/y")),
        new_id(asked(None, "k", caller=BO)),
        new_id(asked(None)),
        new_id(asked(None)),
    }
    assert len(others | {one}) == 6
    assert all(UUID(each) for each in others)


@pytest.mark.parametrize("name", ["a" * (MAX_KEY_LENGTH + 1), "a\tb", "\xe9", "a\x00"])
def test_a_name_that_cannot_be_kept_is_refused(name: str) -> None:
    with pytest.raises(RequestRefusal, match="printable ASCII characters"):
        key_of(asked(None, name))


def test_only_a_post_has_a_name() -> None:
    assert [key_of(asked(None, "k", method=method)) for method in ("POST", "PUT", "DELETE", "GET")] == ["k", "", "", ""]
