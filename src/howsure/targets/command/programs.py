"""A program that speaks in lines: started without a shell, in a process group of its own, and always reaped. The end of
its stderr is kept for error messages.
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
"""The longest line that is read, in bytes, and the most that may wait unread."""
KEPT_LINES = 20
LONGEST_NOTE = 500
GRACE_SECONDS = 0.3
"""How long to wait for the stderr of a program that has ended."""


class ProgramEnded(TargetFailed):
    """The program ended or broke the protocol; the message has the end of its stderr."""


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
    """Start the program; `TargetFailed` when it cannot be started."""
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
        self._stderr_closed = asyncio.Event()
        self._closed = asyncio.Event()
        self._over = False
        self._fault = ""

    # Called by asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport
        self.pid = transport.get_pid()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self._take(data)
        else:
            *whole, rest = (bytes(self._note) + data).split(b"\n")
            self._notes.extend(_decode_note(line) for line in whole)
            # Only the beginning of a line that is too long is kept.
            self._note[:] = rest[: LONGEST_NOTE * 4]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1:
            self._finish()
        elif fd == 2:
            if self._note:
                self._notes.append(_decode_note(bytes(self._note)))
                self._note.clear()
            self._stderr_closed.set()

    def process_exited(self) -> None:
        self._exited.set()
        # A child process may hold the pipe open for ever.
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

    # Called by us.

    @property
    def ended(self) -> bool:
        return self._over or self._exited.is_set()

    @property
    def unread(self) -> bytes | None:
        """A line that the program wrote without being asked."""
        return self._lines[0] if self._lines else None

    def write(self, line: bytes) -> None:
        """Write one line. Where the program reads no more, `line` reports it."""
        pipe = self._transport.get_pipe_transport(0)
        if isinstance(pipe, asyncio.WriteTransport) and not pipe.is_closing():
            pipe.write(line + b"\n")

    async def line(self) -> bytes:
        """The next line; `ProgramEnded` where no more can come."""
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
                    await self._stderr_closed.wait()
        code = self._transport.get_returncode()
        why = self._fault or "closed its output"
        if code is not None and not self._fault:
            names = {each.value: each.name for each in signal.Signals}
            status = f"exit code {code}" if code >= 0 else f"signal {names.get(-code, str(-code))}"
            why = f"ended ({status}) before it answered"
        return ProgramEnded(f"{self._start.shown} {why}{self.last_words()}")

    def last_words(self) -> str:
        notes = [note for note in self._notes if note.strip()]
        return "; it said on stderr:\n" + "\n".join(notes) if notes else "; it said nothing on stderr"

    def kill(self) -> None:
        """Kill it at once, with its children. Does not wait, so that it can be called when cancelled."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    async def stop(self, patience: float) -> None:
        """Close its input, then send a signal, then kill it; afterwards it is gone and reaped."""
        try:
            if isinstance(pipe := self._transport.get_pipe_transport(0), asyncio.WriteTransport):
                pipe.close()
            if not await self._wait_exit(patience):
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self.pid, signal.SIGTERM)
                await self._wait_exit(min(patience, 1.0))
        finally:
            self.kill()
            self._transport.close()
        await self._wait_exit(5.0)
        with suppress(TimeoutError):
            async with asyncio.timeout(5.0):
                await self._closed.wait()

    async def _wait_exit(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._exited.wait()
        return self._exited.is_set()


def _decode_note(line: bytes) -> str:
    text = line.decode("utf-8", "replace").rstrip()
    return text if len(text) <= LONGEST_NOTE else f"{text[:LONGEST_NOTE]}…"


SHOWN = 200
STALLED_SECONDS = 1.0


class ProgramServer:
    """A program that serves many conversations at once: every line sent has an `id`, and its answer has the same."""

    def __init__(self, program: LineProgram) -> None:
        self.program = program
        self._waiting: dict[str, asyncio.Future[bytes]] = {}
        self._abandoned: set[str] = set()
        self._count = 0
        self._answers = 0
        self._broken: TargetFailed | None = None
        self._reader = asyncio.create_task(self._read())

    @property
    def ended(self) -> bool:
        return self._broken is not None or self.program.ended

    async def ask(self, payload: Mapping[str, Any]) -> bytes:
        """The line that answers this payload. When the caller stops waiting, a late answer is dropped."""
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
            seconds = time.monotonic() - begun
            if self._answers == before and seconds >= STALLED_SECONDS:
                # It would keep all later conversations waiting.
                self._fail(TargetFailed(f"the program gave no answer for {seconds:.1f} s, and was ended"))
                self.program.kill()
            raise
        finally:
            if self._waiting.pop(id, None) is not None:
                self._abandoned.add(id)

    async def stop(self, patience: float) -> None:
        self._reader.cancel()
        with suppress(asyncio.CancelledError):
            await self._reader
        self._fail(TargetFailed("the program was stopped"))
        await self.program.stop(patience)

    async def _read(self) -> None:
        """Deliver lines until the program ends or breaks the protocol; then fail all waiting calls."""
        try:
            while True:
                self._deliver(await self.program.line())
        except TargetFailed as failure:
            self.program.kill()
            self._fail(failure)

    def _deliver(self, line: bytes) -> None:
        try:
            value = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            value = None
        id = str(value.get("id", "")) if isinstance(value, dict) else ""
        if id in self._abandoned:
            self._answers += 1
            self._abandoned.discard(id)
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
