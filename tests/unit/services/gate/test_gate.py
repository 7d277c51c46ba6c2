"""The gates of a run from its settings to its summary: refused early, pinned, decided when asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from howsure.config import Settings
from howsure.errors import ConfigInvalid, NotFound
from howsure.model.summary import GateOutcome
from howsure.services.gate.gate import combine_gates, decide_gates, rule_on_gates
from howsure.services.run.start import retry, start
from unit.services.places import Counting, asking, house, unwatched, workplace

HELD, FAILED = GateOutcome.HELD, GateOutcome.FAILED


def test_gates_of_the_settings_come_first_and_each_once(tmp_path: Path) -> None:
    work = workplace(tmp_path, settings=Settings(gates=("errors <= 1", "pass_rate >= 0.9")))
    assert combine_gates(work, ["cost <= 1 USD", "errors  <= 1"]) == (
        "errors <= 1",
        "pass_rate >= 0.9",
        "cost <= 1 USD",
    )


async def test_a_gate_that_cannot_be_read_stops_the_run_before_it_starts(tmp_path: Path) -> None:
    target = Counting()
    work = workplace(tmp_path, target)
    with pytest.raises(ConfigInvalid, match="column 1: 'charm' is nothing a gate can look at"):
        await start(work, asking(house(tmp_path), gates=("charm >= 0.9",)), unwatched)
    assert target.asked == []


async def test_a_run_remembers_its_gates_and_its_summary_has_the_rulings(tmp_path: Path) -> None:
    work = workplace(tmp_path, Counting())
    summary = await start(work, asking(house(tmp_path, 40), gates=("pass_rate >= 0.9", "errors <= 0")), unwatched)
    assert summary.run.pins.request.gates == ("pass_rate >= 0.9", "errors <= 0")
    assert [(ruling.expression, ruling.outcome) for ruling in summary.gates] == [
        ("pass_rate >= 0.9", HELD),
        ("errors <= 0", HELD),
    ]
    async with await work.store(read_only=True) as store:
        again = await rule_on_gates(store, await store.summary(summary.run.id))
    assert again.gates == summary.gates


async def test_without_gates_a_summary_is_left_as_it_is(tmp_path: Path) -> None:
    work = workplace(tmp_path, Counting())
    summary = await start(work, asking(house(tmp_path)), unwatched)
    assert summary.gates == ()
    async with await work.store(read_only=True) as store:
        assert await rule_on_gates(store, summary) is summary


async def test_a_retry_is_held_to_the_pinned_gates_and_those_given(tmp_path: Path) -> None:
    broken = {"q1"}

    def answer(case: object) -> str:
        if getattr(case, "id", "") in broken:
            raise ConnectionError("refused")
        return "A"

    work = workplace(tmp_path, Counting(answer))
    first = await start(work, asking(house(tmp_path, 40), gates=("errors <= 0",)), unwatched)
    assert [ruling.outcome for ruling in first.gates] == [FAILED]
    broken.clear()
    again = await retry(work, first.run.id, unwatched, gates=("pass_rate >= 0.9",))
    assert [ruling.outcome for ruling in again.gates] == [HELD, HELD]
    assert again.run.pins.request.gates == ("errors <= 0",)


@pytest.mark.parametrize(
    ("given", "settings", "decided"),
    [
        (("pass_rate >= 0.5",), ("cost <= 1 USD",), ["pass_rate >= 0.5"]),
        ((), ("cost <= 1 USD",), ["errors <= 0"]),
    ],
    ids=["those given, and no others", "else the run's own"],
)
async def test_a_stored_run_is_held_to_what_is_asked(
    tmp_path: Path, given: tuple[str, ...], settings: tuple[str, ...], decided: list[str]
) -> None:
    work = workplace(tmp_path, Counting(), settings=Settings(gates=settings))
    await start(work, asking(house(tmp_path, 40), gates=("errors <= 0",), name="own"), unwatched)
    assert [ruling.expression for ruling in (await decide_gates(work, "own", given)).gates] == decided


async def test_a_stored_run_without_gates_is_held_to_those_of_the_settings(tmp_path: Path) -> None:
    work = workplace(tmp_path, Counting(), settings=Settings(gates=("errors <= 0",)))
    await start(work, asking(house(tmp_path, 4), name="bare"), unwatched)
    assert [ruling.expression for ruling in (await decide_gates(work, "bare", ())).gates] == ["errors <= 0"]


async def test_a_run_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        await decide_gates(workplace(tmp_path), "nobody", ("errors <= 0",))
