"""Executing a run: interrupted, broken, out of budget, claimed twice. What is finished is kept and never made again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from howsure.errors import BudgetReached, Conflict, PlanRefused, UnknownName
from howsure.model.case import Case
from howsure.model.result import Result
from howsure.model.run import DatasetPin, ModelSpending, Pins, Run, RunState
from howsure.model.run_request import RunRequest
from howsure.model.verdict import Verdict
from howsure.services.run.execute import (
    Progress,
    RunHandle,
    check_unchanged,
    errored_attempts,
    execute,
    is_out_of_budget,
    new_run,
    unreached_attempts,
    utc_now,
)
from howsure.services.run.model_access import OpenModels
from howsure.services.run.plan import Plan, RunMaterials, plan_run
from howsure.services.run.preflight import CaseSelection
from howsure.services.workspace import Workspace
from howsure.store.store import Store
from howsure.testing import a_case
from unit.services.places import Counting, asking, house, workplace


def refuse(results: Sequence[Result]) -> None:
    """Raises an error for the user to mend."""
    raise UnknownName("profile", "q1", ["a"])


def seen(results: Sequence[Result]) -> None:
    return None


async def executed(
    store: Store,
    run: Run,
    plan: Plan,
    progress: Progress = seen,
    spent: Callable[[], ModelSpending] | None = None,
    **handle: Any,
) -> Run:
    plan = replace(plan, models=OpenModels(spent=spent)) if spent else plan
    return await execute(store, RunHandle(run=run, plan=plan, **handle), progress)


async def begun(work: Workspace, store: Store, dataset: str, **options: Any) -> tuple[Run, Plan]:
    made = plan_run(work, asking(dataset, **options), RunMaterials(), OpenModels())
    run = new_run(made, utc_now())
    await store.create_run(run)
    return run, made


async def verdicts(store: Store, run: Run) -> dict[str, str]:
    return {result.case.id: result.verdict.value async for result in store.iterate(run.id)}


async def test_a_run_completes_with_its_times_and_what_it_spent(tmp_path: Path) -> None:
    target = Counting()
    work = workplace(tmp_path, target)
    async with await work.store() as store:
        run, made = await begun(work, store, house(tmp_path, 3))
        done = await executed(store, run, made, progress=seen, spent=lambda: ModelSpending(usd=0.5, calls=2))
        assert await verdicts(store, run) == {"q1": "passed", "q2": "passed", "q3": "passed"}
    assert done.state is RunState.COMPLETED
    assert done.counts.passed == done.counts.total == 3
    assert done.started_at is not None
    assert done.completed_at is not None
    assert done.started_at <= done.completed_at
    assert done.spent == ModelSpending(usd=0.5, calls=2)
    assert target.asked == ["q1", "q2", "q3"]


async def test_progress_is_told_of_every_result_once_and_after_it_is_kept(tmp_path: Path) -> None:
    work = workplace(tmp_path, Counting())
    told: list[str] = []
    async with await work.store() as store:
        run, made = await begun(work, store, house(tmp_path))
        await executed(store, run, made, progress=lambda some: told.extend(each.case.id for each in some))
        assert len(await store.finished_positions(run.id)) == 4
    assert sorted(told) == ["q1", "q2", "q3", "q4"]


class Hanging(Counting):
    """Answers until it comes to one case; there it waits for ever."""

    def __init__(self, case: str) -> None:
        super().__init__()
        self.case = case
        self.reached = asyncio.Event()

    async def open(self, case: Case) -> Any:
        if case.id == self.case:
            self.asked.append(case.id)
            self.reached.set()
            await asyncio.Event().wait()
        return await super().open(case)


async def test_a_cancelled_run_is_interrupted_and_goes_on_without_repeating_anything(tmp_path: Path) -> None:
    hanging = Hanging("q3")
    work = workplace(tmp_path, hanging)
    async with await work.store() as store:
        run, made = await begun(work, store, house(tmp_path))
        saved = asyncio.Event()
        task = asyncio.create_task(executed(store, run, made, progress=lambda _: saved.set()))
        async with asyncio.timeout(10):
            await asyncio.gather(hanging.reached.wait(), saved.wait())
        while len(await store.finished_positions(run.id)) < 2:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        stopped = await store.run(run.id)
        assert stopped.state is RunState.INTERRUPTED
        assert (stopped.counts.passed, stopped.counts.pending) == (2, 2)
        assert stopped.completed_at is None
        hanging.case = ""
        hanging.asked.clear()
        done = await executed(store, stopped, made, progress=seen)
        assert done.state is RunState.COMPLETED
        assert done.counts.passed == 4
        assert done.started_at == stopped.started_at
    assert hanging.asked == ["q3", "q4"]


async def test_an_error_of_the_users_in_the_middle_fails_the_run_with_its_message(tmp_path: Path) -> None:
    target = Counting()
    work = workplace(tmp_path, target)
    dataset = house(tmp_path)
    async with await work.store() as store:
        run, made = await begun(work, store, dataset)
        Path(dataset).write_text(Path(dataset).read_text(encoding="utf-8").replace("Yes", "Aye"), encoding="utf-8")
        with pytest.raises(Conflict, match="changed while it was being read"):
            await executed(store, run, made, progress=seen, spent=lambda: ModelSpending(calls=7))
        failed = await store.run(run.id)
    assert failed.state is RunState.FAILED
    assert "house.jsonl changed while it was being read" in failed.error
    assert failed.spent == ModelSpending(calls=7)


async def test_a_failed_run_can_go_on_and_forgets_its_error(tmp_path: Path) -> None:
    work = workplace(tmp_path, Counting())
    async with await work.store() as store:
        run, made = await begun(work, store, house(tmp_path))
        with pytest.raises(UnknownName, match="unknown profile 'q1'"):
            await executed(store, run, made, progress=refuse)
        failed = await store.run(run.id)
        assert (failed.state, failed.error) == (RunState.FAILED, "unknown profile 'q1'; known: a")
        done = await executed(store, failed, made, progress=seen)
    assert (done.state, done.error, done.counts.passed) == (RunState.COMPLETED, "", 4)


async def test_when_the_run_ends_early_nobody_goes_on_asking_the_target(tmp_path: Path) -> None:
    target = Hanging("q3")
    work = workplace(tmp_path, target)

    def full(results: Sequence[Result]) -> None:
        raise Conflict("the disk is full")

    async with await work.store() as store:
        run, made = await begun(work, store, house(tmp_path), concurrency=2)
        before = len(asyncio.all_tasks())
        with pytest.raises(Conflict, match="the disk is full"):
            await executed(store, run, made, progress=full)
        assert len(asyncio.all_tasks()) == before
        assert (await store.run(run.id)).error == "the disk is full"


def poor(allowed: set[str]) -> Counting:
    """A target whose budget is reached but for the allowed cases."""

    def answer(case: Case) -> str:
        if case.id in allowed:
            return "A"
        raise BudgetReached("2 USD are spent")

    return Counting(answer)


async def test_what_the_budget_does_not_reach_is_skipped_and_made_when_there_is_more(tmp_path: Path) -> None:
    allowed = {"q1", "q3"}
    target = poor(allowed)
    work = workplace(tmp_path, target)
    async with await work.store() as store:
        run, made = await begun(work, store, house(tmp_path))
        stopped = await executed(store, run, made, progress=seen)
        assert stopped.state is RunState.OUT_OF_BUDGET
        assert (stopped.counts.passed, stopped.counts.skipped) == (2, 2)
        assert await unreached_attempts(store, run) == {1, 3}
        skipped = await store.result(run.id, "q2")
        assert skipped.reasons == ("budget: 2 USD are spent",)
        assert is_out_of_budget(skipped)
        allowed.update({"q2", "q4"})
        target.asked.clear()
        done = await executed(store, stopped, made, progress=seen, again=await unreached_attempts(store, run))
    assert target.asked == ["q2", "q4"]
    assert (done.state, done.counts.passed, done.counts.skipped) == (RunState.COMPLETED, 4, 0)


async def test_a_retry_does_not_complete_a_run_that_the_budget_stopped(tmp_path: Path) -> None:
    broken = {"q1"}

    def answer(case: Case) -> str:
        if case.id in broken:
            raise ConnectionError("refused")
        if case.id == "q4":
            raise BudgetReached("2 USD are spent")
        return "A"

    target = Counting(answer)
    work = workplace(tmp_path, target)
    async with await work.store() as store:
        run, made = await begun(work, store, house(tmp_path))
        stopped = await executed(store, run, made, progress=seen)
        assert (stopped.state, stopped.counts.errored) == (RunState.OUT_OF_BUDGET, 1)
        broken.clear()
        target.asked.clear()
        again = await executed(store, stopped, made, progress=seen, again=await errored_attempts(store, stopped))
    assert target.asked == ["q1"]
    assert (again.counts.passed, again.counts.errored, again.counts.skipped) == (3, 0, 1)
    assert again.state is RunState.OUT_OF_BUDGET


@pytest.mark.parametrize(
    ("verdict", "reasons", "expected"),
    [
        (Verdict.SKIPPED, ("budget: 2 USD are spent",), True),
        (Verdict.SKIPPED, ("choice: needs a judge", "budget: spent"), True),
        (Verdict.SKIPPED, ("nothing to decide",), False),
        (Verdict.SKIPPED, ("budgets differ",), False),
        (Verdict.SKIPPED, (), False),
        (Verdict.FAILED, ("budget: of the user's, in a rule",), False),
    ],
)
def test_only_a_skipped_result_with_the_budgets_word_was_left_out(
    verdict: Verdict, reasons: tuple[str, ...], expected: bool
) -> None:
    assert is_out_of_budget(Result(case=a_case(), verdict=verdict, reasons=reasons)) is expected


async def test_a_run_that_is_being_run_cannot_be_run_a_second_time(tmp_path: Path) -> None:
    hanging = Hanging("q2")
    work = workplace(tmp_path, hanging)
    async with await work.store() as store, await work.store() as other:
        run, made = await begun(work, store, house(tmp_path))
        task = asyncio.create_task(executed(store, run, made, progress=seen))
        async with asyncio.timeout(10):
            await hanging.reached.wait()
        with pytest.raises(Conflict, match="is being run by another process"):
            await executed(other, run, made)
        assert (await other.run(run.id)).state is RunState.RUNNING
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        hanging.case = ""
        assert (await executed(other, run, made)).state is RunState.COMPLETED


async def test_only_errored_attempts_are_tried_again_and_none_is_refused(tmp_path: Path) -> None:
    def answer(case: Case) -> str:
        if case.id in ("q2", "q4"):
            raise ConnectionError("refused")
        return "B"

    target = Counting(answer)
    work = workplace(tmp_path, target)
    async with await work.store() as store:
        run, made = await begun(work, store, house(tmp_path))
        first = await executed(store, run, made, progress=seen)
        assert (first.counts.failed, first.counts.errored) == (2, 2)
        assert await errored_attempts(store, first) == {1, 3}
        target.answer = lambda case: "A"
        target.asked.clear()
        again = await executed(store, first, made, progress=seen, again=await errored_attempts(store, first))
        assert target.asked == ["q2", "q4"]
        assert (again.counts.passed, again.counts.failed, again.counts.errored) == (2, 2, 0)
        with pytest.raises(PlanRefused, match=r"run 'house\.jsonl' has no errored case to retry"):
            await errored_attempts(store, again)


def a_pin(path: str, sha256: str = "1") -> DatasetPin:
    return DatasetPin(path=path, sha256=sha256)


NOTHING = CaseSelection(datasets=())
PINS = Pins(
    request=RunRequest(target="recorded", judge="recorded:j.jsonl", simulator="offline"),
    datasets=(a_pin("a.jsonl"), a_pin("b.jsonl")),
    responses=(a_pin("r.jsonl"),),
    evals=(a_pin("e.yaml"),),
    judge_sha256="j",
    policy_sha256="p",
    criteria_from=a_pin("set.json"),
    simulator_sha256="s",
    plugins=("/p/own.py 1a", "/p/evals.yaml 2b"),
)


def a_run(pins: Pins) -> Run:
    return Run(
        id="r1",
        name="r",
        state=RunState.INTERRUPTED,
        pins=pins,
        counts=None,  # type: ignore[arg-type]
        created_at=utc_now(),
    )


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"datasets": (a_pin("a.jsonl"), a_pin("b.jsonl", "2"))}, "b.jsonl has changed"),
        ({"responses": (a_pin("r.jsonl", "2"),)}, "r.jsonl has changed"),
        ({"evals": (a_pin("e.yaml", "2"),)}, "e.yaml has changed"),
        ({"judge_sha256": "other"}, "the judge recorded:j.jsonl has changed"),
        ({"policy_sha256": "other"}, "the profiles have changed"),
        ({"plugins": ("/p/own.py 9z", "/p/evals.yaml 2b")}, "/p/own.py has changed, or is not there"),
        ({"plugins": ("/p/own.py 1a",)}, "/p/evals.yaml has changed, or is not there"),
        ({"target_sha256": "other"}, "how the target recorded is asked has changed"),
        ({"simulator_sha256": "other"}, "the simulated user offline has changed"),
        ({"criteria_from": a_pin("set.json", "2")}, "set.json has changed"),
        (
            {"datasets": (a_pin("a.jsonl", "2"), a_pin("b.jsonl", "2")), "policy_sha256": "other"},
            "a.jsonl has changed; b.jsonl has changed; the profiles have changed",
        ),
    ],
    ids=[
        "a dataset",
        "responses",
        "evals",
        "the judge",
        "the policy",
        "a plug-in",
        "evals of the settings",
        "how a model is asked",
        "who plays the user",
        "pooled criteria",
        "several",
    ],
)
def test_every_pin_that_changed_is_named(changed: dict[str, Any], told: str) -> None:
    check_unchanged(a_run(PINS), PINS)
    with pytest.raises(Conflict) as caught:
        check_unchanged(a_run(PINS), replace(PINS, **changed))
    assert str(caught.value) == f"run r1 began with other data: {told}. Start a new run."


@pytest.mark.parametrize(
    ("paths", "given", "name"),
    [
        (["/data/a.jsonl"], "", "a.jsonl"),
        (["/data/a.jsonl", "/data/b.jsonl", "/x/c.json"], "", "a.jsonl+b.jsonl+c.json"),
        (["1", "2", "3", "4", "5"], "", "1+2+3+2"),
        (["/data/a.jsonl"], "nightly", "nightly"),
        (["/data/a.jsonl"], "na\udcc3\udcafve", "naïve"),
        (["/data/a.jsonl"], "odd\udcff", "odd\\xff"),
    ],
    ids=["one file", "three files", "more", "said", "a C locale's bytes", "no text at all"],
)
def test_a_run_is_named_by_the_user_or_by_its_files(paths: list[str], given: str, name: str) -> None:
    pins = Pins(request=RunRequest(target="recorded"), datasets=tuple(map(a_pin, paths)))
    request = RunRequest(name=given)
    made = Plan(request=request, cases=NOTHING, candidates=(), rules=None, models=OpenModels(), pins=pins)  # type: ignore[arg-type]
    run = new_run(made, utc_now())
    assert run.name == name
    assert (run.state, run.counts.total, run.error) == (RunState.PENDING, 0, "")


def test_two_runs_of_one_plan_have_ids_of_their_own(tmp_path: Path) -> None:
    work = workplace(tmp_path, Counting())
    made = plan_run(work, asking(house(tmp_path)), RunMaterials(), OpenModels())
    assert new_run(made, utc_now()).id != new_run(made, utc_now()).id
