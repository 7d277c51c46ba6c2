"""A quick yes or no on a JSON Schema: most rows of a file are fine, and a plain function says so a hundred times faster
than the library does. A row that does not fit is read again by problems.py, which says why. Only the keywords that our
own schemas use are known; any other is refused when the schema is made ready, so none is ever silently ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from howsure.dialects.json_places import Spot
from howsure.dialects.problems import Checker
from howsure.errors import Problem

Fit = Callable[[Any], bool]
_NOTES = {"$schema", "$id", "title", "description", "default", "examples"}


def fit(schema: Mapping[str, Any]) -> Fit:
    """A function that tells whether a value fulfils the schema."""
    checks = [_CHECKS[key](schema) for key in schema if key not in _NOTES and key not in ("then", "else")]
    if schema.get("type") == "object":
        return _both(_object(schema), [key for key in schema if key not in _OBJECT], schema)
    if schema.get("type") == "array":
        return _both(_array(schema), [key for key in schema if key not in _ARRAY], schema)
    return checks[0] if len(checks) == 1 else _all(checks)


def _both(first: Fit, others: Sequence[str], schema: Mapping[str, Any]) -> Fit:
    checks = [_CHECKS[key](schema) for key in others if key not in _NOTES and key not in ("then", "else")]
    return _all([first, *checks]) if checks else first


def _all(checks: Sequence[Fit]) -> Fit:
    def fits(value: Any) -> bool:
        for check in checks:  # noqa: SIM110 (a plain loop is twice as quick)
            if not check(value):
                return False
        return True

    return fits


_OBJECT = ("type", "required", "properties", "additionalProperties")
_ARRAY = ("type", "items")


def _object(schema: Mapping[str, Any]) -> Fit:
    """The keywords of most objects in one loop over what is there, not over what could be."""
    required = set(schema.get("required", ()))
    rules = {name: fit(rule) for name, rule in schema.get("properties", {}).items()}
    others = schema.get("additionalProperties", True)
    other: Fit = fit(others) if isinstance(others, Mapping) else lambda _: others is True

    def fits(value: Any) -> bool:
        if type(value) is not dict or not value.keys() >= required:
            return False
        for name, inner in value.items():  # noqa: SIM110
            if not rules.get(name, other)(inner):
                return False
        return True

    return fits


def _array(schema: Mapping[str, Any]) -> Fit:
    check = fit(schema.get("items", {}))

    def fits(value: Any) -> bool:
        if type(value) is not list:
            return False
        for element in value:  # noqa: SIM110
            if not check(element):
                return False
        return True

    return fits


class Shape:
    """A schema, ready for many values: the quick answer first, the library only where it is no."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = schema
        self.fits = fit(schema)
        self._checker = Checker(schema)

    def problems(self, value: Any, spot: Spot) -> list[Problem]:
        if self.fits(value):
            return []
        return self._checker.problems(value, file=spot.file, line=spot.line, prefix=spot.prefix)


def _type(schema: Mapping[str, Any]) -> Fit:
    names = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    kinds = frozenset(kind for name in names for kind in _KINDS[name])
    # By the very type: Python counts True as an integer; JSON does not.
    if len(kinds) > 1:
        return lambda value: type(value) in kinds
    (kind,) = kinds
    return lambda value: type(value) is kind


def _properties(schema: Mapping[str, Any]) -> Fit:
    rules = {name: fit(rule) for name, rule in schema["properties"].items()}

    def fits(value: Any) -> bool:
        if type(value) is not dict:
            return True
        for name, inner in value.items():  # noqa: SIM110
            if name in rules and not rules[name](inner):
                return False
        return True

    return fits


def _additional(schema: Mapping[str, Any]) -> Fit:
    rule, known = schema["additionalProperties"], set(schema.get("properties", ()))
    if rule is True:
        return lambda value: True
    if rule is False:
        return lambda value: not isinstance(value, dict) or value.keys() <= known
    check = fit(rule)
    return lambda value: (
        not isinstance(value, dict) or all(check(inner) for name, inner in value.items() if name not in known)
    )


def _required(schema: Mapping[str, Any]) -> Fit:
    names = set(schema["required"])
    return lambda value: not isinstance(value, dict) or value.keys() >= names


def _elements(schema: Mapping[str, Any]) -> Fit:
    check = fit(schema["items"])
    return lambda value: not isinstance(value, list) or all(map(check, value))


def _at_least(schema: Mapping[str, Any]) -> Fit:
    least: int = schema["minItems"]
    return lambda value: not isinstance(value, list) or len(value) >= least


def _unique(_: Mapping[str, Any]) -> Fit:
    """Only lists of texts are said to be unique by our schemas; other values are left to the slow check."""
    return lambda value: (
        not isinstance(value, list) or (all(isinstance(one, str) for one in value) and len(set(value)) == len(value))
    )


def _pattern(schema: Mapping[str, Any]) -> Fit:
    search = re.compile(schema["pattern"]).search
    return lambda value: not isinstance(value, str) or search(value) is not None


def _minimum(schema: Mapping[str, Any]) -> Fit:
    least = schema["minimum"]
    return lambda value: not isinstance(value, int | float) or value >= least


def _enum(schema: Mapping[str, Any]) -> Fit:
    allowed: Sequence[Any] = schema["enum"]
    if all(type(one) is str for one in allowed):
        words = frozenset(allowed)
        return lambda value: type(value) is str and value in words
    return lambda value: any(value == one and type(value) is type(one) for one in allowed)


def _const(schema: Mapping[str, Any]) -> Fit:
    wanted = schema["const"]
    return lambda value: bool(value == wanted) and type(value) is type(wanted)


def _any_of(schema: Mapping[str, Any]) -> Fit:
    checks = [fit(form) for form in schema["anyOf"]]

    def fits(value: Any) -> bool:
        for check in checks:  # noqa: SIM110
            if check(value):
                return True
        return False

    return fits


def _all_of(schema: Mapping[str, Any]) -> Fit:
    return _all([fit(form) for form in schema["allOf"]])


def _if(schema: Mapping[str, Any]) -> Fit:
    condition = fit(schema["if"])
    then, otherwise = fit(schema.get("then", {})), fit(schema.get("else", {}))
    return lambda value: then(value) if condition(value) else otherwise(value)


_KINDS: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_CHECKS: dict[str, Callable[[Mapping[str, Any]], Fit]] = {
    "type": _type,
    "properties": _properties,
    "additionalProperties": _additional,
    "required": _required,
    "items": _elements,
    "minItems": _at_least,
    "uniqueItems": _unique,
    "pattern": _pattern,
    "minimum": _minimum,
    "enum": _enum,
    "const": _const,
    "anyOf": _any_of,
    "allOf": _all_of,
    "if": _if,
}
