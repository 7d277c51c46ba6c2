"""Violations of a JSON Schema, as the library reports them, in our words: a stable code, a sentence, what was expected,
what was found. Only problems.py uses this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from jsonschema.exceptions import ValidationError
from msgspec import Struct

from howsure.dialects.wording import a, did_you_mean, kind_of, shown

NOT_BLANK = r"\S"
"""The pattern by which our schemas say that a text must not be blank."""


class Fault(Struct, frozen=True):
    """A violation in our words; `below` is the rest of the path where the cause lies deeper than the violation."""

    code: str
    message: str
    expected: str = ""
    found: str = ""
    hint: str = ""
    below: tuple[str, ...] = ()


class Violation(Struct, frozen=True):
    """One keyword of a schema that a value breaks; `when` is ` for task_type mcq` where the rule is conditional."""

    keyword: str
    wanted: Any
    found: Any
    known: Sequence[str] = ()
    when: str = ""
    name: str = ""


def leaves(errors: Iterable[ValidationError]) -> Iterator[ValidationError]:
    """The violations themselves, where the library reports only that none of several forms fits."""
    for error in errors:
        if error.validator in ("oneOf", "anyOf") and error.context:
            yield from leaves(_nearest_form(error))
        else:
            yield error


def faults(error: ValidationError, schema: Mapping[str, Any]) -> Iterable[Fault]:
    """`schema` is the whole schema, of which `error` breaks a part."""
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
    return rule(violation) if rule else [Fault("invalid", error.message, found=shown(error.instance))]


def _nearest_form(error: ValidationError) -> list[ValidationError]:
    """The violations of the form that was most likely meant: the one whose type and fixed values fit, then the one
    with the fewest violations. Where not even the type fits any form, or the word that tells them apart is that of
    none, there is one violation."""
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
    """How much speaks against this form: a wrong type of the whole weighs most, a wrong fixed value next."""
    weights = {"type": 1, "const": 10, "enum": 10}
    return max((100 if _wrong_kind(error) else weights.get(str(error.validator), 0)) for error in form)


def _kinds(wanted: Any) -> list[str]:
    return [wanted] if isinstance(wanted, str) else list(wanted)


def _when(error: ValidationError, schema: Mapping[str, Any]) -> str:
    """Walks down to the violated rule and remembers the last condition on the way. The path names neither `if` nor
    `$ref`."""
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


def _missing(at: Violation) -> Iterator[Fault]:
    for name in at.wanted:
        if name not in at.found:
            hint = did_you_mean(name, set(at.found) - set(at.known))
            yield Fault("missing-field", f"`{name}` is required{at.when}", expected=name, hint=hint, below=(name,))


def _wrong_type(at: Violation) -> Iterator[Fault]:
    wanted, kind = " or ".join(_kinds(at.wanted)), kind_of(at.found)
    message = f"must be {a(wanted)}{at.when}, not {a(kind)}"
    yield Fault("wrong-type", message, expected=wanted, found=f"{shown(at.found)} ({kind})")


def _unknown_value(at: Violation) -> Iterator[Fault]:
    allowed = [at.wanted] if at.keyword == "const" else list(at.wanted)
    names = ", ".join(shown(value) for value in allowed)
    hint = did_you_mean(at.found, map(str, allowed)) if isinstance(at.found, str) else ""
    message = f"must be {'' if len(allowed) == 1 else 'one of '}{names}{at.when}"
    yield Fault("unknown-value", message, expected=names, found=shown(at.found), hint=hint)


def _forbidden(at: Violation) -> Iterator[Fault]:
    if at.wanted:
        yield Fault("not-allowed", f"has a form that is not allowed{at.when}", found=shown(at.found))
    else:
        message = f"`{at.name}` is not allowed{at.when}"
        yield Fault("forbidden-field", message, expected="no such field", found=shown(at.found), hint="remove it")


def _pattern(at: Violation) -> Iterator[Fault]:
    if at.wanted == NOT_BLANK:
        yield _empty(at)
    else:
        message = f"does not fit the pattern {at.wanted}{at.when}"
        yield Fault("bad-pattern", message, expected=at.wanted, found=shown(at.found))


def _too_short(at: Violation) -> Iterator[Fault]:
    if at.wanted == 1:
        yield _empty(at)
    else:
        message = f"must have at least {at.wanted} characters{at.when}"
        yield Fault("too-short", message, expected=f"≥ {at.wanted} characters", found=shown(at.found))


def _empty(at: Violation) -> Fault:
    return Fault("empty", f"must not be empty or blank{at.when}", expected="a text", found=shown(at.found))


def _too_few(at: Violation) -> Iterator[Fault]:
    message = f"must have at least {at.wanted}{at.when}, has {len(at.found)}"
    yield Fault("too-few", message, expected=f"≥ {at.wanted}", found=str(len(at.found)))


def _too_many(at: Violation) -> Iterator[Fault]:
    message = f"must have at most {at.wanted}{at.when}, has {len(at.found)}"
    yield Fault("too-many", message, expected=f"≤ {at.wanted}", found=str(len(at.found)))


def _out_of_range(at: Violation) -> Iterator[Fault]:
    expected = f"{_SIGNS[at.keyword]} {at.wanted}"
    yield Fault("out-of-range", f"must be {expected}{at.when}", expected=expected, found=shown(at.found))


def _unknown_name(at: Violation) -> Iterator[Fault]:
    for name in at.found:
        if name not in at.known:
            message, hint = f"`{name}` is not a field of this object{at.when}", did_you_mean(name, at.known)
            yield Fault("unknown-field", message, found=shown(at.found[name]), hint=hint, below=(name,))


def _repeated(at: Violation) -> Iterator[Fault]:
    message = f"must not repeat a value{at.when}"
    yield Fault("duplicate-value", message, expected="different values", found=shown(at.found))


def _several_forms(at: Violation) -> Iterator[Fault]:
    yield Fault("ambiguous", f"fits more than one of the allowed forms{at.when}", found=shown(at.found))


_SIGNS = {
    "minimum": "≥",
    "maximum": "≤",
    "exclusiveMinimum": ">",
    "exclusiveMaximum": "<",
    "multipleOf": "a multiple of",
}
_RULES: dict[str, Callable[[Violation], Iterator[Fault]]] = {
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
