"""A fuzzing target: a parser of outside bytes, valid inputs to start from, and the exceptions that are its answers.
Anything else that it raises is a find, and so is an input that takes too long or too much memory."""

from __future__ import annotations

import json
import os
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from msgspec import Struct

from howsure.errors import HowsureError
from howsure.model.plain_values import encode, plain_copy

SECONDS = 5.0
"""How much processor time one input may take. (The largest input has 64 KiB.)"""
HOWSURE = "/howsure/"


class Target(Struct, frozen=True, kw_only=True):
    """`parse` reads the bytes, and may raise `answers`. `share`: of the time, where the others have 1."""

    name: str
    seeds: tuple[bytes, ...]
    parse: Callable[[bytes], object]
    answers: tuple[type[BaseException], ...] = (HowsureError,)
    seconds: float = SECONDS
    share: float = 1.0


class Find(Struct, frozen=True, kw_only=True):
    """An input that broke a parser. `key` is the same for inputs that break it in the same way."""

    target: str
    data: bytes
    key: str
    trace: str

    @property
    def file_name(self) -> str:
        return f"{self.target.replace(' ', '-').replace('/', '-')}.{sha256(self.key.encode()).hexdigest()[:10]}"


class TooSlow(BaseException):
    """An input took too long."""


class NotStorable(Exception):
    """What was read can be neither stored nor read again."""


def attempt(target: Target, data: bytes) -> Find | None:
    """Let the target read the bytes; a find, where it did not answer as it should."""
    try:
        with _time_limit(target.seconds):
            target.parse(data)
    except target.answers:
        return None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 (whatever it is, it is what we look for)
        return Find(
            target=target.name,
            data=data,
            key=f"{target.name}: {_place(error)}",
            trace="".join(traceback.format_exception(error, limit=-12)),
        )
    return None


def _place(error: BaseException) -> str:
    """The kind of the error, and the innermost line of ours that it went through."""
    kind = type(error).__name__
    if isinstance(error, TooSlow | MemoryError | RecursionError):
        return kind
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if HOWSURE in frame.filename]
    if not frames:
        return f"{kind}: {str(error)[:120]}"
    return f"{kind} at {frames[-1].filename.rpartition(HOWSURE)[2]}:{frames[-1].name}"


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Of processor time: a busy machine makes no finds."""

    def stop(number: int, frame: object) -> None:
        raise TooSlow(f"took more than {seconds:g} s of processor time")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


_base: list[TemporaryDirectory[str]] = []


def folder() -> Path:
    """A folder of this process for what is read from files, in memory where that can be. It lies in one of the process
    that first asked for it, which removes it at its end."""
    if not _base:
        memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
        _base.append(TemporaryDirectory(prefix="howsure-fuzz-", dir=memory, ignore_cleanup_errors=True))
    own = Path(_base[0].name) / str(os.getpid())
    own.mkdir(exist_ok=True)
    return own


def in_file(name: str, read: Callable[[Path], object]) -> Callable[[bytes], object]:
    """A parser of files as a parser of bytes. What it yields is used up."""

    def parse(data: bytes) -> object:
        path = folder() / name
        path.write_bytes(data)
        return list(found) if isinstance(found := read(path), Iterator) else found

    return parse


def as_text(read: Callable[[str], object]) -> Callable[[bytes], object]:
    """A parser of texts: of half characters too, where the bytes hold them."""

    def parse(data: bytes) -> object:
        try:
            text = data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            text = data.decode("utf-8", "replace")
        return read(text)

    return parse


def as_value(read: Callable[[Any], object]) -> Callable[[bytes], object]:
    """A parser of decoded JSON, as a lenient decoder gives it: half characters, endless numbers and all."""

    def parse(data: bytes) -> object:
        try:
            value = json.loads(data.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None
        return read(value)

    return parse


def kept(value: Any) -> None:
    """What the engine makes of a value of others: it can be stored, or errors its own case."""
    try:
        copy, _ = plain_copy(value, type(value))
    except (ValueError, msgspec.ValidationError):
        return
    storable(copy)


def storable(value: Any) -> Any:
    """The value, if the store can keep it."""
    try:
        msgspec.json.decode(encode(value))
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise NotStorable(f"{type(error).__name__}: {error}") from error
    return value
