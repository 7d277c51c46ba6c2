"""Which files a case may attach: documents in the folder of its dataset, and never what is hidden, a database, settings
or a key. Files are checked when a dataset is read, when a document is, and when a page shows one."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath, PureWindowsPath

DATABASE_HEADER = b"SQLite format 3\x00"
PRIVATE = re.compile(
    r"howsure\.ya?ml|id_(rsa|dsa|ecdsa|ed25519).*|.*\.(db|sqlite3?|(db|sqlite3?)-(wal|shm|journal)"
    r"|pem|key|p12|pfx|jks|keystore|kdbx)",
    re.IGNORECASE,
)


def _escape_reason(path: str, folder: Path) -> str:
    """How the path leads out of the folder; empty when it does not."""
    if "\x00" in path:
        return "holds a NUL character"
    windows = PureWindowsPath(path)
    if PurePosixPath(path).is_absolute() or windows.drive or windows.root:
        return "is absolute"
    depth = 0
    for part in windows.parts:  # of either kind of slash: files move between systems
        depth += -1 if part == ".." else 1
        if depth < 0:
            return "leaves the dataset's folder by `..`"
    root = os.path.realpath(folder)
    inside = os.path.commonpath([root, os.path.realpath(os.path.join(root, path))]) == root
    return "" if inside else "leads out of the dataset's folder through a link"


def _private_reason(path: str, folder: Path) -> str:
    """Why the file must not be shown, by its own name and by that of the file it links to; "" if it is a document."""
    root = os.path.realpath(folder)
    real = os.path.realpath(os.path.join(root, path))
    parts = (*PureWindowsPath(path).parts, *Path(os.path.relpath(real, root)).parts)
    if any(part.startswith(".") and part.strip(".") for part in parts):
        return "names a hidden file or folder"
    if any(map(PRIVATE.fullmatch, parts)):
        return "names a database, settings or a key"
    if os.path.isfile(real) and os.access(real, os.R_OK):
        with open(real, "rb") as file:
            if file.read(len(DATABASE_HEADER)) == DATABASE_HEADER:
                return "names a database"
    return ""


def path_refusal(path: str, folder: Path) -> tuple[str, str]:
    """The code and the reason why no case may name the path; empty if cases may."""
    if reason := _escape_reason(path, folder):
        return "attachment-escapes", f"the path {reason}"
    return ("attachment-private", f"the path {reason}") if (reason := _private_reason(path, folder)) else ("", "")


def find_document(path: str, folder: Path) -> Path | str:
    """The file that a case attaches, or why it is not shown; empty if there is none."""
    if reason := path_refusal(path, folder)[1]:
        return f"this document is refused: {reason}"
    whole = (folder / path).resolve()
    return whole if whole.is_file() else ""
