"""What the graders that ask a judge share: the judge comes from the run, a ruling becomes a Score, and a judge that is
missing or cannot be read gives a grade without a value. A concrete grader says only what it asks and how it reads the
reply."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import Any, Self

from msgspec.structs import replace

from howsure.errors import JudgeFailed
from howsure.graders.base import GraderContext
from howsure.judges.base import Judge, Question, voting_procedure
from howsure.judges.batches import CriteriaBatch, require_ruling
from howsure.judges.conversations import find_missing_quotes, note_missing_quotes
from howsure.judges.panels import PassMark, ask_panel
from howsure.judges.replies import ask_until_readable, read_rating
from howsure.judges.rulings import OFF_SCALE, NotApplicable, Rating, Ruling, UnparsableReply
from howsure.model.case import Case
from howsure.model.dataset_policy import PassWinner
from howsure.model.score import FREE, UNIT, Grade, Part, Scale, Score, Unscored, UnscoredReason
from howsure.model.transcript import Transcript
from howsure.policies.verdicts import NEEDS_A_JUDGE

DOES_NOT_APPLY = "the judge says that this does not apply"

Read = Callable[[Any], Ruling]


class JudgedGrader:
    """A grader that asks a judge. Before `bind` it has none. `needed`: a pass rule needs its grades. If it is False, a
    grade without a value and without a mark does not gate. `may_not_apply`: its question offers "n/a" as an answer."""

    name: str = ""
    needed: bool = True
    may_not_apply: bool = False
    scale: Scale = UNIT
    mark: PassMark = PassMark()
    judge: Judge | None = None
    context: GraderContext = GraderContext()

    def bind(self, context: GraderContext) -> Self:
        bound = copy(self)
        bound.judge = context.judge
        bound.context = context
        return bound

    def wants(self, case: Case) -> bool:
        raise NotImplementedError

    def asks_about(self, case: Case) -> Iterable[Part | None]:
        """What it asks the judge: about the whole case (None), or about each of these."""
        return [None]

    def read(self, content: Any) -> Ruling:
        """The ruling in a reply: by default, a number on the scale."""
        return read_rating(content, self.scale)

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        """By default, one question about the whole case."""
        return [await self.ask_judge(case, transcript, self.read)]

    async def ask_judge(
        self,
        case: Case,
        transcript: Transcript,
        read: Read,
        part: Part | None = None,
        mark: PassMark | None = None,
        prompt: str = "",
        batch: CriteriaBatch | None = None,
    ) -> Grade:
        """The ruling of the judge as a Score, or why there is none. `prompt` is the question if the grader brings its
        own."""
        mark = mark or self.mark
        if self.judge is None:
            return self.unscored(UnscoredReason.NO_JUDGE, NEEDS_A_JUDGE, part, mark)
        question = Question(
            grader=self.name,
            case=case,
            transcript=transcript,
            part=part,
            agent=self.context.agent,
            rubric=self.context.rubric,
            policies=self.context.policies,
            prompt=prompt,
            batch=batch,
        )
        # For a whole case, a mark set by the profile wins.
        chosen = self.context.marks(case, self.name) if part is None and self.context.marks else None
        final_mark = mark if chosen is None else PassMark(chosen, mark.direction)
        read = self.read_strictly(read, case, final_mark if part is None else PassMark())
        try:
            procedure = voting_procedure(self.judge, question)
            if procedure is None:
                ruling, reply = await ask_until_readable(self.judge, question, read)
            else:
                ruling, reply = await ask_panel(procedure, self.judge, question, read, final_mark)
        except JudgeFailed as failure:
            return self.unscored(UnscoredReason.ERROR, str(failure), part, mark, flag=failure.flag)
        if isinstance(ruling, NotApplicable):
            return self.unscored(
                UnscoredReason.NOT_APPLICABLE, ruling.reason or DOES_NOT_APPLY, part, mark, reply.details
            )
        lost_quotes = find_missing_quotes(ruling.evidence, case, transcript)
        details = {**ruling.details, **reply.details}
        return Score(
            name=self.name,
            value=ruling.value,
            scale=self.scale,
            pass_mark=mark.value,
            direction=mark.direction,
            stated_pass=ruling.stated_pass if isinstance(ruling, Rating) else None,
            reason=note_missing_quotes(ruling.reason, lost_quotes) if lost_quotes else ruling.reason,
            part=part,
            evidence=ruling.evidence,
            judge=reply.judge,
            cost_usd=reply.cost_usd,
            details={**details, "evidence_missing": lost_quotes} if lost_quotes else details,
        )

    def read_strictly(self, read: Read, case: Case, mark: PassMark) -> Read:
        """`read`, for replies to this question: "n/a" cannot be read where it is not offered, nor a pass or fail beside
        a value that says the opposite, unless one of the two wins. A criterion has no `mark` here: that it passes means
        that it is met, be that good or bad."""
        winner = self.pass_winner(case)

        def read_reply(content: Any) -> Ruling:
            ruling = read(content)
            if isinstance(ruling, NotApplicable) and not self.may_not_apply:
                raise UnparsableReply(
                    "the reply says that the question does not apply, which it does not offer", OFF_SCALE
                )
            if not isinstance(ruling, Rating) or ruling.stated_pass is None or winner is PassWinner.JUDGE:
                return ruling
            if winner is None and mark.contradicts(ruling.value, ruling.stated_pass, self.scale):
                word = "pass" if ruling.stated_pass else "fail"
                needed = "" if mark.value is None else f" where the mark is {mark.value:g}"
                raise UnparsableReply(f"the reply says {word} beside {ruling.value:g}{needed}")
            return replace(ruling, stated_pass=None)

        return read_reply

    def pass_winner(self, case: Case) -> PassWinner | None:
        """What counts where the judge says pass or fail beside its value. None: they must agree."""
        return None

    def unscored(
        self,
        why: UnscoredReason,
        reason: str,
        part: Part | None = None,
        mark: PassMark | None = None,
        details: dict[str, Any] | None = None,
        flag: str = "",
    ) -> Unscored:
        """A grade without a value."""
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
            flag=flag,
            details=(details or {}) | ({} if self.needed or pass_mark is not None else {FREE: True}),
        )


class PartsGrader(JudgedGrader):
    """Asks about every criterion or rule, each exactly once, and sums the grades up."""

    def parts(self, case: Case) -> Iterable[tuple[Part, PassMark]]:
        raise NotImplementedError

    def reader(self, case: Case) -> Read:
        """How the ruling on one part of this case is read."""
        return self.read

    def whole(self, scores: Sequence[Score], parts: Sequence[Grade]) -> Grade:
        """The grade of the whole case, from the parts that have a value (at least one)."""
        raise NotImplementedError

    def by_program(self, part: Part) -> bool:
        """Whether a program grades this part, so that no judge is needed."""
        return False

    def asks_about(self, case: Case) -> Iterable[Part | None]:
        return [part for part, _ in self.parts(case) if not self.by_program(part)]

    async def grade_part(
        self, case: Case, transcript: Transcript, part: Part, mark: PassMark, batch: CriteriaBatch
    ) -> Grade:
        """The grade of one part. By default the judge gives it."""
        read = self.reader(case)
        return await self.ask_judge(
            case, transcript, lambda content: read(require_ruling(content)), part, mark, batch=batch
        )

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        parts = list(self.parts(case))
        read = self.read_strictly(self.reader(case), case, PassMark())
        batch = CriteriaBatch([part for part, _ in parts if not self.by_program(part)], read)
        pending = (self.grade_part(case, transcript, part, mark, batch) for part, mark in parts)
        grades: list[Grade] = list(await gather(*pending))
        return [*grades, self._sum_up(grades)]

    def _sum_up(self, parts: Sequence[Grade]) -> Grade:
        """The grade of the whole case. If a part errored, the whole is an error; parts that do not apply are left
        out."""
        unscored = [grade for grade in parts if isinstance(grade, Unscored)]
        if errors := [grade for grade in unscored if grade.why is UnscoredReason.ERROR]:
            first = errors[0]
            part = first.part
            about = f" “{part.text or part.id}”" if part else ""
            reason = f"{len(errors)} of {len(parts)} could not be judged;{about}: {first.reason}"
            return self.unscored(UnscoredReason.ERROR, reason, flag=first.flag)
        if any(grade.why is UnscoredReason.NO_JUDGE for grade in unscored):
            return self.unscored(UnscoredReason.NO_JUDGE, NEEDS_A_JUDGE)
        scores = [grade for grade in parts if isinstance(grade, Score)]
        if not scores:
            return self.unscored(UnscoredReason.NOT_APPLICABLE, "none of them applies")
        return self.whole(scores, parts)

    def share(self, scores: Sequence[Score], words: str) -> Score:
        """The share of these that passed."""
        passed = sum(score.passed is True for score in scores)
        return Score(
            name=self.name,
            value=passed / len(scores),
            pass_mark=self.mark.value,
            reason=f"{passed} of {len(scores)} {words}",
            details={"passed": passed, "total": len(scores)},
        )
