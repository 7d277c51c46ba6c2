"""A program that speaks in lines: started without a shell, in a process group of its own, and always reaped. What it
writes to stderr is kept for the day it dies.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from howsure.errors import TargetFailed

LARGEST = 16 * 1024 * 1024
"""The longest line that is read, in bytes; also all that may wait unread."""
KEPT_LINES = 20
LONGEST_NOTE = 500
GRACE_SECONDS = 0.3
"""How long the last words of a program that has ended may take to arrive."""


class ProgramEnded(TargetFailed):
    """It is no more there, or it broke the rules; the message has its last words."""


class ProgramStart(Struct, frozen=True, kw_only=True):
    """How a program is started."""

    arguments: Sequence[str]
    folder: Path
    environ: Mapping[str, str]
    largest: int = LARGEST

    @property
    def shown(self) -> str:
        return self.arguments[0]


async def start_program(start: ProgramStart) -> LineProgram:
    """The program, running; `TargetFailed` when it cannot be started."""
    loop = asyncio.get_running_loop()
    try:
        _, program = await loop.subprocess_exec(
            lambda: LineProgram(start),
            *start.arguments,
            cwd=start.folder,
            env=dict(start.environ),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise TargetFailed(f"{start.shown} cannot be started: {why}") from error
    return program


class LineProgram(asyncio.SubprocessProtocol):
    """One running program."""

    def __init__(self, start: ProgramStart) -> None:
        self._start = start
        self._lines: deque[bytes] = deque()
        self._waiting = 0
        self._rest = bytearray()
        self._notes: deque[str] = deque(maxlen=KEPT_LINES)
        self._note = bytearray()
        self._news = asyncio.Event()
        self._exited = asyncio.Event()
        self._told = asyncio.Event()
        self._closed = asyncio.Event()
        self._over = False
        self._fault = ""

    # What asyncio tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport
        self.pid = transport.get_pid()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self._take(data)
        else:
            *whole, rest = (bytes(self._note) + data).split(b"\n")
            self._notes.extend(_noted(line) for line in whole)
            # Of a line that is too long the beginning is kept.
            self._note[:] = rest[: LONGEST_NOTE * 4]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1:
            self._finish()
        elif fd == 2:
            if self._note:
                self._notes.append(_noted(bytes(self._note)))
                self._note.clear()
            self._told.set()

    def process_exited(self) -> None:
        self._exited.set()
        # A child of it may hold the pipe open for ever.
        asyncio.get_running_loop().call_later(GRACE_SECONDS, self._finish)

    def connection_lost(self, exc: Exception | None) -> None:
        self._finish()
        self._closed.set()

    def _take(self, data: bytes) -> None:
        *whole, rest = data.split(b"\n")
        for part in whole:
            self._lines.append(bytes(self._rest) + part)
            self._waiting += len(self._lines[-1])
            self._rest.clear()
        self._rest += rest
        if len(self._rest) + self._waiting > self._start.largest and not self._fault:
            self._fault = f"wrote more than {self._start.largest:,} bytes without being asked, or in one line"
            self.kill()
        self._news.set()

    def _finish(self) -> None:
        self._over = True
        self._news.set()

    # What we do.

    @property
    def ended(self) -> bool:
        return self._over or self._exited.is_set()

    @property
    def unread(self) -> bytes | None:
        """A line that is there although nobody asked for it."""
        return self._lines[0] if self._lines else None

    def write(self, line: bytes) -> None:
        """One line to it. Where it reads no more, the failure shows in the reading."""
        pipe = self._transport.get_pipe_transport(0)
        if isinstance(pipe, asyncio.WriteTransport) and not pipe.is_closing():
            pipe.write(line + b"\n")

    async def line(self) -> bytes:
        """The next line; `ProgramEnded` where none can come any more."""
        while not self._lines or self._fault:
            if self._fault or self._over:
                raise await self._failure()
            self._news.clear()
            await self._news.wait()
        line = self._lines.popleft()
        self._waiting -= len(line)
        return line

    async def _failure(self) -> ProgramEnded:
        if not self._fault:
            with suppress(TimeoutError):
                async with asyncio.timeout(GRACE_SECONDS):
                    await self._exited.wait()
                    await self._told.wait()
        code = self._transport.get_returncode()
        why = self._fault or ("closed its output" if code is None else f"ended ({_ending(code)}) before it answered")
        return ProgramEnded(f"{self._start.shown} {why}{self.last_words()}")

    def last_words(self) -> str:
        notes = [note for note in self._notes if note.strip()]
        return "; it said on stderr:\n" + "\n".join(notes) if notes else "; it said nothing on stderr"

    def kill(self) -> None:
        """At once, with its children. Needs no waiting, so that it can be done when cancelled."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    async def stop(self, patience: float) -> None:
        """Ask it to end by closing its input, then by a signal, then kill it; in the end it is gone and reaped."""
        try:
            if isinstance(pipe := self._transport.get_pipe_transport(0), asyncio.WriteTransport):
                pipe.close()
            if not await self._gone(patience):
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self.pid, signal.SIGTERM)
                await self._gone(min(patience, 1.0))
        finally:
            self.kill()
            self._transport.close()
        await self._gone(5.0)
        with suppress(TimeoutError):
            async with asyncio.timeout(5.0):
                await self._closed.wait()

    async def _gone(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._exited.wait()
        return self._exited.is_set()


def _noted(line: bytes) -> str:
    text = line.decode("utf-8", "replace").rstrip()
    return text if len(text) <= LONGEST_NOTE else f"{text[:LONGEST_NOTE]}…"


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    names = {each.value: each.name for each in signal.Signals}
    return f"signal {names.get(-code, str(-code))}"


SHOWN = 200
STALLED_SECONDS = 1.0


class ProgramServer:
    """The program, and who waits for which answer."""

    def __init__(self, program: LineProgram) -> None:
        self.program = program
        self._waiting: dict[str, asyncio.Future[bytes]] = {}
        self._left: set[str] = set()
        self._count = 0
        self._answers = 0
        self._broken: TargetFailed | None = None
        self._reading = asyncio.create_task(self._read())

    @property
    def ended(self) -> bool:
        return self._broken is not None or self.program.ended

    async def ask(self, payload: Mapping[str, Any]) -> bytes:
        """The line that answers this one. Who stops waiting is forgotten; the answer may come late."""
        if self._broken is not None:
            raise TargetFailed(str(self._broken))
        self._count += 1
        id = str(self._count)
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting[id] = future
        self.program.write(msgspec.json.encode({"id": id, **payload}))
        begun, before = time.monotonic(), self._answers
        try:
            return await future
        except asyncio.CancelledError:
            if self._answers == before:
                self._stalled(time.monotonic() - begun)
            raise
        finally:
            if self._waiting.pop(id, None) is not None:
                self._left.add(id)

    def _stalled(self, seconds: float) -> None:
        """One that answered nobody for so long hangs, and would keep every conversation to come waiting."""
        if seconds >= STALLED_SECONDS:
            self._fail(TargetFailed(f"the program answered nobody for {seconds:.1f} s, and was ended"))
            self.program.kill()

    async def stop(self, patience: float) -> None:
        self._reading.cancel()
        with suppress(asyncio.CancelledError):
            await self._reading
        self._fail(TargetFailed("the program was stopped"))
        await self.program.stop(patience)

    async def _read(self) -> None:
        """Until the program ends, or writes what belongs to nobody: then all who wait are told."""
        try:
            while True:
                self._deliver(await self.program.line())
        except TargetFailed as failure:
            self.program.kill()
            self._fail(failure)

    def _deliver(self, line: bytes) -> None:
        id = _id(line)
        if id in self._left:
            self._answers += 1
            self._left.discard(id)
        elif (future := self._waiting.pop(id, None)) is not None:
            self._answers += 1
            if not future.done():
                future.set_result(line)
        else:
            shown = repr(line[:SHOWN].decode("utf-8", "replace"))
            raise TargetFailed(f'expected a line of JSON with the "id" of a message; the program wrote {shown}')

    def _fail(self, failure: TargetFailed) -> None:
        self._broken = self._broken or failure
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(type(failure)(str(failure)))
        self._waiting.clear()


def _id(line: bytes) -> str:
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    return str(value.get("id", "")) if isinstance(value, dict) else ""
