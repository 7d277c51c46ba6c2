"""Howsure run by somebody who is not root, while root runs the tests. The interpreter or the checkout may be in a
folder that only root may enter: the stranger is then shown what it needs of it, in a mount namespace of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
STRANGER = "10001"
"""Somebody who is not root: to root nothing is closed."""

# In a closed folder, show the needed folders at their places and nothing else of what is around them.
SHOW = """
set -eu
umask 022
mount --make-rprivate /
if [ -n "$CLOSED" ]; then
    mapfile -t closed <<< "$CLOSED"
    mapfile -t needed <<< "$NEEDED"
    mount -t tmpfs -o mode=755 tmpfs "$SHELF"
    for i in "${!needed[@]}"; do mkdir "$SHELF/$i"; mount --bind "${needed[i]}" "$SHELF/$i"; done
    for folder in "${closed[@]}"; do mount -t tmpfs -o mode=755 tmpfs "$folder"; done
    for i in "${!needed[@]}"; do mkdir -p "${needed[i]}"; mount --bind "$SHELF/$i" "${needed[i]}"; done
    for folder in "${closed[@]}"; do mount -o remount,bind,ro "$folder"; done
fi
"""


def closed_to_others(path: Path) -> str:
    """The outermost folder on the way to `path` that only its owner may enter, or ""."""
    blocked = [str(folder) for folder in reversed(path.parents) if not folder.stat().st_mode & 0o001]
    return blocked[0] if blocked else ""


def closed_folders() -> dict[str, str]:
    """What `SHOW` reads from the environment, beside SHELF (an empty folder that everybody may enter)."""
    places = [Path(place).resolve() for place in (sys.base_prefix, sys.prefix, ROOT)]
    needed = [place for place in dict.fromkeys(places) if closed_to_others(place)]
    closed = dict.fromkeys(closed_to_others(place) for place in needed)
    return {"NEEDED": "\n".join(map(str, needed)), "CLOSED": "\n".join(closed)}


@cache
def can_mount() -> bool:
    """Whether a mount namespace can be made here."""
    if os.name != "posix" or os.geteuid() != 0 or not all(map(shutil.which, ("unshare", "setpriv", "mount"))):
        return False
    trying = ["unshare", "--mount", "bash", "-c", "mount --make-rprivate / && mount -o remount,bind,ro /"]
    return subprocess.run(trying, capture_output=True, timeout=120, check=False).returncode == 0


def python_as_stranger(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run Python as the stranger, or as whoever runs the tests if that is not root."""
    environ = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, *words]
    with TemporaryDirectory() as shelf:
        if os.geteuid() == 0:
            command = ["setpriv", "--reuid", STRANGER, "--regid", STRANGER, "--clear-groups", *command]
            if (folders := closed_folders())["CLOSED"]:
                Path(shelf).chmod(0o755)
                environ |= {**folders, "SHELF": shelf}
                command = ["unshare", "--mount", "bash", "-c", SHOW + 'exec "$@"', "bash", *command]
        elif not os.access(cwd, os.X_OK):
            # Nobody but root can go into a closed folder: it is closed again by whoever is in it.
            cwd.chmod(0o700)
            command = ["sh", "-c", 'chmod 000 . && exec "$@"', "sh", *command]
        return subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True, timeout=240, check=False)


@cache
def why_no_stranger() -> str:
    """Why nobody but root can start Howsure here, or ""."""
    if os.geteuid() != 0:
        return ""
    if shutil.which("setpriv") is None:
        return "root cannot become anybody else here: there is no setpriv"
    if (closed := closed_folders()["CLOSED"]) and not can_mount():
        return f"nobody but root can start Howsure here: {closed.splitlines()[0]} is closed to others"
    done = python_as_stranger("-c", "import howsure.main", cwd=Path("/"))
    return f"nobody but root can start Howsure here: {done.stderr.strip()[-200:]}" if done.returncode else ""
