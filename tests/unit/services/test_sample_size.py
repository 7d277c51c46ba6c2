"""How many cases a difference takes: against published sizes, and with what a run can tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from howsure.config import Settings
from howsure.errors import PlanRefused
from howsure.kit import Kit
from howsure.reports.sizing_report import sizing_sentence
from howsure.services.sample_size import RunEvidence, SampleSizeRequest, check_request, compute_plan, plan_sample_size
from howsure.services.workspace import Workspace
from unit.services.gate.gate_runs import Made, cases, keep, opened, tries, verdicts


def plan(**wish: Any) -> Any:
    return compute_plan(SampleSizeRequest(**{"repeats": (1,), **wish}), RunEvidence())


@pytest.mark.parametrize(
    ("rate", "difference", "expected"),
    [(0.8, 0.05, 1131), (0.5, 0.1, 404), (0.9, 0.1, 214)],
    ids=["80 % against 75 %", "50 % against 40 %", "90 % against 80 %"],
)
def test_different_cases_take_as_many_as_fisher_s_test_needs(rate: float, difference: float, expected: int) -> None:
    """The corrected sizes of Casagrande, Pike and Smith (1978), which are a little large, are 1,134, 408 and 219."""
    assert plan(rate=rate, difference=difference).sizes[0].cases == expected


def test_pairing_takes_fewer_the_less_the_runs_differ_by_chance() -> None:
    few, many = (plan(difference=0.05, paired=True, discordance=share).sizes[0].cases for share in (0.08, 0.3))
    assert few < many < 1094


def test_repeats_take_fewer_cases_and_more_attempts() -> None:
    found = plan(rate=0.8, difference=0.05, correlation=0.5, repeats=(1, 3, 2))
    assert [size.repeats for size in found.sizes] == [1, 2, 3]
    needed = [size.cases for size in found.sizes]
    attempts = [size.attempts for size in found.sizes]
    assert needed == sorted(needed, reverse=True)
    assert attempts == sorted(attempts)


def test_repeats_of_a_case_that_never_changes_are_worth_nothing() -> None:
    found = plan(rate=0.8, difference=0.05, correlation=1.0, repeats=(1, 5))
    assert found.sizes[0].cases == found.sizes[1].cases


@pytest.mark.parametrize(
    ("wish", "assumed"),
    [
        ({}, ["a pass rate of 80%", "that two tries of one case correlate by 0.5"]),
        ({"rate": 0.7, "correlation": 0.2}, []),
        ({"rate": 0.7, "correlation": 0.2, "paired": True}, ["that two runs differ on"]),
        ({"rate": 0.7, "correlation": 0.2, "paired": True, "discordance": 0.2}, []),
    ],
)
def test_what_is_assumed_is_said(wish: dict[str, Any], assumed: list[str]) -> None:
    said = plan(difference=0.05, **wish).assumed
    assert len(said) == len(assumed)
    assert all(told.startswith(begin) for told, begin in zip(said, assumed, strict=True))


@pytest.mark.parametrize(
    ("wish", "told"),
    [
        ({"difference": 0.0}, "--difference lies between 0 and 1"),
        ({"difference": 5.0}, "--difference lies between 0 and 1 (or 0% and 100%), such as 5%, not 5"),
        ({"difference": 0.05, "rate": 1.0}, "--rate lies between 0 and 1"),
        ({"difference": 0.05, "power": 1.0}, "--power lies between 0 and 1"),
        ({"difference": 0.05, "correlation": 2.0}, "--correlation lies between 0 and 1"),
        ({"difference": 0.05, "discordance": 0.0}, "--discordance is the share of cases"),
        ({"difference": 0.05, "runs": ("a", "b", "c")}, "--from takes one run, or two"),
        ({"difference": 0.05, "repeats": (0,)}, "--repeats counts tries"),
    ],
)
def test_a_wish_that_makes_no_sense_is_refused(wish: dict[str, Any], told: str) -> None:
    with pytest.raises(PlanRefused) as refused:
        check_request(SampleSizeRequest(**wish))
    assert told in str(refused.value)


def test_runs_cannot_differ_by_more_than_the_cases_on_which_they_differ() -> None:
    with pytest.raises(PlanRefused, match="raise --discordance"):
        plan(difference=0.2, paired=True, discordance=0.1)


def test_a_difference_that_fits_on_neither_side_is_refused() -> None:
    with pytest.raises(PlanRefused, match=r"cannot change by 0\.6"):
        plan(difference=0.6, rate=0.5)


async def learned(folder: Path, runs: list[list[Made]], **wish: Any) -> Any:
    async with opened(folder) as store:
        kept = [await keep(store, made, number=place) for place, made in enumerate(runs, start=1)]
    work = Workspace(Settings(), Kit(), folder)
    return await plan_sample_size(
        work, SampleSizeRequest(**{"difference": 0.05, "runs": tuple(run.id for run in kept), **wish})
    )


async def test_a_run_tells_its_pass_rate_and_what_it_can_show(tmp_path: Path) -> None:
    found = await learned(tmp_path, [cases(verdicts(70, 30, 5))])
    assert (found.rate, found.cases, found.repeats) == (0.7, 100, 1)
    assert found.detectable == pytest.approx(0.19, abs=0.02)


async def test_repeats_tell_how_alike_tries_are(tmp_path: Path) -> None:
    steady = await learned(tmp_path, [tries(*["ppp"] * 30, *["fff"] * 10)])
    assert steady.correlation == pytest.approx(1.0)
    assert steady.assumed == ()


async def test_repeats_tell_how_often_two_runs_differ_by_chance(tmp_path: Path) -> None:
    found = await learned(tmp_path, [tries(*["pf"] * 50)], paired=True)
    assert found.discordance == pytest.approx(1.0)
    assert found.correlation == pytest.approx(0.0, abs=0.01)


async def test_two_runs_tell_on_how_many_cases_they_differ(tmp_path: Path) -> None:
    found = await learned(tmp_path, [cases("p" * 80 + "f" * 20), cases("p" * 70 + "f" * 20 + "p" * 10)], paired=True)
    assert found.discordance == pytest.approx(0.2)


async def test_a_rate_at_its_end_is_moved_inside_and_said_to_be(tmp_path: Path) -> None:
    found = await learned(tmp_path, [cases(verdicts(50))])
    assert found.rate == 0.999
    assert "at 100% nothing would vary" in found.assumed[0]


@pytest.mark.parametrize(
    ("runs", "wish", "told"),
    [
        ([cases(verdicts(0, 0, 5))], {}, "judged no case"),
        (
            [[*cases("p", candidate="a"), *cases("p", candidate="b")]],
            {},
            "has the candidates 'a', 'b': say --candidate",
        ),
        ([cases("pf"), [Made(case="z")]], {"paired": True}, "judged no case in common"),
    ],
    ids=["nothing judged", "several candidates", "strangers"],
)
async def test_a_run_that_tells_nothing_is_refused(
    tmp_path: Path, runs: list[list[Made]], wish: dict[str, Any], told: str
) -> None:
    with pytest.raises(PlanRefused) as refused:
        await learned(tmp_path, runs, **wish)
    assert told in str(refused.value)


def test_the_plan_is_one_sentence() -> None:
    found = plan(rate=0.8, difference=0.05, correlation=0.5, repeats=(1, 5))
    assert sizing_sentence(found) == (
        "To see a difference of 5 points with a chance of 80%, on different cases in each run: 1,131 cases."
        " With 5 tries of each, 656 would do."
    )
