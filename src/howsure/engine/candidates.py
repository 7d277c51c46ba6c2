"""What an attempt needs besides its case: a candidate, with its target, user and graders, and the rules of verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from time import perf_counter

from msgspec import Struct
from msgspec.structs import replace

from howsure.engine.unchecked import FieldCheck, declared, field_checks, kind_of_case
from howsure.errors import CaseFailure, GraderFailed, UnknownName, boundary
from howsure.graders.base import Grader
from howsure.model.case import Case
from howsure.model.flag import Flag
from howsure.model.result import Failure, Result
from howsure.model.score import Grade, Score
from howsure.model.transcript import Transcript
from howsure.model.verdict import Decision, Normalization, Profile
from howsure.policies.verdicts import Policy
from howsure.targets.base import Target
from howsure.users.base import UserSimulator
from howsure.users.scripts import ScriptedUsers


class GraderSelection:
    """The graders of one candidate and repeat. Their declared conditions are checked once for each kind of case."""

    def __init__(self, graders: Iterable[Grader]) -> None:
        self._graders = tuple(graders)
        self._by_kind: dict[tuple[object, ...], tuple[Sequence[Grader], Sequence[FieldCheck]]] = {}

    def select(self, case: Case) -> Sequence[Grader]:
        """The graders that want the case, in their order."""
        return self.choose(case)[0]

    def choose(self, case: Case, *, spans: bool = False) -> tuple[Sequence[Grader], Sequence[FieldCheck]]:
        """The graders that want the case, and what it expects that none of them checks. `spans`: the conversation has
        spans, which graders with `measures_spans` measure."""
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
    """One candidate in one repeat: the target, who plays the user, and who grades. Every case is tried with every one.
    `replays`: how often a conversation that the simulated user spoiled is played again. `stopwatch`: a clock, in
    seconds. `case_flags`: what is to be said of a case itself, such as a document that nobody could read."""

    target: Target
    graders: Sequence[Grader]
    users: UserSimulator = ScriptedUsers()
    candidate: str = ""
    repeat: int = 1
    limits: TimeLimits = TimeLimits()
    replays: int = 0
    stopwatch: Callable[[], float] = perf_counter
    case_flags: Callable[[Case], Iterable[Flag]] = lambda case: ()

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
        unchecked: Sequence[FieldCheck] = (),
    ) -> Result:
        """The result, with the flags of what the target and the graders noticed, and of what nobody checked."""
        noticed = (*self.case_flags(case), *(transcript.flags if transcript else ()))
        flagged = (each for each in decision.grades if isinstance(each, Score) and each.flag)
        graded = (Flag(score.flag, score.reason) for score in flagged)
        not_checked = (check.flag for check in unchecked)
        return Result(
            case=case,
            verdict=decision.verdict,
            reasons=decision.reasons,
            grades=decision.grades,
            candidate=self.candidate,
            repeat=self.repeat,
            transcript=transcript,
            failures=failures,
            flags=tuple(dict.fromkeys((*noticed, *graded, *not_checked))),
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
