"""Looks at stored runs: of checks, of which a case may have several, and of two runs that both go on."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from random import Random
from uuid import UUID

import pytest
from msgspec.structs import replace

from howsure.errors import ConfigInvalid, Conflict, PlanRefused
from howsure.model.comparison import Conclusion
from howsure.model.run import DatasetPin, Run, RunState
from howsure.model.score import Part, Score
from howsure.policies.gates import read_anytime_gate
from howsure.services.compare.compare import CompareRequest
from howsure.services.compare.watch import look_at_difference
from howsure.services.run.until_sure import rule_at_every_look
from howsure.stats.confidence_sequences import first_decision
from howsure.store.store import Store
from unit.services.gate.gate_runs import Made, a_result, keep, opened

OTHER = (DatasetPin(path="other.jsonl", sha256="cd" * 32, dialect="legal"),)


def checked(place: int, passed: int, of: int) -> Made:
    """A case of so many checks by a rubric, of which the first ones pass."""
    grades = tuple(
        Score(name="rubric", value=float(number < passed), pass_mark=1.0, part=Part(id=f"r{number}", text="?"))
        for number in range(of)
    )
    whole = Score(name="rubric", value=passed / of)
    return Made(verdict="p" if passed == of else "f", case=f"q{place}", grades=(*grades, whole))


async def test_a_case_of_several_checks_is_one_bet_of_its_size(tmp_path: Path) -> None:
    random = Random(3)
    sizes = [random.choice((1, 2, 6)) for _ in range(120)]
    passed = [sum(random.random() < 0.8 for _ in range(size)) for size in sizes]
    async with opened(tmp_path) as store:
        run = await keep(store, [checked(place, passed[place], of) for place, of in enumerate(sizes)])
        gates = [read_anytime_gate("pass_rate[rubric] >= 0.6", finished=True)]
        (ruling,) = await rule_at_every_look(store, run, gates)
    order = [(place,) for place in range(120)]
    Random(int(UUID(run.id))).shuffle(order)
    values = [passed[place] / sizes[place] for (place,) in order]
    found = first_decision(values, values, 0.6, [sizes[place] / 6 for (place,) in order])
    assert found is not None
    assert (ruling.outcome.value, ruling.looks) == ("held", (found.look, 120))
    assert ruling.n == sum(sizes[place] for (place,) in order[: found.look])
    assert ruling.value == sum(passed[place] for (place,) in order[: found.look]) / ruling.n


async def test_checks_are_decided_when_all_are_known_and_refused_with_the_reason_before(tmp_path: Path) -> None:
    gate = "pass_rate[rule:r0] >= 0.5"
    with pytest.raises(ConfigInvalid, match="how many is known when all are graded, and `howsure gate RUN --anytime`"):
        read_anytime_gate(gate)
    async with opened(tmp_path) as store:
        done = await keep(store, [checked(place, 1, 2) for place in range(20)])
        (ruling,) = await rule_at_every_look(store, done, [read_anytime_gate(gate, finished=True)])
        assert (ruling.outcome.value, ruling.looks, ruling.value) == ("held", (7, 20), 1.0)
        live = await keep(store, [checked(0, 1, 2)], number=2, pending=5, state=RunState.PENDING)
        with pytest.raises(Conflict, match="how many checks its cases have is not known yet"):
            await rule_at_every_look(store, live, [read_anytime_gate(gate, finished=True)])


async def going_on(
    store: Store, number: int, verdict: str, unfinished: Collection[int], seed: int | None = None
) -> Run:
    """A run over sixty cases that has not finished these yet."""
    run = await keep(store, [], number=number, pending=60, state=RunState.PENDING, order_seed=seed)
    made = (a_result(Made(verdict=verdict, case=f"q{place}"), place) for place in range(60))
    await store.save(run.id, [each for each in made if each.position not in unfinished])
    return await store.run(run.id)


@pytest.mark.parametrize("seed", [None, 5], ids=["order of the files", "random order"])
async def test_two_runs_that_go_on_are_looked_at_up_to_the_first_case_that_one_has_not_finished(
    tmp_path: Path, seed: int | None
) -> None:
    order = list(range(60))
    if seed is not None:
        units = [(place,) for place in order]
        Random(seed).shuffle(units)
        order = [place for (place,) in units]
    slow_first, slow_second = order[40], order[25]
    async with opened(tmp_path) as store:
        first = await going_on(store, 1, "f", {slow_first}, seed)
        second = await going_on(store, 2, "p", {slow_second})
        request = CompareRequest(runs=(first.id, second.id))
        (found,) = await look_at_difference(store, first, second, request)
        assert (found.pairs, found.cases, found.conclusion) == (found.pairs, 60, Conclusion.BETTER)
        assert found.pairs <= 25
        assert found.fair_order is (seed is not None)
        # The same two, the other way round: the slow case of each holds up the pair.
        same = await going_on(store, 3, "p", {order[3]}, seed)
        (early,) = await look_at_difference(store, same, second, CompareRequest(runs=(same.id, second.id)))
        assert (early.pairs, early.conclusion) == (3, Conclusion.CANNOT_TELL)
        (early,) = await look_at_difference(store, second, same, CompareRequest(runs=(second.id, same.id)))
        assert early.pairs == 3


async def test_a_run_that_goes_on_over_other_files_has_no_pairs_yet(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        first, second = await going_on(store, 1, "p", ()), await going_on(store, 2, "p", ())
        other = replace(second, pins=replace(second.pins, datasets=OTHER))
        with pytest.raises(PlanRefused, match="still goes on, and over other files"):
            await look_at_difference(store, first, other, CompareRequest(runs=(first.id, second.id)))
