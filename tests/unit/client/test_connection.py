"""How the client asks: what it tries again and what it never does, errors in their classes, keys that stay inside."""

from __future__ import annotations

import traceback
from typing import Any

import pytest

from howsure.client.async_client import AsyncClient
from howsure.client.connection import Connection, Retries, ServiceAnswer, ServiceRequest, base_of, query_of
from howsure.client.errors import (
    Conflicting,
    Forbidden,
    Invalid,
    RequestProblem,
    ResourceNotFound,
    ServiceError,
    Unauthorized,
    Unavailable,
    VersionConflict,
)
from howsure.errors import ConfigInvalid, HowsureError, NotFound
from unit.client.fake_service import Fake, faking

QUICK = Retries(tries=3, pause=0.0)
SECRET = "howsure_very-secret"


async def asked(fake: Fake, request: ServiceRequest, retries: Retries = QUICK) -> ServiceAnswer:
    connection = Connection(fake.url, SECRET, 5.0, retries)
    try:
        return await connection.ask(request)
    finally:
        await connection.close()


AWAY = (503, {"error": "unavailable", "detail": "the database cannot be reached just now"})
FINE = (200, {"a": 1})
READ = ServiceRequest(method="GET", path="/runs")
WRITE = ServiceRequest(method="POST", path="/runs", body={"a": 1})
CHANGE = ServiceRequest(method="PUT", path="/rubrics/x", body={"a": 1})
DELETE = ServiceRequest(method="DELETE", path="/rubrics/x")
ONCE = ServiceRequest(method="POST", path="/keys", body={"a": 1}, once=True)


@pytest.mark.parametrize("trouble", [AWAY, "lost", (502, "<html>bad gateway</html>")], ids=["503", "lost", "proxy"])
@pytest.mark.parametrize(
    ("request_", "times"),
    [(READ, 3), (WRITE, 3), (CHANGE, 1), (DELETE, 1), (ONCE, 1)],
    ids=["GET", "POST", "PUT", "DELETE", "POST that must not be repeated"],
)
async def test_only_what_does_no_harm_twice_is_tried_again(trouble: Any, request_: ServiceRequest, times: int) -> None:
    async with faking(trouble) as fake:
        with pytest.raises(Unavailable):
            await asked(fake, request_)
        assert len(fake.asked) == times


async def test_what_comes_back_is_answered() -> None:
    async with faking("lost", AWAY, FINE) as fake:
        assert (await asked(fake, WRITE)).json == {"a": 1}
        keys = {request.headers["Idempotency-Key"] for request in fake.asked}
        assert (len(fake.asked), len(keys)) == (3, 1)


async def test_every_post_has_a_key_of_its_own_and_nothing_else_has_one() -> None:
    async with faking(FINE) as fake:
        for request in (WRITE, WRITE, READ, CHANGE, DELETE, ONCE):
            await asked(fake, request)
        keys = [request.headers.get("Idempotency-Key") for request in fake.asked]
        assert keys[0] != keys[1]
        assert keys[2:] == [None] * 4


async def test_a_request_that_is_still_being_answered_is_waited_for() -> None:
    busy = (409, {"error": "conflict", "detail": "a request with this idempotency key is being answered"})
    async with faking("lost", busy, FINE) as fake:
        assert (await asked(fake, WRITE)).json == {"a": 1}
    async with faking(busy, FINE) as fake:
        with pytest.raises(Conflicting):
            await asked(fake, WRITE)
        assert len(fake.asked) == 1


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, Invalid),
        (401, Unauthorized),
        (403, Forbidden),
        (404, ResourceNotFound),
        (409, Conflicting),
        (412, VersionConflict),
        (413, Invalid),
        (415, Invalid),
        (422, Invalid),
        (500, ServiceError),
    ],
)
async def test_every_status_has_its_class(status: int, kind: type[ServiceError]) -> None:
    body = {"error": "some_kind", "detail": "a sentence", "problems": [{"code": "c", "field": "f", "message": "m"}]}
    async with faking((status, body, {"X-Request-ID": "r1"})) as fake:
        with pytest.raises(kind) as raised:
            await asked(fake, READ)
        error = raised.value
        assert type(error) is kind
        assert (error.status, error.kind, error.detail, error.request_id) == (status, "some_kind", "a sentence", "r1")
        assert error.problems == (RequestProblem(code="c", field="f", message="m"),)
        assert str(error) == "a sentence: `f`: m"
        assert isinstance(error, HowsureError)
        assert len(fake.asked) == 1


async def test_a_redirect_is_not_followed() -> None:
    async with faking(FINE) as other, faking((302, "", {"Location": f"{other.url}/api/v1/runs"})) as fake:
        with pytest.raises(ServiceError, match="answered 302, and not as the service does"):
            await asked(fake, READ)
        assert other.asked == []


async def test_a_message_tells_five_problems_and_how_many_more() -> None:
    problems = [{"message": f"m{number}", "line": number} for number in range(1, 8)]
    async with faking((422, {"error": "invalid", "detail": "7 problems", "problems": problems})) as fake:
        with pytest.raises(Invalid) as raised:
            await asked(fake, READ)
    told = "; ".join(f"line {number}: m{number}" for number in range(1, 6))
    assert str(raised.value) == f"7 problems: {told}; and 2 more"
    assert len(raised.value.problems) == 7


async def test_nobody_there_is_said_so_without_the_key() -> None:
    connection = Connection("http://127.0.0.1:9", SECRET, 5.0, QUICK)
    with pytest.raises(Unavailable, match="is `howsure serve` running there") as raised:
        await connection.ask(READ)
    await connection.close()
    assert SECRET not in "".join(traceback.format_exception(raised.value))
    assert raised.value.status is None


async def test_the_key_is_sent_and_not_shown() -> None:
    async with faking((200, {"status": "ok", "version": "1"})) as fake:
        async with AsyncClient(fake.url, SECRET) as client:
            await client.health()
            assert SECRET not in repr(client)
        assert fake.asked[0].headers["Authorization"] == f"Bearer {SECRET}"
        async with AsyncClient(fake.url, environ={"HOWSURE_API_KEY": "from-the-environment"}) as client:
            await client.health()
        assert fake.asked[1].headers["Authorization"] == "Bearer from-the-environment"
        async with AsyncClient(fake.url, environ={}) as client:
            await client.health()
        assert "Authorization" not in fake.asked[2].headers


async def test_an_answer_that_is_no_shape_is_an_error() -> None:
    async with faking((200, {"run_id": 1})) as fake, AsyncClient(fake.url, retries=QUICK) as client:
        with pytest.raises(ServiceError, match=r"the answer of GET .*/runs/x cannot be read"):
            await client.runs.get("x")
        with pytest.raises(ServiceError, match="cannot be read"):
            _ = [each async for each in client.runs.each()]


@pytest.mark.parametrize(
    ("given", "base"),
    [
        ("http://127.0.0.1:8002", "http://127.0.0.1:8002/api/v1"),
        ("http://127.0.0.1:8002/", "http://127.0.0.1:8002/api/v1"),
        ("https://x.org/api/v1", "https://x.org/api/v1"),
        ("https://x.org/howsure/api/v1/", "https://x.org/howsure/api/v1"),
    ],
)
def test_an_address_may_be_written_with_or_without_its_end(given: str, base: str) -> None:
    assert base_of(given) == base


@pytest.mark.parametrize("given", ["x.org", "ftp://x.org", "http://", "http://x.org?a=b", "http://me:pw@x.org"])
def test_what_is_no_address_is_refused(given: str) -> None:
    with pytest.raises(ConfigInvalid, match="url: ") as raised:
        base_of(given)
    assert "pw" not in str(raised.value)


def test_pauses_double_and_have_an_end() -> None:
    retries = Retries(tries=9, pause=0.25, longest=3.0)
    assert [retries.before(attempt) for attempt in (2, 3, 4, 5, 6, 7)] == [0.25, 0.5, 1.0, 2.0, 3.0, 3.0]
    assert (retries.before(2, wished=2.0), retries.before(2, wished=60.0)) == (2.0, 3.0)


def test_a_query_says_only_what_is_known() -> None:
    assert query_of({"a": None, "b": True, "c": 0, "d": ""}) == {"b": "true", "c": "0", "d": ""}


async def test_what_json_cannot_say_is_refused_before_it_is_sent() -> None:
    async with faking(FINE) as fake:
        for body in ({"a": float("nan")}, {"a": object()}):
            with pytest.raises(ConfigInvalid, match="cannot be sent as JSON"):
                await asked(fake, ServiceRequest(method="POST", path="/runs", body=body))
        assert fake.asked == []


async def test_a_file_that_is_not_there_is_named() -> None:
    async with AsyncClient(environ={}) as client:
        with pytest.raises(NotFound, match=r"nowhere\.jsonl cannot be read: No such file"):
            await client.datasets.upload("nowhere.jsonl")
