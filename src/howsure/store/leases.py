"""The lease that marks which process is executing a run: claimed before the first attempt, renewed by a heartbeat, and
stale when the process was killed. It is the columns `owner` and `heartbeat_at` of the run. The queue of runs that wait
for a worker is in `queue.py`."""

from __future__ import annotations

import os
import socket
from datetime import datetime, timedelta
from pathlib import Path

from sqlalchemy import Connection, select, update

from howsure.errors import Conflict, NotFound
from howsure.model.run import RunState
from howsure.store.schema import runs

LEASE = timedelta(seconds=60)
"""How long a heartbeat counts where the owner's process cannot be seen from here."""


def claim_lease(connection: Connection, run_id: str, owner: str, now: datetime) -> None:
    """Take the lease; Conflict while another process holds it."""
    found = connection.execute(select(runs.c.owner, runs.c.heartbeat_at).where(runs.c.id == run_id)).first()
    if found is None:
        raise NotFound(f"there is no run {run_id}")
    if found.owner != owner and lease_is_held(found.owner, found.heartbeat_at, now):
        raise Conflict(f"run {run_id} is being run by another process ({found.owner}); wait for it, or stop it")
    same = runs.c.owner.is_not_distinct_from(found.owner)
    claim = update(runs).where(runs.c.id == run_id, same).values(owner=owner, heartbeat_at=now)
    if not connection.execute(claim).rowcount:
        raise Conflict(f"run {run_id} was taken by another process just now")


def renew_lease(connection: Connection, run_id: str, now: datetime, owner: str | None = None) -> bool:
    """Move the heartbeat on; False: there is no such run, or it is not this owner's (None: any owner)."""
    own = [] if owner is None else [runs.c.owner == owner]
    return bool(connection.execute(update(runs).where(runs.c.id == run_id, *own).values(heartbeat_at=now)).rowcount)


def this_owner(token: str) -> str:
    """The owner text of this process: machine, process id, its start, and a token that tells two owners in it apart."""
    pid = os.getpid()
    return "/".join((machine_id(), str(pid), _started(pid), token.replace("/", "-")))


def owner_is_alive(owner: str) -> bool | None:
    """Whether the owner's process is still there; None when that cannot be seen from here."""
    parts = owner.rsplit("/", 3)
    if len(parts) != 4 or parts[0] != machine_id() or not parts[1].isdecimal() or os.name != "posix":
        return None
    if not _exists(int(parts[1])):
        return False
    started = _started(int(parts[1]))
    return started == parts[2] if started and parts[2] else None


def lease_is_held(owner: str | None, heartbeat_at: datetime | None, now: datetime) -> bool:
    """Whether the owner is alive, or sent a heartbeat lately where that cannot be seen."""
    if owner is None:
        return False
    seen = owner_is_alive(owner)
    if seen is not None:
        return seen
    return heartbeat_at is not None and now - heartbeat_at <= LEASE


def lease_is_stale(state: RunState, owner: str | None, heartbeat_at: datetime | None, now: datetime) -> bool:
    """Whether a run says `running` although its process was killed."""
    if state is not RunState.RUNNING or lease_is_held(owner, heartbeat_at, now):
        return False
    # A run that was never claimed has only its heartbeat to go by.
    return owner is not None or heartbeat_at is None or now - heartbeat_at > LEASE


def machine_id() -> str:
    """Process ids mean something only on the same machine and in the same namespace. Containers share host names, and
    the first namespace has the same number everywhere, so the id of the boot tells machines apart."""
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
    # The process's name, in brackets, may contain spaces; the start is the 20th field after it.
    fields = stat.rpartition(")")[2].split()
    # A zombie has ended; only its parent has not collected it yet.
    return "" if len(fields) < 20 else ("ended" if fields[0] == "Z" else fields[19])
