"""Attachments: documents that a case names by a path, which must be inside the dataset's folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath

from howsure.dialects.problems import Spot, shown
from howsure.errors import Problem


def attachment_problems(path: str, folder: Path, spot: Spot) -> Iterator[Problem]:
    """`attachment-escapes` where the path leads out of `folder`; a warning where there is no such file."""
    reason = _escape_reason(path, folder)
    if reason:
        message = f"the path {reason}"
        hint = "put the document in the dataset's folder and name it relative to that"
        yield spot.problem(
            "attachment-escapes", message, expected="a path inside the folder", found=shown(path), hint=hint
        )
    elif not os.path.isfile(folder / path):
        yield spot.warning("attachment-missing", "there is no such file", found=shown(path), hint=f"looked in {folder}")


def _escape_reason(path: str, folder: Path) -> str:
    """How the path leads out of the folder; empty when it does not."""
    if "\x00" in path:
        return "holds a NUL character"
    windows = PureWindowsPath(path)
    if PurePosixPath(path).is_absolute() or windows.drive or windows.root:
        return "is absolute"
    if _climbs(windows.parts):
        return "leaves the dataset's folder by `..`"
    root = os.path.realpath(folder)
    inside = os.path.commonpath([root, os.path.realpath(os.path.join(root, path))]) == root
    return "" if inside else "leads out of the dataset's folder through a link"


def _climbs(parts: tuple[str, ...]) -> bool:
    """Whether the parts lead above the starting folder. Both kinds of slash count: files move between systems."""
    depth = 0
    for part in parts:
        depth += -1 if part == ".." else 1
        if depth < 0:
            return True
    return False
