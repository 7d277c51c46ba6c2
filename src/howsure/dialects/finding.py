"""From what a user types to files that can be read: folders, pipes, and which dialect a file is of."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, TypeVar

from howsure.dialects.base import Importer
from howsure.dialects.lines import CHUNK, opened
from howsure.dialects.strict_json import BOM, parse
from howsure.errors import DatasetInvalid, InputError, Level, NotFound, Problem

HEAD = 1 << 16
ENDINGS = (".csv", ".json", ".jsonl", ".ndjson")
STDIN = "-"
Note = Callable[[Problem], object]
R = TypeVar("R", bound=Importer)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Whatever keeps a file from being read is for the user to mend."""
    try:
        yield
    except FileNotFoundError as error:
        raise NotFound(f"no such file: {path}") from error
    except IsADirectoryError as error:
        raise InputError(f"{path} is a folder; a file is needed here") from error
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error


def digest(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    hashed = sha256()
    with readable(path), opened(path) as file:
        while piece := file.read(CHUNK):
            hashed.update(piece)
    return hashed.hexdigest()


def detect(path: Path, dialects: Iterable[R]) -> R:
    """The one dialect the file is of."""
    known = list(dialects)
    head = _head(path)
    if _is_blank(head):
        raise DatasetInvalid(str(path), [empty_file(path)])
    fitting = [dialect for dialect in known if dialect.detect(path, head)]
    if len(fitting) == 1:
        return fitting[0]
    names = ", ".join(dialect.name for dialect in fitting or known)
    if fitting:
        raise InputError(f"{path}: fits several dialects ({names}); name one with --dialect")
    raise InputError(f"{path}: not recognised as any dialect (known: {names}); name one with --dialect")


def empty_file(path: Path) -> Problem:
    return Problem(code="empty-file", message="there are no cases in this file", file=str(path))


def expand(paths: Iterable[Path], dialects: Iterable[Importer] = (), note: Note | None = None) -> list[Path]:
    """The files that the paths stand for, a folder for the data files in it. Where dialects are given, a file in a
    folder that none of them knows (a rubric, a scenario catalog, an agent) is passed over, and `note` is told."""
    known = list(dialects)
    found: list[Path] = []
    for path in paths:
        with readable(path):
            found += _in_folder(path, known, note) if path.is_dir() else [_existing(path)]
    return list(dict.fromkeys(found))


def is_pipe(path: Path) -> bool:
    """Whether the path can be read only once: standard input, a FIFO, a device."""
    if str(path) == STDIN:
        return True
    with readable(path):
        mode = os.stat(path).st_mode
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def spool(path: Path, folder: Path) -> Path:
    """Copies what a pipe gives into `folder`, where it can be read twice; a plain file is given back as it is."""
    if not is_pipe(path):
        return path
    unnamed = folder / ("stdin" if str(path) == STDIN else path.name)
    with readable(path), _source(path) as source, open(unnamed, "wb") as copy:
        shutil.copyfileobj(source, copy, CHUNK)
    return unnamed.rename(unnamed.with_suffix(_ending(_head(unnamed))))


def _source(path: Path) -> BinaryIO:
    return open(0, "rb", closefd=False) if str(path) == STDIN else open(path, "rb")


def _ending(head: bytes) -> str:
    """Of a file without a name: several lines of which the first is an object are JSONL."""
    lines = [line for line in head.removeprefix(BOM).splitlines() if line.strip()]
    if not lines or lines[0].lstrip()[:1] not in b"{[":
        return ".csv" if lines else ".jsonl"
    value, problems = parse(lines[0], file="")
    return ".jsonl" if isinstance(value, dict) and not problems and len(lines) > 1 else ".json"


def _existing(path: Path) -> Path:
    if not path.exists() and str(path) != STDIN:
        raise NotFound(f"no such file: {path}")
    return path


def _in_folder(folder: Path, dialects: Sequence[Importer], note: Note | None) -> list[Path]:
    with readable(folder):
        files = sorted(path for path in folder.rglob("*") if _is_data(path, folder))
    known = [path for path in files if not dialects or _is_known(path, dialects, note)]
    if not known:
        wanted = f"that is of a known dialect ({', '.join(each.name for each in dialects)})" if files else ""
        raise InputError(f"{folder}: no data file ({', '.join(ENDINGS)}) {wanted}".rstrip() + " in this folder")
    return known


def _is_data(path: Path, folder: Path) -> bool:
    hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
    return path.suffix.lower() in ENDINGS and not hidden and path.is_file()


def _is_known(path: Path, dialects: Iterable[Importer], note: Note | None) -> bool:
    head = _head(path)
    known = _is_blank(head) or any(dialect.detect(path, head) for dialect in dialects)
    if not known and note is not None:
        message = "passed over: no dialect knows this file"
        note(Problem(code="skipped-file", message=message, file=str(path), level=Level.WARNING))
    return known


def _head(path: Path) -> bytes:
    with readable(path), opened(path) as file:
        return file.read(HEAD)


def _is_blank(head: bytes) -> bool:
    return not head.removeprefix(BOM).strip()
