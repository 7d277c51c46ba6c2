"""A case as a `legal_eval_v1` row: a question and the one expectation that decides it. The rest goes to its
metadata."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import structs

from howsure.model.case import Case, World
from howsure.model.expectation import CorrectChoice, Criteria, Expectation, Goal, ReferenceAnswer, WeightedCriteria
from howsure.model.transcript import Message
from howsure.services.convert.loss_report import CaseLosses, FittedCase, kind_name, lose_keys
from howsure.services.convert.neutral_cases import STORED_KEY, NeutralCase, StoredParts, as_question, make_neutral

Json = dict[str, Any]
TASKS = {CorrectChoice: "mcq", WeightedCriteria: "rubric_qa", ReferenceAnswer: "reference_qa"}
_ORDER = (CorrectChoice, WeightedCriteria, ReferenceAnswer, Criteria, Goal)
"""The expectations that can decide a row; the first of these that a case has does."""


def to_legal(case: Case, dataset: str) -> FittedCase:
    """`dataset` is the dataset name for rows whose case names none."""
    losses, neutral = CaseLosses(), make_neutral(case)
    plain = neutral.case
    deciding = [one for kind in _ORDER for one in plain.expectations if isinstance(one, kind)]
    if not deciding:
        kinds = ", ".join(kind_name(one) for one in plain.expectations) or "none"
        return FittedCase(None, (), f"a legal row needs criteria, a reference answer or choices; this case has {kinds}")
    others = [other for other in plain.expectations if other is not deciding[0]]
    expectation = _decided(deciding[0], losses)
    question = as_question(plain.input, losses)
    history = tuple(Message(role=one.role, content=one.content) for one in question.history if one.content.strip())
    if history != question.history:
        losses.lost("input.history.tool_calls", "messages of legal rows have a role and a text")
    metadata = _metadata(neutral, others, losses, made="dataset" not in plain.labels)
    if plain.recorded is not None:
        losses.lost("recorded", "legal files hold questions; answers go into a responses file")
    lose_keys("metadata", neutral.rest, losses)
    if "dataset" not in plain.labels:
        losses.changed("labels.dataset", f"rows name their dataset; this one is {dataset!r}")
    labels = {"dataset": plain.labels.get("dataset") or dataset, "task_type": TASKS[type(expectation)]}
    if isinstance(metadata.get("policy_id"), str):
        labels["policy_id"] = metadata["policy_id"]
    return losses.fitted(
        structs.replace(
            plain,
            input=structs.replace(question, history=history),
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


def _decided(expectation: Expectation, losses: CaseLosses) -> CorrectChoice | WeightedCriteria | ReferenceAnswer:
    match expectation:
        case Criteria(criteria=criteria):
            losses.changed("expectations.criteria", "the criteria became a rubric without weights")
            return WeightedCriteria(criteria=criteria)
        case Goal(text=text):
            losses.changed("expectations.goal", "the goal became the reference answer")
            return ReferenceAnswer(answers=(text,))
        case CorrectChoice() | WeightedCriteria() | ReferenceAnswer():
            return expectation
        case other:
            raise TypeError(f"nothing that decides a legal row: {other!r}")


def _metadata(neutral: NeutralCase, others: list[Expectation], losses: CaseLosses, *, made: bool) -> Json:
    case = neutral.case
    metadata = {key: value for key, value in neutral.flat.items() if key != "dataset"}
    for key, value in case.labels.items():
        if key != "dataset":
            metadata.setdefault(key, value)
    stored = StoredParts(
        name=case.name,
        profile=case.profile,
        tags=case.tags,
        tools=case.tools,
        state=case.state,
        reference_data=neutral.reference,
    )
    for name in msgspec.to_builtins(stored):
        losses.changed(name, f"kept in metadata.{STORED_KEY}, where no grader looks")
    for other in others:
        losses.changed(f"expectations.{kind_name(other)}", f"kept in metadata.{STORED_KEY}, where no grader looks")
    whole = structs.replace(stored, expectations=tuple(others), made=("dataset",) if made else ())
    box = msgspec.to_builtins(whole)
    if neutral.beside:
        losses.lost("beside", "legal files have no header")
    return {**metadata, **({STORED_KEY: box} if box else {})}
