"""People's labels through the API: said, said again, taken back, listed, held against the judge; and who may do so."""

from __future__ import annotations

import json
from typing import Any

import pytest

from api.operations import a_rubric, a_test_set, entry, rule
from api.shared import AGENT, Asker, Service
from howsure.api.app import PREFIX

Json = dict[str, Any]
HARD = {"success_criteria": ["The answer names seven purple elephants"]}


def labelled_run(ask: Asker, cases: int = 2) -> tuple[str, list[Json]]:
    """A finished run whose first case fails its criterion, and its results."""
    entries = [entry(number) for number in range(1, cases + 1)]
    entries[0]["expected"] = HARD
    key = ask.made("/test-sets", a_test_set(*entries))["test_set_id"]
    rubric = ask.made("/rubrics", a_rubric(rules=[rule(), rule("CALM")]))["rubric_id"]
    asked = ask.made("/evaluations", {"bot_id": AGENT, "test_set_id": key, "rubric_id": rubric}, 202)
    run = ask.finished(asked["run_id"])
    results: list[Json] = ask("GET", f"/runs/{run['run_id']}/results").body
    return run["run_id"], results


def criterion(result: Json) -> Json:
    return {"result_id": result["result_id"], "grader": "criteria",
            "criterion_id": result["criteria_scores"][0]["criterion_id"]}  # fmt: skip


def test_a_label_is_kept_as_it_was_said(ask: Asker) -> None:
    run_id, results = labelled_run(ask)
    said = {**criterion(results[0]), "opinion": "fail", "why": " No elephant. ", "blind": False}
    made = ask.made(f"/runs/{run_id}/labels", said)
    assert {name: made[name] for name in made if name not in ("label_id", "created_at")} == {
        "run_id": run_id,
        "result_id": results[0]["result_id"],
        "test_case_id": "i1",
        "candidate": "",
        "repeat": 1,
        "drawn": None,
        "grader": "criteria",
        "criterion_id": said["criterion_id"],
        "labeler": "tester",
        "opinion": "fail",
        "passed": False,
        "why": "No elephant.",
        "blind": False,
        "agent_id": AGENT,
    }
    assert ask("GET", f"/runs/{run_id}/labels").body == [made]
    assert ask("GET", "/labels").body == [made]


def test_what_is_drawn_is_labelled_with_its_chance(ask: Asker) -> None:
    run_id, results = labelled_run(ask, cases=4)
    drawn = ask("GET", f"/runs/{run_id}/labels/next?number=2").body
    assert len({task["result_id"] for task in drawn}) == 2
    # One of four failed: .5 + .5 × 4 / 2 and .5 + .5 × 4 / 6, whichever two are drawn.
    assert {task["drawn"] for task in drawn} <= {1.5, 0.833333}
    assert {task["grader"] for task in drawn} == {"criteria", "rubric"}
    for task in drawn:
        about = {name: task[name] for name in ("result_id", "grader", "criterion_id", "drawn")}
        made = ask.made(f"/runs/{run_id}/labels", {**about, "opinion": "pass"})
        assert made["drawn"] == task["drawn"]
    others = ask("GET", f"/runs/{run_id}/labels/next").body
    assert {task["result_id"] for task in (*drawn, *others)} == {result["result_id"] for result in results}
    assert len({task["result_id"] for task in others}) == 2
    lines = ask("GET", f"/runs/{run_id}/labels.ndjson").raw.splitlines()
    assert {json.loads(line)["drawn"] for line in lines} == {task["drawn"] for task in drawn}
    assert ask("GET", f"/runs/{run_id}/labels/next?by=doubt").status == 422
    for odd in (0, 5e-324, 1e308):  # corrections divide by it
        given = {**criterion(results[0]), "opinion": "pass", "drawn": odd}
        assert ask("POST", f"/runs/{run_id}/labels", given).status == 422


def test_saying_something_else_replaces_what_was_said(ask: Asker) -> None:
    run_id, results = labelled_run(ask)
    path = f"/runs/{run_id}/labels"
    first = ask.made(path, {**criterion(results[0]), "opinion": "pass"})
    second = ask.made(path, {**criterion(results[0]), "opinion": "cannot_tell"})
    assert (second["label_id"], second["passed"]) == (first["label_id"], None)
    assert [each["opinion"] for each in ask("GET", path).body] == ["cannot_tell"]
    assert ask("DELETE", f"{path}/{first['label_id']}").status == 204
    assert ask("GET", path).body == []
    assert ask("DELETE", f"{path}/{first['label_id']}").status == 404


@pytest.mark.parametrize(
    "about",
    [
        {"result_id": "i1", "grader": "rubric", "criterion_id": "KIND"},
        {"result_id": "i1", "grader": "rubric", "criterion_id": "Be kind"},
        {"result_id": "i1", "grader": "criteria", "criterion_id": HARD["success_criteria"][0]},
    ],
    ids=["a case's id and a rule's", "a rule by its name", "a criterion by its text"],
)
def test_a_grade_is_named_as_people_know_it(ask: Asker, about: Json) -> None:
    run_id, results = labelled_run(ask)
    made = ask.made(f"/runs/{run_id}/labels", {**about, "opinion": "pass"})
    assert (made["result_id"], made["grader"]) == (results[0]["result_id"], about["grader"])


@pytest.mark.parametrize(
    ("change", "status", "told"),
    [
        ({"grader": "nobody"}, 422, "'nobody' gave nothing to case 'i1'; expected one of"),
        ({"criterion_id": "NOPE"}, 422, "'criteria' has no 'NOPE'; expected one of"),
        ({"result_id": "nothing"}, 404, "nothing"),
        ({"opinion": "maybe"}, 422, "opinion: "),
        ({"opinion": None}, 422, "opinion: "),
        ({"why": "x" * 2001}, 422, "why: "),
        ({"labeler": " "}, 422, "labeler: "),
        ({"colour": "green"}, 422, "colour: "),
    ],
    ids=["grader", "criterion", "result", "opinion", "no opinion", "long", "nobody's", "unknown field"],
)
def test_what_is_wrong_with_a_label_is_named(ask: Asker, change: Json, status: int, told: str) -> None:
    run_id, results = labelled_run(ask)
    reply = ask("POST", f"/runs/{run_id}/labels", {**criterion(results[0]), "opinion": "pass", **change})
    assert (reply.status, told in reply.body["detail"]) == (status, True), reply.body
    assert ask("GET", f"/runs/{run_id}/labels").body == []


def test_a_case_that_was_not_graded_cannot_be_labelled(ask: Asker) -> None:
    key = ask.made("/test-sets", a_test_set(entry(1, "break it")))["test_set_id"]
    run = ask.finished(ask.made("/runs", {"test_set_id": key}, 202)["run_id"])
    about = {"result_id": "i1", "grader": "criteria", "opinion": "pass"}
    reply = ask("POST", f"/runs/{run['run_id']}/labels", about)
    assert (reply.status, "none: the case was not graded" in reply.body["detail"]) == (422, True)


def test_lists_go_page_by_page_newest_first(ask: Asker) -> None:
    run_id, results = labelled_run(ask, 5)
    path = f"/runs/{run_id}/labels"
    made = [ask.made(path, {**criterion(result), "opinion": "pass"})["label_id"] for result in results]
    bo = ask.made(path, {**criterion(results[0]), "opinion": "fail", "labeler": "bo"})["label_id"]
    for listed in (path, "/labels"):
        pages = ask.pages(listed, 2)
        assert [len(page) for page in pages[:3]] == [2, 2, 2]
        assert [each["label_id"] for page in pages for each in page] == [bo, *made[::-1]]
        assert [each["label_id"] for each in ask("GET", f"{listed}?labeler=bo").body] == [bo]
    assert len(ask("GET", f"/labels?agent_id={AGENT}").body) == 6
    assert ask("GET", "/labels?agent_id=another").body == []


def test_labels_of_one_moment_are_each_listed_once(ask: Asker) -> None:
    """Two pages, though all of them were said at the same time."""
    run_id, results = labelled_run(ask, 5)
    wanted = [("POST", f"/runs/{run_id}/labels", {**criterion(each), "opinion": "pass"}) for each in results]
    assert {reply.status for reply in ask.at_once(*wanted)} == {201}
    found = [each["label_id"] for page in ask.pages("/labels", 1) for each in page]
    assert len(found) == len(set(found)) == 5


def test_people_are_held_against_the_judge(ask: Asker) -> None:
    run_id, results = labelled_run(ask, 4)
    path = f"/runs/{run_id}/labels"
    said = {True: "pass", False: "fail"}
    for result in results:
        judge = result["criteria_scores"][0]["passed"]
        ask.made(path, {**criterion(result), "opinion": said[judge]})
    about = {"result_id": results[0]["result_id"], "grader": "rubric", "criterion_id": "KIND"}
    ask.made(path, {**about, "opinion": "pass"})
    ask.made(path, {**about, "opinion": "fail", "labeler": "bo"})
    ask.made(path, {**about, "criterion_id": "CALM", "opinion": "not_applicable"})
    found = ask("GET", f"/runs/{run_id}/agreement").body
    assert (found["run_id"], found["labels"], found["compared"]) == (run_id, 7, 7)
    assert (found["people"], found["judge"]) == ({"tester": 6, "bo": 1}, "offline")
    assert (found["opinions"]["not_applicable"], sum(found["opinions"].values())) == (1, 7)
    criteria = found["graders"]["criteria"]
    assert (criteria["n"], criteria["agreed"], criteria["agreement"]) == (4, 4, 1.0)
    assert criteria["confusion"]["people_pass_judge_fail"] == criteria["confusion"]["people_fail_judge_pass"] == 0
    # Two people who say the opposite of each other have no verdict in common.
    assert found["graders"]["rubric"]["n"] == 0
    assert found["graders"]["rubric"]["agreement"] is None
    assert found["together"]["people"] == ["tester", "bo"]
    assert (found["together"]["grades"], found["together"]["agreed"]) == (1, 0)
    low, high = criteria["agreement_interval"]
    assert 0 < low < high == 1.0


def test_without_labels_nothing_is_claimed(ask: Asker) -> None:
    run_id, _ = labelled_run(ask)
    found = ask("GET", f"/runs/{run_id}/agreement").body
    assert (found["labels"], found["people"], found["graders"], found["together"]) == (0, {}, {}, None)
    assert [found["overall"][name] for name in ("n", "agreement", "kappa", "agreement_interval")] == [
        0,
        None,
        None,
        None,
    ]
    assert ask("GET", f"/runs/{run_id}/labels.ndjson").raw == b""


def test_the_file_holds_every_pass_and_fail(ask: Asker) -> None:
    run_id, results = labelled_run(ask)
    path = f"/runs/{run_id}/labels"
    ask.made(path, {**criterion(results[0]), "opinion": "fail"})
    ask.made(path, {**criterion(results[1]), "opinion": "cannot_tell"})
    reply = ask("GET", f"{path}.ndjson")
    assert reply.headers["content-type"].startswith("application/x-ndjson")
    assert [json.loads(line) for line in reply.raw.splitlines()] == [
        {
            "case_id": "i1",
            "candidate": "",
            "repeat": 1,
            "grader": "criteria",
            "criterion_id": criterion(results[0])["criterion_id"],
            "label": "fail",
            "annotator": "tester",
        }
    ]


def test_nobody_speaks_for_others_but_an_admin(service: Service) -> None:
    owner = service.asker()
    writer = service.asker("read", "write", organization_id=owner.organization_id)
    run_id, results = labelled_run(owner)
    path = f"/runs/{run_id}/labels"
    said = {**criterion(results[0]), "opinion": "pass"}
    assert writer("POST", path, {**said, "labeler": "ana"}).status == 403
    assert writer.made(path, {**said, "labeler": "tester"})["labeler"] == "tester"
    ana = owner.made(path, {**said, "labeler": "ana"})
    assert writer("DELETE", f"{path}/{ana['label_id']}").status == 403
    assert owner("DELETE", f"{path}/{ana['label_id']}").status == 204
    assert [each["labeler"] for each in owner("GET", path).body] == ["tester"]


def test_labels_of_others_are_not_there(service: Service) -> None:
    owner, other = service.asker(), service.asker()
    elsewhere = service.asker(organization_id=owner.organization_id, agent_ids=["another"])
    run_id, results = labelled_run(owner)
    path = f"/runs/{run_id}/labels"
    made = owner.made(path, {**criterion(results[0]), "opinion": "pass"})
    for asker in (other, elsewhere):
        assert asker("GET", "/labels").body == []
        for method, address, body in (
            ("GET", path, None),
            ("GET", f"/runs/{run_id}/agreement", None),
            ("GET", f"{path}.ndjson", None),
            ("POST", path, {**criterion(results[0]), "opinion": "fail"}),
            ("DELETE", f"{path}/{made['label_id']}", None),
        ):
            assert asker(method, address, body).status == 404, (method, address)
    assert owner("GET", path).body == [made]


def test_a_label_outlives_its_run_and_can_still_be_taken_back(ask: Asker) -> None:
    run_id, results = labelled_run(ask)
    made = ask.made(f"/runs/{run_id}/labels", {**criterion(results[0]), "opinion": "pass"})
    assert ask("DELETE", f"/runs/{run_id}").status == 204
    assert ask("GET", f"/runs/{run_id}/labels").status == 404
    assert ask("GET", "/labels").body == [made]
    assert ask("DELETE", f"/runs/{run_id}/labels/{made['label_id']}").status == 204
    assert ask("GET", "/labels").body == []


def test_a_label_sent_twice_is_said_once_and_noted_once(ask: Asker) -> None:
    run_id, results = labelled_run(ask)
    path = f"/runs/{run_id}/labels"
    said = {**criterion(results[0]), "opinion": "pass"}
    first = ask("POST", path, said, Idempotency_Key="one")
    again = ask("POST", path, said, Idempotency_Key="one")
    assert (again.status, again.body) == (201, first.body)
    noted = [each for each in ask("GET", "/audit").body if "labels" in each["action"]]
    assert [(each["action"], each["subject"], each["status"]) for each in noted] == [
        (f"POST {PREFIX}/runs/{{run_id}}/labels", f"{PREFIX}{path}", 201)
    ]
