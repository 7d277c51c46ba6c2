"""Rules of a rubric that a program answers: a condition on the session's final state, or on one kind of entity in it.
The reason is in words; what cannot be told (no state, no clock, values that cannot be compared) has no value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct, field

from howsure.matching.arguments import at_path
from howsure.matching.conditions import Finding, found_in, needs_clock
from howsure.model.rubric import OUTCOME_CHECK, Rule
from howsure.model.score import Grade, Part, Score, Unscored, Why

HOLDS = 1.0
NO_STATE = "no final state was recorded, and the rule is checked against it"
NO_CLOCK = "the rule asks how long ago something was, and the run has no clock"

Clock = Callable[[], datetime]


class OutcomeCheck(Struct, frozen=True, kw_only=True):
    """A condition on the whole state; with an `entity_type`, on what the state holds under that name. Of a list of
    entities each must fulfil it."""

    check: Mapping[str, Any] = field(default_factory=dict)
    entity_type: str = ""

    def grade(self, name: str, part: Part, state: Mapping[str, Any] | None, now: Clock | None) -> Grade:
        """The grade of the rule that `part` names."""
        if state is None:
            return _unscored(name, part, NO_STATE)
        if now is None and needs_clock(self.check):
            return _unscored(name, part, NO_CLOCK)
        finding = self.found(state, now() if now else None)
        if finding.holds is None:
            return _unscored(name, part, finding.reason)
        return Score(
            name=name,
            value=float(finding.holds),
            pass_mark=HOLDS,
            reason=finding.reason,
            part=part,
            details={OUTCOME_CHECK: {"entity_type": self.entity_type or None, "check": dict(self.check)}},
        )

    def found(self, state: Mapping[str, Any], now: datetime | None) -> Finding:
        """Whether it holds. An entity that is not in the state has no fields."""
        if not self.entity_type:
            return found_in(self.check, state, now)
        held = at_path(state, self.entity_type)
        if held is None or held == []:
            finding = found_in(self.check, {}, now)
            return Finding(finding.holds, f"the state has no `{self.entity_type}`; {finding.reason}")
        entities = held if isinstance(held, list) else [held]
        if not all(isinstance(each, Mapping) for each in entities):
            return Finding(None, f"`{self.entity_type}` in the state is neither an object nor a list of objects")
        return self._of_all([found_in(self.check, each, now) for each in entities])

    def _of_all(self, findings: list[Finding]) -> Finding:
        told = [finding.holds for finding in findings]
        holds = False if False in told else None if None in told else True
        if len(findings) == 1:
            return Finding(holds, f"`{self.entity_type}`: {findings[0].reason}")
        said = [
            f"`{self.entity_type}.{place}`: {each.reason}" for place, each in enumerate(findings) if each.holds is holds
        ]
        return Finding(holds, "; ".join(said))


def outcome_check(rule: Rule) -> OutcomeCheck | None:
    """The check that a rule brings; None: a judge must answer it."""
    given = rule.metadata.get(OUTCOME_CHECK)
    if not given:
        return None
    return OutcomeCheck(check=given["check"], entity_type=given.get("entity_type") or "")


def _unscored(name: str, part: Part, reason: str) -> Unscored:
    return Unscored(name=name, why=Why.ERROR, reason=reason, pass_mark=HOLDS, part=part)
