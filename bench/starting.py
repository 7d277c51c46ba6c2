"""How long `howsure --help` takes, beside an empty Python program: CPU time of child processes, best of many."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

ROUNDS = 15


def cpu(command: list[str]) -> float:
    """CPU seconds of one run of the command, .pyc files present."""
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=environ, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    empty = [sys.executable, "-c", "pass"]
    program = [os.path.join(os.path.dirname(sys.executable), "howsure"), "--help"]
    for command in (empty, program):
        cpu(command)
    nothing = min(cpu(empty) for _ in range(ROUNDS))
    starting = min(cpu(program) for _ in range(ROUNDS))
    ratio = starting / nothing
    print(f"python -c pass {1000 * nothing:.1f} ms, howsure --help {1000 * starting:.1f} ms: {ratio:.1f} x (limit 15)")
