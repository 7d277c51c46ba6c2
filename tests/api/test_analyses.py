"""Reports, triage, gates and comparisons are answered as the description says, with the numbers of the run."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from api.operations import a_test_set, entry
from api.shared import Asker
from howsure.api.app import PREFIX


@pytest.fixture
def runs(ask: Asker) -> tuple[str, str]:
    """Two runs of one test set: two of three pass, one breaks."""
    unmet = entry(3, "goodbye")
    key = ask.made("/test-sets", a_test_set(entry(1), entry(2), unmet, entry(4, "break it")))["test_set_id"]
    ids = [ask.made("/runs", {"test_set_id": key, "gates": ["errors <= 0"]}, 202)["run_id"] for _ in range(2)]
    for run_id in ids:
        ask.finished(run_id)
    return ids[0], ids[1]


def described(ask: Asker, path: str, name: str) -> Any:
    """The answer, which must be of its shape, with nothing that the shape does not know."""
    reply = ask("GET", path)
    assert reply.status == 200, reply.body
    components = ask("GET", "/openapi.json").body["components"]
    for each in components["schemas"].values():
        if each.get("additionalProperties") is True and "properties" in each:
            each["additionalProperties"] = False
    schema = {"$ref": f"#/components/schemas/{name}", "components": components}
    assert [fault.message for fault in Draft202012Validator(schema).iter_errors(reply.body)] == []
    return reply.body


def test_a_report_is_the_run_and_all_its_results(ask: Asker, runs: tuple[str, str]) -> None:
    told = ask("GET", f"/runs/{runs[0]}/report").body
    assert told == {
        "run": ask("GET", f"/runs/{runs[0]}").body,
        "results": ask("GET", f"/runs/{runs[0]}/results").body,
    }
    assert [(each["test_case_id"], each["verdict"]) for each in told["results"]] == [
        ("i1", "passed"),
        ("i2", "passed"),
        ("i3", "failed"),
        ("i4", "errored"),
    ]
    assert ask("GET", "/runs/none/report").status == 404


def test_triage_names_one_cause_for_each_result(ask: Asker, runs: tuple[str, str]) -> None:
    told = described(ask, f"/runs/{runs[0]}/triage", "TriageShape")
    assert (told["total"], told["passed"], told["failed"], told["errored"]) == (4, 2, 1, 1)
    assert sorted((each["case_id"], each["verdict"]) for each in told["findings"]) == [
        ("i3", "failed"),
        ("i4", "errored"),
    ]
    assert sorted(case for each in told["causes"] for case in each["cases"]) == ["i3", "i4"]
    assert ask("GET", "/runs/none/triage").status == 404


def test_gates_are_decided_on_a_stored_run(ask: Asker, runs: tuple[str, str]) -> None:
    own = described(ask, f"/runs/{runs[0]}/gates", "GateReportShape")
    assert (own["outcome"], [each["expression"] for each in own["gates"]]) == ("failed", ["errors <= 0"])
    more = described(
        ask, f"/runs/{runs[0]}/gates?gate=errors%20%3C%3D%202&gate=pass_rate%20%3E%3D%200.1", "GateReportShape"
    )
    assert [each["outcome"] for each in more["gates"]][:2] == ["failed", "held"]
    assert more["gates"][2]["value"] == pytest.approx(2 / 3)
    assert ask("GET", f"/runs/{runs[0]}").body["gates"] == own["gates"]
    wrong = ask("GET", f"/runs/{runs[0]}/gates?gate=good")
    assert (wrong.status, "gate 'good'" in wrong.body["detail"]) == (422, True)
    assert ask("GET", f"/runs/{runs[0]}/gates?gate=no_regression%20vs%20elsewhere").status in (404, 422)


def test_two_runs_are_compared(ask: Asker, runs: tuple[str, str]) -> None:
    told = described(ask, f"/compare/{runs[0]}/{runs[1]}", "ComparisonAnswerShape")
    (compared,) = told["comparisons"]
    assert (compared["verdict"]["n"], compared["verdict"]["difference"], compared["alike"]) == (3, 0.0, True)
    assert (compared["got_worse"], compared["got_better"]) == ([], [])
    assert compared["verdict"]["pairing"]["without_value"] == 1
    assert compared["first"]["run_id"] == runs[0]


def test_answers_of_analyses_are_typed(ask: Asker) -> None:
    paths = ask("GET", "/openapi.json").body["paths"]
    for path in ("/runs/{run_id}/report", "/runs/{run_id}/triage", "/runs/{run_id}/gates", "/compare/{first}/{second}"):
        schema = paths[PREFIX + path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        assert schema["$ref"].startswith("#/components/schemas/"), path
