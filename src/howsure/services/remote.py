"""Datasets at an address (`s3://bucket/cases.jsonl`, `gs://…`, `https://…`), read by fsspec, which is an extra. The
whole file is copied to where a run is planned, for it is validated there; workers of a cluster read their own bytes of
it."""

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

from msgspec import Struct

from howsure.dialects.finding import ENDINGS
from howsure.errors import CaseFailure, ConfigInvalid, InputError, NotFound, boundary
from howsure.services.paths import stored

PIECE = 1 << 20
LOCAL, WEB = "file", ("http", "https")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class Far(Struct, frozen=True):
    """A file at an address, and where its copy lies."""

    address: str
    path: Path


def is_address(text: str) -> bool:
    return _ADDRESS.match(text) is not None


def fetched(address: str, folder: Path) -> list[Far]:
    """A copy of the file in `folder`, or of every data file below that address. A file of this machine is no copy."""
    _check(address)
    scheme = urlsplit(address).scheme.lower()
    if scheme == LOCAL:
        path = Path(unquote(urlsplit(address).path))
        return [Far(stored(path), path)]
    system, place = _system(address)
    with _reached(address):
        # Web servers have no folders: what is there would be fetched, to look for links in it.
        places = sorted(system.find(place)) if scheme not in WEB and system.isdir(place) else [place]
    if places == [place]:
        return [Far(address, _copied(system, place, address, folder))]
    known = [each for each in places if Path(each).suffix.lower() in ENDINGS]
    if not known:
        raise InputError(f"{address}: no data file ({', '.join(ENDINGS)}) below this address")
    return [_each(system, each, folder) for each in known]


def read_part(address: str, start: int, end: int) -> bytes:
    """These bytes of the file, and no others."""
    system, place = _system(address)
    with _reached(address):
        found: bytes = system.cat_file(place, start=start, end=end)
    if len(found) != end - start:
        raise InputError(
            f"{address} gave {len(found):,} bytes where {end - start:,} were asked for: it has changed, or its server"
            " does not give parts of files"
        )
    return found


def far_problem(address: str) -> str:
    """Why the file cannot be read from here; "" where it can."""
    try:
        system, place = _system(address)
        with _reached(address):
            there = system.exists(place)
    except InputError as error:
        return str(error)
    return "" if there else f"no such file: {address}"


def unread(address: str, folder: Path) -> Path:
    """The name that a copy would have."""
    return folder / _UNSAFE.sub("-", urlsplit(address).path.rsplit("/", 1)[-1])


def _check(address: str) -> None:
    """Addresses are kept with the run and shown."""
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
def _reached(address: str) -> Iterator[None]:
    """File systems raise whatever the programs below them raise: it is for the user to mend."""
    try:
        with boundary(CaseFailure, address):
            yield
    except CaseFailure as failure:
        if isinstance(failure.__cause__, FileNotFoundError):
            raise NotFound(f"no such file: {address}") from failure
        raise InputError(f"cannot read {failure}") from failure


def _each(system: Any, place: str, folder: Path) -> Far:
    address = str(system.unstrip_protocol(place))
    return Far(address, _copied(system, place, address, folder))


def _copied(system: Any, place: str, address: str, folder: Path) -> Path:
    """The content decides where it lies, so that a copy never changes."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder, prefix=".copying-") as unfinished:
            copy = Path(unfinished) / "copy"
            hashed = _copy(system, place, address, copy)
            path = unread(address, folder / hashed[:32])
            path.parent.mkdir(exist_ok=True)
            os.replace(copy, path)
    except OSError as error:
        raise ConfigInvalid(f"{folder} cannot be written: {error.strerror}") from error
    return path


def _copy(system: Any, place: str, address: str, copy: Path) -> str:
    hashed = sha256()
    with copy.open("wb") as file, _reached(address), system.open(place, "rb") as source:
        while piece := source.read(PIECE):
            hashed.update(piece)
            file.write(piece)
    return hashed.hexdigest()
