"""The command target: a bot that is a program. It reads a JSON object a line from stdin and writes one for each to
stdout: `command:./bot.py --flag`, or `kind: command` in howsure.yaml.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from shutil import which
from typing import Any

import msgspec
from msgspec import Struct

from howsure.config import program_environment
from howsure.errors import TargetFailed, TargetTimedOut
from howsure.model.case import Case
from howsure.targets.answer_parts import UnreadableAnswer, describe_value
from howsure.targets.base import Closing, Reply, TargetRequest
from howsure.targets.bot_answers import BotAnswer, BotError, read_answer
from howsure.targets.command.programs import LineProgram, ProgramServer, ProgramStart, start_program
from howsure.targets.conversations import ConversationState
from howsure.targets.settings import Secrets, SettingProblems, check_seconds, request_block

SECRET = re.compile(r"key|token|secret|passw|credential", re.IGNORECASE)


class CommandMode(Enum):
    """One process for each conversation, or one for the run."""

    CONVERSATION = "conversation"
    SERVER = "server"


class CommandSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The block of a program."""

    command: str | list[str] = ""
    """The program and its arguments, as one text or a list; needed. There is no shell."""
    cwd: str = ""
    """The folder it starts in, seen from that of the settings."""
    env: list[str] = []
    """Environment variables it gets, by name or as `NAME=value`, beside `PATH`, `HOME`, `LANG` and the like."""
    mode: CommandMode = CommandMode.CONVERSATION
    """One process for each conversation, or one for the run."""
    turn_seconds: float = 60.0
    """How long an answer may take."""
    stop_seconds: float = 5.0
    """How long it may take to end when its input is closed."""


class CommandPlan(Struct, frozen=True, kw_only=True):
    """The settings of a target, ready for use."""

    settings: CommandSettings
    start: ProgramStart
    secrets: Secrets


def plan_command(request: TargetRequest) -> CommandPlan:
    """The plan; `ConfigInvalid` with every wrong setting."""
    problems = SettingProblems(request)
    block = request_block(request, "command", CommandSettings, problems)
    check_seconds("turn_seconds", block.turn_seconds, problems)
    check_seconds("stop_seconds", block.stop_seconds, problems)
    folder = (request.folder / block.cwd).resolve()
    if not folder.is_dir():
        problems.add("cwd", f"there is no folder {block.cwd!r}")
    environ = _listed_environment(block, request.environ, problems)
    words = _split_command(block, problems)
    if words and folder.is_dir():
        words = [_program(words[0], folder, environ, problems), *words[1:]]
    problems.raise_if_any()
    return CommandPlan(
        settings=block,
        start=ProgramStart(arguments=words, folder=folder, environ=environ),
        secrets=Secrets(request.environ[name] for name in block.env if name in request.environ),
    )


def _listed_environment(
    block: CommandSettings, environ: Mapping[str, str], problems: SettingProblems
) -> dict[str, str]:
    """The environment of the program: what every program gets, and what the settings list."""
    listed: dict[str, str] = {}
    for entry in block.env:
        name, equals, value = entry.partition("=")
        if equals and SECRET.search(name):
            problems.add("env", f"{name}: a secret may not stand in a file; put it into the environment, write {name}")
        elif not equals and name not in environ:
            problems.add("env", f"the environment variable {name} is not set")
        listed[name] = value if equals else environ.get(name, "")
    return {**program_environment(environ), **listed}


def _split_command(block: CommandSettings, problems: SettingProblems) -> list[str]:
    try:
        words = shlex.split(block.command) if isinstance(block.command, str) else list(block.command)
    except ValueError as error:
        problems.add("command", f"cannot be read: {error}")
        return []
    if not words:
        problems.add("command", "is needed: the program that answers, such as `python bot.py`")
    return words


def _program(word: str, folder: Path, environ: Mapping[str, str], problems: SettingProblems) -> str:
    """The path of the program: a file in the folder, or one on the PATH."""
    if "/" not in word and os.sep not in word:
        program = which(word, path=environ.get("PATH", os.defpath))
        if program is None:
            hint = f" (there is a file of that name: write ./{word})" if (folder / word).is_file() else ""
            problems.add("command", f"there is no program {word!r} on the PATH{hint}")
        return program or word
    path = folder / Path(word).expanduser()
    if not path.is_file():
        problems.add("command", f"there is no file {word!r} in {folder.name or folder}")
    elif not os.access(path, os.X_OK):
        problems.add("command", f"{word!r} may not be executed: `chmod +x {word}`, or write `python {word}`")
    return str(path)


CHECK_SECONDS = 0.5
QUOTED = 500


class CommandKind:
    """`kind: command`."""

    name = "command"
    settings = CommandSettings

    def make(self, request: TargetRequest) -> CommandTarget:
        return CommandTarget(plan_command(request), request)


class CommandTarget:
    """A program: one process for each conversation, or (`mode: server`) one for all."""

    takes_candidate = True

    def __init__(self, plan: CommandPlan, request: TargetRequest) -> None:
        self.name = request.name
        self._plan = plan
        self._request = request
        self._server: ProgramServer | None = None
        self._starting = asyncio.Lock()

    async def start(self) -> None:
        """Does nothing: a server starts with the first conversation."""

    async def stop(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            await server.stop(self._plan.settings.stop_seconds)

    async def open(self, case: Case) -> CommandSession:
        serves = self._plan.settings.mode is CommandMode.SERVER
        bot = await self._running_server() if serves else await start_program(self._plan.start)
        return CommandSession(self._plan, ConversationState(case, self._request), bot)

    async def _running_server(self) -> ProgramServer:
        """The server; a new one where the last has died."""
        async with self._starting:
            if self._server is not None and self._server.ended:
                await self._server.stop(0.1)
                self._server = None
            if self._server is None:
                self._server = ProgramServer(await start_program(self._plan.start))
            return self._server

    async def check(self) -> str:
        """Check that the program starts, and does not end by itself."""
        program = await start_program(self._plan.start)
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                line = await program.line()
            raise TargetFailed(f"{self._plan.start.shown} wrote before it was asked: {quoted(line)}")
        except TimeoutError:
            return f"{self._plan.start.shown} starts and waits for messages"
        finally:
            await program.stop(self._plan.settings.stop_seconds)


class CommandSession:
    """One conversation: with a `server` that has many at once, or in a process of its own, which is killed when a turn
    is broken off."""

    def __init__(self, plan: CommandPlan, conversation: ConversationState, bot: LineProgram | ProgramServer) -> None:
        self._plan = plan
        self._conversation = conversation
        self._server = bot if isinstance(bot, ProgramServer) else None
        self._program = bot.program if isinstance(bot, ProgramServer) else bot

    async def send(self, text: str) -> Reply:
        payload, done = self._conversation.next_turn(text), False
        del payload["messages"]
        clean = self._plan.secrets.clean
        try:
            async with asyncio.timeout(self._plan.settings.turn_seconds):
                line = await (self._server.ask(payload) if self._server else self._ask_program(payload))
            answer = read_line(line, self._plan)
            done = True
        except TimeoutError:
            waited = f"no answer in {self._plan.settings.turn_seconds:g} s (does it write a whole line, and flush it?)"
            message = f"{self._plan.start.shown}: {waited}{self._program.last_words()}"
            raise TargetTimedOut(clean(message)) from None
        except TargetFailed as failure:
            raise type(failure)(clean(str(failure))) from failure
        finally:
            if not done and self._server is None:
                self._program.kill()
        return self._conversation.record_turn(payload["message"], answer)

    async def _ask_program(self, payload: dict[str, Any]) -> bytes:
        if (line := self._program.unread) is not None:
            raise TargetFailed(
                f"{self._plan.start.shown} wrote a line that was not asked for: {quoted(line)};"
                " expected one line for each message, and notes on stderr"
            )
        self._program.write(msgspec.json.encode(payload))
        return await self._program.line()

    async def close(self) -> Closing:
        if self._server is None:
            await self._program.stop(self._plan.settings.stop_seconds)
        return self._conversation.closing()


def read_line(line: bytes, plan: CommandPlan) -> BotAnswer:
    """Read an answer from a line, which must be one JSON object."""
    line = plan.secrets.clean_bytes(line)
    who = plan.start.shown
    expected = 'expected one line of JSON such as {"answer": "…"}'
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise TargetFailed(f"{who}: {expected}; it wrote {quoted(line)} (notes belong on stderr)") from error
    if not isinstance(value, dict):
        raise TargetFailed(f"{who}: {expected}; it wrote {describe_value(value)}")
    try:
        return read_answer(value)
    except (UnreadableAnswer, BotError) as error:
        raise TargetFailed(f"{who}: {error}") from error


def quoted(line: bytes) -> str:
    text = line[: QUOTED * 4].decode("utf-8", "replace")
    return repr(text if len(text) <= QUOTED else f"{text[:QUOTED]}…")
