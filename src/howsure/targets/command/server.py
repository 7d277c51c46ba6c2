"""A program that serves many conversations at once: every line sent has an `id`, and the answer to it has the same."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec

from howsure.errors import TargetFailed
from howsure.targets.command.programs import Program

SHOWN = 200
STALLED_SECONDS = 1.0


class Server:
    """The program, and who waits for which answer."""

    def __init__(self, program: Program) -> None:
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
