"""A run that stops when it is sure: cases come in a random order, the gate is checked after each, and the rest is not
asked. The order follows from the pinned seed and the looks from the stored results, so that a killed run continues as
if nothing had happened. Loads numpy: `execute.py` imports it for a run with `until_sure`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import TypeVar
from uuid import UUID

from msgspec.structs import replace

from howsure.engine.run import Attempt
from howsure.errors import Conflict
from howsure.model.case import Case, World
from howsure.model.flag import Flag
from howsure.model.result import DECIDED_EARLY, Result
from howsure.model.run import GateRuling, Run, RunState
from howsure.model.verdict import Decision, Verdict
from howsure.policies.gates import Gate, NoRegression, PassRate, read_anytime_gate
from howsure.services.compare.comparability import case_changes, changed_between
from howsure.services.gate.anytime import UNKNOWN, AnytimeGate, CaseOrder, PrefixWatch, ValueRange, case_order
from howsure.services.gate.evidence import Evidence, Observations, gate_scope, read_gate_columns
from howsure.services.gate.rulings import counterpart, observe_passes
from howsure.services.run.plan import Plan
from howsure.store.run_columns import SCENARIO
from howsure.store.store import Store

READ_AT_ONCE = 5_000
"""How many cases are held in memory to be asked in another order than that of their files."""
SAVED_AT_ONCE = 500
T = TypeVar("T")


class SureRun:
    """The looks at one run while it goes on. With `to_the_end` all cases are asked: the run was sure before, and was
    resumed."""

    def __init__(self, plan: Plan, order: CaseOrder, watch: PrefixWatch, *, to_the_end: bool) -> None:
        self.watch = watch
        self._plan = plan
        self._order = order
        self._to_the_end = to_the_end

    @property
    def stops(self) -> bool:
        return self.watch.decided and not self._to_the_end

    def attempts(self, done: Collection[int]) -> Iterator[Attempt]:
        """The attempts that are left, in the random order, until the run is sure."""
        candidates = self._plan.candidates
        size = len(candidates)
        places = [place for unit in self._order.units for place in unit]
        left = [place for place in places if any(place * size + at not in done for at in range(size))]
        for place, case in read_in_order(self._plan.cases.read, left):
            for at, candidate in enumerate(candidates):
                if self.stops:
                    return
                if (position := place * size + at) not in done:
                    yield Attempt(position, case, candidate)

    def unasked(self, done: Collection[int], now: datetime) -> Iterator[list[Result]]:
        """The attempts that are no longer needed, as results; none if the run is not sure."""
        if not self.stops:
            return
        size = len(self._plan.candidates)
        text = f"decided early: sure after {self.looked_at:,} of {self._order.cases:,} cases"
        decision = Decision(verdict=Verdict.SKIPPED, reasons=(text,), grades=())
        flag = Flag(DECIDED_EARLY, "not asked: the run was sure before its turn came")
        found = (
            replace(candidate.result(case, decision), position=place * size + at, created_at=now, flags=(flag,))
            for place, case in enumerate(self._plan.cases.read())
            for at, candidate in enumerate(self._plan.candidates)
            if place * size + at not in self.watch.finished and place * size + at not in done
        )
        yield from _batches(found, SAVED_AT_ONCE)

    @property
    def looked_at(self) -> int:
        return max((gate.looked_at for gate in self.watch.gates), default=0)

    def rulings(self) -> tuple[GateRuling, ...]:
        return self.watch.rulings(several=len(self._plan.pins.request.candidates) > 1)


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    left = iter(items)
    while batch := list(islice(left, size)):
        yield batch


def read_in_order(read: Callable[[], Iterator[Case]], places: Sequence[int]) -> Iterator[tuple[int, Case]]:
    """The cases at these places, in this order: some thousands at a time, one reading of the files for each."""
    for some in _batches(places, READ_AT_ONCE):
        wanted, last = set(some), max(some)
        found: dict[int, Case] = {}
        for place, case in enumerate(read()):
            if place in wanted:
                found[place] = case
            if place == last:
                break
        for place in some:
            yield place, found.pop(place)


async def open_sure_run(store: Store, run: Run, plan: Plan, again: Collection[int]) -> SureRun:
    """The looks, beginning with the results that the run has, except those to make `again`."""
    gate = read_anytime_gate(plan.request.until_sure)
    seed = run.pins.order_seed
    if isinstance(gate.condition, NoRegression):
        # Pairs come in the order of the earlier run: otherwise the moment of its stop would select them.
        base = await store.earlier_run(gate.condition.versus, run)
        before = base.pins.order_seed
        if before is not None and before != seed and same_files(base, run) and not run.counts.completed:
            seed = before
            await store.change_pins(run.id, order_seed=seed)
    groups: dict[int, str] = {}
    if all(pin.dialect == World.EXPLAIN for pin in run.pins.datasets):
        labelled = ((place, case.labels.get(SCENARIO)) for place, case in enumerate(plan.cases.read()))
        groups = {place: f"scenario {label}" for place, label in labelled if label is not None}
    order = case_order(plan.cases.total, seed, groups)
    watch = await _watch(store, run, gate, order, again=again, plan=plan)
    return SureRun(plan, order, watch, to_the_end=run.pins.stopped_early)


async def _watch(
    store: Store,
    run: Run,
    gate: Gate,
    order: CaseOrder,
    *,
    again: Collection[int] = (),
    plan: Plan | None = None,
    to_the_end: bool = False,
    blocked: Collection[int] = (),
) -> PrefixWatch:
    request, scope = run.pins.request, gate_scope(gate.condition)
    evidence: Evidence | None = None
    complete = run.state is RunState.COMPLETED and not run.counts.pending and not run.pins.stopped_early
    if isinstance(gate.condition, PassRate) and (scope.part or (scope.grader and complete and plan is None)):
        # A case is one bet, as large as its share in the pooled rate, so the largest number of checks must be known.
        if not complete:
            raise Conflict(f"run {run.name!r} is not complete: how many checks its cases have is not known yet")
        evidence = Evidence(await store.summary(run.id), await read_gate_columns(store, run, [gate.condition]))
    gates = []
    for name in [scope.candidate] if scope.candidate is not None else list(request.candidates) or [""]:
        known: Mapping[str, float] = {}
        if isinstance(gate.condition, NoRegression):
            known = await _baseline(store, run, gate.condition, name, plan)
        gates.append(AnytimeGate(gate, name, order, request.repeat, known))
        gates[-1].to_the_end = to_the_end
        if evidence is not None:
            gates[-1].know(_checks(evidence, observe_passes(scope, evidence, name), attempts_of_case(run)))
    watch = PrefixWatch(order, gates, attempts_of_case(run), blocked)
    async for result in store.iterate(run.id):
        if result.position not in again:
            watch.hear(result)
    return watch


def _checks(evidence: Evidence, observed: Observations, tries: int) -> dict[int, list[ValueRange]]:
    """The values of each case's checks, by the place of the case."""
    places = {case: position // tries for position, case in evidence.case_of.items()}
    found: dict[int, list[ValueRange]] = {}
    for case, value in zip(observed.cases, observed.values, strict=True):
        found.setdefault(places[case], []).append((value, value))
    for case in observed.missing:
        found.setdefault(places[case], []).append(UNKNOWN)
    return found


async def _baseline(
    store: Store, run: Run, condition: NoRegression, candidate: str, plan: Plan | None
) -> Mapping[str, float]:
    """The mean of each case in the earlier run, without cases that have changed."""
    base = await store.earlier_run(condition.versus, run)
    before = Evidence(await store.summary(base.id), await read_gate_columns(store, base, [condition]))
    tries = observe_passes(replace(condition.scope, candidate=None), before, counterpart(before, candidate)).tries()
    if plan is None:
        changed = {case.id for case, _ in await changed_between(store, base, run)}
    else:
        # The cases of this run are not stored yet.
        known = {case.id: case async for case in store.cases(base.id)} if not same_files(base, run) else {}
        changed = {now.id for now in plan.cases.read() if now.id in known and any(case_changes(known[now.id], now))}
    return {case: sum(values) / len(values) for case, values in tries.items() if case not in changed}


def attempts_of_case(run: Run) -> int:
    return run.pins.request.repeat * max(len(run.pins.request.candidates), 1)


def same_files(first: Run, second: Run) -> bool:
    return [pin.sha256 for pin in first.pins.datasets] == [pin.sha256 for pin in second.pins.datasets]


FILE_ORDER = " Its cases came in the order of the files: that is fair only where this order is random."


async def look_again(
    store: Store,
    run: Run,
    gate: Gate,
    seed: int | None = None,
    *,
    to_the_end: bool = False,
    blocked: Collection[int] = (),
) -> tuple[PrefixWatch, bool]:
    """The looks at a stored run, and whether their order is random: that of the `seed`, or in which its cases were
    asked; of a complete run that has none, one that follows from its id. `to_the_end`: also after it is decided.
    `blocked` are the places of cases that are not to be looked at yet."""
    cases, rest = divmod(run.counts.total, attempts_of_case(run))
    if rest:
        raise Conflict(f"run {run.name!r} does not have the same tries of every case: it has no order to look at")
    seed = run.pins.order_seed if seed is None else seed
    if seed is None and run.state is RunState.COMPLETED and not run.counts.pending:
        seed = int(UUID(run.id))
    groups: dict[int, str] = {}
    if all(pin.dialect == World.EXPLAIN for pin in run.pins.datasets):
        if run.counts.pending:
            raise Conflict(f"run {run.name!r} is not complete: which cases are of one scenario is not known yet")
        labels = [case.labels.get(SCENARIO) async for case in store.cases(run.id)]
        groups = {place: f"scenario {label}" for place, label in enumerate(labels) if label is not None}
    order = case_order(cases, seed, groups)
    watch = await _watch(store, run, gate, order, to_the_end=to_the_end, blocked=blocked)
    return watch, seed is not None


async def rule_at_every_look(store: Store, run: Run, gates: Sequence[Gate]) -> tuple[GateRuling, ...]:
    """The rulings on a stored run with intervals that hold at a look after every case."""
    found: list[GateRuling] = []
    for gate in gates:
        watch, fair = await look_again(store, run, gate)
        rulings = watch.rulings(several=len(run.pins.request.candidates) > 1)
        found += rulings if fair else [replace(each, reason=each.reason + FILE_ORDER) for each in rulings]
    return tuple(found)
