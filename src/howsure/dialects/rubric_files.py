"""Rubric files: an agent's standing rules as JSON, read strictly and written in the shape of the evaluation API; and
which rules apply to a part of the agent. Not a dialect: they hold no cases.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from msgspec import structs

from howsure.dialects.documents import UniqueIds, load_object
from howsure.dialects.extras import KEY as UNKNOWN
from howsure.dialects.extras import restore_unknown, separate_unknown
from howsure.dialects.problems import SchemaChecker, Spot, did_you_mean, shown, unknown_fields
from howsure.dialects.reference_data import LOOSE, TEXT, TEXTS
from howsure.dialects.strict_json import Json, head_keys
from howsure.errors import DatasetInvalid, Level, Problem, UnknownName
from howsure.matching.conditions import condition_problems
from howsure.model.rubric import OUTCOME_CHECK, Rubric, Rule, Scope, Severity

Warn = Callable[[Problem], object]

_LOOSE_TEXTS: Json = {"type": ["array", "null"], "items": TEXT}
_RULE: Json = {
    "type": "object",
    "required": ["id", "name", "severity"],
    "properties": {
        "id": TEXT,
        "name": TEXT,
        "severity": {"enum": [severity.value for severity in Severity]},
        "category": LOOSE,
        "description": LOOSE,
        "prompt_reference": LOOSE,
        "evaluation_criteria": {
            "type": ["object", "null"],
            "properties": {"pass_conditions": TEXTS, "fail_conditions": TEXTS},
        },
        "examples": {"type": ["object", "null"], "properties": {"violation": LOOSE, "correct": LOOSE}},
        "component_scope": {"enum": [*(scope.value for scope in Scope), None]},
        "component_ids": _LOOSE_TEXTS,
        "component_names": _LOOSE_TEXTS,
        OUTCOME_CHECK: {"type": ["object", "null"]},
    },
}
_TOP: Json = {
    "rubric_id": {"type": "string"},
    "agent_id": {"type": "string"},
    "version": {"type": "integer", "minimum": 1},
    "name": TEXT,
    "description": LOOSE,
    "severity_definitions": {"type": ["object", "null"], "additionalProperties": {"type": "string"}},
    "created_at": LOOSE,
    "updated_at": LOOSE,
}
SCHEMA: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "A rubric",
    "type": "object",
    "required": ["name", "rules"],
    "properties": {**_TOP, "rules": {"type": "array", "minItems": 1, "items": _RULE}},
}
_SHAPE = SchemaChecker(_RULE)
_WHOLE = SchemaChecker({**SCHEMA, "properties": {**_TOP, "rules": {"type": "array", "minItems": 1}}})
_DATES = ("created_at", "updated_at")


def is_rubric(path: Path, head: bytes) -> bool:
    """Whether the file is a rubric, judged by its first bytes."""
    keys = head_keys(head)
    return "rules" in keys or "rubric_id" in keys


def read_rubric(path: Path, warn: Warn | None = None) -> Rubric:
    """The rubric, or DatasetInvalid with every problem. `warn` gets the warnings."""
    document = load_object(path)
    problems, spot, ids = list(document.problems), document.spot, UniqueIds("id")
    if document.value is not None:
        problems += _WHOLE.problems(document.value, spot)
        problems += unknown_fields(document.value, SCHEMA["properties"], spot)
    for place, rule in document.elements("rules"):
        problems += [*_SHAPE.problems(rule, place), *ids.problems(rule, place)]
        if isinstance(rule, dict):
            problems += _rule_warnings(rule, place)
            problems += _check_problems(rule.get(OUTCOME_CHECK), place.below(OUTCOME_CHECK))
    errors = [problem for problem in problems if problem.level is Level.ERROR]
    if errors or document.value is None:
        raise DatasetInvalid(str(path), errors)
    if warn:
        for problem in problems:
            warn(problem)
    value: Json = document.value
    return Rubric(
        id=value.get("rubric_id", ""),
        agent_id=value.get("agent_id", ""),
        version=int(value.get("version", 1)),
        name=value["name"],
        description=value.get("description") or "",
        severity_definitions=value.get("severity_definitions") or {},
        rules=tuple(_rule(rule) for rule in value["rules"]),
        metadata={key: inner for key, inner in value.items() if key not in SCHEMA["properties"] or key in _DATES},
    )


_CHECK_FIELDS = ("entity_type", "check")


def _check_problems(check: Json | None, spot: Spot) -> Iterator[Problem]:
    """Problems of a check. Anything unknown in it is an error, because the check would never be made."""
    if not isinstance(check, dict):
        return
    for name in check:
        if name not in _CHECK_FIELDS:
            message, hint = f"`{name}` is not a field of an outcome check", did_you_mean(name, _CHECK_FIELDS)
            found = shown(check[name])
            yield spot.below(name).problem("bad-check", message, expected="entity_type, check", found=found, hint=hint)
    entity = check.get("entity_type")
    if entity is not None and (not isinstance(entity, str) or not entity.strip()):
        expected = "the name of a kind of entity in the state"
        yield spot.below("entity_type").problem(
            "bad-check", f"must be {expected}", expected=expected, found=shown(entity)
        )
    if "check" not in check:
        yield spot.below("check").problem(
            "missing-field", "`check` is required", expected="a condition", found="nothing"
        )
        return
    for fault in condition_problems(check["check"]):
        yield spot.below("check", *fault.path).problem(
            "bad-check", fault.message, expected=fault.expected, found=fault.found
        )


def _rule_warnings(rule: Json, spot: Spot) -> Iterator[Problem]:
    closed = {"": rule, "evaluation_criteria": rule.get("evaluation_criteria"), "examples": rule.get("examples")}
    for name, value in closed.items():
        if isinstance(value, dict):
            known = (_RULE["properties"][name] if name else _RULE)["properties"]
            at = spot.below(name) if name else spot
            yield from unknown_fields(value, known, at)
    conditions = rule.get("evaluation_criteria")
    stated = any(conditions.values()) if isinstance(conditions, dict) else conditions
    if not (stated or rule.get("description") or rule.get(OUTCOME_CHECK)):
        message = "the rule has neither conditions nor a description: its name alone is put to the judge"
        yield spot.below("evaluation_criteria").warning("no-conditions", message)


def _rule(rule: Json) -> Rule:
    unknown = separate_unknown(rule, _RULE, Spot("")).kept
    conditions, shown = rule.get("evaluation_criteria") or {}, rule.get("examples") or {}
    scope, check = rule.get("component_scope"), rule.get(OUTCOME_CHECK)
    return Rule(
        id=rule["id"],
        name=rule["name"],
        severity=Severity(rule["severity"]),
        category=rule.get("category") or "",
        description=rule.get("description") or "",
        prompt_reference=rule.get("prompt_reference") or "",
        pass_conditions=tuple(conditions.get("pass_conditions", ())),
        fail_conditions=tuple(conditions.get("fail_conditions", ())),
        violation=shown.get("violation") or "",
        correct=shown.get("correct") or "",
        scope=Scope(scope) if scope else None,
        component_ids=tuple(rule.get("component_ids") or ()),
        component_names=tuple(rule.get("component_names") or ()),
        metadata=({UNKNOWN: unknown} if unknown else {}) | ({OUTCOME_CHECK: check} if check else {}),
    )


def rubric_document(rubric: Rubric) -> Json:
    """The rubric in the shape of the evaluation API."""
    return {
        "rubric_id": rubric.id,
        "agent_id": rubric.agent_id,
        "version": rubric.version,
        "name": rubric.name,
        "description": rubric.description,
        "severity_definitions": rubric.severity_definitions,
        "rules": [_rule_document(rule) for rule in rubric.rules],
        **rubric.metadata,
    }


def _rule_document(rule: Rule) -> Json:
    document: Json = {
        "id": rule.id,
        "name": rule.name,
        "severity": rule.severity.value,
        "category": rule.category,
        "description": rule.description,
        "prompt_reference": rule.prompt_reference,
        "evaluation_criteria": {
            "pass_conditions": list(rule.pass_conditions),
            "fail_conditions": list(rule.fail_conditions),
        },
        "examples": {"violation": rule.violation, "correct": rule.correct},
        "component_scope": rule.scope.value if rule.scope else None,
        "component_ids": list(rule.component_ids),
        "component_names": list(rule.component_names),
    }
    if OUTCOME_CHECK in rule.metadata:
        document[OUTCOME_CHECK] = rule.metadata[OUTCOME_CHECK]
    restore_unknown(document, rule.metadata.get(UNKNOWN, {}))
    return document


def applicable(rubric: Rubric, scope: str | None = None, component_ids: Collection[str] = ()) -> Rubric:
    """The rubric with the rules for this kind of component and these components; rules that name none apply everywhere.
    The result may have no rules: the run is then graded by criteria only."""
    if scope and scope not in {one.value for one in Scope}:
        raise UnknownName("component scope", scope, [one.value for one in Scope])
    components = set(component_ids)
    rules = tuple(
        rule
        for rule in rubric.rules
        if (not scope or rule.scope is None or rule.scope.value == scope)
        and (not components or not rule.component_ids or not components.isdisjoint(rule.component_ids))
    )
    return structs.replace(rubric, rules=rules)
