"""A case without the manners of the format it came from. What a format keeps in its free places (golden's
`reference_data` and `metadata`, a legal row's `metadata`, the tags of a test set) is put where the model has it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

import msgspec
from msgspec import Struct, structs

from assay.dialects.extras import KEY as UNKNOWN
from assay.dialects.golden import FILE_FIELDS
from assay.dialects.test_set_writing import HEADER
from assay.model.case import Case, Input, Scenario, Script, SingleTurn, World, opening
from assay.model.expectation import (
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
from assay.model.transcript import Tool

Json = dict[str, Any]
BOX = "assay"
"""The key in a format's free metadata under which parts of a case are kept that it has no field for."""
SCRIPTED = "A user who says exactly what the plan says, one step after the other."
"""The persona that fixed turns have in a test set."""
_PAIR = re.compile(r"(?P<key>[A-Za-z_][\w.-]*):(?P<value>\S.*)", re.DOTALL)
_DERIVED = ("type", "task_type", "repeat")
"""Labels that a format makes of the case itself."""


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
    beside = {**{key: value for key, value in beside.items() if key != BOX}, **beside.get(BOX, {})}
    flat = _free(case, rest)
    box = flat.pop(BOX, {})
    reference = {**rest.pop("reference_data", {}), **box.get("reference_data", {})}
    expectations = (*case.expectations, *_unfolded(reference), *_boxed(box.get("expectations"), Expectation))
    tags, pairs = _tags(case)
    invented = (*_DERIVED, *box.get("made", ()))
    labels = {**{key: value for key, value in case.labels.items() if key not in invented}, **pairs}
    plain = structs.replace(
        case,
        input=_input(case.input, box.get("input")),
        expectations=expectations,
        name=case.name or box.get("name", ""),
        tags=tags or tuple(box.get("tags", ())),
        profile=case.profile or box.get("profile", ""),
        tools=case.tools if case.tools is not None else _boxed_tools(box),
        state=case.state or box.get("state", {}),
        labels=labels,
        metadata={},
    )
    return Neutral(case=plain, flat=flat, reference=reference, beside=beside, rest=rest)


def _free(case: Case, rest: Json) -> Json:
    """The metadata that is the user's own; it is taken out of `rest`."""
    if case.world == World.LEGAL:
        flat = {key: value for key, value in rest.items() if key != UNKNOWN}
        for key in flat:
            del rest[key]
        return flat
    names = ("metadata", "question_metadata") if case.world == World.GOLDEN else ()
    return {key: value for name in names for key, value in dict(rest.pop(name, None) or {}).items()}


def _tags(case: Case) -> tuple[tuple[str, ...], dict[str, str]]:
    """In a test set, a tag `key:value` is a label."""
    if case.world != World.TEST_SET:
        return case.tags, {}
    pairs = [found for tag in case.tags if (found := _PAIR.fullmatch(tag))]
    plain = tuple(tag for tag in case.tags if not _PAIR.fullmatch(tag))
    return plain, {found["key"]: found["value"] for found in pairs}


def _input(given: Input, boxed: Any) -> Input:
    """Fixed turns that a test set played by plan are fixed turns; what was kept counts while nobody edited the rest."""
    if isinstance(given, Scenario) and given.persona == SCRIPTED:
        return Script(turns=(given.initial_message, *(step.say for step in given.plan)))
    kept: list[Input] = _boxed([boxed] if boxed else None, Input)
    return next((whole for whole in kept if opening_of(given).startswith(opening_of(whole))), given)


def opening_of(given: Input) -> str:
    """What the user says first, with the context that golden questions put before it."""
    context = given.context if isinstance(given, SingleTurn) else ""
    return f"{context}\n\n{opening(given)}" if context else opening(given)


def _boxed(values: Any, kind: Any) -> list[Any]:
    try:
        return msgspec.convert(values or [], list[kind])
    except (msgspec.ValidationError, ValueError):
        return []


def _boxed_tools(box: Mapping[str, Any]) -> tuple[Tool, ...] | None:
    return tuple(_boxed(box["tools"], Tool)) if "tools" in box else None


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
    texts = [Criterion(id=text_id(one), text=one) if isinstance(one, str) else _criterion(one) for one in listed]
    return Criteria(criteria=tuple(texts))


def _criterion(one: Any) -> Criterion:
    return msgspec.convert(one, Criterion)


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
