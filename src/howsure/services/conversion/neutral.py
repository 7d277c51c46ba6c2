"""A case without the manners of the format it came from. What a format keeps in its free places (golden's
`reference_data` and `metadata`, a legal row's `metadata`, the tags of a test set) is put where the model has it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeGuard

import msgspec
from msgspec import Struct, field, structs

from howsure.dialects.extras import KEY as UNKNOWN
from howsure.dialects.golden_schema import FILE_FIELDS
from howsure.dialects.test_set_writing import HEADER
from howsure.model.case import Case, Input, Scenario, Script, SingleTurn, World, opening
from howsure.model.expectation import (
    Choice,
    Contract,
    CorrectChoice,
    Criteria,
    Criterion,
    Expectation,
    ForbiddenTools,
    Goal,
    Qualities,
    ReferenceAnswer,
    WeightedCriteria,
    text_id,
)
from howsure.model.transcript import Tool

Json = dict[str, Any]
BOX = "howsure"
"""The key in a format's free metadata under which parts of a case are kept that it has no field for."""
SCRIPTED = "A user who says exactly what the plan says, one step after the other."
"""The persona that fixed turns have in a test set."""
_PAIR = re.compile(r"(?P<key>[A-Za-z_][\w.-]*):(?P<value>\S.*)", re.DOTALL)
_DERIVED = ("type", "task_type", "repeat")
"""Labels that a format makes of the case itself."""


class Box(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Parts of a case that a format has no field for, as its free metadata keeps them. `made` are labels that were made
    up because the format wants them."""

    input: Input | None = None
    expectations: tuple[Expectation, ...] = ()
    name: str = ""
    tags: tuple[str, ...] = ()
    profile: str = ""
    tools: tuple[Tool, ...] | None = None
    state: Json = field(default_factory=dict)
    reference_data: Json = field(default_factory=dict)
    made: tuple[str, ...] = ()


class Neutral(Struct, frozen=True, kw_only=True):
    """A case, and what its format kept beside the model's fields: free metadata, references of the user's own, fields
    beside the list of cases, and whatever else."""

    case: Case
    flat: Json
    reference: Json
    beside: Json
    rest: Json


def neutral(case: Case) -> Neutral:
    """The same case, wherever it came from."""
    rest = dict(case.metadata)
    beside = rest.pop(FILE_FIELDS, None) or rest.pop(HEADER, None) or {}
    if isinstance(beside.get(BOX), dict):
        beside = {**{key: value for key, value in beside.items() if key != BOX}, **beside[BOX]}
    flat = _free(case, rest)
    box = _opened(flat)
    reference = {**rest.pop("reference_data", {}), **box.reference_data}
    expectations = (*case.expectations, *_unfolded(reference), *box.expectations)
    tags, pairs = _tags(case)
    invented = (*_DERIVED, *box.made)
    labels = {**{key: value for key, value in case.labels.items() if key not in invented}, **pairs}
    plain = structs.replace(
        case,
        input=_input(case.input, box.input),
        expectations=expectations,
        name=case.name or box.name,
        tags=tags or box.tags,
        profile=case.profile or box.profile,
        tools=case.tools if case.tools is not None else box.tools,
        state=case.state or box.state,
        labels=labels,
        metadata={},
    )
    return Neutral(case=plain, flat=flat, reference=reference, beside=beside, rest=rest)


def _opened(flat: Json) -> Box:
    """The box, taken out of the metadata; what a user keeps under that name stays."""
    try:
        box = msgspec.convert(flat.get(BOX, {}), Box)
    except (msgspec.ValidationError, ValueError):
        return Box()
    flat.pop(BOX, None)
    return box


def _free(case: Case, rest: Json) -> Json:
    """The metadata that is the user's own; it is taken out of `rest`."""
    if case.world == World.LEGAL:
        flat = {key: value for key, value in rest.items() if key != UNKNOWN}
        for key in flat:
            del rest[key]
        return flat
    names = ("metadata", "question_metadata") if case.world == World.GOLDEN else ()
    if case.recorded is None and rest.get("agent_name") == case.labels.get("agent"):
        rest.pop("agent_name", None)  # the label says it
    return {key: value for name in names for key, value in dict(rest.pop(name, None) or {}).items()}


def _tags(case: Case) -> tuple[tuple[str, ...], dict[str, str]]:
    """In a test set, a tag `key:value` is a label."""
    if case.world != World.TEST_SET:
        return case.tags, {}
    pairs = [found for tag in case.tags if (found := _PAIR.fullmatch(tag))]
    plain = tuple(tag for tag in case.tags if not _PAIR.fullmatch(tag))
    return plain, {found["key"]: found["value"] for found in pairs}


def _input(given: Input, whole: Input | None) -> Input:
    """Fixed turns that a test set played by plan are fixed turns; what was kept counts while nobody edited the rest."""
    if isinstance(given, Scenario) and given.persona == SCRIPTED:
        return Script(turns=(given.initial_message, *(step.say for step in given.plan)))
    return whole if whole is not None and opening_of(given).startswith(opening_of(whole)) else given


def opening_of(given: Input) -> str:
    """What the user says first, with the context that golden questions put before it."""
    context = given.context if isinstance(given, SingleTurn) else ""
    return f"{context}\n\n{opening(given)}" if context else opening(given)


def _reference_answer(given: Json) -> Expectation | None:
    single, several = given.get("expected_response"), given.get("acceptable_responses")
    if _is_texts(several):
        return ReferenceAnswer(answers=tuple(several))
    return ReferenceAnswer(answers=(single,)) if isinstance(single, str) and single.strip() else None


def _goal(given: Json) -> Expectation | None:
    text = given["expected_behavior"]
    return Goal(text=text) if isinstance(text, str) and text.strip() else None


def _criteria(given: Json) -> Expectation | None:
    listed = given["success_criteria"]
    if not isinstance(listed, list) or not listed:
        return None
    texts = [
        Criterion(id=text_id(one), text=one) if isinstance(one, str) else msgspec.convert(one, Criterion)
        for one in listed
    ]
    return Criteria(criteria=tuple(texts))


def _rubric(given: Json) -> Expectation | None:
    return msgspec.convert(given["rubric"], WeightedCriteria)


def _choice(given: Json) -> Expectation | None:
    choices = msgspec.convert(given["choices"], tuple[Choice, ...])
    return CorrectChoice(choices=choices, correct=msgspec.convert(given["correct_choice_ids"], tuple[str, ...]))


def _forbidden(given: Json) -> Expectation | None:
    names = given["should_not_use_tools"]
    return ForbiddenTools(names=tuple(names)) if _is_texts(names) else None


def _contract(given: Json) -> Expectation | None:
    name = given["expected_contract"]
    return Contract(name=name) if isinstance(name, str) and name.strip() else None


def _qualities(given: Json) -> Expectation | None:
    names, context = given["required_evals"], given.get("relevant_context", "")
    return Qualities(names=tuple(names), relevant_context=context) if _is_texts(names) else None


def _is_texts(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and bool(value) and all(isinstance(one, str) and one.strip() for one in value)


REFERENCES: dict[str, tuple[tuple[str, ...], Callable[[Json], Expectation | None]]] = {
    "expected_response": (("expected_response",), _reference_answer),
    "acceptable_responses": (("acceptable_responses",), _reference_answer),
    "expected_behavior": (("expected_behavior",), _goal),
    "success_criteria": (("success_criteria",), _criteria),
    "rubric": (("rubric",), _rubric),
    "choices": (("choices", "correct_choice_ids"), _choice),
    "should_not_use_tools": (("should_not_use_tools",), _forbidden),
    "expected_contract": (("expected_contract",), _contract),
    "required_evals": (("required_evals", "relevant_context"), _qualities),
}
"""Keys of `reference_data` by which expectations are told that golden has no field for, and the keys that go with
them."""


def _unfolded(reference: Json) -> list[Expectation]:
    """The expectations that a golden question tells by keys of its own; those keys are taken out."""
    found: list[Expectation] = []
    for key, (keys, read) in REFERENCES.items():
        if key not in reference:
            continue
        try:
            expectation = read(reference)
        except (msgspec.ValidationError, ValueError, LookupError, TypeError):
            continue
        if expectation is not None:
            found.append(expectation)
            for one in keys:
                reference.pop(one, None)
    return found


def folded(expectation: Expectation) -> Json:
    """Undoes `_unfolded`."""
    match expectation:
        case ReferenceAnswer(answers=(answer,)):
            return {"expected_response": answer}
        case ReferenceAnswer(answers=answers):
            return {"acceptable_responses": list(answers)}
        case Goal(text=text):
            return {"expected_behavior": text}
        case Criteria(criteria=criteria):
            plain = all(one == Criterion(id=text_id(one.text), text=one.text) for one in criteria)
            return {"success_criteria": [one.text if plain else msgspec.to_builtins(one) for one in criteria]}
        case WeightedCriteria():
            return {"rubric": msgspec.to_builtins(expectation)}
        case CorrectChoice(choices=choices, correct=correct):
            return {"choices": msgspec.to_builtins(list(choices)), "correct_choice_ids": list(correct)}
        case ForbiddenTools(names=names):
            return {"should_not_use_tools": list(names)}
        case Contract(name=name):
            return {"expected_contract": name}
        case Qualities(names=names, relevant_context=context):
            return {"required_evals": list(names), **({"relevant_context": context} if context else {})}
        case _:
            return {}
