"""A model that is asked with settings which not every model has. Which do cannot be known beforehand: names change
faster than tables of them. So they are tried, and left out from then on where the provider says no without them yes."""

from __future__ import annotations

from msgspec.structs import replace

from howsure.errors import ModelRefused
from howsure.llm.base import Completion, LanguageModel, Request

HOPELESS = 3
"""Requests refused with and without, before any was answered: the trouble is another, and no more is tried."""


class Lenient:
    """Asks `model`. `wished` are the names of settings that it may refuse, the least important first."""

    def __init__(self, model: LanguageModel, wished: tuple[str, ...]) -> None:
        self.name = model.name
        self._model = model
        self._wished = wished
        self._known: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._refused = 0

    async def complete(self, request: Request) -> Completion:
        settings = request.settings
        given = tuple(name for name in self._wished if getattr(settings, name, None) is not None)
        refused = self._known.get(given)
        if refused is None and given and self._refused < HOPELESS:
            return await self._found_out(request, given)
        return await self._model.complete(_without(request, refused or ()))

    async def _found_out(self, request: Request, given: tuple[str, ...]) -> Completion:
        """The answer with as many of them as the model takes; the first refusal where it takes none of it."""
        refusals: list[ModelRefused] = []
        for count in range(len(given) + 1):
            try:
                completion = await self._model.complete(_without(request, given[:count]))
            except ModelRefused as refusal:
                refusals.append(refusal)
                continue
            self._known[given] = given[:count]
            return completion
        self._refused += 1
        raise refusals[0]


def _without(request: Request, names: tuple[str, ...]) -> Request:
    if not names or request.settings is None:
        return request
    return replace(request, settings=replace(request.settings, **dict.fromkeys(names)))
