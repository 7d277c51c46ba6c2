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
from howsure.llm.base import ModelRequest
from howsure.llm.cache import MemoryCache
from howsure.llm.call_trace import trace_to_file
from howsure.llm.client import ClientOptions, ModelClient, Timing
from howsure.llm.messages import ChatMessage
from howsure.llm.providers import BUILTINS_BY_NAME
from howsure.llm.redact import Redactor
from howsure.llm.retry import RetryPolicy
from howsure.model.llm_settings import PROVIDER_NAMES
from howsure.model.transcript import Role
from unit.llm.loopback import Play, in_order, reply, serving

KEY = "sk-marked-0123456789-marked"
PROXY_PASSWORD = "hunter2-marked"
ECHO = Play(status=401, body=f'{{"error": {{"message": "Incorrect API key provided: {KEY}. Bearer {KEY}"}}}}'.encode())


def hangs_on(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize("provider", PROVIDER_NAMES, ids=lambda provider: provider)
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
async def test_the_key_is_nowhere(provider: str, play: Play | None, caplog: pytest.LogCaptureFixture) -> None:
    async def sleep(_: float) -> None:
        return None

    caplog.set_level(logging.DEBUG)
    trace, cache = io.BytesIO(), MemoryCache()
    options = ClientOptions(attempt_seconds=0.1, retry=RetryPolicy(attempts=3), cache=cache, trace=trace_to_file(trace))
    environ = {
        BUILTINS_BY_NAME[provider].address.key_variables[0]: KEY,
        "HTTPS_PROXY": f"http://me:{PROXY_PASSWORD}@127.0.0.1:9",
    }
    found: list[Any] = []
    async with (
        serving(in_order(play or reply(provider))) as server,
        ModelClient(environ, options, timing=Timing(sleep=sleep)) as door,
    ):
        model = door.model(f"{provider}:m@{server.url}")
        try:
            found.append(await model.complete(ModelRequest(messages=(ChatMessage(Role.USER, "Hi"),), purpose="test")))
        except CaseFailure as failure:
            assert play is not None
            found += ["".join(traceback.format_exception(failure)), *map(repr, hangs_on(failure))]
            found += [repr(vars(error)) for error in hangs_on(failure)]
        found += [repr(door), repr(vars(door)), repr(vars(model)), repr(door.counters), repr(door.total)]
        assert any(KEY in value for value in server.seen[0].headers.values())
    found += [trace.getvalue(), vars(cache), caplog.text]
    assert b'"purpose":"test"' in trace.getvalue()
    everything = "\n".join(str(one) for one in found)
    for secret in (KEY, PROXY_PASSWORD, base64.b64encode(KEY.encode()).decode(), "0123456789"):
        assert secret not in everything.replace(repr(environ), "")


async def test_a_proxy_that_is_not_there_does_not_give_its_password_away() -> None:
    environ = {"OPENAI_API_KEY": KEY, "HTTPS_PROXY": f"http://me:{PROXY_PASSWORD}@127.0.0.1:9"}

    async def sleep(_: float) -> None:
        return None

    async with ModelClient(environ, timing=Timing(sleep=sleep)) as door:
        model = door.model("openai:m@https://model.invalid/v1")
        with pytest.raises(CaseFailure) as caught:
            await model.complete(ModelRequest(messages=(ChatMessage(Role.USER, "Hi"),)))
    shown = "".join(traceback.format_exception(caught.value)) + "".join(map(repr, hangs_on(caught.value)))
    assert PROXY_PASSWORD not in shown and KEY not in shown


async def test_a_key_in_what_is_asked_is_not_traced_either() -> None:
    trace = io.BytesIO()
    environ = {"OPENAI_API_KEY": KEY}
    async with (
        serving(in_order(reply("openai", f"Your key is {KEY}"))) as server,
        ModelClient(environ, ClientOptions(trace=trace_to_file(trace))) as door,
    ):
        model = door.model(f"openai:m@{server.url}")
        await model.complete(ModelRequest(messages=(ChatMessage(Role.USER, f'What is "{KEY}\\"?'),)))
    assert KEY.encode() not in trace.getvalue()
    event = msgspec.json.decode(trace.getvalue())
    assert event["request"]["messages"][0]["content"] == 'What is "[secret]\\"?'
    assert event["answer"]["text"] == "Your key is [secret]"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("key sk-marked-1 was wrong", "key [secret] was wrong"),
        ("sk-marked-1sk-marked-1", "[secret][secret]"),
        ("nothing here", "nothing here"),
        ("Authorization: Bearer abc.def", "Authorization: Bearer [secret]"),
        ("{'authorization': 'Basic dXNlcg=='}", "{'authorization': 'Basic [secret]'}"),
        ('"x-api-key": "abc-123"', '"x-api-key": "[secret]"'),
        ("api-key=abc", "api-key=[secret]"),
        ("https://h/v1?key=abc&alt=json", "https://h/v1?key=[secret]&alt=json"),
        ("proxy http://me:pw@proxy:3128", "proxy http://me:[secret]@proxy:3128"),
        ("sk-proj-abcdefghijklmnopqrstuv is invalid", "[secret] is invalid"),
        ("a bearer of news", "a bearer of news"),
        ("sent Bearer abcdefgh12345678", "sent Bearer [secret]"),
        ("weird%2Fkey%2B1", "[secret]"),
    ],
)
def test_known_keys_and_what_looks_like_one_are_hidden(text: str, clean: str) -> None:
    assert Redactor(["sk-marked-1", "weird/key+1"]).clean(text) == clean


def test_the_longer_of_two_keys_is_hidden_whole() -> None:
    assert Redactor(["abcd", "abcdefgh"]).clean("abcdefgh abcd") == "[secret] [secret]"


def test_a_key_too_short_to_be_one_does_not_eat_the_text() -> None:
    assert Redactor(["", "a", "abc"]).clean("abc banana") == "abc banana"
