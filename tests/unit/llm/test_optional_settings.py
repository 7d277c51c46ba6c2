"""Settings that a model may refuse: found out once, and never in place of what the user set."""

from __future__ import annotations

import pytest

from howsure.errors import BudgetReached, ModelFailed, ModelRefused
from howsure.llm.base import ModelRequest
from howsure.llm.messages import CallSettings, ChatMessage
from howsure.llm.optional_settings import OptionalSettingsModel
from howsure.model.transcript import Role
from howsure.testing import ScriptedModel

WISHED = ("logprobs", "temperature")
RATED = CallSettings(temperature=0.0, logprobs=5, seed=7)
PLAIN = CallSettings(temperature=0.0, seed=7)


def asking(settings: CallSettings | None) -> ModelRequest:
    return ModelRequest(messages=(ChatMessage(Role.USER, "?"),), settings=settings)


def refusing(*names: str) -> ScriptedModel:
    def answer(request: ModelRequest) -> str | Exception:
        given = [name for name in names if getattr(request.settings, name, None) is not None]
        return ModelRefused(f"HTTP 400: no {given[0]}") if given else "fine"

    return ScriptedModel(answer)


def sent(model: ScriptedModel) -> list[tuple[float | None, int | None]]:
    found = [request.settings or CallSettings() for request in model.asked]
    return [(each.temperature, each.logprobs) for each in found]


@pytest.mark.parametrize(
    ("refused", "first", "second"),
    [
        ((), [(0.0, 5)], [(0.0, 5)]),
        (("logprobs",), [(0.0, 5), (0.0, None)], [(0.0, None)]),
        (("logprobs", "temperature"), [(0.0, 5), (0.0, None), (None, None)], [(None, None)]),
        (("temperature",), [(0.0, 5), (0.0, None), (None, None)], [(None, None)]),
    ],
    ids=["takes all", "no probabilities", "neither", "no temperature"],
)
async def test_what_is_refused_is_left_out_from_then_on(
    refused: tuple[str, ...],
    first: list[tuple[float | None, int | None]],
    second: list[tuple[float | None, int | None]],
) -> None:
    inner = refusing(*refused)
    model = OptionalSettingsModel(inner, WISHED)
    assert (await model.complete(asking(RATED))).text == "fine"
    assert sent(inner) == first
    inner.asked.clear()
    await model.complete(asking(RATED))
    assert sent(inner) == second
    assert all(request.settings and request.settings.seed == 7 for request in inner.asked)


async def test_what_one_shape_of_request_taught_is_not_held_against_another() -> None:
    inner = refusing("logprobs")
    model = OptionalSettingsModel(inner, WISHED)
    await model.complete(asking(PLAIN))
    await model.complete(asking(RATED))
    await model.complete(asking(None))
    assert sent(inner) == [(0.0, None), (0.0, 5), (0.0, None), (None, None)]


async def test_what_the_user_set_is_never_left_out() -> None:
    inner = refusing("temperature")
    with pytest.raises(ModelRefused, match="no temperature"):
        await OptionalSettingsModel(inner, ("logprobs",)).complete(asking(PLAIN))
    assert sent(inner) == [(0.0, None)]


async def test_a_model_that_takes_no_request_at_all_is_soon_asked_only_once_each() -> None:
    inner = ScriptedModel(ModelRefused("HTTP 401: wrong key"))
    model = OptionalSettingsModel(inner, WISHED)
    for _ in range(10):
        with pytest.raises(ModelRefused, match="wrong key"):
            await model.complete(asking(RATED))
    assert len(inner.asked) == 3 * 3 + 7


async def test_once_it_has_answered_a_refusal_is_a_refusal() -> None:
    inner = ScriptedModel("fine", ModelRefused("HTTP 400: too long"))
    model = OptionalSettingsModel(inner, WISHED)
    await model.complete(asking(RATED))
    with pytest.raises(ModelRefused, match="too long"):
        await model.complete(asking(RATED))
    assert len(inner.asked) == 2


@pytest.mark.parametrize("failure", [ModelFailed("overloaded"), BudgetReached("spent")])
async def test_other_failures_teach_nothing(failure: Exception) -> None:
    inner = ScriptedModel(failure)
    with pytest.raises(type(failure)):
        await OptionalSettingsModel(inner, WISHED).complete(asking(RATED))
    assert len(inner.asked) == 1
