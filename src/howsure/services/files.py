"""Files of a run before a dialect reads them: paths as text that can be stored, datasets that come through a pipe and
are saved beside the database, and datasets at an address (`s3://bucket/cases.jsonl`, `gs://…`, `https://…`), which
fsspec reads (an extra). The file at an address is copied as a whole where the run is planned, because it is validated
there; workers of a cluster read only their own bytes of it."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from select import POLLIN, poll
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Any, BinaryIO
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Struct

from howsure.dialects.datasets import ENDINGS, HEAD, STDIN, digest, readable
from howsure.dialects.lines import CHUNK
from howsure.dialects.strict_json import BOM, parse_json
from howsure.errors import CaseFailure, ConfigInvalid, InputError, NotFound, boundary
from howsure.store.private_files import make_private_folder

LONGEST_PIPE = 2 << 30
"""The most bytes that are read from a pipe."""
PIPE_SECONDS = 30.0
"""How long to wait for a writer of a FIFO."""
OPEN_FILES = Path("/proc/self/fd")
"""Where a file without a name can be opened again; Linux has it."""
OF_THE_KERNEL = ("/proc/", "/sys/")


def is_pipe(path: Path) -> bool:
    """Whether the path can be read only once. InputError for devices, sockets and files of the kernel."""
    with readable(path):
        found = os.fstat(0) if str(path) == STDIN else os.stat(path)
    mode = found.st_mode
    if stat.S_ISDIR(mode) or stat.S_ISREG(mode):
        if stat.S_ISREG(mode) and os.path.realpath(path).startswith(OF_THE_KERNEL):
            raise InputError(f"{path} is a file of the kernel, not a dataset")
        return str(path) == STDIN
    terminal = str(path) == STDIN and os.isatty(0)
    if stat.S_ISFIFO(mode) or terminal or found.st_rdev == os.stat(os.devnull).st_rdev:
        return True
    if stat.S_ISSOCK(mode) and str(path) == STDIN:
        return True
    what = "a socket" if stat.S_ISSOCK(mode) else "a device"
    named = "standard input" if str(path) == STDIN else path
    raise InputError(f"{named} is {what}, not a dataset: name a file or a pipe, or `-` for standard input")


def spool(path: Path, folder: Path, most: int = LONGEST_PIPE, seconds: float = PIPE_SECONDS) -> Path:
    """The name in `folder` of a copy that can be read twice; a plain file is returned as it is."""
    if not is_pipe(path):
        return path
    with _open_pipe(path, seconds) as source, ExitStack() as unfinished:
        copy = unfinished.enter_context(_nameless_file(folder))
        while piece := _read(source, path):
            if copy.tell() + len(piece) > most:
                raise InputError(f"{path}: more than {most:,} bytes came through the pipe; save them as a file first")
            copy.write(piece)
        copy.seek(0)
        name = folder / ("stdin" if str(path) == STDIN else path.name)
        name = name.with_suffix(_ending(copy.read(HEAD)))
        if OPEN_FILES.is_dir():
            name.symlink_to(f"/proc/{os.getpid()}/fd/{copy.fileno()}")
            # Open, and so there, until the program ends.
            atexit.register(unfinished.pop_all().close)
        else:
            copy.seek(0)
            name.write_bytes(copy.read())
    return name


def _nameless_file(folder: Path) -> IO[bytes]:
    try:
        return open(os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o600), "w+b")
    except (OSError, AttributeError):
        return TemporaryFile(dir=folder)


def keep_copy(copy: Path, lasting: Path) -> None:
    """Give a copy made by `spool` a permanent name."""
    if not copy.is_symlink():
        copy.replace(lasting)
        return
    here = os.open(copy.parent, os.O_RDONLY)
    try:
        # With a folder given, the link is followed to the file itself.
        os.link(copy, lasting, src_dir_fd=here)
    except FileExistsError:
        return
    except OSError:
        # A file system on which a file without a name stays without one.
        lasting.touch(mode=0o600)
        shutil.copyfile(copy, lasting)
    finally:
        os.close(here)


def _open_pipe(path: Path, seconds: float) -> BinaryIO:
    """Opened for reading. Only a FIFO with a name can be without a writer."""
    if str(path) == STDIN:
        return open(0, "rb", closefd=False)
    with readable(path):
        if not path.is_fifo() or not os.path.exists(os.path.realpath(path)):
            return open(path, "rb")
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    waiting = poll()
    waiting.register(number, POLLIN)
    if not waiting.poll(seconds * 1000):
        os.close(number)
        raise InputError(f"{path}: nothing came through this pipe within {seconds:g} s; does anything write to it?")
    os.set_blocking(number, True)
    return open(number, "rb")


def _read(source: BinaryIO, path: Path) -> bytes:
    with readable(path):
        return source.read(CHUNK)


def _ending(head: bytes) -> str:
    """The ending for unnamed data: several lines of which the first is an object are JSONL."""
    lines = [line for line in head.removeprefix(BOM).splitlines() if line.strip()]
    if not lines or lines[0].lstrip()[:1] not in b"{[":
        return ".csv" if lines else ".jsonl"
    value, problems = parse_json(lines[0], file="")
    return ".jsonl" if isinstance(value, dict) and not problems and len(lines) > 1 else ".json"


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
    """The path itself; or, for a pipe, the file that its content was saved to, in a folder named by a hash of the
    content: a run must be able to read its datasets again."""
    with readable(Path(path)):
        if path != "-" and not Path(path).exists():
            raise NotFound(f"no such file: {path}")
    if not is_pipe(Path(path)):
        return path
    try:
        make_private_folder(folder)
        with TemporaryDirectory(dir=folder) as passing:
            copied = spool(Path(path), Path(passing))
            lasting = folder / digest(copied)[:16] / f"piped{copied.suffix}"
            make_private_folder(lasting.parent)
            keep_copy(copied, lasting)
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
