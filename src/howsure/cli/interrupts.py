"""Interrupts on the command line: SIGINT and SIGTERM end a run within two seconds, whatever its cases do in Python
code, and a case that holds up the others for too long is stopped. What is stored stays stored."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from threading import Timer, current_thread, main_thread
from types import FrameType
from typing import Any, TypeVar

from howsure.cli.exit_codes import INTERRUPTED
from howsure.errors import ComputeTimeout, UserInterrupt, in_attempt
from howsure.services.processes import descendants, kill_tree
from howsure.services.workspace import Workspace

T = TypeVar("T")

SIGNALS = (signal.SIGINT, signal.SIGTERM)
TIMER_SIGNALS = (signal.SIGALRM,) if hasattr(signal, "setitimer") else ()
"""None on Windows."""
GRACE_SECONDS = 1.2
"""How long the work may take to end by itself after a signal."""
LAST_SECONDS = 0.4
"""How long it may take to end after it was interrupted."""
SENTENCE = "Interrupted. Nothing that was finished is lost; `howsure resume latest` goes on."


class InterruptHandlers:
    """The signal handlers while `task` works. The first signal cancels it. Code that blocks the event loop is
    interrupted after a moment; if that is not enough, the program ends at once. Code of an attempt that blocks the loop
    for `seconds` is interrupted without a signal, too."""

    def __init__(self, loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any], seconds: float) -> None:
        self._loop = loop
        self._task = task
        self._seconds = seconds
        self._quarters = 0
        self._broken_off = False
        self.interrupted = False

    def install(self) -> None:
        for number in SIGNALS:
            signal.signal(number, self._interrupt)
        if TIMER_SIGNALS:
            signal.signal(signal.SIGALRM, self._count_quarter)
            signal.setitimer(signal.ITIMER_REAL, self._seconds / 4, self._seconds / 4)

    async def watch_loop(self) -> None:
        while True:
            self._quarters = 0
            await asyncio.sleep(self._seconds / 8)

    def _count_quarter(self, number: int, frame: FrameType | None) -> None:
        """Called after each quarter of the time. Quarters are counted, not measured by the clock, because the system
        may suspend the program for a while."""
        self._quarters += 1
        if self._quarters > 4 and in_attempt.get():
            self._quarters = 0
            raise ComputeTimeout(self._seconds)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.interrupted:
            raise UserInterrupt
        self.interrupted = True
        if TIMER_SIGNALS:
            signal.signal(signal.SIGALRM, self._break_off)
            signal.setitimer(signal.ITIMER_REAL, GRACE_SECONDS, LAST_SECONDS)
        self._task.cancel()
        self._loop.call_soon_threadsafe(lambda: None)  # it may sleep

    def _break_off(self, number: int, frame: FrameType | None) -> None:
        if not self._broken_off:
            self._broken_off = True
            raise UserInterrupt
        os.write(2, f"\n{SENTENCE}\n".encode())
        _end_program()


def _end_program() -> None:
    """At once, with every process that was started here."""
    for pid in descendants(os.getpid()):
        kill_tree(pid)
    os._exit(INTERRUPTED)


@contextmanager
def tidy_on_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP end a command as Ctrl-C does, so that its temporary files are removed."""
    ending = (signal.SIGTERM, signal.SIGHUP) if current_thread() is main_thread() else ()
    default = [number for number in ending if signal.getsignal(number) is signal.SIG_DFL]
    for number in default:
        signal.signal(number, _raise_interrupt)
    try:
        yield
    finally:
        for number in default:
            signal.signal(number, signal.SIG_DFL)


def _raise_interrupt(*_: object) -> None:
    raise UserInterrupt


def run_interruptible(workspace: Workspace, work: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run` for work that calls user code; raises UserInterrupt when the user interrupts it."""
    if current_thread() is not main_thread():
        return asyncio.run(work)
    before = {number: signal.getsignal(number) for number in (*SIGNALS, *TIMER_SIGNALS)}
    handlers: list[InterruptHandlers] = []

    async def watched() -> T:
        task = asyncio.current_task()
        assert task is not None
        seconds = workspace.settings.service.compute_seconds
        handlers.append(InterruptHandlers(asyncio.get_running_loop(), task, seconds))
        handlers[0].install()
        watching = asyncio.create_task(handlers[0].watch_loop())
        try:
            return await work
        finally:
            watching.cancel()

    try:
        return asyncio.run(watched())
    except asyncio.CancelledError:
        if handlers and handlers[0].interrupted:
            raise UserInterrupt from None
        raise
    finally:
        if TIMER_SIGNALS:
            signal.setitimer(signal.ITIMER_REAL, 0)
        if any(each.interrupted for each in handlers):
            # The program must end, whatever still runs in threads of it.
            last = Timer(LAST_SECONDS, _end_program)
            last.daemon = True
            last.start()
        for number, handler in before.items():
            signal.signal(number, handler)
