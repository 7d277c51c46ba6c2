"""Finished conversations, graded without calling the agent."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from hosts import hosted, requested
from howsure.errors import NotFound, PlanRefused
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.document import DocumentKind
from howsure.model.result import result_id
from howsure.model.transcript import Role, Transcript
from howsure.reports.evaluations import dataset_id_of
from howsure.services.host.conversations import (
    FinishedConversation,
    build_transcript,
    grade_conversation,
    save_conversations,
)
from howsure.services.host.documents import DocumentChange, add_document
from howsure.services.host.run_requests import submit_run
from howsure.services.host.uploads import Upload, read_case_page, save_run_cases
from howsure.services.workspace import Host
from store.making import RUN, a_result, a_run
from unit.services.host.test_documents import GOOD, RULE

BOT = "def answer(text): raise RuntimeError('nobody asks the bot')"
SAID = (("user", "hello"), ("assistant", "Good day"), ("user", "bye"), ("assistant", "Farewell"))


def finished(**more: Any) -> FinishedConversation:
    return FinishedConversation(**{"messages": SAID, "criteria": ("The answer says farewell",), **more})


def test_the_answer_is_the_last_thing_the_agent_said() -> None:
    assert build_transcript(finished()).answer == "Farewell"
    assert build_transcript(finished(messages=(("user", "hello"),))).answer == ""
    assert [each.role for each in build_transcript(finished()).messages] == [Role.USER, Role.ASSISTANT] * 2


def test_tools_are_called_before_the_last_thing_that_is_said() -> None:
    calls = ({"name": "search", "arguments": {"q": 1}, "result": "found"}, {"tool_name": "close"})
    found = build_transcript(finished(tool_calls=calls))
    assert [each.name for each in found.tool_calls] == ["search", "close"]
    assert found.tool_calls[0].arguments == {"q": 1}
    assert found.tool_calls[0].result is not None
    assert (found.tool_calls[0].result.content, found.tool_calls[1].result) == ("found", None)
    assert [bool(each.tool_calls) for each in found.messages] == [False, False, False, True, False]


def test_tools_of_an_agent_that_said_nothing_come_last() -> None:
    found = build_transcript(finished(messages=(("user", "hello"),), tool_calls=({"name": "search"},)))
    assert [bool(each.tool_calls) for each in found.messages] == [False, True]


@pytest.mark.parametrize("call", [{}, {"name": ""}, {"name": 3}, {"arguments": {}}])
def test_a_call_without_a_name_is_refused(call: dict[str, Any]) -> None:
    with pytest.raises(PlanRefused, match="every call needs a `name`"):
        build_transcript(finished(tool_calls=(call,)))


async def test_a_conversation_is_graded_and_not_kept(tmp_path: Path, database: str) -> None:
    async with hosted(tmp_path, BOT, database) as host:
        await add_document(
            host, DocumentKind.RUBRIC, DocumentChange(body={"name": "Kindness", "rules": [RULE]}), EVERYWHERE, "r1"
        )
        result = await grade_conversation(host, finished(rubric_id="r1", agent_id="nobody"), EVERYWHERE)
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
        await add_document(host, DocumentKind.TEST_SET, DocumentChange(body=body), EVERYWHERE, "t1")
        result = await grade_conversation(host, finished(test_set_id="t1"), EVERYWHERE)
        told = [each["criterion"] for each in result["criteria_scores"]]
        assert told == ["The answer says farewell", "c0", "shared", "c1"]


async def test_what_is_held_against_nothing_is_refused(tmp_path: Path) -> None:
    async with hosted(tmp_path, BOT) as host:
        with pytest.raises(PlanRefused, match="nothing to hold the conversation against"):
            await grade_conversation(host, finished(criteria=()), EVERYWHERE)
        with pytest.raises(PlanRefused, match="is not one this service offers"):
            await grade_conversation(host, finished(judge="openai:gpt-4.1"), EVERYWHERE)


async def test_rubrics_and_test_sets_of_others_are_not_there(tmp_path: Path) -> None:
    theirs, ours = AccessScope(organization_id="theirs"), AccessScope(organization_id="ours")
    async with hosted(tmp_path, BOT) as host:
        await add_document(
            host, DocumentKind.RUBRIC, DocumentChange(body={"name": "Kindness", "rules": [RULE]}), theirs, "r1"
        )
        await add_document(host, DocumentKind.TEST_SET, DocumentChange(body=GOOD[DocumentKind.TEST_SET]), theirs, "t1")
        for more in ({"rubric_id": "r1"}, {"test_set_id": "t1"}):
            with pytest.raises(NotFound):
                await grade_conversation(host, finished(**more), ours)


OTHER_BOT = "def answer(text): return text"
BY = Upload(content=b"", agent_id="a1", author="ana")


async def filled(host: Host, number: int = 3, **run: Any) -> list[str]:
    """A run with results; their ids."""
    await host.store.create_run(a_run(agent="a1", total=number, **run))
    results = [a_result(position) for position in range(number)]
    await host.store.save(RUN, results)
    return [str(result_id(UUID(RUN), each.case.id, each.candidate, each.repeat)) for each in results]


async def test_conversations_become_a_dataset(tmp_path: Path, database: str) -> None:
    async with hosted(tmp_path, OTHER_BOT, database) as host:
        ids = await filled(host)
        document = await save_conversations(host, [ids[2], ids[0], ids[2]], "d1", BY, EVERYWHERE)
        assert (document.id, document.agent_id, document.edition.dialect) == ("d1", "a1", "simulation")
        cases = await read_case_page(host, document, 0, 9)
        said = [case.recorded.answer for case in cases if isinstance(case.recorded, Transcript)]
        assert sorted(said) == ["Answer 0", "Answer 2"]


async def test_one_that_is_not_there_leaves_nothing_behind(tmp_path: Path) -> None:
    async with hosted(tmp_path, OTHER_BOT) as host:
        ids = await filled(host)
        with pytest.raises(NotFound, match="1 of 2 conversations are not there"):
            await save_conversations(host, [ids[0], "nothing"], "d1", BY, EVERYWHERE)
        with pytest.raises(PlanRefused, match="there is no conversation to look at"):
            await save_conversations(host, [], "d1", BY, EVERYWHERE)
        with pytest.raises(NotFound):
            await host.store.documents.get(DocumentKind.DATASET, "d1")


@pytest.mark.parametrize(
    ("within", "seen"),
    [
        (EVERYWHERE, True),
        (AccessScope(organization_id="acme"), True),
        (AccessScope(organization_id="acme", agent_ids=("a1",)), True),
        (AccessScope(organization_id="other"), False),
        (AccessScope(organization_id="acme", agent_ids=("a2",)), False),
    ],
)
async def test_conversations_of_others_are_not_there(tmp_path: Path, within: AccessScope, seen: bool) -> None:
    async with hosted(tmp_path, OTHER_BOT) as host:
        ids = await filled(host, organization_id="acme")
        if seen:
            assert (await save_conversations(host, ids, "d1", BY, within)).organization_id == within.home
        else:
            with pytest.raises(NotFound):
                await save_conversations(host, ids, "d1", BY, within)


async def test_the_cases_of_a_run_are_kept_once_under_the_id_that_it_shows(tmp_path: Path, database: str) -> None:
    async with hosted(tmp_path, OTHER_BOT, database) as host:
        await add_document(
            host, DocumentKind.TEST_SET, DocumentChange(body=GOOD[DocumentKind.TEST_SET]), EVERYWHERE, "t1"
        )
        run = (await submit_run(host, requested(test_set_id="t1", agent_id="a1"), EVERYWHERE)).run
        for _ in range(2):
            await save_run_cases(host, run, "ana", EVERYWHERE)
        kept = await host.store.documents.get(DocumentKind.DATASET, dataset_id_of(run.pins))
        assert (kept.latest, kept.edition.dialect, kept.name) == (1, "test-set", "Greetings.json")
        assert kept.edition.note == "the cases of test set t1, version 1"
        assert [case.id for case in await read_case_page(host, kept, 0, 9)] == ["i1"]


async def test_they_are_those_of_the_version_that_ran(tmp_path: Path) -> None:
    """Though the test set has been changed since, or deleted."""
    async with hosted(tmp_path, OTHER_BOT) as host:
        await add_document(
            host, DocumentKind.TEST_SET, DocumentChange(body=GOOD[DocumentKind.TEST_SET]), EVERYWHERE, "t1"
        )
        run = (await submit_run(host, requested(test_set_id="t1"), EVERYWHERE)).run
        await host.store.documents.delete(DocumentKind.TEST_SET, "t1")
        await save_run_cases(host, run, "ana", EVERYWHERE)
        kept = await host.store.documents.get(DocumentKind.DATASET, dataset_id_of(run.pins))
        assert [case.id for case in await read_case_page(host, kept, 0, 9)] == ["i1"]
