"""`howsure judge pairs`: a judge compares the answers of several candidates to the same cases two by two, in both
orders, without knowing whose they are. Judgements are appended to a file beside the database; `howsure rank` reads
them."""

from __future__ import annotations

from asyncio import Semaphore, gather
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from hashlib import sha256
from itertools import combinations

from msgspec import Struct
from msgspec.structs import replace

from howsure.errors import BudgetReached, JudgeFailed, NotFound, PlanRefused
from howsure.judges.base import Question
from howsure.judges.pairwise import (
    GRADER,
    PairwiseComparison,
    Preference,
    compare_answers,
    first_position_picks,
    order_agreement,
)
from howsure.judges.panels import total_cost
from howsure.judges.recordings import RecordingJudge
from howsure.model.leaderboard import AnswerSource, PairJudgement, PairsReport
from howsure.model.result import Result
from howsure.model.run import Run
from howsure.model.run_request import DEFAULT_CONCURRENCY, OFFLINE, RunRequest
from howsure.model.transcript import Transcript
from howsure.services.judge.judge_records import RecordFile, full_spec
from howsure.services.run.execute import utc_now
from howsure.services.run.judges import NONE, open_models
from howsure.services.run.model_access import JudgeSource
from howsure.services.run.start import open_reply_log
from howsure.services.workspace import Workspace
from howsure.store.store import Store

PAIRS = RecordFile("pairs.jsonl", PairJudgement, "pair judgement", "judgements")
SAME = "same answer"
LISTED = 8


class RankedSide(Struct, frozen=True):
    """One candidate of one run, under the shortest name that tells it apart."""

    name: str
    run: Run
    candidate: str

    @property
    def source(self) -> AnswerSource:
        return AnswerSource(self.run.id, self.candidate)


class _Pairing(Struct, frozen=True):
    """One case, answered by two candidates."""

    first: RankedSide
    second: RankedSide
    one: Result
    other: Result


async def choose_candidates(store: Store, runs: Sequence[str], only: Sequence[str]) -> list[RankedSide]:
    """The candidates of these runs; `only` keeps those with one of these names."""
    found: dict[str, tuple[Run, list[str]]] = {}
    for name in runs:
        run = await store.find_run(name)
        if not run.counts.completed:
            raise PlanRefused(f"run {run.name!r} ({run.id[:8]}) has no results yet: `howsure resume {run.id[:8]}`")
        found[run.id] = run, (await store.columns(run.id))[0].candidate_names
    sides = [(run, candidate) for run, candidates in found.values() for candidate in candidates]
    plain = [candidate or run.name for run, candidate in sides]
    longer = [f"{run.name or run.id[:8]}/{candidate}".rstrip("/") for run, candidate in sides]
    names = [
        short if plain.count(short) == 1 else long if longer.count(long) == 1 else f"{run.id[:8]}/{candidate}"
        for short, long, (run, candidate) in zip(plain, longer, sides, strict=True)
    ]
    made = [RankedSide(name, run, candidate) for name, (run, candidate) in zip(names, sides, strict=True)]
    if unknown := [name for name in only if name not in names]:
        raise NotFound(f"there is no candidate {unknown[0]!r}; there are {', '.join(map(repr, names[:LISTED]))}")
    chosen = [side for side in made if not only or side.name in only]
    if len(chosen) < 2:
        raise PlanRefused("one candidate alone cannot be compared: name a second RUN, or several --candidate")
    return chosen


def draw_cases(ids: Sequence[str], count: int | None, seed: int) -> list[str]:
    """This number of cases, drawn at random, in their order; the same seed draws the same cases."""
    drawn = set(sorted(ids, key=lambda id: sha256(f"{seed} {id}".encode()).digest())[:count])
    return [id for id in ids if id in drawn]


async def judge_pairs(
    work: Workspace, runs: Sequence[str], request: RunRequest, say: Callable[[str], None], *, seed: int = 0
) -> PairsReport:
    """Compare all candidates two by two on the cases that they share; `request` has the judge, the names of the
    candidates, the number of cases, and the budget."""
    if request.judge.partition(":")[0] in ("", NONE, OFFLINE):
        raise PlanRefused(f"the judge {request.judge or NONE!r} cannot compare answers: name one with --judge")
    async with await work.store(read_only=True) as store:
        sides = await choose_candidates(store, runs, request.candidates)
        answers = [await _answers(store, side) for side in sides]
    shared = [case for case, count in Counter(case for own in answers for case in own).items() if count > 1]
    cases = draw_cases(shared, request.limit, seed)
    pairings = [
        _Pairing(sides[a], sides[b], answers[a][case], answers[b][case])
        for case in cases
        for a, b in combinations(range(len(sides)), 2)
        if case in answers[a] and case in answers[b]
    ]
    if not pairings:
        raise PlanRefused("no case was answered by two of the candidates: compare runs of the same test set")
    say(f"{len(pairings):,} pairs over {len(cases):,} cases, each in both orders: {2 * len(pairings):,} questions")
    async with AsyncExitStack() as stack:
        record = stack.enter_context(open_reply_log(request.record_judge))
        models = await stack.enter_async_context(open_models(work, replace(request, candidates=())))
        assert models.source is not None
        room = Semaphore(request.concurrency or DEFAULT_CONCURRENCY)
        source = models.source

        async def compare(pair: _Pairing) -> PairwiseComparison | JudgeFailed | BudgetReached:
            """Each judgement is stored at once, so that nothing that was paid for is lost."""
            found = await _compare(source, pair, room, record)
            if isinstance(found, PairwiseComparison):
                PAIRS.append(work, _judgement(models.judge, pair, found))
            return found

        results = await gather(*map(compare, pairings))
    return _report(work, models.judge, len(cases), results)


async def _answers(store: Store, side: RankedSide) -> dict[str, Result]:
    """The candidate's first answer to each case."""
    found: dict[str, Result] = {}
    async for result in store.iterate(side.run.id):
        if result.candidate == side.candidate and isinstance(result.recording, Transcript):
            found.setdefault(result.case.id, result)
    return found


async def _compare(
    source: JudgeSource, pair: _Pairing, room: Semaphore, record: Callable[[bytes], None] | None
) -> PairwiseComparison | JudgeFailed | BudgetReached:
    one, other = pair.one.transcript, pair.other.transcript
    assert one is not None and other is not None
    if one.answer.strip() == other.answer.strip() and one.tool_calls == other.tool_calls:
        return PairwiseComparison(preference=Preference.TIE, judge=SAME, cost_usd=0.0)
    names = f"{pair.first.name} vs {pair.second.name}"
    judge = source.at(names, pair.one.repeat)
    asked = RecordingJudge(judge, record, candidate=names, repeat=pair.one.repeat) if record else judge
    questions = [
        Question(grader=GRADER, case=pair.one.case, transcript=transcript, agent=pair.first.run.pins.agent)
        for transcript in (one, other)
    ]
    async with room:
        try:
            return await compare_answers(asked, *questions)
        except (JudgeFailed, BudgetReached) as failure:
            return failure


def _report(
    work: Workspace,
    judge: str,
    cases: int,
    results: Sequence[PairwiseComparison | JudgeFailed | BudgetReached],
) -> PairsReport:
    compared = [each for each in results if isinstance(each, PairwiseComparison)]
    failures = Counter(
        "the budget was reached" if isinstance(each, BudgetReached) else str(each)
        for each in results
        if not isinstance(each, PairwiseComparison)
    )
    agreed, leaning = order_agreement(compared), first_position_picks(compared)
    return PairsReport(
        judge=judge,
        cases=cases,
        pairs=len(results),
        judged=agreed.n,
        consistent=agreed.agreed,
        first_picks=leaning.agreed,
        flipped_picks=leaning.n,
        without_judge=sum(not each.picks and not each.members for each in compared),
        failures=dict(failures.most_common()),
        cost_usd=total_cost(each.cost_usd for each in compared),
        path=str(PAIRS.path(work)),
    )


def _judgement(judge: str, pair: _Pairing, compared: PairwiseComparison) -> PairJudgement:
    one, other = pair.one.transcript, pair.other.transcript
    assert one is not None and other is not None
    return PairJudgement(
        at=utc_now(),
        judge=judge,
        case_id=pair.one.case.id,
        first=pair.first.source,
        second=pair.second.source,
        preference=compared.preference.value,
        picks={order.value: pick.place.value for order, pick in compared.picks.items()},
        lengths=(len(one.answer), len(other.answer)),
        cost_usd=compared.cost_usd,
    )


def read_judgements(work: Workspace, sides: Sequence[RankedSide], judge: str) -> list[PairJudgement]:
    """The stored judgements on pairs of these candidates, the newest of each pair and case. `judge` "": the only one
    there is."""
    known, judge = {side.source for side in sides}, full_spec(judge)
    found = [each for each in PAIRS.read_all(work) if {each.first, each.second} <= known]
    judges = sorted({each.judge for each in found})
    if judge and judge not in judges:
        raise NotFound(f"{judge!r} compared no pair of these candidates; {', '.join(judges) or 'nobody'} did")
    if len(judges) > 1 and not judge:
        raise PlanRefused(f"several judges compared these candidates: say which counts, --judge {' or '.join(judges)}")
    chosen = [each for each in found if judge in ("", each.judge)]
    return list({(each.case_id, frozenset((each.first, each.second))): each for each in chosen}.values())
