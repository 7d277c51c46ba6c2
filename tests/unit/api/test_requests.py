"""Bodies, read as the standard has JSON: no NaN, no half characters, no endless nesting."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from howsure.api.errors import JsonAnswer
from howsure.api.requests import (
    MAX_KEY_LENGTH,
    REPLAYED_HEADER,
    answer_once,
    key_of,
    new_id,
    read_json,
    store_instead,
)
from howsure.errors import Conflict, DatasetInvalid, InputError
from howsure.model.access_scope import AccessScope
from howsure.services.host.json_limits import MAX_DEPTH, MAX_VALUES, JsonMeter, check_json
from howsure.services.host.keys import OWNER, Caller
from howsure.store.keys import KeyScope
from howsure.store.store import Store

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=200, deadline=None)
@given(value=VALUES)
def test_whatever_json_says_is_read(value: Any) -> None:
    assume("\\u0000" not in json.dumps(value))
    assert read_json(json.dumps(value).encode()) == value


@pytest.mark.parametrize(
    "body",
    [b"", b" ", b"{", b"nope", b'{"a": NaN}', b"Infinity", b"-Infinity", b'{"a": 1,}', b"{'a': 1}",
     b'{"a": "\\ud800"}', b'"\xff"', b'"\xed\xa0\x80"', b"1 2", b'{"a": 1, "a": 2}'],
    ids=["nothing", "blank", "half", "a word", "NaN", "infinity", "less than nothing", "a comma", "other quotes",
         "half a character", "not UTF-8", "half of one in bytes", "two", "a key twice"],
)  # fmt: skip
def test_what_is_no_json_is_refused(body: bytes) -> None:
    with pytest.raises(DatasetInvalid):
        read_json(body)


def test_a_mark_before_the_text_is_left_aside() -> None:
    assert read_json(b"\xef\xbb\xbf{}") == {}


def nested(levels: int, *, lists: bool) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value] if lists else {"a": value}
    return value


@pytest.mark.parametrize("lists", [True, False], ids=["lists", "objects"])
@pytest.mark.parametrize(
    ("levels", "deep"), [(0, False), (MAX_DEPTH - 1, False), (MAX_DEPTH, True), (MAX_DEPTH + 50, True)]
)
def test_so_many_levels_and_no_more(levels: int, deep: bool, lists: bool) -> None:
    """Counted while a body comes: tests/hardening/test_bodies.py sends them."""
    text = json.dumps(nested(levels, lists=lists)).encode()
    if deep:
        with pytest.raises(InputError, match="nested too deeply: at most 100 levels"):
            check_json(text)
    else:
        check_json(text)


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"a":' * 100_000, b"[" * 50_000 + b"]" * 50_000])
def test_nesting_without_end_breaks_nothing(body: bytes) -> None:
    with pytest.raises(DatasetInvalid):
        read_json(body)
    with pytest.raises(InputError, match="nested too deeply"):
        check_json(body)


def test_width_is_no_depth() -> None:
    check_json(json.dumps({str(number): [number] * 10 for number in range(5_000)}).encode())


@pytest.mark.parametrize("text", [b"1,", b'"a":1,', b"[],", b"{},"])
def test_so_many_values_and_no_more(text: bytes) -> None:
    with pytest.raises(InputError, match="more than 200,000 values"):
        check_json(b"[" + text * (MAX_VALUES + 1))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_what_stands_in_strings_does_not_count_wherever_a_piece_ends(size: int) -> None:
    text = json.dumps({'\\"[{,': "[" * 300 + '\\"' * 9 + "\\\\", "b": ["]}" * 99, '"', "\\"]}).encode()
    meter = JsonMeter()
    for start in range(0, len(text), size):
        meter.add(text[start : start + size])
    with pytest.raises(InputError, match="nested too deeply"):
        meter.add(b"[" * MAX_DEPTH)


@pytest.mark.parametrize(
    ("text", "has"),
    [
        (b'"a\\u0000"', True),
        (b'"a\\\\u0000"', False),
        (b'"\\\\\\u0000"', True),
        (b'"u0000"', False),
        (b'"\\u00001"', True),
    ],
)
def test_break_14_nul_is_seen_in_json(text: bytes, has: bool) -> None:
    assert ("\0" in json.loads(text)) is has
    if has:
        with pytest.raises(InputError, match=r"the character U\+0000 \(NUL\) stands in a text of the JSON"):
            read_json(text)
    else:
        assert read_json(text) == json.loads(text)


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
    with pytest.raises(HTTPException, match="printable ASCII characters"):
        key_of(asked(None, name))


def test_only_a_post_has_a_name() -> None:
    assert [key_of(asked(None, "k", method=method)) for method in ("POST", "PUT", "DELETE", "GET")] == ["k", "", "", ""]
