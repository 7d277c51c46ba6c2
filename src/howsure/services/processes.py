"""Processes: the limits of this one, and killing one together with everything that it has started."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

if sys.platform != "win32":
    import resource

MEGABYTE = 1024 * 1024


def limit_memory(megabytes: int) -> None:
    """Limit the memory of this process; 0: no limit. Code that needs more gets a MemoryError."""
    if sys.platform != "win32":
        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        allowed = megabytes * MEGABYTE if megabytes else most
        resource.setrlimit(resource.RLIMIT_DATA, (allowed if most < 0 else min(allowed, most), most))


def raise_file_limit(wanted: int = 65_536) -> int:
    """Raise the limit of open files as far as allowed, up to `wanted`; returns the limit."""
    if sys.platform == "win32":
        return wanted
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = max(now, wanted if most < 0 else min(wanted, most))
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))
    return allowed


def peak_memory_mb() -> float:
    """The most memory that this process has used so far."""
    return 0.0 if sys.platform == "win32" else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def end_process(process: Process, seconds: float, kill: Callable[[], None]) -> None:
    """Tell a process to stop, by closing its stdin; one that is still there after so many seconds is killed."""
    if process.stdin is not None:
        process.stdin.close()
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await process.wait()
    if process.returncode is None:
        kill()
        await process.wait()


def kill_tree(pid: int) -> None:
    """Kill a process and all its descendants. Programs in sessions of their own are found where the system lists
    processes (`/proc`)."""
    for each in (*descendants(pid), pid):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(each, signal.SIGKILL)


def descendants(pid: int) -> list[int]:
    """The children of a process, and theirs, oldest first."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parent = int(stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(stat.parent.name))
    found = list(children.get(pid, ()))
    for each in found:
        found += children.get(each, ())
    return found
