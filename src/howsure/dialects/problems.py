"""What is wrong with a value: every violation of a JSON Schema as a Problem with a stable code, the path of the field,
what was expected, what was found and what to do; unknown fields as warnings. strict_json.py is about the text itself.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from jsonschema import Draft202012Validator

from howsure.dialects.strict_json import field_path
from howsure.dialects.violations import faults, leaves
from howsure.dialects.wording import did_you_mean, shown
from howsure.errors import Level, Problem


class Checker:
    """A schema (2020-12), made ready to check many values."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = _placed(schema)
        self._validator = Draft202012Validator(self._schema)

    def problems(self, value: Any, *, file: str, line: int | None, prefix: str = "") -> list[Problem]:
        """Every violation, at the field that causes it. `prefix` is the path of `value` itself.

        A subschema's `description` is the hint of the problems it finds.
        """
        found: dict[tuple[str, str], Problem] = {}
        for error in leaves(self._validator.iter_errors(value)):
            described = error.schema.get("description", "") if isinstance(error.schema, Mapping) else ""
            for fault in faults(error, self._schema):
                path = field_path((*error.absolute_path, *fault.below), prefix)
                problem = Problem(
                    code=fault.code,
                    message=fault.message,
                    file=file,
                    line=line,
                    field=path,
                    expected=fault.expected,
                    found=fault.found,
                    hint=fault.hint or described,
                )
                found.setdefault((fault.code, path), problem)
        return _without_moot(list(found.values()))


def schema_problems(
    schema: Mapping[str, Any], value: Any, *, file: str, line: int | None, prefix: str = ""
) -> list[Problem]:
    """Every violation of `schema`, at the field that causes it. Whoever checks many values keeps a `Checker`."""
    return Checker(schema).problems(value, file=file, line=line, prefix=prefix)


def unknown_fields(
    value: Mapping[str, Any], known: Collection[str], *, file: str, line: int | None, prefix: str = ""
) -> list[Problem]:
    """A warning for each field that is not one of `known`."""
    return [
        Problem(
            code="unknown-field",
            message=f"`{name}` is not a field of this format; it is kept",
            file=file,
            line=line,
            field=field_path([name], prefix),
            found=shown(value[name]),
            hint=did_you_mean(name, known),
            level=Level.WARNING,
        )
        for name in value
        if name not in known
    ]


def _without_moot(problems: list[Problem]) -> list[Problem]:
    """What else is wrong with a field that must not be there at all is of no interest."""
    forbidden = tuple(problem.field for problem in problems if problem.code == "forbidden-field")
    inside = tuple(f"{field}{mark}" for field in forbidden for mark in (".", "["))
    return [
        problem
        for problem in problems
        if problem.code == "forbidden-field"
        or (problem.field not in forbidden and not problem.field.startswith(inside))
    ]


def _placed(schema: Any) -> Any:
    """The same schema with `{"not": {}}` for `false` among properties: the library loses the place of the latter."""
    if isinstance(schema, Mapping):
        return {
            key: {name: {"not": {}} if rule is False else _placed(rule) for name, rule in value.items()}
            if key == "properties"
            else _placed(value)
            for key, value in schema.items()
        }
    return [_placed(part) for part in schema] if isinstance(schema, list) else schema
