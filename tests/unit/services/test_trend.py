"""Runs over time: whose they are, what changed between them, and where the rate did."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace
from rich.console import Console

from howsure.config import Settings
from howsure.errors import NotFound, PlanRefused
from howsure.kit import Kit
from howsure.model.run import DatasetPin, RunState
from howsure.model.run_history import History, HistoryLine, HistoryPoint, RateChange
from howsure.reports.history_report import curve, history_report, history_sentence, history_shape
from howsure.services.trend import TrendQuery, run_history
from howsure.services.workspace import Workspace
from unit.services.gate.gate_runs import Made, cases, keep, opened, tries, verdicts

GOOD, BAD = verdicts(98, 2), verdicts(80, 20)


async def kept(folder: Path, runs: list[str], name: str = "nightly", **fields: Any) -> None:
    async with opened(folder) as store:
        for number, letters in enumerate(runs, start=1):
            await keep(store, cases(letters), number=number, name=name, **fields)


async def told(folder: Path, **asked: Any) -> History:
    return await run_history(Workspace(Settings(), Kit(), folder), TrendQuery(**asked))


async def test_a_rate_that_falls_is_found_with_its_run(tmp_path: Path) -> None:
    await kept(tmp_path, [GOOD, GOOD, GOOD, BAD, BAD])
    found = await told(tmp_path, whose="nightly")
    (turning,) = found.lines[0].turnings
    assert (turning.index, round(turning.before, 2), round(turning.after, 2)) == (3, 0.98, 0.8)
    assert turning.p_value < 0.01
    assert turning.unlike == ()
    assert [line.name for line in found.lines] == ["pass rate", "choice"]
    assert [point.judged for point in found.lines[0].points] == [100] * 5
    assert history_sentence(found) == (
        "nightly: 5 runs, 80.0 % now (likely 71–87 %). It fell from 98.0 % to 80.0 % with the run of 2026-03-05 12:00."
    )


async def test_what_chance_makes_is_no_change(tmp_path: Path) -> None:
    await kept(tmp_path, [verdicts(90, 10), verdicts(88, 12), verdicts(91, 9), verdicts(89, 11)])
    found = await told(tmp_path, whose="nightly")
    assert found.lines[0].turnings == ()
    assert "no change of the pass rate can be told from chance" in history_sentence(found)


async def test_a_change_of_the_judge_is_flagged_where_it_was(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        for number in (1, 2, 3, 4):
            await keep(store, cases(GOOD), number=number, name="n", judge="offline", judge_sha256="1")
        await keep(store, cases(BAD), number=5, name="n", judge="openai:x", judge_sha256="2")
    found = await told(tmp_path, whose="n")
    assert found.runs[0].unlike == ()
    assert found.runs[4].unlike[0].startswith("judge: ")
    assert found.lines[0].turnings[0].unlike == found.runs[4].unlike
    assert "but that run is not like the one before (judge: " in history_sentence(found)


async def test_another_test_set_is_flagged(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await keep(store, cases(verdicts(50)), number=1, name="n")
        other = (DatasetPin(path="house.jsonl", sha256="ef" * 32, dialect="legal"),)
        await keep(store, cases(verdicts(60)), number=2, name="n", datasets=other)
    assert (await told(tmp_path, whose="n")).runs[1].unlike == ("test set: 50 attempts before, 60 now",)


@pytest.mark.parametrize(
    ("asked", "runs"),
    [
        ({"whose": "bot"}, ["b1", "b2"]),
        ({"whose": "a1"}, ["a1"]),
        ({"dataset": "house.jsonl"}, ["a1", "b1", "b2"]),
        ({"dataset": "House"}, ["a2"]),
        ({"whose": "bot", "limit": 1}, ["b2"]),
    ],
    ids=["an agent", "a name", "a file", "a test set's name", "the newest"],
)
async def test_runs_are_those_of_an_agent_a_name_or_a_dataset(
    tmp_path: Path, asked: dict[str, Any], runs: list[str]
) -> None:
    named = (DatasetPin(path="data/x.json", sha256="1", name="House"),)
    async with opened(tmp_path) as store:
        await keep(store, cases("p"), number=1, name="a1")
        await keep(store, cases("p"), number=2, name="b1", agent="bot")
        await keep(store, cases("p"), number=3, name="a2", datasets=named)
        await keep(store, cases("p"), number=4, name="b2", agent="bot")
    found = await told(tmp_path, **asked)
    assert [run.name for run in found.runs] == runs


async def test_a_run_that_did_not_finish_is_left_out_and_counted(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await keep(store, cases("p"), number=1, name="n")
        await keep(store, cases("p"), number=2, name="n", state=RunState.INTERRUPTED)
    found = await told(tmp_path, whose="n")
    assert (len(found.runs), found.left_out) == (1, 1)
    assert "a trend takes two" in history_sentence(found)


async def test_repeats_are_counted_as_cases(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await keep(store, tries(*["ppf"] * 20), name="n")
    (point,) = (await told(tmp_path, whose="n")).lines[0].points
    assert (point.passed, point.judged) == (13, 20)


@pytest.mark.parametrize(
    ("asked", "error", "says"),
    [
        ({}, PlanRefused, "AGENT or --dataset NAME"),
        ({"whose": "n", "dataset": "x"}, PlanRefused, "AGENT or --dataset NAME"),
        ({"whose": "nobody"}, NotFound, "no run of the agent or run name 'nobody'"),
        ({"dataset": "nothing"}, NotFound, "no run of the dataset 'nothing'"),
        ({"whose": "stopped"}, NotFound, "no run of 'stopped' is completed yet"),
        ({"whose": "two"}, PlanRefused, "several candidates ('a', 'b'): say --candidate"),
        ({"whose": "two", "candidate": "c"}, NotFound, "no run has the candidate 'c'"),
    ],
)
async def test_what_has_no_trend_is_refused(
    tmp_path: Path, asked: dict[str, Any], error: type[Exception], says: str
) -> None:
    async with opened(tmp_path) as store:
        await keep(store, cases("p"), number=1, name="n")
        await keep(store, cases("p"), number=2, name="stopped", state=RunState.INTERRUPTED)
        two = [Made(case="q", candidate="a"), Made(case="q", candidate="b")]
        await keep(store, two, number=3, name="two")
    with pytest.raises(error) as refused:
        await told(tmp_path, **asked)
    assert says in str(refused.value)


async def test_one_candidate_of_several_has_a_trend(tmp_path: Path) -> None:
    two = [Made(case="q", candidate="a"), Made(case="q", candidate="b", verdict="f")]
    async with opened(tmp_path) as store:
        await keep(store, two, name="two")
    found = await told(tmp_path, whose="two", candidate="b")
    assert [point.rate for point in found.lines[0].points] == [0.0]


def a_line(*rates: float | None, turned: int | None = None) -> HistoryLine:
    points = tuple(HistoryPoint(passed=0, judged=1, rate=rate) for rate in rates)
    turnings = () if turned is None else (RateChange(index=turned, before=1, after=0, p_value=0.01),)
    return HistoryLine(name="x", points=points, turnings=turnings)


@pytest.mark.parametrize(
    ("line", "expected"),
    [(a_line(0.0, 0.5, 1.0), "▁▅█"), (a_line(1.0, None, 0.0, turned=2), "█ |▁"), (a_line(), "")],
    ids=["low, half, high", "a gap and a change", "nothing"],
)
def test_a_curve_has_a_bar_for_each_run(line: HistoryLine, expected: str) -> None:
    assert curve(line) == expected


async def test_the_terminal_shows_every_run_and_the_json_every_number(tmp_path: Path) -> None:
    await kept(tmp_path, [GOOD, GOOD, GOOD, GOOD, BAD], judge="offline")
    found = await told(tmp_path, whose="nightly")
    console = Console(width=100, record=True, file=(tmp_path / "out").open("w", encoding="utf-8"))
    console.print(history_report(found))
    console.file.close()
    shown = console.export_text()
    assert "████|▇" in shown
    assert "80.0 % [71–87]" in shown
    assert "changed" in shown
    shape = history_shape(found)
    assert shape["runs"][0]["at"] == "2026-03-02T12:00:00Z"
    assert shape["lines"][0]["points"][4]["rate"] == 0.8
    assert shape["lines"][0]["turnings"][0]["index"] == 4


async def test_repeats_and_scenarios_are_clusters_of_the_interval(tmp_path: Path) -> None:
    explain = (DatasetPin(path="x.jsonl", sha256="1", dialect="explain"),)
    made = [
        Made(verdict="p" if place < 75 else "f", case=f"q{place}", labels={"scenario_id": str(place // 10)})
        for place in range(100)
    ]
    async with opened(tmp_path) as store:
        await keep(store, made, number=1, name="n", datasets=explain)
        await keep(store, cases(verdicts(75, 25)), number=2, name="n")
        await keep(store, tries(*["pppp"] * 75, *["ffff"] * 25), number=3, name="n")
    line = (await told(tmp_path, whose="n")).lines[0]
    together, alone, again = [point.interval for point in line.points]
    assert together is not None and alone is not None and again is not None
    assert [point.rate for point in line.points] == [0.75, 0.75, 0.75]
    assert together[1] - together[0] > 2 * (alone[1] - alone[0]), "ten scenarios, not a hundred cases"
    assert again == pytest.approx(alone, abs=0.02), "four tries that always agree are one"


async def test_clusters_of_one_candidate_are_its_own(tmp_path: Path) -> None:
    both = [
        replace(each, candidate=name)
        for name, letters in (("a", ["ppp", "fff"]), ("b", ["ppp", "ppp"]))
        for each in tries(*letters)
    ]
    async with opened(tmp_path) as store:
        run = await keep(store, both, name="n")
        summary = await store.summary(run.id)
    found = {name: counts.pass_rate_interval for name, counts in summary.candidates.items()}
    (line, choice), (other, _) = [(await told(tmp_path, whose="n", candidate=name)).lines for name in ("a", "b")]
    assert (line.points[0].interval, other.points[0].interval) == (found["a"], found["b"])
    assert (
        choice.points[0].interval == next(each for each in summary.graders if each.candidate == "a").pass_rate_interval
    )
    assert summary.run.counts.pass_rate_interval not in (UNSET, found["a"], found["b"])
    assert found["a"] and found["a"][1] - found["a"][0] > 0.85, "two cases, not six"
