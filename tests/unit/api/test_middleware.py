"""Around every request: how large and how slow a body may be, headers, ids, the log, and what is passed on as it is."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import MutableMapping
from typing import Any

import pytest
from starlette.exceptions import HTTPException

from howsure.api.counters import Counters
from howsure.api.middleware import HEADERS, REQUEST_ID, LimitedBody, RequestLimits, RequestMiddleware
from howsure.model.job import QueueLengths

SMALL = RequestLimits(largest_body=10, chunk_seconds=0.25, body_seconds=1.0)
Message = MutableMapping[str, Any]


def piece(content: bytes, *, more: bool = True) -> Message:
    return {"type": "http.request", "body": content, "more_body": more}


class Caller:
    """Sends these pieces, each after a pause, and keeps what was answered."""

    def __init__(self, *pieces: Message, pause: float = 0.0) -> None:
        self._pieces = iter(pieces)
        self._pause = pause
        self.said: list[Message] = []

    async def receive(self) -> Message:
        await asyncio.sleep(self._pause)
        return next(self._pieces, {"type": "http.disconnect"})

    async def send(self, message: Message) -> None:
        self.said.append(message)

    @property
    def status(self) -> int:
        return int(self.said[0]["status"])

    @property
    def headers(self) -> dict[str, str]:
        return {name.decode(): value.decode() for name, value in self.said[0]["headers"]}


def scope(**headers: str) -> dict[str, Any]:
    sent = [
        (name.replace("_", "-").encode(), value.encode()) for name, value in {"host": "localhost", **headers}.items()
    ]
    return {"type": "http", "method": "POST", "path": "/api/v1/x", "headers": sent}


async def reading(scope: Any, receive: Any, send: Any) -> None:
    """An application that reads the whole body and says how long it is."""
    size = 0
    while True:
        message = await receive()
        size += len(message.get("body", b""))
        if not message.get("more_body"):
            break
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-size", str(size).encode())]})
    await send({"type": "http.response.body", "body": b""})


async def asked(caller: Caller, app: Any = reading, limits: RequestLimits = SMALL, **headers: str) -> Caller:
    await RequestMiddleware(app, limits, Counters())(scope(**headers), caller.receive, caller.send)
    return caller


@pytest.mark.parametrize(
    ("pieces", "status"),
    [
        ([piece(b"", more=False)], 200),
        ([piece(b"x" * 10, more=False)], 200),
        ([piece(b"x" * 5), piece(b"x" * 5, more=False)], 200),
        ([piece(b"x" * 11, more=False)], 413),
        ([piece(b"x" * 5), piece(b"x" * 5), piece(b"x", more=False)], 413),
    ],
    ids=["nothing", "as much as may be", "in two", "one too many", "one too many at last"],
)
async def test_a_body_is_counted_as_it_comes(pieces: list[Message], status: int) -> None:
    assert (await asked(Caller(*pieces))).status == status


@pytest.mark.parametrize(
    ("number", "pause", "status"), [(3, 0.01, 200), (1, 1.0, 408), (9, 0.2, 408)], ids=["swift", "that pauses", "slow"]
)
async def test_a_body_must_come_soon(number: int, pause: float, status: int) -> None:
    pieces = [piece(b"x") for _ in range(number - 1)] + [piece(b"", more=False)]
    assert (await asked(Caller(*pieces, pause=pause))).status == status


@pytest.mark.parametrize(
    ("length", "status"),
    [("0", 200), ("10", 200), ("11", 413), ("9" * 40, 413), ("-1", 400), ("x", 400), ("1.5", 400), ("", 400)],
)
async def test_what_a_body_says_of_itself_is_believed_first(length: str, status: int) -> None:
    caller = await asked(Caller(piece(b"", more=False)), content_length=length)
    assert caller.status == status


async def test_whoever_waits_for_the_end_of_a_request_may_wait_long() -> None:
    """After the body, `receive` tells when the caller goes away: that may take as long as a stream of progress."""
    caller = Caller(piece(b"x", more=False))
    body = LimitedBody(caller.receive, SMALL)
    assert (await body.receive())["body"] == b"x"
    caller._pause = 1.2
    assert (await body.receive())["type"] == "http.disconnect"


async def test_every_answer_has_our_headers_and_keeps_its_own() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        own = [(b"cache-control", b"max-age=60"), (b"x-own", b"1")]
        await send({"type": "http.response.start", "status": 204, "headers": own})
        await send({"type": "http.response.body"})

    caller = await asked(Caller(), app)
    assert caller.headers == {
        **{name.lower(): value for name, value in HEADERS.items()},
        "cache-control": "max-age=60",
        "x-own": "1",
        REQUEST_ID.lower(): caller.headers[REQUEST_ID.lower()],
    }


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("mine-1_a", True),
        ("a" * 64, True),
        ("a" * 65, False),
        ("two words", False),
        ("ä", False),
        ("a\tb", False),
        ("-_-", False),
    ],
)
async def test_a_request_keeps_an_id_that_does_no_harm(given: str, kept: bool) -> None:
    caller = await asked(Caller(piece(b"", more=False)), x_request_id=given)
    found = caller.headers[REQUEST_ID.lower()]
    assert (found == given) is kept
    assert kept or len(found) == 32


async def test_a_refusal_is_answered_once_and_never_in_the_middle() -> None:
    async def late(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise HTTPException(403, "too late")

    async def early(scope: Any, receive: Any, send: Any) -> None:
        raise HTTPException(403, "in time")

    caller = await asked(Caller(), early)
    assert (caller.status, b"in time" in caller.said[1]["body"]) == (403, True)
    with pytest.raises(HTTPException, match="too late"):
        await asked(Caller(), late)


async def test_every_request_is_logged_and_counted_whatever_becomes_of_it(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        raise RuntimeError("inside")

    counters = Counters()
    around = RequestMiddleware(broken, SMALL, counters)
    caller = Caller()
    with caplog.at_level(logging.INFO, "howsure.requests"), pytest.raises(RuntimeError):
        await around(scope(x_request_id="r1"), caller.receive, caller.send)
    (record,) = caplog.records
    told = vars(record)
    assert (told["request_id"], told["method"], told["path"], told["status"]) == ("r1", "POST", "/api/v1/x", 0)
    assert 'status="0"} 1' in counters.text(QueueLengths(queued=0, running=0))


async def test_what_is_no_request_is_passed_on() -> None:
    seen: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["type"])

    caller = Caller()
    await RequestMiddleware(app, SMALL, Counters())({"type": "lifespan"}, caller.receive, caller.send)
    assert (seen, caller.said) == (["lifespan"], [])
