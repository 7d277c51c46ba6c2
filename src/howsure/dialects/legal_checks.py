"""What the schema of `legal_eval_v1` cannot say about a row: ids that repeat or refer to nothing, attachments that
leave their folder, weights that are no usable numbers. Parts of a wrong type are passed over: the schema names those.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from sys import float_info
from typing import Any

from howsure.dialects import extras
from howsure.dialects.attachments import attachment_problems
from howsure.dialects.json_places import Spot
from howsure.dialects.lines import Ids
from howsure.dialects.wording import shown
from howsure.errors import Problem

Placed = tuple[tuple[str | int, ...], str]
"""A path and the id that stands there."""


def row_problems(row: Mapping[str, Any], spot: Spot, ids: Ids, folder: Path) -> Iterator[Problem]:
    id = row.get("id")
    if isinstance(id, str) and spot.line is not None and not ids.is_new(id, spot.line):
        yield ids.repeated(id, spot)
    choices = _placed_ids(row, "choices")
    yield from _repeated(choices, spot, "choice")
    yield from _repeated(_placed_ids(row, "rubric"), spot, "criterion")
    yield from _correct(row, {id for _, id in choices}, spot)
    yield from _weights(row, spot)
    paths = [one.get("path") for one in _objects(row, "attachments")]
    yield from path_problems(paths, folder, spot)
    if isinstance(row.get("metadata"), dict) and extras.KEY in row["metadata"]:
        message = f"the key `{extras.KEY}` is reserved: unknown fields are kept under it"
        yield spot.below("metadata", extras.KEY).problem("reserved-key", message, hint="rename it")


def path_problems(paths: Iterable[Any], folder: Path, spot: Spot) -> Iterator[Problem]:
    """`paths` of the attachments, in their order."""
    for index, path in enumerate(paths):
        if isinstance(path, str) and path.strip():
            yield from attachment_problems(path, folder, spot.below("attachments", index, "path"))


def _objects(row: Mapping[str, Any], field: str) -> list[dict[str, Any]]:
    """The elements of a list; an empty object for one that is no object."""
    listed = row.get(field)
    return [one if isinstance(one, dict) else {} for one in listed] if isinstance(listed, list) else []


def _placed_ids(row: Mapping[str, Any], field: str) -> list[Placed]:
    listed = enumerate(_objects(row, field))
    return [((field, index, "id"), one["id"]) for index, one in listed if isinstance(one.get("id"), str)]


def _repeated(ids: Iterable[Placed], spot: Spot, what: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for path, id in ids:
        if id in seen:
            message = f"the {what} id {shown(id)} stands twice"
            yield spot.below(*path).problem(f"duplicate-{what}-id", message, found=shown(id), hint="ids must be unique")
        seen.add(id)


def _correct(row: Mapping[str, Any], choices: set[str], spot: Spot) -> Iterator[Problem]:
    listed = row.get("correct_choice_ids")
    given = enumerate(listed if isinstance(listed, list) else ())
    named: list[Placed] = [(("correct_choice_ids", index), id) for index, id in given if isinstance(id, str)]
    yield from _repeated(named, spot, "correct")
    for path, id in named:
        if choices and id not in choices and id.strip():
            message, known = f"no choice has the id {shown(id)}", ", ".join(sorted(choices))
            yield spot.below(*path).problem("unknown-correct-id", message, expected=known, found=shown(id))


def _weights(row: Mapping[str, Any], spot: Spot) -> Iterator[Problem]:
    for index, one in enumerate(_objects(row, "rubric")):
        weight = one.get("weight")
        if isinstance(weight, int) and abs(weight) > float_info.max:
            place = spot.below("rubric", index, "weight")
            yield place.problem("out-of-range", "is too large for a weight", found=shown(weight))
