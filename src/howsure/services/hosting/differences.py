"""What changed between two versions of a document: every place, named as a person would name it. Elements of a list
that have ids are matched by them, so that moving one changes nothing but its place."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

import msgspec
from msgspec import Struct

IDS = ("id", "item_id", "question_id", "type")


class Kind(Enum):
    """What became of a place."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    MOVED = "moved"


class Difference(Struct, frozen=True, kw_only=True):
    """One place that is not as it was. `before` and `after` are None where there is nothing."""

    path: str
    kind: Kind
    before: Any = None
    after: Any = None


def of_bodies(before: bytes, after: bytes) -> Iterator[Difference]:
    """Between two JSON objects as they are stored: fields that are the same, byte for byte, are not read."""
    fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
    old, new = fields(before), fields(after)
    same = {name for name, text in old.items() if name in new and bytes(text) == bytes(new[name])}
    return differences(_decoded(old, same), _decoded(new, same))


def _decoded(fields: Mapping[str, msgspec.Raw], but: Collection[str]) -> dict[str, Any]:
    return {name: msgspec.json.decode(text) for name, text in fields.items() if name not in but}


def differences(before: Any, after: Any, path: str = "") -> Iterator[Difference]:
    """Every difference between two JSON values, in the order of their places."""
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _of_objects(before, after, path)
    elif _have_ids(before) and _have_ids(after):
        yield from _of_elements(before, after, path)
    elif _unlike(before, after):
        yield Difference(path=path, kind=Kind.CHANGED, before=before, after=after)


def _of_objects(before: Mapping[str, Any], after: Mapping[str, Any], path: str) -> Iterator[Difference]:
    for name in dict.fromkeys((*before, *after)):
        place = f"{path}.{name}" if path else name
        if name not in after:
            yield Difference(path=place, kind=Kind.REMOVED, before=before[name])
        elif name not in before:
            yield Difference(path=place, kind=Kind.ADDED, after=after[name])
        else:
            yield from differences(before[name], after[name], place)


def _of_elements(before: Sequence[Any], after: Sequence[Any], path: str) -> Iterator[Difference]:
    old, new = _by_id(before), _by_id(after)
    yield from _of_objects_by_id(old, new, path)
    kept = [key for key in old if key in new]
    if kept != [key for key in new if key in old]:
        yield Difference(path=path, kind=Kind.MOVED, before=list(old), after=list(new))


def _of_objects_by_id(old: Mapping[str, Any], new: Mapping[str, Any], path: str) -> Iterator[Difference]:
    for key in dict.fromkeys((*old, *new)):
        place = f"{path}[{key}]"
        if key not in new:
            yield Difference(path=place, kind=Kind.REMOVED, before=old[key])
        elif key not in old:
            yield Difference(path=place, kind=Kind.ADDED, after=new[key])
        elif msgspec.json.encode(old[key]) != msgspec.json.encode(new[key]):
            # Most entries are as they were, and that is seen at once; Python's own `==` takes True for 1.
            yield from differences(old[key], new[key], place)


def _unlike(before: Any, after: Any) -> bool:
    """Python takes True for 1; a reader of JSON does not."""
    return isinstance(before, bool) is not isinstance(after, bool) or bool(before != after)


def _by_id(elements: Sequence[Any]) -> dict[str, Any]:
    return {_id(each): each for each in elements}


def _id(element: Any) -> str:
    return next((str(element[name]) for name in IDS if isinstance(element, dict) and element.get(name)), "")


def _have_ids(value: Any) -> bool:
    """A list of which every element has an id of its own; an empty one has."""
    if not isinstance(value, list):
        return False
    ids = [_id(each) for each in value]
    return all(ids) and len(set(ids)) == len(ids)
