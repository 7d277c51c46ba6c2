"""Labels from a script: given, given again, taken back, and held against the judge."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

from howsure.client.async_client import AsyncClient
from howsure.client.blocking_client import Client
from howsure.client.errors import Invalid, ResourceNotFound
from howsure.client.runs import Opinion
from howsure.wire.results import Result
from howsure.wire.runs import Run
from unit.client.test_async_client import AGENT, entry, finished


@pytest.fixture
async def client(service: str) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(service, environ={}) as opened:
        yield opened


async def graded(client: AsyncClient) -> tuple[Run, list[Result]]:
    run = await finished(client, entry(1), entry(2))
    return run, [each async for each in client.runs.results(run.run_id)]


def criterion(result: Result) -> str:
    assert result.criteria_scores is not None
    (score,) = result.criteria_scores
    assert score.criterion_id
    return score.criterion_id


async def test_a_label_is_given_and_taken_back(client: AsyncClient) -> None:
    run, results = await graded(client)
    first = results[0]
    label = await client.labels.give(
        run.run_id, first.result_id, "criteria", "fail", criterion_id=criterion(first), why="no", labeler="ana"
    )
    assert (label.run_id, label.result_id, label.test_case_id) == (run.run_id, first.result_id, "i1")
    assert (label.opinion, label.passed, label.labeler, label.why, label.blind) == ("fail", False, "ana", "no", True)
    assert [each async for each in client.labels.of_run(run.run_id)] == [label]
    again = await client.labels.give(run.run_id, "i1", "criteria", "pass", criterion_id=criterion(first), labeler="ana")
    assert (again.label_id, again.passed) == (label.label_id, True)
    await client.labels.take_back(run.run_id, label.label_id)
    assert [each async for each in client.labels.of_run(run.run_id)] == []
    with pytest.raises(ResourceNotFound):
        await client.labels.take_back(run.run_id, label.label_id)


async def test_labels_are_listed_by_run_person_and_agent(client: AsyncClient) -> None:
    run, results = await graded(client)
    for result in results:
        for who in ("ana", "bo"):
            await client.labels.give(
                run.run_id, result.result_id, "criteria", "pass", criterion_id=criterion(result), labeler=who
            )
    listed = [each async for each in client.labels.of_run(run.run_id)]
    assert [(each.test_case_id, each.labeler) for each in listed] == [
        ("i2", "bo"),
        ("i2", "ana"),
        ("i1", "bo"),
        ("i1", "ana"),
    ]
    assert [each async for each in client.labels.of_run(run.run_id, most=3)] == listed[:3]
    assert [each async for each in client.labels.of_run(run.run_id, labeler="bo")] == listed[::2]
    assert [each async for each in client.labels.each(agent_id=AGENT, most=4)] == listed
    assert [each async for each in client.labels.each(labeler="nobody")] == []


async def test_people_are_held_against_the_judge(client: AsyncClient) -> None:
    run, results = await graded(client)
    for result in results:
        assert result.criteria_scores is not None
        (score,) = result.criteria_scores
        said: Opinion = "pass" if score.passed else "fail"
        await client.labels.give(run.run_id, result.result_id, "criteria", said, criterion_id=score.criterion_id)
    found = await client.labels.agreement(run.run_id)
    assert (found.labels, found.judge, found.people) == (2, "offline", {"local": 2})
    assert (found.overall.n, found.overall.agreed, found.overall.agreement) == (2, 2, 1.0)
    assert set(found.graders) == {"criteria"}
    assert found.overall.confusion.people_pass_judge_fail == 0
    lines = [json.loads(line) for line in (await client.labels.file(run.run_id)).splitlines()]
    assert sorted(line["case_id"] for line in lines) == ["i1", "i2"]


async def test_what_is_wrong_with_a_label_is_told(client: AsyncClient) -> None:
    run, results = await graded(client)
    with pytest.raises(Invalid, match="'nobody' gave nothing to case 'i1'; expected one of criteria"):
        await client.labels.give(run.run_id, results[0].result_id, "nobody", "pass")
    with pytest.raises(Invalid, match="'criteria' has no 'NOPE'; expected one of"):
        await client.labels.give(run.run_id, results[0].result_id, "criteria", "pass", criterion_id="NOPE")
    with pytest.raises(ResourceNotFound):
        await client.labels.agreement("nothing")


async def test_a_script_says_the_same_without_waiting(client: AsyncClient, service: str) -> None:
    run, results = await graded(client)
    with Client(service, environ={}) as script:
        label = script.labels.give(run.run_id, "i2", "criteria", "pass", criterion_id=criterion(results[1]))
        assert list(script.labels.of_run(run.run_id)) == [label]
        assert next(script.labels.each(most=1)) == label
        assert script.labels.agreement(run.run_id).labels == 1
        assert script.labels.file(run.run_id).count(b"\n") == 1
        script.labels.take_back(run.run_id, label.label_id)
        assert list(script.labels.of_run(run.run_id)) == []
