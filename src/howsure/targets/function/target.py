"""The function target: a bot that is Python code, called in this process. `function:module:callable`,
`function:path/to/file.py:callable`, or `kind: function` in howsure.yaml.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import UNSET, Struct, field

from howsure.errors import ConfigInvalid, TargetFailed
from howsure.model.case import Case
from howsure.model.transcript import AgentStep, Message, Role, Span, Step, ToolCall, Transcript
from howsure.targets.answer_parts import UnreadableAnswer, after_last_user, describe_value
from howsure.targets.base import Closing, FinishedSession, Reply, Target, TargetRequest
from howsure.targets.bot_answers import BotAnswer, BotError, read_answer, state_of
from howsure.targets.conversations import ConversationState
from howsure.targets.function.calls import BoundFunction, bind_function
from howsure.targets.objects import load_object
from howsure.targets.settings import SettingProblems, check_seconds, request_block

EXPECTED = "text, an object with `answer`, a Reply or a Transcript"


def answer_of(value: Any, who: str) -> BotAnswer:
    """The answer in what the function returned: text, an object with an answer, a Reply, or a whole Transcript.
    `TargetFailed` for anything else."""
    match value:
        case Reply():
            return BotAnswer(reply=value)
        case Transcript():
            return _transcript_answer(value)
        case FinishedSession(transcript=transcript):
            return _transcript_answer(transcript)
        case Message():
            return BotAnswer(reply=Reply(messages=(value,)))
        case str() | Mapping():
            try:
                return read_answer(value)
            except (UnreadableAnswer, BotError) as error:
                raise TargetFailed(f"{who}: {error}") from error
        case _:
            raise TargetFailed(f"{who}: expected {EXPECTED}; it returned {describe_value(value)}")


def closing_of(value: Any, known: Closing, who: str) -> Closing:
    """The closing that `close` returned; what it does not say comes from the turns."""
    match value:
        case None:
            return known
        case Closing(state=state, spans=spans):
            return Closing(state=known.state if state is None else state, spans=known.spans if spans is None else spans)
        case Mapping() if set(value) != {"state"}:
            keys = ", ".join(map(str, value))
            raise TargetFailed(f"{who}: expected an object with `state` alone, found the keys {keys}")
        case Mapping():
            try:
                return Closing(state=state_of(value["state"]), spans=known.spans)
            except UnreadableAnswer as error:
                raise TargetFailed(f"{who}: {error}") from error
        case _:
            raise TargetFailed(
                f"{who}: expected a Closing, an object with `state`, or nothing; found {describe_value(value)}"
            )


def _transcript_answer(transcript: Transcript) -> BotAnswer:
    """A Transcript as one turn: the messages after the last user message, state, spans and usage."""
    messages = list(after_last_user(transcript.messages) or _step_messages(transcript.steps))
    last = messages[-1] if messages else None
    if last is None or (transcript.answer and (last.content != transcript.answer or last.tool_calls)):
        messages.append(Message(role=Role.ASSISTANT, content=transcript.answer))
    duration = UNSET if transcript.duration_ms is None else transcript.duration_ms
    reply = Reply(messages=tuple(messages), usage=transcript.usage, duration_ms=duration)
    return BotAnswer(reply=reply, state=transcript.state, spans=transcript.spans)


def _step_messages(steps: tuple[Step, ...]) -> list[Message]:
    """Steps as messages of the same agents and tools."""
    messages: list[Message] = []
    agent = ""
    for step in steps:
        if isinstance(step, AgentStep):
            agent = step.name
            messages.append(Message(role=Role.ASSISTANT, agent=agent))
        else:
            messages.append(Message(role=Role.ASSISTANT, agent=agent, tool_calls=(ToolCall(name=step.name),)))
    return messages


FORMS = "a function of text, a class with `send(text)`, or an object with `open(case)`"


class FunctionSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The block of a Python function, class or object."""

    function: str = ""
    """`module:name` or `path/file.py:name`; needed."""
    arguments: dict[str, Any] = field(default_factory=dict)
    """Given to it by name, in every call."""
    turn_seconds: float = 60.0
    """How long an answer may take."""


class FunctionKind:
    """`kind: function`."""

    name = "function"
    settings = FunctionSettings

    def make(self, request: TargetRequest) -> Target:
        problems = SettingProblems(request)
        block = request_block(request, "function", FunctionSettings, problems)
        if not block.function and "function" not in request.settings:
            problems.add("function", "is needed, such as `shop.bot:answer` or `bot.py:answer`")
        check_seconds("turn_seconds", block.turn_seconds, problems)
        problems.raise_if_any()
        try:
            bot = load_object(block.function, request.folder)
        except SystemExit as error:
            raise ConfigInvalid(f"{block.function}: it ended the program when it was imported ({error})") from error
        return choose_target(bot, block, request)


def choose_target(bot: Any, block: FunctionSettings, request: TargetRequest) -> Target:
    """The target for one of the three forms; `ConfigInvalid` for anything else."""
    who = block.function
    if callable(getattr(bot, "open", None)):
        if inspect.isclass(bot):
            try:
                bot = bot(**block.arguments)
            except TypeError as error:
                raise ConfigInvalid(f"{who}: cannot be made: {error}; set `arguments`") from error
        return ObjectTarget(bot, block, request)
    if not callable(bot):
        one = "; that is one object for all conversations: name its class, or a function that makes it"
        raise ConfigInvalid(
            f"{who}: expected {FORMS}; found {describe_value(bot)}{one if hasattr(bot, 'send') else ''}"
        )
    if inspect.isclass(bot) and not callable(getattr(bot, "send", None)):
        raise ConfigInvalid(f"{who}: expected {FORMS}; this class has neither `send` nor `open`")
    return FunctionTarget(bind_function(bot, who, block.arguments, block.turn_seconds), request)


class FunctionTarget:
    """A function of text, which gets the earlier messages where it has a parameter for them. Or a class with `send`, or
    a function that makes such an object: one for each conversation."""

    def __init__(self, call: BoundFunction, request: TargetRequest) -> None:
        self.name = request.name
        self.takes_candidate = call.takes_candidate
        self._call = call
        self._request = request

    async def open(self, case: Case) -> FunctionSession:
        conversation = ConversationState(case, self._request)
        if self._call.text:
            return FunctionSession(conversation, self._call)
        return _session(await self._call(_values(conversation)), conversation, self._call)

    async def check(self) -> str:
        takes = ", ".join(("text", *self._call.names))
        does = f"takes {takes}" if self._call.text else "makes a bot for each conversation"
        return f"{self._call.who} is there and {does}"


class ObjectTarget:
    """An object with `open(case)`: a target of the user's own, started and stopped with the run."""

    def __init__(self, bot: Any, block: FunctionSettings, request: TargetRequest) -> None:
        self.name = request.name
        self._bot = bot
        self._block = block
        self._request = request
        self._open = self._calling("open", bot.open)
        self.takes_candidate = self._open.takes_candidate

    def _calling(self, name: str, function: Callable[..., Any]) -> BoundFunction:
        return bind_function(function, f"{self._block.function}.{name}", {}, self._block.turn_seconds)

    async def start(self) -> None:
        await self._call_optional("start")

    async def stop(self) -> None:
        await self._call_optional("stop")

    async def check(self) -> str:
        result = await self._call_optional("check")
        return result if isinstance(result, str) else f"{self._block.function} is there"

    async def _call_optional(self, name: str) -> Any:
        function = getattr(self._bot, name, None)
        return await self._calling(name, function)({}) if callable(function) else None

    async def open(self, case: Case) -> FunctionSession | FinishedSession:
        conversation = ConversationState(case, self._request)
        # The case is passed by position, whatever the parameter is called.
        made = await self._open({**_values(conversation), "message": case})
        match made:
            case FinishedSession():
                return made
            case Transcript():
                return FinishedSession(made)
            case _:
                return _session(made, conversation, self._open)


def _session(bot: Any, conversation: ConversationState, maker: BoundFunction) -> FunctionSession:
    if not callable(getattr(bot, "send", None)):
        raise TargetFailed(f"{maker.who}: expected an object with `send(text)`; it returned {describe_value(bot)}")
    send = bind_function(bot.send, f"{maker.who}.send", {}, maker.seconds)
    close = getattr(bot, "close", None)
    closer = bind_function(close, f"{maker.who}.close", {}, maker.seconds) if callable(close) else None
    return FunctionSession(conversation, send, closer)


def _values(conversation: ConversationState) -> dict[str, Any]:
    """What a bot may take where nothing is said: when it is made, and when it is closed."""
    return {**conversation.values(), "message": "", "case": conversation.case}


class FunctionSession:
    """One conversation with Python code."""

    def __init__(
        self, conversation: ConversationState, send: BoundFunction, close: BoundFunction | None = None
    ) -> None:
        self._conversation = conversation
        self._send = send
        self._close = close
        self._spans: tuple[Span, ...] | None = None

    async def send(self, text: str) -> Reply:
        values = {**self._conversation.next_turn(text), "case": self._conversation.case}
        answer = answer_of(await self._send(values), self._send.who)
        if answer.spans is not None:
            self._spans = (*(self._spans or ()), *answer.spans)
        return self._conversation.record_turn(values["message"], answer)

    async def close(self) -> Closing:
        known = Closing(state=self._conversation.reported_state, spans=self._spans)
        if self._close is None:
            return known
        return closing_of(await self._close(_values(self._conversation)), known, self._close.who)
