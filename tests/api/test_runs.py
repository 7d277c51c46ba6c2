"""Runs over the API: from nothing to results, steering, pages, what others may see."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from api.served import Caller, serving

AGENT = "64f0c2a1e4b0a1b2c3d4e5f6"


def entry(number: int, message: str = "") -> dict[str, Any]:
    return {
        "item_id": f"i{number}",
        "type": "single_turn",
        "name": f"Greeting {number}",
        "inputs": {"message": message or f"hello {number}"},
        "expected": {"success_criteria": [f"The answer says hello {number}"]},
        "tags": ["greeting"],
    }


async def a_test_set(ask: Caller, *entries: dict[str, Any]) -> str:
    made = await ask("POST", "/test-sets", {"name": "Greetings", "agent_id": AGENT, "items": list(entries)})
    assert made.status == 201, made.body
    key: str = made.body["test_set_id"]
    return key


async def test_an_evaluation_ends_with_results(tmp_path: Path, database: str) -> None:
    async with serving(tmp_path, database=database) as ask:
        key = await a_test_set(ask, entry(1), entry(2))
        asked = await ask("POST", "/evaluations", {"bot_id": AGENT, "test_set_id": key})
        assert asked.status == 202, asked.body
        assert (asked.body["status"], asked.body["total"], asked.body["items_count"]) == ("pending", 2, 2)
        run = await ask.finished(asked.body["run_id"])
        assert (run["status"], run["test_set_id"], run["test_set_version"]) == ("completed", key, 1)
        assert run["total"] == run["passed"] + run["failed"] + run["errored"] + run["skipped"] + run["pending"] == 2
        results = (await ask("GET", f"/runs/{run['run_id']}/results")).body
        assert [result["test_case_id"] for result in results] == ["i1", "i2"]
        assert (await ask("GET", f"/datasets/{asked.body['dataset_id']}")).body["cases"] == 2


async def test_runs_are_listed_newest_first(tmp_path: Path, database: str) -> None:
    async with serving(tmp_path, database=database) as ask:
        key = await a_test_set(ask, entry(1))
        asked = {"test_set_id": key, "agent_id": AGENT}
        ids = [(await ask("POST", "/runs", asked)).body["run_id"] for _ in range(3)]
        for run_id in ids:
            await ask.finished(run_id)
        listed = await ask("GET", f"/runs?agent_id={AGENT}&status=completed&limit=2")
        assert [run["run_id"] for run in listed.body] == ids[:0:-1]
        further = await ask("GET", f"/runs?agent_id={AGENT}&limit=2&cursor={listed.headers['x-next-cursor']}")
        assert [run["run_id"] for run in further.body] == ids[:1]
        assert "x-next-cursor" not in further.headers
        assert (await ask("GET", "/runs?agent_id=nobody")).body == []


async def test_what_was_deleted_is_still_named(tmp_path: Path, database: str) -> None:
    async with serving(tmp_path, database=database) as ask:
        key = await a_test_set(ask, entry(1))
        run_id = (await ask("POST", "/runs", {"test_set_id": key, "agent_id": AGENT})).body["run_id"]
        await ask.finished(run_id)
        assert (await ask("DELETE", f"/test-sets/{key}")).status == 204
        assert (await ask("GET", f"/test-sets/{key}")).status == 404
        assert (await ask("GET", f"/runs/{run_id}")).body["test_set_name"] == "Greetings (deleted)"
        assert (await ask("GET", f"/test-sets/{key}/versions/1")).status == 404


async def test_answers_are_graded_again_with_another_rubric(tmp_path: Path, database: str) -> None:
    async with serving(tmp_path, database=database) as ask:
        key = await a_test_set(ask, entry(1))
        run_id = (await ask("POST", "/runs", {"test_set_id": key, "agent_id": AGENT})).body["run_id"]
        first = await ask.finished(run_id)
        rule = {"id": "KIND", "name": "Be kind", "severity": "low", "description": "The answer is kind"}
        rubric = (await ask("POST", "/rubrics", {"name": "Kindness", "rules": [rule]})).body["rubric_id"]
        again = await ask("POST", f"/runs/{run_id}/regrade", {"rubric_id": rubric})
        assert again.status == 202, again.body
        second = await ask.finished(again.body["run_id"])
        assert second["run_id"] != run_id
        assert (first["rubric_id"], second["rubric_id"], second["rubric_rules_total"]) == (None, rubric, 1)
        said = [
            (await ask("GET", f"/runs/{each}/results")).body[0]["output"]["answer"]
            for each in (run_id, second["run_id"])
        ]
        assert said == ["You said hello 1"] * 2


async def test_errored_cases_are_retried_and_runs_deleted(tmp_path: Path, database: str) -> None:
    async with serving(tmp_path, database=database) as ask:
        key = await a_test_set(ask, entry(1), entry(2, "break it"))
        run_id = (await ask("POST", "/runs", {"test_set_id": key})).body["run_id"]
        assert (await ask.finished(run_id))["errored"] == 1
        assert (await ask("POST", f"/runs/{run_id}/retry")).status == 202
        assert (await ask.finished(run_id))["errored"] == 1
        assert (await ask("POST", f"/runs/{run_id}/pause")).status == 409
        assert (await ask("DELETE", f"/runs/{run_id}")).status == 204
        assert (await ask("GET", f"/runs/{run_id}")).status == 404


async def test_progress_is_streamed_to_its_end(tmp_path: Path, database: str) -> None:
    async with serving(tmp_path, database=database) as ask:
        key = await a_test_set(ask, entry(1), entry(2))
        run_id = (await ask("POST", "/runs", {"test_set_id": key})).body["run_id"]
        streamed = await ask("GET", f"/runs/{run_id}/events")
        assert streamed.headers["content-type"].startswith("text/event-stream")
        assert streamed.raw.count(b"event: progress") >= 1
        assert streamed.raw.count(b"event: end") == 1
        exported = await ask("GET", f"/runs/{run_id}/results.ndjson")
        assert exported.raw.count(b"\n") == 2


async def test_a_request_with_a_key_of_its_own_is_done_once(tmp_path: Path, database: str) -> None:
    async with serving(tmp_path, database=database) as ask:
        key = await a_test_set(ask, entry(1))
        asked = {"test_set_id": key}
        first = await ask("POST", "/runs", asked, Idempotency_Key="k1")
        second = await ask("POST", "/runs", asked, Idempotency_Key="k1")
        assert first.body["run_id"] == second.body["run_id"]
        assert second.headers["idempotency-replayed"] == "true"
        assert (await ask("POST", "/runs", {**asked, "limit": 1}, Idempotency_Key="k1")).status == 409
        assert len((await ask("GET", "/runs")).body) == 1


async def test_a_finished_conversation_is_graded_on_the_spot(tmp_path: Path, database: str) -> None:
    said = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "Good day, you said hello."}]
    async with serving(tmp_path, database=database) as ask:
        asked = {"messages": said, "success_criteria": ["The answer says hello"]}
        graded = await ask("POST", "/evaluate-transcript", asked)
        assert graded.status == 200, graded.body
        assert [each["criterion"] for each in graded.body["criteria_scores"]] == ["The answer says hello"]
        assert (await ask("GET", "/runs")).body == []
        assert (await ask("POST", "/evaluate-transcript", {"messages": said})).status == 422


async def test_conversations_of_results_are_held_against_a_whole_test_set(tmp_path: Path, database: str) -> None:
    async with serving(tmp_path, database=database) as ask:
        key = await a_test_set(ask, entry(1), entry(2))
        run_id = (await ask("POST", "/runs", {"test_set_id": key, "agent_id": AGENT})).body["run_id"]
        await ask.finished(run_id)
        ids = [each["result_id"] for each in (await ask("GET", f"/runs/{run_id}/results")).body]
        wanted = {"bot_id": AGENT, "test_set_id": key, "mode": "transcript", "conversation_ids": ids}
        asked = await ask("POST", "/evaluations", wanted)
        assert asked.status == 202, asked.body
        run = await ask.finished(asked.body["run_id"])
        assert (run["total"], run["criteria_total"]) == (2, 4)
        assert (await ask("POST", "/evaluations", {**wanted, "conversation_ids": []})).status == 400


async def test_results_of_many_runs_are_paged(tmp_path: Path, database: str) -> None:
    async with serving(tmp_path, database=database) as ask:
        key = await a_test_set(ask, entry(1), entry(2))
        for _ in range(2):
            await ask.finished((await ask("POST", "/runs", {"test_set_id": key})).body["run_id"])
        seen: list[str] = []
        cursor = ""
        while True:
            page = await ask("GET", f"/results?limit=3{cursor}")
            seen += [each["result_id"] for each in page.body]
            if "x-next-cursor" not in page.headers:
                break
            cursor = f"&cursor={page.headers['x-next-cursor']}"
        assert len(seen) == len(set(seen)) == 4


async def test_two_runs_are_compared(tmp_path: Path, database: str) -> None:
    async with serving(tmp_path, database=database) as ask:
        key = await a_test_set(ask, entry(1), entry(2))
        runs = [(await ask("POST", "/runs", {"test_set_id": key})).body["run_id"] for _ in range(2)]
        for run_id in runs:
            await ask.finished(run_id)
        compared = await ask("GET", f"/compare/{runs[0]}/{runs[1]}")
        assert compared.status == 200, compared.body
        assert compared.body["comparisons"][0]["sentence"]
