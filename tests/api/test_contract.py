"""The published shapes: the JSON blocks of the API's description are the fixtures. Every field of theirs is in our
answers, with the same type, and in our OpenAPI."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from api.operations import (
    OPERATIONS,
    a_bot,
    a_config,
    a_dataset,
    a_question_set,
    a_rubric,
    a_test_set,
    entry,
    rule,
)
from api.shared import AGENT, Asker, Service
from howsure.api.app import PREFIX

Json = dict[str, Any]
FIXTURES = Path(__file__).parents[1] / "fixtures"
UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIMES = {"started_at", "completed_at", "created_at", "updated_at"}
ANY_KEYS = {"component_scores", "scores", "severity_definitions", "parameters"}
"""Objects whose keys are names that somebody gave."""


def block(name: str) -> Json:
    found: Json = json.loads((FIXTURES / f"seed_003_{name}.json").read_text(encoding="utf-8"))
    return found


def same_shape(published: Any, ours: Any, place: str = "") -> list[str]:
    """Where our answer lacks what the published block has, or has another type in its place."""
    name = place.rpartition(".")[2]
    if ours is None or published is None:
        return []
    if name in TIMES:
        return [] if isinstance(ours, str) and UTC.fullmatch(ours) else [f"{place}: {ours!r} is not a time in UTC"]
    if isinstance(published, dict) and isinstance(ours, dict):
        if name in ANY_KEYS:
            first = next(iter(published.values()), None)
            return [fault for key, each in ours.items() for fault in same_shape(first, each, f"{place}.{key}")]
        missing = [f"{place}.{key} is missing" for key in published if key not in ours]
        return missing + [
            f for key in published if key in ours for f in same_shape(published[key], ours[key], f"{place}.{key}")
        ]
    if isinstance(published, list) and isinstance(ours, list):
        return [fault for each in ours for fault in same_shape(published[0], each, f"{place}[]")]
    if isinstance(published, bool) or isinstance(ours, bool):
        return [] if type(published) is type(ours) else [f"{place}: {ours!r} is not a boolean"]
    kinds = (int, float) if isinstance(published, int | float) else type(published)
    return [] if isinstance(ours, kinds) else [f"{place}: {ours!r} is not like {published!r}"]


SEED_RUBRIC = {name: value for name, value in block("rubric").items() if name not in ("rubric_id", *TIMES)}
SEED_TEST_SET = {name: value for name, value in block("test_set").items() if name not in ("test_set_id", *TIMES)}


def seed_run(ask: Asker) -> tuple[Json, list[Json], Json, Json]:
    """A run over the published test set with the published rubric, its results, and the two documents."""
    scenario = {**SEED_TEST_SET["items"][0], "item_id": "a1b2", "type": "scenario"}
    single = {**scenario, "item_id": "c3d4", "type": "single_turn"}
    test_set = ask.made("/test-sets", {**SEED_TEST_SET, "agent_id": AGENT, "items": [scenario, single]})
    rubric = ask.made("/rubrics", {**SEED_RUBRIC, "agent_id": AGENT})
    assert ask("PUT", f"/bots/{AGENT}/context", block("agent")).status == 200
    wanted = {"bot_id": AGENT, "test_set_id": test_set["test_set_id"], "rubric_id": rubric["rubric_id"]}
    asked = ask.made("/evaluations", {**wanted, "concurrency": 3}, 202)
    assert set(asked) >= {"run_id", "dataset_id", "config_id", "status", "total", "items_count", "rules_count",
                          "component_scope_filter", "component_ids_filter"}  # fmt: skip
    run = ask.finished(asked["run_id"])
    return run, ask("GET", f"/runs/{run['run_id']}/results").body, rubric, test_set


def test_runs_results_rubrics_and_test_sets_have_every_published_field(ask: Asker) -> None:
    run, results, rubric, test_set = seed_run(ask)
    assert same_shape(block("run"), run) == []
    assert (run["status"], run["total"], run["completed"], run["concurrency"]) == ("completed", 2, 2, 3)
    assert (run["bot_llm_provider"], run["bot_llm_model"]) == ("openai", "gpt-4.1")
    assert (run["rubric_version"], run["test_set_version"], run["rubric_rules_total"]) == (1, 1, 2)
    assert run["criteria_total"] == 4
    for result in results:
        assert same_shape(block("result"), {**result, "input": {**block("result")["input"], **result["input"]}}) == []
        assert result["scores"]
        assert result["criteria_scores"]
        assert result["rubric_scores"]
    assert [result["item_type"] for result in results] == ["scenario", "single_turn"]
    assert set(results[0]["input"]) >= {"persona", "initial_message", "max_turns"}
    assert results[1]["input"]["message"] == "What is our PTO policy?"
    assert [result["test_case_id"] for result in results] == ["a1b2", "c3d4"]
    assert same_shape(block("rubric"), ask("GET", f"/rubrics/{rubric['rubric_id']}").body) == []
    assert same_shape(block("test_set"), ask("GET", f"/test-sets/{test_set['test_set_id']}").body) == []


def test_ids_are_uuids_and_agents_keep_theirs(ask: Asker) -> None:
    run, results, rubric, test_set = seed_run(ask)
    for key in (
        run["run_id"],
        run["dataset_id"],
        rubric["rubric_id"],
        test_set["test_set_id"],
        results[0]["result_id"],
    ):
        assert UUID.fullmatch(key), key
    assert run["agent_id"] == rubric["agent_id"] == test_set["agent_id"] == AGENT


def test_a_bot_is_described_with_every_published_field(ask: Asker) -> None:
    given = block("agent")
    put = ask("PUT", f"/bots/{AGENT}/context", {**given, "tools": given["tools"] * 3})
    assert put.status == 200, put.body
    found = ask("GET", f"/bots/{AGENT}/context").body
    assert found == {**given, "bot_id": AGENT}
    bare = ask("PUT", "/bots/5f/context", {"bot_name": "Bare"})
    assert set(bare.body) >= set(given)


def test_a_run_over_a_dataset_has_the_older_scores(ask: Asker) -> None:
    dataset = ask.made("/datasets", a_dataset())
    run = ask.finished(ask.made("/runs", {"dataset_id": dataset["dataset_id"], "agent_id": AGENT}, 202)["run_id"])
    assert (run["dataset_id"], run["test_set_id"], run["rubric_id"]) == (dataset["dataset_id"], None, None)
    results = ask("GET", f"/runs/{run['run_id']}/results").body
    assert [each for each in results if each["scores"]]
    for result in results:
        assert [result[name] for name in ("criteria_scores", "rubric_scores", "item_type")] == [None, None, None]
        assert result["scores"] or result["verdict"] in ("errored", "skipped")
        for score in result["scores"].values():
            assert json.loads(score["comment"])["status"] in ("scored", "error", "not_applicable", "no_judge")


def test_without_a_rubric_there_is_nothing_of_one(ask: Asker) -> None:
    key = ask.made("/test-sets", a_test_set())["test_set_id"]
    run = ask.finished(ask.made("/evaluations", {"bot_id": AGENT, "test_set_id": key}, 202)["run_id"])
    told = ("rubric_id", "rubric_version", "component_scores", "rubric_rules_passed", "rubric_rules_total")
    assert [run[name] for name in told] == [None, None, None, None, None]
    result = ask("GET", f"/runs/{run['run_id']}/results").body[0]
    assert (result["rubric_passed"], result["rubric_scores"]) == (None, [])


def test_a_scope_that_no_rule_has_leaves_no_rubric(ask: Asker) -> None:
    key = ask.made("/test-sets", a_test_set())["test_set_id"]
    rules = [rule(component_scope="prompt"), rule("CALM", component_scope="function", component_ids=["t1"])]
    rubric = ask.made("/rubrics", a_rubric(rules=rules))["rubric_id"]
    wanted = {"bot_id": AGENT, "test_set_id": key, "rubric_id": rubric}
    none = ask.made("/evaluations", {**wanted, "component_scope": "knowledge_base"}, 202)
    assert (none["rules_count"], none["component_scope_filter"]) == (0, "knowledge_base")
    run = ask.finished(none["run_id"])
    assert (run["rubric_id"], run["component_scores"], run["rubric_rules_total"]) == (None, None, None)
    assert ("rubric" in run["made_of"], run["rubrics"]) == (False, [])
    some = ask.finished(ask.made("/evaluations", {**wanted, "component_scope": "prompt"}, 202)["run_id"])
    assert (some["rubric_id"], some["rubric_rules_total"]) == (rubric, 2)
    assert [scope for scope, each in some["component_scores"].items() if each["total"]] == ["prompt"]


def test_zero_is_not_absent(ask: Asker) -> None:
    """What was judged and failed counts nought; what could not be judged is not known."""
    failing = {**entry(1), "expected": {"success_criteria": ["The answer names seven purple elephants"]}}
    key = ask.made("/test-sets", a_test_set(failing))["test_set_id"]
    run = ask.finished(ask.made("/evaluations", {"bot_id": AGENT, "test_set_id": key}, 202)["run_id"])
    assert [run[name] for name in ("passed", "failed", "criteria_passed", "criteria_total")] == [0, 1, 0, 1]
    assert run["pass_rate"] == 0.0
    judged = ask("GET", f"/runs/{run['run_id']}/results").body[0]["criteria_scores"][0]
    assert (judged["passed"], judged["score"]) == (False, 0.0)
    key = ask.made("/test-sets", a_test_set(entry(1, "break it")))["test_set_id"]
    run = ask.finished(ask.made("/evaluations", {"bot_id": AGENT, "test_set_id": key}, 202)["run_id"])
    assert [run[name] for name in ("total", "completed", "passed", "failed", "errored")] == [1, 1, 0, 0, 1]
    assert run["pass_rate"] is None
    assert (run["criteria_passed"], run["criteria_total"]) == (0, 1), "none could be judged; null: there are none"
    result = ask("GET", f"/runs/{run['run_id']}/results").body[0]
    assert (result["passed"], result["criteria_passed"]) == (None, None)
    assert "the bot broke" in result["error"]


def test_the_runs_of_an_agent_are_listed_newest_first(ask: Asker) -> None:
    key = ask.made("/test-sets", a_test_set(entry(1)))["test_set_id"]
    made = [ask.made("/runs", {"test_set_id": key, "agent_id": AGENT}, 202)["run_id"] for _ in range(7)]
    for run_id in made:
        ask.finished(run_id)
    other = ask.made("/runs", {"test_set_id": key, "agent_id": "another"}, 202)["run_id"]
    ask.finished(other)
    listed = ask("GET", f"/runs?agent_id={AGENT}&status=completed&limit=5").body
    assert [run["run_id"] for run in listed] == made[:1:-1]
    times = [run["created_at"] for run in listed]
    assert times == sorted(times, reverse=True)
    assert ask("GET", f"/runs?agent_id={AGENT}&status=failed").body == []


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/rubrics", a_rubric()),
        ("/test-sets", a_test_set()),
        ("/question-sets", a_question_set()),
        ("/evaluator-configs", a_config()),
    ],
    ids=["rubric", "test set", "question set", "evaluator config"],
)
def test_put_makes_the_next_version_and_all_are_kept(ask: Asker, path: str, body: Json) -> None:
    first = ask.made(path, body)
    key = next(value for name, value in first.items() if name.endswith("_id") and name != "agent_id")
    second = ask("PUT", f"{path}/{key}", {**first, "name": "Better", "note": "the name"})
    assert (second.status, second.body["version"], second.body["name"], second.headers["etag"]) == (
        200,
        2,
        "Better",
        '"2"',
    )
    listed = ask("GET", f"{path}/{key}/versions").body
    assert [each["version"] for each in listed] == [2, 1]
    assert listed[0]["note"] == "the name"
    old = ask("GET", f"{path}/{key}/versions/1").body
    told = [(each["version"], each["author"], each["note"]) for each in old["changelog"]]
    assert told == [(2, "tester", "the name"), (1, "tester", None)]
    assert {**old, "latest_version": 1, "changelog": first["changelog"]} == first
    renamed = next(each for each in ask("GET", f"{path}/{key}/versions/1/diff/2").body if each["path"] == "name")
    assert (renamed["before"], renamed["after"]) == (first["name"], "Better")
    assert ask("GET", f"{path}/{key}/versions/3").status == 404
    restored = ask("POST", f"{path}/{key}/versions/1/restore")
    assert (restored.status, restored.body["version"], restored.body["note"]) == (201, 3, "version 1 restored")
    assert (restored.body["name"], ask("GET", f"{path}/{key}").body["name"]) == (first["name"], first["name"])
    assert ask("GET", f"{path}/{key}/versions/1/diff/3").body == []


def test_what_changed_between_versions_is_named(ask: Asker) -> None:
    key = ask.made("/rubrics", a_rubric(rules=[rule(), rule("CALM")]))["rubric_id"]
    ask("PUT", f"/rubrics/{key}", a_rubric(rules=[rule(severity="high"), rule("BRIEF")]))
    changed = ask("GET", f"/rubrics/{key}/versions/1/diff/2").body
    assert [(each["path"], each["kind"]) for each in changed] == [
        ("rules[KIND].severity", "changed"),
        ("rules[CALM]", "removed"),
        ("rules[BRIEF]", "added"),
    ]
    assert (changed[0]["before"], changed[0]["after"]) == ("low", "high")


PUBLISHED = """
POST /evaluations; GET POST /runs; GET /runs/{}; GET /runs/{}/results; POST /evaluate-transcript
GET /health; GET /ready
GET POST /rubrics; GET PUT DELETE /rubrics/{}; GET /rubrics/{}/versions; GET /rubrics/{}/versions/{}
GET POST /test-sets; GET PUT DELETE /test-sets/{}; GET /test-sets/{}/versions; GET /test-sets/{}/versions/{}
GET POST /question-sets; GET PUT DELETE /question-sets/{}; GET /question-sets/{}/versions
GET /question-sets/{}/versions/{}
GET POST /datasets; GET PUT DELETE /datasets/{}; GET POST /datasets/{}/test-cases; GET DELETE /test-cases/{}
GET PUT /bots/{}/context; GET POST /evaluator-configs; GET PUT DELETE /evaluator-configs/{}; GET /evaluators/types
POST /runs/{}/cancel; POST /runs/{}/pause; POST /runs/{}/resume; POST /runs/{}/retry; POST /runs/{}/regrade
GET /rubrics/{}/versions/{}/diff/{}; GET /runs/{}/events; GET /results; GET /compare/{}/{}
GET POST /runs/{}/labels; DELETE /runs/{}/labels/{}; GET /runs/{}/agreement; GET /labels
GET /org-evaluations; GET /stats; GET /export; POST /import; GET /runs/{}/results.ndjson; GET /runs/{}/labels.ndjson
"""


def test_every_published_endpoint_is_there() -> None:
    ours = {(method, re.sub(r"\{\w+\}", "{}", path.removeprefix(PREFIX))) for method, path in OPERATIONS}
    for line in re.split(r"[;\n]+", PUBLISHED.strip()):
        *methods, path = line.split()
        for method in methods:
            assert (method, path) in ours


DOCUMENTED = [
    ("run", "/runs/{run_id}", "get"),
    ("result", "/runs/{run_id}/results", "get"),
    ("rubric", "/rubrics/{id}", "get"),
    ("test_set", "/test-sets/{id}", "get"),
    ("agent", "/bots/{id}/context", "get"),
]


@pytest.fixture(scope="module")
def described(services: Any) -> Json:
    service: Service = services("sqlite")
    found: Json = service.nobody()("GET", "/openapi.json").body
    return found


@pytest.mark.parametrize(("name", "path", "method"), DOCUMENTED, ids=[each[0] for each in DOCUMENTED])
def test_every_published_field_is_documented(described: Json, name: str, path: str, method: str) -> None:
    answer = described["paths"][f"{PREFIX}{path}"][method]["responses"]["200"]
    schema = answer["content"]["application/json"]["schema"]
    whole = next((each["items"] for each in alternatives(schema) if each.get("type") == "array"), schema)
    assert undocumented(described, block(name), whole) == []


def undocumented(described: Json, published: Any, schema: Json, place: str = "") -> list[str]:
    """The fields of a published block that the schema does not have, or of which it says neither type nor meaning."""
    kinds = [resolved(described, each) for each in alternatives(resolved(described, schema))]
    if isinstance(published, list):
        lists = [each["items"] for each in kinds if each.get("items")]
        return undocumented(described, published[0], lists[0], f"{place}[]") if lists else [f"{place}: no list"]
    if not isinstance(published, dict):
        said = any(each.get("type") or each.get("description") or each.get("enum") for each in kinds)
        return [] if said or schema.get("description") else [f"{place}: no type"]
    faults: list[str] = []
    for key, value in published.items():
        named = [each["properties"][key] for each in kinds if key in each.get("properties", {})]
        named += [each["additionalProperties"] for each in kinds if isinstance(each.get("additionalProperties"), dict)]
        loose = any(each.get("additionalProperties") is True and "properties" not in each for each in kinds)
        if place.rpartition(".")[2] == "parameters" and loose:
            continue
        faults += (
            undocumented(described, value, named[0], f"{place}.{key}") if named else [f"{place}.{key} is not there"]
        )
    return faults


def resolved(described: Json, schema: Json) -> Json:
    if "$ref" not in schema:
        return schema
    found: Json = described["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return found


def alternatives(schema: Json) -> list[Json]:
    return [*schema.get("anyOf", ()), schema]


def test_every_operation_says_what_it_does_and_how_it_fails(described: Json) -> None:
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            place = f"{method} {path}"
            assert operation.get("summary") or operation.get("description"), place
            everywhere = (
                {"400", "401", "403", "413", "422", "500", "503"} if "security" in operation else {"400", "413"}
            )
            assert everywhere <= set(operation["responses"]), place
            if ("{id}" in path or "{run_id}" in path) and method != "put":
                assert "404" in operation["responses"], place


def test_the_demo_dialects_are_among_the_documented(described: Json) -> None:
    dialects = described["components"]["schemas"]["DatasetGiven"]["properties"]["dialect"]["anyOf"][0]
    assert dialects["examples"] == ["legal", "plain", "golden"]
    assert a_bot()["bot_name"] == "Greeter"
