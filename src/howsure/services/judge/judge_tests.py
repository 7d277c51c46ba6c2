"""`howsure judge test`: does a judge give the same answer the same verdict when only its form changes, and does it fail
an answer that only says that it should pass? Every answer goes through the engine's `attempt`, with the graders and
rules of a real run, so what holds here holds there."""

from __future__ import annotations

from asyncio import Semaphore, gather
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from statistics import fmean
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from howsure.engine.attempt import attempt
from howsure.engine.candidates import CandidateRepeat, Rules
from howsure.errors import PlanRefused
from howsure.graders.base import GraderContext
from howsure.graders.judged_grader import JudgedGrader
from howsure.model.agent import Agent
from howsure.model.calibration import AttackOutcome, Figure, JudgePin, JudgeTest, Stability, VerdictFlip
from howsure.model.case import Case
from howsure.model.dataset_policy import DatasetPolicy
from howsure.model.result import Result
from howsure.model.rubric import Rubric
from howsure.model.run_request import RUN_PREFIX, RunRequest
from howsure.model.score import Grade, Score
from howsure.model.transcript import Transcript
from howsure.model.verdict import Verdict
from howsure.services.judge.agreement import rate_figure
from howsure.services.judge.answer_variants import (
    ATTACKS,
    PERTURBATIONS,
    Attack,
    AttackGoal,
    JudgeSubject,
    Perturbation,
    off_topic,
)
from howsure.services.judge.judge_records import open_judge_pin
from howsure.services.run.execute import is_out_of_budget
from howsure.services.run.judges import open_models
from howsure.services.run.model_access import JudgeSource, OpenModels
from howsure.services.run.plan import Plan, RunMaterials, named_graders, plan_run, read_materials
from howsure.services.run.recorded_answers import RecordedAnswers, earlier_answers, read_answers
from howsure.services.workspace import Workspace
from howsure.stats.intervals import mean_interval
from howsure.targets.base import FinishedSession
from howsure.targets.recordings import RecordedTarget

Key = tuple[str, str]


class AnsweredTarget:
    """A target whose transcript is known already."""

    name = "said"

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript

    async def open(self, case: Case) -> FinishedSession:
        return FinishedSession(self._transcript)


class BenchAnswer(Struct, frozen=True, kw_only=True):
    """One recorded answer of the dataset, with its candidate and repeat."""

    subject: JudgeSubject
    candidate: str
    repeat: int


class JudgeBench(Struct, frozen=True, kw_only=True):
    """Everything needed to have a judge grade an answer as a run would."""

    source: JudgeSource
    graders: tuple[JudgedGrader, ...]
    rules: Rules
    answers: tuple[BenchAnswer, ...]
    room: Semaphore
    agent: Agent | None = None
    contracts: Mapping[str, Mapping[str, Any]]
    policies: Mapping[str, DatasetPolicy]

    async def judged(self, subject: JudgeSubject, candidate: str, repeat: int) -> Result:
        """Have the judge grade one answer; the result of the attempt."""
        setting = GraderContext(
            judge=self.source.at(candidate, repeat),
            rubric=subject.rubric,
            agent=self.agent,
            contracts=self.contracts,
            policies=self.policies,
        )
        graders: list[Any] = [each.bind(setting) for each in self.graders]
        target = AnsweredTarget(subject.transcript)
        candidate_repeat = CandidateRepeat(target=target, graders=graders, candidate=candidate, repeat=repeat)
        async with self.room:
            result = await attempt(subject.case, candidate_repeat, self.rules)
        if is_out_of_budget(result):
            raise PlanRefused(
                "the budget was reached before the judge was tried to the end: raise it, or lower --limit"
            )
        return result


def build_bench(work: Workspace, request: RunRequest, materials: RunMaterials, models: OpenModels) -> JudgeBench:
    """The bench for this request, or `PlanRefused`."""
    plan = plan_run(work, request, materials, models)
    source = models.source
    if source is None:
        raise PlanRefused("a judge is needed: name one with --judge")
    if models.is_recorded:
        raise PlanRefused(
            "a recording repeats what was said of other answers; test the judge that it was recorded from"
        )
    # Optional graders only where they are named.
    usual = [each for each in work.kit.graders if not getattr(each, "optional", False)]
    graders = named_graders(request, work.kit, usual)
    return JudgeBench(
        source=source,
        graders=tuple(each for each in graders if isinstance(each, JudgedGrader)),
        rules=plan.rules,
        answers=tuple(_bench_answers(plan, materials.rubric)),
        room=Semaphore(plan.concurrency),
        agent=materials.agent,
        contracts=work.kit.contracts,
        policies=work.kit.dataset_policies,
    )


def _bench_answers(plan: Plan, rubric: Rubric | None) -> Iterator[BenchAnswer]:
    for case in plan.cases.read():
        for one in plan.candidates:
            target = one.target
            if not isinstance(target, RecordedTarget):
                raise PlanRefused("a judge is tested on recorded answers: give them with --responses")
            if isinstance(transcript := target.find(case), Transcript):
                subject = JudgeSubject(case=case, transcript=transcript, rubric=rubric)
                yield BenchAnswer(subject=subject, candidate=one.candidate, repeat=one.repeat)


def judged_grades(result: Result) -> dict[Key, Grade]:
    """The grades that a judge was asked for, by grader and criterion; sums over criteria are left out."""
    judged = [grade for grade in result.grades if grade.judge]
    summed = {grade.name for grade in judged if grade.part is not None}
    return {
        (grade.name, grade.part.id if grade.part else ""): grade
        for grade in judged
        if grade.part is not None or grade.name not in summed
    }


def verdict_word(grade: Grade | None) -> str:
    """A grade in a word: `pass` or `fail`; the number where there is no pass mark; `none` where there is no value."""
    if not isinstance(grade, Score):
        return "none"
    if grade.passed is None:
        return format(grade.value, "g")
    return "pass" if grade.passed else "fail"


LIMIT = 10
"""Cases that are tested by default: the judge is asked some fifty times about each."""

Say = Callable[[str], None]


async def try_judge(work: Workspace, request: RunRequest, say: Say) -> JudgeTest:
    """Test the judge on the first cases of the datasets: harmless changes first, then attacks."""
    async with AsyncExitStack() as stack:
        models = await stack.enter_async_context(open_models(work, request))
        materials = read_materials(request, work.kit, await _read_responses(work, request))
        bench = build_bench(work, request, materials, models)
        changes = len(PERTURBATIONS) + len(ATTACKS) + 2
        say(f"judge: {models.judge}; {len(bench.answers):,} answers, each judged about {changes} times")
        return await measure_judge(bench, open_judge_pin(models))


async def _read_responses(work: Workspace, request: RunRequest) -> RecordedAnswers | None:
    if not request.responses:
        return None
    if not request.responses[0].startswith(RUN_PREFIX):
        return read_answers(request.responses, work.kit.dialects["simulation"])
    async with await work.store(read_only=True) as store:
        earlier = await store.find_run(request.responses[0].removeprefix(RUN_PREFIX))
        return RecordedAnswers(await earlier_answers(store.iterate(earlier.id)), ())


async def measure_judge(on: JudgeBench, pin: JudgePin) -> JudgeTest:
    """Apply every harmless change and every attack to every answer of the bench."""
    before = await gather(*(on.judged(each.subject, each.candidate, each.repeat) for each in on.answers))
    grades = sum(len(judged_grades(result)) for result in before)
    if not grades:
        raise PlanRefused("no grader asks a judge about these cases; name some with --graders")
    stability = await gather(*(measure_stability(on, before, each) for each in PERTURBATIONS))
    standing = await attack_judge(on)
    return JudgeTest(
        judge=pin,
        cases=len(on.answers),
        grades=grades,
        stability=tuple(stability),
        attacks=standing.outcomes,
        failing=standing.failing,
        not_failing=standing.not_failing,
        attack_success=standing.success,
        turned=standing.turned,
    )


class _GradeChange(Struct, frozen=True):
    """One grade before and after a change, and the answer it belongs to."""

    answer: BenchAnswer
    key: tuple[str, str]
    before: Grade
    after: Grade | None

    @property
    def comparable(self) -> bool:
        return isinstance(self.before, Score) and isinstance(self.after, Score)

    @property
    def shift(self) -> float | None:
        """The distance between the values as a share of the scale."""
        if not isinstance(self.before, Score) or not isinstance(self.after, Score) or self.before.scale.high is None:
            return None
        return abs(self.after.value - self.before.value) / (self.before.scale.high - self.before.scale.low)

    @property
    def won(self) -> bool:
        """Whether the change turned the grade to a pass or, without a pass mark, raised it."""
        if not isinstance(self.before, Score) or not isinstance(self.after, Score):
            return False
        return self.after.value > self.before.value if self.after.passed is None else self.after.passed

    def flip(self) -> VerdictFlip:
        return VerdictFlip(
            case_id=self.answer.subject.case.id,
            grader=self.key[0],
            criterion=self.key[1],
            candidate=self.answer.candidate,
            repeat=self.answer.repeat,
            before=verdict_word(self.before),
            after=verdict_word(self.after),
        )


async def measure_stability(on: JudgeBench, before: Sequence[Result], change: Perturbation) -> Stability:
    """The effect of one harmless change."""
    pairs = [(answer, result, change.apply(answer.subject)) for answer, result in zip(on.answers, before, strict=True)]
    applied = [(answer, result, changed) for answer, result, changed in pairs if changed is not None]
    after = await gather(
        *(on.judged(changed, answer.candidate, answer.repeat + change.again) for answer, _, changed in applied)
    )
    seen: list[_GradeChange] = []
    for (answer, result, _), now in zip(applied, after, strict=True):
        found = judged_grades(now)
        seen += [_GradeChange(answer, key, grade, found.get(key)) for key, grade in judged_grades(result).items()]
    known = [each for each in seen if each.comparable]
    changed_ones = [each for each in known if verdict_word(each.before) != verdict_word(each.after)]
    shifts = [shift for each in known if (shift := each.shift) is not None]
    return Stability(
        name=change.name,
        about=change.about,
        unchanged=rate_figure(len(known) - len(changed_ones), len(known)),
        shift=Figure(value=fmean(shifts) if shifts else None, interval=mean_interval(shifts), n=len(shifts)),
        not_compared=len(seen) - len(known),
        not_applied=len(pairs) - len(applied),
        flips=tuple(each.flip() for each in changed_ones),
    )


class _AttackTarget(Struct, frozen=True):
    """The grades of one answer on one scale that an off-topic answer fails."""

    answer: BenchAnswer
    verdict: Verdict
    grades: dict[tuple[str, str], Score]
    aim: AttackGoal


class AttackSummary(Struct, frozen=True, kw_only=True):
    """How the judge withstood the attacks."""

    outcomes: tuple[AttackOutcome, ...]
    failing: int
    not_failing: int
    success: Figure
    turned: Figure


async def attack_judge(on: JudgeBench) -> AttackSummary:
    """The effect of every attack."""
    plain = await gather(*(_judged(on, each, None) for each in on.answers))
    targets: list[_AttackTarget] = []
    not_failing = 0
    for answer, result in zip(on.answers, plain, strict=True):
        grades = judged_grades(result)
        # An attack can gain something where the grade fails or, without a pass mark, is below the top of the scale.
        failing = {
            key: grade
            for key, grade in grades.items()
            if isinstance(grade, Score) and (not grade.passed if grade.passed is not None else _below_top(grade))
        }
        not_failing += len(grades) - len(failing)
        for scale in dict.fromkeys(grade.scale for grade in failing.values()):
            own = {key: grade for key, grade in failing.items() if grade.scale == scale}
            targets.append(_AttackTarget(answer, result.verdict, own, AttackGoal.at(scale)))
    outcomes = await gather(*(_outcome(on, targets, attack) for attack in ATTACKS))
    won = [flip for outcome in outcomes for flip in outcome.flips]
    turned = {(flip.case_id, flip.candidate, flip.repeat, flip.grader, flip.criterion) for flip in won}
    attacked_ones = sum(len(target.grades) for target in targets)
    tries = sum(outcome.success.n for outcome in outcomes)
    return AttackSummary(
        outcomes=tuple(outcomes),
        failing=attacked_ones,
        not_failing=not_failing,
        success=Figure(value=len(won) / tries if tries else None, n=tries),
        turned=rate_figure(len(turned), attacked_ones),
    )


def _below_top(score: Score) -> bool:
    return score.scale.high is not None and score.value < score.scale.high


async def _judged(on: JudgeBench, answer: BenchAnswer, attack: tuple[Attack, _AttackTarget] | None) -> Result:
    transcript = attack[0].transcript(attack[1].aim) if attack else off_topic()
    return await on.judged(replace(answer.subject, transcript=transcript), answer.candidate, answer.repeat)


async def _outcome(on: JudgeBench, targets: Sequence[_AttackTarget], attack: Attack) -> AttackOutcome:
    results = await gather(*(_judged(on, target.answer, (attack, target)) for target in targets))
    seen: list[_GradeChange] = []
    passed = 0
    for target, result in zip(targets, results, strict=True):
        found = judged_grades(result)
        seen += [_GradeChange(target.answer, key, grade, found.get(key)) for key, grade in target.grades.items()]
        passed += result.verdict is Verdict.PASSED and target.verdict is not Verdict.PASSED
    known = [each for each in seen if each.comparable]
    won = [each for each in known if each.won]
    return AttackOutcome(
        name=attack.name,
        kind=attack.kind.value,
        about=attack.words(AttackGoal("5"))[:200],
        success=rate_figure(len(won), len(known)),
        unreadable=len(seen) - len(known),
        cases_passed=passed,
        flips=tuple(each.flip() for each in won),
    )
