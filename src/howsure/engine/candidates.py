"""What an attempt needs besides its case: a candidate, with its target, user and graders, and the rules of verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from time import perf_counter
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from howsure.errors import UnknownName
from howsure.graders.base import Grader
from howsure.model.case import Case
from howsure.model.result import Result
from howsure.model.score import Grade
from howsure.model.verdict import Decision, Normalization, Profile
from howsure.policies.verdicts import Policy
from howsure.targets.base import Target
from howsure.users.base import UserSimulator
from howsure.users.scripts import ScriptedUsers


class GraderSelection:
    """The graders of one candidate and repeat. Their declared conditions are checked once for each kind of case."""

    def __init__(self, graders: Iterable[Grader]) -> None:
        self._graders = tuple(graders)
        self._by_kind: dict[tuple[object, ...], tuple[Grader, ...]] = {}

    def select(self, case: Case) -> Sequence[Grader]:
        """The graders that want the case, in their order."""
        kind = (case.world, case.recorded is None, *map(type, case.expectations))
        candidates = self._by_kind.get(kind)
        if candidates is None:
            candidates = self._by_kind[kind] = tuple(each for each in self._graders if may_want(each, case))
        return [grader for grader in candidates if grader.wants(case)]


def may_want(grader: Grader, case: Case) -> bool:
    """False if the declared conditions of the grader exclude the case."""
    # Conditions belong to the `wants` in the same class: a subclass that overrides it must declare its own.
    declared: Mapping[str, Any] = next((vars(kind) for kind in type(grader).__mro__ if "wants" in vars(kind)), {})
    kinds, worlds = declared.get("only_with"), declared.get("only_in")
    if worlds is not None and case.world not in worlds and not (declared.get("or_recorded") and case.recorded):
        return False
    return kinds is None or any(isinstance(expected, kinds) for expected in case.expectations)


class TimeLimits(Struct, frozen=True, kw_only=True):
    """How long a turn and a whole conversation may take, in seconds; None: as long as the target allows itself."""

    turn_seconds: float | None = None
    case_seconds: float | None = None


class CandidateRepeat(Struct, frozen=True, kw_only=True, dict=True):
    """One candidate in one repeat: the target, who plays the user, and who grades. Every case is tried with every one.
    `replays`: how often a conversation that the simulated user spoiled is played again. `stopwatch`: a clock, in
    seconds."""

    target: Target
    graders: Sequence[Grader]
    users: UserSimulator = ScriptedUsers()
    candidate: str = ""
    repeat: int = 1
    limits: TimeLimits = TimeLimits()
    replays: int = 0
    stopwatch: Callable[[], float] = perf_counter

    @cached_property
    def target_name(self) -> str:
        return f"target {self.target.name!r}"

    @cached_property
    def user_name(self) -> str:
        return f"the user played by {self.users.name!r}"

    @cached_property
    def selection(self) -> GraderSelection:
        return GraderSelection(self.graders)

    def result(self, case: Case, decision: Decision, **rest: Any) -> Result:
        return Result(
            case=case,
            verdict=decision.verdict,
            reasons=decision.reasons,
            grades=decision.grades,
            candidate=self.candidate,
            repeat=self.repeat,
            **rest,
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
