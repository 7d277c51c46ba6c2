"""A marked key is looked for everywhere: exceptions and what hangs on them, traces, records, logs, caches, reprs."""

from __future__ import annotations

import base64
import io
import logging
import traceback
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from howsure.errors import CaseFailure
from howsure.llm.base import Completion, Request
from howsure.llm.cache import MemoryCache
from howsure.llm.calling import Surroundings
from howsure.llm.door import Door, Fittings, Habits
from howsure.llm.http import Http
from howsure.llm.parts import Message
from howsure.llm.retry import Retry
from howsure.llm.specs import Access, Provider
from howsure.llm.tracing import to_file
from howsure.model.transcript import Role
from unit.llm.loopback import Play, in_order, reply, serving

KEY = "sk-marked-0123456789-marked"
PROXY_PASSWORD = "hunter2-marked"
ECHO = Play(status=401, body=f'{{"error": {{"message": "Incorrect API key provided: {KEY}. Bearer {KEY}"}}}}'.encode())


def hangs_on(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


class Notebook:
    def __init__(self) -> None:
        self.told: list[str] = []

    async def record(self, model: str, request: Request, completion: Completion) -> None:
        self.told.append(repr((model, request, completion)))


@pytest.mark.parametrize("provider", list(Provider), ids=lambda provider: provider.value)
@pytest.mark.parametrize(
    "play",
    [
        ECHO,
        Play(status=500, body=ECHO.body),
        Play(body=b"garbage " + KEY.encode()),
        Play(cut=True),
        Play(hang=True),
        Play(status=302, headers={"Location": f"http://x/?key={KEY}"}),
        None,
    ],
    ids=["echoed in a refusal", "echoed in an error", "echoed in garbage", "cut", "hang", "redirect", "answered"],
)
async def test_the_key_is_nowhere(provider: Provider, play: Play | None, caplog: pytest.LogCaptureFixture) -> None:
    async def sleep(_: float) -> None:
        return None

    caplog.set_level(logging.DEBUG)
    trace, notebook, cache = io.BytesIO(), Notebook(), MemoryCache()
    fittings = Fittings(cache=cache, recorder=notebook, trace=to_file(trace))
    environ = {"MY_KEY": KEY, "HTTPS_PROXY": f"http://me:{PROXY_PASSWORD}@127.0.0.1:9"}
    around = Surroundings(sleep=sleep)
    found: list[Any] = []
    async with (
        serving(in_order(play or reply(provider))) as server,
        Door(Http(environ), environ, Habits(attempt_seconds=0.1, retry=Retry(attempts=3)), fittings, around) as door,
    ):
        model = door.model(f"{provider.value}:m@{server.url}", access=Access(key_variable="MY_KEY"))
        try:
            found.append(await model.complete(Request(messages=(Message(Role.USER, "Hi"),), purpose="test")))
        except CaseFailure as failure:
            assert play is not None
            found += ["".join(traceback.format_exception(failure)), *map(repr, hangs_on(failure))]
            found += [repr(vars(error)) for error in hangs_on(failure)]
        found += [repr(door), repr(vars(door)), repr(vars(model)), repr(door.counters), repr(door.total)]
        assert any(KEY in value for value in server.seen[0].headers.values())
    found += [trace.getvalue(), cache._held, notebook.told, caplog.text]
    assert b'"purpose":"test"' in trace.getvalue()
    everything = "\n".join(str(one) for one in found)
    for secret in (KEY, PROXY_PASSWORD, base64.b64encode(KEY.encode()).decode(), "0123456789"):
        assert secret not in everything.replace(repr(environ), "")


async def test_a_proxy_that_is_not_there_does_not_give_its_password_away() -> None:
    environ = {"MY_KEY": KEY, "HTTPS_PROXY": f"http://me:{PROXY_PASSWORD}@127.0.0.1:9"}

    async def sleep(_: float) -> None:
        return None

    async with Door(Http(environ), environ, around=Surroundings(sleep=sleep)) as door:
        model = door.model("openai:m@https://model.invalid/v1", access=Access(key_variable="MY_KEY"))
        with pytest.raises(CaseFailure) as caught:
            await model.complete(Request(messages=(Message(Role.USER, "Hi"),)))
    shown = "".join(traceback.format_exception(caught.value)) + "".join(map(repr, hangs_on(caught.value)))
    assert PROXY_PASSWORD not in shown and KEY not in shown


async def test_a_key_in_what_is_asked_is_not_traced_either() -> None:
    trace = io.BytesIO()
    environ = {"MY_KEY": KEY}
    async with (
        serving(in_order(reply(Provider.OPENAI, f"Your key is {KEY}"))) as server,
        Door(Http(environ), environ, fittings=Fittings(trace=to_file(trace))) as door,
    ):
        model = door.model(f"openai:m@{server.url}", access=Access(key_variable="MY_KEY"))
        await model.complete(Request(messages=(Message(Role.USER, f'What is "{KEY}\\"?'),)))
    assert KEY.encode() not in trace.getvalue()
    event = msgspec.json.decode(trace.getvalue())
    assert event["request"]["messages"][0]["content"] == 'What is "[secret]\\"?'
    assert event["answer"]["text"] == "Your key is [secret]"
