"""Whether the matchers in expected arguments are well formed (`{"$regex": "…"}` …): a misspelt or half-written one is
found before anything runs, with its place in the file. What each takes and matches is for howsure.matching.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from howsure.dialects.json_places import Spot
from howsure.dialects.wording import did_you_mean, shown
from howsure.errors import Problem
from howsure.matching.matchers import MATCHERS

_NESTING = ("$one_of", "$optional", "$contains")


def matcher_problems(value: Any, spot: Spot) -> Iterator[Problem]:
    """Every malformed matcher in an expected value, however deep."""
    if isinstance(value, list):
        for place, inner in enumerate(value):
            yield from matcher_problems(inner, spot.below(place))
    elif isinstance(value, dict):
        name = next((key for key in value if key.startswith("$")), None)
        if name is not None:
            yield from _matcher(name, value, spot)
            return
        for key, inner in value.items():
            yield from matcher_problems(inner, spot.below(key))


def _matcher(name: str, value: dict[str, Any], spot: Spot) -> Iterator[Problem]:
    kind = MATCHERS.get(name)
    if kind is None:
        known, hint = ", ".join(MATCHERS), did_you_mean(name, MATCHERS)
        yield spot.below(name).problem(
            "bad-matcher", f"`{name}` is no matcher", expected=known, found=shown(value), hint=hint
        )
        return
    for other in value:
        if other not in kind.keys:
            message, hint = f"`{other}` cannot stand beside `{name}`", "put the matcher in an object of its own"
            yield spot.below(other).problem("bad-matcher", message, found=shown(value), hint=hint)
    # What is inside is looked at below, where its place is known.
    malformed = kind.check(value, name, lambda inner, path: [])
    for sentence in malformed:
        yield spot.below(name).problem("bad-matcher", sentence.partition(": ")[2] or sentence, found=shown(value))
    if name in _NESTING and not malformed:
        yield from matcher_problems(value[name], spot.below(name))
