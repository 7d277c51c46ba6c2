"""A case as a `legal_eval_v1` row: a question and the one thing that decides it. The rest goes into its metadata."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import structs

from howsure.model.case import Case, SingleTurn, World
from howsure.model.expectation import (
    CorrectChoice,
    Criteria,
    Expectation,
    Goal,
    ReferenceAnswer,
    WeightedCriteria,
)
from howsure.model.transcript import Message
from howsure.services.conversion.inputs import as_question
from howsure.services.conversion.ledger import Fitted, Pad
from howsure.services.conversion.neutral import BOX, Box, Neutral, neutral
from howsure.services.conversion.parts import kind_name, lose_rest

Json = dict[str, Any]
TASKS = {CorrectChoice: "mcq", WeightedCriteria: "rubric_qa", ReferenceAnswer: "reference_qa"}
_ORDER = (CorrectChoice, WeightedCriteria, ReferenceAnswer, Criteria, Goal)
"""What decides a row, the first that a case has."""


def to_legal(case: Case, dataset: str) -> Fitted:
    """`dataset` is the name for rows whose case names none."""
    pad, given = Pad(), neutral(case)
    plain = given.case
    graded, others = _decisive(plain.expectations)
    if graded is None:
        kinds = ", ".join(kind_name(one) for one in plain.expectations) or "none"
        return Fitted(None, (), f"a legal row needs criteria, a reference answer or choices; this case has {kinds}")
    expectation = _decided(graded, pad)
    asked = _history(as_question(plain.input, pad), pad)
    metadata = _metadata(given, others, pad, made="dataset" not in plain.labels)
    if plain.recorded is not None:
        pad.lost("recorded", "legal files hold questions; answers go into a responses file")
    lose_rest(given.rest, pad)
    if "dataset" not in plain.labels:
        pad.changed("labels.dataset", f"rows name their dataset; this one is {dataset!r}")
    labels = {"dataset": plain.labels.get("dataset") or dataset, "task_type": TASKS[type(expectation)]}
    if isinstance(metadata.get("policy_id"), str):
        labels["policy_id"] = metadata["policy_id"]
    return pad.fitted(
        structs.replace(
            plain,
            input=asked,
            expectations=(expectation,),
            world=World.LEGAL,
            name="",
            profile="",
            tags=(),
            tools=None,
            state={},
            recorded=None,
            labels=labels,
            metadata=metadata,
        )
    )


def _decisive(given: tuple[Expectation, ...]) -> tuple[Expectation | None, list[Expectation]]:
    for kind in _ORDER:
        for expectation in given:
            if isinstance(expectation, kind):
                return expectation, [other for other in given if other is not expectation]
    return None, []


def _decided(expectation: Expectation, pad: Pad) -> CorrectChoice | WeightedCriteria | ReferenceAnswer:
    match expectation:
        case Criteria(criteria=criteria):
            pad.changed("expectations.criteria", "the criteria became a rubric without weights")
            return WeightedCriteria(criteria=criteria)
        case Goal(text=text):
            pad.changed("expectations.goal", "the goal became the reference answer")
            return ReferenceAnswer(answers=(text,))
        case CorrectChoice() | WeightedCriteria() | ReferenceAnswer():
            return expectation
        case other:
            raise TypeError(f"nothing that decides a legal row: {other!r}")


def _history(asked: SingleTurn, pad: Pad) -> SingleTurn:
    said = tuple(Message(role=one.role, content=one.content) for one in asked.history if one.content.strip())
    if said != asked.history:
        pad.lost("input.history.tool_calls", "messages of legal rows have a role and a text")
    return structs.replace(asked, history=said)


def _metadata(given: Neutral, others: list[Expectation], pad: Pad, *, made: bool) -> Json:
    case = given.case
    metadata = {key: value for key, value in given.flat.items() if key != "dataset"}
    for key, value in case.labels.items():
        if key != "dataset":
            metadata.setdefault(key, value)
    kept = Box(
        name=case.name,
        profile=case.profile,
        tags=case.tags,
        tools=case.tools,
        state=case.state,
        reference_data=given.reference,
    )
    for name in msgspec.to_builtins(kept):
        pad.changed(name, f"kept in metadata.{BOX}, where no grader looks")
    for other in others:
        pad.changed(f"expectations.{kind_name(other)}", f"kept in metadata.{BOX}, where no grader looks")
    whole = structs.replace(kept, expectations=tuple(others), made=("dataset",) if made else ())
    box = msgspec.to_builtins(whole)
    if given.beside:
        pad.lost("beside", "legal files have no header")
    return {**metadata, **({BOX: box} if box else {})}
