"""The settings of a command target, and how they become a program that can be started."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from shutil import which

from msgspec import Struct

from howsure.targets.blocks import Wrong, check_seconds, read_block
from howsure.targets.command.programs import Start
from howsure.targets.making import Wish
from howsure.targets.secrets import Secrets

ALWAYS = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "TZ", "VIRTUAL_ENV", "SYSTEMROOT")
"""What every program gets of the environment, also where `env` names what it gets."""
PYTHON = {"PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1"}
"""A Python program would otherwise keep its answers in a buffer, and wait while we wait."""
SECRET = re.compile(r"key|token|secret|passw|credential", re.IGNORECASE)


class Mode(Enum):
    """One process for each conversation, or one for the run."""

    CONVERSATION = "conversation"
    SERVER = "server"


class CommandBlock(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`env` names the variables that the program gets; without it, all."""

    command: str | list[str] = ""
    cwd: str = ""
    env: list[str] | None = None
    mode: Mode = Mode.CONVERSATION
    turn_seconds: float = 60.0
    stop_seconds: float = 5.0


class CommandPlan(Struct, frozen=True, kw_only=True):
    """All that a run needs to know."""

    start: Start
    mode: Mode
    turn_seconds: float
    stop_seconds: float
    secrets: Secrets


def plan_of(wish: Wish) -> CommandPlan:
    """The plan; `ConfigInvalid` with every wrong setting."""
    wrong = Wrong(wish)
    given = {name: value for name, value in wish.settings.items() if name != "kind"}
    block = read_block({**given, "command": wish.rest} if wish.rest else given, CommandBlock, wrong)
    check_seconds("turn_seconds", block.turn_seconds, wrong)
    check_seconds("stop_seconds", block.stop_seconds, wrong)
    folder = (wish.folder / block.cwd).resolve()
    if not folder.is_dir():
        wrong.add("cwd", f"there is no folder {block.cwd!r}")
    environ = _environ(block, wish.environ, wrong)
    words = _words(block, wrong)
    if words and folder.is_dir():
        words = [_program(words[0], folder, environ, wrong), *words[1:]]
    wrong.settle()
    return CommandPlan(
        start=Start(arguments=words, folder=folder, environ=environ),
        mode=block.mode,
        turn_seconds=block.turn_seconds,
        stop_seconds=block.stop_seconds,
        secrets=_secrets(block, wish.environ),
    )


def _words(block: CommandBlock, wrong: Wrong) -> list[str]:
    try:
        words = shlex.split(block.command) if isinstance(block.command, str) else list(block.command)
    except ValueError as error:
        wrong.add("command", f"cannot be read: {error}")
        return []
    if not words:
        wrong.add("command", "is needed: the program that answers, such as `python bot.py`")
    return words


def _program(word: str, folder: Path, environ: Mapping[str, str], wrong: Wrong) -> str:
    """The program itself: a file from the folder, or one found on the PATH."""
    if "/" not in word and os.sep not in word:
        found = which(word, path=environ.get("PATH", os.defpath))
        if found is None:
            hint = f" (there is a file of that name: write ./{word})" if (folder / word).is_file() else ""
            wrong.add("command", f"there is no program {word!r} on the PATH{hint}")
        return found or word
    path = folder / Path(word).expanduser()
    if not path.is_file():
        wrong.add("command", f"there is no file {word!r} in {folder.name or folder}")
    elif not os.access(path, os.X_OK):
        wrong.add("command", f"{word!r} may not be executed: `chmod +x {word}`, or write `python {word}`")
    return str(path)


def _environ(block: CommandBlock, environ: Mapping[str, str], wrong: Wrong) -> dict[str, str]:
    for name in block.env or ():
        if name not in environ:
            wrong.add("env", f"the environment variable {name} is not set")
    names = set(environ) if block.env is None else {*ALWAYS, *block.env}
    return {**PYTHON, **{name: value for name, value in environ.items() if name in names}}


def _secrets(block: CommandBlock, environ: Mapping[str, str]) -> Secrets:
    named = [name for name in environ if SECRET.search(name)] if block.env is None else block.env
    return Secrets(environ[name] for name in named if name in environ)
