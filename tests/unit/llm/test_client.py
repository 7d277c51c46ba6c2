"""The whole door in virtual time: every call is answered or fails with a reason, and the counters know."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from howsure.errors import BudgetReached, CaseFailure, ConfigInvalid, ModelFailed, ModelRefused, ModelTimedOut
from howsure.llm.base import Cache, Completion, ModelReply, ModelRequest
from howsure.llm.budget import Allowance, BudgetMeter
from howsure.llm.cache import MemoryCache, NoCache, encode_completion
from howsure.llm.client import ClientOptions, ModelClient
from howsure.llm.costs import CallCounters
from howsure.llm.limits import RateLimits
from howsure.llm.messages import CallSettings, ChatMessage
from howsure.llm.retry import RetryPolicy
from howsure.llm.transport import HttpResponse, TransportError, TransportFault
from howsure.model.transcript import Role, Usage
from unit.llm.virtual import GOOD, ScriptedTransport, VirtualLoop, around, faulty, good, status, virtually

ENVIRON = {"OPENAI_API_KEY": "sk-marked-key-1234"}
MODEL = "openai:gpt-4o"
HALF_A_CENT = 0.000045  # 10 prompt tokens at 2.50 and 2 completion tokens at 10 USD a million


def asking(text: str = "Hi", **fields: Any) -> ModelRequest:
    return ModelRequest(messages=(ChatMessage(Role.USER, text),), **fields)


def opened(
    loop: VirtualLoop, transport: ScriptedTransport, options: ClientOptions | None = None, **changes: Any
) -> ModelClient:
    return ModelClient(ENVIRON, replace(options or ClientOptions(), **changes), transport, around(loop))


Outcome = Completion | CaseFailure


async def outcome(door: ModelClient, text: str = "Hi", **fields: Any) -> Outcome:
    try:
        return await door.model(MODEL).complete(asking(text, **fields))
    except CaseFailure as failure:
        return failure


async def answered_by(transport: ScriptedTransport, cache: Cache, loop: VirtualLoop) -> Outcome:
    return await outcome(opened(loop, transport, cache=cache))


def one(play: Callable[[int], Any], habits: ClientOptions | None = None) -> tuple[Outcome, ScriptedTransport, float]:
    """What one call met, what was sent, and how long it took."""
    transport = ScriptedTransport(play)

    async def run(loop: VirtualLoop) -> tuple[Outcome, float]:
        return await outcome(opened(loop, transport, habits)), loop.time()

    came, took = virtually(run)
    return came, transport, took


def test_an_answer_comes_with_usage_cost_and_time() -> None:
    came, transport, _ = one(good)
    assert isinstance(came, Completion)
    assert (came.text, came.model, came.cached) == ("hello", "m", False)
    assert (came.usage.prompt_tokens, came.usage.completion_tokens) == (10, 2)
    assert came.usage.cost_usd == came.cost_usd == pytest.approx(HALF_A_CENT)
    assert came.latency_ms == pytest.approx(200.0)
    assert json.loads(transport.sent[0]) == {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}]}
    assert transport.headers[0]["Authorization"] == "Bearer sk-marked-key-1234"


@pytest.mark.parametrize(
    "first",
    [
        status(429),
        status(500),
        status(529),
        status(408),
        None,
        TransportError(TransportFault.CONNECTION, "refused"),
        HttpResponse(200, {}, b""),
        HttpResponse(200, {}, b'{"choices": []}'),
        HttpResponse(200, {}, GOOD[:40]),
    ],
    ids=["429", "500", "529", "408", "hang", "no connection", "empty", "no choices", "half a body"],
)
def test_what_may_pass_is_asked_again(first: Any) -> None:
    came, transport, _ = one(lambda number: good() if number else first)
    assert isinstance(came, Completion) and came.text == "hello"
    assert len(transport.sent) == 2


@pytest.mark.parametrize("code", [301, 400, 401, 403, 404, 413, 422])
def test_what_would_be_the_same_is_not_asked_again(code: int) -> None:
    came, transport, _ = one(lambda _: status(code, body=b'{"error":{"message":"wrong key sk-marked-key-1234"}}'))
    assert isinstance(came, ModelRefused)
    assert str(came) == f"openai:gpt-4o: HTTP {code}: wrong key [secret]"
    assert len(transport.sent) == 1


def test_a_pause_that_the_server_asks_for_is_kept() -> None:
    came, transport, took = one(lambda number: good() if number else status(429, {"retry-after": "20"}))
    assert isinstance(came, Completion)
    assert 20.4 <= took <= 20.9
    assert 20.2 <= transport.at[1] - transport.at[0] <= 20.7


def test_a_pause_longer_than_our_patience_is_not_waited_for() -> None:
    came, _, took = one(lambda _: status(429, {"retry-after": "3600"}))
    assert isinstance(came, ModelFailed)
    assert str(came) == (
        "openai:gpt-4o: no answer in 1 attempt (0.2 s); it asks to wait 3600 s; the last: HTTP 429: no"
    )
    assert took < 1.0


def test_a_call_ends_by_the_number_of_its_attempts() -> None:
    came, transport, _ = one(lambda _: status(500))
    assert isinstance(came, ModelFailed) and not isinstance(came, ModelRefused)
    assert str(came).startswith("openai:gpt-4o: no answer in 12 attempts (")
    assert len(transport.sent) == 12


def test_hangs_end_as_time_outs_within_the_time_of_a_call() -> None:
    play: list[Any] = [status(500)]
    came, transport, took = one(
        lambda number: play[number] if number < 1 else None, ClientOptions(attempt_seconds=60.0)
    )
    assert isinstance(came, ModelTimedOut)
    assert str(came).endswith("the last: no answer in 60 s")
    assert len(transport.sent) == 6
    assert took < 310


def test_a_server_that_never_answered_is_not_waited_for_long() -> None:
    came, _, took = one(lambda _: TransportError(TransportFault.CONNECTION, "refused"))
    assert isinstance(came, ModelFailed)
    assert str(came).endswith("the last: refused")
    assert took <= 20


def test_garbage_is_asked_for_three_times_and_then_quoted() -> None:
    came, transport, _ = one(lambda _: HttpResponse(200, {}, b"<html>Welcome!</html>"))
    assert isinstance(came, ModelFailed)
    assert "HTTP 200 without an answer" in str(came) and str(came).endswith("<html>Welcome!</html>")
    assert len(transport.sent) == 3


@pytest.mark.parametrize("trouble", [TransportFault.TLS, TransportFault.TOO_LARGE])
def test_some_trouble_does_not_pass(trouble: TransportFault) -> None:
    came, transport, _ = one(lambda _: TransportError(trouble, "why"))
    assert isinstance(came, ModelRefused)
    assert len(transport.sent) == 1


def test_a_dead_server_costs_the_first_calls_their_patience_and_the_others_one_attempt() -> None:
    transport = ScriptedTransport(lambda _: status(500))

    async def run(loop: VirtualLoop) -> tuple[list[Outcome], float]:
        door = opened(loop, transport, ClientOptions(concurrency=2))
        return [await outcome(door, str(number)) for number in range(100)], loop.time()

    came, took = virtually(run)
    assert all(isinstance(failure, ModelFailed) for failure in came)
    assert len(transport.sent) == 12 + 99
    assert took < 300


def test_a_server_that_comes_back_is_trusted_again() -> None:
    transport = ScriptedTransport(lambda number: status(500) if number < 15 or number == 17 else good())

    async def run(loop: VirtualLoop) -> list[bool]:
        door = opened(loop, transport)
        return [isinstance(await outcome(door, str(number)), Completion) for number in range(7)]

    # Twelve attempts for the first, one each for the next three, then answers; a later 500 is asked again.
    assert virtually(run) == [False, False, False, False, True, True, True]


def test_two_thousand_calls_through_a_bad_day_are_all_answered_once_in_less_than_three_times_the_time() -> None:
    async def run(loop: VirtualLoop, play: Callable[[int], Any]) -> tuple[float, CallCounters, ScriptedTransport]:
        transport = ScriptedTransport(play)
        door = opened(loop, transport, ClientOptions(concurrency=50, attempt_seconds=2.0))
        model = door.model(MODEL)
        numbers = iter(range(2000))

        async def worker() -> None:
            for number in numbers:
                await model.complete(asking(str(number)))

        await asyncio.gather(*(worker() for _ in range(50)))
        return loop.time(), door.total, transport

    undisturbed, quiet, _ = virtually(lambda loop: run(loop, good))
    assert undisturbed == pytest.approx(8.0, abs=0.01)
    assert quiet.retries == 0
    bad_day = faulty(s429=0.1, s500=0.1, hang=0.01)
    took, counters, transport = virtually(lambda loop: run(loop, bad_day))
    assert took < 3 * undisturbed
    assert (counters.answered, counters.failed) == (2000, 0)
    assert counters.attempts == len(transport.sent) == 2000 + counters.retries
    assert 400 < counters.retries < 700


@pytest.mark.parametrize(
    ("per_second", "at_first", "calls", "at_once", "asks", "within"),
    [
        (10.0, 10, 1000, 50, None, 1.3),
        (1.0, 60, 300, 50, None, 1.3),
        (1.0, 60, 300, 8, "20", 1.3),
        (8.3, 500, 2000, 200, None, 1.3),
        (0.1, 1, 30, 20, None, 1.6),
    ],
    ids=["ten a second", "sixty a minute", "sixty a minute, asks to wait", "five hundred a minute", "six a minute"],
)
def test_no_call_is_lost_to_the_rate_that_a_provider_allows_and_hardly_any_time(
    per_second: float, at_first: int, calls: int, at_once: int, asks: str | None, within: float
) -> None:
    async def run(loop: VirtualLoop) -> tuple[float, int]:
        left, at = float(at_first), 0.0

        def play(_: int) -> HttpResponse:
            nonlocal left, at
            left, at = min(float(at_first), left + (loop.time() - at) * per_second), loop.time()
            if left < 1:
                return status(429, {"retry-after": asks} if asks else {})
            left -= 1
            return good()

        door = opened(loop, ScriptedTransport(play), ClientOptions(concurrency=at_once))
        came = await asyncio.gather(*(outcome(door, str(number)) for number in range(calls)))
        return loop.time(), sum(isinstance(one, Completion) for one in came)

    took, answered = virtually(run)
    assert answered == calls
    assert took < within * (calls - at_first) / per_second


def test_a_provider_that_refuses_for_ever_is_given_up() -> None:
    came, transport, took = one(lambda _: status(429))
    assert isinstance(came, ModelFailed) and str(came).endswith("the last: HTTP 429: no")
    assert 10 < len(transport.sent) <= 60
    # 300 seconds of attempts and pauses, and the wait for its turn at the rate that the gate learned meanwhile.
    assert took < 400


def test_the_same_request_is_asked_once_and_then_costs_nothing() -> None:
    transport = ScriptedTransport(good)

    async def run(loop: VirtualLoop) -> tuple[list[Outcome], CallCounters]:
        door = opened(loop, transport)
        first = await asyncio.gather(*(outcome(door) for _ in range(3)))
        return [*first, await outcome(door), await outcome(door, namespace="repeat-2")], door.total

    came, counters = virtually(run)
    assert [(one.cached, one.cost_usd) for one in came if isinstance(one, Completion)] == [
        (False, pytest.approx(HALF_A_CENT)),
        (True, 0.0),
        (True, 0.0),
        (True, 0.0),
        (False, pytest.approx(HALF_A_CENT)),
    ]
    assert len(transport.sent) == 2
    assert counters.cost_usd == pytest.approx(2 * HALF_A_CENT)
    counters.cost_usd = 0.0
    assert counters == CallCounters(answered=2, cached=3, attempts=2, prompt_tokens=20, completion_tokens=4)


def test_what_a_cached_answer_cost_when_it_was_made_is_still_known() -> None:
    async def run(loop: VirtualLoop) -> Outcome:
        door = opened(loop, ScriptedTransport(good))
        await outcome(door)
        return await outcome(door)

    came = virtually(run)
    assert isinstance(came, Completion)
    assert came.usage.cost_usd == pytest.approx(HALF_A_CENT)


@pytest.mark.parametrize(("cache", "asked"), [(MemoryCache(), 1), (NoCache(), 3)])
def test_without_a_cache_every_call_is_made(cache: Cache, asked: int) -> None:
    transport = ScriptedTransport(good)

    async def run(loop: VirtualLoop) -> None:
        door = opened(loop, transport, cache=cache)
        await asyncio.gather(*(outcome(door) for _ in range(3)))

    virtually(run)
    assert len(transport.sent) == asked


def test_a_spoilt_cache_is_asked_around() -> None:
    class Spoilt(MemoryCache):
        async def get(self, key: bytes) -> bytes | None:
            return b"not a completion"

    transport = ScriptedTransport(good)
    came = virtually(lambda loop: outcome(opened(loop, transport, cache=Spoilt())))
    assert isinstance(came, Completion) and not came.cached


def test_a_failure_is_not_kept() -> None:
    async def run(loop: VirtualLoop) -> list[Outcome]:
        door = opened(loop, ScriptedTransport(lambda number: good() if number else status(400)))
        return [await outcome(door), await outcome(door)]

    first, second = virtually(run)
    assert isinstance(first, ModelRefused) and isinstance(second, Completion)


def test_a_cache_filled_by_one_door_serves_another() -> None:
    cache = MemoryCache()
    for expected in (1, 0):
        transport = ScriptedTransport(good)
        virtually(partial(answered_by, transport, cache))
        assert len(transport.sent) == expected


@pytest.mark.parametrize(
    ("allowance", "answered"),
    [(Allowance(tokens=1200), range(100, 121)), (Allowance(usd=100 * HALF_A_CENT), range(100, 121))],
)
def test_a_budget_is_exceeded_by_the_calls_in_flight_at_most(allowance: Allowance, answered: range) -> None:
    transport = ScriptedTransport(faulty(s429=0.1, s500=0.1))

    async def run(loop: VirtualLoop) -> list[Outcome]:
        spending = BudgetMeter(allowance, loop.time)
        door = opened(loop, transport, ClientOptions(concurrency=20), budget=spending)
        return await asyncio.gather(*(outcome(door, str(number)) for number in range(1000)))

    came = virtually(run)
    assert sum(isinstance(one, Completion) for one in came) in answered
    assert all(isinstance(one, Completion | BudgetReached) for one in came)
    assert len(transport.sent) < 180


def test_a_budget_in_time_ends_new_calls_and_lets_old_ones_finish() -> None:
    async def run(loop: VirtualLoop) -> tuple[list[Outcome], float]:
        spending = BudgetMeter(Allowance(seconds=1.0), loop.time)
        door = opened(loop, ScriptedTransport(good, latency=0.4), ClientOptions(concurrency=1), budget=spending)
        return [await outcome(door, str(number)) for number in range(5)], loop.time()

    came, took = virtually(run)
    assert [isinstance(one, Completion) for one in came] == [True, True, True, False, False]
    assert str(came[-1]) == "the budget of 1 s is over"
    assert took == pytest.approx(1.2)


def test_what_comes_from_the_cache_is_free_of_any_budget() -> None:
    async def run(loop: VirtualLoop) -> list[Outcome]:
        spending = BudgetMeter(Allowance(tokens=1), loop.time)
        door = opened(loop, ScriptedTransport(good), budget=spending)
        return [await outcome(door, text) for text in ("a", "a", "b")]

    first, second, third = virtually(run)
    assert isinstance(first, Completion) and isinstance(second, Completion) and second.cached
    assert isinstance(third, BudgetReached)


def test_a_provider_that_does_not_count_cannot_get_around_a_budget() -> None:
    uncounted = HttpResponse(200, {}, b'{"choices":[{"message":{"content":"hello"}}]}')

    async def run(loop: VirtualLoop) -> tuple[list[Outcome], int]:
        spending = BudgetMeter(Allowance(tokens=100), loop.time)
        door = opened(loop, ScriptedTransport(lambda _: uncounted), budget=spending)
        return [await outcome(door, "x" * 300 + str(number)) for number in range(3)], spending.spent.tokens

    came, tokens = virtually(run)
    assert isinstance(came[0], Completion) and came[0].usage == Usage() and came[0].cost_usd is None
    assert isinstance(came[1], BudgetReached)
    assert 100 <= tokens <= 150


SLOW = RateLimits(requests_per_minute=60, tokens_per_minute=100_000)


@pytest.mark.parametrize(
    "rates",
    [
        {MODEL: SLOW},
        {f"{MODEL.partition(':')[0]}:*": SLOW},
        {"*": SLOW},
        {MODEL: SLOW, "*": RateLimits(requests_per_minute=1)},
        {f"{MODEL.partition(':')[0]}:*": SLOW, "*": RateLimits(requests_per_minute=1), "google:*": RateLimits()},
    ],
    ids=["of the model", "of the provider", "of all", "the models own before all", "the providers before all"],
)
def test_the_rates_of_a_model_hold(rates: dict[str, RateLimits]) -> None:
    transport = ScriptedTransport(good)
    habits = ClientOptions(concurrency=50, rates=rates)

    async def run(loop: VirtualLoop) -> float:
        door = opened(loop, transport, habits)
        await asyncio.gather(*(outcome(door, str(number)) for number in range(40)))
        return loop.time()

    assert virtually(run) == pytest.approx(30.2, abs=0.1)


def test_all_who_ask_a_model_share_its_gate_and_its_counters() -> None:
    transport = ScriptedTransport(good)

    async def run(loop: VirtualLoop) -> dict[str, CallCounters]:
        door = opened(loop, transport, ClientOptions(concurrency=3))
        models = [door.model(MODEL, CallSettings(temperature=number / 10)) for number in range(5)]
        await asyncio.gather(*(model.complete(asking()) for model in models for _ in range(3)))
        await door.model("openai:gpt-4o-mini").complete(asking())
        return door.counters

    counters = virtually(run)
    assert transport.most == 3
    assert {name: one.answered for name, one in counters.items()} == {MODEL: 5, "openai:gpt-4o-mini": 1}


def test_settings_of_a_request_win_over_those_of_the_model() -> None:
    transport = ScriptedTransport(good)

    async def run(loop: VirtualLoop) -> None:
        model = opened(loop, transport).model(MODEL, CallSettings(temperature=0.0))
        await model.complete(asking())
        await model.complete(asking(settings=CallSettings(temperature=1.0)))

    virtually(run)
    assert [json.loads(body)["temperature"] for body in transport.sent] == [0.0, 1.0]


def test_every_attempt_is_traced() -> None:
    events: list[Any] = []

    async def run(loop: VirtualLoop) -> None:
        transport = ScriptedTransport(lambda number: good() if number else status(500))
        await outcome(opened(loop, transport, trace=events.append), purpose="judge")

    virtually(run)
    assert [(event["attempt"], event["purpose"], event["seconds"]) for event in events] == [
        (1, "judge", 0.2),
        (2, "judge", 0.2),
    ]
    assert events[0]["failure"] == {"kind": "passing", "status": 500, "message": "HTTP 500: no"}
    assert events[1]["answer"]["text"] == "hello"
    assert events[1]["request"]["messages"] == [{"role": "user", "content": "Hi"}]


def test_a_missing_key_is_said_when_the_model_is_made() -> None:
    async def run(loop: VirtualLoop) -> None:
        with pytest.raises(ConfigInvalid, match="set ANTHROPIC_API_KEY in the environment"):
            opened(loop, ScriptedTransport(good)).model("anthropic:claude")

    virtually(run)


def test_a_cancelled_call_leaves_no_turn_taken() -> None:
    transport = ScriptedTransport(good)

    async def run(loop: VirtualLoop) -> Outcome:
        door = opened(loop, transport, ClientOptions(concurrency=1))
        task = asyncio.create_task(outcome(door, "first"))
        await asyncio.sleep(0.1)
        task.cancel()
        await asyncio.wait([task])
        return await outcome(door, "second")

    assert isinstance(virtually(run), Completion)
    assert transport.flying == 0


def test_closing_the_door_closes_the_way_out() -> None:
    transport = ScriptedTransport(good)

    async def run(loop: VirtualLoop) -> None:
        async with opened(loop, transport) as door:
            assert door.total == CallCounters()

    virtually(run)
    assert transport.closed


def test_a_stubbornness_of_ones_own() -> None:
    came, transport, _ = one(lambda _: status(500), ClientOptions(retry=RetryPolicy(attempts=2)))
    assert isinstance(came, ModelFailed)
    assert len(transport.sent) == 2


def test_the_cache_holds_the_encoded_completion() -> None:
    cache = MemoryCache()
    came = virtually(lambda loop: outcome(opened(loop, ScriptedTransport(good), cache=cache)))
    assert isinstance(came, Completion)
    assert list(vars(cache)["_replies"].values()) == [encode_completion(came)]


class ScriptedProvider:
    """A plug-in's provider that plays a script: replies, errors, or silence (None)."""

    name = "mine"

    def __init__(self, *script: object) -> None:
        self._script = iter(script)
        self.asked: list[tuple[str, ModelRequest]] = []

    async def complete(self, model: str, request: ModelRequest) -> ModelReply:
        self.asked.append((model, request))
        step = next(self._script)
        if step is None:
            await asyncio.sleep(1000)
        if isinstance(step, Exception):
            raise step
        return step  # type: ignore[return-value]


def from_plugin(provider: ScriptedProvider, **options: Any) -> Outcome:
    """What one call to a plug-in's provider gives."""

    async def run(loop: VirtualLoop) -> Outcome:
        options_ = ClientOptions(providers={"mine": provider}, **options)
        async with ModelClient({}, options_, timing=around(loop)) as client:
            try:
                return await client.model("mine:x", CallSettings(temperature=0.5)).complete(asking())
            except CaseFailure as failure:
                return failure

    return virtually(run)


def test_a_plugins_provider_is_asked_with_the_model_and_its_settings() -> None:
    provider = ScriptedProvider(ModelReply(text="hello", usage=Usage(prompt_tokens=3, completion_tokens=1)))
    came = from_plugin(provider)
    assert isinstance(came, Completion)
    assert (came.text, came.model, came.usage.prompt_tokens, came.cost_usd) == ("hello", "x", 3, None)
    ((model, request),) = provider.asked
    assert (model, request.messages[0].content, request.settings) == ("x", "Hi", CallSettings(temperature=0.5))


@pytest.mark.parametrize("passing", [OSError("away"), ModelFailed("not now"), None], ids=["lost", "failed", "silent"])
def test_a_plugins_provider_is_asked_again_where_that_may_help(passing: Exception | None) -> None:
    provider = ScriptedProvider(passing, ModelReply(text="hello"))
    came = from_plugin(provider, attempt_seconds=2.0)
    assert isinstance(came, Completion) and came.text == "hello"
    assert len(provider.asked) == 2


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (ModelRefused("no such model"), "mine:x: no such model"),
        (ValueError("oops"), "mine:x: provider 'mine': ValueError: oops"),
        ("text", "mine:x: provider 'mine': TypeError: expected a ModelReply, found str"),
    ],
    ids=["refused", "broken", "no reply"],
)
def test_a_plugins_provider_that_breaks_is_named_and_not_asked_again(step: object, message: str) -> None:
    came = from_plugin(ScriptedProvider(step))
    assert isinstance(came, ModelRefused)
    assert str(came) == message


def test_a_budget_holds_for_a_plugins_provider_that_counts_nothing() -> None:
    spending = BudgetMeter(Allowance(tokens=1_000_000), lambda: 0.0)
    assert isinstance(from_plugin(ScriptedProvider(ModelReply(text="hello")), budget=spending), Completion)
    assert spending.spent.tokens > 0
