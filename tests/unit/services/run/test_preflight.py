"""The survey: every file looked at before anything runs; all problems together; the right cases selected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dialect_rows import Row, reference_qa, write_rows
from howsure.errors import Conflict, DatasetInvalid, PlanRefused
from howsure.kit.plugins import builtin_kit
from howsure.model.case import Case
from howsure.model.run_request import RunRequest
from howsure.policies.verdicts import builtin_profiles
from howsure.services.run.preflight import matches, preflight
from howsure.testing import a_case

KIT = builtin_kit(builtin_profiles())


def question(id: str, **fields: Any) -> Row:
    return reference_qa(id, **{"dataset": "house", "prompt": "How many?", "reference_answers": ["Three"], **fields})


def file(path: Path, *rows: Row) -> str:
    return str(write_rows(path, rows))


def ignore(case: Case) -> None:
    return None


def test_every_selected_case_is_looked_at_and_can_be_read_again(tmp_path: Path) -> None:
    seen: list[str] = []
    paths = (file(tmp_path / "a.jsonl", question("1"), question("2")), file(tmp_path / "b.jsonl", question("3")))
    found = preflight(RunRequest(datasets=paths), KIT, lambda case: seen.append(case.id))
    assert seen == ["1", "2", "3"]
    assert found.total == 3
    assert [case.id for case in found.read()] == ["1", "2", "3"]
    assert [case.id for case in found.read()] == ["1", "2", "3"]


def test_problems_of_all_files_come_together(tmp_path: Path) -> None:
    paths = [
        file(tmp_path / "a.jsonl", question("1", prompt="")),
        file(tmp_path / "b.jsonl", question("2", reference_answers=[])),
    ]
    with pytest.raises(DatasetInvalid) as caught:
        preflight(RunRequest(datasets=tuple(paths)), KIT, ignore)
    assert [Path(problem.file).name for problem in caught.value.problems] == ["a.jsonl", "b.jsonl"]


def test_one_id_in_two_files_of_a_run_is_a_problem(tmp_path: Path) -> None:
    paths = [file(tmp_path / "a.jsonl", question("1")), file(tmp_path / "b.jsonl", question("1"))]
    with pytest.raises(DatasetInvalid) as caught:
        preflight(RunRequest(datasets=tuple(paths)), KIT, ignore)
    (problem,) = caught.value.problems
    assert (problem.code, problem.message) == ("duplicate-id", "the case '1' is also in a.jsonl")


def test_a_file_that_changes_between_the_passes_is_noticed(tmp_path: Path) -> None:
    path = file(tmp_path / "a.jsonl", question("1"))
    found = preflight(RunRequest(datasets=(path,)), KIT, ignore)
    file(tmp_path / "a.jsonl", question("1", prompt="How many now?"))
    with pytest.raises(Conflict, match="changed"):
        list(found.read())


def test_filters_and_a_limit_select(tmp_path: Path) -> None:
    rows = [question(str(number), dataset="even" if number % 2 == 0 else "odd") for number in range(6)]
    path = file(tmp_path / "a.jsonl", *rows)
    found = preflight(RunRequest(datasets=(path,), filters={"dataset": ("even",)}, limit=2), KIT, ignore)
    assert found.total == 2
    assert [case.id for case in found.read()] == ["0", "2"]


def test_nothing_left_to_run_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = file(tmp_path / "a.jsonl", question("1"))
    with pytest.raises(PlanRefused, match="none of 1 has dataset:elsewhere"):
        preflight(RunRequest(datasets=(path,), filters={"dataset": ("elsewhere",)}), KIT, ignore)


CASE = a_case(
    id="c1",
    tags=("hr", "policy"),
    labels={"difficulty": "hard"},
    metadata={"topic": "refund", "years": [2023, 2024], "metadata": {"complexity": "high"}, "flag": True},
)


@pytest.mark.parametrize(
    ("key", "values", "selected"),
    [
        ("id", ("c1",), True),
        ("id", ("c2",), False),
        ("tag", ("policy", "x"), True),
        ("difficulty", ("easy",), False),
        ("difficulty", ("easy", "hard"), True),
        ("topic", ("refund",), True),
        ("years", ("2024",), True),
        ("complexity", ("high",), True),
        ("flag", ("True",), True),
        ("nothing", ("x",), False),
    ],
)
def test_a_filter_looks_at_ids_tags_labels_and_metadata(key: str, values: tuple[str, ...], selected: bool) -> None:
    assert matches(CASE, {key: values}) is selected


def test_every_filter_must_hold() -> None:
    assert matches(CASE, {"id": ("c1",), "tag": ("hr",)})
    assert not matches(CASE, {"id": ("c1",), "tag": ("legal",)})
    assert matches(CASE, {})
