"""`no_regression vs RUN by X`: held against an earlier run on the cases both judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from howsure.errors import NotFound
from howsure.model.gate import GateRuling, Outcome
from howsure.model.run import DatasetPin, RunState
from unit.services.gate_runs import Made, cases, keep, opened, ruled, tries, verdicts

HELD, FAILED, INCONCLUSIVE = Outcome.HELD, Outcome.FAILED, Outcome.INCONCLUSIVE


async def held_against(
    folder: Path, before: list[Made], after: list[Made], expression: str = "no_regression vs main by 2%", **fields: Any
) -> GateRuling:
    async with opened(folder) as store:
        await keep(store, before, number=1, name="main")
        (found,) = await ruled(store, await keep(store, after, number=2, name="branch", **fields), expression)
        return found


@pytest.mark.parametrize(
    ("before", "after", "outcome"),
    [
        (verdicts(270, 30), verdicts(270, 30), HELD),
        (verdicts(150, 150), verdicts(200, 100), HELD),
        (verdicts(90, 10), verdicts(70, 30), FAILED),
        (verdicts(18, 2), verdicts(18, 2), INCONCLUSIVE),
        (verdicts(90, 10), verdicts(88, 12), INCONCLUSIVE),
        (verdicts(0, 0, 50), verdicts(50), INCONCLUSIVE),
    ],
    ids=["the same", "better", "worse", "too few cases", "a little worse", "nothing was judged before"],
)
async def test_a_pass_rate_may_fall_by_so_much_and_no_more(
    tmp_path: Path, before: str, after: str, outcome: Outcome
) -> None:
    ruling = await held_against(tmp_path, cases(before), cases(after))
    assert ruling.outcome is outcome, ruling.reason


async def test_the_change_is_told_with_its_interval_and_what_would_settle_it(tmp_path: Path) -> None:
    ruling = await held_against(tmp_path, cases(verdicts(90, 10)), cases(verdicts(88, 12)))
    assert ruling.value == pytest.approx(-0.02)
    assert ruling.n == 100
    assert "The pass rate changed by -2.0 points since run 'main'" in ruling.reason
    assert "over 100 cases" in ruling.reason


async def test_only_cases_that_both_runs_judged_count(tmp_path: Path) -> None:
    ruling = await held_against(tmp_path, cases(verdicts(300)), cases(verdicts(400)))
    assert (ruling.outcome, ruling.n, ruling.unjudged) == (HELD, 300, 0)


async def test_a_case_that_broke_now_and_passed_then_counts_against_certainty(tmp_path: Path) -> None:
    ruling = await held_against(tmp_path, cases(verdicts(300)), cases(verdicts(270, 0, 30)))
    assert (ruling.outcome, ruling.unjudged) == (INCONCLUSIVE, 30)


async def test_repeats_are_averaged_in_their_case(tmp_path: Path) -> None:
    ruling = await held_against(tmp_path, tries(*["ppp"] * 300), tries(*["ppp"] * 300))
    assert (ruling.outcome, ruling.n) == (HELD, 300)


async def test_candidates_are_held_against_their_namesakes(tmp_path: Path) -> None:
    before = [*cases(verdicts(200), candidate="juno"), *cases(verdicts(100, 100), candidate="orchid")]
    after = [*cases(verdicts(200), candidate="juno"), *cases(verdicts(0, 200), candidate="orchid")]
    async with opened(tmp_path) as store:
        await keep(store, before, number=1, name="main")
        found = await ruled(store, await keep(store, after, number=2), "no_regression vs main by 5%")
    assert [(each.candidate, each.outcome) for each in found] == [("juno", HELD), ("orchid", FAILED)]


async def test_one_grader_can_be_held_to_it(tmp_path: Path) -> None:
    expression = "no_regression[choice] vs main by 2%"
    assert (await held_against(tmp_path, cases(verdicts(300)), cases(verdicts(300)), expression)).outcome is HELD


async def test_without_an_earlier_run_nothing_can_be_said(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        run = await keep(store, cases(verdicts(300)), name="main")
        (found,) = await ruled(store, run, "no_regression vs main by 2%")
        (typo,) = await ruled(store, run, "no_regression vs mian by 2%")
    assert found.outcome is INCONCLUSIVE
    assert found.reason == "There is no completed run 'main' before this one."
    assert "did you mean 'main'" in typo.reason


async def test_runs_that_are_not_alike_are_flagged(tmp_path: Path) -> None:
    ruling = await held_against(tmp_path, cases(verdicts(300)), cases(verdicts(300)), judge="offline", judge_sha256="2")
    assert ruling.outcome is HELD
    assert "The runs are not alike: judge:" in ruling.reason


async def test_cases_that_ask_something_else_now_are_left_out(tmp_path: Path) -> None:
    other = (DatasetPin(path="house.jsonl", sha256="cd" * 32, dialect="legal"),)
    then = cases(verdicts(300))
    now = [replace(each, message="Something else?") if place < 20 else each for place, each in enumerate(then)]
    async with opened(tmp_path) as store:
        await keep(store, then, number=1, name="main")
        run = await keep(store, now, number=2, datasets=other)
        (found,) = await ruled(store, run, "no_regression vs main by 2%")
    assert (found.outcome, found.n) == (HELD, 280)
    assert "20 changed cases left out." in found.reason


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("latest", 3),
        ("main", 2),
        ("bot", 3),
        ("00000000-0000-4000-8000-000000000001", 1),
        ("00000000-0000-4000-8000-000000000005", 5),
    ],
)
async def test_the_earlier_run_is_the_newest_completed_one_before(tmp_path: Path, text: str, expected: int) -> None:
    async with opened(tmp_path) as store:
        made = cases("p")
        runs = [
            await keep(store, made, number=1, name="main"),
            await keep(store, made, number=2, name="main"),
            await keep(store, made, number=3, name="other", agent="bot"),
            await keep(store, made, number=4, name="main"),
            await keep(store, made, number=5, name="main"),
        ]
        assert await store.earlier_run(text, runs[3]) == runs[expected - 1]


@pytest.mark.parametrize("text", ["latest", "main", "00000000-0000-4000-8000-000000000001"])
async def test_a_run_is_not_its_own_past(tmp_path: Path, text: str) -> None:
    async with opened(tmp_path) as store:
        run = await keep(store, cases("p"), name="main")
        with pytest.raises(NotFound, match="before this one"):
            await store.earlier_run(text, run)


async def test_a_run_that_did_not_finish_is_nobodys_standard(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await keep(store, cases("p"), number=1, name="main", state=RunState.INTERRUPTED)
        run = await keep(store, cases("p"), number=2, name="branch")
        with pytest.raises(NotFound, match="no completed run 'main'"):
            await store.earlier_run("main", run)
