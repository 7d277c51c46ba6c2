"""The judges' page: what is known of each version, worst first, and what nobody has measured."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hostile import HOSTILE
from howsure.model.calibration import (
    AgreementGroup,
    AttackOutcome,
    Calibration,
    ClassFigures,
    Figure,
    JudgePin,
    JudgeTest,
    LabelCoverage,
    Stability,
    VerdictFigures,
    VerdictFlip,
)
from howsure.model.run import Run
from howsure.services.host.keys import KeyRequest, make_key
from howsure.services.judge.judge_records import CALIBRATIONS, SavedJudgeTest, save_judge_test
from howsure.store.keys import KeyScope
from howsure.web.pages.judges import JUDGES_PER_PAGE, JudgeRecords, count_calibrations, judges_page
from store.making import NOON, a_run, numbered
from web.pages_served import serving
from web.visiting import Visitor

PIN = JudgePin(spec="openai:gpt-9", sha256="ab" * 32)
NOTHING = ClassFigures(precision=Figure(), recall=Figure(), f1=Figure())


def group(grader: str, share: float, n: int = 40, **fields: Any) -> AgreementGroup:
    agreed = round(share * n)
    verdicts = VerdictFigures(
        agreement=Figure(value=share, interval=(0.5, 0.9), n=n),
        with_silence=Figure(),
        kappa=Figure(value=0.5, interval=(0.3, 0.7), n=n),
        classes={"pass": NOTHING, "fail": NOTHING},
        confusion={"pass": {"pass": agreed, "fail": 0, "none": 1}, "fail": {"pass": n - agreed, "fail": 0, "none": 0}},
    )
    counted = LabelCoverage(labels=n, things=n, compared=n)
    return AgreementGroup(**{"grader": grader, "level": "case", "coverage": counted, "verdicts": verdicts, **fields})


def calibration(*groups: AgreementGroup, pin: JudgePin = PIN, run: str = "", days: int = 0) -> Calibration:
    things = sum(each.coverage.things for each in groups)
    told = LabelCoverage(labels=things, things=things + 2, compared=things, unreadable=2)
    return Calibration(judge=pin, at=NOON + timedelta(days=days), run=run, coverage=told, groups=groups)


def judged_by(pin: JudgePin, number: int = 1, **fields: Any) -> Run:
    run = a_run(numbered(number), **fields)
    return replace(
        run, pins=replace(run.pins, request=replace(run.pins.request, judge=pin.spec), judge_sha256=pin.sha256)
    )


def judge_records(calibrations: Sequence[Calibration], tests: Sequence[SavedJudgeTest] = ()) -> JudgeRecords:
    """Of calibrations that were all read, oldest first."""
    measured = count_calibrations(each.judge for each in calibrations)
    return JudgeRecords(measured=measured, calibrations=calibrations, tests=tests)


def test_without_judges_the_page_says_so() -> None:
    assert judges_page(judge_records([]), []).answer == "No judge has judged anything yet."


def test_a_judge_that_nobody_measured_is_named_as_such() -> None:
    page = judges_page(judge_records([]), [judged_by(PIN), judged_by(PIN, 2)])
    (judge,) = page.judges
    assert page.answer == "1 judge: how far to trust it has not been measured."
    assert judge.sentence.startswith("Not calibrated")
    assert (judge.spec, judge.version, judge.runs, judge.is_measured) == ("openai:gpt-9", "abababab", 2, False)


def test_where_it_agrees_least_comes_first() -> None:
    found = calibration(
        group("rubric", 0.9), group("criteria", 0.6), group("criteria", 0.1, criterion="c1", text="Rare")
    )
    (judge,) = judges_page(judge_records([calibration(group("rubric", 0.2)), found]), []).judges
    assert (
        judge.sentence == "Agrees with people on 60.0 % [50–90] n 40 of verdicts for criteria, where it agrees least."
    )
    assert judge.labels == "122 labelled grades = 120 compared + 2 cannot tell or unreadable"
    assert judge.earlier == 1
    assert [line.name for line in judge.groups] == ["rubric", "criteria"]
    assert [line.name for line in judge.criteria] == ["Rare"]
    assert judge.groups[1].confusion == (("pass", (24, 0, 1)), ("fail", (16, 0, 0)))
    assert judge.groups[1].kappa == "0.500 [0.30–0.70]"


def test_every_version_of_a_judge_is_a_judge_of_its_own() -> None:
    newer = replace(PIN, sha256="cd" * 32)
    page = judges_page(judge_records([calibration(group("rubric", 0.9))]), [judged_by(newer)])
    assert [(judge.version, judge.is_measured) for judge in page.judges] == [("cdcdcdcd", False), ("abababab", True)]
    assert page.answer == "1 of 2 judges measured against people."


def test_a_recording_is_called_by_its_file() -> None:
    (judge,) = judges_page(judge_records([]), [judged_by(JudgePin(spec="recorded:/home/ana/judge.jsonl"))]).judges
    assert judge.spec == "recorded:judge.jsonl"


def a_test(pin: JudgePin = PIN, name: str = "padding") -> SavedJudgeTest:
    flip = VerdictFlip(case_id="c", grader="g", before="pass", after="fail")
    stability = tuple(
        Stability(name=word, about=name, unchanged=Figure(value=value, n=9), shift=Figure())
        for word, value in (("capitals", 1.0), (name, 0.5))
    )
    attacks = tuple(
        AttackOutcome(name=word, kind="k", about=name, success=Figure(value=value, n=9), flips=(flip,))
        for word, value in (("beg", 0.0), (name, 0.25))
    )
    turned = Figure(value=0.25, n=8)
    test = JudgeTest(judge=pin, cases=3, grades=9, stability=stability, attacks=attacks, turned=turned)
    return SavedJudgeTest(NOON, test)


def test_the_least_steady_and_the_worst_attack_come_first() -> None:
    (judge,) = judges_page(judge_records([], [a_test()]), []).judges
    assert [line.name for line in judge.stability] == ["padding", "capitals"]
    assert [(line.name, line.figure, line.flips) for line in judge.attacks] == [
        ("padding", "25.0 % n 9", 1),
        ("beg", "0.0 % n 9", 1),
    ]
    assert "attacks turned 25.0 % n 8" in judge.tested


def test_the_offline_judge_brings_what_its_makers_measured() -> None:
    (judge,) = judges_page(judge_records([]), [judged_by(JudgePin(spec="offline"))]).judges
    assert len(judge.by_makers) > 5


def test_a_few_judges_are_on_a_page_and_all_are_counted() -> None:
    pins = [replace(PIN, sha256=f"{number}" * 64) for number in range(6)]
    kept = judge_records([calibration(group("rubric", 0.9), pin=pin) for pin in (*pins, pins[0])])
    first, rest = judges_page(kept, []), judges_page(kept, [], start=3)
    assert first.answer == rest.answer == "6 of 6 judges measured against people."
    # The one that was measured last comes first, and its earlier calibration is counted.
    assert [(judge.version[0], judge.earlier) for judge in first.judges] == [*zip("054", (1, 0, 0), strict=True)]
    assert [judge.version[0] for judge in rest.judges] == ["3", "2", "1"]
    assert (first.further, rest.further) == ("/judges?start=3", "")


def test_who_sees_which_calibration(tmp_path: Path) -> None:
    with serving(tmp_path, keys_needed=True, working=False) as served:
        for number, home in ((1, "acme"), (2, "other")):
            run = judged_by(replace(PIN, sha256=f"{number}" * 64), number, organization_id=home)
            served.do(served.store.create_run(run))
            CALIBRATIONS.append(
                served.host.work,
                calibration(group("rubric", 0.9), pin=replace(PIN, sha256=f"{number}" * 64), run=run.id),
            )
        save_judge_test(served.host.work, a_test(replace(PIN, sha256="9" * 64)).test)
        wanted = [
            KeyRequest(name="operator", scopes=[KeyScope.READ]),
            KeyRequest(name="acme", scopes=[KeyScope.READ], organization_id="acme"),
            KeyRequest(name="nobody", scopes=[KeyScope.READ], organization_id="acme", agent_ids=("x",)),
        ]
        visitors = {
            each.name: Visitor(served.base).sign_in(served.do(make_key(served.store, each))[1]) for each in wanted
        }
        seen = {
            name: sorted(judge["version"] for judge in visitor.data("/judges")["judges"])
            for name, visitor in visitors.items()
        }
        assert seen == {"operator": ["1" * 8, "2" * 8, "9" * 8], "acme": ["1" * 8], "nobody": []}


@pytest.fixture(scope="module")
def hostile_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    with serving(tmp_path_factory.mktemp("judges"), working=False) as served:
        for text in HOSTILE:
            pin = JudgePin(spec=text, sha256="ab" * 32)
            CALIBRATIONS.append(
                served.host.work, calibration(group(text, 0.9), group("x", 0.5, criterion=text, text=text), pin=pin)
            )
            save_judge_test(served.host.work, a_test(pin, text).test)
        visitor = Visitor(served.base)
        pages = [visitor.get(f"/judges?start={start}").text for start in range(0, len(HOSTILE), JUDGES_PER_PAGE)]
        assert ["More judges" in page for page in pages] == [*[True] * (len(pages) - 1), False]
        return "".join(pages)


@pytest.mark.parametrize(
    "bad", ["<script>alert", "<img src=x", "<svg/onload", "<iframe", "\x1b", "\u202e", "<b>out", "<injected", "\x00"]
)
def test_hostile_judges_are_inert(hostile_page: str, bad: str) -> None:
    assert bad not in hostile_page
    assert hostile_page.count('class="judge"') > 30
