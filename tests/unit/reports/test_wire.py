"""EvaluationRun and EvaluationResult, field for field. The fields of the published shapes are written out here once."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import msgspec
import pytest

from howsure.model.case import Attachment, Input, Scenario, Script, SingleTurn, World
from howsure.model.result import Failure, Result, result_id
from howsure.model.rubric import Rubric, Rule, Scope, Severity
from howsure.model.run import Counts, DatasetPin, RunState
from howsure.model.summary import Summary
from howsure.model.transcript import ToolCall, Transcript
from howsure.model.verdict import Verdict
from howsure.reports.case_facts import result_error
from howsure.reports.evaluations import evaluation_result, evaluation_run
from howsure.testing import a_case, a_transcript
from unit.reports.northwind import (
    MOMENT,
    RUN_ID,
    SUPPORT_PINS,
    a_result,
    a_run,
    criteria_case,
    refund_results,
    summary_of,
    support_results,
)
from unit.reports.snapshot import json_matches

RUN_FIELDS = [
    "run_id",
    "dataset_id",
    "agent_id",
    "status",
    "total",
    "completed",
    "passed",
    "failed",
    "concurrency",
    "started_at",
    "completed_at",
    "error",
    "rubric_id",
    "rubric_version",
    "test_set_id",
    "test_set_version",
    "component_scope_filter",
    "component_ids_filter",
    "component_scores",
    "criteria_passed",
    "criteria_total",
    "rubric_rules_passed",
    "rubric_rules_total",
    "bot_llm_provider",
    "bot_llm_model",
    "created_at",
]
RESULT_FIELDS = [
    "result_id",
    "run_id",
    "test_case_id",
    "langsmith_run_id",
    "input",
    "output",
    "scores",
    "item_name",
    "item_type",
    "criteria_scores",
    "criteria_passed",
    "rubric_scores",
    "rubric_passed",
    "passed",
    "duration_ms",
    "created_at",
]


def shown(result: Result) -> dict[str, Any]:
    return evaluation_result(a_run(Counts(total=1)), result)


def test_the_run_of_a_dataset_has_its_shape() -> None:
    json_matches("run_v1.json", evaluation_run(summary_of(refund_results())))


def test_the_run_of_a_test_set_has_its_shape() -> None:
    json_matches("run_v2.json", evaluation_run(summary_of(support_results(), pins=SUPPORT_PINS)))


def test_the_results_of_a_dataset_have_their_shape() -> None:
    run = summary_of(refund_results()).run
    json_matches("results_v1.json", [evaluation_result(run, refund_results()[n]) for n in (0, 5, 10, 11)])


def test_the_results_of_a_test_set_have_their_shape() -> None:
    run = summary_of(support_results(), pins=SUPPORT_PINS).run
    json_matches("results_v2.json", [evaluation_result(run, result) for result in support_results()])


def test_the_published_fields_come_first_in_their_order() -> None:
    assert list(evaluation_run(summary_of([])))[: len(RUN_FIELDS)] == RUN_FIELDS
    for result in (refund_results()[0], support_results()[0]):
        assert list(shown(result))[: len(RESULT_FIELDS)] == RESULT_FIELDS


def test_everything_is_ready_for_json() -> None:
    summary = summary_of(support_results(), pins=SUPPORT_PINS)
    whole = [evaluation_run(summary), *(evaluation_result(summary.run, result) for result in support_results())]
    assert json.loads(json.dumps(whole, allow_nan=False)) == whole


@pytest.mark.parametrize(
    ("state", "status"),
    [
        (RunState.PENDING, "pending"),
        (RunState.RUNNING, "running"),
        (RunState.COMPLETED, "completed"),
        (RunState.FAILED, "failed"),
        (RunState.INTERRUPTED, "failed"),
    ],
)
def test_status_keeps_its_four_values_and_state_says_the_rest(state: RunState, status: str) -> None:
    run = evaluation_run(summary_of([], state=state))
    assert (run["status"], run["state"]) == (status, state.value)


def test_the_counts_of_a_run_always_add_up() -> None:
    run = evaluation_run(summary_of(refund_results(), total=20))
    assert run["completed"] == run["passed"] + run["failed"] + run["errored"] + run["skipped"] == 12
    assert run["total"] == run["completed"] + run["pending"] == 20


def test_what_a_run_did_not_have_is_null_and_not_zero() -> None:
    run = evaluation_run(summary_of([]))
    absent = ("component_scores", "criteria_passed", "criteria_total", "rubric_rules_passed", "rubric_rules_total")
    assert [run[name] for name in absent] == [None] * 5
    assert (run["rubric_id"], run["test_set_id"], run["agent_id"], run["pass_rate"]) == (None, None, None, None)


TEST_SET: dict[str, Any] = {"datasets": (DatasetPin(path="t.json", sha256="c" * 64, dialect="test-set"),)}
RULED = Rubric(
    id="r",
    name="Rules",
    rules=(
        Rule(id="A", name="a", severity=Severity.LOW, scope=Scope.PROMPT),
        Rule(id="B", name="b", severity=Severity.LOW),
    ),
)
NONE_YET = {"score": None, "total": 0, "passed": 0, "failed": 0, "errored": 0, "skipped": 0}


@pytest.mark.parametrize(
    ("pins", "criteria", "rules"),
    [
        ({}, None, None),
        (TEST_SET, 0, None),
        ({**TEST_SET, "graders": ("tools_used",)}, None, None),
        ({**TEST_SET, "graders": ("criteria",), "rubric": RULED}, 0, None),
        ({**TEST_SET, "rubric": RULED}, 0, 0),
        ({"rubric": RULED}, None, 0),
        ({"criteria_from": TEST_SET["datasets"][0]}, 0, None),
    ],
    ids=["no test set", "criteria", "not asked for", "rules not asked for", "both", "rules alone", "pooled criteria"],
)
@pytest.mark.parametrize("broke", [True, False], ids=["every case errored", "nothing is done yet"])
def test_where_nothing_could_be_graded_there_is_nought_of_nought(
    pins: dict[str, Any], criteria: int | None, rules: int | None, broke: bool
) -> None:
    results = [errored for errored in support_results() if errored.verdict is Verdict.ERRORED] if broke else []
    bare = [msgspec.structs.replace(each, grades=()) for each in results]
    run = evaluation_run(summary_of(bare, pins=pins, total=3))
    told = ("criteria_passed", "criteria_total", "rubric_rules_passed", "rubric_rules_total")
    assert [run[name] for name in told] == [criteria, criteria, rules, rules]
    every = ("prompt", "knowledge_base", "function", "general")
    assert run["component_scores"] == (None if rules is None else dict.fromkeys(every, NONE_YET))
    assert (run["criteria"] or {"total": None})["total"] == criteria


def test_a_test_set_without_criteria_has_none_once_something_was_graded() -> None:
    passed = [msgspec.structs.replace(each, grades=()) for each in support_results() if each.verdict is Verdict.PASSED]
    assert passed
    assert evaluation_run(summary_of(passed, pins=TEST_SET))["criteria_total"] is None


def test_a_rubric_without_rules_left_is_not_named() -> None:
    run = evaluation_run(summary_of([], pins={"rubric": Rubric(id="r", name="empty", rules=())}))
    assert (run["rubric_id"], run["rubric_version"]) == (None, None)


def test_the_same_files_have_the_same_dataset_id_wherever_they_lie() -> None:
    here = DatasetPin(path="here/a.json", sha256="c" * 64, dialect="legal")
    there = DatasetPin(path="there/b.json", sha256="c" * 64, dialect="legal")
    other = DatasetPin(path="here/a.json", sha256="d" * 64, dialect="legal")
    ids = [evaluation_run(summary_of([], pins={"datasets": (pin,)}))["dataset_id"] for pin in (here, there, other)]
    assert ids[0] == ids[1] != ids[2]


def test_of_several_test_sets_none_is_the_one() -> None:
    pins = tuple(DatasetPin(path=f"{n}.json", sha256=n * 64, dialect="test-set", version=2) for n in "ab")
    assert evaluation_run(summary_of([], pins={"datasets": pins}))["test_set_id"] is None
    one = evaluation_run(summary_of([], pins={"datasets": pins[:1]}))
    assert (one["test_set_version"], len(one["test_set_id"])) == (2, 36)


def test_totals_are_given_for_each_candidate() -> None:
    run = evaluation_run(summary_of([*refund_results("v1"), *refund_results("v2")]))
    assert list(run["candidates"]) == ["v1", "v2"]
    assert run["candidates"]["v2"]["passed"] == 7
    assert run["candidates"]["v2"]["total"] == 12
    assert [round(bound, 2) for bound in run["candidates"]["v2"]["pass_rate_interval"]] == [0.4, 0.89]


@pytest.mark.parametrize(
    ("verdict", "passed"),
    [(Verdict.PASSED, True), (Verdict.FAILED, False), (Verdict.ERRORED, None), (Verdict.SKIPPED, None)],
)
def test_errored_is_not_failed_and_skipped_is_neither(verdict: Verdict, passed: bool | None) -> None:
    result = shown(a_result(verdict))
    assert (result["passed"], result["verdict"]) == (passed, verdict.value)


@pytest.mark.parametrize(
    ("given", "fields", "kind"),
    [
        (SingleTurn(message="Hi"), {"message": "Hi"}, "single_turn"),
        (
            SingleTurn(message="Hi", context="c", attachments=(Attachment(path="a.pdf"),)),
            {"message": "Hi", "context": "c", "attachments": [{"path": "a.pdf"}]},
            "single_turn",
        ),
        (Script(turns=("Hi", "Bye")), {"turns": ["Hi", "Bye"]}, "script"),
        (
            Scenario(persona="p", initial_message="Hi"),
            {"persona": "p", "initial_message": "Hi", "max_turns": 8},
            "scenario",
        ),
    ],
)
def test_the_input_keeps_the_fields_of_its_kind(given: Input, fields: dict[str, Any], kind: str) -> None:
    dataset = shown(a_result(case=a_case(input=given)))
    test_set = shown(a_result(case=a_case(input=given, world=World.TEST_SET)))
    assert dataset["input"] == test_set["input"] == fields
    assert (dataset["input_kind"], test_set["item_type"]) == (kind, {"script": "transcript"}.get(kind, kind))
    assert dataset["item_name"] == "Hi"


def test_dataset_results_do_not_look_like_those_of_a_test_set() -> None:
    result = shown(refund_results()[0])
    structured = ("item_type", "criteria_scores", "criteria_passed", "rubric_scores", "rubric_passed")
    assert [result[name] for name in structured] == [None] * 5


def test_a_test_set_case_without_rubric_and_criteria_has_no_verdict_of_either() -> None:
    result = shown(a_result(case=a_case(world=World.TEST_SET)))
    assert (result["criteria_scores"], result["criteria_passed"]) == ([], None)
    assert (result["rubric_scores"], result["rubric_passed"]) == ([], None)


def test_the_name_of_a_case_comes_before_its_opening_message() -> None:
    assert shown(a_result(case=a_case(name="Leave")))["item_name"] == "Leave"
    assert shown(a_result(case=a_case(message="x" * 500)))["item_name"] == "x" * 119 + "…"


def test_ids_are_the_cases_own_and_stable() -> None:
    result = shown(a_result(case=a_case(id="Fall 7/β"), candidate="v1", repeat=3))
    assert result["test_case_id"] == "Fall 7/β"
    assert result["result_id"] == str(result_id(UUID(RUN_ID), "Fall 7/β", "v1", 3))
    assert (result["candidate"], result["repeat"]) == ("v1", 3)


def test_what_was_said_and_what_was_done_are_separate() -> None:
    transcript = a_transcript("Done.", calls=[("refund", {"order": 1})], state={"open": False})
    output = shown(a_result(case=a_case(message="Refund 1"), transcript=transcript))["output"]
    assert output["messages"] == [{"role": "user", "content": "Refund 1"}, {"role": "assistant", "content": "Done."}]
    assert output["tool_calls"] == [{"name": "refund", "arguments": {"order": 1}, "id": None, "result": None}]
    assert output["state"] == {"open": False}


def test_without_a_transcript_nothing_was_said() -> None:
    output = shown(a_result(Verdict.ERRORED, transcript=None))["output"]
    assert output == {"messages": [], "tool_calls": [], "state": None, "answer": None, "usage": None}


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (a_result(), None),
        (a_result(Verdict.FAILED, reasons=("too low",)), None),
        (a_result(Verdict.ERRORED, reasons=("criteria could not be judged",)), "criteria could not be judged"),
        (a_result(Verdict.ERRORED), "errored"),
        (
            a_result(Verdict.ERRORED, reasons=("r",), failures=(Failure(kind="TargetFailed", message="refused"),)),
            "refused",
        ),
    ],
    ids=["passed", "failed is no error", "from the reasons", "never silent", "from the failures"],
)
def test_the_error_says_what_broke(result: Result, said: str | None) -> None:
    assert result_error(result) == said
    assert shown(result)["error"] == said


def test_durations_are_whole_milliseconds_and_times_have_a_suffix() -> None:
    result = shown(a_result(duration_ms=44999.6, created_at=MOMENT.replace(tzinfo=None)))
    assert (result["duration_ms"], result["created_at"]) == (45000, "2026-11-15T09:30:00Z")


def test_nothing_of_the_model_leaks_as_an_object() -> None:
    call = ToolCall(name="t", arguments={"when": [1, {"a": None}]}, id="call_1")
    transcript = Transcript(
        answer="", messages=(msgspec.structs.replace(a_transcript("x").messages[0], tool_calls=(call,)),)
    )
    result = shown(a_result(case=criteria_case("c"), transcript=transcript))
    assert json.loads(json.dumps(result)) == result


def test_a_summary_of_nothing_is_still_a_run() -> None:
    empty = Summary(run=a_run(Counts()), candidates={}, graders=())
    assert evaluation_run(empty)["sentence"] == "There were no cases to try."


@pytest.mark.parametrize(
    ("state", "error"),
    [
        (RunState.CANCELLED, "the run was cancelled; it can be resumed"),
        (
            RunState.OUT_OF_BUDGET,
            "the budget of the run was reached before all of it was tried; it can be resumed with more",
        ),
        (RunState.COMPLETED, None),
    ],
)
def test_a_run_that_was_stopped_says_so_as_its_error(state: RunState, error: str | None) -> None:
    shape = evaluation_run(summary_of([], total=1, state=state))
    assert (shape["error"], shape["status"]) == (error, "completed" if error is None else "failed")
