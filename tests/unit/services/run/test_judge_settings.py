"""How judges are asked where the settings say nothing, and where they say something."""

from __future__ import annotations

import pytest

from howsure.model.llm_settings import PROVIDER_NAMES, CallSettings
from howsure.services.run.judges import judge_settings_for


@pytest.mark.parametrize("provider", PROVIDER_NAMES)
def test_judges_are_asked_without_randomness_and_with_probabilities_where_there_are_any(provider: str) -> None:
    manner = judge_settings_for(provider, CallSettings())
    has = provider not in ("anthropic", "mistral")
    assert manner.settings == CallSettings(temperature=0.0)
    assert manner.rated == CallSettings(temperature=0.0, logprobs=5 if has else None)
    assert manner.optional == (("logprobs", "temperature") if has else ("temperature",))


@pytest.mark.parametrize(
    ("given", "settings", "logprobs", "wished"),
    [
        (CallSettings(temperature=0.7), CallSettings(temperature=0.7), 5, ("logprobs",)),
        (CallSettings(logprobs=0), CallSettings(temperature=0.0), None, ("temperature",)),
        (CallSettings(logprobs=3), CallSettings(temperature=0.0), 3, ("temperature",)),
        (CallSettings(temperature=1.0, logprobs=2, seed=4), CallSettings(temperature=1.0, seed=4), 2, ()),
        (CallSettings(effort="low"), CallSettings(effort="low", temperature=0.0), 5, ("logprobs", "temperature")),
    ],
    ids=["a temperature", "no probabilities", "three alternatives", "everything", "an effort"],
)
def test_what_is_set_is_kept_and_not_merely_wished_for(
    given: CallSettings, settings: CallSettings, logprobs: int | None, wished: tuple[str, ...]
) -> None:
    manner = judge_settings_for("openai", given)
    assert manner.settings == settings
    assert manner.rated.logprobs == logprobs
    assert manner.optional == wished


def test_a_judge_that_votes_keeps_its_randomness() -> None:
    assert judge_settings_for("openai", CallSettings(), votes=3).settings == CallSettings()
    assert judge_settings_for("openai", CallSettings(temperature=0.0), votes=3).settings.temperature == 0.0
