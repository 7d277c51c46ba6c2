"""A run that is made case by case, in any order and by several at once: one run, nothing twice."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest
from msgspec.structs import replace

from howsure.errors import DatasetInvalid, PlanRefused
from howsure.model.case import Case
from howsure.model.run import ModelSpending, RunState
from howsure.services.python.shared_runs import close_shared_run, open_shared_run, select_cases
from unit.services.places import Counting, asking, house, lines, workplace

RUN = str(UUID(int=7, version=4))


async def test_cases_in_any_order_make_one_complete_run(tmp_path: Path) -> None:
    bot = Counting()
    work, options = workplace(tmp_path, bot), asking(house(tmp_path, 3), repeat=2, gates=("errors <= 0",))
    chosen = select_cases(work, options)
    async with open_shared_run(work, replace(options, name="mine"), RUN, 3) as run:
        for each in reversed(chosen):
            assert [result.repeat for result in await run.attempt(each)] == [1, 2]
    summary = await close_shared_run(
        work, RUN, [ModelSpending(usd=1.0, calls=2, seconds=3), ModelSpending(usd=0.5, calls=1, seconds=9)]
    )
    assert (summary.run.name, summary.run.state, summary.run.counts.passed) == ("mine", RunState.COMPLETED, 6)
    assert summary.run.spent == ModelSpending(usd=1.5, calls=3, seconds=9)
    assert [ruling.outcome.value for ruling in summary.gates] == ["held"]
    async with await work.store(read_only=True) as store:
        order = [(result.position, result.case.id, result.repeat) async for result in store.iterate(RUN)]
    assert order == [(0, "q1", 1), (1, "q1", 2), (2, "q2", 1), (3, "q2", 2), (4, "q3", 1), (5, "q3", 2)]


async def test_two_at_once_write_into_the_same_run_and_nothing_twice(tmp_path: Path) -> None:
    work, options = workplace(tmp_path, Counting()), asking(house(tmp_path, 3))
    first, second, third = select_cases(work, options)
    async with open_shared_run(work, options, RUN, 3) as one, open_shared_run(work, options, RUN, 3) as other:
        await one.attempt(first)
        await other.attempt(second)
        await other.attempt(first)
        await one.attempt(third)
    summary = await close_shared_run(work, RUN)
    assert (summary.run.counts.total, summary.run.counts.passed) == (3, 3)
    async with await work.store(read_only=True) as store:
        assert len(await store.runs()) == 1


async def test_what_is_missing_at_the_end_leaves_it_interrupted(tmp_path: Path) -> None:
    work, options = workplace(tmp_path, Counting()), asking(house(tmp_path, 2))
    async with open_shared_run(work, options, RUN, 2) as run:
        await run.attempt(select_cases(work, options)[0])
    summary = await close_shared_run(work, RUN)
    assert (summary.run.state, summary.run.counts.pending) == (RunState.INTERRUPTED, 1)


async def test_another_agent_may_be_asked_for_one_case(tmp_path: Path) -> None:
    bot = Counting()
    work, options = workplace(tmp_path, bot), asking(house(tmp_path, 2))
    first, second = select_cases(work, options)
    async with open_shared_run(work, options, RUN, 2) as run:
        (planned,) = await run.attempt(first)
        (other,) = await run.attempt(second, lambda text: "B")
    assert (planned.verdict.value, other.verdict.value, bot.asked) == ("passed", "failed", ["q1"])


async def test_an_agent_that_breaks_is_an_errored_result(tmp_path: Path) -> None:
    def refuses(case: Case) -> str:
        raise ConnectionError("refused")

    work, options = workplace(tmp_path, Counting(refuses)), asking(house(tmp_path, 1))
    async with open_shared_run(work, options, RUN, 1) as run:
        (result,) = await run.attempt(select_cases(work, options)[0])
    assert result.verdict.value == "errored"
    assert "refused" in result.failures[0].message


async def test_a_plan_that_is_refused_stores_nothing(tmp_path: Path) -> None:
    work = workplace(tmp_path)
    options = asking(house(tmp_path, 2), target="")
    with pytest.raises(PlanRefused, match="2 answers are missing"):
        async with open_shared_run(work, options, RUN, 2):
            pass
    assert not (tmp_path / ".howsure" / "howsure.db").exists()


def test_a_dataset_with_problems_is_refused_with_all_of_them(tmp_path: Path) -> None:
    path = lines(tmp_path / "bad.jsonl", {"schema_version": "legal_eval_v1", "id": "a"})
    with pytest.raises(DatasetInvalid) as caught:
        select_cases(workplace(tmp_path), asking(path, dialect="legal"))
    assert len(caught.value.problems) >= 3
