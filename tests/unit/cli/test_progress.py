"""Progress: counts that add up, words a person can read, and nothing at all for --quiet."""

from __future__ import annotations

import re
import sys

import pytest

from howsure.cli.progress import ProgressTally, progress
from howsure.model.result import Result
from howsure.model.verdict import Verdict
from howsure.testing import a_case

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
