"""`howsure plan`: how many cases and repeats are needed to detect a difference. What a run shows (its pass rate, how
alike its repeats are, how often two runs differ on a case) is read from it; what is not known is assumed, and the plan
says so. Loads numpy and scipy: import it where a plan is asked for, not where a run starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from howsure.errors import PlanRefused
from howsure.model.comparison import SampleSize, SampleSizePlan
from howsure.model.run import Run
from howsure.model.verdict import Verdict
from howsure.services.workspace import Workspace
from howsure.stats.paired_differences import pair_cases, paired_rates
from howsure.stats.power import Design, PairedRates, UnpairedRates, cases_needed, detectable_difference
from howsure.stats.variance import split_variance
from howsure.store.run_columns import VERDICTS
from howsure.store.store import Store

RATE = 0.8
CORRELATION = 0.5
REPEATS = (1, 2, 3, 5)
INSIDE = (0.001, 0.999)
"""The pass rates for which a plan makes sense: at 0 and 1 nothing varies."""

Tries = Mapping[str, Sequence[float | None]]


class SampleSizeRequest(Struct, frozen=True, kw_only=True):
    """The difference to detect, and what is known (None: not given). `runs`: one run to learn from, or two to count the
    cases on which they differ."""

    difference: float
    rate: float | None = None
    power: float = 0.8
    paired: bool = False
    runs: tuple[str, ...] = ()
    candidate: str | None = None
    discordance: float | None = None
    correlation: float | None = None
    repeats: tuple[int, ...] = REPEATS


class RunEvidence(Struct, frozen=True, kw_only=True):
    """What runs show. `within`: the variance of a case's own tries, `between` the variance of the cases; None: one try
    each."""

    rate: float | None = None
    within: float | None = None
    between: float | None = None
    discordance: float | None = None
    run: str = ""
    cases: int | None = None
    repeats: int = 1


async def plan_sample_size(work: Workspace, request: SampleSizeRequest) -> SampleSizePlan:
    """The plan; refused where it cannot be made."""
    check_request(request)
    learned = RunEvidence()
    if request.runs:
        async with await work.store(read_only=True) as store:
            learned = await _learn(store, request)
    return compute_plan(request, learned)


def check_request(request: SampleSizeRequest) -> None:
    if not 0 < request.difference < 1:
        raise PlanRefused(f"--difference lies between 0 and 1 (or 0% and 100%), such as 5%, not {request.difference:g}")
    for name, value in (("--rate", request.rate), ("--power", request.power)):
        if value is not None and not 0 < value < 1:
            raise PlanRefused(f"{name} lies between 0 and 1 (or 0% and 100%), such as 0.8, not {value:g}")
    if request.discordance is not None and not 0 < request.discordance <= 1:
        raise PlanRefused(f"--discordance is the share of cases on which two runs differ, not {request.discordance:g}")
    if request.correlation is not None and not 0 <= request.correlation <= 1:
        raise PlanRefused(f"--correlation lies between 0 and 1, such as 0.5, not {request.correlation:g}")
    if len(request.runs) > 2:
        count = len(request.runs)
        raise PlanRefused(f"--from takes one run, or two to count the cases on which they differ, not {count}")
    if any(repeats < 1 for repeats in request.repeats):
        raise PlanRefused("--repeats counts tries of a case, from 1")


def compute_plan(request: SampleSizeRequest, learned: RunEvidence) -> SampleSizePlan:
    """The plan that follows from the request and from what is known."""
    assumed: list[str] = []
    rate = _rate(request, learned, assumed)
    # A drop, if there is room for one: verdicts vary most around a half, so a drop is harder to detect.
    step = -request.difference if rate - request.difference > 0 else request.difference
    if not 0 < rate + step < 1:
        raise PlanRefused(f"a pass rate of {rate:g} cannot change by {request.difference:g} in either direction")
    discordance = _discordance(request, learned, rate, step, assumed) if request.paired else None
    correlation = _correlation(request, learned, discordance, assumed)
    design = partial(_design, rate, discordance, correlation)
    detectable = None
    if learned.cases is not None:
        detectable = detectable_difference(design(learned.repeats), learned.cases, request.power)
    return SampleSizePlan(
        difference=request.difference,
        rate=rate,
        power=request.power,
        paired=request.paired,
        discordance=discordance,
        correlation=correlation,
        sizes=tuple(
            SampleSize(repeats=each, cases=cases_needed(design(each), step, request.power))
            for each in sorted(set(request.repeats))
        ),
        run=learned.run,
        cases=learned.cases,
        repeats=learned.repeats,
        assumed=tuple(assumed),
        detectable=detectable,
    )


def _design(rate: float, discordance: float | None, correlation: float, repeats: int) -> Design:
    if discordance is None:
        return UnpairedRates(rate=rate, repeats=repeats, correlation=correlation)
    return PairedRates(discordant=discordance, repeats=repeats, correlation=correlation)


def _rate(request: SampleSizeRequest, learned: RunEvidence, assumed: list[str]) -> float:
    if request.rate is not None:
        return request.rate
    if learned.rate is None:
        assumed.append(f"a pass rate of {RATE:.0%} (--rate, or --from RUN)")
        return RATE
    inside = min(max(learned.rate, INSIDE[0]), INSIDE[1])
    if inside != learned.rate:
        assumed.append(f"a pass rate of {inside:.1%}: at {learned.rate:.0%} nothing would vary")
    return inside


def _discordance(
    request: SampleSizeRequest, learned: RunEvidence, rate: float, step: float, assumed: list[str]
) -> float:
    """The share of cases on which two runs differ: at least their difference, plus the cases whose own tries differ."""
    least = abs(step) * (1 + 1e-9)
    if request.discordance is not None:
        if request.discordance < abs(step):
            raise PlanRefused(
                f"runs that differ on {request.discordance:.1%} of cases cannot differ by {abs(step):.1%}: "
                "raise --discordance"
            )
        return max(request.discordance, least)
    if learned.discordance is not None:
        return min(1.0, max(learned.discordance, least))
    if learned.within is not None:
        return min(1.0, 2 * learned.within + least)
    other = rate + step
    unrelated = rate * (1 - other) + other * (1 - rate)
    assumed.append(
        f"that two runs differ on {unrelated:.1%} of cases, as if they had nothing to do with each other"
        " (--discordance, or --from RUN with repeats, or --from twice)"
    )
    return max(unrelated, least)


def _correlation(
    request: SampleSizeRequest, learned: RunEvidence, discordance: float | None, assumed: list[str]
) -> float:
    """The correlation between tries of one case; where runs are paired, between the differences of its tries."""
    if request.correlation is not None:
        return request.correlation
    if learned.within is None or learned.between is None:
        assumed.append(f"that two tries of one case correlate by {CORRELATION} (--correlation, or --from RUN)")
        return CORRELATION
    if discordance is None:
        total = learned.within + learned.between
        return learned.between / total if total else 1.0
    total = discordance - request.difference**2
    return min(1.0, max(0.0, 1 - 2 * learned.within / total)) if total > 0 else 1.0


async def _learn(store: Store, request: SampleSizeRequest) -> RunEvidence:
    first = await store.find_run(request.runs[0])
    tries = await _tries(store, first, request.candidate)
    judged = {case: [each for each in values if each is not None] for case, values in tries.items()}
    known = [values for values in judged.values() if values]
    if not known:
        raise PlanRefused(f"run {first.name!r} ({first.id[:8]}) judged no case: there is nothing to learn from it")
    several = [values for values in known if len(values) > 1]
    parts = split_variance([[[value] for value in values] for values in known]) if several else None
    made = RunEvidence(
        rate=sum(map(sum, known)) / sum(map(len, known)),
        within=parts.agent_and_judge.value if parts and parts.agent_and_judge else None,
        between=parts.cases.value if parts and parts.cases else None,
        run=first.id,
        cases=len(known),
        repeats=first.pins.request.repeat,
    )
    if len(request.runs) < 2:
        return made
    second = await store.find_run(request.runs[1])
    both = pair_cases(tries, await _tries(store, second, request.candidate))
    found = paired_rates(both.before, both.after)
    if found is None:
        raise PlanRefused(f"runs {first.name!r} and {second.name!r} judged no case in common")
    return replace(made, discordance=(found.raised + found.lowered) / found.n)


async def _tries(store: Store, run: Run, candidate: str | None) -> dict[str, list[float | None]]:
    """The verdicts of each case: 1 passed, 0 failed, None not judged."""
    attempts, _ = await store.columns(run.id)
    names = attempts.candidate_names
    chosen = candidate if candidate is not None else names[0] if len(names) == 1 else None
    if chosen is None or chosen not in names:
        raise PlanRefused(f"run {run.name!r} has the candidates {', '.join(map(repr, names))}: say --candidate")
    tries: dict[str, list[float | None]] = {}
    value = {Verdict.PASSED: 1.0, Verdict.FAILED: 0.0}
    for case, own, verdict in zip(attempts.cases, attempts.candidates, attempts.verdicts, strict=True):
        if names[own] == chosen:
            tries.setdefault(attempts.case_ids[case], []).append(value.get(VERDICTS[verdict]))
    return tries
