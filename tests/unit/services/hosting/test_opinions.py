"""Labels that come from outside: each is about a grade that is there, or says what would be."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from howsure.errors import NotFound, PlanRefused
from howsure.model.label import Opinion
from howsure.model.result import Result
from howsure.model.score import Part, Score
from howsure.services.hosting.concord import concord
from howsure.services.hosting.labelling import Said
from howsure.services.hosting.opinions import About, grade_named, say
from howsure.store.store import Store
from store.making import RUN, a_result, a_run

WHOLE = Score(name="choice", value=1.0, pass_mark=1.0)
KIND = Score(name="rubric", value=1.0, pass_mark=1.0, part=Part(id="KIND", text="Is kind"))
CALM = Score(name="rubric", value=0.0, pass_mark=1.0, part=Part(id="CALM", text="Is calm"))
SUM = Score(name="rubric", value=0.5, pass_mark=1.0)


def judged(*grades: Score, position: int = 0) -> Result:
    return a_result(position, grades=grades or (WHOLE, KIND, CALM))


def about(grader: str, criterion: str = "") -> About:
    return About(result_id="case-0", grader=grader, criterion_id=criterion)


@pytest.mark.parametrize(
    ("grader", "criterion", "found"),
    [("choice", "", WHOLE), ("rubric", "KIND", KIND), ("rubric", "CALM", CALM), ("rubric", "Is calm", CALM)],
)
def test_a_grade_is_found_by_what_it_is_called(grader: str, criterion: str, found: Score) -> None:
    assert grade_named(judged(), about(grader, criterion)) == found


def test_the_whole_and_its_parts_are_told_apart() -> None:
    result = judged(SUM, KIND)
    assert grade_named(result, about("rubric")) == SUM
    assert grade_named(result, about("rubric", "KIND")) == KIND


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
        grade_named(judged(), about(grader, criterion))
    assert str(raised.value) == told


def test_a_case_without_grades_says_so_and_many_are_cut_short() -> None:
    with pytest.raises(PlanRefused, match="none: the case was not graded"):
        grade_named(replace(judged(), grades=()), about("rubric"))
    many = [replace(KIND, part=Part(id=f"R{number}", text=f"t{number}")) for number in range(14)]
    with pytest.raises(PlanRefused, match="R9 and 4 more"):
        grade_named(judged(*many), about("rubric", "NOPE"))


async def test_a_label_is_kept_with_all_that_it_is_about(database: str) -> None:
    async with await Store.open(database if "://" in database else Path(database)) as store:
        run = replace(a_run(agent="a1"), organization_id="acme")
        await store.create_run(run)
        await store.save(RUN, [judged()])
        label = await say(store, run, about("rubric", "Is calm"), "ana", Said(Opinion.PASS, "it is", blind=False))
        assert (label.part_id, label.case_id, label.agent_id, label.organization_id) == ("CALM", "case-0", "a1", "acme")
        assert await store.labels.of_run(RUN) == [label]
        again = await say(store, run, about("rubric", "CALM"), "ana", Said(Opinion.FAIL))
        assert (again.id, [each.opinion for each in await store.labels.of_run(RUN)]) == (label.id, [Opinion.FAIL])
        with pytest.raises(NotFound):
            await say(store, run, About(result_id="nothing", grader="rubric"), "ana", Said(Opinion.PASS))


async def test_what_labels_come_to(database: str) -> None:
    async with await Store.open(database if "://" in database else Path(database)) as store:
        run = a_run(total=6)
        await store.create_run(run)
        await store.save(RUN, [judged(position=position) for position in range(6)])
        for position in range(6):
            place = About(result_id=f"case-{position}", grader="rubric", criterion_id="KIND")
            await say(store, run, place, "ana", Said(Opinion.PASS if position else Opinion.FAIL))
            if position < 2:
                await say(store, run, replace(place, criterion_id="CALM"), "bo", Said(Opinion.CANNOT_TELL))
        await say(store, run, About(result_id="case-5", grader="choice"), "bo", Said(Opinion.PASS))
        found = await concord(store, run, await store.labels.of_run(RUN))
        assert (found.labels, found.compared, found.people) == (9, 9, {"ana": 6, "bo": 3})
        assert found.opinions == {"fail": 1, "cannot_tell": 2, "pass": 6}
        # Those who cannot tell say neither: they are not compared.
        assert {name: (each.n, each.agreed) for name, each in found.graders.items()} == {
            "rubric": (6, 5),
            "choice": (1, 1),
        }
        assert found.graders["rubric"].table == (5, 0, 1, 0)
        assert (found.overall.n, found.overall.agreed) == (7, 6)
        assert found.together is None


async def test_no_label_comes_to_nothing(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "x.db") as store:
        await store.create_run(a_run())
        found = await concord(store, a_run(), [])
        assert (found.labels, found.people, found.graders, found.overall.n) == (0, {}, {}, 0)
