"""The differences between two versions of a document, each with the path of the field. Elements of a list are matched
by their ids where they have some, so that moving an element counts as a move and not as a change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

import msgspec
from msgspec import Struct

IDS = ("id", "item_id", "question_id", "type")


class DocumentDifferenceKind(Enum):
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    MOVED = "moved"


class DocumentDifference(Struct, frozen=True, kw_only=True):
    """One field that differs. `before` and `after` are None where there is no value."""

    path: str
    kind: DocumentDifferenceKind
    before: Any = None
    after: Any = None


def body_differences(before: bytes, after: bytes) -> Iterator[DocumentDifference]:
    """The differences between two stored JSON objects. Fields with equal bytes are not parsed."""
    fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
    old, new = fields(before), fields(after)
    same = {name for name, text in old.items() if name in new and bytes(text) == bytes(new[name])}
    rest = [{name: msgspec.json.decode(text) for name, text in body.items() if name not in same} for body in (old, new)]
    return find_differences(rest[0], rest[1])


def find_differences(before: Any, after: Any, path: str = "") -> Iterator[DocumentDifference]:
    """Every difference between two JSON values, in the order of the fields."""
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _compare_parts(before, after, f"{path}." if path else "", "")
    elif _have_ids(before) and _have_ids(after):
        old, new = ({_id(each): each for each in elements} for elements in (before, after))
        yield from _compare_parts(old, new, f"{path}[", "]")
        if [key for key in old if key in new] != [key for key in new if key in old]:
            yield DocumentDifference(path=path, kind=DocumentDifferenceKind.MOVED, before=list(old), after=list(new))
    # In Python True equals 1; in JSON it does not.
    elif isinstance(before, bool) is not isinstance(after, bool) or before != after:
        yield DocumentDifference(path=path, kind=DocumentDifferenceKind.CHANGED, before=before, after=after)


def _compare_parts(
    old: Mapping[str, Any], new: Mapping[str, Any], before_key: str, after_key: str
) -> Iterator[DocumentDifference]:
    for key in dict.fromkeys((*old, *new)):
        field_path = f"{before_key}{key}{after_key}"
        if key not in new:
            yield DocumentDifference(path=field_path, kind=DocumentDifferenceKind.REMOVED, before=old[key])
        elif key not in old:
            yield DocumentDifference(path=field_path, kind=DocumentDifferenceKind.ADDED, after=new[key])
        elif msgspec.json.encode(old[key]) != msgspec.json.encode(new[key]):
            # Most entries are unchanged, and comparing bytes is fast; Python's `==` would treat True as 1.
            yield from find_differences(old[key], new[key], field_path)


def _id(element: Any) -> str:
    return next((str(element[name]) for name in IDS if isinstance(element, dict) and element.get(name)), "")


def _have_ids(value: Any) -> bool:
    """Whether this is a list in which every element has an id of its own; an empty list counts."""
    if not isinstance(value, list):
        return False
    ids = [_id(each) for each in value]
    return all(ids) and len(set(ids)) == len(ids)
