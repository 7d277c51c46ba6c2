"""Which grades people are asked about, and their labels beside the judge's grades and as a file."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from howsure.config import Settings
from howsure.errors import PlanRefused
from howsure.kit.builtins import builtin_kit
from howsure.model.label import HumanLabel, Opinion
from howsure.model.result import Result
from howsure.model.score import Grade, Part, Score, Unscored, Why
from howsure.model.verdict import Verdict
from howsure.policies.profiles import builtin_profiles
from howsure.services.hosting.host import Host
from howsure.services.hosting.labelling import (
    Question,
    Said,
    as_lines,
    calibrated,
    grades_about,
    judge_word,
    label_of,
    labelled_grades,
    questions,
    queue,
    things,
)
from howsure.services.trust.calibrations import kept
from howsure.services.trust.labels import read_labels
from howsure.services.workspace import Workspace
from howsure.store.store import Store
from store.making import NOON, RUN, a_result, a_run

KIND = Part(id="KIND", text="Is kind")


def rule(passed: bool = True, part: Part = KIND) -> Score:
    return Score(name="rubric", value=float(passed), pass_mark=1.0, part=part, judge="offline")


WHOLE = Score(name="rubric", value=1.0, pass_mark=1.0, judge="offline")
EVAL = Score(name="RelevanceExplain", value=0.5, pass_mark=0.3, judge="openai:x")
PROGRAM = Score(name="tool_usage_accuracy", value=1.0, pass_mark=1.0)
MEASURE = Score(name="latency_metrics", value=1.0, judge="x")
UNASKED = Unscored(name="grounding", why=Why.NO_JUDGE, reason="no judge", pass_mark=0.5)
BROKEN = Unscored(name="safety", why=Why.ERROR, reason="unreadable", pass_mark=0.5, judge="x")


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
    assert [grade.name for grade in labelled_grades(grades)] == asked


@pytest.mark.parametrize(
    ("grade", "word"),
    [
        (rule(True), "pass"),
        (rule(False), "fail"),
        (MEASURE, "none"),
        (BROKEN, "none"),
        (Unscored(name="x", why=Why.NOT_APPLICABLE, reason=""), "not_applicable"),
        (None, "none"),
    ],
)
def test_what_the_judge_said(grade: Grade | None, word: str) -> None:
    assert judge_word(grade) == word


def judged(position: int, passed: bool) -> Result:
    verdict = Verdict.PASSED if passed else Verdict.FAILED
    parts = (rule(passed), rule(passed, Part(id="BRIEF", text="Is brief")))
    return a_result(position, verdict, grades=(WHOLE, *parts))


def test_cases_stay_together_and_their_order_tells_nothing() -> None:
    results = [judged(position, position < 10) for position in range(20)]
    asked = questions(RUN, results)
    places = [question.result.position for question in asked]
    assert len(asked) == 40
    assert places[::2] == places[1::2]
    assert places[::2] != sorted(places[::2])
    assert {place < 10 for place in places[:16]} == {True, False}
    assert questions(RUN, list(reversed(results))) == asked


def test_every_question_has_a_name_of_its_own() -> None:
    asked = questions(RUN, [judged(position, True) for position in range(20)])
    assert len({question.key for question in asked}) == 40


async def test_a_queue_is_made_of_failed_and_passed_alike(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "x.db") as store:
        await store.create_run(a_run(total=60))
        await store.save(RUN, [judged(position, position >= 50) for position in range(60)])
        found = await queue(store, await store.run(RUN))
        verdicts = [question.result.verdict for question in found]
        assert (verdicts.count(Verdict.FAILED), verdicts.count(Verdict.PASSED)) == (40, 20)
        assert {question.result.position for question in await queue(store, await store.run(RUN), 7)} == {7}


def said(result: Result, opinion: Opinion, who: str = "ana", after: int = 0) -> HumanLabel:
    grade = result.grades[1]
    label = label_of(a_run(), Question(result, grade), who, Said(opinion, "why not"))
    return replace(label, created_at=NOON + timedelta(seconds=after))


def test_people_stand_beside_the_judge() -> None:
    first, second = judged(0, True), judged(1, False)
    labels = [said(first, Opinion.FAIL), said(first, Opinion.FAIL, "bo"), said(second, Opinion.CANNOT_TELL)]
    asked = {question.about: question for question in questions(RUN, [first, second])}
    (thing,) = things(labels, asked)
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
    path.write_bytes(as_lines(labels))
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
    read = read_labels(path, builtin_kit(builtin_profiles()))
    assert [(label.value, label.annotator) for label in read.labels] == [(True, "ana"), (False, "bo")]
    assert read.warnings == ()


async def test_labels_become_a_calibration(tmp_path: Path) -> None:
    work = Workspace(Settings(database=str(tmp_path / "x.db")), builtin_kit(builtin_profiles()), tmp_path)
    async with await work.store() as store:
        plain = a_run(total=4)
        run = replace(plain, pins=replace(plain.pins, judge="offline", judge_sha256="ab" * 32))
        await store.create_run(run)
        results = [judged(position, position < 3) for position in range(4)]
        await store.save(RUN, results)
        with pytest.raises(PlanRefused, match="nobody has said pass or fail"):
            await calibrated(Host(work, store), run, [said(results[0], Opinion.CANNOT_TELL)])
        labels = [said(result, Opinion.PASS) for result in results]
        assert len(await grades_about(store, run, labels)) == 12
        done = await calibrated(Host(work, store), run, labels)
        (group,) = [each for each in done.calibration.groups if each.level == "criteria"]
        assert group.verdicts is not None
        assert (group.verdicts.agreement.value, group.verdicts.agreement.n) == (0.75, 4)
        assert group.verdicts.confusion["pass"] == {"pass": 3, "fail": 1, "none": 0}
        assert kept(work) == [done.calibration]
