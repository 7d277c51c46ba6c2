"""`howsure run --watch`: a run whenever one of its files changes, each in a process of its own, so that code is loaded
anew. Where only data changed, what did not is taken over from the run before."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import click

from howsure.cli.exit_codes import CASES_ERRORED, DONE, GATE_FAILED, GATE_INCONCLUSIVE
from howsure.cli.output import say
from howsure.errors import ConfigInvalid, InputError
from howsure.services.run.watched_files import Snapshot, WatchedFiles
from howsure.services.trust import ALLOW

WATCH, CARRY = "--watch", "--carry-over"
POLL_SECONDS = 0.3
FINISHED_CODES = (DONE, CASES_ERRORED, GATE_FAILED, GATE_INCONCLUSIVE)
"""How a run ends whose results can be taken over."""


def watch_files(files: Callable[[], WatchedFiles]) -> int:
    """Until Ctrl-C. `files` tells what to look at; it is asked again after every change, for settings name files."""
    if WATCH not in sys.argv:
        raise ConfigInvalid(f"{WATCH} works from the command line only: the run is started again with the same words")
    now, carry = files(), False
    while True:
        seen = Snapshot(now.data | now.others)
        code = _run(carry=carry)
        say(f"watching {len(now.data | now.others):,} files; Ctrl-C ends")
        changed = _wait(seen)
        say(f"changed: {', '.join(sorted(path.name for path in changed))}")
        carry = changed <= now.data and code in FINISHED_CODES
        try:
            now = files()
        except InputError:  # settings in the middle of being written: the run will say what is wrong
            carry = False


def _run(*, carry: bool) -> int:
    """One run. It is in a group of its own, so that Ctrl-C reaches it once, through us."""
    words = [word for word in sys.argv[1:] if word != WATCH] + ([CARRY] if carry else [])
    # The files that change were trusted before they were watched, and the child has no terminal to ask at.
    environ = {**os.environ, ALLOW: "1"}
    command, group = [sys.executable, "-m", "howsure", *words], 0 if os.name == "posix" else None
    child = subprocess.Popen(command, env=environ, process_group=group)
    try:
        return child.wait()
    except KeyboardInterrupt:
        child.send_signal(signal.SIGINT)
        child.wait()
        raise


def _wait(seen: Snapshot) -> frozenset[Path]:
    """Until something has changed, and then until nothing more does."""
    before = seen.changed()
    while True:
        time.sleep(POLL_SECONDS)
        now = seen.changed()
        if now and now == before:
            return now
        before = now


def watch_options(command: Callable[..., object]) -> Callable[..., object]:
    shown = click.option(WATCH, "watched", is_flag=True, help="Run again whenever a file of the run changes.")
    return shown(click.option(CARRY, "carry", is_flag=True, hidden=True)(command))
