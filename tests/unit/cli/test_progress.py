"""Progress: counts that add up, words a person can read, and nothing at all for --quiet. What run, resume and retry
share: who is told of the start, how a run ends, and which cases are shown first."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from howsure.cli.progress import SHOWN_WARNINGS, ProgressTally, finish_run, print_summary, progress, show_progress
from howsure.model.case import Case
from howsure.model.result import Result
from howsure.model.run import Counts, DatasetPin, Pins, Run, RunState
from howsure.model.run_request import RunRequest
from howsure.model.summary import Summary
from howsure.model.verdict import Verdict
from howsure.services.run.execute import RunHandle, utc_now
from howsure.services.run.start import start
from howsure.services.workspace import Workspace
from howsure.testing import a_case
from unit.services.places import Counting, asking, house, unwatched, workplace

CASE = a_case()


def results(*verdicts: Verdict) -> list[Result]:
    return [Result(case=CASE, verdict=verdict) for verdict in verdicts]


def test_a_tally_counts_verdicts_in_one_order_and_leaves_out_what_there_is_none_of() -> None:
    tally = ProgressTally(1_500, 0)
    tally.add(results(Verdict.ERRORED, Verdict.PASSED, Verdict.PASSED))
    tally.add(results(*[Verdict.FAILED] * 1_200))
    assert re.fullmatch(r"2 passed, 1,200 failed, 1 errored, [\d,]+/s", tally.words())
    assert tally.done == 1_203


def test_what_was_done_before_counts_as_done_and_not_as_speed() -> None:
    tally = ProgressTally(10, 8)
    assert tally.done == 8
    assert tally.rate == 0
    assert tally.words() == "0/s"
    tally.add(results(Verdict.PASSED))
    assert tally.done == 9
    assert tally.rate > 0


def test_the_time_left_is_unknown_before_anything_is_done_and_nothing_at_the_end() -> None:
    tally = ProgressTally(2, 0)
    assert tally.left() == "time left unknown"
    tally.add(results(Verdict.PASSED))
    assert re.fullmatch(r"[\d,]+ s left", tally.left())
    tally.add(results(Verdict.SKIPPED))
    assert tally.left() == "done"


def test_lines_say_at_the_end_how_far_it_came(capsys: pytest.CaptureFixture[str]) -> None:
    with progress(1_000, 0) as shown:
        shown(results(Verdict.PASSED, Verdict.FAILED))
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(r"2 of 1,000: 1 passed, 1 failed, [\d,]+/s, [\d,]+ s left\n", err)


def test_lines_come_only_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    with progress(100, 0) as shown:
        for _ in range(100):
            shown(results(Verdict.PASSED))
    assert capsys.readouterr().err.count("\n") == 1


def test_a_line_is_said_even_when_the_run_breaks(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt), progress(5, 0):
        raise KeyboardInterrupt
    assert capsys.readouterr().err == "0 of 5: 0/s, time left unknown\n"


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress(3, 0, quiet=True) as shown:
        shown(results(Verdict.PASSED))
    assert capsys.readouterr() == ("", "")


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress(3, 1) as shown:
        shown(results(Verdict.PASSED, Verdict.ERRORED))
    out, err = capsys.readouterr()
    assert out == ""
    assert "1 passed, 1 errored" in err
    assert "3/3" in err


PINS = Pins(request=RunRequest(target="recorded", judge="offline"), datasets=(DatasetPin(path="a.jsonl", sha256="1"),))


def a_run(state: RunState = RunState.COMPLETED, **counts: int) -> Run:
    numbers = replace(Counts(total=4), **counts)
    return Run(id="0123456789", name="nightly", state=state, pins=PINS, counts=numbers, created_at=utc_now())


def a_summary(state: RunState = RunState.COMPLETED, **counts: int) -> Summary:
    return Summary(run=a_run(state, **counts), candidates={}, graders=())


def a_handle(run: Run, done: int = 0, *warnings: str) -> RunHandle:
    plan: Any = SimpleNamespace(warnings=warnings, cases=SimpleNamespace(datasets=()))
    return RunHandle(run=run, plan=plan, done=done)


def test_the_start_is_announced_with_target_and_judge(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(quiet=False) as watch:
        watch(a_handle(a_run(), 1, "odd"))
        said = capsys.readouterr().err
    assert said.splitlines() == [
        "warning: odd",
        "run 01234567 'nightly': 4 attempts; target recorded",
        "judge: offline",
    ]
    assert capsys.readouterr().err == "1 of 4: 0/s, time left unknown\n"


def test_a_run_without_a_judge_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(quiet=False) as watch:
        watch(a_handle(replace(a_run(), pins=replace(PINS, request=RunRequest(target="recorded")))))
    assert "judge: none: judged grades will say so" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("count", "last"),
    [
        (SHOWN_WARNINGS, "warning: 9"),
        (SHOWN_WARNINGS + 1, "warning: … and 1 more (howsure validate shows all)"),
    ],
)
def test_warnings_are_said_even_when_all_else_is_quiet(
    capsys: pytest.CaptureFixture[str], count: int, last: str
) -> None:
    with show_progress(quiet=True) as watch:
        watch(a_handle(a_run(), 0, *map(str, range(count))))
    assert capsys.readouterr().err.splitlines()[-1] == last


@pytest.mark.parametrize(
    ("state", "counts", "code"),
    [
        (RunState.COMPLETED, {"passed": 4}, 0),
        (RunState.COMPLETED, {"failed": 4}, 0),
        (RunState.COMPLETED, {"passed": 3, "errored": 1}, 3),
        (RunState.COMPLETED, {"skipped": 4}, 0),
        (RunState.OUT_OF_BUDGET, {"passed": 3, "skipped": 1}, 2),
        (RunState.OUT_OF_BUDGET, {"errored": 3, "skipped": 1}, 2),
    ],
    ids=["passed", "failed without a gate", "errored", "skipped", "out of budget", "out of budget and errored"],
)
def test_a_run_ends_with_the_code_of_what_matters_most(
    tmp_path: Path, state: RunState, counts: dict[str, int], code: int
) -> None:
    assert finish_run(workplace(tmp_path), a_summary(state, **counts), (), quiet=True, as_json=False) == code


def test_json_is_printed_even_when_quiet(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    finish_run(workplace(tmp_path), a_summary(passed=4), (), quiet=True, as_json=True)
    assert b'"run_id": "0123456789"' in capsysbinary.readouterr().out


async def kept(folder: Path) -> tuple[Workspace, Summary]:
    """A run of thirty cases: q1 to q3 break, the others fail."""

    def answer(case: Case) -> str:
        if case.id in ("q1", "q2", "q3"):
            raise ConnectionError("refused")
        return "B"

    work = workplace(folder, Counting(answer))
    return work, await start(work, asking(house(folder, 30)), unwatched)


def test_the_cases_to_look_at_first_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    work, summary = asyncio.run(kept(tmp_path))
    print_summary(work, summary)
    out, err = capsys.readouterr()
    assert err == ""
    assert "q1" in out
    assert "q4" in out
    assert "3" in out
