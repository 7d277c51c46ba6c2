"""A Case as an element of a test set's `items`; what such a file has no words for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from howsure.dialects.documents import Json, Reason, beyond, foreign_expectations, unplaced
from howsure.dialects.extras import KEY as UNKNOWN
from howsure.dialects.extras import put_back
from howsure.dialects.test_set_scenarios import scenario_document, unwritable_scenario
from howsure.model.case import Case, Input, Scenario, Script, SingleTurn
from howsure.model.expectation import (
    ArgumentMode,
    Criteria,
    Criterion,
    Expectation,
    ExpectedCall,
    ForbiddenTools,
    Goal,
    Matching,
    MatchMode,
    ToolCalls,
    text_id,
)

SINGLE_TURN, SCENARIO = "single_turn", "scenario"
HEADER = "test_set"
"""Where a case's metadata keeps what the file says about the whole test set."""
_KINDS = (Criteria, ToolCalls, ForbiddenTools, Goal)
BY_NAME = Matching(mode=MatchMode.SUPERSET, args=ArgumentMode.IGNORE)
"""A tool that should be used: called at least once, with whatever arguments."""


def labels_of(kind: str, priority: str | None) -> dict[str, str]:
    return {"type": kind, "priority": priority} if priority else {"type": kind}


def entry_document(case: Case) -> Json:
    """The case as an element of `items`, with every field the evaluation API gives."""
    kind, inputs = _inputs_document(case.input)
    document: Json = {
        "item_id": case.id,
        "type": kind,
        "name": case.name,
        "inputs": {**inputs, **({"state": case.state} if case.state else {}), **case.metadata.get("inputs", {})},
        "expected": _expected_document(case.expectations),
        "tags": list(case.tags),
    }
    if "priority" in case.labels:
        document["priority"] = case.labels["priority"]
    put_back(document, case.metadata.get(UNKNOWN, {}))
    return document


def _inputs_document(given: Input) -> tuple[str, Json]:
    match given:
        case SingleTurn(message=message):
            return SINGLE_TURN, {"message": message}
        case Scenario():
            return SCENARIO, scenario_document(given)
        case Script(turns=turns):
            return SINGLE_TURN, {"message": turns[0]}


def _expected_document(expectations: Iterable[Expectation]) -> Json:
    document: Json = {"success_criteria": [], "should_use_tools": [], "should_not_use_tools": []}
    for expectation in expectations:
        match expectation:
            case Criteria(criteria=criteria):
                document["success_criteria"] = [criterion.text for criterion in criteria]
            case ToolCalls(expected=calls):
                document["should_use_tools"] = [call.name for call in calls]
            case ForbiddenTools(names=names):
                document["should_not_use_tools"] = list(names)
            case Goal(text=text):
                document["expected_outcome"] = text
            case _:
                continue
    return document


def unwritable(case: Case) -> Iterator[Reason]:
    yield from foreign_expectations(case, _KINDS, "test-set")
    yield from unplaced(case, (HEADER, "inputs", UNKNOWN), "test-set")
    yield from beyond(case, ("profile", "tools", "recorded"), "test-set")
    kind, _ = _inputs_document(case.input)
    if case.labels != labels_of(kind, case.labels.get("priority")):
        yield "labels", "the labels of test set items are their type and priority"
    if isinstance(case.input, Script) and len(case.input.turns) > 1:
        yield "input", "fixed turns after the first one have no place in a test set"
    if isinstance(case.input, SingleTurn) and case.input != SingleTurn(message=case.input.message):
        yield "input", "context, history and attachments have no place in a test set"
    if isinstance(case.input, Scenario):
        yield from unwritable_scenario(case.input)
    yield from _unwritable_expectations(case)


def _unwritable_expectations(case: Case) -> Iterator[Reason]:
    for expectation in case.expectations:
        match expectation:
            case Criteria(criteria=criteria):
                if any(one != Criterion(id=text_id(one.text), text=one.text) for one in criteria):
                    yield "expectations", "success criteria have a text, and no id, description or weight of their own"
            case ToolCalls(expected=calls, match=match):
                if match != BY_NAME or any(call != ExpectedCall(name=call.name) for call in calls):
                    yield "expectations", "tools that should be used have a name, and no arguments or order"
            case _:
                continue
