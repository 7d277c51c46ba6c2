"""`rubric`: the agent's standing rules, judged one by one, when the run brings a rubric. Rules with an outcome check
are answered from the final state, by program. The whole is the share that held and has no mark: which rules fail a case
is for the policy, by their severity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Self

from howsure.graders.base import Setting
from howsure.graders.judged import Mark, PartsGrader
from howsure.graders.outcome_checks import OutcomeCheck, outcome_check
from howsure.judges.batching import Batch
from howsure.judges.reading import read_check
from howsure.judges.rulings import Check, NotApplicable
from howsure.model.case import Case
from howsure.model.rubric import Rubric, Scope
from howsure.model.score import Grade, Part, Score
from howsure.model.transcript import Transcript

_HOLDS = Mark(1.0)


class RubricGrader(PartsGrader):
    """One judge call for each rule that no program can check; rules without a scope count under `general`."""

    name = "rubric"
    rubric: Rubric | None = None
    checks: Mapping[str, OutcomeCheck] = MappingProxyType({})

    def bind(self, setting: Setting) -> Self:
        bound = super().bind(setting)
        bound.rubric = setting.rubric
        rules = setting.rubric.rules if setting.rubric else ()
        bound.checks = {rule.id: check for rule in rules if (check := outcome_check(rule))}
        return bound

    def wants(self, case: Case) -> bool:
        return self.rubric is not None and bool(self.rubric.rules)

    def parts(self, case: Case) -> Iterable[tuple[Part, Mark]]:
        for position, rule in enumerate(self.rubric.rules if self.rubric else (), start=1):
            scope = (rule.scope or Scope.GENERAL).value
            part = Part(id=rule.id, text=rule.name, severity=rule.severity, scope=scope, position=position)
            yield part, _HOLDS

    def by_program(self, part: Part) -> bool:
        return part.id in self.checks

    async def answered(self, case: Case, transcript: Transcript, part: Part, mark: Mark, batch: Batch) -> Grade:
        check = self.checks.get(part.id)
        if check is None:
            return await super().answered(case, transcript, part, mark, batch)
        return check.grade(self.name, part, transcript.state, self.setting.now)

    def read(self, content: Any) -> Check | NotApplicable:
        return read_check(content)

    def whole(self, scores: Sequence[Score], parts: Sequence[Grade]) -> Score:
        return self.share(scores, "rules held")
