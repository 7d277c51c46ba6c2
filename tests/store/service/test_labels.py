"""Labels in the store, on both databases: said, said again, taken back, counted, and seen by those who may."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from assay.model.label import HumanLabel, Opinion
from assay.model.within import EVERYWHERE, Within
from assay.store.service.labels import Labelled
from assay.store.store import Store
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
    assert await store.labels.counts([RUN, OTHER]) == [Labelled(RUN, "ana", 4), Labelled(RUN, "bo", 1)]
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
        (Within(organization_id="acme"), 1),
        (Within(organization_id="acme", agent_ids=("moss",)), 1),
        (Within(organization_id="other"), 0),
        (Within(organization_id="acme", agent_ids=("elsie",)), 0),
        (Within(organization_id="acme", agent_ids=()), 0),
    ],
)
async def test_who_sees_a_label(store: Store, within: Within, seen: int) -> None:
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
