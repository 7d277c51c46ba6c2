"""The library: documents checked before they are kept, ids where there were none, and nobody's boundaries crossed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hosts import hosted
from howsure.errors import Conflict, DatasetInvalid, NotFound, PlanRefused
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.document import DocumentKind
from howsure.services.hosting.library import Change, add, change, restore, with_distinct_tools, with_ids
from howsure.services.hosting.shapes import body_of, whole

BOT = "def answer(text): return text"
RULE = {"id": "KIND", "name": "Be kind", "severity": "low", "description": "The answer is kind"}
ENTRY = {
    "type": "single_turn",
    "name": "Greeting",
    "inputs": {"message": "hello"},
    "expected": {"success_criteria": ["The answer says hello"]},
}
GOOD: dict[DocumentKind, dict[str, Any]] = {
    DocumentKind.RUBRIC: {"name": "Kindness", "rules": [RULE]},
    DocumentKind.TEST_SET: {"name": "Greetings", "items": [{"item_id": "i1", **ENTRY}]},
    DocumentKind.QUESTION_SET: {
        "name": "Questions",
        "questions": [{"question_id": "q1", "question": "Who?", "expected_answer": "Ada"}],
    },
    DocumentKind.AGENT: {"bot_name": "Moss", "system_prompt": "Be kind."},
    DocumentKind.GRADERS: {"name": "Criteria", "evaluators": [{"type": "criteria"}]},
}
BAD: list[tuple[DocumentKind, dict[str, Any], str]] = [
    (DocumentKind.RUBRIC, {"name": "x", "rules": [RULE, RULE]}, "KIND"),
    (DocumentKind.RUBRIC, {"name": "x", "rules": [{"id": "A", "name": "a", "severity": "grave"}]}, "severity"),
    (DocumentKind.TEST_SET, {"name": "x", "items": [{**ENTRY, "type": "dream"}]}, "type"),
    (DocumentKind.TEST_SET, {"name": "x", "items": [{"item_id": "a", **ENTRY}, {"item_id": "a", **ENTRY}]}, "a"),
    (DocumentKind.QUESTION_SET, {"name": "x", "questions": [{"question_id": "q", "question": "Who?"}]}, "needs"),
    (DocumentKind.GRADERS, {"name": "x", "evaluators": [{"type": "nobody"}]}, "there is no grader 'nobody'"),
    (DocumentKind.AGENT, {"bot_name": "x", "tools": [{"name": "no tool_name"}]}, "tool_name"),
]


@pytest.mark.parametrize("kind", list(GOOD), ids=lambda kind: kind.value)
async def test_a_document_is_kept_changed_and_restored(tmp_path: Path, database: str, kind: DocumentKind) -> None:
    async with hosted(tmp_path, BOT, database) as host:
        first = await add(host, kind, Change(body=GOOD[kind], author="ana"), EVERYWHERE, "k1")
        assert (first.id, first.edition.version, first.edition.author) == ("k1", 1, "ana")
        named = {"bot_name" if kind is DocumentKind.AGENT else "name": "Better", "team": "blue"}
        said = Change(body={**GOOD[kind], **named}, author="bo", note="better")
        second = await change(host, kind, "k1", said, EVERYWHERE)
        assert (second.edition.version, second.name, second.edition.note) == (2, "Better", "better")
        assert body_of(second)["team"] == "blue"
        third = await restore(host, kind, "k1", 1, Change(body={}, author="cy"), EVERYWHERE)
        assert (third.edition.version, third.edition.note) == (3, "version 1 restored")
        assert body_of(third) == body_of(first)


@pytest.mark.parametrize(("kind", "body", "told"), BAD, ids=[f"{kind.value}-{told}" for kind, _, told in BAD])
async def test_what_is_wrong_is_not_kept(tmp_path: Path, kind: DocumentKind, body: dict[str, Any], told: str) -> None:
    async with hosted(tmp_path, BOT) as host:
        with pytest.raises(DatasetInvalid) as raised:
            await add(host, kind, Change(body=body), EVERYWHERE, "k1")
        assert any(told in f"{each.field} {each.message} {each.found}" for each in raised.value.problems)
        with pytest.raises(NotFound):
            await host.store.documents.get(kind, "k1")


async def test_what_was_read_may_be_sent_back(tmp_path: Path) -> None:
    """Ids, versions and times in it are ours."""
    async with hosted(tmp_path, BOT) as host:
        first = await add(host, DocumentKind.RUBRIC, Change(body=GOOD[DocumentKind.RUBRIC]), EVERYWHERE, "k1")
        forged = {**whole(first), "rubric_id": "other", "version": 99, "created_at": "1999", "latest_version": 7,
                  "author": "mallory", "deleted": True, "changelog": ["x"]}  # fmt: skip
        second = await change(host, DocumentKind.RUBRIC, "k1", Change(body=forged, author="ana"), EVERYWHERE)
        assert body_of(second) == {**body_of(first), "description": "", "severity_definitions": {}}
        assert (second.id, second.edition.version, second.edition.author) == ("k1", 2, "ana")


async def test_an_agent_that_is_not_named_stays(tmp_path: Path) -> None:
    async with hosted(tmp_path, BOT) as host:
        body = {**GOOD[DocumentKind.RUBRIC], "agent_id": "a1"}
        await add(host, DocumentKind.RUBRIC, Change(body=body), EVERYWHERE, "k1")
        silent = await change(host, DocumentKind.RUBRIC, "k1", Change(body={"rules": [RULE]}), EVERYWHERE)
        assert (silent.agent_id, silent.name) == ("a1", "Kindness")
        moved = await change(host, DocumentKind.RUBRIC, "k1", Change(body={**body, "agent_id": "a2"}), EVERYWHERE)
        assert moved.agent_id == "a2"


async def test_nobody_writes_for_agents_that_are_not_theirs(tmp_path: Path, database: str) -> None:
    ours = AccessScope(organization_id="acme", agent_ids=("a1",))
    async with hosted(tmp_path, BOT, database) as host:
        for agent in ("a2", None):
            body = {**GOOD[DocumentKind.RUBRIC], "agent_id": agent}
            with pytest.raises(PlanRefused, match="may write for the agents a1 only"):
                await add(host, DocumentKind.RUBRIC, Change(body=body), ours, "k1")
        body = {**GOOD[DocumentKind.RUBRIC], "agent_id": "a1"}
        await add(host, DocumentKind.RUBRIC, Change(body=body), ours, "k1")
        with pytest.raises(PlanRefused):
            await change(host, DocumentKind.RUBRIC, "k1", Change(body={**body, "agent_id": "a2"}), ours)
        with pytest.raises(NotFound):
            await change(host, DocumentKind.RUBRIC, "k1", Change(body=body), AccessScope(organization_id="other"))


async def test_of_two_changes_to_the_same_version_one_is_refused(tmp_path: Path, database: str) -> None:
    async with hosted(tmp_path, BOT, database) as host:
        said = Change(body=GOOD[DocumentKind.RUBRIC])
        await add(host, DocumentKind.RUBRIC, said, EVERYWHERE, "k1")
        with pytest.raises(Conflict):
            await add(host, DocumentKind.RUBRIC, said, EVERYWHERE, "k1")
        await change(host, DocumentKind.RUBRIC, "k1", said, EVERYWHERE, expected=1)
        with pytest.raises(Conflict):
            await change(host, DocumentKind.RUBRIC, "k1", said, EVERYWHERE, expected=1)


@pytest.mark.parametrize(
    ("kind", "listed", "key"),
    [(DocumentKind.TEST_SET, "items", "item_id"), (DocumentKind.QUESTION_SET, "questions", "question_id")],
)
def test_what_has_no_id_gets_one_and_what_has_keeps_it(kind: DocumentKind, listed: str, key: str) -> None:
    body = with_ids(kind, {listed: [{"name": "a"}, {key: "mine"}, {key: ""}, {key: None}]})
    ids = [each[key] for each in body[listed]]
    assert ids[1] == "mine"
    assert len(set(ids[:2])) == 2
    assert len(ids[0]) == 36
    assert with_ids(DocumentKind.RUBRIC, {"rules": [{}]}) == {"rules": [{}]}
    assert with_ids(kind, {listed: "no list"}) == {listed: "no list"}


def test_each_tool_is_there_once() -> None:
    tools = [{"id": "1", "tool_name": "refund"}, {"id": "1", "tool_name": "refund", "late": True},
             {"id": "2", "tool_name": "refund"}, {"tool_name": "search"}, {"tool_name": "search"}]  # fmt: skip
    assert with_distinct_tools({"tools": tools})["tools"] == [tools[0], tools[2], tools[3]]
    assert with_distinct_tools({"tools": None}) == {"tools": None}
    assert with_distinct_tools({}) == {}
