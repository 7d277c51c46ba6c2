"""Files that are complete or not there at all: written under another name beside their place, and moved when
finished."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO

from howsure.dialects.writers import check_place


@contextmanager
def atomic_text(path: Path) -> Iterator[TextIO]:
    """UTF-8, with the line ends that are written."""
    with _moved_when_done(path) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as file:
        yield file


@contextmanager
def atomic_bytes(path: Path) -> Iterator[BinaryIO]:
    with _moved_when_done(path) as unfinished, unfinished.open("wb") as file:
        yield file


@contextmanager
def _moved_when_done(path: Path) -> Iterator[Path]:
    check_place(path)
    place = path.resolve()
    unfinished = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        yield unfinished
        unfinished.replace(place)
    finally:
        unfinished.unlink(missing_ok=True)
