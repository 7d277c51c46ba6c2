"""What terminals send, as keys."""

from __future__ import annotations

import pytest

from howsure.cli.browse.keys import Key, Named, Typed, keys


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b"j", [Typed("j")]),
        (b"\x1b[A", [Named.UP]),
        (b"\x1bOB", [Named.DOWN]),
        (b"\x1b[C\x1b[D", [Named.RIGHT, Named.LEFT]),
        (b"\x1b[1;5A", [Named.UP]),
        (b"\x1b[5~\x1b[6~", [Named.PAGE_UP, Named.PAGE_DOWN]),
        (b"\x1b[H\x1b[F\x1b[1~\x1b[4~", [Named.HOME, Named.END, Named.HOME, Named.END]),
        (b"\r", [Named.ENTER]),
        (b"\n", [Named.ENTER]),
        (b"\x7f\x08", [Named.BACKSPACE, Named.BACKSPACE]),
        (b"\x1b", [Named.ESCAPE]),
        (b"\x1bq", [Named.ESCAPE, Typed("q")]),
        (b"/no\r", [Typed("/"), Typed("n"), Typed("o"), Named.ENTER]),
        ("é日".encode(), [Typed("é"), Typed("日")]),
        (b"\x1b[200~", []),
        (b"\x1b[3~", []),
        (b"\x00\x01", []),
        (b"\xff", [Typed("\ufffd")]),
        (b"", []),
    ],
)
def test_bytes_are_keys_and_what_means_nothing_is_not_typed(sent: bytes, expected: list[Key]) -> None:
    assert list(keys(sent)) == expected
