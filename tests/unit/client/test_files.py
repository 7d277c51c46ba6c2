"""Files that are sent: by path or as bytes, whole, and named where they cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from howsure.client.documents import read_content
from howsure.errors import InputError, NotFound


@pytest.mark.parametrize("content", [b"", b"a", b"\x00\xff\n\r\n", b"x" * 300_000])
def test_a_file_is_read_byte_for_byte(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "my cases, über alles.jsonl"
    path.write_bytes(content)
    assert read_content(path) == read_content(str(path)) == read_content(content) == content


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"nowhere\.jsonl cannot be read: No such file or directory"):
        read_content(tmp_path / "nowhere.jsonl")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        read_content(str(tmp_path))
