"""Labels: every one of a file, or every problem of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from howsure.errors import DatasetInvalid, NotFound
from howsure.kit import Kit
from howsure.kit.builtins import builtin_kit
from howsure.policies.profiles import builtin_profiles
from howsure.services.trust.labels import Label, looks_like_labels, read_labels
from unit.services.trust.making import lines

GIVEN: dict[str, Any] = {"case_id": "c1", "grader": "criteria", "criterion_id": "k", "label": True}


@pytest.fixture(scope="module")
def kit() -> Kit:
    return builtin_kit(builtin_profiles())


def problems(path: Path, kit: Kit) -> list[tuple[str, int | None, str]]:
    with pytest.raises(DatasetInvalid) as caught:
        read_labels(path, kit)
    return [(problem.code, problem.line, problem.field) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("said", "value"),
    [(True, True), (False, False), ("pass", True), ("fail", False), (1, 1.0), (0.5, 0.5), (0, 0.0)],
)
def test_a_label_is_a_verdict_or_a_number(said: Any, value: bool | float, tmp_path: Path, kit: Kit) -> None:
    (label,) = read_labels(lines(tmp_path / "l.jsonl", {**GIVEN, "label": said}), kit).labels
    assert label.value == value
    assert type(label.value) is type(value)


def test_everything_a_line_says_is_read(tmp_path: Path, kit: Kit) -> None:
    full = {**GIVEN, "candidate": "juno", "repeat": 2, "criterion_id": 3, "annotator": "ann", "label": "fail"}
    found = read_labels(lines(tmp_path / "l.jsonl", full), kit)
    assert found.labels == (
        Label(
            case_id="c1",
            grader="criteria",
            value=False,
            candidate="juno",
            repeat=2,
            criterion="3",
            annotator="ann",
            line=1,
        ),
    )
    assert len(found.sha256) == 64
    assert found.graders == ("criteria",)


def test_every_problem_is_reported_at_once_with_its_line(tmp_path: Path, kit: Kit) -> None:
    path = tmp_path / "l.jsonl"
    path.write_text(
        '{"case_id": "c1", "grader": "criteria"}\n'
        '{"case_id": "", "grader": "criteria", "label": "maybe"}\n'
        "{broken\n"
        '["c1"]\n'
        '{"case_id": "c1", "grader": "criterea", "label": true}\n'
        '{"case_id": "c1", "grader": "RelevanceExplain", "label": 6}\n'
        '{"case_id": "c1", "grader": "criteria", "label": 1, "label": 0}\n'
        '{"case_id": "c1", "grader": "criteria", "label": 1, "anotator": "x"}\n'
        '{"case_id": "c1", "grader": "criteria", "label": 1, "repeat": 0}\n'
        '{"case_id": "c1", "grader": "criteria", "label": null}\n',
        encoding="utf-8",
    )
    assert problems(path, kit) == [
        ("missing-field", 1, "label"),
        ("empty", 2, "case_id"),
        ("wrong-value", 2, "label"),
        ("json-syntax", 3, ""),
        ("wrong-type", 4, ""),
        ("unknown-grader", 5, "grader"),
        ("off-scale", 6, "label"),
        ("json-duplicate-key", 7, "label"),
        ("unknown-field", 8, "anotator"),
        ("out-of-range", 9, "repeat"),
        ("wrong-type", 10, "label"),
    ]


def test_a_remark_is_welcome_and_warned_about(tmp_path: Path, kit: Kit) -> None:
    found = read_labels(lines(tmp_path / "l.jsonl", {**GIVEN, "why_i_think_so": "it says so"}), kit)
    assert [(warning.code, warning.field) for warning in found.warnings] == [("unknown-field", "why_i_think_so")]


def test_one_person_labels_a_grade_once_and_several_people_may(tmp_path: Path, kit: Kit) -> None:
    twice = lines(tmp_path / "l.jsonl", GIVEN, {**GIVEN, "label": False})
    assert problems(twice, kit) == [("duplicate-label", 2, "annotator")]
    several = lines(tmp_path / "s.jsonl", {**GIVEN, "annotator": "a"}, {**GIVEN, "annotator": "b"}, GIVEN)
    assert len(read_labels(several, kit).labels) == 3


def test_numbers_and_verdicts_do_not_mix_for_one_grader(tmp_path: Path, kit: Kit) -> None:
    path = lines(tmp_path / "l.jsonl", GIVEN, {**GIVEN, "case_id": "c2", "label": 1})
    assert problems(path, kit) == [("mixed-labels", 2, "label")]
    whole = {"case_id": "c1", "grader": "criteria", "label": 0.5}
    assert len(read_labels(lines(tmp_path / "w.jsonl", GIVEN, whole), kit).labels) == 2


def test_an_empty_file_and_a_missing_one_are_told(tmp_path: Path, kit: Kit) -> None:
    assert problems(lines(tmp_path / "l.jsonl"), kit) == [("empty-file", None, "")]
    with pytest.raises(NotFound, match="nowhere"):
        read_labels(tmp_path / "nowhere.jsonl", kit)


@pytest.mark.parametrize(
    ("first", "is_labels"),
    [(GIVEN, True), ({"case_id": "c", "question": "Hi"}, False), ({"case_id": "c", "grader": "g", "reply": 1}, False)],
)
def test_labels_are_told_from_datasets_by_their_first_line(first: Any, is_labels: bool, tmp_path: Path) -> None:
    assert looks_like_labels(lines(tmp_path / "f.jsonl", first)) is is_labels


def test_a_folder_and_a_pipe_are_no_labels(tmp_path: Path) -> None:
    assert looks_like_labels(tmp_path) is False
    assert looks_like_labels(Path("-")) is False
