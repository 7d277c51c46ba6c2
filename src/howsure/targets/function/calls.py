"""Calls of a user's function, sync or async, with a time limit. Its signature decides once what it is given. A blocking
function runs in a thread of its own: one that hangs must not keep the program from ending, as the loop's pool would."""

from __future__ import annotations

import asyncio
import inspect
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

from msgspec import Struct

from howsure.errors import CaseFailure, ConfigInvalid, TargetFailed, boundary
from howsure.targets.turns import run_limited

T = TypeVar("T")
THREAD_NAME = "howsure "
"""How the names of the threads of blocking functions begin."""


async def in_thread(work: Callable[[], T], who: str) -> T:
    """The result of `work`; its errors are attributed to `who`. When cancelled, the thread is left running."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        try:
            with boundary(TargetFailed, who):
                value = work()
            set_future = partial(future.set_result, value)
        except CaseFailure as failure:
            set_future = partial(future.set_exception, failure)
        with suppress(RuntimeError):  # the loop may be closed by now
            loop.call_soon_threadsafe(lambda: None if future.done() else set_future())

    Thread(target=copy_context().run, args=(run,), daemon=True, name=f"{THREAD_NAME}{who}").start()
    return await future


PROMPT = "prompt"
"""The user's words alone. A first parameter of that name is the text, as everywhere."""
KNOWN = ("case", "session_id", "history", "state", "turn", "candidate", "context", "choices", "documents", PROMPT)
"""The parameters that a function may have beside the text."""
TEXT = "message"

_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class BoundFunction(Struct, frozen=True, kw_only=True):
    """A function and what it is given: the text first, where it takes one, and the rest by name."""

    function: Callable[..., Any]
    who: str
    text: bool
    names: tuple[str, ...] = ()
    fixed: Mapping[str, Any] = {}
    seconds: float = 60.0

    @property
    def takes_candidate(self) -> bool:
        return "candidate" in self.names

    async def __call__(self, values: Mapping[str, Any]) -> Any:
        """Call it; any error becomes a `TargetFailed` that names it."""
        text = [values[TEXT]] if self.text else []
        named = {**self.fixed, **{name: values[name] for name in self.names}}
        return await run_limited(self._call(partial(self.function, *text, **named)), self.seconds, self.who)

    async def _call(self, work: Callable[[], Any]) -> Any:
        try:
            with boundary(TargetFailed, self.who):
                value = work() if is_async(self.function) else await in_thread(work, self.who)
                while inspect.isawaitable(value):
                    value = await value
                return value
        except CaseFailure as failure:
            raise add_source_line(failure) from failure.__cause__


def add_source_line(failure: CaseFailure) -> CaseFailure:
    """The failure with the line where it was raised, for errors of the user's own code."""
    cause = failure.__cause__
    frames = traceback.extract_tb(cause.__traceback__) if cause is not None else []
    if not frames or Path(frames[-1].filename).parent == Path(__file__).parent:
        return failure
    last = frames[-1]
    return type(failure)(f"{failure} ({Path(last.filename).name}:{last.lineno}, in {last.name})")


def is_async(function: Callable[..., Any]) -> bool:
    inner = function.func if isinstance(function, partial) else function
    called = getattr(inner, "__call__", None)  # noqa: B004 (an object whose call is a coroutine)
    return inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(called)


def bind_function(function: Callable[..., Any], who: str, fixed: Mapping[str, Any], seconds: float) -> BoundFunction:
    """How to call it; `ConfigInvalid` when it needs a parameter that is not known. A class takes no text."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):
        # Some built-ins have no signature; they are taken for functions of text.
        parameters = [inspect.Parameter("text", inspect.Parameter.POSITIONAL_ONLY)]
    first = next((each for each in parameters if each.kind in _BY_PLACE), None)
    several = any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters)
    text = several if first is None else first.name == PROMPT or first.name not in (*KNOWN, *fixed)
    text = text and not inspect.isclass(function)
    rest = [each for each in parameters if not (text and each is first)]
    if problems := list(_problems(rest, fixed)):
        raise ConfigInvalid(f"{who}: " + "; ".join(problems))
    takes_any = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in rest)
    taken = KNOWN if takes_any else [each.name for each in rest if each.name in KNOWN]
    names = tuple(name for name in taken if name not in fixed)
    return BoundFunction(function=function, who=who, text=text, names=names, fixed=dict(fixed), seconds=seconds)


def _problems(rest: list[inspect.Parameter], fixed: Mapping[str, Any]) -> Iterator[str]:
    free = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in rest)
    named = {each.name for each in rest if each.kind is not inspect.Parameter.POSITIONAL_ONLY}
    for name in fixed:
        if name not in named and not free:
            yield f"it takes no `{name}`, which `arguments` gives it"
    for each in rest:
        known = each.name in (*KNOWN, *fixed) and each.kind is not inspect.Parameter.POSITIONAL_ONLY
        needed = each.default is inspect.Parameter.empty and each.kind not in (
            inspect.Parameter.VAR_POSITIONAL,
            inspect.Parameter.VAR_KEYWORD,
        )
        if needed and not known:
            yield (
                f"it needs `{each.name}`, which is not known; beside the text it may take {', '.join(KNOWN)},"
                " and what `arguments` sets"
            )
