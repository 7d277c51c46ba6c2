"""Problems in values: every violation of a JSON Schema as a Problem with a stable code, the path of the field, what was
expected, what was found and a hint; unknown fields as warnings; the place (`Spot`) that a problem names, and the words
it is told in. strict_json.py checks the text itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

import jsonschema_rs
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from msgspec import Struct

from howsure.dialects.strict_json import field_path
from howsure.errors import Level, Problem

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
        return Problem(
            code=code,
            message=message,
            file=self.file,
            line=self.line,
            field=self.prefix,
            found=found,
            hint=hint,
            level=Level.WARNING,
        )


NOT_BLANK = r"\S"
"""The pattern that our schemas use for "must not be blank"."""
_RUST_NOT_BLANK = r"[^\s\x1c-\x1f\x85]"


class ViolationText(Struct, frozen=True):
    """A violation in words. `below` is the rest of the path where the cause lies deeper than the violation."""

    code: str
    message: str
    expected: str = ""
    found: str = ""
    hint: str = ""
    below: tuple[str, ...] = ()


class Violation(Struct, frozen=True):
    """One schema keyword that a value breaks; `when` is ` for task_type mcq` where the rule is conditional."""

    keyword: str
    wanted: Any
    found: Any
    known: Sequence[str] = ()
    when: str = ""
    name: str = ""


def leaves(errors: Iterable[ValidationError]) -> Iterator[ValidationError]:
    """The violations inside a `oneOf` or `anyOf` error, which itself only says that no form fits."""
    for error in errors:
        if error.validator in ("oneOf", "anyOf") and error.context:
            yield from leaves(_nearest_form(error))
        else:
            yield error


def violation_texts(error: ValidationError, schema: Mapping[str, Any]) -> Iterable[ViolationText]:
    """The words for an error. `schema` is the whole schema, of which `error` breaks a part."""
    own = error.schema.get("properties", {}) if isinstance(error.schema, Mapping) else {}
    whole = {} if error.absolute_path else schema.get("properties", {})
    violation = Violation(
        keyword=str(error.validator),
        wanted=error.validator_value,
        found=error.instance,
        known=[*own, *whole],
        when=_when(error, schema),
        name=str(error.absolute_path[-1]) if error.absolute_path else "this",
    )
    rule = _RULES.get(violation.keyword)
    return rule(violation) if rule else [ViolationText("invalid", error.message, found=shown(error.instance))]


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
    return min(forms.values(), key=lambda form: (_misfit(form), len(form)))


def _wrong_kind(violation: ValidationError) -> bool:
    return violation.validator == "type" and not violation.path


def _misfit(form: Sequence[ValidationError]) -> int:
    """How far a value is from this form: a wrong type of the whole weighs most, a wrong fixed value next."""
    weights = {"type": 1, "const": 10, "enum": 10}
    return max((100 if _wrong_kind(error) else weights.get(str(error.validator), 0)) for error in form)


def _kinds(wanted: Any) -> list[str]:
    return [wanted] if isinstance(wanted, str) else list(wanted)


def _when(error: ValidationError, schema: Mapping[str, Any]) -> str:
    """The last condition on the way down to the violated rule. The path names neither `if` nor `$ref`."""
    node: Any = schema
    condition = ""
    for step in error.absolute_schema_path:
        if isinstance(node, Mapping) and step not in node and "$ref" in node:
            node = _resolved(schema, node["$ref"])
        if step == "then":
            condition = _condition(_step(node, "if")) or condition
        node = _step(node, step)
    return condition


def _step(node: Any, step: str | int) -> Any:
    try:
        return node[step]
    except (KeyError, IndexError, TypeError):
        return None


def _resolved(schema: Mapping[str, Any], reference: str) -> Any:
    node: Any = schema
    for step in reference.removeprefix("#").strip("/").split("/"):
        node = _step(node, step) if step else node
    return node


def _condition(guard: Any) -> str:
    fixed = guard.get("properties", {}) if isinstance(guard, Mapping) else {}
    parts = [f"{name} {rule['const']}" for name, rule in fixed.items() if isinstance(rule, Mapping) and "const" in rule]
    return f" for {' and '.join(parts)}" if parts else ""


def _missing(at: Violation) -> Iterator[ViolationText]:
    for name in at.wanted:
        if name not in at.found:
            hint = did_you_mean(name, set(at.found) - set(at.known))
            yield ViolationText(
                "missing-field", f"`{name}` is required{at.when}", expected=name, hint=hint, below=(name,)
            )


def _wrong_type(at: Violation) -> Iterator[ViolationText]:
    wanted, kind = " or ".join(_kinds(at.wanted)), kind_of(at.found)
    message = f"must be {with_article(wanted)}{at.when}, not {with_article(kind)}"
    yield ViolationText("wrong-type", message, expected=wanted, found=f"{shown(at.found)} ({kind})")


def _unknown_value(at: Violation) -> Iterator[ViolationText]:
    allowed = [at.wanted] if at.keyword == "const" else list(at.wanted)
    names = ", ".join(shown(value) for value in allowed)
    hint = did_you_mean(at.found, map(str, allowed)) if isinstance(at.found, str) else ""
    message = f"must be {'' if len(allowed) == 1 else 'one of '}{names}{at.when}"
    yield ViolationText("unknown-value", message, expected=names, found=shown(at.found), hint=hint)


def _forbidden(at: Violation) -> Iterator[ViolationText]:
    if at.wanted:
        yield ViolationText("not-allowed", f"has a form that is not allowed{at.when}", found=shown(at.found))
    else:
        message = f"`{at.name}` is not allowed{at.when}"
        yield ViolationText(
            "forbidden-field", message, expected="no such field", found=shown(at.found), hint="remove it"
        )


def _pattern(at: Violation) -> Iterator[ViolationText]:
    if at.wanted == NOT_BLANK:
        yield _empty(at)
    else:
        message = f"does not fit the pattern {at.wanted}{at.when}"
        yield ViolationText("bad-pattern", message, expected=at.wanted, found=shown(at.found))


def _too_short(at: Violation) -> Iterator[ViolationText]:
    if at.wanted == 1:
        yield _empty(at)
    else:
        message = f"must have at least {at.wanted} characters{at.when}"
        yield ViolationText("too-short", message, expected=f"≥ {at.wanted} characters", found=shown(at.found))


def _empty(at: Violation) -> ViolationText:
    return ViolationText("empty", f"must not be empty or blank{at.when}", expected="a text", found=shown(at.found))


def _too_few(at: Violation) -> Iterator[ViolationText]:
    message = f"must have at least {at.wanted}{at.when}, has {len(at.found)}"
    yield ViolationText("too-few", message, expected=f"≥ {at.wanted}", found=str(len(at.found)))


def _too_many(at: Violation) -> Iterator[ViolationText]:
    message = f"must have at most {at.wanted}{at.when}, has {len(at.found)}"
    yield ViolationText("too-many", message, expected=f"≤ {at.wanted}", found=str(len(at.found)))


def _out_of_range(at: Violation) -> Iterator[ViolationText]:
    expected = f"{_SIGNS[at.keyword]} {at.wanted}"
    yield ViolationText("out-of-range", f"must be {expected}{at.when}", expected=expected, found=shown(at.found))


def _unknown_name(at: Violation) -> Iterator[ViolationText]:
    for name in at.found:
        if name not in at.known:
            message, hint = f"`{name}` is not a field of this object{at.when}", did_you_mean(name, at.known)
            yield ViolationText("unknown-field", message, found=shown(at.found[name]), hint=hint, below=(name,))


def _repeated(at: Violation) -> Iterator[ViolationText]:
    message = f"must not repeat a value{at.when}"
    yield ViolationText("duplicate-value", message, expected="different values", found=shown(at.found))


def _several_forms(at: Violation) -> Iterator[ViolationText]:
    yield ViolationText("ambiguous", f"fits more than one of the allowed forms{at.when}", found=shown(at.found))


_SIGNS = {
    "minimum": "≥",
    "maximum": "≤",
    "exclusiveMinimum": ">",
    "exclusiveMaximum": "<",
    "multipleOf": "a multiple of",
}
_RULES: dict[str, Callable[[Violation], Iterator[ViolationText]]] = {
    "required": _missing,
    "type": _wrong_type,
    "enum": _unknown_value,
    "const": _unknown_value,
    "not": _forbidden,
    "pattern": _pattern,
    "minLength": _too_short,
    "minItems": _too_few,
    "minProperties": _too_few,
    "maxItems": _too_many,
    "maxProperties": _too_many,
    "maxLength": _too_many,
    "additionalProperties": _unknown_name,
    "unevaluatedProperties": _unknown_name,
    "uniqueItems": _repeated,
    "oneOf": _several_forms,
    **dict.fromkeys(_SIGNS, _out_of_range),
}


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
        found: dict[tuple[str, str], Problem] = {}
        for error in leaves(self._validator.iter_errors(value)):
            described = error.schema.get("description", "") if isinstance(error.schema, Mapping) else ""
            for violation in violation_texts(error, self._schema):
                place = spot.below(*error.absolute_path, *violation.below)
                problem = place.problem(
                    violation.code,
                    violation.message,
                    expected=violation.expected,
                    found=violation.found,
                    hint=violation.hint or described,
                )
                found.setdefault((violation.code, place.prefix), problem)
        return _without_consequences(list(found.values()))


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
