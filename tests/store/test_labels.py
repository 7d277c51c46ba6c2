"""Labels in the store, on both databases: said, said again, taken back, counted, and seen by those who may."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from howsure.errors import InputError, NotFound
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.label import HumanLabel, Opinion
from howsure.store.labels import LabelCount, LabelQuery, label_cursor
from howsure.store.store import Store
from store.making import NOON, OTHER, RUN, a_result, a_run


def a_label(position: int = 0, opinion: Opinion = Opinion.PASS, **fields: Any) -> HumanLabel:
    plain: dict[str, Any] = {
        "run_id": RUN,
        "position": position,
        "grader": "rubric",
        "part_id": "KIND",
        "labeler": "ana",
        "opinion": opinion,
        "case_id": f"case-{position}",
        "candidate": "",
        "repeat": 1,
        "created_at": NOON + timedelta(seconds=position),
        "organization_id": "acme",
        "agent_id": "moss",
        "why": "because",
        "blind": False,
    }
    return HumanLabel(**{**plain, **fields})


@pytest.mark.parametrize("opinion", list(Opinion))
async def test_a_label_comes_back_as_it_was_said(store: Store, opinion: Opinion) -> None:
    await store.labels.put(a_label(0, opinion))
    assert await store.labels.of_run(RUN) == [a_label(0, opinion)]


async def test_saying_something_else_replaces_what_was_said(store: Store) -> None:
    await store.labels.put(a_label(0))
    later = a_label(0, Opinion.FAIL, why="", created_at=NOON + timedelta(hours=1))
    await store.labels.put(later)
    assert await store.labels.of_run(RUN) == [later]


async def test_others_and_other_grades_are_labels_of_their_own(store: Store) -> None:
    told = [a_label(0), a_label(1), a_label(2, part_id=""), a_label(3, grader="criteria"), a_label(4, labeler="bo")]
    for label in told:
        await store.labels.put(label)
    assert await store.labels.of_run(RUN) == told
    assert await store.labels.of_run(OTHER) == []
    assert await store.labels.counts([RUN, OTHER]) == [LabelCount(RUN, "ana", 4), LabelCount(RUN, "bo", 1)]
    assert await store.labels.counts([]) == []


async def test_only_ones_own_last_label_is_taken_back(store: Store) -> None:
    for label in (a_label(0), a_label(1), a_label(9, labeler="bo")):
        await store.labels.put(label)
    assert await store.labels.take_back(RUN, "ana") == a_label(1)
    assert await store.labels.take_back(RUN, "ana") == a_label(0)
    assert await store.labels.take_back(RUN, "ana") is None
    assert await store.labels.of_run(RUN) == [a_label(9, labeler="bo")]


@pytest.mark.parametrize(
    ("within", "seen"),
    [
        (EVERYWHERE, 1),
        (AccessScope(organization_id="acme"), 1),
        (AccessScope(organization_id="acme", agent_ids=("moss",)), 1),
        (AccessScope(organization_id="other"), 0),
        (AccessScope(organization_id="acme", agent_ids=("elsie",)), 0),
        (AccessScope(organization_id="acme", agent_ids=()), 0),
    ],
)
async def test_who_sees_a_label(store: Store, within: AccessScope, seen: int) -> None:
    await store.labels.put(a_label(0))
    assert len(await store.labels.of_run(RUN, within)) == seen
    assert len(await store.labels.counts([RUN], within)) == seen


async def test_a_label_outlives_its_run(store: Store) -> None:
    await store.create_run(a_run())
    await store.save(RUN, [a_result(0)])
    await store.labels.put(a_label(0))
    await store.delete_run(RUN)
    assert await store.labels.of_run(RUN) == [a_label(0)]


@pytest.mark.parametrize(
    ("opinion", "passed"),
    [(Opinion.PASS, True), (Opinion.FAIL, False), (Opinion.NOT_APPLICABLE, None), (Opinion.CANNOT_TELL, None)],
)
def test_only_pass_and_fail_are_verdicts(opinion: Opinion, passed: bool | None) -> None:
    assert opinion.passed is passed


async def walked(store: Store, limit: int, within: AccessScope = EVERYWHERE, **wanted: Any) -> list[HumanLabel]:
    """Everything, page by page."""
    found: list[HumanLabel] = []
    before: str | None = None
    while True:
        page = await store.labels.several(LabelQuery(limit=limit, before=before, **wanted), within)
        found += page
        if len(page) < limit:
            return found
        before = label_cursor(page, before)


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 7, 8, 50])
async def test_lists_are_the_same_whatever_the_pages(store: Store, limit: int) -> None:
    """Newest first; four of them are of one moment, over several pages."""
    told = [a_label(number, created_at=NOON + timedelta(seconds=min(number, 4))) for number in range(8)]
    for label in told:
        await store.labels.put(label)
    expected = [4, 5, 6, 7, 3, 2, 1, 0]
    assert [label.position for label in await walked(store, limit)] == expected


async def test_lists_are_of_a_run_an_agent_or_a_person(store: Store) -> None:
    told = [a_label(0), a_label(1, labeler="bo"), a_label(2, run_id=OTHER), a_label(3, agent_id="elsie")]
    for label in told:
        await store.labels.put(label)
    assert await walked(store, 2) == told[::-1]
    assert await walked(store, 2, run_id=RUN) == [told[3], told[1], told[0]]
    assert await walked(store, 2, labeler="bo") == [told[1]]
    assert await walked(store, 2, agent_id="elsie") == [told[3]]
    assert await walked(store, 2, run_id=RUN, labeler="ana", agent_id="moss") == [told[0]]
    assert await walked(store, 2, AccessScope(organization_id="other")) == []


async def test_a_list_stands_still_while_labels_come_and_go(store: Store) -> None:
    for number in range(6):
        await store.labels.put(a_label(number))
    first = await store.labels.several(LabelQuery(limit=2))
    place = label_cursor(first, None)
    await store.labels.put(a_label(9))
    await store.labels.remove(a_label(5))
    rest = await store.labels.several(LabelQuery(limit=9, before=place))
    assert [label.position for label in rest] == [3, 2, 1, 0]


@pytest.mark.parametrize("before", ["", "x", "2026-03-01T12:00:00Z~x", "2026-03-01T12:00:00Z~-1", "~3", "2026-03-01~1"])
async def test_a_place_in_another_list_is_refused(store: Store, before: str) -> None:
    with pytest.raises(InputError, match="is not a place in"):
        await store.labels.several(LabelQuery(before=before))


async def test_a_label_is_found_and_taken_away_by_its_id(store: Store) -> None:
    told = [a_label(0), a_label(0, labeler="bo"), a_label(0, part_id="CALM"), a_label(1)]
    for label in told:
        await store.labels.put(label)
    assert len({label.id for label in told}) == 4
    for label in told:
        assert await store.labels.one(RUN, label.id) == label
    await store.labels.remove(told[1])
    with pytest.raises(NotFound, match=f"there is no label {told[1].id} of run {RUN}"):
        await store.labels.one(RUN, told[1].id)
    for run_id, within in (
        (OTHER, EVERYWHERE),
        (RUN, AccessScope(organization_id="other")),
        (RUN, AccessScope(agent_ids=())),
    ):
        with pytest.raises(NotFound):
            await store.labels.one(run_id, told[0].id, within)
    # Once more does no harm.
    await store.labels.remove(told[1])
    assert len(await store.labels.of_run(RUN)) == 3


def test_an_id_is_of_the_grade_and_the_person_not_of_what_they_say() -> None:
    assert a_label(0).id == a_label(0, Opinion.FAIL, why="other", created_at=NOON + timedelta(days=1)).id
    assert a_label(0, grader="a", part_id="b").id != a_label(0, grader="a,b", part_id="").id
    assert len(a_label(0).result_id) == 36
    assert a_label(0).result_id != a_label(0, repeat=2).result_id


async def test_the_newest_of_a_run_come_in_the_order_in_which_they_were_given(store: Store) -> None:
    for position in (3, 0, 2, 1):
        await store.labels.put(a_label(position))
    await store.labels.put(a_label(9, run_id=OTHER))
    assert await store.labels.newest(RUN, 2) == [a_label(2), a_label(3)]
    assert await store.labels.newest(RUN, 9) == [a_label(position) for position in range(4)]
    assert await store.labels.newest(RUN, 9, AccessScope(organization_id="them")) == []


async def test_labels_of_some_results_alone(store: Store) -> None:
    for position in range(4):
        await store.labels.put(a_label(position))
    assert await store.labels.of_run(RUN, positions={3, 1, 8}) == [a_label(1), a_label(3)]
    assert await store.labels.of_run(RUN, positions=()) == []
