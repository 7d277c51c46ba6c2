"""The function target: a bot that is Python code, called in this process. `function:module:callable`,
`function:path/to/file.py:callable`, or `kind: function` in howsure.yaml.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from msgspec import Struct, field

from howsure.errors import ConfigInvalid, TargetFailed
from howsure.model.case import Case
from howsure.model.transcript import Span, Transcript
from howsure.targets.answers.fields import found
from howsure.targets.base import Closing, Finished, Reply, Target
from howsure.targets.blocks import Wrong, check_seconds, read_block
from howsure.targets.conversations import Conversation
from howsure.targets.function.calls import Calling, calling
from howsure.targets.function.results import closing_of, outcome_of
from howsure.targets.loading import load_object
from howsure.targets.making import Wish

FORMS = "a function of text, a class with `send(text)`, or an object with `open(case)`"


class FunctionBlock(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`arguments` are given to the function by name, in every call."""

    function: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    turn_seconds: float = 60.0


class FunctionKind:
    """`kind: function`."""

    name = "function"

    def make(self, wish: Wish) -> Target:
        block = _block(wish)
        try:
            bot = load_object(block.function, wish.folder)
        except SystemExit as error:
            raise ConfigInvalid(f"{block.function}: it ended the program when it was imported ({error})") from error
        return target_of(bot, block, wish)


def _block(wish: Wish) -> FunctionBlock:
    wrong = Wrong(wish)
    given = {name: value for name, value in wish.settings.items() if name != "kind"}
    block = read_block({**given, "function": wish.rest} if wish.rest else given, FunctionBlock, wrong)
    if not block.function and "function" not in given:
        wrong.add("function", "is needed, such as `shop.bot:answer` or `bot.py:answer`")
    check_seconds("turn_seconds", block.turn_seconds, wrong)
    wrong.settle()
    return block


def target_of(bot: Any, block: FunctionBlock, wish: Wish) -> Target:
    """By what the object is: the three forms, and nothing else."""
    who = block.function
    if callable(getattr(bot, "open", None)):
        return OpeningTarget(_made(bot, block) if inspect.isclass(bot) else bot, block, wish)
    if not callable(bot):
        one = "; that is one object for all conversations: name its class, or a function that makes it"
        raise ConfigInvalid(f"{who}: expected {FORMS}; found {found(bot)}{one if hasattr(bot, 'send') else ''}")
    if inspect.isclass(bot) and not callable(getattr(bot, "send", None)):
        raise ConfigInvalid(f"{who}: expected {FORMS}; this class has neither `send` nor `open`")
    call = calling(bot, who, block.arguments, block.turn_seconds)
    return FunctionTarget(call, wish) if call.text else MakingTarget(call, wish)


def _made(bot: Callable[..., Any], block: FunctionBlock) -> Any:
    try:
        return bot(**block.arguments)
    except TypeError as error:
        raise ConfigInvalid(f"{block.function}: cannot be made: {error}; set `arguments`") from error


class FunctionTarget:
    """A function of text. It is told what was said before, where it wants to know."""

    def __init__(self, call: Calling, wish: Wish) -> None:
        self.name = wish.name
        self._call = call
        self._wish = wish

    async def open(self, case: Case) -> FunctionSession:
        return FunctionSession(Conversation(case, self._wish), self._call)

    async def check(self) -> str:
        takes = ", ".join(("text", *self._call.names))
        return f"{self._call.who} is there and takes {takes}"


class MakingTarget:
    """A class with `send`, or a function that makes such an object: one for each conversation."""

    def __init__(self, make: Calling, wish: Wish) -> None:
        self.name = wish.name
        self._make = make
        self._wish = wish

    async def open(self, case: Case) -> FunctionSession:
        conversation = Conversation(case, self._wish)
        made = await self._make(_values(conversation, ""))
        return _session(made, conversation, self._make)

    async def check(self) -> str:
        return f"{self._make.who} is there and makes a bot for each conversation"


class OpeningTarget:
    """An object with `open(case)`: a target of the user's own. What it holds is started and stopped with the run."""

    def __init__(self, bot: Any, block: FunctionBlock, wish: Wish) -> None:
        self.name = wish.name
        self._bot = bot
        self._block = block
        self._wish = wish
        self._open = self._calling("open", bot.open)

    def _calling(self, name: str, function: Callable[..., Any]) -> Calling:
        return calling(function, f"{self._block.function}.{name}", {}, self._block.turn_seconds)

    async def start(self) -> None:
        await self._asked("start")

    async def stop(self) -> None:
        await self._asked("stop")

    async def check(self) -> str:
        told = await self._asked("check")
        return told if isinstance(told, str) else f"{self._block.function} is there"

    async def _asked(self, name: str) -> Any:
        function = getattr(self._bot, name, None)
        return await self._calling(name, function)({}) if callable(function) else None

    async def open(self, case: Case) -> FunctionSession | Finished:
        conversation = Conversation(case, self._wish)
        # `open(case)` whatever its parameter is called.
        made = await self._open({**_values(conversation, ""), "message": case})
        match made:
            case Finished():
                return made
            case Transcript():
                return Finished(made)
            case _:
                return _session(made, conversation, self._open)


def _session(bot: Any, conversation: Conversation, maker: Calling) -> FunctionSession:
    if not callable(getattr(bot, "send", None)):
        raise TargetFailed(f"{maker.who}: expected an object with `send(text)`; it returned {found(bot)}")
    send = calling(bot.send, f"{maker.who}.send", {}, maker.seconds)
    close = getattr(bot, "close", None)
    closer = calling(close, f"{maker.who}.close", {}, maker.seconds) if callable(close) else None
    return FunctionSession(conversation, send, closer)


def _values(conversation: Conversation, text: str) -> dict[str, Any]:
    return {**conversation.values(text), "case": conversation.case}


class FunctionSession:
    """One conversation with Python code."""

    def __init__(self, conversation: Conversation, send: Calling, close: Calling | None = None) -> None:
        self._conversation = conversation
        self._send = send
        self._close = close
        self._spans: tuple[Span, ...] | None = None

    async def send(self, text: str) -> Reply:
        self._conversation.turn += 1
        value = await self._send(_values(self._conversation, text))
        outcome = outcome_of(value, self._send.who)
        self._conversation.heard(text, outcome.answered)
        if outcome.spans is not None:
            self._spans = (*(self._spans or ()), *outcome.spans)
        return outcome.answered.reply

    async def close(self) -> Closing:
        known = Closing(state=self._conversation.told, spans=self._spans)
        if self._close is None:
            return known
        return closing_of(await self._close(_values(self._conversation, "")), known, self._close.who)
