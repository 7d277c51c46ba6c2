"""A YAML file with the lines on which its values start, and the keys it says twice (which PyYAML takes silently)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct

from howsure.errors import DatasetInvalid, Problem
from howsure.graders.file_findings import Path as Place


class Placed(Struct, frozen=True):
    """A document, the line of each value in it, and the places of repeated keys."""

    value: Any
    lines: dict[Place, int]
    twice: list[Place]


def read_yaml(path: Path) -> Placed:
    """The document, or DatasetInvalid: it is not YAML."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise _refused(path, "unreadable", f"cannot be read: {error}", hint="save it as UTF-8") from error
    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
        value = None if root is None else loader.construct_document(root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (None, None)
        raise _refused(path, "yaml-syntax", error.problem or "not YAML", line, column) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _refused(path, "yaml-syntax", f"not readable as YAML: {error}") from error
    finally:
        loader.dispose()
    placed = Placed(value, {}, [])
    if root is not None:
        for place, line, again in _walk(root, ()):
            placed.lines.setdefault(place, line)
            if again:
                placed.twice.append(place)
    return placed


def _walk(node: yaml.Node, place: Place) -> Iterator[tuple[Place, int, bool]]:
    yield place, node.start_mark.line + 1, False
    if isinstance(node, yaml.SequenceNode):
        for position, each in enumerate(node.value):
            yield from _walk(each, (*place, position))
    elif isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, each in node.value:
            name = str(key.value)
            yield (*place, name), key.start_mark.line + 1, name in seen
            seen.add(name)
            yield from _walk(each, (*place, name))


def _refused(
    path: Path, code: str, message: str, line: int | None = None, column: int | None = None, hint: str = ""
) -> DatasetInvalid:
    problem = Problem(code=code, message=message, file=str(path), line=line, column=column, hint=hint)
    return DatasetInvalid(str(path), [problem])
