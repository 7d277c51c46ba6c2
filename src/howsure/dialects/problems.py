"""Problems in values: every violation of a JSON Schema as a Problem with a stable code, the path of the field, what was
expected, what was found and a hint; unknown fields as warnings; the place (`Spot`) that a problem names, and the words
it is told in. strict_json.py checks the text itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from difflib import get_close_matches
from functools import lru_cache
from importlib.resources import files
from typing import Any

import jsonschema_rs
import msgspec
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from msgspec import Struct
from msgspec.structs import replace

from howsure.dialects.strict_json import field_path
from howsure.errors import MAX_PROBLEMS, Level, Problem, message_of

SHOWN = 60
"""Characters of a found value that a problem shows."""

_KINDS: dict[type, str] = {
    bool: "boolean",
    str: "string",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
    type(None): "null",
}


def shown(value: Any) -> str:
    """A value as JSON, short enough to print."""
    text = json.dumps(value, ensure_ascii=False, default=repr)
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def kind_of(value: Any) -> str:
    """The JSON name of a value's type."""
    return _KINDS.get(type(value), type(value).__name__)


def with_article(noun: str) -> str:
    """`an array`, `a string or object`."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


OTHER_SHAPE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
"""The errors of reading a file that does not have the shape of its tool."""


def shape_fault(error: Exception) -> str:
    """What is wrong with the shape, for the person who brought the file."""
    return f"the field {error} is missing" if isinstance(error, KeyError) else message_of(error)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`did you mean …?`, or nothing. Capitals do not matter."""
    return _guess(name, tuple(known))


@lru_cache(maxsize=4096)  # the same slip stands on every line of a file
def _guess(name: str, known: tuple[str, ...]) -> str:
    plain = {word.lower(): word for word in known}
    close = get_close_matches(name.lower(), list(plain), n=1)
    return f"did you mean `{plain[close[0]]}`?" if close else ""


class Spot(Struct, frozen=True):
    """A place in a file; `prefix` is the path of the current field."""

    file: str
    line: int | None = None
    prefix: str = ""

    def below(self, *path: str | int) -> Spot:
        return Spot(self.file, self.line, field_path(path, self.prefix))

    def problem(self, code: str, message: str, *, expected: str = "", found: str = "", hint: str = "") -> Problem:
        return Problem(
            code=code,
            message=message,
            file=self.file,
            line=self.line,
            field=self.prefix,
            expected=expected,
            found=found,
            hint=hint,
        )

    def warning(self, code: str, message: str, *, found: str = "", hint: str = "") -> Problem:
        return replace(self.problem(code, message, found=found, hint=hint), level=Level.WARNING)


NOT_BLANK = r"\S"
"""The pattern that our schemas use for "must not be blank"."""
_RUST_NOT_BLANK = r"[^\s\x1c-\x1f\x85]"


class Violation(Struct, frozen=True):
    """One schema keyword that a value breaks, and where; `when` is ` for task_type mcq` where the rule is conditional,
    `hint` what the schema says about the value."""

    keyword: str
    wanted: Any
    value: Any
    spot: Spot
    known: Sequence[str]
    when: str
    name: str
    hint: str

    def problem(self, code: str, message: str, expected: str = "", hint: str = "") -> Problem:
        found, hint = shown(self.value), hint or self.hint
        return self.spot.problem(code, f"{message}{self.when}", expected=expected, found=found, hint=hint)


def leaves(errors: Iterable[ValidationError]) -> Iterator[ValidationError]:
    """The violations inside a `oneOf` or `anyOf` error, which itself only says that no form fits."""
    for error in errors:
        if error.validator in ("oneOf", "anyOf") and error.context:
            yield from leaves(_nearest_form(error))
        else:
            yield error


def violations(error: ValidationError, schema: Mapping[str, Any], spot: Spot) -> Iterable[Problem]:
    """The problems of an error in the value at `spot`. `schema` is the whole schema, of which it breaks a part."""
    part = error.schema if isinstance(error.schema, Mapping) else {}
    whole = {} if error.absolute_path else schema.get("properties", {})
    violation = Violation(
        keyword=str(error.validator),
        wanted=error.validator_value,
        value=error.instance,
        spot=spot.below(*error.absolute_path),
        known=[*part.get("properties", {}), *whole],
        when=_when(error, schema),
        name=str(error.absolute_path[-1]) if error.absolute_path else "this",
        hint=part.get("description", ""),
    )
    rule = _RULES.get(violation.keyword)
    if rule is not None:
        return rule(violation)
    found = shown(error.instance)
    return [violation.spot.problem("invalid", error.message, found=found, hint=violation.hint)]


def _nearest_form(error: ValidationError) -> list[ValidationError]:
    """The violations of the form that was most likely meant: the one whose type and fixed values fit, then the one with
    the fewest violations. One violation only, where no form has the right type or the word that tells the forms apart
    is unknown."""
    forms: dict[Any, list[ValidationError]] = {}
    for violation in error.context or ():
        forms.setdefault(violation.schema_path[0], []).append(violation)
    wrong = [violation for form in forms.values() for violation in form if _wrong_kind(violation)]
    if len({violation.schema_path[0] for violation in wrong}) == len(forms):
        error.validator, error.context = "type", []
        error.validator_value = list(dict.fromkeys(kind for each in wrong for kind in _kinds(each.validator_value)))
        return [error]
    named = [violation for form in forms.values() for violation in form if violation.validator == "const"]
    if len({violation.schema_path[0] for violation in named}) == len(forms) == len(named):
        named[0].validator, named[0].validator_value = "enum", [each.validator_value for each in named]
        return named[:1]
    # A wrong type of the whole weighs most, a wrong fixed value next.
    weights = {"type": 1, "const": 10, "enum": 10}
    return min(
        forms.values(),
        key=lambda form: (
            max(100 if _wrong_kind(error) else weights.get(str(error.validator), 0) for error in form),
            len(form),
        ),
    )


def _wrong_kind(violation: ValidationError) -> bool:
    return violation.validator == "type" and not violation.path


def _kinds(wanted: Any) -> list[str]:
    return [wanted] if isinstance(wanted, str) else list(wanted)


def _when(error: ValidationError, schema: Mapping[str, Any]) -> str:
    """The last condition on the way down to the violated rule. The path names neither `if` nor `$ref`."""
    node: Any = schema
    condition = ""
    for step in error.absolute_schema_path:
        if isinstance(node, Mapping) and step not in node and "$ref" in node:
            reference, node = node["$ref"].removeprefix("#").strip("/"), schema
            for part in filter(None, reference.split("/")):
                node = _step(node, part)
        if step == "then":
            guard = _step(_step(node, "if"), "properties") or {}
            rules = [(name, rule) for name, rule in guard.items() if isinstance(rule, Mapping) and "const" in rule]
            fixed = [f"{name} {rule['const']}" for name, rule in rules]
            condition = f" for {' and '.join(fixed)}" if fixed else condition
        node = _step(node, step)
    return condition


def _step(node: Any, step: str | int) -> Any:
    try:
        return node[step]
    except (KeyError, IndexError, TypeError):
        return None


def _missing(at: Violation) -> Iterator[Problem]:
    for name in at.wanted:
        if name not in at.value:
            hint = did_you_mean(name, set(at.value) - set(at.known)) or at.hint
            message = f"`{name}` is required{at.when}"
            yield at.spot.below(name).problem("missing-field", message, expected=name, hint=hint)


def _wrong_type(at: Violation) -> Iterator[Problem]:
    wanted, kind = " or ".join(_kinds(at.wanted)), kind_of(at.value)
    message = f"must be {with_article(wanted)}{at.when}, not {with_article(kind)}"
    yield at.spot.problem("wrong-type", message, expected=wanted, found=f"{shown(at.value)} ({kind})", hint=at.hint)


def _unknown_value(at: Violation) -> Iterator[Problem]:
    allowed = [at.wanted] if at.keyword == "const" else list(at.wanted)
    names = ", ".join(shown(value) for value in allowed)
    hint = did_you_mean(at.value, map(str, allowed)) if isinstance(at.value, str) else ""
    yield at.problem("unknown-value", f"must be {'' if len(allowed) == 1 else 'one of '}{names}", names, hint=hint)


def _forbidden(at: Violation) -> Iterator[Problem]:
    if at.wanted:
        yield at.problem("not-allowed", "has a form that is not allowed")
    else:
        yield at.problem("forbidden-field", f"`{at.name}` is not allowed", "no such field", hint="remove it")


def _bad_text(at: Violation) -> Iterator[Problem]:
    if at.wanted in (NOT_BLANK, 1):
        yield at.problem("empty", "must not be empty or blank", "a text")
    elif at.keyword == "pattern":
        yield at.problem("bad-pattern", f"does not fit the pattern {at.wanted}", at.wanted)
    else:
        yield at.problem("too-short", f"must have at least {at.wanted} characters", f"≥ {at.wanted} characters")


def _wrong_count(at: Violation) -> Iterator[Problem]:
    code, least, sign = ("too-few", "least", "≥") if at.keyword.startswith("min") else ("too-many", "most", "≤")
    message = f"must have at {least} {at.wanted}{at.when}, has {len(at.value)}"
    yield at.spot.problem(code, message, expected=f"{sign} {at.wanted}", found=str(len(at.value)), hint=at.hint)


def _out_of_range(at: Violation) -> Iterator[Problem]:
    expected = f"{_SIGNS[at.keyword]} {at.wanted}"
    yield at.problem("out-of-range", f"must be {expected}", expected)


def _unknown_name(at: Violation) -> Iterator[Problem]:
    for name in at.value:
        if name not in at.known:
            message, hint = f"`{name}` is not a field of this object{at.when}", did_you_mean(name, at.known) or at.hint
            yield at.spot.below(name).problem("unknown-field", message, found=shown(at.value[name]), hint=hint)


_SIGNS = {
    "minimum": "≥",
    "maximum": "≤",
    "exclusiveMinimum": ">",
    "exclusiveMaximum": "<",
    "multipleOf": "a multiple of",
}
_RULES: dict[str, Callable[[Violation], Iterable[Problem]]] = {
    "required": _missing,
    "type": _wrong_type,
    "enum": _unknown_value,
    "const": _unknown_value,
    "not": _forbidden,
    "pattern": _bad_text,
    "minLength": _bad_text,
    **dict.fromkeys(("minItems", "minProperties", "maxItems", "maxProperties", "maxLength"), _wrong_count),
    "additionalProperties": _unknown_name,
    "unevaluatedProperties": _unknown_name,
    "uniqueItems": lambda at: [at.problem("duplicate-value", "must not repeat a value", "different values")],
    "oneOf": lambda at: [at.problem("ambiguous", "fits more than one of the allowed forms")],
    **dict.fromkeys(_SIGNS, _out_of_range),
}


LISTING: ContextVar[bool] = ContextVar("listing", default=True)
"""False when a pass over a file has found as many problems as are listed: whatever else is wrong is only counted."""
UNLISTED = Problem(code="invalid", message="does not fit the schema")


def load_schema(name: str) -> dict[str, Any]:
    """The JSON Schema in the file of that name in `schemas/`."""
    return msgspec.json.decode(
        (files("howsure.dialects") / "schemas" / f"{name}.json").read_bytes(), type=dict[str, Any]
    )


class SchemaChecker:
    """Checks many values against one of our own schemas (2020-12): a compiled validator says yes or no, and where it
    says no, the slow library names every violation.

    The compiled validator never accepts what the slow one refuses; where it is stricter, only time is lost.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = _with_places(schema)
        self._validator = Draft202012Validator(self._schema)
        self._compiled = jsonschema_rs.Draft202012Validator(_for_rust(schema))

    def fits(self, value: Any) -> bool:
        """Whether the value certainly fulfils the schema."""
        try:
            return self._compiled.is_valid(value)
        except ValueError:
            return False  # half a character, which no JSON can hold

    def problems(self, value: Any, spot: Spot) -> list[Problem]:
        """Every violation, at the field that causes it. `spot` is the place of `value` itself.

        A subschema's `description` is the hint of the problems it finds.
        """
        if self.fits(value):
            return []
        if not LISTING.get():
            return [UNLISTED]
        problems: dict[tuple[str, str], Problem] = {}
        for error in leaves(self._validator.iter_errors(value)):
            for problem in violations(error, self._schema, spot):
                problems.setdefault((problem.code, problem.field), problem)
            if len(problems) >= MAX_PROBLEMS:
                break
        return _without_consequences(list(problems.values()))


def unknown_fields(value: Mapping[str, Any], known: Collection[str], spot: Spot) -> list[Problem]:
    """A warning for each field that is not one of `known`."""
    return [
        spot.below(name).warning(
            "unknown-field",
            f"`{name}` is not a field of this format; it is kept",
            found=shown(value[name]),
            hint=did_you_mean(name, known),
        )
        for name in value
        if name not in known
    ]


def _without_consequences(problems: list[Problem]) -> list[Problem]:
    """Drops further problems of a field that must not be there at all."""
    forbidden = tuple(problem.field for problem in problems if problem.code == "forbidden-field")
    inside = tuple(f"{field}{mark}" for field in forbidden for mark in (".", "["))
    return [
        problem
        for problem in problems
        if problem.code == "forbidden-field"
        or (problem.field not in forbidden and not problem.field.startswith(inside))
    ]


def _with_places(schema: Any) -> Any:
    """The schema with `{"not": {}}` for `false` among properties: the library loses the place of the latter."""
    if isinstance(schema, Mapping):
        return {
            key: {name: {"not": {}} if rule is False else _with_places(rule) for name, rule in value.items()}
            if key == "properties"
            else _with_places(value)
            for key, value in schema.items()
        }
    return [_with_places(part) for part in schema] if isinstance(schema, list) else schema


def _for_rust(schema: Any) -> Any:
    """The same schema with a pattern that means in the compiled library what `\\S` means in Python, or less: the two
    disagree about five control characters."""
    if isinstance(schema, Mapping):
        return {
            key: _RUST_NOT_BLANK if key == "pattern" and value == NOT_BLANK else _for_rust(value)
            for key, value in schema.items()
        }
    return [_for_rust(part) for part in schema] if isinstance(schema, list) else schema
