"""The command target: a bot that is a program. It reads a JSON object a line from stdin and writes one for each to
stdout: `command:./bot.py --flag`, or `kind: command` in howsure.yaml.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from howsure.errors import TargetFailed, TargetTimedOut
from howsure.model.case import Case
from howsure.targets.answers.fields import Unreadable, found
from howsure.targets.answers.reading import Answered, BotError, answered
from howsure.targets.base import Closing, Reply
from howsure.targets.command.programs import Program, started
from howsure.targets.command.server import Server
from howsure.targets.command.settings import CommandPlan, Mode, plan_of
from howsure.targets.conversations import Conversation
from howsure.targets.making import Wish

CHECK_SECONDS = 0.5
QUOTED = 500


class CommandKind:
    """`kind: command`."""

    name = "command"

    def make(self, wish: Wish) -> CommandTarget:
        return CommandTarget(plan_of(wish), wish)


class CommandTarget:
    """A program: one process for each conversation, or (`mode: server`) one for all."""

    def __init__(self, plan: CommandPlan, wish: Wish) -> None:
        self.name = wish.name
        self._plan = plan
        self._wish = wish
        self._server: Server | None = None
        self._starting = asyncio.Lock()

    async def start(self) -> None:
        """Nothing yet: a server starts with the first conversation."""

    async def stop(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            await server.stop(self._plan.stop_seconds)

    async def open(self, case: Case) -> CommandSession | ServedSession:
        conversation = Conversation(case, self._wish)
        if self._plan.mode is Mode.SERVER:
            return ServedSession(self._plan, await self._serving(), conversation)
        return CommandSession(self._plan, await started(self._plan.start), conversation)

    async def _serving(self) -> Server:
        """The server; a new one in the place of one that died."""
        async with self._starting:
            if self._server is not None and self._server.ended:
                await self._server.stop(0.1)
                self._server = None
            if self._server is None:
                self._server = Server(await started(self._plan.start))
            return self._server

    async def check(self) -> str:
        """It starts, and does not end by itself."""
        program = await started(self._plan.start)
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                line = await program.line()
            raise TargetFailed(f"{self._plan.start.shown} wrote before it was asked: {quoted(line)}")
        except TimeoutError:
            return f"{self._plan.start.shown} starts and waits for messages"
        finally:
            await program.stop(self._plan.stop_seconds)


class CommandSession:
    """One conversation, one process. It is killed when a turn is broken off, so that nothing is left behind."""

    def __init__(self, plan: CommandPlan, program: Program, conversation: Conversation) -> None:
        self._plan = plan
        self._program = program
        self._conversation = conversation

    async def send(self, text: str) -> Reply:
        self._conversation.turn += 1
        done = False
        try:
            answer = read_line(await self._asked(text), self._plan)
            done = True
        except TargetFailed as failure:
            raise type(failure)(self._plan.secrets.clean(str(failure))) from failure
        finally:
            if not done:
                self._program.kill()
        self._conversation.heard(text, answer)
        return answer.reply

    async def _asked(self, text: str) -> bytes:
        if (line := self._program.unread) is not None:
            raise TargetFailed(
                f"{self._plan.start.shown} wrote a line that nobody asked for: {quoted(line)};"
                " expected one line for each message, and notes on stderr"
            )
        self._program.write(msgspec.json.encode(sent(self._conversation, text)))
        try:
            async with asyncio.timeout(self._plan.turn_seconds):
                return await self._program.line()
        except TimeoutError:
            raise TargetTimedOut(silent(self._plan, self._program)) from None

    async def close(self) -> Closing:
        await self._program.stop(self._plan.stop_seconds)
        return self._conversation.closing()


class ServedSession:
    """One conversation with a program that serves many at once."""

    def __init__(self, plan: CommandPlan, server: Server, conversation: Conversation) -> None:
        self._plan = plan
        self._server = server
        self._conversation = conversation

    async def send(self, text: str) -> Reply:
        self._conversation.turn += 1
        try:
            async with asyncio.timeout(self._plan.turn_seconds):
                line = await self._server.ask(sent(self._conversation, text))
            answer = read_line(line, self._plan)
        except TimeoutError:
            message = silent(self._plan, self._server.program)
            raise TargetTimedOut(self._plan.secrets.clean(message)) from None
        except TargetFailed as failure:
            raise type(failure)(self._plan.secrets.clean(str(failure))) from failure
        self._conversation.heard(text, answer)
        return answer.reply

    async def close(self) -> Closing:
        return self._conversation.closing()


def sent(conversation: Conversation, text: str) -> dict[str, Any]:
    """What the program is told with each message."""
    values = conversation.values(text)
    del values["messages"]
    return values


def read_line(line: bytes, plan: CommandPlan) -> Answered:
    """The answer in a line: a JSON object, and nothing else."""
    line = plan.secrets.clean_bytes(line)
    who = plan.start.shown
    expected = 'expected one line of JSON such as {"answer": "…"}'
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise TargetFailed(f"{who}: {expected}; it wrote {quoted(line)} (notes belong on stderr)") from error
    if not isinstance(value, dict):
        raise TargetFailed(f"{who}: {expected}; it wrote {found(value)}")
    try:
        return answered(value)
    except (Unreadable, BotError) as error:
        raise TargetFailed(f"{who}: {error}") from error


def silent(plan: CommandPlan, program: Program) -> str:
    hint = "does it write a whole line, and flush it?"
    return f"{plan.start.shown}: no answer in {plan.turn_seconds:g} s ({hint}){program.last_words()}"


def quoted(line: bytes) -> str:
    text = line[: QUOTED * 4].decode("utf-8", "replace")
    return repr(text if len(text) <= QUOTED else f"{text[:QUOTED]}…")
