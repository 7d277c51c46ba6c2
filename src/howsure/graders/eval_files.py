"""What the readers of eval files share: a collection of all problems with their fields and lines, and a YAML file with
the lines of its values. The two formats are read in custom_eval_file.py and definitions.py."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct

from howsure.config import load_yaml
from howsure.errors import DatasetInvalid, Level, Problem

FieldPath = tuple[str | int, ...]

LONGEST_SHOWN = 60


class FileProblems:
    """The problems of one file, collected while it is read. `lines` has the line on which the value at a path
    starts."""

    def __init__(self, file: str, lines: Mapping[FieldPath, int] | None = None) -> None:
        self.file = file
        self.lines = lines or {}
        self.problems: list[Problem] = []

    def add(
        self,
        code: str,
        path: FieldPath,
        message: str,
        *,
        expected: str = "",
        found: str = "",
        hint: str = "",
        level: Level = Level.ERROR,
    ) -> None:
        self.problems.append(
            Problem(
                code=code,
                message=message,
                file=self.file,
                line=self.line_of(path),
                field=field_name(path),
                expected=expected,
                found=found,
                hint=hint,
                level=level,
            )
        )

    def add_wrong_type(self, path: FieldPath, expected: str, value: Any) -> None:
        """A value of the wrong kind."""
        self.add("wrong-type", path, f"must be {expected}", expected=expected, found=short_json(value))

    def add_unknown_fields(
        self, path: FieldPath, fields: Iterable[Any], known: Sequence[str], what: str, level: Level = Level.ERROR
    ) -> None:
        """The fields of an object at `path` that the format does not have."""
        for name in map(str, fields):
            if name not in known:
                message, expected = f"`{name}` is not a field of {what}", ", ".join(known)
                hint = did_you_mean(name, known)
                self.add("unknown-field", (*path, name), message, expected=expected, found=name, hint=hint, level=level)

    def line_of(self, path: FieldPath) -> int | None:
        """The line of the value at this path; if there is none, the line of what would hold it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path)

    @property
    def errors(self) -> list[Problem]:
        return [problem for problem in self.problems if problem.level is Level.ERROR]

    @property
    def warnings(self) -> list[Problem]:
        return [problem for problem in self.problems if problem.level is Level.WARNING]

    def raise_errors(self) -> None:
        """Raises DatasetInvalid with every error; does nothing if there is none."""
        if self.errors:
            raise DatasetInvalid(self.file, self.errors)


def field_name(path: FieldPath) -> str:
    """`evals[2].scale.max`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def short_json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(name, list(known), n=1)
    return f"did you mean `{close[0]}`?" if close else ""


class YamlDocument(Struct, frozen=True):
    """A YAML document, the line of each value in it, and the paths of repeated keys (PyYAML accepts them silently)."""

    value: Any
    lines: dict[FieldPath, int]
    repeated: list[FieldPath]


def read_yaml(path: Path) -> YamlDocument:
    """The document, or DatasetInvalid if it is not YAML."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise _file_error(path, "unreadable", f"cannot be read: {error}", hint="save it as UTF-8") from error
    try:
        root, value = load_yaml(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (None, None)
        raise _file_error(path, "yaml-syntax", error.problem or "not YAML", line, column) from error
    except yaml.YAMLError as error:
        raise _file_error(path, "yaml-syntax", f"not readable as YAML: {error}") from error
    document = YamlDocument(value, {}, [])
    if root is not None:
        for place, line, repeated in _walk_nodes(root, ()):
            document.lines.setdefault(place, line)
            if repeated:
                document.repeated.append(place)
    return document


def _walk_nodes(node: yaml.Node, place: FieldPath) -> Iterator[tuple[FieldPath, int, bool]]:
    yield place, node.start_mark.line + 1, False
    if isinstance(node, yaml.SequenceNode):
        for position, each in enumerate(node.value):
            yield from _walk_nodes(each, (*place, position))
    elif isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, each in node.value:
            name = str(key.value)
            yield (*place, name), key.start_mark.line + 1, name in seen
            seen.add(name)
            yield from _walk_nodes(each, (*place, name))


def _file_error(
    path: Path, code: str, message: str, line: int | None = None, column: int | None = None, hint: str = ""
) -> DatasetInvalid:
    problem = Problem(code=code, message=message, file=str(path), line=line, column=column, hint=hint)
    return DatasetInvalid(str(path), [problem])
