"""A real terminal: keys as they are pressed, the whole screen, and everything put back at the end. Only where there is
`termios`."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
import termios
import tty
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

from rich.console import Console
from rich.text import Text

from howsure.cli.browse.keys import Key, keys

ENTER, LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
HOME, CLEAR_LINE, CLEAR_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"
ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that mean: leave, and put everything back."""
SMALLEST = (20, 5)
ESCAPE_WAIT = 0.05
"""Seconds in which the rest of a sequence that begins with an escape must come."""


class Resized:
    """The terminal has another size: draw again."""


class Terminal:
    """`async with Terminal(console) as terminal:`"""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._in, self._out = sys.stdin.fileno(), sys.stdout.fileno()
        self._events: asyncio.Queue[Key | Resized | None] = asyncio.Queue()

    @property
    def size(self) -> tuple[int, int]:
        """Columns and lines. The last column stays free: a line that fills it wraps in some terminals."""
        columns, lines = 80, 24
        with suppress(OSError):
            columns, lines = os.get_terminal_size(self._out)
        return max(SMALLEST[0], (columns or 80) - 1), max(SMALLEST[1], lines or 24)

    async def __aenter__(self) -> Terminal:
        self._before = termios.tcgetattr(self._in)
        tty.setcbreak(self._in, termios.TCSANOW)
        loop = asyncio.get_running_loop()
        loop.add_reader(self._in, self._read)
        loop.add_signal_handler(signal.SIGWINCH, self._events.put_nowait, Resized())
        for ending in ENDINGS:
            loop.add_signal_handler(ending, self._events.put_nowait, None)
        # Stopped in the middle, the program would leave the terminal without its keys and its cursor.
        self._stopping = signal.signal(signal.SIGTSTP, signal.SIG_IGN)
        self._write(ENTER)
        return self

    async def __aexit__(self, *_: object) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._in)
        for known in (signal.SIGWINCH, *ENDINGS):
            loop.remove_signal_handler(known)
        signal.signal(signal.SIGTSTP, self._stopping)
        self._write(LEAVE)
        termios.tcsetattr(self._in, termios.TCSADRAIN, self._before)

    async def events(self) -> AsyncIterator[Key | Resized]:
        """Until the terminal goes away."""
        while (event := await self._events.get()) is not None:
            yield event

    def draw(self, lines: Sequence[Text]) -> None:
        width, _ = self.size
        drawn = (self._ansi(line, width) + CLEAR_LINE for line in lines)
        self._write(HOME + "\r\n".join(drawn) + CLEAR_BELOW)

    def _ansi(self, line: Text, width: int) -> str:
        with self._console.capture() as captured:
            self._console.print(line, end="", no_wrap=True, overflow="crop", width=width)
        return captured.get()

    def _read(self) -> None:
        try:
            sent = os.read(self._in, 1024)
            if sent.endswith(b"\x1b") and select.select([self._in], [], [], ESCAPE_WAIT)[0]:
                sent += os.read(self._in, 1024)
        except OSError:
            sent = b""
        if not sent:
            asyncio.get_running_loop().remove_reader(self._in)
            self._events.put_nowait(None)
        for key in keys(sent):
            self._events.put_nowait(key)

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()
