"""Versions of datasets and of descriptions of agents from a script; and whoever wrote them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from howsure.client.async_client import AsyncClient
from howsure.client.blocking_client import Client
from howsure.client.errors import ResourceNotFound, VersionConflict
from unit.client.test_async_client import RULE


@pytest.fixture
async def client(service: str) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(service, environ={}) as opened:
        yield opened


@pytest.fixture
def script(service: str) -> Iterator[Client]:
    with Client(service, environ={}) as opened:
        yield opened


def case(number: int, prompt: str = "") -> dict[str, Any]:
    head = {"schema_version": "legal_eval_v1", "id": f"q{number}", "dataset": "house", "task_type": "reference_qa"}
    return {**head, "prompt": prompt or f"Who is {number}?", "reference_answers": ["Ada"]}


def lines(*cases: dict[str, Any]) -> str:
    return "".join(json.dumps(each) + "\n" for each in cases)


async def test_a_dataset_has_versions(client: AsyncClient) -> None:
    first = await client.datasets.upload(lines(case(1), case(2)).encode(), name="house.jsonl", agent_id="a1")
    changed = {"name": "house.jsonl", "content": lines(case(2, "Who else?"), case(3)), "note": "clearer"}
    second = await client.datasets.change(first.dataset_id, changed, version=1)
    assert (second.version, second.cases, second.note) == (2, 2, "clearer")
    assert [(each.version, each.note) for each in second.changelog or ()] == [(2, "clearer"), (1, None)]
    listed = [each async for each in client.datasets.versions(first.dataset_id)]
    assert [(each.version, each.cases, each.changelog) for each in listed] == [(2, 2, None), (1, None, None)]
    assert [each.version async for each in client.datasets.versions(first.dataset_id, most=1)] == [2]
    old = await client.datasets.get(first.dataset_id, 1)
    assert (old.version, old.sha256, old.latest_version) == (1, first.sha256, 2)
    found = await client.datasets.diff(first.dataset_id, 1, 2)
    assert [(each.path, each.kind) for each in found] == [
        ("cases[q1]", "removed"),
        ("cases[q2].input.message", "changed"),
        ("cases[q3]", "added"),
    ]
    assert (found[1].before, found[1].after) == ("Who is 2?", "Who else?")
    third = await client.datasets.restore(first.dataset_id, 1)
    assert (third.version, third.sha256, third.note) == (3, first.sha256, "version 1 restored")
    with pytest.raises(ResourceNotFound, match="has no version 9; the newest is 3"):
        await client.datasets.get(first.dataset_id, 9)


async def test_a_description_has_versions(client: AsyncClient) -> None:
    for text in ("Be kind.", "Be brief."):
        await client.bots.describe("bot-v", {"bot_name": "Moss", "system_prompt": text})
    listed = [each async for each in client.bots.versions("bot-v")]
    assert [(each.version, each.system_prompt, each.author) for each in listed] == [
        (2, "Be brief.", "local"),
        (1, "Be kind.", "local"),
    ]
    (difference,) = await client.bots.diff("bot-v", 1, 2)
    assert (difference.path, difference.before, difference.after) == ("system_prompt", "Be kind.", "Be brief.")
    restored = await client.bots.restore("bot-v", 1)
    assert (restored.version, restored.latest_version, restored.system_prompt) == (3, 3, "Be kind.")
    assert (await client.bots.get("bot-v")).system_prompt == "Be kind."
    with pytest.raises(VersionConflict):
        await client.bots.describe("bot-v", {"bot_name": "Moss"}, version=1)
    await client.bots.describe("bot-v", {"bot_name": "Moss"}, version=3)
    with pytest.raises(ResourceNotFound):
        _ = [each async for each in client.bots.versions("nobody")]


async def test_who_wrote_what_goes_with_the_document_and_not_back(client: AsyncClient) -> None:
    made = await client.rubrics.create({"name": "Kindness", "rules": [RULE], "note": "first"})
    assert made.changelog is not None
    (written,) = made.changelog
    assert (written.version, written.author, written.note) == (1, "local", "first")
    assert written.created_at == made.created_at
    again = await client.rubrics.change(made.rubric_id, made)
    assert [each.version for each in again.changelog or ()] == [2, 1]
    assert "changelog" not in again.more
    assert [each.changelog async for each in client.rubrics.each(name="Kindness", most=1)] == [None]


def test_a_script_says_the_same(script: Client) -> None:
    made = script.datasets.upload(lines(case(1)).encode(), name="script.jsonl")
    assert [each.version for each in script.datasets.versions(made.dataset_id)] == [1]
    assert script.datasets.diff(made.dataset_id, 1, 1) == []
    assert script.datasets.restore(made.dataset_id, 1).version == 2
    script.bots.describe("bot-s", {"bot_name": "Moss"})
    assert [each.version for each in script.bots.versions("bot-s")] == [1]
    assert script.bots.diff("bot-s", 1, 1) == []
    assert script.bots.restore("bot-s", 1).version == 2
