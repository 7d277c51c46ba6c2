"""Every value of every valid JSON input becomes, one after the other, something of another kind; and every field is
left out once. Random changes meet a single place only by luck."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from fuzz.target import Target, attempt
from fuzz.targets import TARGETS

ODD: tuple[Any, ...] = ([1], {"a": 1}, 5, "x", None)
DOCUMENTS = 3
"""The first lines of a JSON Lines input: the others have the same fields."""
Path = tuple[str | int, ...]


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from places(each, (*path, key))


def with_value(value: Any, path: Path, *new: Any) -> Any:
    """A copy with this value at the place; without one, the place is left out."""
    if not path:
        return new[0]
    copy, key = value.copy(), path[0]
    if len(path) == 1 and not new:
        del copy[key]
    else:
        copy[key] = with_value(value[key], path[1:], *new)
    return copy


def changes(data: bytes) -> Iterator[bytes]:
    try:
        documents = [json.loads(data)]
    except ValueError:
        documents = [json.loads(line) for line in data.splitlines() if line.strip()]
    for number, document in enumerate(documents[:DOCUMENTS]):
        for path in places(document):
            made = [with_value(document, path, odd) for odd in ODD] + ([with_value(document, path)] if path else [])
            for each in made:
                changed = [*documents[:number], each, *documents[number + 1 :]]
                yield b"\n".join(json.dumps(one).encode() for one in changed)


def is_json(data: bytes) -> bool:
    try:
        return all(isinstance(each, dict | list) for each in [json.loads(data)])
    except ValueError:
        lines = data.splitlines()
    try:
        return bool(lines) and all(isinstance(json.loads(line), dict) for line in lines if line.strip())
    except ValueError:
        return False


JSON_TARGETS = [each for each in TARGETS if any(map(is_json, each.seeds))]


@pytest.mark.thorough
@pytest.mark.parametrize("target", JSON_TARGETS, ids=lambda each: each.name)
def test_a_value_of_another_kind_is_answered_at_every_place(target: Target) -> None:
    finds: dict[str, str] = {}
    for seed in filter(is_json, target.seeds):
        for data in changes(seed):
            if found := attempt(target, data):
                finds.setdefault(found.key, found.trace)
    assert not finds, "\n".join(finds.values())
