"""How much a key may ask, and what becomes of an address that sends wrong keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from api.served import Caller, serving
from howsure.api.app import ServiceAccess
from howsure.config import load
from howsure.errors import ConfigInvalid
from howsure.services.host.keys import KeyRequest, make_key
from howsure.services.host.throttles import ATTEMPTS_BY_ADDRESS, RequestRates
from howsure.store.keys import KeyScope

LOCKED = ServiceAccess(keys_needed=True)


async def a_key(call: Caller) -> str:
    _, secret = await make_key(call.host.store, KeyRequest(name="me", scopes=[KeyScope.READ]))
    return secret


async def test_a_key_that_asks_too_often_is_told_how_long_to_wait_and_no_other_key_is(tmp_path: Path) -> None:
    async with serving(tmp_path, LOCKED, requests_per_minute=3) as call:
        call.key = await a_key(call)
        replies = [await call("GET", path) for path in ("/runs", "/runs/nothing", "/rubrics", "/runs", "/runs")]
        other = await call("GET", "/runs", Authorization=f"Bearer {await a_key(call)}")
        assert (await call("GET", "/health")).status == 200
        entries = [entry async for entry in call.host.store.audit.entries()]
    assert [reply.status for reply in replies] == [200, 404, 200, 429, 429]
    assert [reply.headers["ratelimit-remaining"] for reply in replies] == ["2", "1", "0", "0", "0"]
    assert {reply.headers["ratelimit-limit"] for reply in replies} == {"3"}
    assert all(0 < int(reply.headers["ratelimit-reset"]) <= 60 for reply in replies)
    refused = replies[3]
    assert refused.headers["retry-after"] == refused.headers["ratelimit-reset"]
    assert refused.body["error"] == "too_many_requests"
    assert refused.body["detail"].startswith("this key has sent its 3 requests of this minute: wait ")
    assert "retry-after" not in replies[2].headers
    assert (other.status, other.headers["ratelimit-remaining"]) == (200, "2")
    assert [(entry.action, entry.status) for entry in entries] == [("GET /api/v1/runs", 429)] * 2


async def test_without_the_setting_nobody_is_counted(tmp_path: Path) -> None:
    async with serving(tmp_path, LOCKED) as call:
        call.key = await a_key(call)
        reply = await call("GET", "/runs")
    assert (reply.status, "ratelimit-limit" in reply.headers) == (200, False)


def test_no_key_waits_longer_than_a_minute_whatever_the_clock_shows() -> None:
    # 107.449 + 60 - 107.449 is a little more than 60.
    assert RequestRates(2, lambda: 107.449).count("k").reset == 60


def test_the_minute_of_a_key_begins_with_its_first_request() -> None:
    now = 500.0
    rates = RequestRates(2, lambda: now)
    first = rates.count("k")
    assert (first.remaining, first.reset, first.wait) == (1, 60, 0)
    now += 59.5
    assert [(each.remaining, each.reset, each.wait) for each in (rates.count("k"), rates.count("k"))] == [
        (0, 1, 0),
        (0, 1, 1),
    ]
    now += 0.5
    assert (rates.count("k").remaining, rates.count("other").remaining) == (1, 1)


async def test_wrong_keys_from_one_address_are_throttled_and_the_right_one_opens_all_the_same(tmp_path: Path) -> None:
    async with serving(tmp_path, LOCKED, proxies=("127.0.0.1",)) as call:
        right = await a_key(call)
        wrong = [await call("GET", "/runs", Authorization=f"Bearer howsure_{number}") for number in range(52)]
        again = await call("GET", "/runs", Authorization=f"Bearer {right}")
        elsewhere = await call("GET", "/runs", Authorization="Bearer howsure_x", X_Forwarded_For="198.51.100.7")
    assert [reply.status for reply in wrong] == [401] * ATTEMPTS_BY_ADDRESS + [429] * 2
    assert 0 < int(wrong[-1].headers["retry-after"]) <= 300
    assert (again.status, elsewhere.status) == (200, 401)


def test_a_negative_number_of_requests_is_refused(tmp_path: Path) -> None:
    (tmp_path / "howsure.yaml").write_text("service: {requests_per_minute: -1}\n")
    with pytest.raises(ConfigInvalid, match=r"`service.requests_per_minute`: expected 0 or more, found -1"):
        load(tmp_path, {})
