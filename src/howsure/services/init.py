"""`howsure init`: the first files of a new user (settings, a small agent, two small datasets), copied from the folder
`starter`."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from msgspec import Struct

from howsure.errors import ConfigInvalid, Conflict

TARGET = "agent"
"""The name of the agent in the settings."""
TEST_SET = "evaluation/datasets/first_test_set.json"
GOLDEN = "evaluation/datasets/support_golden.json"
FILES = ("howsure.yaml", "support_agent.py", TEST_SET, GOLDEN)


class StarterFiles(Struct, frozen=True, kw_only=True):
    """The files that were written to a folder; `unchanged` ones were there already, byte for byte."""

    folder: str
    written: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()


def starter_folder() -> Path:
    return Path(str(files("howsure") / "starter"))


def write_starter_files(folder: Path, *, force: bool = False) -> StarterFiles:
    """Write the files. If that would overwrite a different file, nothing is written, unless `force` is set."""
    try:
        there = [name for name in FILES if (folder / name).is_file()]
        same = tuple(name for name in there if (folder / name).read_bytes() == (starter_folder() / name).read_bytes())
        others = [name for name in FILES if name not in same]
        if not force and (lost := [name for name in others if (folder / name).exists()]):
            raise Conflict(f"{folder} has {', '.join(lost)} already; nothing was written (--force overwrites)")
        for name in others:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes((starter_folder() / name).read_bytes())
    except OSError as error:
        raise ConfigInvalid(f"{error.filename}: cannot be written: {error.strerror}") from error
    return StarterFiles(folder=str(folder), written=tuple(others), unchanged=same)
