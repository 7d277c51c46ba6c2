"""Which exit code wins where several apply: 130, 1, 2, 100, 101, 3."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from msgspec.structs import replace

from howsure.cli.exit_codes import WORST_FIRST, gate_exit_code, run_exit_code, worst_exit_code
from howsure.cli.options import read_gate_expressions as read_gates_option
from howsure.cli.options import read_share, read_whole_numbers
from howsure.cli.progress import finish_run
from howsure.errors import ConfigInvalid
from howsure.model.run import RunState
from howsure.model.summary import GateOutcome, GateRuling, Summary
from unit.cli.test_progress import a_summary
from unit.services.places import workplace

HELD, FAILED, INCONCLUSIVE = GateOutcome.HELD, GateOutcome.FAILED, GateOutcome.INCONCLUSIVE


def gates(*outcomes: GateOutcome) -> tuple[GateRuling, ...]:
    return tuple(GateRuling(expression="errors <= 1", outcome=outcome, reason="so.") for outcome in outcomes)


def ended(state: RunState, outcomes: tuple[GateOutcome, ...], **counts: int) -> Summary:
    return replace(a_summary(state, **counts), gates=gates(*outcomes))


def test_the_order_is_the_published_one() -> None:
    assert WORST_FIRST == (130, 1, 2, 100, 101, 3)


@pytest.mark.parametrize(("graver", "lighter"), list(combinations((130, 1, 2, 100, 101, 3, 0), 2)))
def test_of_two_codes_the_graver_wins_whichever_comes_first(graver: int, lighter: int) -> None:
    assert worst_exit_code(graver, lighter) == worst_exit_code(lighter, graver) == graver


def test_nothing_wrong_is_done() -> None:
    assert worst_exit_code() == 0


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        ((), 0),
        ((HELD,), 0),
        ((HELD, HELD), 0),
        ((HELD, INCONCLUSIVE), 101),
        ((INCONCLUSIVE, FAILED, HELD), 100),
    ],
)
def test_one_gate_that_failed_decides_then_one_that_is_inconclusive(
    outcomes: tuple[GateOutcome, ...], code: int
) -> None:
    assert gate_exit_code(gates(*outcomes)) == code


@pytest.mark.parametrize(
    ("state", "outcomes", "counts", "code"),
    [
        (RunState.COMPLETED, (HELD,), {"passed": 4}, 0),
        (RunState.COMPLETED, (HELD,), {"passed": 3, "errored": 1}, 3),
        (RunState.COMPLETED, (FAILED,), {"passed": 3, "errored": 1}, 100),
        (RunState.COMPLETED, (INCONCLUSIVE,), {"passed": 3, "errored": 1}, 101),
        (RunState.COMPLETED, (INCONCLUSIVE, FAILED), {"failed": 4}, 100),
        (RunState.OUT_OF_BUDGET, (FAILED,), {"passed": 3, "skipped": 1}, 2),
        (RunState.OUT_OF_BUDGET, (INCONCLUSIVE,), {"errored": 3, "skipped": 1}, 2),
    ],
    ids=["held", "held, errored", "failed, errored", "inconclusive, errored", "both", "no budget, failed",
         "no budget, inconclusive, errored"],
)  # fmt: skip
def test_a_run_with_gates_ends_with_the_code_of_what_matters_most(
    tmp_path: Path, state: RunState, outcomes: tuple[GateOutcome, ...], counts: dict[str, int], code: int
) -> None:
    summary = ended(state, outcomes, **counts)
    assert run_exit_code(summary) == code
    assert finish_run(workplace(tmp_path), summary, (), quiet=True, as_json=False) == code


@pytest.mark.parametrize(("text", "value"), [("5%", 0.05), ("0.05", 0.05), (" 5 % ", 0.05), (None, None)])
def test_a_share_is_read(text: str | None, value: float | None) -> None:
    assert read_share(text, "--rate") == value


@pytest.mark.parametrize("text", ["much", "", "%"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(ConfigInvalid, match=r"--rate expects a share such as 5% or 0\.05"):
        read_share(text, "--rate")


def test_whole_numbers_are_read_or_refused() -> None:
    assert read_whole_numbers("1, 3,5", "--repeats") == (1, 3, 5)
    with pytest.raises(ConfigInvalid, match="--repeats expects whole numbers"):
        read_whole_numbers("1.5", "--repeats")


def test_gates_are_read_as_they_will_be_pinned() -> None:
    assert read_gates_option(["pass_rate   >= 0.9", "pass_rate >= 0.9"], "--gate") == ("pass_rate >= 0.9",)
    with pytest.raises(ConfigInvalid, match="column 1"):
        read_gates_option(["charm"], "--gate")
