"""A loop on a thread of its own: what comes back, what is raised, and how it ends."""

from __future__ import annotations

import asyncio
import signal
import threading
import time

import pytest

from howsure.client.blocking_client import LoopThread
from howsure.errors import InputError


async def said(text: str) -> tuple[str, str]:
    return text, threading.current_thread().name


async def nothing() -> None:
    return None


def test_a_coroutine_is_waited_for_on_another_thread() -> None:
    thread = LoopThread()
    assert thread.run(said("hello")) == ("hello", "howsure-client")
    assert thread.run(said("again")) == ("again", "howsure-client")
    thread.finish(nothing())


def test_what_goes_wrong_is_raised_here() -> None:
    async def broken() -> None:
        raise ValueError("inside")

    thread = LoopThread()
    with pytest.raises(ValueError, match="inside"):
        thread.run(broken())
    assert thread.run(said("still there"))[0] == "still there"
    thread.finish(nothing())


def test_the_last_thing_is_done_and_then_nothing() -> None:
    done: list[str] = []

    async def last() -> None:
        done.append("last")

    thread = LoopThread()
    thread.run(nothing())
    thread.finish(last())
    assert done == ["last"]
    with pytest.raises(InputError, match="this client is closed"):
        thread.run(said("late"))
    # Once more does no harm.
    thread.finish(nothing())


def test_a_thread_that_never_began_does_nothing_at_its_end() -> None:
    before = threading.active_count()
    thread = LoopThread()
    thread.finish(nothing())
    assert threading.active_count() == before
    with pytest.raises(InputError):
        thread.run(nothing())


def test_many_at_once_share_one_loop() -> None:
    thread = LoopThread()
    found: list[int] = []

    async def waited(number: int) -> int:
        await asyncio.sleep(0.05)
        return number

    def ask(number: int) -> None:
        found.append(thread.run(waited(number)))

    asking = [threading.Thread(target=ask, args=(number,)) for number in range(10)]
    begun = time.monotonic()
    for each in asking:
        each.start()
    for each in asking:
        each.join(10)
    assert sorted(found) == list(range(10))
    # One after the other they would take ten times as long.
    assert time.monotonic() - begun < 0.45
    assert sum(each.name == "howsure-client" for each in threading.enumerate()) >= 1
    thread.finish(nothing())


class Interrupted(Exception):
    """As Ctrl-C would be."""


def test_whoever_stops_waiting_stops_what_is_waited_for() -> None:
    thread = LoopThread()
    stopped = threading.Event()

    async def forever() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()

    def interrupt(*_: object) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Interrupted):
            thread.run(forever())
    finally:
        signal.signal(signal.SIGALRM, before)
    assert stopped.wait(5)
    thread.finish(nothing())


def test_whoever_waits_while_it_is_closed_is_told() -> None:
    thread = LoopThread()
    began = threading.Event()
    told: list[str] = []

    async def forever() -> None:
        began.set()
        await asyncio.sleep(60)

    def wait() -> None:
        with pytest.raises(InputError) as raised:
            thread.run(forever())
        told.append(str(raised.value))

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    assert began.wait(5)
    thread.finish(nothing())
    waiting.join(5)
    assert told == ["this client is closed: make another"]
