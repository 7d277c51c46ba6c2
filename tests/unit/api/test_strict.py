"""Bodies, read as the standard has JSON: no NaN, no half characters, no endless nesting."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howsure.api.errors import RequestRefusal
from howsure.api.requests import MAX_DEPTH, read_json, too_deep

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
    assert read_json(json.dumps(value).encode()) == value


@pytest.mark.parametrize(
    "body",
    [b"", b" ", b"{", b"nope", b'{"a": NaN}', b"Infinity", b"-Infinity", b'{"a": 1,}', b"{'a': 1}",
     b'{"a": "\\ud800"}', b'"\xff"', b'"\xed\xa0\x80"', b"1 2", b"\xef\xbb\xbf{}"],
    ids=["nothing", "blank", "half", "a word", "NaN", "infinity", "less than nothing", "a comma", "other quotes",
         "half a character", "not UTF-8", "half of one in bytes", "two", "a mark before it"],
)  # fmt: skip
def test_what_is_no_json_is_refused(body: bytes) -> None:
    with pytest.raises(json.JSONDecodeError):
        read_json(body)


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
    value = nested(levels, lists=lists)
    assert too_deep(value) is deep
    if deep:
        with pytest.raises(RequestRefusal, match="nested too deeply: at most 100 levels") as raised:
            read_json(json.dumps(value).encode())
        assert raised.value.status == 422
    else:
        assert read_json(json.dumps(value).encode()) == value


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"a":' * 100_000, b"[" * 50_000 + b"]" * 50_000])
def test_nesting_without_end_breaks_nothing(body: bytes) -> None:
    with pytest.raises((RequestRefusal, json.JSONDecodeError)):
        read_json(body)


def test_width_is_no_depth() -> None:
    assert not too_deep({str(number): [number] * 10 for number in range(5_000)})
