"""The `legal` dialect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from dialect_rows import Row, mcq, reference_qa, rubric_qa, write_rows
from howsure.dialects.datasets import read_cases, validate
from howsure.dialects.legal import LegalDialect, LegalLine, row_of, sure_lines
from howsure.dialects.legal_rows import SCHEMA, valid_row
from howsure.dialects.problems import SchemaChecker, Spot
from howsure.errors import DatasetInvalid, Level, Problem
from howsure.judges.dataset_policies import POLICIES
from howsure.model.case import Attachment, Case, Script, SingleTurn, World
from howsure.model.dataset_policy import DatasetPolicy
from howsure.model.expectation import (
    Choice,
    CorrectChoice,
    Criterion,
    Expectation,
    Goal,
    ReferenceAnswer,
    WeightedCriteria,
)
from howsure.model.transcript import Message, Role, ToolCall, Transcript
from json_strategies import case_ids, filled, objects, texts

DIALECT = LegalDialect()
CHECKER = SchemaChecker(SCHEMA)


def read(path: Path, *rows: Row | bytes) -> list[Case]:
    return list(read_cases(write_rows(path / "d.jsonl", rows), DIALECT))


def warnings(path: Path, *rows: Row) -> list[tuple[str, str]]:
    report = validate(write_rows(path / "d.jsonl", rows), DIALECT)
    assert report.valid
    return [(warning.code, warning.field) for warning in report.warnings]


def written(path: Path, cases: list[Case]) -> list[Row]:
    DIALECT.write(cases, path / "out.jsonl")
    return [json.loads(line) for line in (path / "out.jsonl").read_text(encoding="utf-8").splitlines()]


def test_a_multiple_choice_row_becomes_a_case(tmp_path: Path) -> None:
    row = mcq("x:1", metadata={"policy_id": "lexam_mcq_v1", "year": 2020}, context="The facts.")
    assert read(tmp_path, row) == [
        Case(
            id="x:1",
            input=SingleTurn(message="Is it?", context="The facts."),
            expectations=(
                CorrectChoice(choices=(Choice(id="A", text="yes"), Choice(id="B", text="no")), correct=("A",)),
            ),
            world=World.LEGAL,
            labels={"dataset": "d", "task_type": "mcq", "policy_id": "lexam_mcq_v1"},
            metadata={"policy_id": "lexam_mcq_v1", "year": 2020},
        )
    ]


def test_a_reference_row_becomes_a_case(tmp_path: Path) -> None:
    (case,) = read(tmp_path, reference_qa(reference_answers=["Because.", "Why not?"]))
    assert case.expectations == (ReferenceAnswer(answers=("Because.", "Why not?")),)
    assert case.labels == {"dataset": "d", "task_type": "reference_qa"}


def test_a_rubric_is_judged_by_its_titles_and_keeps_weights_descriptions_and_references(tmp_path: Path) -> None:
    rubric = [{"id": "a", "title": "Cites", "description": "why", "weight": -5}, {"id": "b", "title": "Is short"}]
    (case,) = read(tmp_path, rubric_qa(rubric=rubric, reference_answers=["A good one."]))
    expected = WeightedCriteria(
        criteria=(
            Criterion(id="a", text="Cites", description="why", weight=-5.0),
            Criterion(id="b", text="Is short", weight=None),
        ),
        references=("A good one.",),
    )
    assert case.expectations == (expected,)


def test_messages_and_attachments_are_part_of_the_input(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a b.pdf").touch()
    row = mcq(
        messages=[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Is it?"}],
        attachments=[{"path": "docs/a b.pdf", "kind": "pdf", "title": "Lease"}],
    )
    (case,) = read(tmp_path, row)
    assert case.input == SingleTurn(
        message="Is it?",
        history=(Message(role=Role.SYSTEM, content="Be brief."), Message(role=Role.USER, content="Is it?")),
        attachments=(Attachment(path="docs/a b.pdf", kind="pdf", title="Lease"),),
    )


@pytest.mark.parametrize(
    ("policy", "code", "hint"),
    [
        (3, "wrong-type", "the policy: how models are asked and judged"),
        (None, "wrong-type", "the policy: how models are asked and judged"),
        (["prbench_v1"], "wrong-type", "the policy: how models are asked and judged"),
        ("prbench_v2", "unknown-policy", "did you mean `prbench_v1`?"),
        ("PRBench_v1", "unknown-policy", "did you mean `prbench_v1`?"),
        ("", "unknown-policy", "leave it out for the default, or write it under `policies:` in howsure.yaml"),
    ],
)
def test_a_policy_that_nobody_knows_is_a_problem(tmp_path: Path, policy: Any, code: str, hint: str) -> None:
    rows = [mcq("a"), mcq("b", metadata={"policy_id": policy, "year": 2020})]
    report = validate(write_rows(tmp_path / "d.jsonl", rows), DIALECT)
    (problem,) = report.problems
    assert (problem.line, problem.field, problem.code, problem.hint) == (2, "metadata.policy_id", code, hint)
    if code == "unknown-policy":
        assert problem.expected.startswith("default_v1, prbench_v1, ")


def test_policies_of_the_settings_are_known(tmp_path: Path) -> None:
    dialect = LegalDialect({**POLICIES, "house_v1": DatasetPolicy()})
    path = write_rows(tmp_path / "d.jsonl", [mcq("a", metadata={"policy_id": "house_v1"})])
    assert validate(path, dialect).valid
    assert not validate(path, DIALECT).valid
    (case,) = read_cases(path, dialect, validate(path, dialect))
    assert case.labels["policy_id"] == "house_v1"
    dialect.write([case], tmp_path / "again.jsonl")
    with pytest.raises(DatasetInvalid) as raised:
        DIALECT.write([case], tmp_path / "refused.jsonl")
    assert [problem.code for problem in raised.value.problems] == ["unknown-policy"]
    assert not (tmp_path / "refused.jsonl").exists()


@pytest.mark.parametrize(
    "fields",
    [
        {"context": ""},
        {"messages": []},
        {"attachments": []},
        {"metadata": {}},
        {"choices": [{"id": "A", "text": ""}, {"id": "B", "text": ""}]},
        {"metadata": {"unicode": "❄", "deep": [{"a": [{"b": 1}]}], "big": 10**30}},
        {"prompt": 'He said: "yes": {"a": 1}'},
        {"correct_choice_ids": ["B", "A"]},
    ],
    ids=["context", "messages", "attachments", "metadata", "texts", "nested", "looks like a key", "several correct"],
)
def test_what_may_be_empty_or_odd_is_fine(fields: Row, tmp_path: Path) -> None:
    assert warnings(tmp_path, mcq(**fields)) == []


def test_bytes_before_between_and_after_the_rows_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_bytes(
        b"\xef\xbb\xbf\r\n" + json.dumps(mcq("1")).encode() + b"\r\n\r\n  \n" + json.dumps(mcq("2")).encode()
    )
    assert [case.id for case in read_cases(tmp_path / "d.jsonl", DIALECT)] == ["1", "2"]


def test_a_byte_order_mark_before_the_first_row_is_no_part_of_it(tmp_path: Path) -> None:
    assert [case.id for case in read(tmp_path, b"\xef\xbb\xbf" + json.dumps(mcq("1")).encode(), mcq("2"))] == ["1", "2"]


def test_a_line_of_ten_megabytes_is_read(tmp_path: Path) -> None:
    (case,) = read(tmp_path, mcq(prompt="x" * 10_000_000))
    assert isinstance(case.input, SingleTurn)
    assert len(case.input.message) == 10_000_000


def test_an_id_that_stands_twice_names_the_first_line(tmp_path: Path) -> None:
    report = validate(write_rows(tmp_path / "d.jsonl", [mcq("a"), mcq("b"), mcq("a")]), DIALECT)
    (problem,) = report.problems
    assert (problem.line, problem.message) == (3, 'the id "a" stands on line 1 already')


def test_an_id_that_stands_twice_is_found_in_faulty_rows_too(tmp_path: Path) -> None:
    report = validate(write_rows(tmp_path / "d.jsonl", [mcq("a", prompt=""), mcq("a")]), DIALECT)
    assert [(problem.line, problem.code) for problem in report.problems] == [(1, "empty"), (2, "duplicate-id")]


def test_unknown_fields_are_warned_about_kept_and_put_back(tmp_path: Path) -> None:
    choices = [{"id": "A", "text": "yes", "note": "x"}, {"id": "B", "text": "no"}]
    row = mcq(choices=choices, sourse={"page": 3}, metadata={"a": 1})
    assert warnings(tmp_path, row) == [("unknown-field", "sourse"), ("unknown-field", "choices[0].note")]
    (case,) = read(tmp_path, row)
    assert case.metadata == {"a": 1, "unknown_fields": {"/sourse": {"page": 3}, "/choices/0/note": "x"}}
    assert written(tmp_path, [case]) == [row]


def test_a_field_of_the_model_that_is_none_of_the_format_is_not_taken_for_one(tmp_path: Path) -> None:
    row = mcq(messages=[{"role": "user", "content": "x", "agent": "billing"}])
    assert warnings(tmp_path, row) == [("unknown-field", "messages[0].agent")]
    (case,) = read(tmp_path, row)
    assert isinstance(case.input, SingleTurn)
    assert case.input.history == (Message(role=Role.USER, content="x"),)


def test_a_missing_attachment_is_a_warning(tmp_path: Path) -> None:
    assert warnings(tmp_path, mcq(attachments=[{"path": "nowhere.pdf"}])) == [
        ("attachment-missing", "attachments[0].path")
    ]


def test_an_empty_file_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_bytes(b"\n\n")
    assert [problem.code for problem in validate(tmp_path / "d.jsonl", DIALECT).problems] == ["empty-file"]


@pytest.mark.parametrize(
    ("head", "is_legal"),
    [
        (json.dumps(mcq()).encode(), True),
        (b"\xef\xbb\xbf\n" + json.dumps(rubric_qa()).encode(), True),
        (json.dumps(reference_qa(schema_version=...)).encode(), True),
        (json.dumps(mcq(prompt="x" * 99_999)).encode()[:65536], True),
        (b'{"task_type": "mcq", "prompt": 5, "choices": [', True),
        (b'{"case_id": "a-001", "question": "legal_eval_v1?"}', False),
        (b'[{"task_type": "mcq", "prompt": "x", "choices": []}]', False),
        (b"id,task_type,prompt\n", False),
        (b"", False),
    ],
)
def test_detection_goes_by_the_fields(head: bytes, is_legal: bool) -> None:
    assert DIALECT.detect(Path("anything.txt"), head) is is_legal


def test_the_schema_is_the_one_that_is_documented() -> None:
    schema = DIALECT.schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["required"] == ["schema_version", "id", "dataset", "task_type", "prompt"]


CHOICE = CorrectChoice(choices=(Choice(id="A", text="a"), Choice(id="B", text="b")), correct=("A",))


def case(**fields: Any) -> Case:
    return Case(
        **{"id": "1", "input": SingleTurn(message="Q"), "labels": {"dataset": "d"}, "expectations": (CHOICE,), **fields}
    )


@pytest.mark.parametrize(
    ("refused", "field"),
    [
        (case(input=Script(turns=("a", "b"))), "input"),
        (case(expectations=()), "expectations"),
        (case(expectations=(Goal(text="g"),)), "expectations"),
        (case(expectations=(CHOICE, ReferenceAnswer(answers=("x",)))), "expectations"),
        (case(labels={}), "labels.dataset"),
        (case(labels={"dataset": "d", "phase": "x"}), "labels.phase"),
        (case(profile="p"), "profile"),
        (case(tags=("t",)), "tags"),
        (case(recorded=Transcript(answer="x")), "recorded"),
        (
            case(input=SingleTurn(message="Q", history=(Message(role=Role.USER, tool_calls=(ToolCall(name="t"),)),))),
            "input.history",
        ),
        (case(input=SingleTurn(message=" ")), "prompt"),
        (case(metadata={"x": float("nan")}), ""),
        (case(metadata={"x": "\ud800"}), ""),
        (case(expectations=(CorrectChoice(choices=CHOICE.choices, correct=("C",)),)), "correct_choice_ids[0]"),
    ],
)
def test_a_case_that_the_format_cannot_hold_is_refused_and_nothing_is_written(
    refused: Case, field: str, tmp_path: Path
) -> None:
    with pytest.raises(DatasetInvalid) as raised:
        DIALECT.write([case(id="fine"), refused], tmp_path / "out.jsonl")
    assert [problem.field for problem in raised.value.problems] == [field]
    assert list(tmp_path.iterdir()) == []


def test_two_cases_with_one_id_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(DatasetInvalid) as raised:
        DIALECT.write([case(), case()], tmp_path / "out.jsonl")
    assert [problem.code for problem in raised.value.problems] == ["duplicate-id"]


def test_written_rows_hold_no_field_that_was_not_given(tmp_path: Path) -> None:
    rows = [mcq("1"), rubric_qa("2"), reference_qa("3", metadata={"a": None})]
    assert written(tmp_path, read(tmp_path, *rows)) == rows


ids = st.lists(filled, min_size=2, max_size=4, unique=True)
optional: dict[str, st.SearchStrategy[Any]] = {
    "context": texts,
    "messages": st.lists(
        st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "system"]), "content": filled}), max_size=2
    ),
    "metadata": objects.filter(lambda value: "unknown_fields" not in value),
    "attachments": st.lists(
        st.fixed_dictionaries(
            {"path": st.sampled_from(["a.pdf", "b/c.txt"])}, optional={"kind": texts, "title": texts}
        ),
        max_size=2,
    ),
    "x-note": st.integers(),
}
shared = {"schema_version": st.just("legal_eval_v1"), "id": case_ids, "dataset": filled, "prompt": filled}


@st.composite
def legal_rows(draw: st.DrawFn) -> Row:
    row = draw(st.fixed_dictionaries(shared, optional=optional))
    match draw(st.sampled_from(["mcq", "reference_qa", "rubric_qa"])):
        case "mcq":
            names = draw(ids)
            correct = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
            choices = [{"id": name, "text": draw(texts)} for name in names]
            return {**row, "task_type": "mcq", "choices": choices, "correct_choice_ids": correct}
        case "reference_qa":
            return {
                **row,
                "task_type": "reference_qa",
                "reference_answers": draw(st.lists(filled, min_size=1, max_size=2)),
            }
        case _:
            criterion = {"title": filled}
            more = {
                "description": texts,
                "weight": st.floats(allow_nan=False, allow_infinity=False) | st.integers(-9, 9),
            }
            fields = st.fixed_dictionaries(criterion, optional=more)
            rubric = [{"id": name, **draw(fields)} for name in draw(ids)]
            return {
                **row,
                "task_type": "rubric_qa",
                "rubric": rubric,
                "reference_answers": draw(st.lists(filled, max_size=2)),
            }


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(legal_rows(), min_size=1, max_size=3, unique_by=lambda row: row["id"]))
def test_writing_and_reading_back_gives_equal_cases(tmp_path: Path, rows: list[Row]) -> None:
    cases = read(tmp_path, *rows)
    assert len(cases) == len(rows)
    DIALECT.write(cases, tmp_path / "out.jsonl")
    assert list(read_cases(tmp_path / "out.jsonl", DIALECT)) == cases


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(legal_rows(), st.data())
def test_the_fast_and_the_slow_reader_agree(tmp_path: Path, row: Row, data: st.DataObject) -> None:
    """A space before a colon, or a field of a wrong type, must not change what is found."""
    spoilt = data.draw(st.sampled_from([*row, "nothing"]))
    row = {key: 5 if key == spoilt else value for key, value in row.items()}
    plain, odd = (json.dumps(row, separators=(",", colon)).encode() for colon in (":", " : "))
    results = []
    for text in (plain, odd, b"\xef\xbb\xbf" + plain):
        found = list(DIALECT.read(write_rows(tmp_path / "d.jsonl", [text])))
        results.append([each for each in found if not isinstance(each, Problem) or each.level is Level.ERROR])
    assert results[0] == results[1] == results[2]


@given(legal_rows(), st.data())
def test_a_row_that_is_taken_for_valid_fulfils_the_schema(row: Row, data: st.DataObject) -> None:
    """Rows are spoilt at a random place; whatever the typed reader lets pass, the schema must let pass too."""
    field = data.draw(st.sampled_from([*row, "rubric", "choices", "reference_answers"]))
    odd = st.none() | st.booleans() | st.integers() | st.sampled_from(["", " ", "x", [], {}, [""], [{}], [{"id": ""}]])
    row = {**row, field: data.draw(odd)}
    taken = valid_row(row) is not None
    refused = [problem.code for problem in CHECKER.problems(row, Spot("f", 1))]
    assert not (taken and refused)
    assert taken or refused or row["task_type"] != "reference_qa"


@pytest.mark.parametrize(
    "row",
    [
        mcq(attachments=[{"path": " "}]),
        mcq(attachments=[{"path": "a", "kind": None}]),
        mcq(messages=[{"role": "user", "content": " "}]),
        rubric_qa(rubric=[{"id": "c", "title": "t", "weight": None}]),
        rubric_qa(rubric=[{"id": "c", "title": " "}]),
        mcq(rubric=[]),
        reference_qa(choices=None),
    ],
)
def test_what_the_schema_refuses_is_never_taken_for_valid(row: Row, tmp_path: Path) -> None:
    assert valid_row(row) is None
    assert len(validate(write_rows(tmp_path / "d.jsonl", [row]), DIALECT).problems) == 1


CHOICES = CorrectChoice(choices=(Choice(id="A", text=""), Choice(id="B", text="no")), correct=("B",))
RUBRIC = WeightedCriteria(
    criteria=(Criterion(id="c", text="Names it", weight=-2.5), Criterion(id="d", text="Says why", description="w")),
    references=("yes",),
)


def writable_case(expectation: Expectation, id: str = "x", **question: Any) -> Case:
    return Case(
        id=id,
        input=SingleTurn(**{"message": "Q?", **question}),
        expectations=(expectation,),
        world=World.LEGAL,
        labels={"dataset": "d", "task_type": "mcq" if isinstance(expectation, CorrectChoice) else "rubric_qa"},
        metadata={"year": 2020, "more": {"deep": [1, {"a": None}]}},
    )


def lines(*cases: Case) -> list[Any]:
    return list(map(row_of, cases))


def weighing(weight: Any) -> WeightedCriteria:
    return WeightedCriteria(criteria=(Criterion(id="c", text="t", weight=weight),))


def test_plain_rows_are_sure_and_come_back(tmp_path: Path) -> None:
    given = [writable_case(CHOICES, "1", context="c"), writable_case(RUBRIC, "2")]
    assert sure_lines(lines(*given))
    DIALECT.write(given, tmp_path / "x.jsonl")
    assert list(read_cases(tmp_path / "x.jsonl", DIALECT)) == given


def test_unknown_fields_messages_and_documents_are_looked_at_more_closely() -> None:
    odd = structs.replace(writable_case(CHOICES), metadata={"unknown_fields": {"/extra": 1}})
    said = writable_case(CHOICES, history=(Message(role=Role.USER, content="Hi"),))
    filed = writable_case(CHOICES, attachments=(Attachment(path="a.txt"),))
    assert lines(odd)[0]["extra"] == 1
    assert isinstance(lines(said)[0], LegalLine)
    assert [sure_lines(lines(one)) for one in (odd, said, filed)] == [False, False, False]


@pytest.mark.parametrize(
    "wrong",
    [
        writable_case(CHOICES, " "),
        writable_case(CHOICES, message=" "),
        writable_case(CHOICES, message=5),
        writable_case(CHOICES, context=5),
        writable_case(CorrectChoice(choices=CHOICES.choices, correct=("C",))),
        writable_case(CorrectChoice(choices=CHOICES.choices, correct=("B", "B"))),
        writable_case(CorrectChoice(choices=CHOICES.choices[:1], correct=("A",))),
        writable_case(CorrectChoice(choices=(*CHOICES.choices, CHOICES.choices[0]), correct=("B",))),
        writable_case(WeightedCriteria(criteria=())),
        writable_case(WeightedCriteria(criteria=(*RUBRIC.criteria, RUBRIC.criteria[0]))),
        writable_case(WeightedCriteria(criteria=(Criterion(id="c", text=" "),))),
        writable_case(weighing("heavy")),
        writable_case(weighing(True)),
        writable_case(weighing(float("nan"))),
        writable_case(weighing(10**400)),
        writable_case(ReferenceAnswer(answers=())),
        writable_case(ReferenceAnswer(answers=("",))),
    ],
)
def test_what_is_wrong_is_never_sure_and_never_written(wrong: Case, tmp_path: Path) -> None:
    assert not sure_lines(lines(writable_case(CHOICES, "first"), wrong))
    with pytest.raises(DatasetInvalid):
        DIALECT.write([writable_case(CHOICES, "first"), wrong], tmp_path / "x.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_an_id_that_stands_twice_is_found_among_sure_lines(tmp_path: Path) -> None:
    with pytest.raises(DatasetInvalid) as raised:
        DIALECT.write([writable_case(CHOICES, f"{number % 300}") for number in range(301)], tmp_path / "x.jsonl")
    assert [(problem.code, problem.line) for problem in raised.value.problems] == [("duplicate-id", 301)]
