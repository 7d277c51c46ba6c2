"""The first files of someone who starts: settings, an agent to begin with, two small datasets. They are kept as they
are written, in the folder `starter`."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from msgspec import Struct

from howsure.errors import ConfigInvalid, Conflict

TARGET = "agent"
"""The name under which the settings know the agent."""
TEST_SET = "evaluation/datasets/first_test_set.json"
GOLDEN = "evaluation/datasets/support_golden.json"
FILES = ("howsure.yaml", "support_agent.py", TEST_SET, GOLDEN)


class Begun(Struct, frozen=True, kw_only=True):
    """What was done in a folder; `unchanged` files were there already, word for word."""

    folder: str
    written: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()


def source() -> Path:
    return Path(str(files("howsure") / "starter"))


def begin(folder: Path, *, force: bool = False) -> Begun:
    """Write the files. Where one would be lost, nothing is written, unless `force` says so."""
    try:
        same = tuple(name for name in FILES if _is_same(name, folder))
        others = [name for name in FILES if name not in same]
        if not force and (lost := [name for name in others if (folder / name).exists()]):
            raise Conflict(f"{folder} has {', '.join(lost)} already; nothing was written (--force overwrites)")
        for name in others:
            _write(name, folder)
    except OSError as error:
        raise ConfigInvalid(f"{error.filename}: cannot be written: {error.strerror}") from error
    return Begun(folder=str(folder), written=tuple(others), unchanged=same)


def _is_same(name: str, folder: Path) -> bool:
    path = folder / name
    return path.is_file() and path.read_bytes() == (source() / name).read_bytes()


def _write(name: str, folder: Path) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes((source() / name).read_bytes())
