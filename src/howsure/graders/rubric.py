"""The grader `rubric`: the standing rules of the agent, judged one by one if the run brings a rubric. A rule with an
outcome check is answered by a program, from the final state or from one kind of entity in it. The value is the share of
rules that hold, and it has no mark: which rules fail a case is decided by the policy, by their severity."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, Self

from msgspec import Struct, field

from howsure.graders.base import GraderContext
from howsure.graders.judged_grader import PartsGrader
from howsure.judges.batches import CriteriaBatch
from howsure.judges.panels import PassMark
from howsure.judges.replies import read_check
from howsure.judges.rulings import Check, NotApplicable
from howsure.matching.conditions import ConditionResult, evaluate_condition, needs_clock
from howsure.matching.values import at_path
from howsure.model.case import Case
from howsure.model.rubric import OUTCOME_CHECK, Rubric, Rule, Scope
from howsure.model.score import Grade, Part, Score, Unscored, UnscoredReason
from howsure.model.transcript import Transcript

HOLDS = 1.0
NO_STATE = "no final state was recorded, and the rule is checked against it"
NO_CLOCK = "the rule asks how long ago something was, and the run has no clock"

Clock = Callable[[], datetime]


class OutcomeCheck(Struct, frozen=True, kw_only=True):
    """A condition on the whole state; with an `entity_type`, on what the state holds under that name. If that is a list
    of entities, each must fulfil it. If nothing can be told (no state, no clock, values that cannot be compared), there
    is no value."""

    check: Mapping[str, Any] = field(default_factory=dict)
    entity_type: str = ""

    def grade(self, name: str, part: Part, state: Mapping[str, Any] | None, now: Clock | None) -> Grade:
        """The grade of the rule that `part` names."""
        if state is None:
            return _unscored_check(name, part, NO_STATE)
        if now is None and needs_clock(self.check):
            return _unscored_check(name, part, NO_CLOCK)
        result = self.evaluate(state, now() if now else None)
        if result.holds is None:
            return _unscored_check(name, part, result.reason)
        return Score(
            name=name,
            value=float(result.holds),
            pass_mark=HOLDS,
            reason=result.reason,
            part=part,
            details={OUTCOME_CHECK: {"entity_type": self.entity_type or None, "check": dict(self.check)}},
        )

    def evaluate(self, state: Mapping[str, Any], now: datetime | None) -> ConditionResult:
        """Whether the condition holds. An entity that is not in the state has no fields."""
        if not self.entity_type:
            return evaluate_condition(self.check, state, now)
        value = at_path(state, self.entity_type)
        if value is None or value == []:
            result = evaluate_condition(self.check, {}, now)
            return ConditionResult(result.holds, f"the state has no `{self.entity_type}`; {result.reason}")
        entities = value if isinstance(value, list) else [value]
        if not all(isinstance(each, Mapping) for each in entities):
            return ConditionResult(
                None, f"`{self.entity_type}` in the state is neither an object nor a list of objects"
            )
        return self._combine([evaluate_condition(self.check, each, now) for each in entities])

    def _combine(self, results: list[ConditionResult]) -> ConditionResult:
        answers = [result.holds for result in results]
        holds = False if False in answers else None if None in answers else True
        if len(results) == 1:
            return ConditionResult(holds, f"`{self.entity_type}`: {results[0].reason}")
        reasons = [
            f"`{self.entity_type}.{place}`: {each.reason}" for place, each in enumerate(results) if each.holds is holds
        ]
        return ConditionResult(holds, "; ".join(reasons))


def outcome_check(rule: Rule) -> OutcomeCheck | None:
    """The check that a rule brings. None: a judge must answer the rule."""
    check = rule.metadata.get(OUTCOME_CHECK)
    return OutcomeCheck(check=check["check"], entity_type=check.get("entity_type") or "") if check else None


def _unscored_check(name: str, part: Part, reason: str) -> Unscored:
    return Unscored(name=name, why=UnscoredReason.ERROR, reason=reason, pass_mark=HOLDS, part=part)


_HOLDS = PassMark(1.0)


class RubricGrader(PartsGrader):
    """One question to the judge for each rule without an outcome check. Rules without a scope count as `general`."""

    name = "rubric"
    may_not_apply = True
    verifies = ()
    rubric: Rubric | None = None
    checks: Mapping[str, OutcomeCheck] = MappingProxyType({})

    def bind(self, context: GraderContext) -> Self:
        bound = super().bind(context)
        bound.rubric = context.rubric
        rules = context.rubric.rules if context.rubric else ()
        bound.checks = {rule.id: check for rule in rules if (check := outcome_check(rule))}
        return bound

    def wants(self, case: Case) -> bool:
        return self.rubric is not None and bool(self.rubric.rules)

    def parts(self, case: Case) -> Iterable[tuple[Part, PassMark]]:
        for position, rule in enumerate(self.rubric.rules if self.rubric else (), start=1):
            scope = (rule.scope or Scope.GENERAL).value
            part = Part(id=rule.id, text=rule.name, severity=rule.severity, scope=scope, position=position)
            yield part, _HOLDS

    def by_program(self, part: Part) -> bool:
        return part.id in self.checks

    async def grade_part(
        self, case: Case, transcript: Transcript, part: Part, mark: PassMark, batch: CriteriaBatch
    ) -> Grade:
        check = self.checks.get(part.id)
        if check is None:
            return await super().grade_part(case, transcript, part, mark, batch)
        return check.grade(self.name, part, transcript.state, self.context.now)

    def read(self, content: Any) -> Check | NotApplicable:
        return read_check(content)

    def whole(self, scores: Sequence[Score], parts: Sequence[Grade]) -> Score:
        return self.share(scores, "rules held")
