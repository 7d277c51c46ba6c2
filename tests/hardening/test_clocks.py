"""Wrong counts: a dataset that grows during a run, a clock that is set back, and a budget that several runs share."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from databases import database as database
from house import mcq
from howsure.config import OrganizationSettings, ServiceSettings
from howsure.errors import BudgetReached, ConfigInvalid, Conflict, PlanRefused
from howsure.llm.budget import Allowance, BudgetMeter, BudgetUse
from howsure.model.case import Case
from howsure.model.result import Result
from howsure.model.run import ModelSpending, RunState
from howsure.services.run.execute import Progress, RunHandle, check_budgets, read_budget, refuse_spent_budget
from howsure.services.run.start import resume, start
from howsure.store.pages import next_cursor
from howsure.store.store import Store
from store.making import a_run
from unit.services.places import Counting, asking, lines, unwatched, workplace

ROWS = [mcq(number) for number in range(300)]


def growing(path: Path) -> Counting:
    """A bot during whose work somebody writes to the dataset."""

    def answer(case: Case) -> str:
        with path.open("ab") as file:
            file.write(msgspec.json.encode(mcq(1000 + path.stat().st_size)) + b"\n")
        return "A"

    return Counting(answer)


def stopping(handle: RunHandle) -> Progress:
    def stop(results: Sequence[Result]) -> None:
        raise Conflict("stopped")

    return stop


async def test_a_dataset_that_grows_is_run_as_it_was_and_the_rest_is_named(tmp_path: Path) -> None:
    path = Path(lines(tmp_path / "cases.jsonl", *ROWS))
    target = growing(path)
    work = workplace(tmp_path, target)
    summary = await start(work, asking(str(path)), unwatched)
    assert (summary.run.counts.total, summary.run.counts.passed, summary.run.counts.pending) == (300, 300, 0)
    assert len(target.asked) == 300
    assert summary.run.state is RunState.COMPLETED
    (note,) = summary.run.pins.notes
    assert note.startswith("cases.jsonl has grown by ")
    assert note.endswith("the 300 cases that it held then were run, and what was added was not")


async def test_a_run_over_a_dataset_that_has_grown_since_is_resumed_with_its_own_part(tmp_path: Path) -> None:
    path = Path(lines(tmp_path / "cases.jsonl", *ROWS[:40]))
    work = workplace(tmp_path, Counting())
    with pytest.raises(Conflict, match="stopped"):
        await start(work, asking(str(path), concurrency=1), stopping)
    with path.open("ab") as file:
        file.write(msgspec.json.encode(mcq(1000)) + b"\n{half a line")
    summary = await resume(work, "latest", unwatched)
    assert (summary.run.counts.total, summary.run.counts.passed, summary.run.counts.pending) == (40, 40, 0)
    assert any("has grown by" in note for note in summary.run.pins.notes)


async def test_a_dataset_whose_beginning_has_changed_is_still_refused(tmp_path: Path) -> None:
    path = Path(lines(tmp_path / "cases.jsonl", *ROWS[:40]))
    work = workplace(tmp_path, Counting())
    with pytest.raises(Conflict, match="stopped"):
        await start(work, asking(str(path), concurrency=1), stopping)
    lines(path, mcq(999, prompt="Another question?"), *ROWS[1:41])
    with pytest.raises(Conflict):
        await resume(work, "latest", unwatched)


async def test_a_clock_that_is_set_back_makes_no_duration_negative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments = iter(range(10_000))

    def back() -> datetime:
        return datetime(2026, 11, 16, 12, tzinfo=UTC) - timedelta(hours=2 * next(moments))

    monkeypatch.setattr("howsure.services.run.execute.utc_now", back)
    work = workplace(tmp_path, Counting())
    summary = await start(work, asking(str(lines(tmp_path / "cases.jsonl", *ROWS[:5]))), unwatched)
    async with await work.store(read_only=True) as store:
        durations = [result.duration_ms async for result in store.iterate(summary.run.id)]
    assert len(durations) == 5
    assert all(0 <= each < 60_000 for each in durations)
    assert summary.run.seconds is not None and 0 < summary.run.seconds < 60


def test_a_run_that_went_on_after_the_clock_was_set_back_has_no_duration() -> None:
    noon = datetime(2026, 11, 16, 12, tzinfo=UTC)
    run = a_run(started_at=noon, completed_at=noon - timedelta(hours=2))
    assert run.seconds is None
    assert msgspec.structs.replace(run, completed_at=noon + timedelta(seconds=3)).seconds == 3.0


async def test_the_latest_run_is_the_one_that_was_made_last(database: str) -> None:
    async with await Store.open(database) as store:
        noon = datetime(2026, 11, 16, 12, tzinfo=UTC)
        ids = [f"00000000-0000-4000-8000-00000000000{at}" for at in (1, 2, 3)]
        made = [a_run(id, created_at=noon - timedelta(hours=at)) for at, id in enumerate(ids)]
        for run in made:
            await store.create_run(run)
        assert (await store.find_run("latest")).id == made[-1].id
        assert [run.id for run in await store.runs()] == ids[::-1]
        first = await store.runs(limit=1)
        second = await store.runs(limit=1, before=next_cursor(first[0]))
        assert [run.id for run in second] == [ids[1]]
        assert [run.id for run in await store.runs(ids=ids[1:])] == ids[:0:-1]


RULES = ServiceSettings(organizations={"acme": OrganizationSettings(budget="10USD,500ktok")})


async def test_the_runs_of_an_organisation_share_one_budget(database: str) -> None:
    async with await Store.open(database) as store:
        now = datetime.now(UTC)
        for at, (organization, usd, moment) in enumerate(
            [("acme", 4.0, now), ("acme", 5.0, now), ("other", 90.0, now), ("acme", 70.0, now - timedelta(days=40))]
        ):
            id = f"00000000-0000-4000-8000-00000000000{at}"
            await store.create_run(a_run(id, created_at=moment, organization_id=organization))
            await store.set_state(id, RunState.COMPLETED, spent=ModelSpending(usd=usd, tokens=1000))
        await refuse_spent_budget(RULES, store, "acme")
        budget = await read_budget(RULES, store, "acme", "00000000-0000-4000-8000-000000000001")
        assert budget is not None and (budget.usd, budget.tokens) == (4.0, 1000)
        meter = BudgetMeter(Allowance(), lambda: 0.0, BudgetUse(usd=5.0), budget)
        meter.reserve()
        budget.usd = 5.0
        with pytest.raises(BudgetReached, match=r"acme has spent its 10 USD of this month \(10.0000 USD\)"):
            meter.reserve()
        id = "00000000-0000-4000-8000-000000000009"
        await store.create_run(a_run(id, created_at=now, organization_id="acme"))
        await store.set_state(id, RunState.COMPLETED, spent=ModelSpending(usd=1.0))
        with pytest.raises(PlanRefused, match=r"start again next month, or when the operator raises service\.organ"):
            await refuse_spent_budget(RULES, store, "acme")
        await refuse_spent_budget(RULES, store, "other")


def test_a_budget_of_an_organisation_is_money_or_tokens() -> None:
    check_budgets(RULES)
    with pytest.raises(ConfigInvalid, match="expected money or tokens, found the time '10m'"):
        check_budgets(ServiceSettings(organizations={"acme": OrganizationSettings(budget="10m")}))
