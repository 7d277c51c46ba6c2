"""Cases without the habits of the format that they come from. What a format keeps in free places (golden's
`reference_data` and `metadata`, a legal row's `metadata`, the tags of a test set) is moved to the model's fields; and
the user's side of a case takes the forms that formats know: one message, fixed turns, a simulated user."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, TypeGuard

import msgspec
from msgspec import Struct, field, structs

from howsure.dialects.extras import KEY as UNKNOWN
from howsure.dialects.golden import FILE_FIELDS
from howsure.dialects.test_set import HEADER
from howsure.model.case import Case, Input, PlanStep, Scenario, Script, SingleTurn, World, opening
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
from howsure.model.transcript import Message, Role, Tool
from howsure.services.convert.loss_report import CaseLosses

Json = dict[str, Any]
STORED_KEY = "howsure"
"""The key in a format's free metadata under which parts of a case are kept that it has no field for."""
SCRIPTED = "A user who says exactly what the plan says, one step after the other."
"""The persona that fixed turns have in a test set."""
_PAIR = re.compile(r"(?P<key>[A-Za-z_][\w.-]*):(?P<value>\S.*)", re.DOTALL)
_DERIVED = ("type", "task_type", "repeat")
"""Labels that a format makes of the case itself."""


class StoredParts(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Parts of a case that a format has no field for, as its free metadata stores them. `made` are labels that were
    made up because the format requires them."""

    input: Input | None = None
    expectations: tuple[Expectation, ...] = ()
    name: str = ""
    tags: tuple[str, ...] = ()
    profile: str = ""
    tools: tuple[Tool, ...] | None = None
    state: Json = field(default_factory=dict)
    reference_data: Json = field(default_factory=dict)
    made: tuple[str, ...] = ()


class NeutralCase(Struct, frozen=True, kw_only=True):
    """A case, and what its format holds beside the model's fields: free metadata (`flat`), the user's own references,
    fields beside the list of cases, and the rest."""

    case: Case
    flat: Json
    reference: Json
    beside: Json
    rest: Json


def make_neutral(case: Case) -> NeutralCase:
    """The case without the habits of its format: what the format keeps in free places is moved to the model's
    fields."""
    rest = dict(case.metadata)
    beside = rest.pop(FILE_FIELDS, None) or rest.pop(HEADER, None) or {}
    if isinstance(beside.get(STORED_KEY), dict):
        beside = {**{key: value for key, value in beside.items() if key != STORED_KEY}, **beside[STORED_KEY]}
    flat = _take_metadata(case, rest)
    box = _take_stored(flat)
    reference = {**rest.pop("reference_data", {}), **box.reference_data}
    expectations = (*case.expectations, *_take_expectations(reference), *box.expectations)
    pairs = {tag: pair for tag in case.tags if (pair := _PAIR.fullmatch(tag))} if case.world == World.TEST_SET else {}
    tags = tuple(tag for tag in case.tags if tag not in pairs)
    invented = (*_DERIVED, *box.made)
    labels = {key: value for key, value in case.labels.items() if key not in invented}
    user_input = case.input
    if isinstance(user_input, Scenario) and user_input.persona == SCRIPTED:
        # Fixed turns that a test set holds as a scripted plan become fixed turns again.
        user_input = Script(turns=(user_input.initial_message, *(step.say for step in user_input.plan)))
    elif box.input is not None and opening_of(user_input).startswith(opening_of(box.input)):
        user_input = box.input  # its opening was not edited since it was stored
    plain = structs.replace(
        case,
        input=user_input,
        expectations=expectations,
        name=case.name or box.name,
        tags=tags or box.tags,
        profile=case.profile or box.profile,
        tools=case.tools if case.tools is not None else box.tools,
        state=case.state or box.state,
        labels=labels | {pair["key"]: pair["value"] for pair in pairs.values()},
        metadata={},
    )
    return NeutralCase(case=plain, flat=flat, reference=reference, beside=beside, rest=rest)


def _take_stored(flat: Json) -> StoredParts:
    """Take the stored parts out of the metadata; what a user keeps under that key stays."""
    try:
        box = msgspec.convert(flat.get(STORED_KEY, {}), StoredParts)
    except (msgspec.ValidationError, ValueError):
        return StoredParts()
    flat.pop(STORED_KEY, None)
    return box


def _take_metadata(case: Case, rest: Json) -> Json:
    """Take the user's own metadata out of `rest`."""
    if case.world in (World.LEGAL, World.PLAIN):
        flat = {key: value for key, value in rest.items() if key != UNKNOWN}
        for key in flat:
            del rest[key]
        return flat
    names = ("metadata", "question_metadata") if case.world == World.GOLDEN else ()
    if case.recorded is None and rest.get("agent_name") == case.labels.get("agent"):
        rest.pop("agent_name", None)  # the label says it
    return {key: value for name in names for key, value in dict(rest.pop(name, None) or {}).items()}


def opening_of(user_input: Input) -> str:
    """What the user says first, with the context that golden questions put before it."""
    context = user_input.context if isinstance(user_input, SingleTurn) else ""
    return f"{context}\n\n{opening(user_input)}" if context else opening(user_input)


def _is_texts(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and bool(value) and all(isinstance(one, str) and one.strip() for one in value)


REFERENCES = (
    *("expected_response", "acceptable_responses", "expected_behavior", "success_criteria", "rubric"),
    *("choices", "should_not_use_tools", "expected_contract", "required_evals"),
)
"""Keys of `reference_data` that hold expectations for which golden has no field."""
COMPANIONS = {"choices": "correct_choice_ids", "required_evals": "relevant_context"}
"""The keys that go with some of them."""


def _read_expectation(key: str, reference: Json) -> Expectation | None:
    """The expectation under this key; None, or an error, where there is none in it."""
    value = reference[key]
    match key:
        case "rubric":
            return msgspec.convert(value, WeightedCriteria)
        case "choices":
            correct = msgspec.convert(reference["correct_choice_ids"], tuple[str, ...])
            return CorrectChoice(choices=msgspec.convert(value, tuple[Choice, ...]), correct=correct)
        case "success_criteria" if isinstance(value, list) and value:
            criteria = [
                Criterion(id=text_id(one), text=one) if isinstance(one, str) else msgspec.convert(one, Criterion)
                for one in value
            ]
            return Criteria(criteria=tuple(criteria))
        case "expected_response" | "acceptable_responses":
            single, several = reference.get("expected_response"), reference.get("acceptable_responses")
            answers = several if _is_texts(several) else [single]
            return ReferenceAnswer(answers=tuple(answers)) if _is_texts(answers) else None
        case "expected_behavior" if _is_texts([value]):
            return Goal(text=value)
        case "expected_contract" if _is_texts([value]):
            return Contract(name=value)
        case "should_not_use_tools" if _is_texts(value):
            return ForbiddenTools(names=tuple(value))
        case "required_evals" if _is_texts(value):
            return Qualities(names=tuple(value), relevant_context=reference.get("relevant_context", ""))
        case _:
            return None


def _take_expectations(reference: Json) -> list[Expectation]:
    """Take the expectations out that a golden question holds under keys of its own."""
    expectations: list[Expectation] = []
    for key in REFERENCES:
        if key not in reference:
            continue
        try:
            expectation = _read_expectation(key, reference)
        except (msgspec.ValidationError, ValueError, LookupError, TypeError):
            continue
        if expectation is not None:
            expectations.append(expectation)
            for one in (key, COMPANIONS.get(key, key)):
                reference.pop(one, None)
    return expectations


def as_reference_data(expectation: Expectation) -> Json:
    """An expectation as keys of `reference_data`: the reverse of `_take_expectations`."""
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


def as_turns(user_input: Input, losses: CaseLosses) -> Script:
    """The input as fixed turns: of a simulated user, the opening and the unconditional steps."""
    match user_input:
        case Script():
            return user_input
        case SingleTurn():
            return Script(turns=(_message(user_input, losses),))
        case Scenario(plan=plan):
            losses.changed("input", "of a simulated user, the opening and the unconditional steps became fixed turns")
            _lose_scenario(user_input, losses)
            return Script(turns=(user_input.initial_message, *(step.say for step in plan if not step.when)))


def with_options(script: Script, expectations: Iterable[Expectation]) -> Script:
    """The turns with the options of a multiple-choice question after the last: an agent can only choose what it
    sees."""
    shown = [options_of(one) for one in expectations if isinstance(one, CorrectChoice)]
    return Script(turns=(*script.turns[:-1], "\n\n".join([script.turns[-1], *shown]))) if shown else script


def options_of(choice: CorrectChoice) -> str:
    return "\n".join(f"{one.id}. {one.text}" for one in choice.choices)


def as_message_or_scenario(user_input: Input, losses: CaseLosses) -> SingleTurn | Scenario:
    """The input as one message or a simulated user; fixed turns become a plan that is followed to the letter."""
    match user_input:
        case Scenario():
            return user_input
        case SingleTurn():
            return SingleTurn(message=_message(user_input, losses))
        case Script(turns=(only,)):
            return SingleTurn(message=only)
        case Script(turns=turns):
            losses.changed(
                "input.turns", "fixed turns became the plan of a simulated user who follows it to the letter"
            )
            steps = tuple(PlanStep(say=turn) for turn in turns[1:])
            return Scenario(persona=SCRIPTED, initial_message=turns[0], max_turns=len(turns), plan=steps)


def as_question(user_input: Input, losses: CaseLosses) -> SingleTurn:
    """The input as one question with the conversation before it."""
    match user_input:
        case SingleTurn():
            return user_input
        case Script(turns=turns):
            if len(turns) > 1:
                losses.changed("input.turns", "the earlier turns became the conversation so far, without answers")
            before = tuple(Message(role=Role.USER, content=turn) for turn in turns[:-1])
            return SingleTurn(message=turns[-1], history=before)
        case Scenario():
            losses.changed("input", "of a simulated user, the opening became the question")
            _lose_scenario(user_input, losses)
            if user_input.plan:
                losses.lost("input.plan", "a single question has no plan")
            return SingleTurn(message=user_input.initial_message)


def _message(turn: SingleTurn, losses: CaseLosses) -> str:
    if turn.history:
        losses.lost("input.history", "the format has no earlier conversation")
    if turn.attachments:
        losses.lost("input.attachments", "the format has no attachments")
    if not turn.context:
        return turn.message
    losses.changed("input.context", "the context was put before the message")
    return f"{turn.context}\n\n{turn.message}"


def _lose_scenario(scenario: Scenario, losses: CaseLosses) -> None:
    losses.lost("input.persona", "the format has no simulated user")
    for name in ("goal", "facts"):
        if getattr(scenario, name):
            losses.lost(f"input.{name}", "the format has no simulated user")
    if any(step.when for step in scenario.plan):
        losses.lost("input.plan", "steps with a condition need a simulated user")
