"""A model that is asked with settings which not every model takes. Which ones do cannot be known beforehand: models
change faster than tables of them. So the settings are tried, and dropped where the provider refuses a request with them
and answers it without them."""

from __future__ import annotations

from msgspec.structs import replace

from howsure.errors import ModelRefused
from howsure.llm.base import Completion, LanguageModel, ModelRequest

MOST_REFUSALS = 3
"""Requests refused both with and without the settings, before any was answered: the cause is another, so give up."""


class OptionalSettingsModel:
    """Asks `model`. `optional` names the settings that it may refuse, the least important first."""

    def __init__(self, model: LanguageModel, optional: tuple[str, ...]) -> None:
        self.name = model.name
        self._model = model
        self._optional = optional
        self._dropped: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._refusals = 0

    async def complete(self, request: ModelRequest) -> Completion:
        settings = request.settings
        used = tuple(name for name in self._optional if getattr(settings, name, None) is not None)
        dropped = self._dropped.get(used)
        if dropped is None and used and self._refusals < MOST_REFUSALS:
            return await self._try_settings(request, used)
        return await self._model.complete(_without(request, dropped or ()))

    async def _try_settings(self, request: ModelRequest, used: tuple[str, ...]) -> Completion:
        """The answer with as many settings as the model takes; the first refusal where it refuses without any, too."""
        refusals: list[ModelRefused] = []
        for count in range(len(used) + 1):
            try:
                completion = await self._model.complete(_without(request, used[:count]))
            except ModelRefused as refusal:
                refusals.append(refusal)
                continue
            self._dropped[used] = used[:count]
            return completion
        self._refusals += 1
        raise refusals[0]


def _without(request: ModelRequest, names: tuple[str, ...]) -> ModelRequest:
    if not names or request.settings is None:
        return request
    return replace(request, settings=replace(request.settings, **dict.fromkeys(names)))
