"""`AsyncClient` against a real service: everything that a team does with it, from the first upload to the last key."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from howsure.client.async_client import AsyncClient
from howsure.client.errors import Conflicting, Invalid, ResourceNotFound, ServiceError, VersionConflict, WaitedTooLong
from howsure.errors import Conflict, InputError, NotFound
from howsure.wire.runs import Run

DEMO = Path(__file__).parents[3] / "src" / "howsure" / "demo"
AGENT = "64f0c2a1e4b0a1b2c3d4e5f6"
RULE = {"id": "KIND", "name": "Be kind", "severity": "low", "description": "The answer is kind"}


def entry(number: int, message: str = "") -> dict[str, Any]:
    return {
        "item_id": f"i{number}",
        "type": "single_turn",
        "name": f"Greeting {number}",
        "inputs": {"message": message or f"hello {number}"},
        "expected": {"success_criteria": [f"The answer says hello {number}"]},
    }


def greetings(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"name": "Greetings", "agent_id": AGENT, "items": list(entries)}


@pytest.fixture
async def client(service: str) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(service, environ={}) as opened:
        yield opened


async def finished(client: AsyncClient, *entries: dict[str, Any]) -> Run:
    made = await client.test_sets.create(greetings(*entries))
    started = await client.evaluate(AGENT, made.test_set_id)
    return await client.runs.wait(started.run_id, seconds=30, every=0.05)


async def test_the_service_is_there(client: AsyncClient) -> None:
    assert (await client.health()).status == "ok"
    assert (await client.ready()).status == "ready"
    assert "tool_calls" in [each.type for each in await client.grader_types()]


async def test_a_rubric_has_versions(client: AsyncClient) -> None:
    first = await client.rubrics.create({"name": "Kindness", "agent_id": AGENT, "rules": [RULE]})
    assert (first.version, first.rules[0]["id"], first.deleted) == (1, "KIND", False)
    changed = {"name": "Kindness", "agent_id": AGENT, "rules": [{**RULE, "severity": "high"}]}
    second = await client.rubrics.change(first.rubric_id, changed, version=1)
    assert (second.version, second.latest_version) == (2, 2)
    with pytest.raises(VersionConflict) as raised:
        await client.rubrics.change(first.rubric_id, changed, version=1)
    assert (raised.value.status, raised.value.kind) == (412, "precondition_failed")
    assert [each.version async for each in client.rubrics.versions(first.rubric_id)] == [2, 1]
    (difference,) = await client.rubrics.diff(first.rubric_id, 1, 2)
    assert (difference.path, difference.before, difference.after) == ("rules[KIND].severity", "low", "high")
    third = await client.rubrics.restore(first.rubric_id, 1)
    assert (third.version, third.rules[0]["severity"]) == (3, "low")
    await client.rubrics.delete(first.rubric_id, version=3)
    with pytest.raises(ResourceNotFound):
        await client.rubrics.get(first.rubric_id)
    with pytest.raises(ResourceNotFound):
        await client.rubrics.get(first.rubric_id, 2)


async def test_what_was_read_can_be_sent_back_changed(client: AsyncClient) -> None:
    own = {"name": "Own fields", "agent_id": AGENT, "rules": [{**RULE, "owner": "ann"}], "team": "blue"}
    made = await client.rubrics.create(own)
    assert made.more["team"] == "blue"
    again = await client.rubrics.change(made.rubric_id, made)
    assert (again.version, again.more["team"], again.rules[0]["owner"]) == (2, "blue", "ann")


async def test_lists_go_over_as_many_pages_as_there_are(client: AsyncClient) -> None:
    made = [(await client.configs.create(config(number))).config_id for number in range(5)]
    listed = client.configs.each(agent_id="pages")
    assert [each.config_id async for each in listed] == made[::-1]
    assert [each.config_id async for each in client.configs.each(agent_id="pages", most=2)] == made[:2:-1]
    assert [each async for each in client.configs.each(agent_id="pages", most=0)] == []


def config(number: int) -> dict[str, Any]:
    return {"name": f"c{number}", "agent_id": "pages", "evaluators": [{"type": "tool_calls"}]}


async def test_a_run_is_followed_to_its_results(client: AsyncClient) -> None:
    made = await client.test_sets.create(greetings(entry(1), entry(2)))
    started = await client.evaluate(AGENT, made.test_set_id, name="nightly", repeat=2)
    assert (started.total, started.items_count, started.warnings) == (4, 2, [])
    seen: list[Run] = []
    run = await client.runs.wait(started.run_id, seen.append, seconds=30, every=0.05)
    assert (run.state, run.is_live, run.name, run.completed, run.pending) == ("completed", False, "nightly", 4, 0)
    assert run.total == run.passed + run.failed + run.errored + run.skipped
    assert seen[-1] == run
    results = [each async for each in client.runs.results(run.run_id)]
    assert [(each.test_case_id, each.repeat) for each in results] == [("i1", 1), ("i1", 2), ("i2", 1), ("i2", 2)]
    assert results[0].output["answer"] == "You said hello 1"
    assert [each.criterion for each in results[0].criteria_scores or ()] == ["The answer says hello 1"]
    assert (await client.runs.result(run.run_id, results[0].result_id)) == results[0]
    assert [each.run_id async for each in client.runs.each(agent_id=AGENT, most=1)] == [run.run_id]
    everywhere = [each.result_id async for each in client.results.each(agent_id=AGENT, most=4)]
    assert sorted(everywhere) == sorted(each.result_id for each in results)


async def test_runs_are_steered(client: AsyncClient) -> None:
    run = await finished(client, entry(1), entry(2, "break it"))
    assert (run.errored, run.state) == (1, "completed")
    assert (await client.runs.retry(run.run_id)).is_live
    assert (await client.runs.wait(run.run_id, seconds=30, every=0.05)).errored == 1
    for refused in (client.runs.pause, client.runs.cancel, client.runs.resume):
        with pytest.raises(Conflicting):
            await refused(run.run_id)
    rubric = await client.rubrics.create({"name": "Kindness", "rules": [RULE]})
    again = await client.runs.regrade(run.run_id, rubric_id=rubric.rubric_id)
    graded = await client.runs.wait(again.run_id, seconds=30, every=0.05)
    assert (graded.rubric_id, run.rubric_id) == (rubric.rubric_id, None)
    compared = await client.compare(run.run_id, graded.run_id)
    assert compared["comparisons"][0]["sentence"]
    await client.runs.delete(run.run_id)
    with pytest.raises(ResourceNotFound):
        await client.runs.get(run.run_id)


async def test_a_run_that_is_stopped_is_not_waited_for(client: AsyncClient) -> None:
    made = await client.test_sets.create(greetings(*[entry(number) for number in range(400)]))
    run = await client.runs.start(test_set_id=made.test_set_id, concurrency=1)
    await client.runs.pause(run.run_id)
    paused = await client.runs.wait(run.run_id, seconds=30, every=0.05)
    assert (paused.state, paused.status) in (("paused", "pending"), ("completed", "completed"))
    if paused.state == "paused":
        await client.runs.resume(run.run_id)
        assert (await client.runs.wait(run.run_id, seconds=60, every=0.05)).state == "completed"


async def test_waiting_ends_and_the_run_goes_on(client: AsyncClient) -> None:
    # So many that the run goes on when it is asked after for the first time.
    made = await client.test_sets.create(greetings(*[entry(number) for number in range(300)]))
    run = await client.runs.start(test_set_id=made.test_set_id)
    with pytest.raises(WaitedTooLong, match=r"did not end in 0 s: \d+ of 300 are done, and it goes on"):
        await client.runs.wait(run.run_id, seconds=0)
    assert (await client.runs.wait(run.run_id, seconds=60)).state == "completed"


@pytest.mark.parametrize(
    ("file", "dialect", "cases"),
    [
        ("golden/moss_support_golden.json", "golden", 16),
        ("explain/support-onboarding.explain.jsonl", "explain", 20),
        ("legal/compliance.jsonl", "legal", 24),
        ("simulation/support-simulation.csv", "simulation", 13),
        ("test-set/test-set.json", "test-set", 12),
    ],
)
async def test_a_file_of_any_dialect_is_uploaded(client: AsyncClient, file: str, dialect: str, cases: int) -> None:
    dataset = await client.datasets.upload(DEMO / file)
    assert (dataset.dialect, dataset.cases, dataset.name) == (dialect, cases, Path(file).name)
    assert await client.datasets.content(dataset.dataset_id, 1) == (DEMO / file).read_bytes()
    listed = [each async for each in client.datasets.cases(dataset.dataset_id)]
    assert len(listed) == cases
    assert await client.datasets.case(listed[0].id) == listed[0]


async def test_single_cases_come_and_go(client: AsyncClient) -> None:
    made = await client.datasets.upload(DEMO / "legal" / "compliance.jsonl", name="legal.jsonl")
    first = [each async for each in client.datasets.cases(made.dataset_id, most=1)]
    await client.datasets.remove_case(first[0].id)
    assert (await client.datasets.get(made.dataset_id)).cases == (made.cases or 0) - 1
    line = (DEMO / "legal" / "compliance.jsonl").read_text(encoding="utf-8")
    changed = await client.datasets.change(made.dataset_id, {"name": "legal.jsonl", "content": line}, version=2)
    assert (changed.version, changed.cases) == (3, made.cases)
    await client.datasets.delete(made.dataset_id)
    assert made.dataset_id not in [each.dataset_id async for each in client.datasets.each(name="legal.jsonl")]


async def test_every_problem_of_a_file_is_named(client: AsyncClient) -> None:
    with pytest.raises(Invalid) as raised:
        await client.datasets.upload(b'{"schema_version": "legal_eval_v1"}\n{broken\n', name="a.jsonl", dialect="legal")
    error = raised.value
    assert (error.status, error.kind, len(error.problems) > 1) == (422, "invalid", True)
    assert {problem.line for problem in error.problems} == {1, 2}
    assert isinstance(error, InputError)
    assert error.request_id


async def test_a_question_set_is_run(client: AsyncClient) -> None:
    asked = {"name": "Questions", "questions": [{"question": "hello", "expected_answer": "You said hello"}]}
    made = await client.question_sets.create(asked)
    run = await client.runs.start(question_set_id=made.question_set_id)
    assert (await client.runs.wait(run.run_id, seconds=30, every=0.05)).total == 1


async def test_a_bot_is_described(client: AsyncClient) -> None:
    bot = await client.bots.describe(
        "bot-1", {"bot_name": "Moss", "tools": [{"tool_name": "refund"}], "colour": "green"}
    )
    assert (bot.bot_id, bot.bot_name, bot.more["colour"]) == ("bot-1", "Moss", "green")
    assert await client.bots.get("bot-1") == bot
    with pytest.raises(ResourceNotFound) as raised:
        await client.bots.get("nobody")
    assert isinstance(raised.value, NotFound)


async def test_a_conversation_is_graded_at_once(client: AsyncClient) -> None:
    said = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "You said hello"}]
    result = await client.evaluate_transcript(said, success_criteria=["The answer says hello"])
    assert [each.criterion for each in result.criteria_scores or ()] == ["The answer says hello"]


async def test_keys_are_made_and_revoked(client: AsyncClient, service: str) -> None:
    made = await client.keys.create("reader", ["read"], organization_id="org", days=1)
    assert (made.scopes, made.organization_id, made.agent_ids) == (["read"], "org", None)
    assert made.secret not in repr(made)
    async with AsyncClient(service, environ={"HOWSURE_API_KEY": made.secret}) as reader:
        assert [each async for each in reader.runs.each()] == []
        with pytest.raises(ServiceError, match="it needs the scope 'write'") as raised:
            await reader.rubrics.create({"name": "x", "rules": [RULE]})
        assert type(raised.value).__name__ == "Forbidden"
        await client.keys.revoke(made.id)
        with pytest.raises(ServiceError, match="revoked") as refused:
            await reader.runs.get("x")
        assert type(refused.value).__name__ == "Unauthorized"
    assert made.id in [each.id async for each in client.keys.each()]
    refusal, revoking = [each async for each in client.keys.deeds(most=2)]
    assert (refusal.action.partition(" ")[0], refusal.subject, refusal.status) == ("GET", "/api/v1/runs/x", 401)
    assert (revoking.action.partition(" ")[0], revoking.subject) == ("DELETE", f"/api/v1/keys/{made.id}")
    assert revoking.status == 200


async def test_ids_that_look_like_paths_stay_ids(client: AsyncClient) -> None:
    for odd in ("../rubrics", "a/b", "a?b=c", "a#b", "ü"):
        with pytest.raises(ServiceError) as raised:
            await client.runs.get(odd)
        assert raised.value.status in (404, 422)


async def test_a_conflict_is_also_ours(client: AsyncClient) -> None:
    run = await finished(client, entry(1))
    with pytest.raises(Conflict):
        await client.runs.retry(run.run_id)
