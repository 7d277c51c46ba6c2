"""Files that are sent: read whole, by their path or as their bytes."""

from __future__ import annotations

from pathlib import Path

from howsure.errors import NotFound


def content_of(file: str | Path | bytes) -> bytes:
    """The bytes; NotFound names a file that cannot be read, and why."""
    if isinstance(file, bytes):
        return file
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise NotFound(f"{file} cannot be read: {error.strerror}") from None
