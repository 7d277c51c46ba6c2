"""`howsure judge test`: does a judge say the same of the same answer in other clothes, and does it fail an answer that
only says that it should pass?"""

from __future__ import annotations

from asyncio import gather
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from statistics import fmean

from msgspec import Struct
from msgspec.structs import replace

from howsure.errors import PlanRefused
from howsure.model.result import Result
from howsure.model.score import Grade, Score
from howsure.model.trust import AttackOutcome, Figure, Flip, JudgePin, JudgeTest, Stability
from howsure.model.verdict import Verdict
from howsure.services.answers import Answers, earlier_answers, read_answers
from howsure.services.judging import judging
from howsure.services.options import RunOptions
from howsure.services.planning import read_given
from howsure.services.runs import EARLIER_RUN, wanted
from howsure.services.trust.attacks import ATTACKS, Aim, Attack, off_topic
from howsure.services.trust.bench import Answer, Bench, asked, bench, word
from howsure.services.trust.calibrations import pin_of
from howsure.services.trust.figures import rate
from howsure.services.trust.perturbing import PERTURBATIONS, Perturbation
from howsure.services.workspace import Workspace
from howsure.stats.intervals import mean_interval

LIMIT = 10
"""Cases that are tried unless more are asked for: each is asked about some fifty times."""

Say = Callable[[str], None]


async def try_judge(work: Workspace, options: RunOptions, say: Say) -> JudgeTest:
    """Shake the judge and attack it, on the first cases of the datasets."""
    async with AsyncExitStack() as stack:
        judge = await stack.enter_async_context(judging(wanted(work, options)))
        given = replace(read_given(options, await _answers(work, options)), judging=judge)
        made = bench(options, work.kit, given)
        changes = len(PERTURBATIONS) + len(ATTACKS) + 2
        say(f"judge: {judge.spec}; {len(made.answers):,} answers, each judged about {changes} times")
        return await tried(made, pin_of(judge))


async def _answers(work: Workspace, options: RunOptions) -> Answers | None:
    if not options.responses:
        return None
    if not options.responses[0].startswith(EARLIER_RUN):
        return read_answers(options.responses, work.kit.dialects["simulation"])
    async with await work.store(read_only=True) as store:
        earlier = await store.find_run(options.responses[0].removeprefix(EARLIER_RUN))
        return Answers(await earlier_answers(store.iterate(earlier.id)), ())


async def tried(on: Bench, pin: JudgePin) -> JudgeTest:
    """Every harmless change and every attack, on every answer of the bench."""
    before = await gather(*(on.judged(each.subject, each.candidate, each.repeat) for each in on.answers))
    grades = sum(len(asked(result)) for result in before)
    if not grades:
        raise PlanRefused("no grader asks a judge about these cases; name some with --graders")
    stability = await gather(*(stable(on, before, each) for each in PERTURBATIONS))
    standing = await attacked(on)
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


class _Seen(Struct, frozen=True):
    """One grade before and after a change, and whose it is."""

    answer: Answer
    key: tuple[str, str]
    before: Grade
    after: Grade | None

    @property
    def comparable(self) -> bool:
        return isinstance(self.before, Score) and isinstance(self.after, Score)

    @property
    def shift(self) -> float | None:
        """The distance of the values as a share of the scale."""
        if not isinstance(self.before, Score) or not isinstance(self.after, Score) or self.before.scale.high is None:
            return None
        return abs(self.after.value - self.before.value) / (self.before.scale.high - self.before.scale.low)

    def flip(self) -> Flip:
        return Flip(
            case_id=self.answer.subject.case.id,
            grader=self.key[0],
            criterion=self.key[1],
            candidate=self.answer.candidate,
            repeat=self.answer.repeat,
            before=word(self.before),
            after=word(self.after),
        )


async def stable(on: Bench, before: Sequence[Result], change: Perturbation) -> Stability:
    """What one harmless change does."""
    pairs = [(answer, result, change.apply(answer.subject)) for answer, result in zip(on.answers, before, strict=True)]
    applied = [(answer, result, changed) for answer, result, changed in pairs if changed is not None]
    after = await gather(
        *(on.judged(changed, answer.candidate, answer.repeat + change.again) for answer, _, changed in applied)
    )
    seen: list[_Seen] = []
    for (answer, result, _), now in zip(applied, after, strict=True):
        found = asked(now)
        seen += [_Seen(answer, key, grade, found.get(key)) for key, grade in asked(result).items()]
    known = [each for each in seen if each.comparable]
    changed_ones = [each for each in known if word(each.before) != word(each.after)]
    shifts = [shift for each in known if (shift := each.shift) is not None]
    return Stability(
        name=change.name,
        about=change.about,
        unchanged=rate(len(known) - len(changed_ones), len(known)),
        shift=Figure(value=fmean(shifts) if shifts else None, interval=mean_interval(shifts), n=len(shifts)),
        not_compared=len(seen) - len(known),
        not_applied=len(pairs) - len(applied),
        flips=tuple(each.flip() for each in changed_ones),
    )


class _Target(Struct, frozen=True):
    """The grades of one answer on one scale that an off-topic answer fails."""

    answer: Answer
    verdict: Verdict
    grades: dict[tuple[str, str], Score]
    aim: Aim


class Standing(Struct, frozen=True, kw_only=True):
    """How the judge stood the attacks."""

    outcomes: tuple[AttackOutcome, ...]
    failing: int
    not_failing: int
    success: Figure
    turned: Figure


async def attacked(on: Bench) -> Standing:
    """What every attack does."""
    plain = await gather(*(_judged(on, each, None) for each in on.answers))
    targets: list[_Target] = []
    not_failing = 0
    for answer, result in zip(on.answers, plain, strict=True):
        grades = asked(result)
        failing = {key: grade for key, grade in grades.items() if isinstance(grade, Score) and _fails(grade)}
        not_failing += len(grades) - len(failing)
        for scale in dict.fromkeys(grade.scale for grade in failing.values()):
            own = {key: grade for key, grade in failing.items() if grade.scale == scale}
            targets.append(_Target(answer, result.verdict, own, Aim.at(scale)))
    outcomes = await gather(*(_outcome(on, targets, attack) for attack in ATTACKS))
    won = [flip for outcome in outcomes for flip in outcome.flips]
    turned = {(flip.case_id, flip.candidate, flip.repeat, flip.grader, flip.criterion) for flip in won}
    attacked_ones = sum(len(target.grades) for target in targets)
    tries = sum(outcome.success.n for outcome in outcomes)
    return Standing(
        outcomes=tuple(outcomes),
        failing=attacked_ones,
        not_failing=not_failing,
        success=Figure(value=len(won) / tries if tries else None, n=tries),
        turned=rate(len(turned), attacked_ones),
    )


def _fails(score: Score) -> bool:
    """Whether there is anything to win: a fail, or, where there is no pass mark, a value below the top."""
    if score.passed is not None:
        return not score.passed
    return score.scale.high is not None and score.value < score.scale.high


async def _judged(on: Bench, answer: Answer, attack: tuple[Attack, _Target] | None) -> Result:
    said = attack[0].transcript(attack[1].aim) if attack else off_topic()
    return await on.judged(replace(answer.subject, transcript=said), answer.candidate, answer.repeat)


async def _outcome(on: Bench, targets: Sequence[_Target], attack: Attack) -> AttackOutcome:
    results = await gather(*(_judged(on, target.answer, (attack, target)) for target in targets))
    seen: list[_Seen] = []
    passed = 0
    for target, result in zip(targets, results, strict=True):
        found = asked(result)
        seen += [_Seen(target.answer, key, grade, found.get(key)) for key, grade in target.grades.items()]
        passed += result.verdict is Verdict.PASSED and target.verdict is not Verdict.PASSED
    known = [each for each in seen if each.comparable]
    won = [each for each in known if _won(each)]
    return AttackOutcome(
        name=attack.name,
        kind=attack.kind.value,
        about=attack.words(Aim("5"))[:200],
        success=rate(len(won), len(known)),
        unreadable=len(seen) - len(known),
        cases_passed=passed,
        flips=tuple(each.flip() for each in won),
    )


def _won(seen: _Seen) -> bool:
    """Turned to a pass; where there is no pass mark, raised."""
    if not isinstance(seen.before, Score) or not isinstance(seen.after, Score):
        return False
    return bool(seen.after.passed) if seen.after.passed is not None else seen.after.value > seen.before.value
