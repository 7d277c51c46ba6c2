"""A client written from the published description of the evaluation API alone: five shapes, and one answer to each
request. It knows nothing of pages or of fields that were added, and imports nothing of Howsure. Whatever it cannot read
is a KeyError or a TypeError."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

Json = dict[str, Any]
SCOPES = ("prompt", "knowledge_base", "function", "general")


@dataclass(frozen=True)
class Share:
    """So many of so many; `score` is null where nothing was scored."""

    passed: int
    total: int
    score: float | None = None


@dataclass(frozen=True)
class RunReport:
    run_id: str
    agent_id: str
    status: str
    error: str | None
    total: int
    completed: int
    passed: int
    failed: int
    rubric: tuple[str, int] | None
    test_set: tuple[str, int] | None
    components: dict[str, Share] | None
    criteria: Share
    rules: Share
    model: tuple[str, str]
    times: tuple[str, str, str]


@dataclass(frozen=True)
class Check:
    """A criterion or a rule, as it was answered."""

    name: str
    passed: bool
    score: float
    reasoning: str
    severity: str = ""


@dataclass(frozen=True)
class ItemResult:
    result_id: str
    item_id: str
    name: str
    type: str
    opening: str
    messages: tuple[tuple[str, str], ...]
    criteria: tuple[Check, ...]
    rules: tuple[Check, ...]
    passed: bool
    comments: dict[str, Json]
    duration_ms: int


class SeedClient:
    """`SeedClient("http://localhost:8002/api/v1", key="").run(run_id)`"""

    def __init__(self, base: str, key: str = "") -> None:
        self._base = base
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}

    def get(self, path: str, **query: Any) -> Any:
        address = f"{self._base}{path}" + (f"?{urlencode(query)}" if query else "")
        with urlopen(Request(address, headers=self._headers), timeout=60) as answer:
            return json.load(answer)

    def run(self, run_id: str) -> RunReport:
        return read_run(self.get(f"/runs/{run_id}"))

    def results(self, run_id: str) -> list[ItemResult]:
        """One for each item: an array, in one answer."""
        return [read_result(each) for each in self.get(f"/runs/{run_id}/results")]

    def latest(self, agent_id: str, limit: int = 5) -> list[RunReport]:
        found = self.get("/runs", agent_id=agent_id, status="completed", limit=limit)
        times = [run["created_at"] for run in found]
        assert times == sorted(times, reverse=True)
        return [read_run(run) for run in found]

    def rubric(self, rubric_id: str, version: int | None = None) -> Json:
        return read_rubric(self.get(f"/rubrics/{rubric_id}" + (f"/versions/{version}" if version else "")))

    def test_set(self, test_set_id: str, version: int | None = None) -> Json:
        return read_test_set(self.get(f"/test-sets/{test_set_id}" + (f"/versions/{version}" if version else "")))

    def versions(self, kind: str, key: str) -> list[int]:
        return [each["version"] for each in self.get(f"/{kind}/{key}/versions")]

    def context(self, agent_id: str) -> Json:
        return read_context(self.get(f"/bots/{agent_id}/context"))


def read_run(run: Json) -> RunReport:
    components = None
    if run["component_scores"] is not None:
        found = {scope: run["component_scores"][scope] for scope in SCOPES}
        components = {scope: Share(each["passed"], each["total"], each["score"]) for scope, each in found.items()}
    assert isinstance(run["component_ids_filter"], list)
    assert run["component_scope_filter"] in (None, *SCOPES)
    assert run["status"] in ("pending", "running", "completed", "failed")
    assert run["concurrency"] >= 1 and run["dataset_id"]
    return RunReport(
        run_id=run["run_id"],
        agent_id=run["agent_id"],
        status=run["status"],
        error=run["error"],
        total=run["total"],
        completed=run["completed"],
        passed=run["passed"],
        failed=run["failed"],
        rubric=None if run["rubric_id"] is None else (run["rubric_id"], run["rubric_version"]),
        test_set=None if run["test_set_id"] is None else (run["test_set_id"], run["test_set_version"]),
        components=components,
        criteria=Share(run["criteria_passed"], run["criteria_total"]),
        rules=Share(run["rubric_rules_passed"] or 0, run["rubric_rules_total"] or 0),
        model=(run["bot_llm_provider"], run["bot_llm_model"]),
        times=(run["created_at"], run["started_at"], run["completed_at"]),
    )


def read_result(result: Json) -> ItemResult:
    criteria = tuple(
        Check(each["criterion"], each["passed"], each["score"], each["reasoning"]) for each in result["criteria_scores"]
    )
    rules = tuple(
        Check(each["rule_id"], each["passed"], each["score"], each["reasoning"], each["severity"])
        for each in result["rubric_scores"]
    )
    assert result["criteria_passed"] == all(each.passed for each in criteria)
    assert result["rubric_passed"] == all(each.passed for each in rules if each.severity == "high")
    assert result["passed"] == (result["criteria_passed"] and result["rubric_passed"])
    assert result["langsmith_run_id"] is None and result["run_id"] and result["created_at"]
    given = result["input"]
    if result["item_type"] == "scenario":
        assert given["persona"] and given["max_turns"] >= 1
    return ItemResult(
        result_id=result["result_id"],
        item_id=result["test_case_id"],
        name=result["item_name"],
        type=result["item_type"],
        opening=given["initial_message"] if result["item_type"] == "scenario" else given["message"],
        messages=tuple((each["role"], each["content"]) for each in result["output"]["messages"]),
        criteria=criteria,
        rules=rules,
        passed=result["passed"],
        comments={name: json.loads(each["comment"]) for name, each in (result["scores"] or {}).items()},
        duration_ms=result["duration_ms"],
    )


def read_rubric(rubric: Json) -> Json:
    head = {name: rubric[name] for name in ("rubric_id", "agent_id", "version", "name", "description")}
    assert set(rubric["severity_definitions"]) <= {"high", "medium", "low"}
    assert rubric["created_at"] <= rubric["updated_at"]
    rules = {
        rule["id"]: {
            **{name: rule[name] for name in ("name", "severity", "category", "description", "prompt_reference")},
            "passes": (rule["evaluation_criteria"] or {}).get("pass_conditions", []),
            "fails": (rule["evaluation_criteria"] or {}).get("fail_conditions", []),
            "violation": (rule["examples"] or {}).get("violation"),
            "correct": (rule["examples"] or {}).get("correct"),
            **{name: rule[name] for name in ("component_scope", "component_ids", "component_names")},
        }
        for rule in rubric["rules"]
    }
    return {**head, "rules": rules}


def read_test_set(test_set: Json) -> Json:
    head = {name: test_set[name] for name in ("test_set_id", "agent_id", "version", "name", "description")}
    assert test_set["created_at"] <= test_set["updated_at"]
    items = {}
    for item in test_set["items"]:
        inputs, expected = item["inputs"], item["expected"]
        named = ("message",) if item["type"] == "single_turn" else ("persona", "initial_message", "max_turns")
        wanted = ("success_criteria", "should_use_tools", "should_not_use_tools", "expected_outcome")
        items[item["item_id"]] = {
            **{name: item[name] for name in ("type", "name", "tags", "priority")},
            "inputs": {name: inputs[name] for name in named},
            "expected": {name: expected[name] for name in wanted},
        }
    return {**head, "items": items}


def read_context(context: Json) -> Json:
    names = ("bot_id", "bot_name", "organization_id", "organization_name", "system_prompt")
    model = context["llm_config"]
    harness = context["harness_context"]
    return {
        **{name: context[name] for name in names},
        "model": (model["provider"], model["model"], model["parameters"]["temperature"]),
        "tools": [
            {name: tool[name] for name in ("id", "name", "tool_name", "type", "description", "output_instructions")}
            for tool in context["tools"]
        ],
        "knowledge_bases": [
            {name: base[name] for name in ("id", "name", "type", "document_count")}
            for base in context["knowledge_bases"]
        ],
        "harness": (harness["version"], harness["description"], harness["key_behaviors"], harness["evaluation_notes"]),
        "flow": [(step["step"], step["node"], step["description"]) for step in harness["execution_flow"]],
    }
