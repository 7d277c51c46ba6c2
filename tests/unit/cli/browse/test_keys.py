"""What terminals send, as keys."""

from __future__ import annotations

import pytest

from howsure.cli.browser_view import Key, NamedKey, TypedKey, decode_keys


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b"j", [TypedKey("j")]),
        (b"\x1b[A", [NamedKey.UP]),
        (b"\x1bOB", [NamedKey.DOWN]),
        (b"\x1b[C\x1b[D", [NamedKey.RIGHT, NamedKey.LEFT]),
        (b"\x1b[1;5A", [NamedKey.UP]),
        (b"\x1b[5~\x1b[6~", [NamedKey.PAGE_UP, NamedKey.PAGE_DOWN]),
        (b"\x1b[H\x1b[F\x1b[1~\x1b[4~", [NamedKey.HOME, NamedKey.END, NamedKey.HOME, NamedKey.END]),
        (b"\r", [NamedKey.ENTER]),
        (b"\n", [NamedKey.ENTER]),
        (b"\x7f\x08", [NamedKey.BACKSPACE, NamedKey.BACKSPACE]),
        (b"\x1b", [NamedKey.ESCAPE]),
        (b"\x1bq", [NamedKey.ESCAPE, TypedKey("q")]),
        (b"/no\r", [TypedKey("/"), TypedKey("n"), TypedKey("o"), NamedKey.ENTER]),
        ("é日".encode(), [TypedKey("é"), TypedKey("日")]),
        (b"\x1b[200~", []),
        (b"\x1b[3~", []),
        (b"\x00\x01", []),
        (b"\xff", [TypedKey("\ufffd")]),
        (b"", []),
    ],
)
def test_bytes_are_keys_and_what_means_nothing_is_not_typed(sent: bytes, expected: list[Key]) -> None:
    assert list(decode_keys(sent)) == expected
