"""The verdicts of a run by the labels of its cases."""

from __future__ import annotations

import pytest

from howsure.errors import NotFound
from howsure.model.result import Result
from howsure.model.run import Counts, RunState
from howsure.model.verdict import Verdict
from howsure.store.store import Store
from howsure.testing import a_case
from store.making import NOON, RUN, a_run


def labelled(position: int, verdict: Verdict, candidate: str = "", **labels: str) -> Result:
    tags = tuple(labels.pop("tags", "").split())
    case = a_case(id=f"case-{position // 2}", labels=labels, tags=tags)
    return Result(case=case, verdict=verdict, reasons=(), candidate=candidate, position=position, created_at=NOON)


RESULTS = [
    labelled(0, Verdict.PASSED, "a", agent="shop", scenario="s1", tags="slow"),
    labelled(1, Verdict.FAILED, "b", agent="shop", scenario="s1", tags="slow"),
    labelled(2, Verdict.ERRORED, "a", agent="desk", scenario="s2", tags="slow new"),
    labelled(3, Verdict.PASSED, "b", agent="desk", scenario="s2", tags="slow new"),
]


async def ended(store: Store) -> None:
    await store.create_run(a_run(total=4, candidates=("a", "b")))
    await store.save(RUN, RESULTS)
    await store.set_state(RUN, RunState.COMPLETED)


async def test_every_label_with_some_values_is_counted_by_value_and_candidate(store: Store) -> None:
    await ended(store)
    summary = await store.summary(RUN)
    found = {(each.label, each.value, each.candidate): each.counts for each in summary.slices}
    assert found["agent", "shop", "a"] == Counts(total=1, passed=1)
    assert found["agent", "shop", "b"] == Counts(total=1, failed=1)
    assert found["agent", "desk", "a"] == Counts(total=1, errored=1)
    assert found["tag", "slow", "b"] == Counts(total=2, passed=1, failed=1)
    assert {label for label, _, _ in found} == {"agent", "scenario", "tag"}
    assert summary.labels == ("agent", "scenario")


async def test_a_label_with_many_values_is_counted_only_where_it_is_asked_for(store: Store) -> None:
    results = [labelled(2 * n, Verdict.PASSED, scenario=f"s{n}", kind="x" if n % 2 else "y") for n in range(21)]
    await store.create_run(a_run(total=21))
    await store.save(RUN, results)
    assert (await store.summary(RUN)).slices == ()  # it has not ended
    await store.set_state(RUN, RunState.COMPLETED)
    summary = await store.summary(RUN)
    assert {each.label for each in summary.slices} == {"kind"}
    assert len(await store.slices(summary.run, "scenario")) == 21


async def test_by_candidate_and_by_nothing_there_is(store: Store) -> None:
    await ended(store)
    run = await store.run(RUN)
    named = {each.value: each.counts for each in await store.slices(run, "candidate")}
    assert named == {"a": Counts(total=2, passed=1, errored=1), "b": Counts(total=2, passed=1, failed=1)}
    with pytest.raises(NotFound, match="no case has the label 'colour'; there is agent, candidate, scenario, tag"):
        await store.slices(run, "colour")


async def test_candidates_come_in_the_order_of_what_is_certain(store: Store) -> None:
    results = [
        labelled(0, Verdict.PASSED, "a"), labelled(1, Verdict.PASSED, "b"), labelled(2, Verdict.ERRORED, "a"),
        labelled(3, Verdict.PASSED, "b"),
    ]  # fmt: skip
    await store.create_run(a_run(total=4, candidates=("a", "b")))
    await store.save(RUN, results)
    assert list((await store.summary(RUN)).candidates) == ["b", "a"]
