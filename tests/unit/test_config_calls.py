"""How models are called, as howsure.yaml may say it: typed, checked, every problem in one error."""

from __future__ import annotations

from pathlib import Path

import pytest

from howsure.config import Settings, load
from howsure.errors import ConfigInvalid
from howsure.model.llm_settings import CallSettings, RateLimits, RetryLimits


def loaded(folder: Path, text: str) -> Settings:
    (folder / "howsure.yaml").write_text(text, encoding="utf-8")
    return load(folder, {})


def test_everything_about_calls_can_be_set(tmp_path: Path) -> None:
    settings = loaded(
        tmp_path,
        """
judge_settings: {temperature: 0.2, max_tokens: 800, seed: 7, logprobs: 0, effort: low}
target_settings: {temperature: 1, top_p: 0.9, stop: [END], extra: {service_tier: flex}}
batch_criteria: true
images: false
rates:
  "openai:*": {requests_per_minute: 50}
  "openai:gpt-x": {tokens_per_minute: 30000}
retry: {seconds: 60, attempts: 3}
panel:
  members: [openai:a, offline]
  settings: {"openai:a": {temperature: 1}}
""",
    )
    assert settings.judge_settings == CallSettings(temperature=0.2, max_tokens=800, seed=7, logprobs=0, effort="low")
    assert settings.target_settings == CallSettings(
        temperature=1.0, top_p=0.9, stop=("END",), extra={"service_tier": "flex"}
    )
    assert (settings.batch_criteria, settings.images) == (True, False)
    assert settings.rates == {
        "openai:*": RateLimits(requests_per_minute=50.0),
        "openai:gpt-x": RateLimits(tokens_per_minute=30000.0),
    }
    assert settings.retry == RetryLimits(seconds=60.0, attempts=3, first_contact=20.0)
    assert settings.panel is not None
    assert settings.panel.settings == {"openai:a": CallSettings(temperature=1.0)}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("judge_settings: {temprature: 0}\n", "`judge_settings`: Object contains unknown field `temprature`"),
        ("judge_settings: {temperature: 3}\n", "`temperature`: expected a number from 0 to 2, found 3.0"),
        ("judge_settings: {temperature: .nan}\n", "`temperature`: expected a number from 0 to 2, found nan"),
        ("judge_settings: {logprobs: 21}\n", "`logprobs`: expected a number from 0 to 20, found 21"),
        ("target_settings: {max_tokens: 0}\n", "`target_settings`: `max_tokens`: expected 1 or more, found 0"),
        ("target_settings: {top_p: -1}\n", "`top_p`: expected a number from 0 to 1, found -1.0"),
        ("batch_criteria: maybe\n", "`batch_criteria`: Expected `bool`, got `str`"),
        ("rates: {opnai:*: {requests_per_minute: 5}}\n", "`rates`: 'opnai:*': expected provider:model"),
        ("rates: {gpt-5: {requests_per_minute: 5}}\n", "`rates`: 'gpt-5': expected provider:model"),
        ("rates: {'openai:': {requests_per_minute: 5}}\n", "`rates`: 'openai:': expected provider:model"),
        ("rates: {'*': {requests_per_minute: 0}}\n", "a rate is more than zero"),
        ("rates: {'*': {per_second: 1}}\n", "unknown field `per_second`"),
        ("retry: {attempts: 0}\n", "`retry`: `attempts`: expected 1 or more, found 0"),
        ("retry: {seconds: 0, first_contact: .inf}\n", "`first_contact`: expected more than 0, found inf"),
        (
            "panel: {members: [offline], settings: {openai:a: {seed: 1}}}\n",
            "`panel.settings`: 'openai:a' is not among the members offline",
        ),
        (
            "panel: {members: [openai:a], settings: {openai:a: {top_p: 2}}}\n",
            "`panel.settings.openai:a`: `top_p`: expected a number from 0 to 1, found 2.0",
        ),
    ],
)
def test_a_wrong_one_is_named(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        loaded(tmp_path, text)
    assert told in str(caught.value)


def test_all_of_them_come_in_one_error(tmp_path: Path) -> None:
    text = "judge_settings: {temperature: 9, top_p: 9}\nretry: {attempts: 0, seconds: -1}\nrates: {x: {}, 'y:z': {}}\n"
    with pytest.raises(ConfigInvalid) as caught:
        loaded(tmp_path, text)
    assert [str(caught.value).count(place) for place in ("`judge_settings`", "`retry`", "`rates`")] == [2, 2, 2]
