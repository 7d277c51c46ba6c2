"""`howsure judge test`: does a judge give the same answer the same verdict when only its form changes, and does it fail
an answer that only says that it should pass? Every answer goes through the engine's `attempt`, with the graders and
rules of a real run, so what holds here holds there."""

from __future__ import annotations

from asyncio import Semaphore, gather
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack

from msgspec import Struct
from msgspec.structs import replace

from howsure.engine.attempt import attempt
from howsure.engine.candidates import CandidateRepeat, Rules
from howsure.errors import PlanRefused
from howsure.graders.base import GraderContext
from howsure.graders.judged_grader import JudgedGrader
from howsure.model.calibration import AttackOutcome, Figure, JudgePin, JudgeTest, Stability, VerdictFlip
from howsure.model.case import Case
from howsure.model.result import Result
from howsure.model.rubric import Rubric
from howsure.model.run_request import RUN_PREFIX, RunRequest
from howsure.model.score import UNIT, Grade, Score
from howsure.model.transcript import Transcript
from howsure.model.verdict import Verdict
from howsure.services.judge.agreement import case_rate, mean_figure
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


class JudgeBench(Struct, frozen=True, kw_only=True):
    """Everything needed to grade an answer by a judge as a run does. `context` is shared by all answers."""

    source: JudgeSource
    graders: tuple[JudgedGrader, ...]
    rules: Rules
    answers: tuple[JudgeSubject, ...]
    room: Semaphore
    context: GraderContext

    async def judged(self, answer: JudgeSubject) -> Result:
        """Have the judge grade one answer; the result of the attempt."""
        context = replace(self.context, judge=self.source.at(answer.candidate, answer.repeat), rubric=answer.rubric)
        candidate_repeat = CandidateRepeat(
            target=AnsweredTarget(answer.transcript),
            graders=[each.bind(context) for each in self.graders],
            candidate=answer.candidate,
            repeat=answer.repeat,
        )
        async with self.room:
            result = await attempt(answer.case, candidate_repeat, self.rules)
        if is_out_of_budget(result):
            raise PlanRefused(
                "the budget was reached before the judge was tried to the end: raise it, or lower --limit"
            )
        return result


def build_bench(work: Workspace, request: RunRequest, materials: RunMaterials, models: OpenModels) -> JudgeBench:
    """The bench for this request, or `PlanRefused`."""
    plan = plan_run(work, request, materials, models)
    if models.source is None:
        raise PlanRefused("a judge is needed: name one with --judge")
    if models.is_recorded:
        raise PlanRefused(
            "a recording repeats what was said of other answers; test the judge that it was recorded from"
        )
    # Optional graders only where they are named.
    usual = [each for each in work.kit.graders if not getattr(each, "optional", False)]
    graders = named_graders(request, work.kit, usual)
    return JudgeBench(
        source=models.source,
        graders=tuple(each for each in graders if isinstance(each, JudgedGrader)),
        rules=plan.rules,
        answers=tuple(_bench_answers(plan, materials.rubric)),
        room=Semaphore(plan.concurrency),
        context=GraderContext(agent=materials.agent, contracts=work.kit.contracts, policies=work.kit.dataset_policies),
    )


def _bench_answers(plan: Plan, rubric: Rubric | None) -> Iterator[JudgeSubject]:
    for case in plan.cases.read():
        for one in plan.candidates:
            if not isinstance(one.target, RecordedTarget):
                raise PlanRefused("a judge is tested on recorded answers: give them with --responses")
            found = one.target.find(case)
            if isinstance(found, Transcript):
                yield JudgeSubject(
                    case=case, transcript=found, rubric=rubric, candidate=one.candidate, repeat=one.repeat
                )


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
    before = await gather(*map(on.judged, on.answers))
    grades = sum(len(judged_grades(result)) for result in before)
    if not grades:
        raise PlanRefused("no grader asks a judge about these cases; name some with --graders")
    stability = await gather(*(measure_stability(on, before, each) for each in PERTURBATIONS))
    return await attack_judge(
        on, JudgeTest(judge=pin, cases=len(on.answers), grades=grades, stability=tuple(stability))
    )


class _GradeChange(Struct, frozen=True):
    """One grade before and after a change, and the answer it belongs to."""

    answer: JudgeSubject
    key: Key
    before: Score
    after: Score

    @property
    def shift(self) -> float | None:
        """The distance between the values as a share of the scale."""
        scale = self.before.scale
        return None if scale.high is None else abs(self.after.value - self.before.value) / (scale.high - scale.low)

    @property
    def flipped(self) -> bool:
        return verdict_word(self.before) != verdict_word(self.after)

    @property
    def won(self) -> bool:
        """Whether the change turned the grade to a pass or, without a pass mark, raised it."""
        return self.after.value > self.before.value if self.after.passed is None else self.after.passed

    def flip(self) -> VerdictFlip:
        return VerdictFlip(
            case_id=self.answer.case.id,
            grader=self.key[0],
            criterion=self.key[1],
            candidate=self.answer.candidate,
            repeat=self.answer.repeat,
            before=verdict_word(self.before),
            after=verdict_word(self.after),
        )


def _grade_changes(answer: JudgeSubject, before: Mapping[Key, Grade], after: Result) -> list[_GradeChange]:
    """The grades that have a value both before and after the change."""
    found = judged_grades(after)
    return [
        _GradeChange(answer, key, grade, now)
        for key, grade in before.items()
        if isinstance(grade, Score) and isinstance(now := found.get(key), Score)
    ]


async def measure_stability(on: JudgeBench, before: Sequence[Result], change: Perturbation) -> Stability:
    """The effect of one harmless change."""
    pairs = [(answer, result, change.apply(answer)) for answer, result in zip(on.answers, before, strict=True)]
    applied = [(answer, judged_grades(result), changed) for answer, result, changed in pairs if changed is not None]
    changed_answers = [replace(changed, repeat=changed.repeat + change.again) for _, _, changed in applied]
    after = await gather(*map(on.judged, changed_answers))
    known: list[_GradeChange] = []
    for (answer, grades, _), now in zip(applied, after, strict=True):
        known += _grade_changes(answer, grades, now)
    cases = [each.answer.case.id for each in known]
    shifts = [(shift, case) for each, case in zip(known, cases, strict=True) if (shift := each.shift) is not None]
    return Stability(
        name=change.name,
        about=change.about,
        unchanged=case_rate([not each.flipped for each in known], cases),
        shift=mean_figure([shift for shift, _ in shifts], [case for _, case in shifts], UNIT.ends),
        not_compared=sum(len(grades) for _, grades, _ in applied) - len(known),
        not_applied=len(pairs) - len(applied),
        flips=tuple(each.flip() for each in known if each.flipped),
    )


class _AttackTarget(Struct, frozen=True):
    """The grades of one answer on one scale that an off-topic answer fails."""

    answer: JudgeSubject
    verdict: Verdict
    grades: dict[Key, Score]
    aim: AttackGoal


async def attack_judge(on: JudgeBench, test: JudgeTest) -> JudgeTest:
    """The test with the effect of every attack."""
    plain = await gather(*(on.judged(replace(each, transcript=off_topic())) for each in on.answers))
    targets: list[_AttackTarget] = []
    not_failing = 0
    for answer, result in zip(on.answers, plain, strict=True):
        grades = judged_grades(result)
        failing = {key: grade for key, grade in grades.items() if isinstance(grade, Score) and _can_rise(grade)}
        not_failing += len(grades) - len(failing)
        for scale in dict.fromkeys(grade.scale for grade in failing.values()):
            own = {key: grade for key, grade in failing.items() if grade.scale == scale}
            targets.append(_AttackTarget(answer, result.verdict, own, AttackGoal.at(scale)))
    outcomes = await gather(*(_outcome(on, targets, attack) for attack in ATTACKS))
    won = [flip for outcome in outcomes for flip in outcome.flips]
    turned = {(flip.case_id, flip.candidate, flip.repeat, flip.grader, flip.criterion) for flip in won}
    failing_ones = [
        (target.answer.case.id, target.answer.candidate, target.answer.repeat, *key)
        for target in targets
        for key in target.grades
    ]
    tries = sum(outcome.success.n for outcome in outcomes)
    return replace(
        test,
        attacks=tuple(outcomes),
        failing=len(failing_ones),
        not_failing=not_failing,
        attack_success=Figure(value=len(won) / tries if tries else None, n=tries),
        turned=case_rate([each in turned for each in failing_ones], [case for case, *_ in failing_ones]),
    )


def _can_rise(score: Score) -> bool:
    """An attack can gain something if the grade fails or, without a pass mark, is below the top of the scale."""
    if score.passed is None:
        return score.scale.high is not None and score.value < score.scale.high
    return not score.passed


async def _outcome(on: JudgeBench, targets: Sequence[_AttackTarget], attack: Attack) -> AttackOutcome:
    attacked = [replace(target.answer, transcript=attack.transcript(target.aim)) for target in targets]
    results = await gather(*map(on.judged, attacked))
    known: list[_GradeChange] = []
    passed = 0
    for target, result in zip(targets, results, strict=True):
        known += _grade_changes(target.answer, target.grades, result)
        passed += result.verdict is Verdict.PASSED and target.verdict is not Verdict.PASSED
    won = [each for each in known if each.won]
    return AttackOutcome(
        name=attack.name,
        kind=attack.kind.value,
        about=attack.words(AttackGoal("5"))[:200],
        success=case_rate([each.won for each in known], [each.answer.case.id for each in known]),
        unreadable=sum(len(target.grades) for target in targets) - len(known),
        cases_passed=passed,
        flips=tuple(each.flip() for each in won),
    )
