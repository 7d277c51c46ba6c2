"""What graders that ask a judge have in common: the judge comes from the run, a ruling becomes a Score, and a judge
that is missing or cannot be read becomes a grade without a value. Each says only what it asks and how it reads."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import Any, Self

from howsure.errors import JudgeFailed
from howsure.graders.base import Setting
from howsure.judges.base import Judge, Question
from howsure.judges.batching import Batch, ruled_on
from howsure.judges.evidence import flagged, missing
from howsure.judges.panel import decided
from howsure.judges.rulings import NotApplicable, Ruling
from howsure.judges.voting import Mark as Mark
from howsure.model.case import Case
from howsure.model.score import FREE, UNIT, Grade, Part, Scale, Score, Unscored, Why
from howsure.model.transcript import Transcript

NO_JUDGE = "needs a judge"
DOES_NOT_APPLY = "the judge says that this does not apply"

Read = Callable[[Any], Ruling]


class JudgedGrader:
    """Unbound it has no judge; `bind` gives the grader that has the run's. One that no pass rule needs does not gate
    where it has no mark."""

    name: str = ""
    needed: bool = True
    scale: Scale = UNIT
    mark: Mark = Mark()
    judge: Judge | None = None
    setting: Setting = Setting()

    def bind(self, setting: Setting) -> Self:
        bound = copy(self)
        bound.judge = setting.judge
        bound.setting = setting
        return bound

    async def asked(
        self,
        case: Case,
        transcript: Transcript,
        read: Read,
        part: Part | None = None,
        mark: Mark | None = None,
        prompt: str = "",
        batch: Batch | None = None,
    ) -> Grade:
        """The judge's ruling as a Score; or why there is none. `prompt`: the question in the grader's own words."""
        mark = mark or self.mark
        if self.judge is None:
            return self.without(Why.NO_JUDGE, NO_JUDGE, part, mark)
        question = Question(
            grader=self.name,
            case=case,
            transcript=transcript,
            part=part,
            agent=self.setting.agent,
            rubric=self.setting.rubric,
            prompt=prompt,
            batch=batch,
        )
        try:
            given, reply = await decided(self.judge, question, read, self._held_to(case, part, mark))
        except JudgeFailed as failure:
            return self.without(Why.ERROR, str(failure), part, mark)
        if isinstance(given, NotApplicable):
            return self.without(Why.NOT_APPLICABLE, given.reason or DOES_NOT_APPLY, part, mark, reply.details)
        lost = missing(given.evidence, case, transcript)
        details = {**given.details, **reply.details}
        return Score(
            name=self.name,
            value=given.value,
            scale=self.scale,
            pass_mark=mark.value,
            direction=mark.direction,
            reason=flagged(given.reason, lost) if lost else given.reason,
            part=part,
            evidence=given.evidence,
            judge=reply.judge,
            cost_usd=reply.cost_usd,
            details={**details, "evidence_missing": lost} if lost else details,
        )

    def _held_to(self, case: Case, part: Part | None, mark: Mark) -> Mark:
        """The mark that the value will be held to. What a profile sets wins, for a case as a whole."""
        chosen = self.setting.marks(case, self.name) if part is None and self.setting.marks else None
        return mark if chosen is None else Mark(chosen, mark.direction)

    def without(
        self,
        why: Why,
        reason: str,
        part: Part | None = None,
        mark: Mark | None = None,
        details: dict[str, Any] | None = None,
    ) -> Unscored:
        """A grade that has no value."""
        judge = self.judge.name if self.judge else ""
        pass_mark = (mark or self.mark).value
        return Unscored(
            name=self.name,
            why=why,
            reason=reason,
            scale=self.scale,
            pass_mark=pass_mark,
            part=part,
            judge=judge,
            details=(details or {}) | ({} if self.needed or pass_mark is not None else {FREE: True}),
        )


class WholeGrader(JudgedGrader):
    """Asks one thing, about the case as a whole."""

    def read(self, content: Any) -> Ruling:
        raise NotImplementedError

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        return [await self.asked(case, transcript, self.read)]


class PartsGrader(JudgedGrader):
    """Asks about every criterion or rule, each exactly once, and sums up."""

    def parts(self, case: Case) -> Iterable[tuple[Part, Mark]]:
        raise NotImplementedError

    def read(self, content: Any) -> Ruling:
        raise NotImplementedError

    def whole(self, scores: Sequence[Score], parts: Sequence[Grade]) -> Grade:
        """The sum over the parts that have a value (at least one has)."""
        raise NotImplementedError

    def by_program(self, part: Part) -> bool:
        """Whether this one needs no judge."""
        return False

    async def answered(self, case: Case, transcript: Transcript, part: Part, mark: Mark, batch: Batch) -> Grade:
        """One of them: the judge's, unless it needs none."""
        return await self.asked(case, transcript, self._understood, part, mark, batch=batch)

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        parts = list(self.parts(case))
        batch = Batch([part for part, _ in parts if not self.by_program(part)], self.read)
        asking = (self.answered(case, transcript, part, mark, batch) for part, mark in parts)
        grades: list[Grade] = list(await gather(*asking))
        return [*grades, self._summed(grades)]

    def _understood(self, content: Any) -> Ruling:
        return self.read(ruled_on(content))

    def _summed(self, parts: Sequence[Grade]) -> Grade:
        """A sum with an errored part is errored; parts that do not apply are left out of it."""
        for why in (Why.ERROR, Why.NO_JUDGE):
            lacking = [grade for grade in parts if isinstance(grade, Unscored) and grade.why is why]
            if lacking:
                return self.without(why, _lacking(why, lacking, len(parts)))
        scores = [grade for grade in parts if isinstance(grade, Score)]
        if not scores:
            return self.without(Why.NOT_APPLICABLE, "none of them applies")
        return self.whole(scores, parts)

    def share(self, scores: Sequence[Score], words: str) -> Score:
        """The share that passed."""
        passed = sum(score.passed is True for score in scores)
        return Score(
            name=self.name,
            value=passed / len(scores),
            pass_mark=self.mark.value,
            reason=f"{passed} of {len(scores)} {words}",
            details={"passed": passed, "total": len(scores)},
        )


def _lacking(why: Why, lacking: Sequence[Unscored], total: int) -> str:
    if why is Why.NO_JUDGE:
        return NO_JUDGE
    first = lacking[0]
    about = f" {first.part.id}" if first.part else ""
    return f"{len(lacking)} of {total} could not be judged;{about}: {first.reason}"
