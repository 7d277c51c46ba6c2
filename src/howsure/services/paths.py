"""Paths as text that can be stored, whatever the locale: a file name is bytes, and those are almost always UTF-8."""

from __future__ import annotations

import os
from pathlib import Path


def stored(path: Path) -> str:
    """The absolute path as UTF-8 text. In the C locale Python shows bytes beyond ASCII as lone surrogates; these are
    read as what they are."""
    return lasting(os.fspath(path.resolve()))


def lasting(text: str) -> str:
    """Text from the command line or a path, without lone surrogates."""
    raw = os.fsencode(text)
    return raw.decode("utf-8", "backslashreplace")


def usable(text: str) -> str:
    """What `stored` gave, as this process's file functions want it."""
    return os.fsdecode(text.encode("utf-8"))
