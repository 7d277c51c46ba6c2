"""Files about an agent, which hold no cases and so are no dialect: the agent itself (the BotContext of the evaluation
API: prompt, tools, knowledge bases, model, harness), and its rubric (its standing rules, and which of them apply to a
part of the agent). Both are JSON, read strictly and written back in the shape of the evaluation API.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from msgspec import structs

from howsure.dialects.documents import JsonDocument, UniqueIds, load_object
from howsure.dialects.extras import KEY as UNKNOWN
from howsure.dialects.extras import restore_unknown, separate_unknown
from howsure.dialects.problems import SchemaChecker, Spot, did_you_mean, load_schema, shown, unknown_fields
from howsure.dialects.strict_json import Json, head_keys
from howsure.errors import MAX_PROBLEMS, DatasetInvalid, Level, Problem, UnknownName
from howsure.matching.conditions import condition_problems
from howsure.model.agent import Agent, AgentModel, AgentTool, KnowledgeBase
from howsure.model.rubric import OUTCOME_CHECK, Rubric, Rule, Scope, Severity

Warn = Callable[[Problem], object]

AGENT_SCHEMA = load_schema("agent")
_AGENT_SHAPE = SchemaChecker(AGENT_SCHEMA)
_TOOL_FIELDS, _BASE_FIELDS = (
    AGENT_SCHEMA["properties"][name]["items"]["properties"] for name in ("tools", "knowledge_bases")
)


def is_agent(path: Path, head: bytes) -> bool:
    """Whether the file is a BotContext, judged by its first bytes."""
    return "bot_id" in head_keys(head)


def read_agent(path: Path, warn: Warn = lambda problem: None) -> Agent:
    """The agent, or DatasetInvalid with every problem. `warn` gets the warnings: unknown fields, repeated tools."""
    document = load_object(path)
    problems = list(document.problems)
    if document.value is not None:
        problems += _AGENT_SHAPE.problems(document.value, document.spot)
    first: dict[tuple[str, str], Spot] = {}
    for spot, tool in document.elements("tools"):
        if isinstance(tool, dict) and first.setdefault(_key(tool), spot) != spot:
            name, place = tool.get("tool_name"), first[_key(tool)].prefix
            message = f"the tool {name!r} is listed already (`{place}`); it counts once"
            problems.append(spot.warning("duplicate-tool", message, hint="the first one is used"))
    agent = _sound_value(document, problems, warn)
    tools: dict[tuple[str, str], Json] = {}  # each once: the service that writes these files repeats them
    for tool in agent.get("tools") or ():
        tools.setdefault(_key(tool), tool)
    value = {**agent, "tools": list(tools.values())}
    unknown = separate_unknown(value, AGENT_SCHEMA, document.spot)
    for problem in unknown.warnings:
        warn(problem)
    return _agent(value, unknown.kept)


def _sound_value(document: JsonDocument, problems: list[Problem], warn: Warn) -> Json:
    """The value of the document, or DatasetInvalid with every error. `warn` gets the warnings."""
    errors = [problem for problem in problems if problem.level is Level.ERROR]
    if errors or document.value is None:
        raise DatasetInvalid(document.spot.file, errors)
    for problem in problems:
        warn(problem)
    value: Json = document.value
    return value


def _key(tool: Json) -> tuple[str, str]:
    return str(tool.get("id") or ""), str(tool.get("tool_name"))


def _agent(value: Json, unknown: Json) -> Agent:
    model = value.get("llm_config")
    return Agent(
        id=value["bot_id"],
        name=value["bot_name"],
        organization_id=value.get("organization_id") or "",
        organization_name=value.get("organization_name") or "",
        system_prompt=value.get("system_prompt") or "",
        model=None
        if model is None
        else AgentModel(
            provider=model.get("provider") or "",
            model=model.get("model") or "",
            parameters=model.get("parameters") or {},
        ),
        tools=tuple(AgentTool(**{name: tool.get(name) or "" for name in _TOOL_FIELDS}) for tool in value["tools"]),
        knowledge_bases=tuple(
            KnowledgeBase(
                id=base["id"],
                name=base["name"],
                type=base.get("type") or "",
                document_count=None if base.get("document_count") is None else int(base["document_count"]),
            )
            for base in value.get("knowledge_bases") or ()
        ),
        harness=value.get("harness_context"),
        metadata={UNKNOWN: unknown} if unknown else {},
    )


def agent_document(agent: Agent) -> Json:
    """The agent as a BotContext."""
    model = agent.model
    document: Json = {
        "bot_id": agent.id,
        "bot_name": agent.name,
        "organization_id": agent.organization_id,
        "organization_name": agent.organization_name,
        "system_prompt": agent.system_prompt,
        "llm_config": model and {"provider": model.provider, "model": model.model, "parameters": model.parameters},
        "tools": [{name: getattr(tool, name) for name in _TOOL_FIELDS} for tool in agent.tools],
        "knowledge_bases": [{name: getattr(base, name) for name in _BASE_FIELDS} for base in agent.knowledge_bases],
        "harness_context": agent.harness,
    }
    restore_unknown(document, agent.metadata.get(UNKNOWN, {}))
    return document


RUBRIC_SCHEMA = load_schema("rubric")
_RULE: Json = RUBRIC_SCHEMA["properties"]["rules"]["items"]
_RULE_SHAPE = SchemaChecker(_RULE)
_WHOLE = SchemaChecker(
    {**RUBRIC_SCHEMA, "properties": {**RUBRIC_SCHEMA["properties"], "rules": {"type": "array", "minItems": 1}}}
)
_DATES = ("created_at", "updated_at")


def is_rubric(path: Path, head: bytes) -> bool:
    """Whether the file is a rubric, judged by its first bytes."""
    keys = head_keys(head)
    return "rules" in keys or "rubric_id" in keys


def read_rubric(path: Path, warn: Warn = lambda problem: None) -> Rubric:
    """The rubric, or DatasetInvalid with every problem. `warn` gets the warnings."""
    document = load_object(path)
    problems, spot, ids = list(document.problems), document.spot, UniqueIds("id")
    if document.value is not None:
        problems += _WHOLE.problems(document.value, spot)
        problems += unknown_fields(document.value, RUBRIC_SCHEMA["properties"], spot)
    for place, rule in document.elements("rules"):
        problems += [*_RULE_SHAPE.problems(rule, place), *ids.problems(rule, place)]
        if isinstance(rule, dict):
            problems += _rule_warnings(rule, place)
            problems += _check_problems(rule.get(OUTCOME_CHECK), place.below(OUTCOME_CHECK))
        if len(problems) > MAX_PROBLEMS:
            break
    value = _sound_value(document, problems, warn)
    return Rubric(
        id=value.get("rubric_id", ""),
        agent_id=value.get("agent_id", ""),
        version=int(value.get("version", 1)),
        name=value["name"],
        description=value.get("description") or "",
        severity_definitions=value.get("severity_definitions") or {},
        rules=tuple(_rule(rule) for rule in value["rules"]),
        metadata={
            key: inner for key, inner in value.items() if key not in RUBRIC_SCHEMA["properties"] or key in _DATES
        },
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
