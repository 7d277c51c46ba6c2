"""Paths as text: what a file name's bytes say is kept, and found again, whatever the locale shows of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from howsure.services.paths import lasting, stored, usable


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("naïve", "naïve"),
        ("", ""),
        (os.fsdecode(b"na\xc3\xafve"), "naïve"),
        ("na\udcc3\udcafve", "naïve"),
        ("odd\udcff", "odd\\xff"),
        ("日本語", "日本語"),
    ],
    ids=["ascii", "utf-8", "empty", "bytes", "a C locale's surrogates", "no text", "far from ascii"],
)
def test_text_without_lone_surrogates_is_left(text: str, expected: str) -> None:
    assert lasting(text) == expected
    lasting(text).encode("utf-8")


def test_a_stored_path_is_absolute_and_can_be_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("dätä.jsonl").write_text("x", encoding="utf-8")
    text = stored(Path("dätä.jsonl"))
    assert text == str(tmp_path.resolve() / "dätä.jsonl")
    assert Path(usable(text)).read_text(encoding="utf-8") == "x"


def test_links_are_followed_so_that_a_run_finds_what_it_read(tmp_path: Path) -> None:
    (tmp_path / "real.jsonl").write_text("x", encoding="utf-8")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "real.jsonl")
    assert stored(tmp_path / "link.jsonl") == str((tmp_path / "real.jsonl").resolve())


def test_a_name_that_is_no_text_can_be_stored_and_shown(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"odd\xff.jsonl")
    path.write_text("x", encoding="utf-8")
    assert stored(path) == f"{tmp_path.resolve()}/odd\\xff.jsonl"
