"""What an attempt needs besides its case: a candidate with its target, user and graders, what they check and grade, and
the rules of verdicts. A grader checks the kinds of expectation that it declares as `verifies`, else those in
`only_with`; one that declares neither may check any."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from time import perf_counter
from typing import Any, get_args

from msgspec import Struct
from msgspec.structs import replace

from howsure.errors import NUL, BudgetReached, CaseFailure, GraderFailed, UnknownName, boundary, message_of
from howsure.graders.base import Grader
from howsure.model.case import UNCHECKED, Case, World
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
from howsure.model.plain_values import escaped_flag, plain_copy
from howsure.model.result import Failure, Result
from howsure.model.score import Grade, Score, Unscored, UnscoredReason
from howsure.model.transcript import Transcript
from howsure.model.verdict import Decision, Normalization, Profile
from howsure.policies.verdicts import Policy
from howsure.targets.base import Target
from howsure.users.base import UserSimulator
from howsure.users.scripts import ScriptedUsers

NOT_CHECKED, CONTRACT_NOT_CHECKED = "not_checked", "contract_not_checked"
GRADES = list[Grade]
UNREAD = "the judge's reply cannot be read"
"""The text of the flag of a grade without a value."""
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


class GraderSelection:
    """The graders of one candidate and repeat. Their declared conditions are checked once for each kind of case."""

    def __init__(self, graders: Iterable[Grader]) -> None:
        self._graders = tuple(graders)
        self._by_kind: dict[tuple[object, ...], tuple[Sequence[Grader], Sequence[FieldCheck]]] = {}

    def choose(self, case: Case, *, spans: bool = False) -> tuple[Sequence[Grader], Sequence[FieldCheck]]:
        """The graders that want the case, in their order, and what it expects that none of them checks. `spans`: the
        conversation has spans, which graders with `measures_spans` measure."""
        kind = kind_of_case(case)
        known = self._by_kind.get(kind)
        if known is None:
            selected = [each for each in self._graders if may_want(each, case)]
            known = self._by_kind[kind] = selected, field_checks(case, selected)
        able, checks = known
        try:
            with boundary(GraderFailed, "graders"):
                wanting = [
                    each for each in able if each.wants(case) or (spans and getattr(each, "measures_spans", False))
                ]
        except CaseFailure:
            for each in able:
                with boundary(GraderFailed, f"grader {each.name!r}, asked whether it wants the case {case.id!r}"):
                    each.wants(case)
            raise
        return wanting, [check for check in checks if not any(grader in wanting for grader in check.graders)]


def may_want(grader: Grader, case: Case) -> bool:
    """False if the declared conditions of the grader exclude the case."""
    conditions = declared(grader)
    kinds, worlds = conditions.get("only_with"), conditions.get("only_in")
    if worlds is not None and case.world not in worlds and not (conditions.get("or_recorded") and case.recorded):
        return False
    return kinds is None or any(isinstance(expected, kinds) for expected in case.expectations)


class TimeLimits(Struct, frozen=True, kw_only=True):
    """How long a turn and a whole conversation may take, in seconds; None: as long as the target allows itself."""

    turn_seconds: float | None = None
    case_seconds: float | None = None


class CandidateRepeat(Struct, frozen=True, kw_only=True, dict=True):
    """One candidate in one repeat: the target, the simulated user and the graders. Every case is tried with each of
    them. `replays`: how often a conversation that the simulated user spoiled is played again. `stopwatch`: a clock, in
    seconds. `case_flags`: flags of the case itself, such as an unreadable document. `prompt`: the name of the prompt,
    if the case has several. `check_budget` raises BudgetReached where no case is sent any more."""

    target: Target
    graders: Sequence[Grader]
    users: UserSimulator = ScriptedUsers()
    candidate: str = ""
    prompt: str = ""
    repeat: int = 1
    limits: TimeLimits = TimeLimits()
    replays: int = 0
    stopwatch: Callable[[], float] = perf_counter
    case_flags: Callable[[Case], Iterable[Flag]] = lambda case: ()
    check_budget: Callable[[], None] = lambda: None

    @cached_property
    def target_name(self) -> str:
        return f"target {self.target.name!r}"

    @cached_property
    def user_name(self) -> str:
        return f"the user played by {self.users.name!r}"

    @cached_property
    def selection(self) -> GraderSelection:
        return GraderSelection(self.graders)

    def result(
        self,
        case: Case,
        decision: Decision,
        transcript: Transcript | None = None,
        failures: tuple[Failure, ...] = (),
        grading: Grading | None = None,
    ) -> Result:
        """The result, with the flags of what the target and the graders noticed, and of what nobody checked."""
        noticed = (*self.case_flags(case), *(transcript.flags if transcript else ()))
        flagged = (each for each in decision.grades if each.flag)
        graded = (
            Flag(each.flag, each.reason if isinstance(each, Score) else f"{each.name}: {UNREAD}") for each in flagged
        )
        grading = grading or Grading()
        foreign = case.metadata.get(UNCHECKED)
        not_checked = [check.flag for check in grading.unchecked]
        not_checked += [Flag(NOT_CHECKED, str(each)) for each in foreign] if isinstance(foreign, list) else []
        return Result(
            case=case,
            verdict=decision.verdict,
            reasons=decision.reasons,
            grades=decision.grades,
            candidate=self.candidate,
            repeat=self.repeat,
            transcript=transcript,
            failures=failures,
            flags=tuple(dict.fromkeys((*noticed, *graded, *not_checked, *grading.flags))),
        )


class Rules(Struct, frozen=True, kw_only=True):
    """Which policy decides for which world, and the pass marks that apply. `profile` overrides the case's own."""

    policies: Mapping[str, Policy]
    fallback: Policy
    profiles: Mapping[str, Profile]
    profile: Profile | None = None
    normalization: Normalization | None = None

    def decide(self, case: Case, grades: Sequence[Grade]) -> Decision:
        policy = self.policies.get(case.world, self.fallback)
        return policy(case, grades, self.profile_for(case))

    def profile_for(self, case: Case) -> Profile | None:
        chosen = self.profile
        if chosen is None and case.profile:
            if case.profile not in self.profiles:
                raise UnknownName("profile", case.profile, list(self.profiles))
            chosen = self.profiles[case.profile]
        if self.normalization is None:
            return chosen
        return replace(chosen or Profile(name=""), normalization=self.normalization)


class Grading(Struct, frozen=True):
    """The grades, what broke on the way, and what the case expects that no grader checks."""

    grades: tuple[Grade, ...] = ()
    failures: tuple[Failure, ...] = ()
    unchecked: Sequence[FieldCheck] = ()
    flags: tuple[Flag, ...] = ()


def _check_names(grades: Iterable[Grade]) -> None:
    """A score is found by its name and by the id and scope of its part, so these must be text that can be stored."""
    for each in grades:
        names = (each.name, each.part.id, each.part.scope) if each.part else (each.name,)
        if "\0" in "".join(names):
            raise ValueError(f"{NUL} stands in the name of a score, or in the id or scope of its part: {names}")


async def grade(case: Case, transcript: Transcript, candidate: CandidateRepeat, *, broken: bool = False) -> Grading:
    """What every grader says. Of a conversation that is `broken` only its spans are measured: that needs no answer.
    Only a reached budget is raised."""
    grades: list[Grade] = []
    failures: list[Failure] = []
    flags: list[Flag] = []
    try:
        graders, unchecked = candidate.selection.choose(case, spans=bool(transcript.spans))
    except CaseFailure as failure:
        unknown = Unscored(name="graders", why=UnscoredReason.ERROR, reason=message_of(failure))
        return Grading((unknown,), (Failure.of(failure),))
    for grader in graders:
        if broken and not getattr(grader, "measures_spans", False):
            continue
        try:
            with boundary(GraderFailed, f"grader {grader.name!r}"):
                given, escaped = plain_copy(list(await grader.grade(case, transcript)), GRADES)
                _check_names(given)
                grades += given
                flags += [escaped_flag(f"the grades of {grader.name}")] * escaped
        except BudgetReached:
            raise
        except CaseFailure as failure:
            failures.append(Failure.of(failure))
            grades.append(Unscored(name=grader.name, why=UnscoredReason.ERROR, reason=message_of(failure)))
    return Grading(tuple(grades), tuple(failures), unchecked, tuple(flags))
