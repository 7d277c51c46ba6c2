"""What a client that was written to the published shapes reads: every scope, every criterion counted, the item's own
type, the test set of finished conversations, and optional fields that nobody sent."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from api.operations import MADE, a_question_set, a_rubric, a_test_set
from api.shared import AGENT, Asker
from howsure.reports.jsonl import canonical_line

Json = dict[str, Any]
EMPTY = {"score": None, "total": 0, "passed": 0, "failed": 0, "errored": 0, "skipped": 0}


def item(number: int, message: str, *criteria: str) -> Json:
    return {
        "item_id": f"i{number}",
        "type": "single_turn",
        "name": f"Greeting {number}",
        "inputs": {"message": message},
        "expected": {"success_criteria": list(criteria)},
    }


GREETINGS = [
    item(1, "hello 1", "The answer says hello 1"),
    item(2, "break it", "The answer says hello 2", "The answer is short"),
]
KIND = {"id": "KIND", "name": "Be kind", "severity": "low", "description": "The answer is kind"}


def made_test_set(ask: Asker, *items: Json, **more: Any) -> str:
    test_set = {"name": "Greetings", "agent_id": AGENT, "items": list(items), **more}
    return str(ask.made("/test-sets", test_set)["test_set_id"])


def ran(ask: Asker, path: str, body: Json) -> tuple[Json, list[Json]]:
    """The run, when it has ended, and its results."""
    run = ask.finished(ask.made(path, body, 202)["run_id"])
    return run, ask("GET", f"/runs/{run['run_id']}/results").body


def test_a_run_counts_the_criteria_that_its_results_list_and_has_every_scope(ask: Asker) -> None:
    rubric = ask.made("/rubrics", {"name": "Kindness", "rules": [{**KIND, "component_scope": "prompt"}]})["rubric_id"]
    key = made_test_set(ask, *GREETINGS)
    run, results = ran(ask, "/evaluations", {"bot_id": AGENT, "test_set_id": key, "rubric_id": rubric})
    assert [len(each["criteria_scores"]) for each in results] == [1, 2]
    assert (run["criteria_passed"], run["criteria_total"], run["criteria"]["errored"]) == (1, 3, 2)
    assert set(run["component_scores"]) == {"prompt", "knowledge_base", "function", "general"}
    assert run["component_scores"]["function"] == EMPTY
    assert run["component_scores"]["prompt"]["total"] == run["rubric_rules_total"] == 1
    without, _ = ran(ask, "/evaluations", {"bot_id": AGENT, "test_set_id": key})
    assert without["component_scores"] is None


def test_finished_conversations_keep_the_test_set_they_are_held_against(ask: Asker) -> None:
    key = made_test_set(ask, GREETINGS[0], item(3, "hello 3", "The answer says hello 3"))
    _, results = ran(ask, "/evaluations", {"bot_id": AGENT, "test_set_id": key})
    assert [each["item_type"] for each in results] == ["single_turn", "single_turn"]
    held = {"bot_id": AGENT, "test_set_id": key, "mode": "transcript", "conversation_ids": [results[0]["result_id"]]}
    run, graded = ran(ask, "/evaluations", held)
    assert (run["test_set_id"], run["test_set_version"], run["test_set_name"]) == (key, 1, "Greetings")
    assert (run["criteria_passed"], run["criteria_total"]) == (1, 2)
    assert [(each["item_type"], len(each["criteria_scores"])) for each in graded] == [("transcript", 2)]
    assert ask("DELETE", f"/test-sets/{key}").status == 204
    assert ask("GET", f"/runs/{run['run_id']}").body["test_set_name"] == "Greetings (deleted)"


def test_optional_fields_that_nobody_sent_are_null_and_may_be_sent_back(ask: Asker) -> None:
    rubric = ask.made("/rubrics", {"name": "Kindness", "rules": [KIND]})
    named = ("category", "prompt_reference", "examples", "component_scope", "component_ids", "component_names")
    assert {name: rubric["rules"][0][name] for name in named} == dict.fromkeys(named)
    test_set = ask("GET", f"/test-sets/{made_test_set(ask, GREETINGS[0])}").body
    (entry,) = test_set["items"]
    assert (entry["priority"], entry["tags"], entry["inputs"]["persona"], entry["expected"]["should_use_tools"]) == (
        None, [], None, []
    )  # fmt: skip
    for path, content in (
        (f"/rubrics/{rubric['rubric_id']}", rubric),
        (f"/test-sets/{test_set['test_set_id']}", test_set),
    ):
        put = ask("PUT", path, content)
        assert (put.status, put.body["version"]) == (200, 2), put.body
        assert ask("GET", f"{path}/versions/1/diff/2").body == []


@pytest.mark.parametrize("sent", [None, ""], ids=["unsent", "empty"])
def test_a_text_that_nobody_sent_is_null_and_an_empty_one_is_empty(ask: Asker, sent: str | None) -> None:
    said = {} if sent is None else {"description": sent}
    document: Json = {}
    for kind, made in (("/rubrics", a_rubric), ("/test-sets", a_test_set), ("/question-sets", a_question_set)):
        document = ask.made(kind, made(**said))
        path = f"{kind}/{document[MADE[kind][0]]}"
        assert document["description"] == sent
        assert ask("PUT", path, document).body["description"] == sent
        assert ask("GET", f"{path}/versions/1/diff/2").body == []
    bot = "/bots/quiet/context"
    prompt = {} if sent is None else {"system_prompt": sent}
    assert ask("PUT", bot, {"bot_name": "Quiet", **prompt}).body["system_prompt"] == sent
    assert ask("GET", bot).body["system_prompt"] == sent
    run = ask.made("/runs", {"test_set_id": made_test_set(ask, GREETINGS[0]), "agent_id": "quiet"}, 202)
    assert ask.finished(run["run_id"])["status"] == "completed"
    assert [each["note"] for each in document["changelog"]] == [None]


def test_a_question_fails_where_one_criterion_fails_and_its_answer_is_graded_beside_them(ask: Asker) -> None:
    criteria = ["The answer says hello", "The answer says you said", "The answer says said", "The answer says goodbye"]
    question = {"question": "hello hello", "expected_answer": "You said hello hello", "criteria": criteria}
    key = ask.made("/question-sets", {"name": "Questions", "agent_id": AGENT, "questions": [question]})
    _, (result,) = ran(ask, "/runs", {"question_set_id": key["question_set_id"], "agent_id": AGENT})
    graded = result["scores"]
    assert set(graded) >= {"weighted_criteria", "reference_answer"}
    assert (result["passed"], graded["weighted_criteria"]["score"]) == (False, 0.75)
    assert graded["reference_answer"]["score"] == 1


def edited(ask: Asker, path: str, **changes: Any) -> None:
    put = ask("PUT", path, {**ask("GET", path).body, **changes})
    assert put.status == 200, put.body


def test_a_run_names_everything_it_was_made_of_and_is_graded_again_by_exactly_that(ask: Asker) -> None:
    rubric = ask.made("/rubrics", {"name": "Kindness", "rules": [KIND]})["rubric_id"]
    config = ask.made("/evaluator-configs", {"name": "C", "evaluators": [{"type": "criteria"}, {"type": "rubric"}]})
    assert ask("PUT", f"/bots/{AGENT}/context", {"bot_name": "Desk"}).status == 200
    key = made_test_set(ask, item(1, "hello 1", "The answer says hello 1"), item(2, "hello 2", "The answer says bye"))
    named = {"rubric_id": rubric, "config_id": config["config_id"], "initial_payload": {"plan": "gold"}}
    run, results = ran(ask, "/runs", {"test_set_id": key, "agent_id": AGENT, **named})
    payload = run["made_of"].pop("initial_payload")
    assert (run["initial_payload"], payload["version"]) == ({"plan": "gold"}, None)
    assert run["made_of"] == {
        "test_set": {"id": key, "version": 1},
        "rubric": {"id": rubric, "version": 1},
        "config": {"id": config["config_id"], "version": 1},
        "bot_context": {"id": AGENT, "version": 1},
    }
    edited(ask, f"/rubrics/{rubric}", rules=[KIND, {**KIND, "id": "SHORT", "name": "Be short"}])
    newer = [
        item(1, "hello 1", "The answer says hello 1", "The answer says you said"),
        item(2, "another question", "X"),
    ]
    edited(ask, f"/test-sets/{key}", items=newer)
    edited(ask, f"/evaluator-configs/{config['config_id']}", evaluators=[{"type": "criteria"}])
    other, other_results = ran(ask, f"/runs/{run['run_id']}/regrade", {"test_set_version": 2, "rubric_version": 2})
    assert (other["made_of"]["test_set"]["version"], other["rubric_version"]) == (2, 2)
    # The second item asks something else in version 2: what was answered is no answer to that.
    assert [(each["input"]["message"], len(each["criteria_scores"])) for each in other_results] == [("hello 1", 2)]
    assert any("1 of 2 items were not graded again" in note for note in other["notes"])
    for path in (f"/rubrics/{rubric}", f"/test-sets/{key}", f"/evaluator-configs/{config['config_id']}"):
        assert ask("DELETE", path).status == 204
    again, same = ran(ask, f"/runs/{run['run_id']}/regrade", {})
    assert again["made_of"] == {**run["made_of"], "initial_payload": payload}
    assert [each["output"] for each in same] == [each["output"] for each in results]
    assert [each["criteria_scores"] for each in same] == [each["criteria_scores"] for each in results]


def test_finished_conversations_are_graded_again_and_an_old_version_is_run(ask: Asker) -> None:
    key = made_test_set(ask, item(1, "hello 1", "The answer says hello 1"), item(2, "hello 2", "The answer says bye"))
    edited(ask, f"/test-sets/{key}", items=[item(1, "hello 9", "The answer says hello 9")])
    first, results = ran(ask, "/runs", {"test_set_id": key, "test_set_version": 1, "agent_id": AGENT})
    assert (first["test_set_version"], first["total"]) == (1, 2)
    unnamed = ask("POST", "/runs", {"test_set_id": key, "rubric_version": 1})
    assert (unnamed.status, unnamed.body["detail"]) == (422, "rubric_version: say of which one, with rubric_id")
    held = {"mode": "transcript", "conversation_ids": [results[0]["result_id"]], "test_set_version": 1}
    run, _ = ran(ask, "/evaluations", {"bot_id": AGENT, "test_set_id": key, **held})
    again, graded = ran(ask, f"/runs/{run['run_id']}/regrade", {})
    assert (again["test_set_version"], again["criteria_passed"], again["criteria_total"]) == (1, 1, 2)
    assert graded[0]["output"]["answer"] == "You said hello 1"
    newer, _ = ran(ask, f"/runs/{run['run_id']}/regrade", {"test_set_version": 2})
    assert (newer["test_set_version"], newer["criteria_total"]) == (2, 1)


SAYINGS = st.sampled_from(("hello", "bye", "break it", "you", "ünïcode „quoted“", "a\nb", "said", "0"))
ITEMS = st.lists(st.tuples(SAYINGS, st.lists(SAYINGS, max_size=3, unique=True)), min_size=1, max_size=4)


def canonical_export(ask: Asker, run_id: str) -> bytes:
    async def lines() -> bytes:
        return b"".join([canonical_line(result) async for result in ask.service.host.store.iterate(run_id)])

    return ask.service.wait(lines())


@given(sayings=ITEMS, severity=st.sampled_from(("high", "low", None)), repeat=st.integers(1, 2))
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_nobody_changed_is_graded_again_byte_for_byte(
    ask: Asker, sayings: list[tuple[str, list[str]]], severity: str | None, repeat: int
) -> None:
    items = [
        item(number, f"{said} {number}", *(f"The answer says {word}" for word in words))
        for number, (said, words) in enumerate(sayings)
    ]
    said = {"persona": "A customer", "initial_message": f"{sayings[0][0]}, please", "max_turns": 2}
    items.append({**item(99, "", "The answer says said"), "type": "scenario", "inputs": said})
    asked: Json = {"test_set_id": made_test_set(ask, *items), "agent_id": AGENT, "repeat": repeat}
    if severity:
        rule = {**KIND, "severity": severity, "component_scope": "prompt"}
        asked["rubric_id"] = ask.made("/rubrics", {"name": "Kindness", "rules": [rule]})["rubric_id"]
    first = ask.finished(ask.made("/runs", asked, 202)["run_id"])
    edited(ask, f"/test-sets/{asked['test_set_id']}", items=[item(1, "quite another", "The answer says no")])
    again = ask.finished(ask.made(f"/runs/{first['run_id']}/regrade", {}, 202)["run_id"])
    assert canonical_export(ask, again["run_id"]) == canonical_export(ask, first["run_id"])
    assert (again["criteria"], again["component_scores"]) == (first["criteria"], first["component_scores"])


def test_a_conversation_is_held_against_a_rubric_alone_and_its_state_is_checked(ask: Asker) -> None:
    refunded = {"check": {"field": "status", "op": "equals", "value": "refunded"}}
    rule = {**KIND, "id": "DONE", "name": "Refunded", "severity": "high", "outcome_check": refunded}
    rubric = ask.made("/rubrics", {"name": "Outcome", "rules": [rule]})["rubric_id"]
    said = [{"role": "user", "content": "Refund me"}, {"role": "assistant", "content": "Done."}]
    for state, passed in (({"status": "refunded"}, True), ({"status": "open"}, False)):
        graded = ask("POST", "/evaluate-transcript", {"messages": said, "rubric_id": rubric, "state": state})
        assert graded.status == 200, graded.body
        assert (graded.body["item_type"], graded.body["output"]["state"]) == ("transcript", state)
        assert (graded.body["criteria_scores"], graded.body["criteria_passed"]) == ([], None)
        assert [(each["rule_id"], each["passed"]) for each in graded.body["rubric_scores"]] == [("DONE", passed)]
        assert graded.body["passed"] is passed
    nothing = ask("POST", "/evaluate-transcript", {"messages": said})
    assert (nothing.status, "a rubric_id" in nothing.body["detail"]) == (422, True)


def test_items_that_are_finished_conversations_are_graded_and_never_sent_to_the_bot(ask: Asker) -> None:
    said = [
        {"role": "assistant", "content": "Hello, how can I help?", "start_ms": 0, "end_ms": 1200},
        {"role": "user", "content": "break it", "start_ms": 2000, "end_ms": 2600},
        {"role": "assistant", "content": "I refunded you.", "start_ms": 3100, "end_ms": 4500},
    ]
    metrics = {"turn_count": 1, "greeting_latency_ms": 300}
    kinds = (("transcript", {"messages": said}), ("voice_simulation", {"messages": said, "voice_metrics": metrics}))
    finished = [
        {**item(n, "", "The answer says refunded"), "type": kind, "inputs": i} for n, (kind, i) in enumerate(kinds)
    ]
    key = made_test_set(ask, *finished, item(7, "hello 7", "The answer says hello 7"))
    run, results = ran(ask, "/evaluations", {"bot_id": AGENT, "test_set_id": key})
    assert (run["passed"], run["total"]) == (3, 3)
    assert [each["item_type"] for each in results] == ["transcript", "voice_simulation", "single_turn"]
    assert [each["output"]["answer"] for each in results] == ["I refunded you."] * 2 + ["You said hello 7"]
    assert results[1]["input"] == {"turns": ["break it"], "messages": said, "voice_metrics": metrics}
    assert [each["content"] for each in results[0]["output"]["messages"]] == [each["content"] for each in said]
    again, _ = ran(ask, f"/runs/{run['run_id']}/regrade", {})
    assert canonical_export(ask, again["run_id"]) == canonical_export(ask, run["run_id"])
    refused = ask("POST", "/test-sets", {"name": "T", "items": [{**finished[0], "inputs": {"message": "hello"}}]})
    assert refused.status == 422


def test_rules_are_counted_over_runs_and_every_failure_names_who_is_answerable(ask: Asker) -> None:
    holds = {"pass_conditions": ["The answer says hello"], "fail_conditions": []}
    says = {"id": "HELLO", "name": "Says hello", "severity": "high", "evaluation_criteria": holds}
    rubric = ask.made("/rubrics", {"name": "Hello", "rules": [says]})["rubric_id"]
    items = [item(1, "hello 1", "The answer says hello 1"), item(2, "goodbye", "The answer says goodbye"), GREETINGS[1]]
    key = made_test_set(ask, *items[:2], {**items[2], "item_id": "i3"})
    asked = {"bot_id": AGENT, "test_set_id": key, "rubric_id": rubric}
    _, results = ran(ask, "/evaluations", asked)
    blamed = [each["failure_attribution"] for each in results]
    assert (blamed[0], blamed[1]["party"], blamed[1]["cause"]) == (None, "agent", "rule_broken")
    assert (blamed[2]["party"], blamed[2]["confidence"]) == ("agent", "likely")
    second, _ = ran(ask, "/evaluations", asked)
    rules = ask("GET", "/stats").body
    (hello,) = rules["groups"]
    assert (rules["group_by"], rules["runs"], hello["key"]) == ("rule", 2, "HELLO")
    assert [hello[name] for name in ("passed", "failed", "errored", "total", "pass_rate")] == [2, 2, 0, 4, 0.5]
    assert hello["pass_rate_interval"][0] < 0.5 < hello["pass_rate_interval"][1]
    parties = ask("GET", f"/stats?group_by=failure_attribution&run_id={second['run_id']}").body
    assert [(each["key"], each["failed"], each["errored"]) for each in parties["groups"]] == [("agent", 1, 1)]
    assert ask("GET", "/stats?agent_id=nobody").body == {"group_by": "rule", "runs": 0, "groups": []}
    assert ask("GET", "/stats?group_by=tag").status == 422


def test_a_run_may_have_several_rubrics(ask: Asker) -> None:
    def rubric(name: str, rule: str, saying: str) -> str:
        holds = {"pass_conditions": [f"The answer says {saying}"], "fail_conditions": []}
        rules = [{"id": rule, "name": rule, "severity": "low", "evaluation_criteria": holds}]
        return str(ask.made("/rubrics", {"name": name, "rules": rules})["rubric_id"])

    first, second, clash = rubric("Hello", "HI", "hello"), rubric("Bye", "BYE", "goodbye"), rubric("Again", "HI", "you")
    key = made_test_set(ask, GREETINGS[0])
    asked = {"bot_id": AGENT, "test_set_id": key, "rubric_id": first, "rubric_ids": [second]}
    run, (result,) = ran(ask, "/evaluations", asked)
    assert [each["id"] for each in run["rubrics"]] == [first, second]
    assert (run["rubric_id"], run["rubric_name"], run["rubric_rules_total"]) == (first, "Hello + Bye", 2)
    assert [each["rule_id"] for each in result["rubric_scores"]] == ["HI", "BYE"]
    for listed in (first, second):
        assert [each["run_id"] for each in ask("GET", f"/runs?rubric_id={listed}").body] == [run["run_id"]]
    again, _ = ran(ask, f"/runs/{run['run_id']}/regrade", {})
    assert (again["rubrics"], canonical_export(ask, again["run_id"])) == (
        run["rubrics"],
        canonical_export(ask, run["run_id"]),
    )
    refused = ask("POST", "/evaluations", {**asked, "rubric_ids": [clash]})
    assert (refused.status, "have a rule HI" in refused.body["detail"]) == (422, True)


def test_a_rubric_that_is_not_asked_is_not_named_and_a_warning_says_so(ask: Asker) -> None:
    key = made_test_set(ask, GREETINGS[0])
    rubric = ask.made("/rubrics", {"name": "Kindness", "rules": [{**KIND, "component_scope": "function"}]})["rubric_id"]
    config = ask.made("/evaluator-configs", {"name": "C", "evaluators": [{"type": "criteria"}]})["config_id"]
    asked = {"bot_id": AGENT, "test_set_id": key, "rubric_id": rubric}
    for limit, why in (
        ({"component_scope": "prompt"}, "the rubric 'Kindness' is not used: none of its rules is about prompt"),
        ({"config_id": config}, "the rubric 'Kindness' is not used: the grader `rubric` is not among those chosen"),
    ):
        queued = ask.made("/evaluations", {**asked, **limit}, 202)
        assert (queued["rules_count"], queued["warnings"]) == (0, [why])
        run = ask.finished(queued["run_id"])
        assert (run["rubric_id"], run["rubric_rules_total"], run["component_scores"]) == (None, None, None)
        assert (why in run["notes"], "rubric" in run["made_of"]) == (True, False)
