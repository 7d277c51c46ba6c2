"""Errors: which family each belongs to, what a problem says, and what the boundary lets through."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from howsure import errors
from howsure.errors import (
    BudgetReached,
    CaseFailure,
    CaseStopped,
    ConfigInvalid,
    Conflict,
    DamagedRow,
    DatasetInvalid,
    GraderFailed,
    HowsureError,
    InputError,
    JudgeFailed,
    Level,
    ModelFailed,
    ModelRefused,
    ModelTimedOut,
    NotFound,
    NotRecorded,
    NotTrusted,
    PlanRefused,
    PolicyFailed,
    Problem,
    RequestRefused,
    SimulatorFailed,
    StorageFault,
    TargetFailed,
    TargetTimedOut,
    UnknownName,
    Unreachable,
    UserInterrupt,
    boundary,
)

FIXABLE = {
    DatasetInvalid,
    ConfigInvalid,
    DamagedRow,
    NotTrusted,
    StorageFault,
    Unreachable,
    UnknownName,
    PlanRefused,
    RequestRefused,
    NotFound,
    Conflict,
}
BROKEN = {
    TargetFailed, TargetTimedOut, NotRecorded, SimulatorFailed, JudgeFailed, GraderFailed, PolicyFailed, CaseStopped,
    ModelFailed, ModelRefused, ModelTimedOut, BudgetReached,
}  # fmt: skip


def test_every_error_is_in_exactly_one_family_and_drawn_in_the_tree() -> None:
    known = {each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, Exception)}
    assert known == {HowsureError, InputError, CaseFailure} | FIXABLE | BROKEN
    assert {each for each in known if issubclass(each, InputError)} == FIXABLE | {InputError}
    assert {each for each in known if issubclass(each, CaseFailure)} == BROKEN | {CaseFailure}
    assert [each.__name__ for each in known if each.__name__ not in (errors.__doc__ or "")] == []


def test_a_time_out_is_a_failure_of_whom_it_happened_to() -> None:
    assert issubclass(TargetTimedOut, TargetFailed)
    assert issubclass(ModelTimedOut, ModelFailed)
    assert issubclass(ModelRefused, ModelFailed)
    assert not issubclass(ModelFailed, TargetFailed | JudgeFailed)


@pytest.mark.parametrize(
    ("problem", "place", "text"),
    [
        (Problem(code="c", message="is wrong"), "", "is wrong [c]"),
        (Problem(code="c", message="is wrong", field="a.b"), "", "`a.b`: is wrong [c]"),
        (Problem(code="c", message="is wrong", file="f.json"), "f.json", "f.json: is wrong [c]"),
        (Problem(code="c", message="m", file="f", line=3), "f:3", "f:3: m [c]"),
        (Problem(code="c", message="m", file="f", line=3, column=9), "f:3:9", "f:3:9: m [c]"),
        (Problem(code="c", message="m", line=3), "3", "3: m [c]"),
        (Problem(code="c", message="m", file="f", line=0, column=0), "f:0:0", "f:0:0: m [c]"),
        (
            Problem(code="c", message="m", file="a b.json", line=1, field="x", hint="write y"),
            "a b.json:1",
            "a b.json:1 `x`: m (write y) [c]",
        ),
    ],
)
def test_a_problem_says_where_and_what(problem: Problem, place: str, text: str) -> None:
    assert problem.place == place
    assert str(problem) == text


def test_a_problem_stops_the_file_unless_it_is_a_warning() -> None:
    assert Problem(code="c", message="m").level is Level.ERROR
    stored = msgspec.json.encode(Problem(code="c", message="m", level=Level.WARNING, line=2))
    assert stored == b'{"code":"c","message":"m","line":2,"level":"warning"}'


@pytest.mark.parametrize(("count", "text"), [(0, "f: 0 problems"), (1, "f: 1 problem"), (2, "f: 2 problems")])
def test_an_invalid_dataset_counts_its_problems_and_keeps_them_in_order(count: int, text: str) -> None:
    problems = [Problem(code=str(number), message="m") for number in range(count)]
    error = DatasetInvalid("f", problems)
    problems.clear()
    assert str(error) == text
    assert [problem.code for problem in error.problems] == [str(number) for number in range(count)]


@pytest.mark.parametrize(
    ("known", "text"),
    [((), "known: none"), (("b", "a"), "known: a, b"), (("x",), "known: x")],
)
def test_an_unknown_name_is_answered_with_the_known_ones_sorted(known: tuple[str, ...], text: str) -> None:
    assert str(UnknownName("grader", "chioce", known)) == f"unknown grader 'chioce'; {text}"


@pytest.mark.parametrize(
    ("broken", "text"),
    [
        (ConnectionError("refused"), "target 'x': ConnectionError: refused"),
        (KeyError("a"), "target 'x': KeyError: 'a'"),
        (TimeoutError(), "target 'x': TimeoutError"),
        (NotFound("no such file"), "target 'x': NotFound: no such file"),
        (ExceptionGroup("several", [ValueError("one")]), "target 'x': ExceptionGroup: several (1 sub-exception)"),
    ],
)
def test_whatever_breaks_is_attributed_and_keeps_its_cause(broken: Exception, text: str) -> None:
    with pytest.raises(TargetFailed) as caught, boundary(TargetFailed, "target 'x'"):
        raise broken
    assert str(caught.value) == text
    assert caught.value.__cause__ is broken
    assert type(caught.value) is TargetFailed


@pytest.mark.parametrize("failure", [JudgeFailed("j"), BudgetReached("b"), TargetTimedOut("t"), ModelRefused("m")])
def test_a_failure_that_is_attributed_already_passes_as_it_is(failure: CaseFailure) -> None:
    with pytest.raises(CaseFailure) as caught, boundary(GraderFailed, "grader 'x'"):
        raise failure
    assert caught.value is failure
    assert failure.__cause__ is None


@pytest.mark.parametrize(
    "stop",
    [asyncio.CancelledError(), KeyboardInterrupt(), SystemExit(2), GeneratorExit()],
    ids=lambda stop: type(stop).__name__,
)
def test_what_ends_the_program_or_the_task_is_never_a_failure_of_a_case(stop: BaseException) -> None:
    with pytest.raises(type(stop)) as caught, boundary(TargetFailed, "target 'x'"):
        raise stop
    assert caught.value is stop


@pytest.mark.parametrize(
    "stop",
    [asyncio.CancelledError(), KeyboardInterrupt(), SystemExit(2), GeneratorExit(), BaseException("own")],
    ids=lambda stop: type(stop).__name__,
)
async def test_code_inside_a_task_that_wants_to_end_the_program_is_a_failure(stop: BaseException) -> None:
    with (
        pytest.raises(TargetFailed, match=r"target 'x': it tried to end the program \("),
        boundary(TargetFailed, "target 'x'"),
    ):
        raise stop


async def test_a_real_interrupt_passes() -> None:
    for stop in (UserInterrupt(), BaseExceptionGroup("several", [UserInterrupt(), ValueError("v")])):
        with pytest.raises(type(stop)), boundary(TargetFailed, "target 'x'"):
            raise stop


def test_a_group_with_a_cancellation_in_it_passes() -> None:
    with pytest.raises(BaseExceptionGroup) as caught, boundary(TargetFailed, "target 'x'"):
        raise BaseExceptionGroup("several", [asyncio.CancelledError(), ValueError("v")])
    assert not isinstance(caught.value, CaseFailure)


def test_the_inner_boundary_names_who_broke() -> None:
    with pytest.raises(CaseFailure) as caught, boundary(GraderFailed, "grader"), boundary(JudgeFailed, "judge"):
        raise ValueError("v")
    assert type(caught.value) is JudgeFailed
    assert str(caught.value) == "judge: ValueError: v"


async def test_a_cancelled_wait_inside_a_boundary_stays_cancelled() -> None:
    async def wait() -> None:
        with boundary(TargetFailed, "target 'x'"):
            await asyncio.Event().wait()

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_nothing_broken_nothing_raised() -> None:
    guard = boundary(TargetFailed, "x")
    with guard:
        said = "fine"
    with guard:
        said += " twice"
    assert said == "fine twice"
