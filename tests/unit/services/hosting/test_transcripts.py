"""One finished conversation, graded on the spot: what was said, what was done, and that nothing is kept of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hosts import hosted
from howsure.errors import NotFound, PlanRefused
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.document import DocumentKind
from howsure.model.transcript import Role
from howsure.services.hosting.library import Change, add
from howsure.services.hosting.transcripts import Finished, graded, transcript_of
from unit.services.hosting.test_library import GOOD, RULE

BOT = "def answer(text): raise RuntimeError('nobody asks the bot')"
SAID = (("user", "hello"), ("assistant", "Good day"), ("user", "bye"), ("assistant", "Farewell"))


def finished(**more: Any) -> Finished:
    return Finished(**{"messages": SAID, "criteria": ("The answer says farewell",), **more})


def test_the_answer_is_the_last_thing_the_agent_said() -> None:
    assert transcript_of(finished()).answer == "Farewell"
    assert transcript_of(finished(messages=(("user", "hello"),))).answer == ""
    assert [each.role for each in transcript_of(finished()).messages] == [Role.USER, Role.ASSISTANT] * 2


def test_tools_are_called_before_the_last_thing_that_is_said() -> None:
    calls = ({"name": "search", "arguments": {"q": 1}, "result": "found"}, {"tool_name": "close"})
    found = transcript_of(finished(tool_calls=calls))
    assert [each.name for each in found.tool_calls] == ["search", "close"]
    assert found.tool_calls[0].arguments == {"q": 1}
    assert found.tool_calls[0].result is not None
    assert (found.tool_calls[0].result.content, found.tool_calls[1].result) == ("found", None)
    assert [bool(each.tool_calls) for each in found.messages] == [False, False, False, True, False]


def test_tools_of_an_agent_that_said_nothing_come_last() -> None:
    found = transcript_of(finished(messages=(("user", "hello"),), tool_calls=({"name": "search"},)))
    assert [bool(each.tool_calls) for each in found.messages] == [False, True]


@pytest.mark.parametrize("call", [{}, {"name": ""}, {"name": 3}, {"arguments": {}}])
def test_a_call_without_a_name_is_refused(call: dict[str, Any]) -> None:
    with pytest.raises(PlanRefused, match="every call needs a `name`"):
        transcript_of(finished(tool_calls=(call,)))


async def test_a_conversation_is_graded_and_not_kept(tmp_path: Path, database: str) -> None:
    async with hosted(tmp_path, BOT, database) as host:
        await add(host, DocumentKind.RUBRIC, Change(body={"name": "Kindness", "rules": [RULE]}), EVERYWHERE, "r1")
        result = await graded(host, finished(rubric_id="r1", agent_id="nobody"), EVERYWHERE)
        assert [each["criterion"] for each in result["criteria_scores"]] == ["The answer says farewell"]
        assert [each["rule_id"] for each in result["rubric_scores"]] == ["KIND"]
        assert [each["content"] for each in result["output"]["messages"]] == [text for _, text in SAID]
        assert result["duration_ms"] >= 0
        assert await host.store.runs(limit=9) == []


async def test_the_criteria_of_a_test_set_are_pooled(tmp_path: Path) -> None:
    entries = [
        {**GOOD[DocumentKind.TEST_SET]["items"][0], "item_id": f"i{number}",
         "expected": {"success_criteria": [f"c{number}", "shared"]}}
        for number in range(2)
    ]  # fmt: skip
    async with hosted(tmp_path, BOT) as host:
        body = {"name": "Greetings", "items": entries}
        await add(host, DocumentKind.TEST_SET, Change(body=body), EVERYWHERE, "t1")
        result = await graded(host, finished(test_set_id="t1"), EVERYWHERE)
        told = [each["criterion"] for each in result["criteria_scores"]]
        assert told == ["The answer says farewell", "c0", "shared", "c1"]


async def test_what_is_held_against_nothing_is_refused(tmp_path: Path) -> None:
    async with hosted(tmp_path, BOT) as host:
        with pytest.raises(PlanRefused, match="nothing to hold the conversation against"):
            await graded(host, finished(criteria=()), EVERYWHERE)
        with pytest.raises(PlanRefused, match="is not one this service offers"):
            await graded(host, finished(judge="openai:gpt-4.1"), EVERYWHERE)


async def test_rubrics_and_test_sets_of_others_are_not_there(tmp_path: Path) -> None:
    theirs, ours = AccessScope(organization_id="theirs"), AccessScope(organization_id="ours")
    async with hosted(tmp_path, BOT) as host:
        await add(host, DocumentKind.RUBRIC, Change(body={"name": "Kindness", "rules": [RULE]}), theirs, "r1")
        await add(host, DocumentKind.TEST_SET, Change(body=GOOD[DocumentKind.TEST_SET]), theirs, "t1")
        for more in ({"rubric_id": "r1"}, {"test_set_id": "t1"}):
            with pytest.raises(NotFound):
                await graded(host, finished(**more), ours)
