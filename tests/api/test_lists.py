"""Lists: arrays whatever happens, cursors in headers, stable while others write; and what comes as lines."""

from __future__ import annotations

import json
from time import perf_counter
from typing import Any

import pytest

from api.operations import MADE, World, a_rubric, a_test_set, entry, rule
from api.shared import AGENT, Asker, Service

Json = dict[str, Any]
IDS = {path: name for path, (name, _) in MADE.items()} | {"/runs": "run_id", "/audit": "id", "/results": "result_id"}


@pytest.mark.parametrize("path", [*MADE, "/audit"])
def test_pages_hold_everything_once_newest_first(ask: Asker, path: str) -> None:
    kind = "/rubrics" if path == "/audit" else path
    made = [ask.made(kind, MADE[kind][1]())[IDS[kind]] for _ in range(7)]
    pages = ask.pages(path, 3)
    found = [each[IDS[path]] for page in pages for each in page]
    assert len(found) == len(set(found))
    assert [len(page) for page in pages[:2]] == [3, 3]
    if path != "/audit":
        # The key that asks is one of the keys, made before the others.
        assert found[:7] == made[::-1]


def test_runs_and_results_are_paged(ask: Asker) -> None:
    entries = [entry(number) for number in range(1, 6)]
    key = ask.made("/test-sets", a_test_set(*entries))["test_set_id"]
    runs = [ask.made("/runs", {"test_set_id": key}, 202)["run_id"] for _ in range(3)]
    for run_id in runs:
        assert ask.finished(run_id)["agent_id"] == AGENT
    assert [each["run_id"] for page in ask.pages("/runs", 2) for each in page] == runs[::-1]
    pages = ask.pages(f"/runs/{runs[0]}/results", 2)
    assert [[each["test_case_id"] for each in page] for page in pages] == [["i1", "i2"], ["i3", "i4"], ["i5"]]
    everything = [(each["run_id"], each["test_case_id"]) for page in ask.pages("/results", 4) for each in page]
    assert everything == [(run_id, f"i{number}") for run_id in runs[::-1] for number in range(1, 6)]
    link = ask("GET", f"/runs/{runs[0]}/results?limit=2&verdict=passed").headers.get("link", "")
    assert "limit=2" in link or not link
    lines = ask("GET", f"/runs/{runs[0]}/results.ndjson")
    assert [json.loads(line)["test_case_id"] for line in lines.raw.splitlines()] == ["i1", "i2", "i3", "i4", "i5"]
    assert lines.headers["content-type"].startswith("application/x-ndjson")


def test_a_cursor_stands_still_while_things_are_added_and_deleted(ask: Asker) -> None:
    made = [ask.made("/rubrics", a_rubric())["rubric_id"] for _ in range(6)]
    first = ask("GET", "/rubrics?limit=2")
    assert [each["rubric_id"] for each in first.body] == [made[5], made[4]]
    ask.made("/rubrics", a_rubric())
    ask("DELETE", f"/rubrics/{made[4]}")
    ask("PUT", f"/rubrics/{made[0]}", a_rubric())
    rest = ask("GET", f"/rubrics?limit=10&cursor={first.headers['x-next-cursor']}")
    assert [each["rubric_id"] for each in rest.body] == made[3::-1]
    assert "x-next-cursor" not in rest.headers


def test_results_across_runs_go_on_when_a_run_is_deleted(ask: Asker) -> None:
    key = ask.made("/test-sets", a_test_set(entry(1), entry(2), entry(3)))["test_set_id"]
    runs = [ask.made("/runs", {"test_set_id": key}, 202)["run_id"] for _ in range(2)]
    for run_id in runs:
        ask.finished(run_id)
    first = ask("GET", "/results?limit=2")
    assert {each["run_id"] for each in first.body} == {runs[1]}
    assert ask("DELETE", f"/runs/{runs[1]}").status == 204
    rest = ask("GET", f"/results?limit=10&cursor={first.headers['x-next-cursor']}")
    assert [each["run_id"] for each in rest.body] == [runs[0]] * 3


def test_results_that_failed_a_rule_are_found_page_by_page(ask: Asker) -> None:
    """Some of them passed all the same: the rule is not a grave one. None is skipped, whatever the page."""
    never = {"evaluation_criteria": {"pass_conditions": ["The answer names seven purple elephants"]}}
    entries = [entry(number) for number in range(1, 7)]
    hard = {"success_criteria": ["The answer names seven purple elephants"]}
    entries[1]["expected"] = entries[4]["expected"] = hard
    key = ask.made("/test-sets", a_test_set(*entries))["test_set_id"]
    rubric = ask.made("/rubrics", a_rubric(rules=[rule("NEVER", description="Seven purple elephants", **never)]))
    asked = {"bot_id": AGENT, "test_set_id": key, "rubric_id": rubric["rubric_id"]}
    run = ask.finished(ask.made("/evaluations", asked, 202)["run_id"])
    results = ask("GET", f"/runs/{run['run_id']}/results").body
    broken = [each["test_case_id"] for each in results if each["rubric_scores"][0]["passed"] is False]
    failed = [each["test_case_id"] for each in results if each["verdict"] == "failed"]
    assert set(failed) >= {"i2", "i5"}
    for limit in (1, 2, 5):
        for query, expected in (
            ("rule_id=NEVER", broken),
            ("failed_only=true", failed),
            ("rule_id=NEVER&failed_only=true", [each for each in broken if each in failed]),
        ):
            pages = ask.pages(f"/results?{query}", limit)
            assert [each["test_case_id"] for page in pages for each in page] == expected, (limit, query)


def test_every_agent_stands_by_its_newest_run_that_is_complete(ask: Asker) -> None:
    hard = {**entry(1), "expected": {"success_criteria": ["The answer names seven purple elephants"]}}
    easy, broken = ask.made("/test-sets", a_test_set(entry(1))), ask.made("/test-sets", a_test_set(hard, entry(2)))
    for agent, sets in (("a1", (broken, easy)), ("a2", (easy, broken)), ("a3", (easy,))):
        for each in sets:
            run = ask.made("/runs", {"test_set_id": each["test_set_id"], "agent_id": agent}, 202)
            ask.finished(run["run_id"])
    assert ask("PUT", "/bots/a1/context", {"bot_name": "Moss"}).status == 200
    found = [each for page in ask.pages("/org-evaluations", 2) for each in page]
    assert [(each["agent_id"], each["agent_name"], each["runs"]) for each in found] == [
        ("a1", "Moss", 2),
        ("a2", None, 2),
        ("a3", None, 1),
    ]
    assert [each["run"]["test_set_id"] for each in found] == [each["test_set_id"] for each in (easy, broken, easy)]
    assert [each["rubric_score"] for each in found] == [None] * 3
    for each in found:
        told = each["run"]["criteria"]
        judged = told["passed"] + told["failed"]
        assert each["criteria_score"] == (told["passed"] / judged if judged else None)
        assert each["run"] == ask("GET", f"/runs/{each['run']['run_id']}").body


def test_an_agent_without_a_complete_run_stands_nowhere(service: Service) -> None:
    owner, other = service.asker(), service.asker()
    key = owner.made("/test-sets", a_test_set(entry(1)))["test_set_id"]
    run = owner.made("/runs", {"test_set_id": key, "agent_id": "a1"}, 202)["run_id"]
    if owner("POST", f"/runs/{run}/cancel").status == 200:
        (standing,) = owner("GET", "/org-evaluations").body
        complete = owner("GET", f"/runs/{run}").body["status"] == "completed"
        assert (standing["runs"], standing["run"] is None) == (1, not complete)
    assert other("GET", "/org-evaluations").body == []
    elsewhere = service.asker(organization_id=owner.organization_id, agent_ids=["a2"])
    assert elsewhere("GET", "/org-evaluations").body == []


def test_results_since_a_time(ask: Asker) -> None:
    key = ask.made("/test-sets", a_test_set(entry(1)))["test_set_id"]
    ask.finished(ask.made("/runs", {"test_set_id": key}, 202)["run_id"])
    assert len(ask("GET", "/results?since=2020-01-01T00:00:00Z").body) == 1
    assert ask("GET", "/results?since=2120-01-01T00:00:00Z").body == []
    for odd in ("yesterday", "2020-01-01T00:00:00", "0001-01-01T00:00:00%2B23:59"):
        assert ask("GET", f"/results?since={odd}").status in (200, 422)
    assert ask("GET", "/results?agent_id=nobody").body == []


def test_lists_are_filtered_by_agent_and_name(ask: Asker) -> None:
    one = ask.made("/rubrics", a_rubric(name="One", agent_id="a1"))["rubric_id"]
    two = ask.made("/rubrics", a_rubric(name="Two", agent_id="a2"))["rubric_id"]
    bare = ask.made("/rubrics", a_rubric(name="Two", agent_id=None))
    found = {query: [each["rubric_id"] for each in ask("GET", f"/rubrics?{query}").body] for query in
             ("agent_id=a1", "agent_id=a2", "name=Two", "name=Two&agent_id=a2", "name=Three")}  # fmt: skip
    assert found == {
        "agent_id=a1": [one],
        "agent_id=a2": [two],
        "name=Two": [bare["rubric_id"], two],
        "name=Two&agent_id=a2": [two],
        "name=Three": [],
    }
    assert ask("GET", "/test-sets").body == []


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=-1", "limit=1001", "limit=x", "limit=", "agent_id=a%20b", "agent_id="]
)
def test_limits_are_kept(ask: Asker, query: str) -> None:
    assert ask("GET", f"/rubrics?{query}").status == 422


def test_the_last_page_costs_what_the_first_costs(service: Service) -> None:
    """`make bench` measures it with 200,000 results; here a scan that grows with the cursor would show."""
    ask = service.asker()
    wanted = [("POST", "/rubrics", a_rubric()) for _ in range(60)]
    ask.at_once(*wanted)
    pages: list[float] = []
    cursor = ""
    while True:
        begun = perf_counter()
        reply = ask("GET", f"/rubrics?limit=10{cursor}")
        pages.append(perf_counter() - begun)
        if "x-next-cursor" not in reply.headers:
            break
        cursor = f"&cursor={reply.headers['x-next-cursor']}"
    assert len(pages) in (6, 7)
    assert min(pages[-3:]) < 5 * max(pages[:3])


def test_a_subset_repeats_and_limits(ask: Asker) -> None:
    key = World(ask).one("/test-sets")
    wanted: list[tuple[Json, int]] = [
        ({"item_ids": ["i2"]}, 1),
        ({"limit": 1}, 1),
        ({"repeat": 3}, 6),
        ({"item_ids": ["i1"], "repeat": 2}, 2),
    ]
    for more, total in wanted:
        asked = ask.made("/evaluations", {"bot_id": AGENT, "test_set_id": key, **more}, 202)
        assert asked["total"] == total
        assert ask.finished(asked["run_id"])["total"] == total
