"""The cache: what makes two requests the same, and that equal ones under way are made once."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from howsure.errors import ModelRefused
from howsure.llm.base import Completion, ModelRequest, ModelSpec
from howsure.llm.cache import (
    CacheKeys,
    MemoryCache,
    NoCache,
    PendingCalls,
    RenewedCache,
    decode_completion,
    encode_completion,
)
from howsure.llm.messages import CallSettings, ChatMessage, FinishReason, Image, TokenAlternative, TokenLogprob
from howsure.model.transcript import Role, Tool, ToolCall, Usage

SPEC = ModelSpec(provider="openai", model="gpt", base_url="https://o/v1", key_variable="OPENAI_API_KEY")
REQUEST = ModelRequest(messages=(ChatMessage(Role.USER, "Hi"),), schema={"properties": {"a": {}, "b": {}}})
SETTINGS = CallSettings(temperature=0.0, extra={"a": 1, "b": 2})
KEY = CacheKeys(SPEC).key(REQUEST, SETTINGS)


@pytest.mark.parametrize(
    "request_",
    [
        replace(REQUEST, messages=(ChatMessage(Role.USER, "Hi!"),)),
        replace(REQUEST, messages=(ChatMessage(Role.SYSTEM, "Hi"),)),
        replace(REQUEST, messages=(ChatMessage(Role.USER, "Hi", (Image(media_type="image/png", base64="aGk="),)),)),
        replace(REQUEST, schema=None),
        replace(REQUEST, schema={"properties": {"b": {}, "a": {}}}),
        replace(REQUEST, tools=(Tool(name="t"),)),
        replace(REQUEST, namespace="repeat-2"),
    ],
    ids=["words", "role", "picture", "no schema", "schema in another order", "tools", "namespace"],
)
def test_what_shapes_the_answer_makes_another_key(request_: ModelRequest) -> None:
    assert CacheKeys(SPEC).key(request_, SETTINGS) != KEY


@pytest.mark.parametrize(
    "spec",
    [
        replace(SPEC, model="gpt-2"),
        replace(SPEC, provider="openai-compatible"),
        replace(SPEC, base_url="https://p/v1"),
    ],
)
def test_another_model_has_other_keys(spec: ModelSpec) -> None:
    assert CacheKeys(spec).key(REQUEST, SETTINGS) != KEY


@pytest.mark.parametrize(
    "settings",
    [replace(SETTINGS, temperature=None), replace(SETTINGS, seed=0), replace(SETTINGS, extra={"a": 1}), CallSettings()],
)
def test_other_settings_make_another_key(settings: CallSettings) -> None:
    assert CacheKeys(SPEC).key(REQUEST, settings) != KEY


def test_settings_that_take_turns_keep_their_keys() -> None:
    keys, others = CacheKeys(SPEC), CallSettings(seed=7)
    made = [keys.key(REQUEST, settings) for settings in (SETTINGS, others, SETTINGS, replace(SETTINGS), others)]
    assert made == [KEY, made[1], KEY, KEY, CacheKeys(SPEC).key(REQUEST, others)]


def test_what_does_not_shape_the_answer_makes_no_difference() -> None:
    keys = CacheKeys(replace(SPEC, key_variable="ANOTHER"))
    assert keys.key(replace(REQUEST, purpose="judge"), replace(SETTINGS, extra={"b": 2, "a": 1})) == KEY
    assert len(KEY) == 32


def test_a_key_is_the_same_tomorrow() -> None:
    # If this changes, every stored reply is asked for again: raise `cache.FORMAT` on purpose, or not at all.
    assert KEY.hex() == "76bdaa9178c658deb6e224ddbb0a4d5752ae940bb0cea723cd934cf916d4f61b"


WHOLE = Completion(
    text="Ja, schön",
    model="gpt",
    usage=Usage(prompt_tokens=1, completion_tokens=2, cost_usd=0.5),
    finish=FinishReason.TOOL_CALLS,
    tool_calls=(ToolCall(name="t", arguments={"a": [1, None]}, id="c"),),
    logprobs=(TokenLogprob("Ja", -0.1, (TokenAlternative("Nein", -2.0),)),),
    cost_usd=0.5,
    latency_ms=12.5,
)


def test_what_was_packed_is_unpacked_the_same() -> None:
    assert decode_completion(encode_completion(WHOLE)) == WHOLE


@pytest.mark.parametrize("value", [b"", b"{}", b"[1]", b'{"text": 3}', b"\xff"])
def test_a_value_that_is_not_ours_is_asked_for_again(value: bytes) -> None:
    assert decode_completion(value) is None


async def test_memory_holds_and_no_cache_does_not() -> None:
    memory, none = MemoryCache(), NoCache()
    for cache in (memory, none):
        await cache.put(b"k", b"v")
    assert await memory.get(b"k") == b"v"
    assert await memory.get(b"other") is None
    assert await none.get(b"k") is None
    assert len(memory) == 1


async def test_equal_calls_under_way_are_made_once() -> None:
    flights, asked = PendingCalls(), 0

    async def ask() -> Completion:
        nonlocal asked
        asked += 1
        await asyncio.sleep(0)
        return WHOLE

    landed = await asyncio.gather(*(flights.once(b"k", ask) for _ in range(10)))
    assert asked == 1
    assert [shared for _, shared in landed] == [False] + [True] * 9
    assert (await flights.once(b"k", ask))[1] is False


async def test_a_failure_is_shared_and_not_kept() -> None:
    flights, asked = PendingCalls(), 0

    async def ask() -> Completion:
        nonlocal asked
        asked += 1
        await asyncio.sleep(0)
        raise ModelRefused("no such model")

    landed = await asyncio.gather(*(flights.once(b"k", ask) for _ in range(3)), return_exceptions=True)
    assert asked == 1
    assert [(type(error), str(error)) for error in landed] == [(ModelRefused, "no such model")] * 3
    with pytest.raises(ModelRefused):
        await flights.once(b"k", ask)
    assert asked == 2


async def test_a_cancelled_caller_leaves_the_others_to_ask_for_themselves() -> None:
    flights, asked = PendingCalls(), 0
    go = asyncio.Event()

    async def ask() -> Completion:
        nonlocal asked
        asked += 1
        await go.wait()
        return WHOLE

    first, second, third = (asyncio.create_task(flights.once(b"k", ask)) for _ in range(3))
    await asyncio.sleep(0)
    first.cancel()
    while asked < 2:
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    go.set()
    assert [shared for _, shared in await asyncio.gather(second, third)] == [False, True]
    assert first.cancelled() and asked == 2


async def test_a_cancelled_follower_does_not_take_the_call_with_it() -> None:
    flights = PendingCalls()
    go = asyncio.Event()

    async def ask() -> Completion:
        await go.wait()
        return WHOLE

    first, second = (asyncio.create_task(flights.once(b"k", ask)) for _ in range(2))
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.sleep(0)
    go.set()
    assert await first == (WHOLE, False)


async def test_a_renewed_reply_takes_the_place_of_the_old_one() -> None:
    stored = MemoryCache()
    await stored.put(b"k", b"old")
    renewed = RenewedCache(stored)
    assert await renewed.get(b"k") is None
    await renewed.put(b"k", b"new")
    assert (await renewed.get(b"k"), await stored.get(b"k")) == (b"new", b"new")
