"""What may be asked of a run: whose documents, which targets, judges and simulators, and what is refused beforehand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hosts import a_dataset, hosted, ordered, question, requested
from howsure.errors import InputError, NotFound, PlanRefused
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.document import DocumentKind
from howsure.model.run import RunState
from howsure.services.host.documents import DocumentChange, add_document
from howsure.services.host.run_requests import allowed_judge, allowed_simulator, allowed_target, submit_run
from howsure.services.workspace import Host
from unit.services.host.test_documents import GOOD

BOT = "def answer(text): return 'Answer: A'"
OTHER: dict[str, dict[str, Any]] = {"other": {"kind": "http"}}
LISTED = ("bots.example", "10.0.0.0/8", "[::1]:9000")


@pytest.mark.parametrize(
    ("wanted", "agent", "target"),
    [
        ("", "", "bot"),
        ("", "a1", "other"),
        ("recorded", "a1", "recorded"),
        ("other", "", "other"),
        ("replay:other", "", "replay:other"),
        ("http://bots.example/chat", "", "http://bots.example/chat"),
        ("https://BOTS.example:8443/chat", "", "https://BOTS.example:8443/chat"),
        ("http:http://bots.example/chat", "", "http:http://bots.example/chat"),
        ("replay:http://10.1.2.3/", "", "replay:http://10.1.2.3/"),
        ("http://[::1]:9000/", "", "http://[::1]:9000/"),
    ],
)
async def test_a_target_that_may_be_asked_for(tmp_path: Path, wanted: str, agent: str, target: str) -> None:
    async with hosted(tmp_path, BOT, targets=OTHER, hosts=LISTED, bots={"a1": "other"}) as host:
        assert allowed_target(host, wanted, agent, EVERYWHERE) == target


@pytest.mark.parametrize(
    "wanted",
    ["http://evil.example/", "http://bots.example.evil.example/", "http://127.0.0.1/", "http://[::1]:9001/", "ftp://bots.example/",
     "function:os:getcwd", "command:ls", "/bin/sh", "nobody", "replay:nobody", "http://", "file:///etc/passwd"],
)  # fmt: skip
async def test_a_target_that_may_not_be_asked_for(tmp_path: Path, wanted: str) -> None:
    async with hosted(tmp_path, BOT, hosts=LISTED) as host:
        with pytest.raises(PlanRefused, match=r"is not one this service offers|is not among those this service may"):
            allowed_target(host, wanted, "", EVERYWHERE)


@pytest.mark.parametrize(
    ("wanted", "given"),
    [("", "offline"), ("offline", "offline"), ("openai:gpt-5-mini", "openai:gpt-5-mini"), ("openai:gpt-4.1", None),
     ("recorded:/etc/passwd", None), ("panel", None)],
)  # fmt: skip
async def test_nobody_spends_what_the_operator_did_not_offer(tmp_path: Path, wanted: str, given: str | None) -> None:
    async with hosted(tmp_path, BOT, judges=("openai:gpt-5-mini",)) as host:
        for choose in (allowed_judge, allowed_simulator):
            if given is None:
                with pytest.raises(PlanRefused, match="is not one this service offers"):
                    choose(host, wanted, EVERYWHERE)
            else:
                assert choose(host, wanted, EVERYWHERE) == given


async def test_cases_come_from_one_place(tmp_path: Path) -> None:
    async with hosted(tmp_path, BOT) as host:
        for order, number in ((requested(), 0), (requested(dataset_id="d", test_set_id="t"), 2)):
            with pytest.raises(PlanRefused, match=f"found {number}"):
                await submit_run(host, order, EVERYWHERE)
        with pytest.raises(NotFound):
            await submit_run(host, requested(dataset_id="nothing"), EVERYWHERE)
        assert await host.store.runs(limit=9) == []


async def test_a_run_is_a_row_before_it_is_work(tmp_path: Path, database: str) -> None:
    async with hosted(tmp_path, BOT, database) as host:
        document = await a_dataset(host, *map(question, range(3)))
        made = await submit_run(
            host, requested(dataset_id=document.id, agent_id="a1", name="nightly"), EVERYWHERE, RUN_ID
        )
        run = await host.store.run(RUN_ID)
        assert (made.run.id, run.name, run.state, run.counts.total) == (RUN_ID, "nightly", RunState.PENDING, 3)
        assert run.pins.agent_key == "a1"
        job = await host.store.queue.job(RUN_ID)
        assert job is not None
        assert json.loads(job.request)["datasets"] == [f"document:dataset/{document.id}"]


RUN_ID = "11111111-1111-4111-8111-111111111111"


@pytest.mark.parametrize(
    ("order", "total"),
    [
        ({}, 6),
        ({"limit": 2}, 2),
        ({"repeat": 3}, 18),
        ({"case_ids": ("q1", "q4")}, 2),
        ({"case_ids": ("q1",), "repeat": 2}, 2),
    ],
)
async def test_a_part_and_repeats(tmp_path: Path, order: dict[str, Any], total: int) -> None:
    async with hosted(tmp_path, BOT) as host:
        run = await ordered(host, await a_dataset(host, *map(question, range(6))), **order)
        assert run.counts.total == total


@pytest.mark.parametrize(
    "order",
    [{"budget": "lots"}, {"gates": ("nonsense",)}, {"case_ids": ("nope",)}, {"profile": "nope"}, {"graders": ("nope",)},
     {"rubric_id": "nope"}, {"config_id": "nope"}, {"answers_of": RUN_ID}],
)  # fmt: skip
async def test_what_cannot_be_had_is_refused_before_anything_is_stored(tmp_path: Path, order: dict[str, Any]) -> None:
    async with hosted(tmp_path, BOT) as host:
        document = await a_dataset(host, question(1))
        with pytest.raises(InputError):
            await ordered(host, document, **order)
        assert await host.store.runs(limit=9) == []


async def described(host: Host, within: AccessScope, **body: Any) -> None:
    given = {**GOOD[DocumentKind.AGENT], **body}
    await add_document(host, DocumentKind.AGENT, DocumentChange(body=given), within, "a1")


async def test_the_model_of_the_agent_is_pinned(tmp_path: Path) -> None:
    async with hosted(tmp_path, BOT) as host:
        await described(host, EVERYWHERE, llm_config={"provider": "openai", "model": "gpt-4.1"})
        run = await ordered(host, await a_dataset(host, question(1)), agent_id="a1")
        assert run.pins.agent is not None
        assert run.pins.agent.model is not None
        assert (run.pins.agent.model.provider, run.pins.agent.model.model) == ("openai", "gpt-4.1")


async def test_what_others_have_cannot_be_run(tmp_path: Path, database: str) -> None:
    ours, theirs = AccessScope(organization_id="ours"), AccessScope(organization_id="theirs")
    async with hosted(tmp_path, BOT, database) as host:
        await add_document(host, DocumentKind.TEST_SET, DocumentChange(body=GOOD[DocumentKind.TEST_SET]), theirs, "t1")
        await add_document(host, DocumentKind.RUBRIC, DocumentChange(body=GOOD[DocumentKind.RUBRIC]), theirs, "r1")
        await add_document(host, DocumentKind.TEST_SET, DocumentChange(body=GOOD[DocumentKind.TEST_SET]), ours, "t2")
        for order in (requested(test_set_id="t1"), requested(test_set_id="t2", rubric_id="r1")):
            with pytest.raises(NotFound):
                await submit_run(host, order, ours)
        made = await submit_run(host, requested(test_set_id="t1", rubric_id="r1"), theirs)
        assert made.run.organization_id == "theirs"
        with pytest.raises(NotFound):
            await submit_run(host, requested(test_set_id="t2", answers_of=made.run.id), ours)
        gate = f"no_regression vs {made.run.id} by 2%"
        with pytest.raises(NotFound):
            await submit_run(host, requested(test_set_id="t2", gates=(gate,)), ours)


async def test_a_key_for_some_agents_runs_for_them_alone(tmp_path: Path) -> None:
    ours = AccessScope(organization_id="ours", agent_ids=("a1",))
    async with hosted(tmp_path, BOT) as host:
        body = {**GOOD[DocumentKind.TEST_SET], "agent_id": "a1"}
        await add_document(host, DocumentKind.TEST_SET, DocumentChange(body=body), ours, "t1")
        with pytest.raises(NotFound, match="there is no agent a2"):
            await submit_run(host, requested(test_set_id="t1", agent_id="a2"), ours)
        assert (await submit_run(host, requested(test_set_id="t1"), ours)).run.pins.agent_key == "a1"
