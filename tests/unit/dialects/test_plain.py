"""Plain tables, as people write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import polars
import pytest

from howsure.dialects.datasets import FileReport, detect, read_cases, validate
from howsure.dialects.plain import PlainDialect
from howsure.dialects.plain_columns import TableOptions
from howsure.dialects.tables import is_cut_by_lines
from howsure.errors import ConfigInvalid, DatasetInvalid, InputError
from howsure.kit.plugins import builtin_kit
from howsure.model.case import Case, Script, SingleTurn, opening
from howsure.model.expectation import (
    AnswerMatch,
    CorrectChoice,
    Criteria,
    ExactText,
    Expectation,
    IncludedText,
    NumericAnswer,
    ReferenceAnswer,
    TextPattern,
    ToolCalls,
    WeightedCriteria,
)
from howsure.model.transcript import BrokenRecording, Transcript
from howsure.policies.verdicts import builtin_profiles

KIT = builtin_kit(builtin_profiles())


def written(folder: Path, text: str | bytes, name: str = "my.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def lines(*rows: dict[str, Any]) -> str:
    return "".join(msgspec.json.encode(row).decode() + "\n" for row in rows)


def read(path: Path, **options: Any) -> list[Case]:
    dialect = detect(path, KIT.with_tables(TableOptions(**options)).dialects, KIT.importers)
    assert dialect.name == "plain"
    return list(read_cases(path, dialect))


def report(path: Path, **options: Any) -> FileReport:
    return validate(path, PlainDialect(TableOptions(**options)))


def row(folder: Path, **fields: Any) -> Case:
    (case,) = read(written(folder, lines(fields), "my.jsonl"))
    return case


PEOPLE = {
    "with commas": "question,answer\nWhat is 2+2?,4\nCapital of France?,Paris\n",
    "with semicolons, from Excel": "\ufeffQuestion;Answer\r\nWhat is 2+2?;4\r\nCapital of France?;Paris\r\n",
    "with its separator line": "sep=;\r\nQuestion;Answer\r\nWhat is 2+2?;4\r\nCapital of France?;Paris\r\n",
    "with pipes": "Query|Ground Truth\nWhat is 2+2?|4\nCapital of France?|Paris\n",
    "with quotes": '"query","reference"\n"What is 2+2?","4"\n"Capital of France?","Paris"\n',
    "with columns of their own": "nr,prompt,Expected-Output,by\n1,What is 2+2?,4,Ann\n2,Capital of France?,Paris,Bob\n",
    "with empty columns and lines": "question,answer,,\nWhat is 2+2?,4,,\n,,,\nCapital of France?,Paris,,\n",
    "without a last line end": "QUESTION,ANSWER\nWhat is 2+2?,4\nCapital of France?,Paris",
    "as LangSmith does": "inputs.question,outputs.answer\nWhat is 2+2?,4\nCapital of France?,Paris\n",
}


@pytest.mark.parametrize("text", PEOPLE.values(), ids=PEOPLE)
def test_a_table_is_read_as_its_author_wrote_it(text: str, tmp_path: Path) -> None:
    cases = read(written(tmp_path, text))
    assert [opening(case.input) for case in cases] == ["What is 2+2?", "Capital of France?"]
    assert [case.expectations for case in cases] == [
        (ReferenceAnswer(answers=("4",)),),
        (ReferenceAnswer(answers=("Paris",)),),
    ]
    assert len({case.id for case in cases}) == 2


@pytest.mark.parametrize("head", ["User Query,Golden Answer,Bot Response", "utterance,ideal_response,LLM-Output"])
def test_the_columns_of_people_who_tried_a_bot_are_a_recording(head: str, tmp_path: Path) -> None:
    (case,) = read(written(tmp_path, f"{head}\nWhat is 2+2?,4,It is 4.\n"))
    assert (opening(case.input), case.expectations) == ("What is 2+2?", (ReferenceAnswer(answers=("4",)),))
    assert isinstance(case.recorded, Transcript)
    assert case.recorded.answer == "It is 4."


ROWS: list[dict[str, Any]] = [
    {"question": "What is 2+2?", "answer": 4},
    {"question": "Capital of France?", "answer": "Paris"},
]


@pytest.mark.parametrize("name", ["my.tsv", "my.jsonl", "my.json", "my.parquet"])
def test_every_kind_of_file_gives_the_same_cases(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if name == "my.parquet":
        polars.DataFrame([{**each, "answer": str(each["answer"])} for each in ROWS]).write_parquet(path)
    else:
        text = {"my.tsv": "question\tanswer\nWhat is 2+2?\t4\nCapital of France?\tParis\n", "my.jsonl": lines(*ROWS)}
        path.write_text(text.get(name) or msgspec.json.encode(ROWS).decode())
    (csv,) = [read(written(tmp_path, PEOPLE["with commas"]))]
    assert read(path) == csv


def test_cells_hold_line_breaks_quotes_and_nothing(tmp_path: Path) -> None:
    cases = read(written(tmp_path, 'question,answer,topic\n"Say ""hi"",\nplease",,\n"ok?",yes,small talk\n'))
    assert opening(cases[0].input) == 'Say "hi",\nplease'
    assert (cases[0].expectations, cases[0].metadata) == ((), {})
    assert cases[1].metadata == {"topic": "small talk"}


def test_columns_are_said(tmp_path: Path) -> None:
    found = report(written(tmp_path, "Question,ANSWER,id,topic,score\nWhy?,So.,q1,x,0.5\n"))
    assert found.columns == "Question → input, ANSWER → expected, id → id; labels: topic; kept as metadata: score"


@pytest.mark.parametrize(
    ("cell", "label"),
    [
        ("law", "law"),
        (" law ", "law"),
        (2, "2"),
        ("2", "2"),
        (True, "true"),
        ("x" * 64, "x" * 64),
        ("v1.2", "v1.2"),
        ("x" * 65, None),
        ("two\nlines", None),
        ("0.25", None),
        ("1,5", None),
        (0.25, None),
        ("", None),
        (["law"], None),
    ],
)
def test_a_short_cell_is_a_label(tmp_path: Path, cell: Any, label: str | None) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(msgspec.json.encode({"question": "Why?", "Topic": cell, "metadata": {"area": cell}}))
    (case,) = read(path)
    assert case.labels == ({"Topic": label, "area": label} if label else {})
    assert case.metadata == {"Topic": cell, "area": cell}


def test_ids_are_of_the_file_or_hashes_of_what_is_asked(tmp_path: Path) -> None:
    named = read(written(tmp_path, "id,question\n7,Why?\n,Why?\n"))
    assert (len(named), named[0].id) == (2, "7")
    first = read(written(tmp_path, "question,response\nWhy?,a\nHow?,b\nWhy?,c\n"))
    again = read(written(tmp_path, "question,response\nHow?,other\nWhy?,a\n"))
    assert first[2].id == f"{first[0].id}-2"
    assert [case.id for case in again] == [first[1].id, first[0].id]


def test_a_column_of_answers_is_a_recording_and_an_empty_cell_a_broken_one(tmp_path: Path) -> None:
    for column in ("response", "output", "Actual Output", "completion", "model_answer", "prediction"):
        cases = read(written(tmp_path, f"question,expected,{column}\nWhy?,So.,Because.\nHow?,So.,\n"))
        assert cases[0].recorded == Transcript(answer="Because.")
        assert isinstance(cases[1].recorded, BrokenRecording)
        assert column in cases[1].recorded.reason
    assert row(tmp_path, question="Why?", response="").recorded == Transcript(answer="")


@pytest.mark.parametrize(
    ("match", "expected"),
    [
        (None, ReferenceAnswer(answers=("1,234",))),
        (AnswerMatch.EXACT, ExactText(values=("1,234",))),
        (AnswerMatch.INCLUDES, IncludedText(values=("1,234",), ignore_case=True)),
        (AnswerMatch.REGEX, TextPattern(patterns=("1,234",))),
        (AnswerMatch.NUMERIC, NumericAnswer(values=(1234.0,))),
    ],
)
def test_a_match_says_how_expected_answers_are_compared(
    match: AnswerMatch | None, expected: Expectation, tmp_path: Path
) -> None:
    (case,) = read(written(tmp_path, 'question,answer\nHow many?,"1,234"\n'), match=match)
    assert case.expectations == (expected,)


def test_fields_become_what_they_say(tmp_path: Path) -> None:
    case = row(
        tmp_path,
        question="Which?",
        options={"A": "Mars", "B": "Moon"},
        answer="mars",
        success_criteria="- It is short.\n- It is kind.",
        context=["One.", "Two."],
        tags="space; easy",
        tools=[{"type": "function", "function": {"name": "look", "parameters": {}}}],
        expected_tools=["look"],
        metadata={"by": "Ann"},
        retrieved_contexts=["Mars is red."],
    )
    choice, criteria, calls = case.expectations
    assert isinstance(choice, CorrectChoice) and choice.correct == ("A",)
    assert isinstance(criteria, Criteria)
    assert [each.text for each in criteria.criteria] == ["It is short.", "It is kind."]
    assert isinstance(calls, ToolCalls) and [call.name for call in calls.expected] == ["look"]
    assert case.input == SingleTurn(message="Which?", context="One.\n\nTwo.")
    assert case.tools is not None and [tool.name for tool in case.tools] == ["look"]
    assert (case.tags, case.metadata) == (("space", "easy"), {"by": "Ann", "retrieved_contexts": ["Mars is red."]})
    weighted = row(tmp_path, prompt="Rain?", rubric=[{"criterion": "It is wet.", "points": 2}]).expectations[0]
    assert isinstance(weighted, WeightedCriteria) and weighted.criteria[0].weight == 2.0


def test_conversations_are_inputs_with_their_history_and_their_answer(tmp_path: Path) -> None:
    said = [("system", "Be kind."), ("user", "Hi"), ("assistant", "Hello."), ("user", "Why?"), ("assistant", "So.")]
    case = row(tmp_path, messages=[{"role": role, "content": text} for role, text in said])
    assert isinstance(case.input, SingleTurn) and case.input.message == "Why?"
    assert [message.content for message in case.input.history] == ["Be kind.", "Hi", "Hello."]
    assert isinstance(case.recorded, Transcript) and case.recorded.answer == "So."
    assert row(tmp_path, input=["Hi", "Why?"]).input == Script(turns=("Hi", "Why?"))


PROBLEMS: dict[str, tuple[str | bytes, dict[str, Any], str, int | None, str]] = {
    "two inputs": ("question,prompt\na,b\n", {}, "ambiguous-column", 1, "--map input=question or --map input=prompt"),
    "two answers": (
        "query,answer,ground_truth\na,b,c\n",
        {},
        "ambiguous-column",
        1,
        "--map expected=ground_truth --map r",
    ),
    "no such column": (
        "question\na\n",
        {"map": {"expected": "anser"}},
        "missing-field",
        1,
        "the columns are `question`",
    ),
    "no input": ("topic,answer\na,b\n", {}, "no-input-column", 1, "--map input=topic"),
    "twice": ("question,answer,answer\na,b,c\n", {}, "duplicate-column", 1, "rename one"),
    "same id": ("id,question\n1,a\n1,b\n", {}, "duplicate-id", 3, "unique"),
    "blank": ("question,answer\na,b\n ,c\n", {}, "empty", 3, ""),
    "unquoted": ("question,answer\nhello, you,b\n", {}, "wrong-columns", 2, "double quotes"),
    "open quote": ('question,answer\n"a,b\n', {}, "csv-syntax", 2, "quotes"),
    "Latin-1": ("question,answer\na,b\nGrüße?,c\n".encode("latin-1"), {}, "encoding", 3, "iconv -f WINDOWS-1252"),
    "UTF-16": ("question,answer\na,b\n".encode("utf-16"), {}, "encoding", 1, "iconv -f UTF-16"),
    "a pattern": ("question,answer\na,(\n", {"match": AnswerMatch.REGEX}, "bad-pattern", 2, ""),
    "a number": ("question,answer\na,4\nb,four\n", {"match": AnswerMatch.NUMERIC}, "not-a-number", 3, ""),
    "a choice": ("question,choices,answer\na,x|y,z\n", {}, "unknown-choice", 2, ""),
}


@pytest.mark.parametrize(("text", "options", "code", "line", "hint"), PROBLEMS.values(), ids=PROBLEMS)
def test_a_problem_says_where_and_what_to_type(
    text: str | bytes, options: dict[str, Any], code: str, line: int | None, hint: str, tmp_path: Path
) -> None:
    (problem,) = report(written(tmp_path, text), **options).problems
    assert (problem.code, problem.line) == (code, line)
    assert hint in problem.hint


def test_every_problem_is_told_at_once(tmp_path: Path) -> None:
    found = report(written(tmp_path, "id,question\n1,a\n2,\n1,b\n3,c,d\n"))
    assert [(each.line, each.code) for each in found.problems] == [
        (3, "empty"),
        (4, "duplicate-id"),
        (5, "wrong-columns"),
    ]


def test_a_map_names_columns_and_takes_roles_away(tmp_path: Path) -> None:
    path = written(tmp_path, "customer,note,output\nAnn asks why,so,text\n")
    (case,) = read(path, map={"input": "Customer", "expected": "note", "response": ""})
    assert (opening(case.input), case.recorded, case.metadata) == ("Ann asks why", None, {"output": "text"})
    with pytest.raises(ConfigInvalid, match=r"'inptu' is not one of input, expected.*did you mean `input`"):
        KIT.with_tables(TableOptions(map={"inptu": "x"}))


OURS = {
    "legal": '{"schema_version": "legal_eval_v1", "id": "q", "task_type": "mcq", "prompt": "x", "choices": []}\n',
    "explain": '{"case_id": "c", "question": "x", "required_evals": ["Nope"], "threshold_profile": "none"}\n',
    "golden": '{"golden_questions": [{"question": "x", "answer": 3}]}',
    "test-set": '{"items": [{"question": "x"}]}',
}


@pytest.mark.parametrize("name", OURS)
def test_a_broken_file_of_another_dialect_keeps_its_own_problems(name: str, tmp_path: Path) -> None:
    ending = ".jsonl" if OURS[name].endswith("\n") else ".json"
    path = written(tmp_path, OURS[name], f"data{ending}")
    dialect = detect(path, KIT.dialects, KIT.importers)
    assert dialect.name == name
    with pytest.raises(DatasetInvalid):
        list(read_cases(path, dialect))


UNKNOWN = {
    "x.csv": (b"topic,text\na,b\n", "the columns are `topic`, `text`; name it with --map input=text"),
    "x.xlsx": (b"PK\x03\x04rest", "save the sheet of an Excel workbook as CSV UTF-8"),
    "y.csv": (b"What is 2+2?,4\nWhy?,So\n", "the first line looks like data: write the names of the columns above"),
    "x.json": (b'{"post": []}', "it is JSON with the fields `post`; a plain file is a list of objects, or one"),
    "y.json": (b'{"train": [{"question": "a"}]}', "jq .train "),
    "x.yaml": (b"prompts: [a]\n", "it is YAML"),
    "x.txt": (b"Hello\n", "it is text"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_not_recognised_is_told_what_it_looks_like(name: str, tmp_path: Path) -> None:
    content, sentence = UNKNOWN[name]
    with pytest.raises(InputError) as refused:
        detect(written(tmp_path, content, name), KIT.dialects, KIT.importers)
    assert sentence in str(refused.value)


def test_what_is_written_as_csv_is_read_back(tmp_path: Path) -> None:
    cases = [case for case in read(Path("tests/data/plain/questions.jsonl")) if case.id != "sum"]
    PlainDialect().write(cases, tmp_path / "copy.csv")
    assert read(tmp_path / "copy.csv") == cases


def test_only_tables_whose_records_are_plain_to_see_are_divided(tmp_path: Path) -> None:
    tables = {"a.csv": "question,answer\n", "b.csv": "question;answer\n", "c.csv": "sep=,\nquestion,answer\n"}
    paths = [written(tmp_path, text + "x,y\n", name) for name, text in tables.items()]
    rows = {"d.jsonl": '{"question": "x"}\n', "e.json": "[]", "f.parquet": "PAR1", "g.jsonl": '[{"question": "x"}]'}
    paths += [written(tmp_path, text, name) for name, text in rows.items()]
    assert [path.name for path in paths if is_cut_by_lines(path)] == ["a.csv", "d.jsonl"]


SHAPES = {
    "a.json": '{"version": 1, "data": [{"question": "2+2?", "answer": "4"}]}',
    "b.json": '{"question": ["2+2?"], "answer": ["4"], "topic": ["sums"]}',
    "c.json": '{"question": {"0": "2+2?"}, "answer": {"0": "4"}}',
    "d.json": '{"columns": ["question", "answer"], "index": [0], "data": [["2+2?", "4"]]}',
    "e.json": '{"question": "2+2?", "answer": "4"}\n{"question": "Why?", "answer": "So"}\n',
    "f.jsonl": '[{"question": "2+2?", "answer": "4"}]',
    "g.csv": "Test Question,Golden Answer\n2+2?,4\n",
    "h.csv": "problem,solution\n2+2?,4\n",
    "i.csv": "text,label\n2+2?,4\n",
    "j.jsonl": '{"inputs": "2+2?", "expectations": {"expected_response": "4"}}\n',
    "k.jsonl": '{"conversations": [{"from": "human", "value": "2+2?"}], "answer": "4"}\n',
}
"""What people bring besides one list of objects with the usual names."""


@pytest.mark.parametrize("name", SHAPES)
def test_tables_in_other_shapes_and_with_other_names_are_read(name: str, tmp_path: Path) -> None:
    first = read(written(tmp_path, SHAPES[name], name))[0]
    assert (opening(first.input), first.expectations) == ("2+2?", (ReferenceAnswer(answers=("4",)),))


def test_a_label_beside_a_question_is_a_label(tmp_path: Path) -> None:
    (case,) = read(written(tmp_path, "question,label\n2+2?,sums\n"))
    assert (case.expectations, case.labels) == ((), {"label": "sums"})


def test_choices_may_stand_in_columns_of_their_own(tmp_path: Path) -> None:
    table = "question,option_a,option_b,option_c,correct_option\nWhich is red?,sky,rose,grass,b\n"
    (case,) = read(written(tmp_path, table))
    assert isinstance(expected := case.expectations[0], CorrectChoice)
    assert ([each.text for each in expected.choices], expected.correct) == (["sky", "rose", "grass"], ("B",))


def test_choices_in_columns_without_a_column_that_says_which_is_right(tmp_path: Path) -> None:
    (problem,) = validate(
        written(tmp_path, "question,option_a,option_b\nWhich is red?,sky,rose\n"), PlainDialect()
    ).problems
    assert (problem.line, problem.message) == (2, "no column says which choice of option_a, option_b is right")
    (empty,) = validate(written(tmp_path, "question,A,B,answer\nWhich is red?,sky,rose,\n"), PlainDialect()).problems
    assert (empty.field, empty.code) == ("answer", "unknown-choice")


def test_beside_passages_and_the_truth_an_answer_is_what_was_said(tmp_path: Path) -> None:
    (case,) = read(written(tmp_path, "question,answer,contexts,ground_truth\n2+2?,five,\"['sums']\",4\n"))
    assert isinstance(case.recorded, Transcript)
    assert (case.recorded.answer, case.expectations) == ("five", (ReferenceAnswer(answers=("4",)),))


def test_what_stands_beside_the_rows_and_what_is_no_text_is_named(tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": "x.png"}}]
    content = msgspec.json.encode({"by": "Ann", "rows": [{"messages": [{"role": "user", "content": parts}]}]})
    report = validate(written(tmp_path, content, "x.json"), PlainDialect())
    assert [each.message for each in report.warnings] == [
        "beside `rows`, not used: by", "1 × `image_url` in a message: only texts are asked here",
    ]  # fmt: skip


REFUSED = {
    "instruction,input,output\nSum up,1+1,2\n": "`instruction` and `input` could each be the input",
    "question,answer\r2+2?,4\r": "its lines end in carriage returns alone",
    "question,gold,solution\n2+2?,4,four\n": "`gold` and `solution` could each be the expected",
}


@pytest.mark.parametrize("text", REFUSED)
def test_where_two_columns_would_do_or_lines_do_not_end_one_reason_is_given(text: str, tmp_path: Path) -> None:
    problems = validate(written(tmp_path, text), PlainDialect()).problems
    assert [each.message for each in problems] == [REFUSED[text]]
