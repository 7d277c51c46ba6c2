"""Answers to requests that may be sent twice, and the log of writes."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from howsure.errors import Conflict
from howsure.model.access_scope import AccessScope
from howsure.store.logs import AuditEntry, IdempotentAnswer
from howsure.store.pages import next_cursor
from howsure.store.store import Store
from store.making import NOON
from store.service.conftest import Clock

MADE = IdempotentAnswer(201, b'{"etag": "1"}', b'{"id": "r1"}')


async def test_a_request_is_done_once_and_answered_the_same_twice(kept: Store) -> None:
    assert await kept.answers.begin("acme", "k1", "hash") is None
    await kept.answers.end("acme", "k1", MADE)
    assert await kept.answers.begin("acme", "k1", "hash") == MADE
    assert await kept.answers.begin("acme", "k1", "hash") == MADE


async def test_a_key_is_an_organisations_own(kept: Store) -> None:
    await kept.answers.begin("acme", "k1", "hash")
    await kept.answers.end("acme", "k1", MADE)
    assert await kept.answers.begin("other", "k1", "another hash") is None


async def test_a_key_of_another_request_is_a_conflict(kept: Store) -> None:
    await kept.answers.begin("acme", "k1", "hash")
    await kept.answers.end("acme", "k1", MADE)
    with pytest.raises(Conflict, match="the idempotency key 'k1' was used for another request: take a new one"):
        await kept.answers.begin("acme", "k1", "another hash")


async def test_of_many_at_once_one_is_done(kept: Store) -> None:
    begun = await asyncio.gather(*(kept.answers.begin("acme", "k1", "hash") for _ in range(8)), return_exceptions=True)
    assert sum(each is None for each in begun) == 1
    assert sum(isinstance(each, Conflict) for each in begun) == 7


async def test_a_request_that_failed_may_be_tried_again(kept: Store) -> None:
    assert await kept.answers.begin("acme", "k1", "hash") is None
    await kept.answers.end("acme", "k1", None)
    assert await kept.answers.begin("acme", "k1", "hash") is None


@pytest.mark.parametrize(
    ("later", "again"), [({"minutes": 1}, False), ({"minutes": 3}, True)], ids=["being answered", "killed"]
)
async def test_a_request_whose_process_was_killed_is_done_after_a_while(
    kept: Store, clock: Clock, later: dict[str, float], again: bool
) -> None:
    await kept.answers.begin("acme", "k1", "hash")
    clock.on(**later)
    if again:
        assert await kept.answers.begin("acme", "k1", "hash") is None
        return
    with pytest.raises(Conflict, match="is being answered: try again later"):
        await kept.answers.begin("acme", "k1", "hash")


async def test_answers_are_forgotten_after_a_day(kept: Store, clock: Clock) -> None:
    await kept.answers.begin("acme", "k1", "hash")
    await kept.answers.end("acme", "k1", MADE)
    clock.on(hours=23)
    assert await kept.answers.begin("acme", "k1", "hash") == MADE
    clock.on(hours=2)
    assert await kept.answers.begin("acme", "k1", "another hash") is None


def a_deed(number: int, **fields: Any) -> AuditEntry:
    plain = {
        "id": f"deed-{number}",
        "organization_id": "acme",
        "at": NOON + timedelta(seconds=number // 2),
        "actor": "me",
        "action": "POST /rubrics",
        "subject": "/api/v1/rubrics",
        "status": 201,
        "request_id": f"r{number}",
    }
    return AuditEntry(**{**plain, **fields})


async def test_what_was_written_is_listed_newest_first(kept: Store) -> None:
    deeds = [a_deed(number) for number in range(5)]
    for deed in deeds:
        await kept.audit.add(deed)
    await kept.audit.add(a_deed(9, organization_id="other"))
    ours = AccessScope(organization_id="acme")
    first = await kept.audit.several(limit=2, within=ours)
    assert first == [deeds[4], deeds[3]]
    rest = await kept.audit.several(before=next_cursor(first[-1]), within=ours)
    assert rest == [deeds[2], deeds[1], deeds[0]]
    assert len(await kept.audit.several()) == 6
    assert await kept.audit.several(within=AccessScope(organization_id="nobody")) == []
