"""Who is running a run. An owner is written beside it with a heartbeat, so that two processes do not run it at once
and a run whose process was killed can be told from one that is still going. Pure but for one look at the process table.
"""

from __future__ import annotations

import os
import socket
from datetime import datetime, timedelta
from pathlib import Path

from howsure.model.run import RunState

LEASE = timedelta(seconds=60)
"""How long a heartbeat holds where we cannot see the owner's process."""


def this_process(token: str) -> str:
    """The owner text of this process: machine, process id, its start, and a token that tells two owners in it apart."""
    pid = os.getpid()
    return "/".join((machine(), str(pid), _started(pid), token.replace("/", "-")))


def alive(owner: str) -> bool | None:
    """Whether the owner's process is still there; None when that cannot be seen from here."""
    parts = owner.rsplit("/", 3)
    if len(parts) != 4 or parts[0] != machine() or not parts[1].isdecimal() or os.name != "posix":
        return None
    if not _exists(int(parts[1])):
        return False
    started = _started(int(parts[1]))
    return started == parts[2] if started and parts[2] else None


def held(owner: str | None, heartbeat_at: datetime | None, now: datetime) -> bool:
    """Whether somebody holds the lease: seen alive, or heard from lately where it cannot be seen."""
    if owner is None:
        return False
    seen = alive(owner)
    if seen is not None:
        return seen
    return heartbeat_at is not None and now - heartbeat_at <= LEASE


def stale(state: RunState, owner: str | None, heartbeat_at: datetime | None, now: datetime) -> bool:
    """Whether a run says `running` though nobody runs it: its process was killed."""
    if state is not RunState.RUNNING or held(owner, heartbeat_at, now):
        return False
    # A run that was never claimed has only its heartbeat to go by.
    return owner is not None or heartbeat_at is None or now - heartbeat_at > LEASE


def machine() -> str:
    """Process ids mean something only on the same machine and in the same namespace. Containers share host names, and
    the first namespace has the same number everywhere: the boot's own id tells machines apart."""
    try:
        namespace = os.readlink("/proc/self/ns/pid")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        namespace = boot = ""
    return f"{socket.gethostname()}/{boot}/{namespace}"


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _started(pid: int) -> str:
    """When the process started, in ticks since boot, so that a reused process id is not taken for its predecessor."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # The process's name, in brackets, may hold spaces; the start is the 20th field after it.
    fields = stat.rpartition(")")[2].split()
    # A zombie has ended: only its parent has not asked how.
    return "" if len(fields) < 20 else ("ended" if fields[0] == "Z" else fields[19])
