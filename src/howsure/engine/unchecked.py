"""What a case expects and no grader of a run checks. A grader checks the kinds of expectation that it declares as
`verifies`, else those in `only_with`; one that declares neither may check any."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, get_args

from msgspec import Struct

from howsure.graders.base import Grader
from howsure.model.case import Case, World
from howsure.model.expectation import (
    Contract,
    Criteria,
    Expectation,
    Goal,
    Qualities,
    ReferenceAnswer,
    WeightedCriteria,
)
from howsure.model.flag import Flag

NOT_CHECKED, CONTRACT_NOT_CHECKED = "not_checked", "contract_not_checked"
Kind = type[Expectation]
CHECKED_KINDS: tuple[Kind, ...] = tuple(kind for kind in get_args(Expectation) if kind is not Qualities)
"""All but the names of the evals to run, which say nothing about the answer."""
_REFERENCE_ANSWERS = ("expected_response", "expected_responses", "acceptable_responses", "expected_behavior")
"""Keys of `reference_data` with the expected answer."""


class FieldCheck(Struct, frozen=True):
    """Something that a case expects, and the graders of a run that may check it."""

    field: str
    kind: Kind
    graders: tuple[Grader, ...]

    @property
    def flag(self) -> Flag:
        """What the result of a case says where none of them does."""
        kind = CONTRACT_NOT_CHECKED if self.kind is Contract else NOT_CHECKED
        return Flag(kind, f"{self.field} is checked by no grader of this run")


def kind_of_case(case: Case) -> tuple[object, ...]:
    """Cases that are equal in this have the same field checks."""
    return (case.world, case.recorded is None, *_reference_answers(case), *map(type, case.expectations))


def field_checks(case: Case, graders: Sequence[Grader]) -> list[FieldCheck]:
    """What a verdict on the case should rest on. In the Explain world, and beside criteria, a reference answer only
    helps judges; so does the goal of an Explain case."""
    kinds = {type(each) for each in case.expectations}
    if case.world == World.EXPLAIN:
        kinds -= {ReferenceAnswer, Goal}
    if Criteria in kinds or WeightedCriteria in kinds:
        kinds.discard(ReferenceAnswer)
    fields: dict[str, Kind] = dict.fromkeys(_reference_answers(case), ReferenceAnswer)
    fields |= {f"expected {kind.__struct_config__.tag}": kind for kind in CHECKED_KINDS if kind in kinds}
    return [
        FieldCheck(field, kind, tuple(grader for grader in graders if verifies(grader, kind)))
        for field, kind in fields.items()
    ]


def _reference_answers(case: Case) -> list[str]:
    custom = case.metadata.get("reference_data")
    return [key for key in _REFERENCE_ANSWERS if custom.get(key)] if isinstance(custom, dict) else []


def declared(grader: object) -> Mapping[str, Any]:
    """The conditions that belong to the grader's `wants`: a subclass that overrides it must declare its own."""
    return next((vars(kind) for kind in type(grader).__mro__ if "wants" in vars(kind)), {})


def verified_kinds(grader: object) -> Collection[Kind] | None:
    """The kinds of expectation that a grader says it checks; None: it does not say, and may check any."""
    kinds: Collection[Kind] | None = getattr(grader, "verifies", declared(grader).get("only_with"))
    return kinds


def verifies(grader: object, kind: Kind) -> bool:
    kinds = verified_kinds(grader)
    return kinds is None or kind in kinds
