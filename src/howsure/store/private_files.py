"""Files and folders that only their owner may read: databases, backups, documents. Modes are set for each file; the
umask of the process is left alone."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from stat import S_IMODE
from typing import BinaryIO

from howsure.errors import ConfigInvalid

OWN_FOLDER = ".howsure"
FOLDER_MODE, FILE_MODE = 0o700, 0o600


def make_private_folder(folder: Path) -> None:
    """Make the folder with mode 0700; a `.howsure` around it gets that mode, too. An existing folder of another name
    stays as it is: it may be shared on purpose."""
    if not folder.is_dir():
        folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    for each in (folder, *folder.parents):
        if each.name == OWN_FOLDER:
            tighten_mode(each, FOLDER_MODE)


def make_private_file(path: Path) -> None:
    """An empty file with mode 0600 where there is none; one that is there gets that mode."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE))
    tighten_mode(path)


def tighten_mode(path: Path, mode: int = FILE_MODE) -> None:
    """Remove the permissions of others. Files of another user, or on file systems without modes, stay as they are."""
    with suppress(OSError):
        if S_IMODE(path.stat().st_mode) & ~mode & 0o077:
            path.chmod(mode)


def open_private(path: Path) -> BinaryIO:
    """A file to write to, emptied, that only its owner can read."""
    try:
        make_private_file(path)
        return path.open("wb")
    except OSError as error:
        raise ConfigInvalid(f"{path} cannot be written: {error.strerror}") from error
