"""The bench on which a judge is tried: the cases with their answers, the graders that ask it, and the rules that make
verdicts of its grades. Everything goes the way of a real run (attempt), so what holds here holds there."""

from __future__ import annotations

from asyncio import Semaphore
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from howsure.engine.attempt import attempt
from howsure.engine.plan import CandidateRepeat, Rules
from howsure.errors import PlanRefused
from howsure.graders.base import Setting
from howsure.graders.judged import JudgedGrader
from howsure.kit import Kit
from howsure.model.agent import Agent
from howsure.model.case import Case
from howsure.model.result import Result
from howsure.model.rubric import Rubric
from howsure.model.score import Grade, Score
from howsure.model.transcript import Transcript
from howsure.services.judging import Source
from howsure.services.options import RunOptions
from howsure.services.planning import CONCURRENCY, Given, Plan, plan
from howsure.services.running import is_left_out
from howsure.services.trust.perturbing import Subject
from howsure.targets.base import Finished
from howsure.targets.recorded import RecordedTarget

Key = tuple[str, str]


class Said:
    """A target that has said it already."""

    name = "said"

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript

    async def open(self, case: Case) -> Finished:
        return Finished(self._transcript)


class Answer(Struct, frozen=True, kw_only=True):
    """One answer of the dataset, with who gave it."""

    subject: Subject
    candidate: str
    repeat: int


class Bench(Struct, frozen=True, kw_only=True):
    """`judged` gives what the judge makes of one subject, as a run would."""

    source: Source
    graders: tuple[JudgedGrader, ...]
    rules: Rules
    answers: tuple[Answer, ...]
    room: Semaphore
    agent: Agent | None = None
    contracts: Mapping[str, Mapping[str, Any]]

    async def judged(self, subject: Subject, candidate: str, repeat: int) -> Result:
        """The result of one attempt."""
        setting = Setting(
            judge=self.source.at(candidate, repeat),
            rubric=subject.rubric,
            agent=self.agent,
            contracts=self.contracts,
        )
        graders: list[Any] = [each.bind(setting) for each in self.graders]
        lane = CandidateRepeat(target=Said(subject.transcript), graders=graders, candidate=candidate, repeat=repeat)
        async with self.room:
            result = await attempt(subject.case, lane, self.rules)
        if is_left_out(result):
            raise PlanRefused(
                "the budget was reached before the judge was tried to the end: raise it, or lower --limit"
            )
        return result


def bench(options: RunOptions, kit: Kit, given: Given) -> Bench:
    """Everything that is needed, or `PlanRefused`."""
    made = plan(options, kit, given)
    source = given.judging.source
    if source is None:
        raise PlanRefused("a judge is needed: name one with --judge")
    if given.judging.is_recorded:
        raise PlanRefused(
            "a recording repeats what was said of other answers; test the judge that it was recorded from"
        )
    return Bench(
        source=source,
        graders=_graders(options, kit),
        rules=made.rules,
        answers=tuple(_answers(made, given.rubric)),
        room=Semaphore(options.concurrency or CONCURRENCY),
        agent=given.agent,
        contracts=kit.contracts,
    )


def _graders(options: RunOptions, kit: Kit) -> tuple[JudgedGrader, ...]:
    """Those that ask a judge; optional ones when they are named."""
    if options.graders is not None:
        known = [kit.graders[name] for name in options.graders]
    else:
        known = [each for each in kit.graders if not getattr(each, "optional", False)]
    return tuple(each for each in known if isinstance(each, JudgedGrader))


def _answers(made: Plan, rubric: Rubric | None) -> Iterator[Answer]:
    for case in made.survey.cases():
        for lane in made.lanes:
            target = lane.target
            if not isinstance(target, RecordedTarget):
                raise PlanRefused("a judge is tested on recorded answers: give them with --responses")
            if isinstance(said := target.find(case), Transcript):
                subject = Subject(case=case, transcript=said, rubric=rubric)
                yield Answer(subject=subject, candidate=lane.candidate, repeat=lane.repeat)


def asked(result: Result) -> dict[Key, Grade]:
    """The grades that a judge was asked for, by grader and criterion; sums over criteria are left out."""
    judged = [grade for grade in result.grades if grade.judge]
    summed = {grade.name for grade in judged if grade.part is not None}
    return {
        (grade.name, grade.part.id if grade.part else ""): grade
        for grade in judged
        if grade.part is not None or grade.name not in summed
    }


def word(grade: Grade | None) -> str:
    """A verdict in a word: pass or fail; the number where there is no pass mark; `none` where there is no value."""
    if not isinstance(grade, Score):
        return "none"
    if grade.passed is None:
        return format(grade.value, "g")
    return "pass" if grade.passed else "fail"
