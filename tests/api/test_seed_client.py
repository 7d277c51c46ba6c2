"""The client that was written from the published description alone reads everything that is made through our API: the
documents in their versions, the agent, and a run of 1,300 items with all its results in one answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from api.seed_client import SeedClient, Share
from api.shared import AGENT, Service
from databases import KINDS

FIXTURES = Path(__file__).parents[1] / "fixtures"
EVERY_SCOPE = ("prompt", "knowledge_base", "function", "general")


def block(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FIXTURES / f"seed_003_{name}.json").read_text(encoding="utf-8"))
    return found


def entry(number: int) -> dict[str, Any]:
    said = f"hello {number}" if number % 100 else "hello there"
    return {
        "item_id": f"i{number:04}",
        "type": "single_turn",
        "name": f"Greeting {number}",
        "inputs": {"message": said},
        "expected": {"success_criteria": [f"The answer says hello {number}"], "should_use_tools": ["search_kb"]},
        "priority": "high",
    }


SCENARIO = {
    "item_id": "asks",
    "type": "scenario",
    "name": "PTO Policy Inquiry",
    "inputs": {"persona": "An employee", "initial_message": "hello, PTO?", "max_turns": 1},
    "expected": {"success_criteria": ["The answer says hello"], "expected_outcome": "They get an answer"},
    "tags": ["hr"],
}
RULE = {
    "id": "SAYS_HELLO",
    "name": "Says hello",
    "severity": "high",
    "description": "The answer says hello",
    "evaluation_criteria": {"pass_conditions": ["The answer says hello"], "fail_conditions": []},
    "component_scope": "prompt",
}


@pytest.mark.parametrize("number", [120, pytest.param(1300, marks=pytest.mark.thorough)])
def test_a_client_of_the_description_reads_a_run_of_1300_items(services: Any, number: int) -> None:
    service: Service = services(KINDS[0])
    ask = service.asker()
    assert ask("PUT", f"/bots/{AGENT}/context", block("agent")).status == 200
    rubric_id = ask.made("/rubrics", {"name": "Hello", "agent_id": AGENT, "rules": [RULE]})["rubric_id"]
    items = [*(entry(place) for place in range(1, number)), SCENARIO]
    given = {"name": "Greetings", "agent_id": AGENT, "items": items[:2]}
    key = ask.made("/test-sets", given)["test_set_id"]
    assert ask("PUT", f"/test-sets/{key}", {**given, "items": items}).body["version"] == 2
    asked = {"bot_id": AGENT, "test_set_id": key, "rubric_id": rubric_id, "concurrency": 20}
    run_id = ask.made("/evaluations", asked, 202)["run_id"]
    ask.finished(run_id)

    client = SeedClient(ask.service.base, ask.key)
    run = client.run(run_id)
    assert (run.status, run.error, run.total, run.completed) == ("completed", None, number, number)
    # Every hundredth question is another than its criterion expects.
    wrong = (number - 1) // 100
    assert (run.passed, run.failed, run.criteria) == (number - wrong, wrong, Share(number - wrong, number))
    assert (run.rubric, run.test_set, run.rules) == ((rubric_id, 1), (key, 2), Share(number, number))
    assert run.components == {
        **dict.fromkeys(EVERY_SCOPE, Share(0, 0)),
        "prompt": Share(number, number, 1.0),
    }
    assert run.model == ("openai", "gpt-4.1")
    assert [each.run_id for each in client.latest(AGENT)] == [run_id]

    results = client.results(run_id)
    assert len(results) == number
    assert [each.item_id for each in results] == [item["item_id"] for item in items]
    assert sum(each.passed for each in results) == run.passed
    assert results[0].messages == (("user", "hello 1"), ("assistant", "You said hello 1"))
    assert (results[-1].type, results[-1].opening, results[99].passed) == ("scenario", "hello, PTO?", False)
    assert results[0].comments["criteria"]["passed"] is True

    test_set = client.test_set(key)
    assert (test_set["version"], len(test_set["items"])) == (2, number)
    assert test_set["items"]["asks"]["priority"] is None
    assert len(client.test_set(key, 1)["items"]) == 2
    assert (client.versions("test-sets", key), client.versions("rubrics", rubric_id)) == ([2, 1], [1])
    assert client.rubric(rubric_id, 1)["rules"]["SAYS_HELLO"]["passes"] == ["The answer says hello"]
    context = client.context(AGENT)
    assert (context["bot_name"], context["model"]) == (
        "O'Connor Internal Operations Associate",
        ("openai", "gpt-4.1", 0.3),
    )
