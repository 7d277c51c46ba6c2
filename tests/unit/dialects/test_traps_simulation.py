"""Simulation files as other people's programs wrote them: every odd cell is read for what it says, or is a problem."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from howsure.dialects.datasets import detect, validate
from howsure.dialects.simulation import SimulationDialect
from howsure.dialects.simulation_traces import nanoseconds
from howsure.errors import Level, Problem
from howsure.model.case import Case, Script
from howsure.model.transcript import BrokenRecording, Transcript
from simulation_files import ANSWER, EXTRACTED, PROCESSED, REAL_TRACE, SESSION, STATE, TURNS, row, write_file

DIALECT = SimulationDialect()
HEADER = b"question_id,user_inputs,final_response\n"
FAILED = "the row is marked as failed"
MISSING = "the row is marked as missing information"


def found_in(path: Path) -> tuple[list[Case], list[tuple[str, int | None, str]]]:
    found = list(DIALECT.read(path))
    problems = [(one.code, one.line, one.field) for one in found if isinstance(one, Problem)]
    return [one for one in found if isinstance(one, Case)], problems


def read(folder: Path, ending: str = "csv", **changes: Any) -> tuple[list[Case], list[tuple[str, int | None, str]]]:
    return found_in(write_file(folder / f"a.{ending}", row(PROCESSED, **changes)))


def read_bytes(folder: Path, content: bytes) -> tuple[list[Case], list[tuple[str, int | None, str]]]:
    (folder / "a.csv").write_bytes(content)
    return found_in(folder / "a.csv")


@pytest.mark.parametrize(
    "status",
    [
        '{"boolean": "success"}',
        '{"boolean": true}',
        '{"boolean": null}',
        '{"boolean": "Success "}',
        '{"status": "success"}',
        '{"boolean": "success", "error_message": null}',
        '{"boolean": "success", "error_message": ""}',
        '{"boolean": "success", "error_message": "a warning that did no harm"}',
        '"success"',
        "success",
        "SUCCESS",
        "Succeeded",
        "ok",
        "completed",
        "passed",
        "True",
        "null",
        "None",
        "nan",
        "NaN",
        '""',
        "{}",
        " ",
        "",
    ],
)
def test_a_status_that_names_no_failure_is_none(tmp_path: Path, status: str) -> None:
    (case,), problems = read(tmp_path, status=status)
    assert problems == []
    assert isinstance(case.recorded, Transcript)
    assert case.recorded.answer == ANSWER


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ('{"boolean": "failed"}', FAILED),
        ('{"boolean": false}', FAILED),
        ('{"boolean": "FAILED", "error_message": "HTTP 503"}', "HTTP 503"),
        ('{"boolean": "error", "error_message": null}', FAILED),
        ('{"status": "failed"}', FAILED),
        ('{"status": "failed", "error_message": "timeout"}', "timeout"),
        ('{"error_message": "no session"}', "no session"),
        ('{"boolean": null, "error_message": "no session"}', "no session"),
        ('"failed"', FAILED),
        ("failed", FAILED),
        ("Failure", FAILED),
        ("ERROR", FAILED),
        ("errored", FAILED),
        ("False", FAILED),
        ("false", FAILED),
    ],
)
def test_a_status_that_names_a_failure_is_one_however_it_is_written(tmp_path: Path, status: str, reason: str) -> None:
    (case,), problems = read(tmp_path, status=status)
    assert problems == []
    assert isinstance(case.recorded, BrokenRecording)
    assert case.recorded.reason == reason


@pytest.mark.parametrize(
    "status",
    ['{"boolean": "timeout"}', '{"boolean": 1}', '{"status": "running"}', "partial", "0", "1", "[]", "yes", "?", "-"],
)
def test_a_status_that_nobody_knows_is_a_problem_and_not_a_success(tmp_path: Path, status: str) -> None:
    cases, problems = read(tmp_path, status=status)
    assert cases == []
    assert problems == [("unknown-value", 2, "status")]


@pytest.mark.parametrize(
    ("missing", "reason"),
    [
        ('{"boolean": true}', MISSING),
        ('{"boolean": "True"}', MISSING),
        ('{"boolean": "true", "details": "no trace"}', "no trace"),
        ('{"details": "no trace"}', "no trace"),
        ('{"missing_information": true, "details": "no trace"}', "no trace"),
        ('"true"', MISSING),
        ("TRUE", MISSING),
        ('{"boolean": false}', None),
        ('{"boolean": false, "details": ""}', None),
        ('{"boolean": null, "details": null}', None),
        ("False", None),
        ("None", None),
        ("{}", None),
        ("", None),
    ],
)
def test_missing_information_is_read_in_all_its_spellings(tmp_path: Path, missing: str, reason: str | None) -> None:
    (case,), problems = read(tmp_path, missing_information=missing)
    assert problems == []
    assert isinstance(case.recorded, BrokenRecording if reason else Transcript)
    assert not reason or case.recorded.reason == reason  # type: ignore[union-attr]


@pytest.mark.parametrize("missing", ["yes", "no", "trace", "[]", '["trace"]', '{"boolean": 1}', '{"boolean": "some"}'])
def test_missing_information_that_nobody_can_read_is_a_problem(tmp_path: Path, missing: str) -> None:
    cases, problems = read(tmp_path, missing_information=missing)
    assert (cases, problems) == ([], [("unknown-value", 2, "missing_information")])


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("user_inputs", TURNS),
        ("final_session_state", SESSION),
        ("session_trace", REAL_TRACE),
        ("extracted_data", EXTRACTED),
        ("question_metadata", {"topic": "delivery", "hard": True, "list": [1]}),
        ("agents_evaluated", ["shop"]),
        ("status", {"boolean": "success"}),
        ("missing_information", {"boolean": False}),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_what_was_encoded_twice_or_printed_by_python_says_the_same_with_a_warning(
    tmp_path: Path, column: str, value: Any, ending: str
) -> None:
    (plain,), none = read(tmp_path, ending, **{column: value})
    twice = json.dumps(json.dumps(value))
    (double,), doubled = read(tmp_path, ending, **{column: twice})
    (printed,), literal = read(tmp_path, ending, **{column: repr(value)})
    line = 2 if ending == "csv" else 1
    assert none == []
    assert doubled == [("encoded-twice", line, column)]
    assert plain == double == printed
    assert literal == ([] if repr(value) == json.dumps(value) else [("python-literal", line, column)])


@pytest.mark.parametrize(
    ("inputs", "problem"),
    [
        ("Hello", ("json-syntax", 2, "user_inputs")),
        ('"Hello"', ("wrong-type", 2, "user_inputs")),
        ('"[oops"', ("json-syntax", 2, "user_inputs")),
        ('{"0": "a"}', ("wrong-type", 2, "user_inputs")),
        ("('a', 'b')", ("json-syntax", 2, "user_inputs")),
        ("['a' 'b', open('x')]", ("json-syntax", 2, "user_inputs")),
        ("[float('nan')]", ("json-syntax", 2, "user_inputs")),
        ("{'a', 'b'}", ("json-syntax", 2, "user_inputs")),
        ('["a"] ["b"]', ("json-syntax", 2, "user_inputs")),
        ("[1]", ("wrong-type", 2, "user_inputs[0]")),
        ("[null]", ("wrong-type", 2, "user_inputs[0]")),
        ('["a", {"text": "b"}]', ("wrong-type", 2, "user_inputs[1]")),
        ("[NaN]", ("json-not-finite", 2, "user_inputs")),
    ],
)
def test_user_inputs_that_are_no_list_of_texts_are_a_problem(
    tmp_path: Path, inputs: str, problem: tuple[str, int, str]
) -> None:
    cases, problems = read(tmp_path, user_inputs=inputs)
    assert (cases, problems) == ([], [problem])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (1_700_000_000_000_000_000, 1_700_000_000_000_000_000),
        ("1700000000000000000", 1_700_000_000_000_000_000),
        (" 1700000000000000001 ", 1_700_000_000_000_000_001),
        (1_700_000_000.5, 1_700_000_000_500_000_000),
        ("1700000000.5", 1_700_000_000_500_000_000),
        (1.7e18, 1_700_000_000_000_000_000),
        ("1.7e18", 1_700_000_000_000_000_000),
        ("1.7E+18", 1_700_000_000_000_000_000),
        ("1970-01-01T00:00:01Z", 1_000_000_000),
        ("1970-01-01T00:00:01", 1_000_000_000),
        ("1970-01-01 00:00:01+00:00", 1_000_000_000),
        ("1970-01-01T01:00:01+01:00", 1_000_000_000),
        ("1970-01-01T00:00:00.000001Z", 1_000),
        ("1969-12-31T23:59:59Z", -1_000_000_000),
        (0, 0),
        (-1, -1),
        (None, None),
        ("", None),
        ("  ", None),
    ],
)
def test_a_time_is_read_in_every_spelling(given: Any, expected: int | None) -> None:
    assert nanoseconds(given) == expected


@pytest.mark.parametrize("given", [True, False, "abc", "12:00", "1,700", "1.7e999", "-", "²", [], {}, "NaN", "inf"])
def test_what_is_no_time_is_a_problem_of_its_span(tmp_path: Path, given: Any) -> None:
    trace = [{"name": "invocation", "start_time": 1, "end_time": 2}, {"name": "call_llm", "start_time": given}]
    cases, problems = read(tmp_path, "jsonl", session_trace=trace)
    assert (cases, problems) == ([], [("bad-span", 1, "session_trace[1]")])


@pytest.mark.parametrize("attributes", ["oops", [], [{"key": "a"}], 5, '"{}"', "[]"])
def test_attributes_that_are_no_object_are_a_problem_of_their_span(tmp_path: Path, attributes: Any) -> None:
    cases, problems = read(tmp_path, "jsonl", session_trace=[{"name": "x", "attributes": attributes}])
    assert (cases, problems) == ([], [("bad-span", 1, "session_trace[0]")])


@pytest.mark.parametrize("span", [None, "x", 5, [], {}, {"name": None}, {"name": 5}])
def test_a_span_without_a_name_is_a_problem(tmp_path: Path, span: Any) -> None:
    _, problems = read(tmp_path, "jsonl", session_trace=[span])
    assert problems == [("bad-span", 1, "session_trace[0]")]


@pytest.mark.parametrize(
    ("content", "answers"),
    [
        (HEADER + b'q1,"[""a""]",b\n', ["b"]),
        (HEADER.replace(b"\n", b"\r\n") + b'q1,"[""a""]",b\r\n\r\nq2,"[""a""]","x\r\ny"\r\n', ["b", "x\r\ny"]),
        (b"\xef\xbb\xbf" + HEADER + b'q1,"[""a""]",b\n', ["b"]),
        (HEADER + b'q1,"[""a""]","line one\nline two, with ""quotes"""\n', ['line one\nline two, with "quotes"']),
        (HEADER + b',,\nq1,"[""a""]",b\n,,\n', ["b"]),
        (HEADER + b'q1,"[""a""]",b', ["b"]),
        (HEADER + b'q1,"[""a""]"," b "\n', [" b "]),
        (HEADER + b'q1,"[""a""]",null\nq2,"[""a""]",nan\nq3,"[""a""]",None\n', ["null", "nan", "None"]),
        (HEADER + b'q1,"[""a""]","{""not"": ""read""}"\n', ['{"not": "read"}']),
        (HEADER + b'q1,"[""a""]","[1, 2]"\nq2,"[""a""]","""said"""\n', ["[1, 2]", '"said"']),
        (HEADER + 'q1,"[""a""]",\u200fשלום 🧪\n'.encode(), ["\u200fשלום 🧪"]),
        (HEADER + b'q1,"[""a""]",=cmd()\n', ["=cmd()"]),
        (HEADER + b'q1,"[""a""]",007\n', ["007"]),
    ],
    ids=[
        *("plain", "windows", "mark", "quoted newline", "empty rows", "no last newline", "spaces"),
        *(
            "words for nothing are words",
            "JSON is a text here",
            "a list and a quotation too",
            "unicode",
            "formula",
            "digits",
        ),
    ],
)
def test_the_answer_is_the_text_of_its_cell(tmp_path: Path, content: bytes, answers: list[str]) -> None:
    cases, problems = read_bytes(tmp_path, content)
    assert problems == []
    assert [case.recorded.answer for case in cases if isinstance(case.recorded, Transcript)] == answers


@pytest.mark.parametrize(
    ("content", "problems"),
    [
        (HEADER + b'q1,"[""a""]",b,\n', [("wrong-columns", 2, "")]),
        (HEADER + b'q1,"[""a""]"\n', [("wrong-columns", 2, "")]),
        (HEADER + b'q1,["a","c"],b\n', [("csv-syntax", 2, "")]),
        (HEADER + b'q1,"[""a""]","b\n', [("csv-syntax", 2, "")]),
        (HEADER + b'q1,"[\\"a\\"]",b\n', [("csv-syntax", 2, "")]),
        (HEADER.replace(b",", b"\t") + b'q1\t["a"]\tb\n', [("csv-delimiter", 1, "")]),
        (HEADER.replace(b",", b";") + b'q1;["a"];b\n', [("csv-delimiter", 1, "")]),
        (HEADER.replace(b",", b"|") + b'q1|["a"]|b\n', [("csv-delimiter", 1, "")]),
        (b"question_id,user_inputs,user_inputs\nq1,a,b\n", [("duplicate-column", 1, "user_inputs")]),
        (b"a,a,b,b\n1,2,3,4\n", [("duplicate-column", 1, "a"), ("duplicate-column", 1, "b")]),
        (HEADER + 'q1,"[""a""]",Grüße\n'.encode("latin-1"), [("encoding", 2, "")]),
        (HEADER.decode().encode("utf-16"), [("encoding", 1, "")]),
        (HEADER + b'q1,"[""a""]","x\ny"\nq2,[,b\n', [("json-syntax", 4, "user_inputs")]),
    ],
    ids=[
        *("extra comma", "cell missing", "unquoted JSON", "open quote", "backslashes", "tabs", "semicolons", "bars"),
        *("column twice", "two columns twice", "latin-1", "utf-16", "lines counted over quoted newlines"),
    ],
)
def test_a_broken_table_is_a_problem_at_its_line(
    tmp_path: Path, content: bytes, problems: list[tuple[str, int, str]]
) -> None:
    _, found = read_bytes(tmp_path, content)
    assert found == problems


@pytest.mark.parametrize("extra", [b"", b"Unnamed: 0", b" final_answer"], ids=["index", "pandas", "spaced"])
def test_a_column_that_nobody_knows_is_kept_and_told_once(tmp_path: Path, extra: bytes) -> None:
    cases, problems = read_bytes(tmp_path, extra + b"," + HEADER + b'0,q1,"[""a""]",b\n1,q2,"[""c""]",d\n')
    assert [case.metadata[extra.decode()] for case in cases] == ["0", "1"]
    assert [(code, line) for code, line, _ in problems] == [("unknown-field", 2)]


def test_a_cell_of_ten_megabytes_is_read(tmp_path: Path) -> None:
    (case,), problems = read_bytes(tmp_path, HEADER + b'q1,"[""a""]",' + b"x" * 10_000_000 + b"\n")
    assert problems == []
    assert isinstance(case.recorded, Transcript)
    assert len(case.recorded.answer) == 10_000_000


def test_ids_that_look_like_numbers_are_texts_and_missing_ones_are_made(tmp_path: Path) -> None:
    rows = b'007,"[""a""]",b\n7,"[""a""]",b\n7.0,"[""a""]",b\n,"[""a""]",b\n,"[""a""]",c\n'
    cases, problems = read_bytes(tmp_path, HEADER + rows)
    assert problems == []
    assert [case.id for case in cases[:3]] == ["007", "7", "7.0"]
    assert cases[4].id == f"{cases[3].id}#2"
    assert cases[3].id.startswith("sim-")


def test_a_row_with_nothing_recorded_is_a_question_still_to_be_asked(tmp_path: Path) -> None:
    (case,), problems = read_bytes(tmp_path, HEADER + b'q1,"[""a""]",\n')
    assert (case.recorded, problems) == (None, [])


def test_an_answer_in_json_survives_being_written(tmp_path: Path) -> None:
    cases, _ = read_bytes(tmp_path, HEADER + b'q1,"[""a""]","{""plan"": [1, 2]}"\n')
    DIALECT.write(cases, tmp_path / "b.csv")
    again, problems = found_in(tmp_path / "b.csv")
    assert (again, problems) == (cases, [])
    assert b"howsure_case" not in (tmp_path / "b.csv").read_bytes()


def test_an_object_id_of_a_line_is_its_text(tmp_path: Path) -> None:
    cases, problems = read(tmp_path, "jsonl", question_id=7)
    assert [case.id for case in cases] == ["7"]
    assert problems == []


@pytest.mark.parametrize("value", [5, True, ["a"], {"text": "a"}])
def test_an_answer_that_is_no_text_is_a_problem(tmp_path: Path, value: Any) -> None:
    cases, problems = read(tmp_path, "jsonl", final_response=value)
    assert (cases, problems) == ([], [("wrong-type", 1, "final_response")])


def test_a_row_with_nothing_but_turns_and_state_keeps_both(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'user_inputs,session_state\n"[""Hello""]","{""order_id"": ""42"", ""verified"": true}"\n')
    (case,), problems = found_in(path)
    assert problems == []
    assert case.input == Script(turns=("Hello",))
    assert isinstance(case.recorded, BrokenRecording)
    assert case.metadata["session_state"] == STATE


@pytest.mark.parametrize("name", ["a.csv", "A.CSV", "a.jsonl"])
def test_a_file_is_known_in_any_case_of_its_ending(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(HEADER if name.lower().endswith("csv") else b'{"user_inputs": ["a"], "final_response": "b"}\n')
    assert detect(path, [DIALECT]) is DIALECT


def test_an_empty_table_is_a_problem(tmp_path: Path) -> None:
    for content in (b"", HEADER, HEADER + b"\n\n", HEADER + b",,\n"):
        (tmp_path / "a.csv").write_bytes(content)
        report = validate(tmp_path / "a.csv", DIALECT)
        assert [problem.code for problem in report.problems] == ["empty-file"]
        assert all(problem.level is Level.ERROR for problem in report.problems)
