"""Converting: deterministic, whole or not at all, and every field that is lost is named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adk_files import history, result, write_history
from dialect_rows import mcq, reference_qa, rubric_qa, write_rows
from howsure.dialects.datasets import read_cases, validate
from howsure.dialects.importers.base import ImportOptions
from howsure.errors import Conflict, DatasetInvalid, InputError, UnknownName
from howsure.kit.plugins import builtin_kit
from howsure.model.case import Case
from howsure.policies.verdicts import builtin_profiles
from howsure.services.convert.convert import ConversionReport, ConversionRequest, convert, write_catalog

KIT = builtin_kit(builtin_profiles())


def logs(folder: Path, *queries: str, name: str = "logs.json", **more: Any) -> Path:
    path = folder / name
    path.write_text(json.dumps([{"query": query, **more} for query in queries]))
    return path


def converted(paths: Any, to: str, output: Path, **order: Any) -> ConversionReport:
    given = paths if isinstance(paths, tuple) else (paths,)
    return convert(ConversionRequest(paths=tuple(map(str, given)), to=to, output=output, **order), KIT)


def cases(path: Path, dialect: str) -> list[Case]:
    return list(read_cases(path, KIT.dialects[dialect]))


PER_TURN = ImportOptions(per_turn=True)


def test_converting_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    source, one, two = logs(tmp_path, "a", "b"), tmp_path / "1_golden.json", tmp_path / "2_golden.json"
    first = converted(source, "golden", one)
    converted(source, "golden", two)
    assert one.read_bytes() == two.read_bytes()
    assert (first.read, first.written, first.skipped, first.lost, first.changed) == (1, 1, (), (), ())
    assert [(line.path, line.dialect, line.cases) for line in first.sources] == [(str(source), "raw-logs", 1)]


def test_appending_keeps_what_is_there_and_knows_what_it_has(tmp_path: Path) -> None:
    output = tmp_path / "x_golden.json"
    converted(logs(tmp_path, "a", "b"), "golden", output, options=PER_TURN)
    before = cases(output, "golden")
    report = converted(logs(tmp_path, "c", "a"), "golden", output, options=PER_TURN, append=True)
    after = cases(output, "golden")
    assert after[:2] == before
    assert [case.input for case in after][2:] != []
    assert (report.kept, report.read, report.written) == (2, 2, 1)
    assert [(skip.why, skip.cases) for skip in report.skipped] == [("the same case was read before", 1)]


def test_the_same_words_with_another_expectation_get_the_next_number(tmp_path: Path) -> None:
    output = tmp_path / "x_golden.json"
    converted(logs(tmp_path, "a"), "golden", output)
    for _ in range(2):
        converted(logs(tmp_path, "a", reference="r"), "golden", output, append=True)
    ids = [case.id for case in cases(output, "golden")]
    assert ids == [ids[0], f"{ids[0]}-2"]


def test_histories_of_several_runs_are_repeats_of_their_questions(tmp_path: Path) -> None:
    write_history(tmp_path / "shop", history(result(), at=1_600_000_000.0))
    other = result(session_id="s2", user_id="v")
    write_history(tmp_path / "shop", history(other, at=1_700_000_000.0))
    report = converted(tmp_path / "shop", "simulation", tmp_path / "all.jsonl")
    assert [case.id for case in cases(tmp_path / "all.jsonl", "simulation")] == ["refund1", "refund1#2"]
    assert report.written == 2
    latest = converted(tmp_path / "shop", "simulation", tmp_path / "new.csv", options=ImportOptions(runs=("latest",)))
    assert (latest.read, latest.written) == (1, 1)
    since = ImportOptions(since=1_650_000_000.0)
    newer = converted(tmp_path / "shop", "simulation", tmp_path / "since.csv", options=since)
    assert newer.written == 1
    assert [skip.cases for skip in newer.skipped] == [1]


def test_one_problem_in_one_source_and_nothing_is_written(tmp_path: Path) -> None:
    good, bad = logs(tmp_path, "a"), tmp_path / "bad.json"
    bad.write_text('[{"query": "a"},\n{"question": "b"}]')
    output = tmp_path / "out.json"
    output.write_text("old")
    with pytest.raises(DatasetInvalid) as raised:
        converted((good, bad), "golden", output, force=True)
    assert [(problem.file, problem.line, problem.code) for problem in raised.value.problems] == [
        (str(bad), 2, "missing-field")
    ]
    assert output.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.json", "logs.json", "out.json"]


def test_what_the_target_would_refuse_leaves_nothing_behind(tmp_path: Path) -> None:
    turn = {"query": "a", "expected_tool_use": [{"tool_name": "x", "tool_input": {"$nonsense": 1}}]}
    source = tmp_path / "logs.json"
    source.write_text(json.dumps([turn]))
    with pytest.raises(DatasetInvalid) as raised:
        converted(source, "golden", tmp_path / "out.json")
    assert [problem.code for problem in raised.value.problems] == ["bad-matcher"]
    assert [path.name for path in tmp_path.iterdir()] == ["logs.json"]


@pytest.mark.parametrize(
    ("order", "error", "said"),
    [
        (
            {"to": "golden", "output": "logs.json"},
            Conflict,
            "exists already; --force overwrites it, --append adds to it",
        ),
        ({"to": "golden", "output": "x.csv"}, InputError, "files of the format golden end in .json"),
        ({"to": "legal", "output": "x.jsonl", "append": True}, InputError, "only golden files can be appended to"),
        ({"to": "parquet", "output": "x.parquet"}, UnknownName, "unknown target 'parquet'"),
        ({"to": "golden", "output": "nowhere/x.json"}, InputError, "no such folder"),
        ({"to": "golden", "output": "x.json", "source": "nonsense"}, UnknownName, "unknown dialect 'nonsense'"),
        ({"to": "legal", "output": "x.jsonl"}, InputError, "nothing to write: a legal row needs criteria"),
    ],
    ids=["exists", "ending", "append", "target", "folder", "source", "nothing fits"],
)
def test_an_order_that_cannot_be_met_is_refused(
    order: dict[str, Any], error: type[Exception], said: str, tmp_path: Path
) -> None:
    source = logs(tmp_path, "a")
    given = {**order, "output": tmp_path / order["output"]}
    with pytest.raises(error, match=said.replace("(", r"\(")):
        converted(source, given.pop("to"), given.pop("output"), **given)
    assert [path.name for path in tmp_path.iterdir()] == ["logs.json"]


@pytest.mark.parametrize(
    ("content", "code"),
    [(b"", "empty-file"), (b'[{"query": "a"', "json-syntax"), ('[{"query": "ü"}]'.encode("latin-1"), "encoding")],
    ids=["empty", "truncated", "latin-1"],
)
def test_files_that_cannot_be_read_are_named_with_their_place(content: bytes, code: str, tmp_path: Path) -> None:
    source = tmp_path / "logs.json"
    source.write_bytes(content)
    with pytest.raises(DatasetInvalid) as raised:
        converted(source, "golden", tmp_path / "out.json", source="raw-logs" if content else "")
    (problem,) = raised.value.problems
    assert (problem.code, problem.file) == (code, str(source))


def test_a_file_of_no_known_kind_is_not_guessed_at(tmp_path: Path) -> None:
    source = tmp_path / "notes.json"
    source.write_text('{"notes": []}')
    with pytest.raises(InputError, match="not recognised: no format begins with the fields `notes`; name what"):
        converted(source, "golden", tmp_path / "out.json")


def test_every_lost_field_is_counted_with_its_first_case(tmp_path: Path) -> None:
    rubric = [{"id": "k1", "title": "Cites", "weight": 2}, {"id": "k2", "title": "Rambles", "weight": -1}]
    rows = [
        mcq("m"),
        rubric_qa("r", rubric=rubric, context="The Act."),
        reference_qa("a", reference_answers=["x", "y"]),
    ]
    report = converted(write_rows(tmp_path / "in.jsonl", rows), "test-set", tmp_path / "out.json")
    assert [(line.field, line.cases, line.first) for line in report.lost] == [
        ("expectations.criteria.id", 1, "r"),
        ("expectations.criteria.weight", 1, "r"),
        ("expectations.reference_answer", 1, "a"),
    ]
    assert [(line.field, line.cases) for line in report.changed] == [
        ("expectations.correct_choice", 1),
        ("expectations.criteria.weight", 1),
        ("expectations.reference_answer", 1),
        ("input.context", 1),
        ("labels", 3),
    ]
    document = json.loads((tmp_path / "out.json").read_text())["items"]
    assert document[0]["inputs"]["message"] == "Is it?\n\nA. yes\nB. no"
    assert document[0]["expected"]["success_criteria"] == ["The answer chooses exactly: A. yes"]
    assert document[1]["inputs"]["message"] == "The Act.\n\nAdvise."
    assert document[1]["expected"]["success_criteria"] == ["Cites", "The answer must not do this: Rambles"]
    assert document[2]["expected"]["expected_outcome"] == "x"


def test_attachments_go_where_their_file_goes(tmp_path: Path) -> None:
    (tmp_path / "in" / "docs").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    (tmp_path / "in" / "docs" / "act.txt").write_text("The Act")
    source = write_rows(tmp_path / "in" / "a.jsonl", [mcq(attachments=[{"path": "docs/act.txt"}])])
    converted(source, "legal", tmp_path / "out" / "a.jsonl")
    assert (tmp_path / "out" / "docs" / "act.txt").read_text() == "The Act"
    assert validate(tmp_path / "out" / "a.jsonl", KIT.dialects["legal"]).valid


def test_attachments_go_back_where_the_file_does_not_appear(tmp_path: Path) -> None:
    (tmp_path / "in" / "docs").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    (tmp_path / "in" / "docs" / "act.txt").write_text("The Act")
    source = write_rows(tmp_path / "in" / "a.jsonl", [mcq(attachments=[{"path": "docs/act.txt"}]), {"id": "broken"}])
    with pytest.raises(DatasetInvalid):
        converted(source, "legal", tmp_path / "out" / "a.jsonl", source="legal")
    assert list((tmp_path / "out").iterdir()) == []


def test_every_problem_of_every_source_is_named_though_cases_came_before_it(tmp_path: Path) -> None:
    one = write_rows(tmp_path / "1.jsonl", [mcq("a"), {"id": "b"}, mcq("c"), mcq("c")])
    two = write_rows(tmp_path / "2.jsonl", [mcq("d"), mcq("d")])
    with pytest.raises(DatasetInvalid) as raised:
        converted((one, two), "simulation", tmp_path / "out.jsonl")
    found = {(Path(problem.file).name, problem.line) for problem in raised.value.problems}
    assert found == {("1.jsonl", 2), ("1.jsonl", 4), ("2.jsonl", 2)}
    assert not (tmp_path / "out.jsonl").exists()


def test_a_source_that_is_written_to_meanwhile_is_not_converted(tmp_path: Path) -> None:
    class Meddling:
        name = "meddling"

        def detect(self, path: Path, head: bytes) -> bool:
            return path.suffix == ".meddle"

        def read(self, path: Path) -> Iterator[Case]:
            yield from cases(path.with_name("a.jsonl"), "legal")
            path.write_text("something else")

    kit = builtin_kit(builtin_profiles())
    kit.importers.add(Meddling())
    write_rows(tmp_path / "a.jsonl", [mcq("a")])
    (tmp_path / "x.meddle").write_text("once")
    with pytest.raises(Conflict, match="changed while it was being read"):
        convert(ConversionRequest(paths=(str(tmp_path / "x.meddle"),), to="legal", output=tmp_path / "out.jsonl"), kit)
    assert not (tmp_path / "out.jsonl").exists()


def test_a_golden_question_is_a_row_of_columns_alone(tmp_path: Path) -> None:
    turn = {"query": "Where is A1?", "expected_tool_use": [{"tool_name": "look", "tool_input": {"id": "A1"}}]}
    (tmp_path / "logs.json").write_text(json.dumps([turn]))
    converted(
        tmp_path / "logs.json",
        "golden",
        tmp_path / "a_golden.json",
        options=ImportOptions(agent="a", metadata={"topic": "x"}),
    )
    report = converted(tmp_path / "a_golden.json", "simulation", tmp_path / "a.jsonl")
    assert (report.lost, report.changed) == ((), ())
    row = json.loads((tmp_path / "a.jsonl").read_text())
    assert {key: row[key] for key in ("user_inputs", "question_metadata", "agent_name")} == {
        "user_inputs": ["Where is A1?"],
        "question_metadata": {"source_file": "logs.json", "topic": "x"},
        "agent_name": "a",
    }
    assert "howsure_case" not in row
    assert validate(tmp_path / "a.jsonl", KIT.dialects["simulation"]).warnings == ()
    back = converted(tmp_path / "a.jsonl", "golden", tmp_path / "b.json")
    assert (back.lost, back.changed) == ((), ())
    assert cases(tmp_path / "b.json", "golden") == cases(tmp_path / "a_golden.json", "golden")


def test_what_no_column_says_of_a_golden_question_is_kept_with_the_whole_of_it(tmp_path: Path) -> None:
    question = {
        "id": "q",
        "user_inputs": ["Hi"],
        "agents_evaluated": [],
        "reference_data": {},
        "initial_state": {"t": 1},
    }
    (tmp_path / "a_golden.json").write_text(json.dumps({"golden_questions": [question]}))
    converted(tmp_path / "a_golden.json", "simulation", tmp_path / "a.jsonl")
    assert "howsure_case" in (tmp_path / "a.jsonl").read_text()
    converted(tmp_path / "a.jsonl", "golden", tmp_path / "b.json")
    assert cases(tmp_path / "b.json", "golden") == cases(tmp_path / "a_golden.json", "golden")


@pytest.mark.parametrize("ending", [".jsonl", ".csv"])
def test_fields_that_nobody_knows_in_the_inputs_of_a_test_set_survive_a_simulation_file(
    ending: str, tmp_path: Path
) -> None:
    element = {
        "item_id": "a",
        "type": "single_turn",
        "inputs": {"message": "Hi", "mood": {"level": 3}},
        "expected": {"success_criteria": ["Greets back"]},
    }
    source, rows, back = tmp_path / "a.json", tmp_path / f"a{ending}", tmp_path / "b.json"
    source.write_text(json.dumps({"test_set_id": "t", "name": "T", "items": [element]}))
    converted(source, "simulation", rows)
    converted(rows, "test-set", back)
    (written,) = json.loads(back.read_text())["items"]
    assert written["inputs"] == {"message": "Hi", "mood": {"level": 3}}


@pytest.mark.parametrize("ending", [".jsonl", ".csv"])
def test_fields_of_calls_that_nobody_knows_go_all_the_way(ending: str, tmp_path: Path) -> None:
    """Looking whether a row says everything once took them out of the row that was then written."""
    source = logs(tmp_path, "a", expected_tool_use=[{"tool_name": "look", "mock_output": {"b": [1]}}])
    straight, rows, around = tmp_path / "1_golden.json", tmp_path / f"x{ending}", tmp_path / "2_golden.json"
    assert converted(source, "golden", straight).lost == ()
    assert converted(straight, "simulation", rows).lost == ()
    assert converted(rows, "golden", around).lost == ()
    for path in (straight, around):
        (question,) = json.loads(path.read_text())["golden_questions"]
        assert question["reference_data"]["reference_tool_interactions"] == [
            {"tool_name": "look", "input_arguments": {}, "mock_output": {"b": [1]}}
        ]


def test_the_same_id_for_two_cases_of_datasets_is_a_problem(tmp_path: Path) -> None:
    one = write_rows(tmp_path / "1.jsonl", [mcq("x")])
    two = write_rows(tmp_path / "2.jsonl", [mcq("x", prompt="Another?")])
    with pytest.raises(DatasetInvalid) as raised:
        converted((one, two), "legal", tmp_path / "out.jsonl")
    assert [problem.code for problem in raised.value.problems] == ["duplicate-id"]
    assert not (tmp_path / "out.jsonl").exists()


def test_missing_labels_of_explain_rows_can_be_given(tmp_path: Path) -> None:
    given = {
        "scenario_id": "SCN-001",
        "difficulty": "easy",
        "quality_band": "good",
        "topic_family": "AZ-900",
        "learner_level": "beginner",
        "phase": "preparation",
    }
    options = ImportOptions(agent="learning-path-curator", metadata=given)
    output = tmp_path / "out.explain.jsonl"
    report = converted(logs(tmp_path, "Which path?", reference="AZ-900 first."), "explain", output, options=options)
    (case,) = cases(output, "explain")
    assert case.labels["agent_name"] == "learning-path-curator"
    assert report.written == 1
    assert "id" in [line.field for line in report.changed]


def test_a_catalog_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}-scenario-catalog.jsonl" for name in "abc"]
    for path, seed in zip(paths, (1, 1, 2), strict=True):
        assert write_catalog(path, 30, seed) == 30
    first, again, other = (path.read_bytes() for path in paths)
    assert first == again != other
    assert json.loads(first.splitlines()[0])["scenario_id"] == "SCN-001"
    with pytest.raises(InputError, match="one scenario or more, not 0"):
        write_catalog(tmp_path / "d.jsonl", 0, 0)
