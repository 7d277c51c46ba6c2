"""What commands print and how they end: problems in full, JSON whatever is in it, the promised exit codes."""

from __future__ import annotations

import json
from typing import Any

import click
import pytest
from click.testing import CliRunner
from msgspec import Struct

from howsure.cli.output import (
    SHOWN_PROBLEMS,
    exit_on_error,
    print_bytes,
    print_error,
    print_json,
    problem_shape,
    say,
)
from howsure.errors import (
    ConfigInvalid,
    Conflict,
    DatasetInvalid,
    HowsureError,
    NotFound,
    PlanRefused,
    Problem,
    UnknownName,
)

PROBLEM = Problem(code="missing-field", message="`prompt` is required", file="a.jsonl", line=3, field="prompt")


@pytest.mark.parametrize(
    ("problem", "shape"),
    [
        (
            PROBLEM,
            {"code": "missing-field", "line": 3, "field": "prompt", "message": "`prompt` is required"},
        ),
        (
            Problem(code="broken", message="x", line=1, column=7, expected="a", found="b", hint="try c"),
            {
                "code": "broken",
                "line": 1,
                "column": 7,
                "field": "",
                "message": "x",
                "expected": "a",
                "found": "b",
                "hint": "try c",
            },
        ),
        (Problem(code="c", message="m"), {"code": "c", "line": None, "field": "", "message": "m"}),
        (
            Problem(code="c", message="m", column=0),
            {"code": "c", "line": None, "column": 0, "field": "", "message": "m"},
        ),
    ],
    ids=["usual", "everything", "nowhere", "the first column"],
)
def test_a_problem_has_the_promised_shape(problem: Problem, shape: dict[str, Any]) -> None:
    assert problem_shape(problem) == shape
    assert list(problem_shape(problem)) == list(shape)


def printed(capsysbinary: pytest.CaptureFixture[bytes], value: Any, **how: Any) -> bytes:
    print_json(value, **how)
    return capsysbinary.readouterr().out


class Thing(Struct):
    """Something with a path."""

    path: str


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": [1, None, True]}, {"a": [1, None, True]}),
        ({"name": "naïve 日本"}, {"name": "naïve 日本"}),
        (Thing("a"), {"path": "a"}),
        ({"path": "na\udcc3\udcafve"}, {"path": "naïve"}),
        ([Thing("na\udcc3\udcafve")], [{"path": "naïve"}]),
        ({"path": "odd\udcff"}, {"path": "odd\\xff"}),
        ({"half \ud83d of a pair": "naïve"}, {"half \\ud83d of a pair": "naïve"}),
    ],
    ids=["plain", "beyond ascii", "a struct", "a C locale's path", "inside", "no text", "half an emoji"],
)
def test_json_is_utf_8_whatever_is_in_it(capsysbinary: pytest.CaptureFixture[bytes], value: Any, expected: Any) -> None:
    out = printed(capsysbinary, value)
    assert json.loads(out.decode("utf-8")) == expected
    assert out.endswith(b"\n")


def test_json_is_indented_for_people_or_on_one_line(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert printed(capsysbinary, {"a": 1}) == b'{\n  "a": 1\n}\n'
    assert printed(capsysbinary, {"a": 1}, indent=0) == b'{"a":1}\n'


def test_bytes_go_to_stdout_and_words_to_stderr(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    print_bytes(b"\xc3\xa9\n")
    say("hello")
    assert capsysbinary.readouterr() == (b"\xc3\xa9\n", b"hello\n")


def many(count: int) -> DatasetInvalid:
    return DatasetInvalid("a.jsonl", [Problem(code="c", message="m", file="a.jsonl", line=n) for n in range(count)])


def test_a_refusal_shows_the_first_problems_and_counts_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    error = many(SHOWN_PROBLEMS + 3)
    print_error(error, as_json=False)
    out, err = capsys.readouterr()
    said = err.splitlines()
    assert out == ""
    assert said[0] == "a.jsonl:0: m [c]"
    assert len(said) == SHOWN_PROBLEMS + 2
    assert said[-2:] == ["… and 3 more (--json shows all)", "error: a.jsonl: 203 problems"]


def test_exactly_as_many_as_are_shown_leave_no_rest(capsys: pytest.CaptureFixture[str]) -> None:
    error = many(SHOWN_PROBLEMS)
    print_error(error, as_json=False)
    assert "more" not in capsys.readouterr().err


def test_a_refusal_in_json_has_every_problem_and_its_file(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    error = many(SHOWN_PROBLEMS + 3)
    print_error(error, as_json=True)
    out, err = capsysbinary.readouterr()
    told = json.loads(out)
    assert err == b""
    assert (told["error"], told["detail"]) == ("DatasetInvalid", "a.jsonl: 203 problems")
    assert len(told["problems"]) == 203
    assert told["problems"][7] == {"file": "a.jsonl", "code": "c", "line": 7, "field": "", "message": "m"}


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (DatasetInvalid("a.jsonl", [PROBLEM]), 2, "a.jsonl:3 `prompt`: `prompt` is required [missing-field]\nerror: "),
        (ConfigInvalid("wrong"), 2, "error: wrong"),
        (UnknownName("grader", "charm", ["b", "a"]), 2, "error: unknown grader 'charm'; known: a, b"),
        (PlanRefused("no"), 2, "error: no"),
        (NotFound("gone"), 2, "error: gone"),
        (Conflict("both"), 2, "error: both"),
        (KeyboardInterrupt(), 130, "Interrupted. Nothing is half-stored: type it again."),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_what_the_user_can_mend_ends_with_its_code(error: BaseException, code: int, told: str) -> None:
    @click.command()
    def command() -> None:
        with exit_on_error(as_json=False):
            raise error

    done = CliRunner().invoke(command)
    assert done.exit_code == code
    assert done.stdout == ""
    assert told in done.stderr


def test_a_run_that_is_interrupted_can_be_resumed() -> None:
    @click.command()
    def command() -> None:
        with exit_on_error(as_json=False, runs=True):
            raise KeyboardInterrupt

    done = CliRunner().invoke(command)
    assert (done.exit_code, "`howsure resume latest` goes on" in done.stderr) == (130, True)


@pytest.mark.parametrize("error", [ZeroDivisionError("ours"), HowsureError("ours")])
def test_what_we_broke_is_not_swallowed(error: Exception) -> None:
    with pytest.raises(type(error), match="ours"), exit_on_error(as_json=False):
        raise error
