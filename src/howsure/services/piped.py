"""Datasets that come through a pipe are kept beside the database: a run must be able to read them again."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from howsure.dialects.finding import digest, is_pipe, readable, spool
from howsure.errors import ConfigInvalid, NotFound


def kept(path: str, folder: Path) -> str:
    """The path itself; or, for a pipe, where its content now lies, named by what is in it."""
    with readable(Path(path)):
        if path != "-" and not Path(path).exists():
            raise NotFound(f"no such file: {path}")
    if not is_pipe(Path(path)):
        return path
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder) as passing:
            copied = spool(Path(path), Path(passing))
            lasting = folder / f"{digest(copied)[:16]}{copied.suffix}"
            copied.replace(lasting)
    except OSError as error:
        raise ConfigInvalid(f"what came through the pipe cannot be kept in {folder}: {error.strerror}") from error
    return str(lasting)
