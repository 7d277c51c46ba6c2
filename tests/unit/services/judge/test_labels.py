"""Labels: every one of a file, or every problem of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from howsure.errors import DatasetInvalid, NotFound, PlanRefused
from howsure.kit import Kit
from howsure.kit.plugins import builtin_kit
from howsure.model.expectation import text_id
from howsure.model.result import Result
from howsure.model.score import Direction, Part, Score, Unscored, UnscoredReason
from howsure.policies.verdicts import builtin_profiles
from howsure.services.judge.labels import (
    GradeWithLabels,
    Label,
    LabelOutcome,
    looks_like_labels,
    pair_labels,
    read_graded_answers,
    read_labels,
    weigh_draws,
    would_pass,
)
from unit.services.judge.labelled_grades import a_label, a_result, checked, labels_of, lines, rated, stream, verdicts

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


async def things(labels: list[Label], *results: Result, by: str = "") -> list[GradeWithLabels]:
    return pair_labels(
        labels_of(*labels), await read_graded_answers(stream(results), {"criteria", "RelevanceExplain"}, by)
    )


async def test_a_label_without_a_criterion_is_about_the_whole() -> None:
    (thing,) = await things([a_label(True)], a_result("c1", checked(False, "k"), checked(True)))
    assert thing.passed is True
    assert thing.criterion == ""


@pytest.mark.parametrize("name", ["k", text_id("text of k"), "text of k", "1"])
async def test_a_criterion_is_found_by_id_hash_text_or_position(name: str) -> None:
    (thing,) = await things([a_label(True, criterion=name)], a_result("c1", checked(False, "k"), checked(True)))
    assert thing.passed is False
    assert thing.criterion == "k"


async def test_a_label_that_may_be_about_two_answers_is_a_problem() -> None:
    results = [a_result("c1", checked(True), candidate=name) for name in ("juno", "orchid")]
    with pytest.raises(DatasetInvalid) as caught:
        await things([a_label(True, line=3)], *results)
    (problem,) = caught.value.problems
    assert (problem.code, problem.line, problem.field) == ("ambiguous-label", 3, "candidate")
    assert problem.expected == "one of juno, orchid"
    (thing,) = await things([a_label(True, candidate="orchid")], *results)
    assert thing.candidate == "orchid"


async def test_repeats_must_be_told_apart_too() -> None:
    results = [a_result("c1", checked(True), repeat=number) for number in (1, 2)]
    with pytest.raises(DatasetInvalid, match="1 problem"):
        await things([a_label(True)], *results)
    (thing,) = await things([a_label(True, repeat=2)], *results)
    assert thing.repeat == 2


async def test_labels_of_several_people_are_about_one_thing() -> None:
    given = [a_label(True, "a"), a_label(False, "b"), a_label(True, "c")]
    (thing,) = await things(given, a_result("c1", checked(True)))
    assert len(thing.labels) == 3
    assert thing.people_passed is True


async def test_one_person_cannot_label_a_criterion_twice_under_two_names() -> None:
    given = [a_label(True, "a", criterion="k", line=1), a_label(False, "a", criterion="1", line=2)]
    with pytest.raises(DatasetInvalid) as caught:
        await things(given, a_result("c1", checked(True, "k")))
    assert [(problem.code, problem.line) for problem in caught.value.problems] == [("duplicate-label", 2)]


async def test_labels_about_nothing_here_are_counted_unless_all_are() -> None:
    given = [a_label(True), a_label(True, case_id="c9")]
    found = await things(given, a_result("c1", checked(True)))
    assert [thing.outcome for thing in found] == [LabelOutcome.COMPARED, LabelOutcome.MISSING]
    with pytest.raises(PlanRefused, match="no case 'c9'"):
        await things([a_label(True, case_id="c9")], a_result("c1", checked(True)))
    with pytest.raises(PlanRefused, match="criterion 'zz' of criteria"):
        await things([a_label(True, criterion="zz")], a_result("c1", checked(True)))


async def test_things_know_the_slice_of_their_case() -> None:
    results = [a_result("c1", checked(True), quality_band="poor"), a_result("c2", checked(True), quality_band="good")]
    found = await things([a_label(True), a_label(True, case_id="c2")], *results, by="quality_band")
    assert [thing.where for thing in found] == ["poor", "good"]


@pytest.mark.parametrize(
    ("grade", "outcome"),
    [
        (checked(True), LabelOutcome.COMPARED),
        (checked(None), LabelOutcome.UNREADABLE),
        (Unscored(name="criteria", why=UnscoredReason.NOT_APPLICABLE, reason="x"), LabelOutcome.NOT_APPLICABLE),
        (Unscored(name="criteria", why=UnscoredReason.NO_JUDGE, reason="x"), LabelOutcome.NO_JUDGE),
        (Score(name="criteria", value=1.0), LabelOutcome.UNMARKED),
        (None, LabelOutcome.MISSING),
    ],
    ids=lambda value: value.value if isinstance(value, LabelOutcome) else "",
)
def test_what_becomes_of_a_labelled_thing(grade: Any, outcome: LabelOutcome) -> None:
    thing = GradeWithLabels(case_id="c", grader="criteria", labels=(a_label(True),), grade=grade)
    assert thing.outcome is outcome


def test_people_in_halves_have_no_verdict() -> None:
    (thing,) = verdicts((None, True))
    assert thing.people_passed is None
    assert thing.outcome is LabelOutcome.SPLIT


@pytest.mark.parametrize(
    ("numbers", "mean", "category"), [((4.0,), 4.0, 4.0), ((2.0, 5.0), 3.5, 2.0), ((1.0, 4.0, 5.0), 10 / 3, 4.0)]
)
def test_numbers_of_several_people_have_a_mean_and_a_middle_that_somebody_gave(
    numbers: tuple[float, ...], mean: float, category: float
) -> None:
    given = tuple(a_label(value, str(place)) for place, value in enumerate(numbers))
    thing = GradeWithLabels(case_id="c", grader="RelevanceExplain", labels=given, grade=rated(3, 3))
    assert thing.people_value == pytest.approx(mean)
    assert thing.people_category == category
    assert thing.people_passed is (mean >= 3)


def test_where_low_is_good_a_low_number_passes() -> None:
    bad = Score(name="w", value=0.0, pass_mark=0.0, direction=Direction.LOWER, part=Part(id="p", text="t", weight=-1))
    assert would_pass(0.0, bad) is True
    assert would_pass(1.0, bad) is False
    assert would_pass(1.0, Score(name="w", value=0.5)) is None


def test_no_answer_is_drawn_more_often_than_surely() -> None:
    """Of 100 answers the judge fails 10. Forty are drawn, fails at four times the chance: all ten fails are among them,
    and each of the thirty passes stands for three. Weighed by the chances alone it would stand for four."""

    def labelled(place: int, chance: float | None) -> GradeWithLabels:
        label = Label(case_id=f"c{place}", grader="criteria", value=True, drawn=chance)
        return GradeWithLabels(case_id=f"c{place}", grader="criteria", labels=(label,))

    things = [labelled(place, 4.0 if place < 10 else 1.0) for place in range(40)]
    found = [each.drawn for each in weigh_draws(things, {"criteria": 100})]
    assert found == pytest.approx([1.0] * 10 + [1 / 3] * 30)
    assert {each.drawn for each in weigh_draws(things, {"criteria": 40})} == {1.0}, "all are labelled"
    assert [each.drawn for each in weigh_draws([labelled(0, None)], {"criteria": 100})] == [None]
