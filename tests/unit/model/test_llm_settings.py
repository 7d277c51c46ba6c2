"""How models may be called: what is wrong with settings is said for each, and what is right is left alone."""

from __future__ import annotations

from math import inf, nan

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.model.llm_settings import PROVIDER_NAMES, CallSettings, RateLimits, RetryLimits, rate_problems

KNOWN = "openai, anthropic, google, azure, mistral, ollama, vllm, openai-compatible"


@pytest.mark.parametrize(
    "settings",
    [
        CallSettings(),
        CallSettings(temperature=0, top_p=0, logprobs=0, max_tokens=1),
        CallSettings(temperature=2, top_p=1, logprobs=20, max_tokens=10**6),
        CallSettings(seed=-1, effort="low", stop=("###",), extra={"temperature": 99}),
    ],
    ids=["nothing set", "lowest", "highest", "what providers judge"],
)
def test_settings_at_both_ends_are_fine(settings: CallSettings) -> None:
    assert list(settings.problems()) == []


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (CallSettings(temperature=-0.1), "`temperature`: expected a number from 0 to 2, found -0.1"),
        (CallSettings(temperature=2.1), "`temperature`: expected a number from 0 to 2, found 2.1"),
        (CallSettings(temperature=nan), "`temperature`: expected a number from 0 to 2, found nan"),
        (CallSettings(top_p=1.5), "`top_p`: expected a number from 0 to 1, found 1.5"),
        (CallSettings(top_p=-inf), "`top_p`: expected a number from 0 to 1, found -inf"),
        (CallSettings(logprobs=21), "`logprobs`: expected a number from 0 to 20, found 21"),
        (CallSettings(logprobs=-1), "`logprobs`: expected a number from 0 to 20, found -1"),
        (CallSettings(max_tokens=0), "`max_tokens`: expected 1 or more, found 0"),
    ],
)
def test_a_setting_off_its_range_is_named_with_what_was_expected(settings: CallSettings, problem: str) -> None:
    assert list(settings.problems()) == [problem]


def test_every_problem_is_told_at_once() -> None:
    told = list(CallSettings(temperature=3, top_p=2, logprobs=99, max_tokens=-5).problems())
    assert [problem.split("`")[1] for problem in told] == ["temperature", "top_p", "logprobs", "max_tokens"]


def test_a_setting_nobody_knows_is_refused_and_what_is_not_set_is_not_stored() -> None:
    with pytest.raises(msgspec.ValidationError, match="temprature"):
        msgspec.convert({"temprature": 1}, type=CallSettings)
    assert msgspec.json.encode(CallSettings(seed=0)) == b'{"seed":0}'
    assert msgspec.json.encode(CallSettings()) == b"{}"


@pytest.mark.parametrize("rate", [0, -1, nan, -inf])
def test_a_rate_is_more_than_zero(rate: float) -> None:
    with pytest.raises(ValueError, match="a rate is more than zero"):
        RateLimits(requests_per_minute=rate)
    with pytest.raises(ValueError, match="a rate is more than zero"):
        RateLimits(tokens_per_minute=rate)


def test_a_rate_that_is_not_known_is_no_limit() -> None:
    assert (RateLimits().requests_per_minute, RateLimits(tokens_per_minute=0.5).requests_per_minute) == (None, None)


@pytest.mark.parametrize(
    ("patience", "problems"),
    [
        (RetryLimits(), []),
        (RetryLimits(attempts=1, seconds=0.001, first_contact=0.001), []),
        (RetryLimits(attempts=0), ["`attempts`: expected 1 or more, found 0"]),
        (RetryLimits(seconds=0), ["`seconds`: expected more than 0, found 0"]),
        (RetryLimits(seconds=inf), ["`seconds`: expected more than 0, found inf"]),
        (RetryLimits(first_contact=nan), ["`first_contact`: expected more than 0, found nan"]),
        (
            RetryLimits(attempts=-1, seconds=-1, first_contact=-1),
            [
                "`attempts`: expected 1 or more, found -1",
                "`seconds`: expected more than 0, found -1",
                "`first_contact`: expected more than 0, found -1",
            ],
        ),
    ],
)
def test_patience_has_an_end_and_a_beginning(patience: RetryLimits, problems: list[str]) -> None:
    assert list(patience.problems()) == problems


@pytest.mark.parametrize(
    ("pattern", "fine"),
    [
        ("*", True),
        ("openai:*", True),
        ("openai:gpt-5", True),
        ("ollama:llama3:8b", True),
        ("openai-compatible:x", True),
        ("openai", False),
        ("openai:", False),
        ("openai: ", False),
        (":gpt-5", False),
        ("OpenAI:gpt-5", False),
        ("acme:gpt-5", False),
        ("*:gpt-5", False),
        ("", False),
    ],
)
def test_a_rate_is_set_for_a_model_a_provider_or_all(pattern: str, fine: bool) -> None:
    expected = [] if fine else [f"expected provider:model, provider:* or *, with one of {KNOWN}"]
    assert list(rate_problems(pattern)) == expected


@given(st.sampled_from(PROVIDER_NAMES), st.text(min_size=1).filter(str.strip))
def test_any_model_of_a_known_provider_may_have_a_rate(provider: str, model: str) -> None:
    assert list(rate_problems(f"{provider}:{model}")) == []
