"""Every provider's adapter through the whole door to a real server on loopback. Pauses are noted, and not made."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from howsure.errors import ModelFailed, ModelRefused, ModelTimedOut
from howsure.llm.base import Completion, ModelRequest
from howsure.llm.client import ClientOptions, ModelClient, Timing
from howsure.llm.messages import ChatMessage
from howsure.llm.providers import BUILTINS_BY_NAME
from howsure.model.llm_settings import PROVIDER_NAMES
from howsure.model.transcript import Role
from unit.llm.loopback import KEY_HEADERS, Play, Server, in_order, reply, serving

EVERY = pytest.mark.parametrize("provider", PROVIDER_NAMES, ids=lambda provider: provider)
KEY = "sk-marked-0123456789-marked"
SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "integer"}},
    "required": ["score"],
    "additionalProperties": False,
}
NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


class Asking:
    """A door to one model on a server of ours, with the pauses it made."""

    def __init__(self, door: ModelClient, provider: str, url: str) -> None:
        self.door = door
        self.pauses: list[float] = []
        base_url = f"{url}/v1" if provider in ("openai", "vllm", "mistral") else url
        self.model = door.model(f"{provider}:m@{base_url}")

    async def __call__(self, text: str = "Hi", **fields: Any) -> Completion:
        return await self.model.complete(ModelRequest(messages=(ChatMessage(Role.USER, text),), **fields))


@asynccontextmanager
async def asking(
    provider: str, play: Callable[[int], Play], seconds: float = 5.0
) -> AsyncIterator[tuple[Asking, Server]]:
    pauses: list[float] = []

    async def sleep(pause: float) -> None:
        pauses.append(pause)

    environ = {BUILTINS_BY_NAME[provider].address.key_variables[0]: KEY}
    timing = Timing(sleep=sleep, chance=lambda: 0.0, now=lambda: NOW)
    options = ClientOptions(concurrency=4, attempt_seconds=seconds)
    async with serving(play) as server, ModelClient(environ, options, timing=timing) as door:
        asked = Asking(door, provider, server.url)
        asked.pauses = pauses
        yield asked, server


@EVERY
async def test_an_answer_is_had(provider: str) -> None:
    async with asking(provider, in_order(reply(provider))) as (ask, server):
        completion = await ask()
        assert completion.text == "Yes."
        assert completion.usage.prompt_tokens and completion.usage.completion_tokens
        assert completion.latency_ms > 0
        sent = server.seen[0]
        assert sent.headers["Content-Type"] == "application/json"
        assert KEY in sent.headers[KEY_HEADERS.get(provider, "Authorization")]
        assert KEY not in sent.path


@EVERY
async def test_a_structured_answer_is_had(provider: str) -> None:
    async with asking(provider, in_order(reply(provider, '{"score": 4}'))) as (ask, server):
        completion = await ask(schema=SCHEMA)
        assert json.loads(completion.text) == {"score": 4}
        assert json.dumps(SCHEMA) in json.dumps(server.seen[0].body)


@EVERY
@pytest.mark.parametrize(
    ("headers", "pause"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After-Ms": "1500"}, 1.5),
        ({"Retry-After": format_datetime(NOW + timedelta(seconds=9), usegmt=True),
          "Date": format_datetime(NOW, usegmt=True)}, 9.0),
        ({}, 0.0),
    ],
    ids=["seconds", "milliseconds", "date", "nothing"],
)  # fmt: skip
async def test_too_many_requests_are_waited_out(provider: str, headers: dict[str, str], pause: float) -> None:
    refused = Play(status=429, headers=headers, body=b'{"error": {"message": "slow down"}}')
    async with asking(provider, in_order(refused, refused, reply(provider))) as (ask, server):
        assert (await ask()).text == "Yes."
        assert ask.pauses == [pause, pause]
        assert len(server.seen) == 3


@EVERY
async def test_server_errors_are_asked_again(provider: str) -> None:
    broken = [Play(status=status, body=b"<html>busy</html>") for status in (500, 502, 503, 504, 529)]
    async with asking(provider, in_order(*broken, reply(provider))) as (ask, server):
        assert (await ask()).text == "Yes."
        assert len(server.seen) == 6


@EVERY
async def test_a_hang_is_given_up_and_asked_again(provider: str) -> None:
    async with asking(provider, in_order(Play(hang=True), reply(provider)), seconds=0.2) as (ask, _):
        assert (await ask()).text == "Yes."


@EVERY
@pytest.mark.parametrize(
    "broken",
    [Play(), Play(body=b'{"choices": [{"mess'), Play(body=b"{}"), Play(cut=True), Play(body=b"null")],
    ids=["empty", "half", "nothing in it", "cut off", "null"],
)
async def test_a_broken_body_is_asked_for_again(provider: str, broken: Play) -> None:
    async with asking(provider, in_order(broken, reply(provider))) as (ask, server):
        assert (await ask()).text == "Yes."
        assert len(server.seen) == 2


@EVERY
async def test_garbage_for_ever_fails_with_the_garbage(provider: str) -> None:
    async with asking(provider, in_order(Play(body=b"Hello, I am a web page"))) as (ask, server):
        with pytest.raises(ModelFailed, match=r"no answer in 3 attempts .*Hello, I am a web page"):
            await ask()
        assert len(server.seen) == 3


@EVERY
@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_a_refusal_is_final_and_in_the_providers_words(provider: str, status: int) -> None:
    said = Play(status=status, body=b'{"error": {"message": "not like this"}}')
    async with asking(provider, in_order(said)) as (ask, server):
        with pytest.raises(ModelRefused) as caught:
            await ask()
        assert str(caught.value) == f"{provider}:m: HTTP {status}: not like this"
        assert len(server.seen) == 1


@EVERY
async def test_nobody_there_is_said(provider: str) -> None:
    async with asking(provider, in_order(Play())) as (ask, _):
        elsewhere = ask.door.model(f"{provider}:m@http://127.0.0.1:9")
        with pytest.raises(ModelFailed, match=r"ClientConnectorError: Cannot connect to host 127\.0\.0\.1:9"):
            await elsewhere.complete(ModelRequest(messages=(ChatMessage(Role.USER, "Hi"),)))


async def test_hangs_for_ever_fail_as_a_time_out() -> None:
    async with asking("openai", in_order(Play(hang=True)), seconds=0.02) as (ask, server):
        with pytest.raises(ModelTimedOut, match=r"no answer in 12 attempts .*; the last: no answer in 0\.02 s"):
            await ask()
        assert len(server.seen) <= 12


async def test_no_address_is_guessed_from_a_redirect() -> None:
    moved = Play(status=307, headers={"Location": "http://127.0.0.1:9/elsewhere"})
    async with asking("openai", in_order(moved)) as (ask, server):
        with pytest.raises(ModelRefused, match=r"HTTP 307: redirected to http://127\.0\.0\.1:9/elsewhere"):
            await ask()
        assert len(server.seen) == 1


async def test_one_connection_serves_one_call_after_another() -> None:
    async with asking("openai", in_order(reply("openai"))) as (ask, server):
        for number in range(20):
            await ask(str(number))
        assert len(server.seen) == 20
        assert len(server.peers) == 1
