"""A case as an entry of a test set: criteria in words, an outcome, the tools, the trajectory and the final state.
Labels become tags `key:value`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import structs

from howsure.dialects.test_set import BY_NAME, HEADER, REFERENCE, SCENARIO, SINGLE_TURN, is_by_name, labels_of
from howsure.model.adk_criteria import CRITERIA, RUBRICS
from howsure.model.case import Case, Scenario, SingleTurn, World
from howsure.model.expectation import (
    CorrectChoice,
    Criteria,
    Criterion,
    Expectation,
    ExpectedCall,
    FinalState,
    ForbiddenTools,
    Goal,
    ReferenceAnswer,
    ToolCalls,
    Trajectory,
    WeightedCriteria,
    text_id,
)
from howsure.services.convert.loss_report import CaseLosses, FittedCase, kind_name, lose_keys
from howsure.services.convert.neutral_cases import NeutralCase, as_message_or_scenario, make_neutral, options_of

Json = dict[str, Any]
NEGATED = "The answer must not do this: "


def to_test_set(case: Case) -> FittedCase:
    losses, neutral = CaseLosses(), make_neutral(case)
    plain = neutral.case
    user_input = as_message_or_scenario(plain.input, losses)
    expected = _TestSetExpectations(losses)
    for expectation in plain.expectations:
        expected.add(expectation)
    if isinstance(user_input, SingleTurn) and expected.options:
        user_input = SingleTurn(message=f"{user_input.message}\n\n{expected.options}")
    for name in ("profile", "tools", "recorded"):
        if getattr(plain, name) not in (None, ""):
            losses.lost(name)
    lose_keys("metadata", neutral.rest, losses, ("inputs",))
    lose_keys("reference_data", neutral.reference, losses, (CRITERIA, RUBRICS))
    of_adk = {key: neutral.reference[key] for key in (CRITERIA, RUBRICS) if key in neutral.reference}
    kind = SCENARIO if isinstance(user_input, Scenario) else SINGLE_TURN
    metadata: Json = {HEADER: neutral.beside} if neutral.beside else {}
    if of_adk:
        metadata[REFERENCE] = of_adk
    if "inputs" in neutral.rest:
        metadata["inputs"] = neutral.rest["inputs"]
    return losses.fitted(
        structs.replace(
            plain,
            input=user_input,
            expectations=tuple(expected.fitting()),
            world=World.TEST_SET,
            profile="",
            tools=None,
            recorded=None,
            tags=_tags(neutral, losses),
            labels=labels_of(kind, plain.labels.get("priority")),
            metadata=metadata,
        )
    )


def _tags(neutral: NeutralCase, losses: CaseLosses) -> tuple[str, ...]:
    labels = {key: value for key, value in neutral.case.labels.items() if key != "priority"}
    for key, value in neutral.flat.items():
        if not isinstance(value, str | int | float):
            losses.lost(f"metadata.{key}", "a tag holds a plain value only")
    made = [f"{key}:{value}" for key, value in labels.items() if value.strip()]
    if made:
        losses.changed("labels", "labels became tags `key:value`")
    return tuple(dict.fromkeys([*neutral.case.tags, *made]))


class _TestSetExpectations:
    """The expectations of a case in the form that a test set can hold."""

    def __init__(self, losses: CaseLosses) -> None:
        self._losses = losses
        self._criteria: list[str] = []
        self._tools: list[str] = []
        self._forbidden: list[str] = []
        self._goal = ""
        self._references: list[Expectation] = []
        self.options = ""

    def add(self, expectation: Expectation) -> None:
        match expectation:
            case Criteria(criteria=criteria) | WeightedCriteria(criteria=criteria):
                self._add_criteria(criteria)
                if isinstance(expectation, WeightedCriteria) and expectation.references:
                    self._losses.lost("expectations.weighted_criteria.references")
            case ToolCalls(expected=calls) if is_by_name(expectation):
                self._tools += [call.name for call in calls if call.name not in self._tools]
            case ForbiddenTools(names=names):
                self._forbidden += names
            case Goal(text=text):
                self._add_goal(text, "expectations.goal")
            case ReferenceAnswer(answers=answers):
                self._losses.changed(
                    "expectations.reference_answer", "the reference answer became the expected outcome"
                )
                self._add_goal(answers[0], "expectations.reference_answer")
                if len(answers) > 1:
                    self._losses.lost("expectations.reference_answer", "there is room for one expected outcome")
            case CorrectChoice():
                self._losses.changed(
                    "expectations.correct_choice", "the options were put after the message, the right one a criterion"
                )
                self.options = options_of(expectation)
                right = [f"{one.id}. {one.text}" for one in expectation.choices if one.id in expectation.correct]
                self._criteria.append(f"The answer chooses exactly: {'; '.join(right)}")
            case ToolCalls() | Trajectory() | FinalState():
                if any(type(one) is type(expectation) for one in self._references):
                    self._losses.lost(f"expectations.{kind_name(expectation)}", "there is room for one of a kind")
                else:
                    self._references.append(expectation)
            case other:
                self._losses.lost(f"expectations.{kind_name(other)}")

    def _add_criteria(self, criteria: Iterable[Criterion]) -> None:
        for one in criteria:
            negative = one.weight is not None and one.weight < 0
            if negative:
                self._losses.changed("expectations.criteria.weight", "a criterion that costs points was turned round")
            elif one.weight is not None:
                self._losses.lost("expectations.criteria.weight", "success criteria have no weight")
            if one.description:
                self._losses.lost("expectations.criteria.description", "success criteria have a text and no more")
            if one.id != text_id(one.text):
                self._losses.lost("expectations.criteria.id", "success criteria have a text and no more")
            self._criteria.append(f"{NEGATED}{one.text}" if negative else one.text)

    def _add_goal(self, text: str, field: str) -> None:
        if self._goal and self._goal != text:
            self._losses.lost(field, "there is room for one expected outcome")
        self._goal = self._goal or text

    def fitting(self) -> Iterable[Expectation]:
        if self._criteria:
            texts = dict.fromkeys(self._criteria)
            yield Criteria(criteria=tuple(Criterion(id=text_id(text), text=text) for text in texts))
        allowed = [name for name in self._tools if name not in self._forbidden]
        if len(allowed) != len(self._tools):
            self._losses.lost("expectations.tool_calls", "the tool is forbidden too")
        if allowed:
            yield ToolCalls(expected=tuple(ExpectedCall(name=name) for name in allowed), match=BY_NAME)
        if self._forbidden:
            yield ForbiddenTools(names=tuple(dict.fromkeys(self._forbidden)))
        if self._goal.strip():
            yield Goal(text=self._goal)
        yield from self._references
