"""Files of a run before a dialect reads them: paths as text that can be stored, datasets that come through a pipe and
are saved beside the database, and datasets at an address (`s3://bucket/cases.jsonl`, `gs://…`, `https://…`), which
fsspec reads (an extra). The file at an address is copied as a whole where the run is planned, because it is validated
there; workers of a cluster read only their own bytes of it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Struct

from howsure.dialects.datasets import ENDINGS, digest, is_pipe, readable, spool
from howsure.errors import CaseFailure, ConfigInvalid, InputError, NotFound, boundary


def stored_path(path: Path) -> str:
    """The absolute path as UTF-8 text, whatever the locale. In the C locale Python shows bytes beyond ASCII as lone
    surrogates; these are decoded as UTF-8."""
    return clean_text(os.fspath(path.resolve()))


def clean_text(text: str) -> str:
    """Text from the command line or a path, without lone surrogates."""
    raw = os.fsencode(text)
    return raw.decode("utf-8", "backslashreplace")


def native_path(text: str) -> str:
    """A path from `stored_path` as the file functions of this process want it."""
    return os.fsdecode(text.encode("utf-8"))


def keep_piped(path: str, folder: Path) -> str:
    """The path itself; or, for a pipe, the file that its content was saved to, named by a hash of the content: a run
    must be able to read its datasets again."""
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


PIECE = 1 << 20
LOCAL, WEB = "file", ("http", "https")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class RemoteFile(Struct, frozen=True):
    """A file at an address, and the path of its copy."""

    address: str
    path: Path


def is_address(text: str) -> bool:
    return _ADDRESS.match(text) is not None


def fetch_files(address: str, folder: Path) -> list[RemoteFile]:
    """A copy of the file in `folder`, or of every data file below that address. A `file://` address is not copied."""
    _check(address)
    scheme = urlsplit(address).scheme.lower()
    if scheme == LOCAL:
        path = Path(unquote(urlsplit(address).path))
        return [RemoteFile(stored_path(path), path)]
    system, place = _system(address)
    with _reading(address):
        # Web servers have no folders: fsspec would fetch the file to look for links in it.
        places = sorted(system.find(place)) if scheme not in WEB and system.isdir(place) else [place]
    if places == [place]:
        return [RemoteFile(address, _copy_here(system, place, address, folder))]
    known = [each for each in places if Path(each).suffix.lower() in ENDINGS]
    if not known:
        raise InputError(f"{address}: no data file ({', '.join(ENDINGS)}) below this address")
    addresses = {place: str(system.unstrip_protocol(place)) for place in known}
    return [RemoteFile(addresses[place], _copy_here(system, place, addresses[place], folder)) for place in known]


def read_part(address: str, start: int, end: int) -> bytes:
    """These bytes of the file, and no others."""
    system, place = _system(address)
    with _reading(address):
        found: bytes = system.cat_file(place, start=start, end=end)
    if len(found) != end - start:
        raise InputError(
            f"{address} gave {len(found):,} bytes where {end - start:,} were asked for: it has changed, or its server"
            " does not give parts of files"
        )
    return found


def address_problem(address: str) -> str:
    """Why the file cannot be read from here; "" where it can."""
    try:
        system, place = _system(address)
        with _reading(address):
            there = system.exists(place)
    except InputError as error:
        return str(error)
    return "" if there else f"no such file: {address}"


def copy_path(address: str, folder: Path) -> Path:
    """The path that a copy would have."""
    return folder / _UNSAFE.sub("-", urlsplit(address).path.rsplit("/", 1)[-1])


def _check(address: str) -> None:
    """Refuse addresses with secrets: they are stored with the run and shown."""
    parts = urlsplit(address)
    if "@" in parts.netloc or parts.query:
        bare = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        raise ConfigInvalid(
            f"{bare}: the address of a dataset must hold no user, password or query: keys belong into the environment"
        )


def _system(address: str) -> tuple[Any, str]:
    _check(address)
    try:
        opening = import_module("fsspec.core")
    except ModuleNotFoundError as missing:
        raise ConfigInvalid(f"{address} needs fsspec: pip install 'howsure[remote]'") from missing
    try:
        system, place = opening.url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise ConfigInvalid(f"{address} cannot be read here: {error}") from error
    return system, place


@contextmanager
def _reading(address: str) -> Iterator[None]:
    """Turn whatever a file system raises into an error that the user can act on."""
    try:
        with boundary(CaseFailure, address):
            yield
    except CaseFailure as failure:
        if isinstance(failure.__cause__, FileNotFoundError):
            raise NotFound(f"no such file: {address}") from failure
        raise InputError(f"cannot read {failure}") from failure


def _copy_here(system: Any, place: str, address: str, folder: Path) -> Path:
    """Copy the file into a folder that is named by a hash of its content, so that a copy never changes."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder, prefix=".copying-") as unfinished:
            copy = Path(unfinished) / "copy"
            hashed = sha256()
            with copy.open("wb") as file, _reading(address), system.open(place, "rb") as source:
                while piece := source.read(PIECE):
                    hashed.update(piece)
                    file.write(piece)
            path = copy_path(address, folder / hashed.hexdigest()[:32])
            path.parent.mkdir(exist_ok=True)
            os.replace(copy, path)
    except OSError as error:
        raise ConfigInvalid(f"{folder} cannot be written: {error.strerror}") from error
    return path


def fingerprint(value: Any) -> str:
    """The SHA-256 of a value as deterministic JSON."""
    return sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()
