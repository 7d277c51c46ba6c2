"""Human labels: which grades people label, saving a label, and the label file."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from howsure.config import Settings
from howsure.errors import NotFound, PlanRefused
from howsure.kit.plugins import builtin_kit
from howsure.model.label import HumanLabel, Opinion
from howsure.model.result import Result
from howsure.model.run import Counts
from howsure.model.score import Grade, Part, Score, Unscored, UnscoredReason
from howsure.model.verdict import Verdict
from howsure.policies.verdicts import builtin_profiles
from howsure.services.host.agreement import measure_agreement
from howsure.services.host.labels import (
    GradeReference,
    LabelInput,
    LabelQuestion,
    build_label,
    calibrate_run,
    find_grade,
    grades_for_labels,
    grades_to_label,
    judge_opinion,
    label_comparisons,
    label_questions,
    label_queue,
    save_label,
    write_label_lines,
)
from howsure.services.judge.judge_records import CALIBRATIONS
from howsure.services.judge.labels import read_labels
from howsure.services.workspace import Host, Workspace
from howsure.store.store import Store
from store.making import NOON, RUN, a_result, a_run

KIND = Part(id="KIND", text="Is kind")


def rule(passed: bool = True, part: Part = KIND) -> Score:
    return Score(name="rubric", value=float(passed), pass_mark=1.0, part=part, judge="offline")


WHOLE = Score(name="rubric", value=1.0, pass_mark=1.0, judge="offline")
EVAL = Score(name="RelevanceExplain", value=0.5, pass_mark=0.3, judge="openai:x")
PROGRAM = Score(name="tool_usage_accuracy", value=1.0, pass_mark=1.0)
MEASURE = Score(name="latency_metrics", value=1.0, judge="x")
UNASKED = Unscored(name="grounding", why=UnscoredReason.NO_JUDGE, reason="no judge", pass_mark=0.5)
BROKEN = Unscored(name="safety", why=UnscoredReason.ERROR, reason="unreadable", pass_mark=0.5, judge="x")


@pytest.mark.parametrize(
    ("grades", "asked"),
    [
        ((WHOLE, rule()), ["rubric"]),
        ((EVAL,), ["RelevanceExplain"]),
        ((PROGRAM, MEASURE), []),
        ((UNASKED, BROKEN), ["grounding", "safety"]),
        ((), []),
    ],
    ids=["rules, not their sum", "an eval", "programs and measures", "where the judge said nothing", "nothing"],
)
def test_what_people_are_asked_about(grades: tuple[Grade, ...], asked: list[str]) -> None:
    assert [grade.name for grade in grades_to_label(grades)] == asked


@pytest.mark.parametrize(
    ("grade", "word"),
    [
        (rule(True), "pass"),
        (rule(False), "fail"),
        (MEASURE, "none"),
        (BROKEN, "none"),
        (Unscored(name="x", why=UnscoredReason.NOT_APPLICABLE, reason=""), "not_applicable"),
        (None, "none"),
    ],
)
def test_what_the_judge_said(grade: Grade | None, word: str) -> None:
    assert judge_opinion(grade) == word


def judged(position: int, passed: bool) -> Result:
    verdict = Verdict.PASSED if passed else Verdict.FAILED
    parts = (rule(passed), rule(passed, Part(id="BRIEF", text="Is brief")))
    return a_result(position, verdict, grades=(WHOLE, *parts))


def test_cases_stay_together_and_every_question_has_a_name_of_its_own() -> None:
    asked = label_questions([judged(position, position < 10) for position in range(20)], {3: 0.5})
    places = [question.result.position for question in asked]
    assert (len(asked), places[::2]) == (40, places[1::2])
    assert len({question.key for question in asked}) == 40
    assert {question.drawn for question in asked if question.result.position == 3} == {0.5}


async def test_a_queue_is_drawn_at_random_and_rare_verdicts_are_likelier(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "x.db") as store:
        await store.create_run(a_run(total=300))
        await store.save(RUN, [judged(position, position % 10 != 0) for position in range(300)])
        run = await store.run(RUN)
        found = await label_queue(store, run)
        assert found == await label_queue(store, run)
        drawn = {question.result.position: question for question in found}
        # 30 failed of 300: half a plain draw, half alike often: .5 + .5 × 300 / (2 × 30) = 3 and .5 + .5 × 300 / 540.
        chances = {question.result.verdict: question.drawn for question in found}
        assert chances == {Verdict.FAILED: 3.0, Verdict.PASSED: 0.777778}
        assert len(drawn) == 60
        assert list(drawn) != sorted(drawn) and max(drawn) > 250, "not the first ones"
        failed = sum(question.result.verdict is Verdict.FAILED for question in drawn.values())
        assert 10 <= failed <= 26
        (chosen,) = {question.drawn for question in await label_queue(store, run, 7)}
        assert chosen is None, "somebody chose it"


def said(result: Result, opinion: Opinion, who: str = "ana", after: int = 0) -> HumanLabel:
    grade = result.grades[1]
    label = build_label(a_run(), LabelQuestion(result, grade), who, LabelInput(opinion, "why not"))
    return replace(label, created_at=NOON + timedelta(seconds=after))


def test_people_stand_beside_the_judge() -> None:
    first, second = judged(0, True), judged(1, False)
    labels = [said(first, Opinion.FAIL), said(first, Opinion.FAIL, "bo"), said(second, Opinion.CANNOT_TELL)]
    asked = {question.about: question for question in label_questions([first, second])}
    (thing,) = label_comparisons(labels, asked, Counts())
    assert (thing.people_passed, thing.passed, len(thing.labels)) == (False, True, 2)
    assert (thing.case_id, thing.grader, thing.criterion) == ("case-0", "rubric", "KIND")


def test_the_file_is_one_that_calibrations_read(tmp_path: Path) -> None:
    labels = [
        said(judged(0, True), Opinion.PASS),
        said(judged(1, True), Opinion.FAIL, "bo"),
        said(judged(2, True), Opinion.CANNOT_TELL),
        said(judged(3, True), Opinion.NOT_APPLICABLE),
    ]
    path = tmp_path / "labels.jsonl"
    path.write_bytes(write_label_lines(labels))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[0] == {
        "case_id": "case-0",
        "candidate": "",
        "repeat": 1,
        "grader": "rubric",
        "criterion_id": "KIND",
        "label": "pass",
        "annotator": "ana",
    }
    drawn = json.loads(write_label_lines([replace(labels[0], drawn=0.75)]))
    assert drawn == {**lines[0], "run": RUN, "drawn": 0.75}
    read = read_labels(path, builtin_kit(builtin_profiles()))
    assert [(label.value, label.annotator) for label in read.labels] == [(True, "ana"), (False, "bo")]
    assert read.warnings == ()


async def test_labels_become_a_calibration(tmp_path: Path) -> None:
    work = Workspace(Settings(database=str(tmp_path / "x.db")), builtin_kit(builtin_profiles()), tmp_path)
    async with await work.store() as store:
        plain = a_run(total=4)
        run = replace(
            plain,
            pins=replace(plain.pins, request=replace(plain.pins.request, judge="offline"), judge_sha256="ab" * 32),
        )
        await store.create_run(run)
        results = [judged(position, position < 3) for position in range(4)]
        await store.save(RUN, results)
        with pytest.raises(PlanRefused, match="has no labels of pass or fail"):
            await calibrate_run(Host(work, store), run, [said(results[0], Opinion.CANNOT_TELL)])
        labels = [said(result, Opinion.PASS) for result in results]
        assert len(await grades_for_labels(store, run, labels)) == 12
        done = await calibrate_run(Host(work, store), run, labels)
        (group,) = [each for each in done.calibration.groups if each.level == "criteria"]
        assert group.verdicts is not None
        assert (group.verdicts.agreement.value, group.verdicts.agreement.n) == (0.75, 4)
        assert group.verdicts.confusion["pass"] == {"pass": 3, "fail": 1, "none": 0}
        assert CALIBRATIONS.read_all(work) == [done.calibration]


CASE_GRADE = Score(name="choice", value=1.0, pass_mark=1.0)
KIND_RULE = Score(name="rubric", value=1.0, pass_mark=1.0, part=Part(id="KIND", text="Is kind"))
CALM = Score(name="rubric", value=0.0, pass_mark=1.0, part=Part(id="CALM", text="Is calm"))
SUM = Score(name="rubric", value=0.5, pass_mark=1.0)


def judged_result(*grades: Score, position: int = 0) -> Result:
    return a_result(position, grades=grades or (CASE_GRADE, KIND_RULE, CALM))


def about(grader: str, criterion: str = "") -> GradeReference:
    return GradeReference(result_id="case-0", grader=grader, criterion_id=criterion)


@pytest.mark.parametrize(
    ("grader", "criterion", "found"),
    [
        ("choice", "", CASE_GRADE),
        ("rubric", "KIND", KIND_RULE),
        ("rubric", "CALM", CALM),
        ("rubric", "Is calm", CALM),
    ],
)
def test_a_grade_is_found_by_what_it_is_called(grader: str, criterion: str, found: Score) -> None:
    assert find_grade(judged_result(), about(grader, criterion)) == found


def test_the_whole_and_its_parts_are_told_apart() -> None:
    result = judged_result(SUM, KIND_RULE)
    assert find_grade(result, about("rubric")) == SUM
    assert find_grade(result, about("rubric", "KIND")) == KIND_RULE


@pytest.mark.parametrize(
    ("grader", "criterion", "told"),
    [
        ("nobody", "", "grader: 'nobody' gave nothing to case 'case-0'; expected one of choice, rubric"),
        ("choice", "KIND", "criterion_id: 'choice' has no criteria: leave it out"),
        ("rubric", "", "criterion_id: 'rubric' gives grades one by one: expected one of KIND, CALM"),
        ("rubric", "NOPE", "criterion_id: 'rubric' has no 'NOPE'; expected one of KIND, CALM"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(grader: str, criterion: str, told: str) -> None:
    with pytest.raises(PlanRefused) as raised:
        find_grade(judged_result(), about(grader, criterion))
    assert str(raised.value) == told


def test_a_case_without_grades_says_so_and_many_are_cut_short() -> None:
    with pytest.raises(PlanRefused, match="none: the case was not graded"):
        find_grade(replace(judged_result(), grades=()), about("rubric"))
    many = [replace(KIND_RULE, part=Part(id=f"R{number}", text=f"t{number}")) for number in range(14)]
    with pytest.raises(PlanRefused, match="R9 and 4 more"):
        find_grade(judged_result(*many), about("rubric", "NOPE"))


async def test_a_label_is_kept_with_all_that_it_is_about(database: str) -> None:
    async with await Store.open(database if "://" in database else Path(database)) as store:
        run = replace(a_run(agent="a1"), organization_id="acme")
        await store.create_run(run)
        await store.save(RUN, [judged_result()])
        label = await save_label(
            store, run, about("rubric", "Is calm"), "ana", LabelInput(Opinion.PASS, "it is", blind=False)
        )
        assert (label.part_id, label.case_id, label.agent_id, label.organization_id) == ("CALM", "case-0", "a1", "acme")
        assert await store.labels.of_run(RUN) == [label]
        again = await save_label(store, run, about("rubric", "CALM"), "ana", LabelInput(Opinion.FAIL))
        assert (again.id, [each.opinion for each in await store.labels.of_run(RUN)]) == (label.id, [Opinion.FAIL])
        with pytest.raises(NotFound):
            await save_label(
                store, run, GradeReference(result_id="nothing", grader="rubric"), "ana", LabelInput(Opinion.PASS)
            )


async def test_what_labels_come_to(database: str) -> None:
    async with await Store.open(database if "://" in database else Path(database)) as store:
        run = a_run(total=6)
        await store.create_run(run)
        await store.save(RUN, [judged_result(position=position) for position in range(6)])
        for position in range(6):
            place = GradeReference(result_id=f"case-{position}", grader="rubric", criterion_id="KIND")
            await save_label(store, run, place, "ana", LabelInput(Opinion.PASS if position else Opinion.FAIL))
            if position < 2:
                await save_label(store, run, replace(place, criterion_id="CALM"), "bo", LabelInput(Opinion.CANNOT_TELL))
        await save_label(
            store, run, GradeReference(result_id="case-5", grader="choice"), "bo", LabelInput(Opinion.PASS)
        )
        found = await measure_agreement(store, run, await store.labels.of_run(RUN))
        assert (found.labels, found.compared, found.people) == (9, 9, {"ana": 6, "bo": 3})
        assert found.opinions == {"fail": 1, "cannot_tell": 2, "pass": 6}
        # Those who cannot tell say neither: they are not compared.
        assert {name: (each.agreement.n, each.agreed) for name, each in found.graders.items()} == {
            "rubric": (6, 5),
            "choice": (1, 1),
        }
        assert found.graders["rubric"].confusion["fail"] == {"pass": 1, "fail": 0, "none": 0}
        assert (found.overall.agreement.n, found.overall.agreed) == (7, 6)
        assert found.together is None


async def test_no_label_comes_to_nothing(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "x.db") as store:
        await store.create_run(a_run())
        found = await measure_agreement(store, a_run(), [])
        assert (found.labels, found.people, found.graders, found.overall.agreement.n) == (0, {}, {}, 0)
